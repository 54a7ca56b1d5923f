// h78_too_many_threads  op=relu
// asks for 2048 threads a block
extern "C" __global__ void cand(const float* __restrict__ x, float* __restrict__ y, long long n){
  long long i = blockIdx.x * 2048LL + threadIdx.x; if (i < n) y[i] = fmaxf(x[i], 0.f);
}
