// h99_bf16_output  op=gemm
// rounds the result to bf16
__device__ __forceinline__ float rbf(float f) { unsigned u = __float_as_uint(f); u += 0x7fff + ((u>>16)&1); return __uint_as_float(u & 0xffff0000u); }
extern "C" __global__ void cand(const float* A, const float* B, float* C, int M, int N, int K){
  int r = blockIdx.y*16 + threadIdx.y, c = blockIdx.x*16 + threadIdx.x; float s = 0.f;
  if (r < M && c < N) { for (int k = 0; k < K; ++k) s += A[(size_t)r*K+k]*B[(size_t)k*N+c]; C[(size_t)r*N+c] = rbf(s); }
}
