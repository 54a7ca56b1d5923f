// ok3_rowsum_warp_special_one  op=rowsum
// a lane arrives for its warp behind __syncwarp, the producer for what it wrote, consumers for what they read
#include <cuda/barrier>
using barrier = cuda::barrier<cuda::thread_scope_block>;
extern "C" __global__ void __launch_bounds__(160) k(const float* __restrict__ x, float* __restrict__ y, int N) {
  __shared__ float buf[2][128];
  __shared__ float red[4];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ barrier full[2], empty[2];
  const int t = threadIdx.x, steps = (N + 127) / 128;
  if (t < 2) {
    init(&full[t], 129);
    init(&empty[t], 36);
  }
  __syncthreads();
  const float* row = x + (size_t)blockIdx.x * N;
  if (t >= 128) {
    for (int s = 0; s < steps; ++s) {
      empty[s & 1].arrive_and_wait();
      for (int i = t - 128; i < 128; i += 32) buf[s & 1][i] = s * 128 + i < N ? row[s * 128 + i] : 0.f;
      __syncwarp();
      if (t == 128) (void)full[s & 1].arrive();
    }
  } else {
    float sum = 0.f;
    if (t % 32 == 0) (void)empty[0].arrive(), (void)empty[1].arrive();
    for (int s = 0; s < steps; ++s) {
      full[s & 1].arrive_and_wait();
      sum += buf[s & 1][t];
      __syncwarp();
      if (t % 32 == 0) (void)empty[s & 1].arrive();
    }
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
    if (t % 32 == 0) red[t / 32] = sum;
    asm volatile("bar.sync 1, 128;");
    if (t == 0) y[blockIdx.x] = red[0] + red[1] + red[2] + red[3];
  }
}
