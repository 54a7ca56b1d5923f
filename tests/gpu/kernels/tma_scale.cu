/* Twice the input, a tile of 8 by 32 a block, brought by the copy engine through a tensor map. */
struct __align__(64) tensor_map {
    char bytes[128];
};

static __device__ unsigned shared_address(const void *at)
{
    return (unsigned)__cvta_generic_to_shared(at);
}

extern "C" __global__ void tma_scale(const __grid_constant__ tensor_map map, float *y, int M, int N)
{
    __shared__ __align__(128) float tile[8 * 32];
    __shared__ __align__(8) unsigned long long arrived;
    const int column = blockIdx.x * 32, row = blockIdx.y * 8;
    const unsigned barrier = shared_address(&arrived);

    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" ::"r"(barrier)
                     : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(tile)),
                     "l"(&map), "r"(column), "r"(row), "r"(barrier)
                     : "memory");
    }
    __syncthreads();
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;"
                     " selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(barrier)
                     : "memory");
    for (int i = threadIdx.x; i < 8 * 32; i += blockDim.x)
        if (row + i / 32 < M && column + i % 32 < N)
            y[(long long)(row + i / 32) * N + column + i % 32] = 2 * tile[i];
}
