// ok_gemm_double_buffer  op=gemm
// two shared buffers, one barrier a step
extern "C" __global__ void cand(const float* A, const float* B, float* C, int M, int N, int K){
  __shared__ float a[2][16][17], b[2][16][17]; int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y*16 + ty, c = blockIdx.x*16 + tx; float s = 0.f; int steps = (K + 15) / 16;
  a[0][ty][tx] = (r < M && tx < K) ? A[(size_t)r*K + tx] : 0.f; b[0][ty][tx] = (ty < K && c < N) ? B[(size_t)ty*N + c] : 0.f; __syncthreads();
  for (int t = 0; t < steps; ++t) { int cur = t & 1, k1 = (t+1)*16;
    if (t + 1 < steps) { a[cur^1][ty][tx] = (r < M && k1+tx < K) ? A[(size_t)r*K + k1+tx] : 0.f; b[cur^1][ty][tx] = (k1+ty < K && c < N) ? B[(size_t)(k1+ty)*N + c] : 0.f; }
    for (int k = 0; k < 16; ++k) s += a[cur][ty][k] * b[cur][k][tx];
    __syncthreads(); }
  if (r < M && c < N) C[(size_t)r*N + c] = s;
}
