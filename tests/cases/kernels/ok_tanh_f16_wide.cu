// ok_tanh_f16_wide  op=tanh_f16
// f32 in between, by tanh.approx.f32
#include <cuda_fp16.h>
extern "C" __global__ void cand(const __half* x, __half* y, int N){
  int i = blockIdx.x*256 + threadIdx.x;
  if (i >= N) return;
  float v = __half2float(x[i]);
  asm("tanh.approx.f32 %0, %0;" : "+f"(v));
  y[i] = __float2half(v);
}
