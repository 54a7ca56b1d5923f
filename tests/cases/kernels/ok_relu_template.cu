// ok_relu_template  op=relu
// a functor applied by a template, launch bounds
struct Relu { __device__ __forceinline__ float operator()(float v) const { return v < 0.0f ? 0.0f : v; } };
template <typename F, int ITEMS> __device__ __forceinline__ void map(const float* __restrict__ x, float* __restrict__ y, long long n, F f) {
  long long base = blockIdx.x * (long long)(256 * ITEMS) + threadIdx.x;
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) { long long i = base + k * 256; if (i < n) y[i] = f(x[i]); }
}
extern "C" __global__ void __launch_bounds__(256, 4) cand(const float* __restrict__ x, float* __restrict__ y, long long n) { map<Relu, 8>(x, y, n, Relu()); }
