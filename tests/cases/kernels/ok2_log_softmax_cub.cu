// ok2_log_softmax_cub  op=log_softmax
// cub::BlockReduce twice over one temporary storage
#include <cub/block/block_reduce.cuh>
struct MaxOp {
    __device__ __forceinline__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
extern "C" __global__ void log_softmax(const float* __restrict__ x, float* __restrict__ y, int N) {
    using BlockReduce = cub::BlockReduce<float, 256>;
    __shared__ typename BlockReduce::TempStorage temp;
    __shared__ float mx, lse;
    const float* row = x + (size_t)blockIdx.x * N;
    float m = -INFINITY;
    for (int i = threadIdx.x; i < N; i += 256) m = fmaxf(m, row[i]);
    m = BlockReduce(temp).Reduce(m, MaxOp());
    if (threadIdx.x == 0) mx = m;
    __syncthreads();
    float s = 0.f;
    for (int i = threadIdx.x; i < N; i += 256) s += expf(row[i] - mx);
    s = BlockReduce(temp).Sum(s);
    if (threadIdx.x == 0) lse = logf(s);
    __syncthreads();
    for (int i = threadIdx.x; i < N; i += 256) y[(size_t)blockIdx.x * N + i] = row[i] - mx - lse;
}
