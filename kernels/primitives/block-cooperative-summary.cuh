/*
 * The sum over all threads of the block, in every thread; the same order in each, so the same bits.
 * Threads are a multiple of 32; `parts` is 32 floats of shared memory, free again at the return.
 */
__device__ __forceinline__ float block_sum(float value, float *parts)
{
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
#pragma unroll
    for (int other = 16; other > 0; other /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, other);
    if (lane == 0)
        parts[warp] = value;
    __syncthreads();
    value = lane < warps ? parts[lane] : 0.0f;
#pragma unroll
    for (int other = 16; other > 0; other /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, other);
    __syncthreads();
    return value;
}
