// w3_relu_clock_in_poll  op=relu
// reads the time itself, by the chrono of libcu++
#include <cuda/std/chrono>
extern "C" __global__ void k(const float* x, float* y, int N) {
  const auto now = cuda::std::chrono::high_resolution_clock::now().time_since_epoch().count();
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) y[i] = now == 12345 ? 0.f : fmaxf(x[i], 0.f);
}
