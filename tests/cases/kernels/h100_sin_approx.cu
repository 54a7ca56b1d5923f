// h100_sin_approx  op=sin_wide
// __sinf reduces the angle in 24 bits: 2^-16 at 300
extern "C" __global__ void cand(const float* x, float* y, int N){
  int i = blockIdx.x*256 + threadIdx.x;
  if (i < N) y[i] = __sinf(x[i]);
}
