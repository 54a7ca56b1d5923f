// ok_gemm_three_tf32  op=gemm
// three tf32 products of split inputs: as accurate as f32
__device__ __forceinline__ float rtf(float f) { unsigned u; asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(u) : "f"(f)); return __uint_as_float(u); }
extern "C" __global__ void cand(const float* A, const float* B, float* C, int M, int N, int K){
  int r = blockIdx.y*16 + threadIdx.y, c = blockIdx.x*16 + threadIdx.x; float s = 0.f;
  if (r < M && c < N) { for (int k = 0; k < K; ++k) { float a = A[(size_t)r*K+k], b = B[(size_t)k*N+c]; float ah = rtf(a), bh = rtf(b), al = rtf(a - ah), bl = rtf(b - bh); s += al*bh; s += ah*bl; s += ah*bh; } C[(size_t)r*N+c] = s; }
}
