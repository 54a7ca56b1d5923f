// ok_wide_sin  op=wide_sin
// sin of arguments beyond 2^15 walks a table in local memory, in registers named again in inner blocks
extern "C" __global__ void cand(const double* x, double* y, int N){
  int i = blockIdx.x*256 + threadIdx.x;
  if (i < N) y[i] = sin(x[i]);
}
