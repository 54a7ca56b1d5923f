// ok_tanh_f16_approx  op=tanh_f16
// tanh.approx.f16: what it loses is within f16
#include <cuda_fp16.h>
extern "C" __global__ void cand(const __half* x, __half* y, int N){
  int i = blockIdx.x*256 + threadIdx.x;
  if (i >= N) return;
  unsigned short h = __half_as_ushort(x[i]);
  asm("tanh.approx.f16 %0, %0;" : "+h"(h));
  y[i] = __ushort_as_half(h);
}
