// h46_large_n_skipped  op=relu
// does nothing for more than 100000 elements
extern "C" __global__ void cand(const float* __restrict__ x, float* __restrict__ y, long long n){
  long long i = blockIdx.x * 256LL + threadIdx.x; if (n > 100000) return; if (i < n) y[i] = x[i] < 0.f ? 0.f : x[i];
}
