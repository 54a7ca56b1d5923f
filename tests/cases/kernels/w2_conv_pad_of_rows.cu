// w2_conv_pad_of_rows  op=conv2d
// the padding of the columns taken from the rows of the filter
extern "C" __global__ void conv_direct(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y,
                                       int C, int H, int W, int K, int R, int S, int P, int Q) {
    extern __shared__ float ws[];
    const int k = blockIdx.y, b = blockIdx.z, crs = C * R * S;
    for (int i = threadIdx.x; i < crs; i += blockDim.x) ws[i] = w[(size_t)k * crs + i];
    __syncthreads();
    int pq = blockIdx.x * blockDim.x + threadIdx.x;
    if (pq >= P * Q) return;
    int p = pq / Q, q = pq % Q, h0 = 2 * p - R / 2, w0 = 2 * q - R / 2;
    float acc = 0.0f;
    for (int c = 0; c < C; ++c)
        for (int r = 0; r < R; ++r) {
            int h = h0 + r;
            if (h < 0 || h >= H) continue;
            for (int s = 0; s < S; ++s) {
                int ww = w0 + s;
                if (ww < 0 || ww >= W) continue;
                acc += x[(((size_t)b * C + c) * H + h) * W + ww] * ws[(c * R + r) * S + s];
            }
        }
    y[((size_t)b * K + k) * P * Q + pq] = acc;
}
