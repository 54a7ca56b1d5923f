/*
 * A row is read from global memory once and stays in shared memory for all steps that follow.  A
 * thread finds its own elements (threadIdx.x, + blockDim.x, ...) and, behind the barrier, any other.
 */
__device__ __forceinline__ void keep_row(float *kept, const float *row, int length)
{
    for (int i = threadIdx.x; i < length; i += blockDim.x)
        kept[i] = row[i];
    __syncthreads();
}
