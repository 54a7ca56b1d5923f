// ok_gemm_f16_scalar  op=gemm_f16
// f32 accumulation, rounded once
#include <cuda_fp16.h>
extern "C" __global__ void cand(const __half* A, const __half* B, __half* C, int M, int N, int K){
  int r = blockIdx.y*16 + threadIdx.y, c = blockIdx.x*16 + threadIdx.x; float s = 0.f;
  if (r < M && c < N) { for (int k = 0; k < K; ++k) s += __half2float(A[(size_t)r*K+k]) * __half2float(B[(size_t)k*N+c]); C[(size_t)r*N+c] = __float2half(s); }
}
