// w3_transpose_barrier_copy_last  op=transpose
// the tile is filled again before all have read it
#include <cuda/barrier>
extern "C" __global__ void __launch_bounds__(256) k(const float* __restrict__ x, float* __restrict__ y, int M, int N) {
  using barrier = cuda::barrier<cuda::thread_scope_block>;
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ barrier bar;
  __shared__ float tile[32][33];
  const int tx = threadIdx.x % 32, ty = threadIdx.x / 32;
  if (threadIdx.x == 0) init(&bar, 256);
  __syncthreads();
  for (int b = blockIdx.x; b < (N + 31) / 32; b += gridDim.x) {
    for (int r = ty; r < 32; r += 8) {
      const int m = blockIdx.y * 32 + r, n = b * 32 + tx;
      if (m < M && n < N) cuda::memcpy_async(&tile[r][tx], x + (size_t)m * N + n, sizeof(float), bar);
    }
    bar.arrive_and_wait();
    for (int r = ty; r < 32; r += 8) {
      const int n = b * 32 + r, m = blockIdx.y * 32 + tx;
      if (m < M && n < N) y[(size_t)n * M + m] = tile[tx][r];
    }
  }
}
