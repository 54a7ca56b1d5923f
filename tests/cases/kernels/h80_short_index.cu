// h80_short_index  op=relu
// a 16-bit index wraps behind 65536
extern "C" __global__ void cand(const float* __restrict__ x, float* __restrict__ y, long long n){
  long long i = blockIdx.x * 256LL + threadIdx.x; unsigned short j = (unsigned short)i;
  if (i < n) y[j] = fmaxf(x[j], 0.f);
}
