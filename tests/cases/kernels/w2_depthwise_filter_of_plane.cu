// w2_depthwise_filter_of_plane  op=depthwise_conv
// the filter is taken by plane, not by channel
extern "C" __global__ void dw_tile(const float* __restrict__ x, const float* __restrict__ k, float* __restrict__ y,
                                   int C, int H, int W) {
    __shared__ float t[18][18];
    const float* plane = x + (size_t)blockIdx.z * H * W;
    const int w0 = blockIdx.x * 16 - 1, h0 = blockIdx.y * 16 - 1, tid = threadIdx.y * 16 + threadIdx.x;
    for (int i = tid; i < 18 * 18; i += 256) {
        int r = i / 18, c = i % 18, h = h0 + r, w = w0 + c;
        t[r][c] = h >= 0 && h < H && w >= 0 && w < W ? plane[(size_t)h * W + w] : 0.0f;
    }
    float f[9];
#pragma unroll
    for (int i = 0; i < 9; ++i) f[i] = __ldg(&k[blockIdx.z * 9 + i]);
    __syncthreads();
    int w = w0 + 1 + threadIdx.x, h = h0 + 1 + threadIdx.y;
    if (h >= H || w >= W) return;
    float acc = 0.0f;
#pragma unroll
    for (int r = 0; r < 3; ++r)
#pragma unroll
        for (int s = 0; s < 3; ++s) acc = fmaf(t[threadIdx.y + r][threadIdx.x + s], f[r * 3 + s], acc);
    y[(size_t)blockIdx.z * H * W + (size_t)h * W + w] = acc;
}
