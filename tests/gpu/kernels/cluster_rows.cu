/* Row sums: two blocks of a cluster take half a row each, the second reads the first's shared memory. */
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void cluster_rows(const float *x, float *y, int N)
{
    __shared__ float parts[128];
    cg::cluster_group cluster = cg::this_cluster();
    const unsigned half = cluster.block_rank();
    const float *row = x + (long long)(blockIdx.x / 2) * N;
    float sum = 0;

    for (int i = half * 128 + threadIdx.x; i < N; i += 256)
        sum += row[i];
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (int step = 64; step > 0; step /= 2) {
        if (threadIdx.x < step)
            parts[threadIdx.x] += parts[threadIdx.x + step];
        __syncthreads();
    }
    cluster.sync();
    if (half == 1 && threadIdx.x == 0)
        y[blockIdx.x / 2] = parts[0] + *cluster.map_shared_rank(parts, 0);
    cluster.sync();
}
