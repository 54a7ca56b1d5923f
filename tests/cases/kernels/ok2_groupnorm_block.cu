// ok2_groupnorm_block  op=groupnorm
// a block a group, one pass in double, then normalise
__device__ double block_sum(double v, double* red) {
    for (int o = 16; o; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
    int lane = threadIdx.x & 31, w = threadIdx.x >> 5;
    if (lane == 0) red[w] = v;
    __syncthreads();
    if (w == 0) {
        v = lane < 8 ? red[lane] : 0.0;
        for (int o = 4; o; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
        if (lane == 0) red[0] = v;
    }
    __syncthreads();
    v = red[0];
    __syncthreads();
    return v;
}
extern "C" __global__ void group_norm(const float* __restrict__ x, const float* __restrict__ gamma,
                                      const float* __restrict__ beta, float* __restrict__ y, int n, int hw, int D,
                                      int G) {
    __shared__ double red[8];
    size_t base = (size_t)blockIdx.x * n;
    int c0 = (blockIdx.x % G) * D;
    double s = 0, q = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        double v = x[base + i];
        s += v;
        q += v * v;
    }
    s = block_sum(s, red);
    q = block_sum(q, red);
    double mean = s / n;
    float r = (float)(1.0 / sqrt(fmax(q / n - mean * mean, 0.0) + 1e-5)), mu = (float)mean;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int c = c0 + i / hw;
        y[base + i] = (x[base + i] - mu) * r * gamma[c] + beta[c];
    }
}
