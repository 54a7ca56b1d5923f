/*
 * Tiles of 4 * blockDim.x floats go through a ring of DEPTH of them: while one is used, the next
 * ones are under way.  Here each thread's sum of what it finds at its place mirrored within the
 * tile, so that it reads what another thread fetched.  `data` lies at 16 bytes; `ring` is DEPTH *
 * blockDim.x float4 of shared memory.
 */
__device__ __forceinline__ void fetch_async(void *to, const void *from)
{
    unsigned at = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
}

template <int DEPTH>
__device__ __forceinline__ float pipeline_sum(const float4 *data, int tiles, float4 *ring)
{
    int width = blockDim.x;
    float sum = 0.0f;
    for (int tile = 0; tile < DEPTH - 1; tile++) {
        if (tile < tiles)
            fetch_async(&ring[tile * width + threadIdx.x], &data[tile * width + threadIdx.x]);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    for (int tile = 0; tile < tiles; tile++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(DEPTH - 2) : "memory");
        __syncthreads();
        int next = tile + DEPTH - 1;
        if (next < tiles)
            fetch_async(&ring[next % DEPTH * width + threadIdx.x],
                        &data[next * width + threadIdx.x]);
        asm volatile("cp.async.commit_group;" ::: "memory");
        float4 four = ring[tile % DEPTH * width + width - 1 - threadIdx.x];
        sum += four.x + four.y + four.z + four.w;
    }
    return sum;
}
