// h66_f16_accumulator  op=gemm_f16
// accumulates in half precision
#include <cuda_fp16.h>
extern "C" __global__ void cand(const __half* A, const __half* B, __half* C, int M, int N, int K){
  int r = blockIdx.y*16 + threadIdx.y, c = blockIdx.x*16 + threadIdx.x; __half s = __float2half(0.f);
  if (r < M && c < N) { for (int k = 0; k < K; ++k) s = __hfma(A[(size_t)r*K+k], B[(size_t)k*N+c], s); C[(size_t)r*N+c] = s; }
}
