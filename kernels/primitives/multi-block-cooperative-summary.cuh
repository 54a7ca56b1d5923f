/*
 * Each block gives its part; the block that finishes last adds the parts in order, so the result
 * does not depend on which one that is.  True in all threads of that block, which have the sum in
 * *total.  `parts` has a float a block, `finished` is zero before the launch.
 */
__device__ __forceinline__ bool grid_sum(float part, float *parts, unsigned *finished, float *total)
{
    __shared__ bool last;
    __shared__ float sum;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = part;
        __threadfence();
        last = atomicAdd(finished, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last)
        return false;
    if (threadIdx.x == 0) {
        __threadfence();
        float all = 0.0f;
        for (unsigned i = 0; i < gridDim.x; i++)
            all += __ldcg(&parts[i]);
        sum = all;
    }
    __syncthreads();
    *total = sum;
    return true;
}
