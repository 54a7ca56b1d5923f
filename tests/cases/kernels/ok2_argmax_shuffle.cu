// ok2_argmax_shuffle  op=argmax
// pairs through shuffles, the smaller index wins a tie
__device__ __forceinline__ void take(float& v, int& i, float w, int j) {
    if (w > v || (w == v && j < i)) {
        v = w;
        i = j;
    }
}
extern "C" __global__ void amax_row(const float* __restrict__ x, long long* __restrict__ y, int N) {
    __shared__ float sv[4];
    __shared__ int si[4];
    const float* p = x + (size_t)blockIdx.x * N;
    float v = -INFINITY;
    int at = 0x7fffffff;
    for (int i = threadIdx.x; i < N; i += 128) take(v, at, p[i], i);
#pragma unroll
    for (int o = 16; o > 0; o >>= 1)
        take(v, at, __shfl_down_sync(0xffffffffu, v, o), __shfl_down_sync(0xffffffffu, at, o));
    if (threadIdx.x % 32 == 0) {
        sv[threadIdx.x / 32] = v;
        si[threadIdx.x / 32] = at;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 4; ++w) take(v, at, sv[w], si[w]);
        y[blockIdx.x] = at;
    }
}
