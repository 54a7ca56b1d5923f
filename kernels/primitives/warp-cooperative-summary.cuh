/* The sum over the 32 lanes, in every lane.  All lanes of the warp must come here. */
__device__ __forceinline__ float warp_sum(float value)
{
#pragma unroll
    for (int lane = 16; lane > 0; lane /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, lane);
    return value;
}
