// w3_rowsum_named_early  op=rowsum
// consumers give the stage back before they read it
__device__ __forceinline__ void sync_on(int id, int n) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(n) : "memory"); }
__device__ __forceinline__ void arrive_on(int id, int n) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(n) : "memory"); }
extern "C" __global__ void __launch_bounds__(160) k(const float* __restrict__ x, float* __restrict__ y, int N) {
  __shared__ float buf[2][128];
  __shared__ float red[4];
  const int t = threadIdx.x, steps = (N + 127) / 128;
  const float* row = x + (size_t)blockIdx.x * N;
  if (t >= 128) {
    for (int s = 0; s < steps; ++s) {
      if (s >= 2) sync_on(3 + (s & 1), 160);
      for (int i = t - 128; i < 128; i += 32) buf[s & 1][i] = s * 128 + i < N ? row[s * 128 + i] : 0.f;
      arrive_on(1 + (s & 1), 160);
    }
  } else {
    float sum = 0.f;
    for (int s = 0; s < steps; ++s) {
      sync_on(1 + (s & 1), 160);
      if (s + 2 < steps) arrive_on(3 + (s & 1), 160);
      sum += buf[s & 1][t];
    }
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
    if (t % 32 == 0) red[t / 32] = sum;
    sync_on(5, 128);
    if (t == 0) y[blockIdx.x] = red[0] + red[1] + red[2] + red[3];
  }
}
