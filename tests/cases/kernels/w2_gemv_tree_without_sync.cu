// w2_gemv_tree_without_sync  op=gemv
// no barrier inside the tree
extern "C" __global__ void gemv_part(const float* __restrict__ A, const float* __restrict__ x,
                                     float* __restrict__ part, int K) {
    __shared__ float red[256];
    const float* a = A + (size_t)blockIdx.y * K;
    float s = 0.0f;
    for (int k = blockIdx.x * 256 + threadIdx.x; k < K; k += 8 * 256) s = fmaf(a[k], x[k], s);
    red[threadIdx.x] = s;
    __syncthreads();
#pragma unroll
    for (int o = 128; o > 0; o >>= 1) {
        if (threadIdx.x < o) red[threadIdx.x] += red[threadIdx.x + o];
    }
    if (threadIdx.x == 0) part[blockIdx.y * 8 + blockIdx.x] = red[0];
}
extern "C" __global__ void gemv_sum(const float* part, float* y, int M) {
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= M) return;
    float s = 0.0f;
    for (int k = 0; k < 8; ++k) s += part[m * 8 + k];
    y[m] = s;
}
