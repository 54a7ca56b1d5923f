/* x minus its mean: all blocks add up, meet, and subtract, in one cooperative launch. */
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void coop_centre(const float *x, float *y, float *sums, int N)
{
    __shared__ float parts[256];
    float sum = 0;

    for (int i = blockIdx.x * 256 + threadIdx.x; i < N; i += gridDim.x * 256)
        sum += x[i];
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (int step = 128; step > 0; step /= 2) {
        if (threadIdx.x < step)
            parts[threadIdx.x] += parts[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = parts[0];
    cg::this_grid().sync();
    float mean = 0;
    for (int i = 0; i < gridDim.x; ++i)
        mean += sums[i];
    mean /= N;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < N; i += gridDim.x * 256)
        y[i] = x[i] - mean;
}
