// ok2_avgpool_flat  op=avgpool
// flat index, nine guarded reads
extern "C" __global__ void avgpool3(const float* x, float* y, long long total, int H, int W, int P, int Q) {
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < total;
         i += (long long)gridDim.x * blockDim.x) {
        int q = i % Q, p = (i / Q) % P;
        long long bc = i / ((long long)Q * P);
        float sum = 0.f;
#pragma unroll
        for (int r = -1; r <= 1; ++r)
#pragma unroll
            for (int s = -1; s <= 1; ++s) {
                int h = 2 * p + r, w = 2 * q + s;
                if (h >= 0 && h < H && w >= 0 && w < W) sum += x[(bc * H + h) * W + w];
            }
        y[i] = sum * (1.0f / 9.0f);
    }
}
