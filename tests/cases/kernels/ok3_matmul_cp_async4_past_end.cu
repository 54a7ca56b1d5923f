// ok3_matmul_cp_async4_past_end  op=matmul
// copies past the end of K take none of their source, and nobody waits for them
template <int N> __device__ __forceinline__ void cp_wait() { asm volatile("cp.async.wait_group %0;\n" ::"n"(N)); }
__device__ __forceinline__ void cp_commit() { asm volatile("cp.async.commit_group;\n" ::); }
__device__ __forceinline__ void cp16(void* s, const void* g, bool ok) {
  unsigned a = (unsigned)__cvta_generic_to_shared(s);
  int bytes = ok ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(a), "l"(g), "r"(bytes));
}
constexpr int BM = 32, BN = 32, BK = 16, STAGES = 4;
extern "C" __global__ void __launch_bounds__(128) gemm4(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                                                        int M, int N, int K) {
  extern __shared__ __align__(16) float smem[];
  float(*As)[BM][BK] = reinterpret_cast<float(*)[BM][BK]>(smem);
  float(*Bs)[BK][BN] = reinterpret_cast<float(*)[BK][BN]>(smem + STAGES * BM * BK);
  const int t = threadIdx.x, m0 = blockIdx.y * BM, n0 = blockIdx.x * BN, steps = (K + BK - 1) / BK;
  auto load = [&](int stage, int k0) {
    int r = t / 4, c = t % 4 * 4;
    bool ok = m0 + r < M && k0 + c < K;
    cp16(&As[stage][r][c], ok ? A + (size_t)(m0 + r) * K + k0 + c : A, ok);
    r = t / 8, c = t % 8 * 4;
    ok = k0 + r < K && n0 + c < N;
    cp16(&Bs[stage][r][c], ok ? B + (size_t)(k0 + r) * N + n0 + c : B, ok);
  };
#pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) {
    if (s < steps) load(s, s * BK);
    cp_commit();
  }
  const int ty = t / 16, tx = t % 16;
  float acc[4][2] = {};
  for (int s = 0; s < steps; ++s) {
    cp_wait<STAGES - 2>();
    __syncthreads();
    const int next = s + STAGES - 1;
    load(next % STAGES, next * BK);
    cp_commit();
#pragma unroll
    for (int k = 0; k < BK; ++k)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float a = As[s % STAGES][ty * 4 + i][k];
        float2 b = *reinterpret_cast<const float2*>(&Bs[s % STAGES][k][tx * 2]);
        acc[i][0] += a * b.x, acc[i][1] += a * b.y;
      }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 2; ++j) {
      int m = m0 + ty * 4 + i, n = n0 + tx * 2 + j;
      if (m < M && n < N) C[(size_t)m * N + n] = acc[i][j];
    }
}
