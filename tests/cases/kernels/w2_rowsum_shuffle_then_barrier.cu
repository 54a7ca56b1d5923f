// w2_rowsum_shuffle_then_barrier  op=rowsum
// a full-mask shuffle in eight lanes while the others wait at a barrier
extern "C" __global__ void stage1(const float* __restrict__ x, float* __restrict__ partial, int N) {
    __shared__ float s[8];
    int i = blockIdx.x * 1024 + threadIdx.x;
    const float* p = x + (size_t)blockIdx.y * N;
    float v = 0.0f;
#pragma unroll
    for (int k = 0; k < 4; ++k, i += 256)
        if (i < N) v += p[i];
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
    if ((threadIdx.x & 31) == 0) s[threadIdx.x >> 5] = v;
    __syncthreads();
    if (threadIdx.x < 8) {
        v = s[threadIdx.x];
        for (int o = 4; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
        if (threadIdx.x == 0) s[0] = v;
    }
    __syncthreads();
    if (threadIdx.x == 64) partial[(size_t)blockIdx.y * gridDim.x + blockIdx.x] = s[0];
}
extern "C" __global__ void stage2(const float* __restrict__ partial, float* __restrict__ y, int parts) {
    float v = 0.0f;
    for (int i = threadIdx.x; i < parts; i += 32) v += partial[(size_t)blockIdx.x * parts + i];
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
    if (threadIdx.x == 0) y[blockIdx.x] = v;
}
