// h84_hang_on_tail  op=relu
// spins in the last, partial block
extern "C" __global__ void cand(const float* __restrict__ x, float* __restrict__ y, long long n){
  long long i = blockIdx.x * 256LL + threadIdx.x; volatile int z = 1;
  if (i >= n) while (z) { }
  else y[i] = fmaxf(x[i], 0.f);
}
