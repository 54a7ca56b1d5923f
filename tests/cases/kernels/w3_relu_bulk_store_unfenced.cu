// w3_relu_bulk_store_unfenced  op=relu
// no proxy fence between writing shared memory and the bulk store
__device__ __forceinline__ unsigned sa(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void __launch_bounds__(256) k(const float* __restrict__ x, float* __restrict__ y, int N) {
  __shared__ __align__(128) float buf[256];
  for (int base = blockIdx.x * 256; base < N; base += gridDim.x * 256) {
    const int i = base + threadIdx.x, n = min(256, N - base);
    if (i < N) buf[threadIdx.x] = fmaxf(x[i], 0.f);
    __syncthreads();
    if (threadIdx.x == 0) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(y + base), "r"(sa(buf)), "r"(n * 4) : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
    __syncthreads();
  }
}
