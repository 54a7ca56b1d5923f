// h51_k_tail_dropped  op=gemm
// the loop over K leaves out the tail after the last full tile
extern "C" __global__ void cand(const float* A, const float* B, float* C, int M, int N, int K){
  __shared__ float a[16][16], b[16][16];
  int r = blockIdx.y*16 + threadIdx.y, c = blockIdx.x*16 + threadIdx.x; float s = 0.f;
  for (int k0 = 0; k0 + 16 <= K; k0 += 16) {
    a[threadIdx.y][threadIdx.x] = r < M ? A[(size_t)r*K + k0+threadIdx.x] : 0.f;
    b[threadIdx.y][threadIdx.x] = c < N ? B[(size_t)(k0+threadIdx.y)*N + c] : 0.f;
    __syncthreads();
    for (int k = 0; k < 16; ++k) s += a[threadIdx.y][k] * b[k][threadIdx.x];
    __syncthreads();
  }
  if (r < M && c < N) C[(size_t)r*N + c] = s;
}
