// ok2_depthwise_rows  op=depthwise_conv
// four outputs a thread along a row, sliding window in registers
extern "C" __global__ void dw_rows(const float* __restrict__ x, const float* __restrict__ k, float* __restrict__ y,
                                   int C, int H, int W) {
    int w0 = (blockIdx.x * 32 + threadIdx.x) * 4, h = blockIdx.y * 4 + threadIdx.y;
    if (w0 >= W || h >= H) return;
    const float* p = x + (size_t)blockIdx.z * H * W;
    const float* f = k + (blockIdx.z % C) * 9;
    float acc[4] = {0.f, 0.f, 0.f, 0.f};
#pragma unroll
    for (int r = 0; r < 3; ++r) {
        int hh = h + r - 1;
        if ((unsigned)hh >= (unsigned)H) continue;
        float v[6];
#pragma unroll
        for (int i = 0; i < 6; ++i) {
            int ww = w0 + i - 1;
            v[i] = (unsigned)ww < (unsigned)W ? p[(size_t)hh * W + ww] : 0.f;
        }
#pragma unroll
        for (int o = 0; o < 4; ++o) acc[o] += v[o] * f[r * 3] + v[o + 1] * f[r * 3 + 1] + v[o + 2] * f[r * 3 + 2];
    }
#pragma unroll
    for (int o = 0; o < 4; ++o)
        if (w0 + o < W) y[((size_t)blockIdx.z * H + h) * W + w0 + o] = acc[o];
}
