// ok2_transposed_conv_scatter  op=transposed_conv
// scatters with atomics into a zeroed workspace, then copies
extern "C" __global__ void tconv_scatter(const float* __restrict__ x, const float* __restrict__ w, float* acc, int C,
                                         int K, int H, int W) {
    int hw = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.y, b = blockIdx.z;
    if (hw >= H * W) return;
    int h = hw / W, ww = hw % W;
    for (int r = 0; r < 3; ++r)
        for (int s = 0; s < 3; ++s) {
            int p = 2 * h - 1 + r, q = 2 * ww - 1 + s;
            if (p < 0 || p >= 2 * H || q < 0 || q >= 2 * W) continue;
            float v = 0.f;
            for (int c = 0; c < C; ++c)
                v += x[(((size_t)b * C + c) * H + h) * W + ww] * w[(((size_t)c * K + k) * 3 + r) * 3 + s];
            atomicAdd(&acc[(((size_t)b * K + k) * 2 * H + p) * 2 * W + q], v);
        }
}
extern "C" __global__ void copy_out(const float* acc, float* y, long long n) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = acc[i];
}
