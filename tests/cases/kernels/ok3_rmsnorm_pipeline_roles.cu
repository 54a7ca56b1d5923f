// ok3_rmsnorm_pipeline_roles  op=rmsnorm
// cuda::pipeline of the block, two stages, all threads produce and consume by cuda::memcpy_async
#include <cuda/pipeline>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void __launch_bounds__(64) k(const float* __restrict__ x, const float* __restrict__ g, float* __restrict__ y, int N) {
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  __shared__ float buf[2][64];
  __shared__ float red[2];
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  const int t = threadIdx.x, steps = (N + 63) / 64;
  const float* row = x + (size_t)blockIdx.x * N;
  auto fetch = [&](int s) {
    pipe.producer_acquire();
    if (s * 64 + t < N) cuda::memcpy_async(&buf[s & 1][t], row + s * 64 + t, sizeof(float), pipe);
    pipe.producer_commit();
  };
  fetch(0);
  float q = 0.f;
  for (int s = 0; s < steps; ++s) {
    if (s + 1 < steps) fetch(s + 1);
    pipe.consumer_wait();
    const int other = 63 - t;  // another thread's element
    if (s * 64 + other < N) q += buf[s & 1][other] * buf[s & 1][other];
    pipe.consumer_release();
  }
  for (int o = 16; o; o >>= 1) q += __shfl_xor_sync(~0u, q, o);
  if (t % 32 == 0) red[t / 32] = q;
  __syncthreads();
  const float r = rsqrtf((red[0] + red[1]) / N + 1e-6f);
  for (int i = t; i < N; i += 64) y[(size_t)blockIdx.x * N + i] = row[i] * r * g[i];
}
