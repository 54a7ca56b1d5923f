// w3_rowsum_warp_flag_no_syncwarp  op=rowsum
// the first lane fences and sets the flag for its warp without a __syncwarp
extern "C" __global__ void __launch_bounds__(256) k(const float* __restrict__ x, float* __restrict__ y, int N) {
  __shared__ float part[8][32];
  __shared__ volatile int ready[8];
  const int t = threadIdx.x, w = t >> 5, lane = t & 31;
  if (t < 8) ready[t] = 0;
  __syncthreads();
  const float* row = x + (size_t)blockIdx.x * N;
  float sum = 0.f;
  for (int i = t; i < N; i += 256) sum += row[i];
  if (w) {
    part[w][lane] = sum;
    if (lane == 0) {
      __threadfence_block();
      ready[w] = 1;
    }
    return;
  }
  for (int j = 1; j < 8; ++j) {
    while (ready[j] == 0) {}
    __threadfence_block();
    sum += part[j][31 - lane];
  }
  for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
  if (lane == 0) y[blockIdx.x] = sum;
}
