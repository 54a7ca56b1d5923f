// h82_assert  op=relu
// asserts what the spec does not promise
extern "C" __global__ void cand(const float* __restrict__ x, float* __restrict__ y, long long n){
  long long i = blockIdx.x * 256LL + threadIdx.x; if (i < n) { assert(x[i] > -0.5f); y[i] = fmaxf(x[i], 0.f); }
}
