// ok_rowsum_atomic_ref  op=rowsum
// the counter is a cuda::atomic_ref
#include <cuda/atomic>
__device__ __forceinline__ float block_sum(float v) {
  __shared__ float part[8];
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  v = 0.f;
  for (int w = 0; w < 8; ++w) v += part[w];
  return v;
}
extern "C" __global__ void cand(const float* x, float* y, int R, int C, float* part, unsigned* count) {
  __shared__ bool last;
  const int row = blockIdx.x, P = gridDim.y;
  float s = 0.f;
  for (int i = blockIdx.y * 256 + threadIdx.x; i < C; i += 256 * P) s += x[(size_t)row * C + i];
  part[(row * P + blockIdx.y) * 256 + threadIdx.x] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> counter(count[row]);
    last = counter.fetch_add(1u, cuda::memory_order_acq_rel) == (unsigned)P - 1;
  }
  __syncthreads();
  if (last) {
    s = 0.f;
    for (int p = 0; p < P; ++p) s += part[(row * P + p) * 256 + threadIdx.x];
    s = block_sum(s);
    if (threadIdx.x == 0) y[row] = s;
  }
}
