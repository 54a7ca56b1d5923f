// h76_two_term_bf16  op=gemm
// splits inputs into two bf16 terms: 16 bits, not 24
__device__ __forceinline__ float rbf(float f) { unsigned u = __float_as_uint(f); u += 0x7fff + ((u>>16)&1); return __uint_as_float(u & 0xffff0000u); }
extern "C" __global__ void cand(const float* A, const float* B, float* C, int M, int N, int K){
  int r = blockIdx.y*16 + threadIdx.y, c = blockIdx.x*16 + threadIdx.x; float s = 0.f;
  if (r < M && c < N) { for (int k = 0; k < K; ++k) { float a = A[(size_t)r*K+k], b = B[(size_t)k*N+c]; float ah = rbf(a), bh = rbf(b), al = rbf(a-ah), bl = rbf(b-bh); s += ah*bh; s += ah*bl; s += al*bh; } C[(size_t)r*N+c] = s; }
}
