// ok_relu_assert  op=relu
// an assertion that holds
extern "C" __global__ void cand(const float* __restrict__ x, float* __restrict__ y, long long n){
  assert(n > 0); long long i = blockIdx.x * 256LL + threadIdx.x; if (i < n) y[i] = x[i] < 0.f ? 0.f : x[i];
}
