// ok2_rowsum_cub  op=rowsum
// cub::BlockReduce, four loads a thread in flight
#include <cub/block/block_reduce.cuh>
extern "C" __global__ void row_sum(const float* __restrict__ x, float* __restrict__ y, int N) {
    typedef cub::BlockReduce<float, 128, cub::BLOCK_REDUCE_WARP_REDUCTIONS> Reduce;
    __shared__ Reduce::TempStorage storage;
    const float* p = x + (size_t)blockIdx.x * N;
    float acc[4] = {};
    int i = threadIdx.x;
    for (; i + 384 < N; i += 512) {
#pragma unroll
        for (int k = 0; k < 4; ++k) acc[k] += p[i + k * 128];
    }
    for (; i < N; i += 128) acc[0] += p[i];
    float total = Reduce(storage).Sum((acc[0] + acc[1]) + (acc[2] + acc[3]));
    if (threadIdx.x == 0) y[blockIdx.x] = total;
}
