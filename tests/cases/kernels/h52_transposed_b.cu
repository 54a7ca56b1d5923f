// h52_transposed_b  op=gemm
// reads B transposed: right for symmetric B only
extern "C" __global__ void cand(const float* A, const float* B, float* C, int M, int N, int K){
  int r = blockIdx.y*16 + threadIdx.y, c = blockIdx.x*16 + threadIdx.x; float s = 0.f;
  if (r < M && c < N) { for (int k = 0; k < K; ++k) { size_t i = (size_t)c*K+k; s += A[(size_t)r*K+k]*B[i % ((size_t)K*N)]; } C[(size_t)r*N+c] = s; }
}
