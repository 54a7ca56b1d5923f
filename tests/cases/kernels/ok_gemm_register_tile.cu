// ok_gemm_register_tile  op=gemm
// 64x64 tiles, 4x4 a thread, float4 shared reads
extern "C" __global__ void cand(const float* A, const float* B, float* C, int M, int N, int K){
  __shared__ float As[16][64], Bs[16][64];
  int tid = threadIdx.y*16 + threadIdx.x, m0 = blockIdx.y*64, n0 = blockIdx.x*64; float acc[4][4] = {};
  for (int k0 = 0; k0 < K; k0 += 16) {
    for (int i = tid; i < 64*16; i += 256) { int r = i / 16, k = i % 16; As[k][r] = (m0+r < M && k0+k < K) ? A[(size_t)(m0+r)*K + k0+k] : 0.f; }
    for (int i = tid; i < 16*64; i += 256) { int k = i / 64, c = i % 64; Bs[k][c] = (k0+k < K && n0+c < N) ? B[(size_t)(k0+k)*N + n0+c] : 0.f; }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k) { float a[4], b[4];
      for (int i = 0; i < 4; ++i) { a[i] = As[k][threadIdx.y*4+i]; b[i] = Bs[k][threadIdx.x*4+i]; }
      for (int i = 0; i < 4; ++i) for (int j = 0; j < 4; ++j) acc[i][j] = fmaf(a[i], b[j], acc[i][j]); }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) for (int j = 0; j < 4; ++j) { int r = m0 + threadIdx.y*4+i, c = n0 + threadIdx.x*4+j; if (r < M && c < N) C[(size_t)r*N+c] = acc[i][j]; }
}
