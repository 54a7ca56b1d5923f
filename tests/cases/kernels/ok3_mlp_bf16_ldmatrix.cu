// ok3_mlp_bf16_ldmatrix  op=matmul_bias_gelu_bf16
// ldmatrix from XOR-swizzled tiles, mma m16n8k16, ragged edges
#include <cuda_bf16.h>
typedef __nv_bfloat16 bf16;
__device__ __forceinline__ void ldm4(unsigned (&r)[4], const void* p) {
  unsigned a = (unsigned)__cvta_generic_to_shared(p);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(a));
}
__device__ __forceinline__ void ldm2t(unsigned (&r)[2], const void* p) {
  unsigned a = (unsigned)__cvta_generic_to_shared(p);
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(a));
}
__device__ __forceinline__ void mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// 32 columns of bf16 are four chunks of 16 bytes; chunk c of row r lies at c ^ (r / 2 % 4)
__device__ __forceinline__ int swz(int r, int c) { return r * 32 + ((c / 8 ^ (r / 2 & 3)) * 8) + c % 8; }
extern "C" __global__ void __launch_bounds__(128) mlp(const bf16* __restrict__ A, const bf16* __restrict__ B, const bf16* __restrict__ bias,
                                                      bf16* __restrict__ C, int M, int N, int K) {
  __shared__ __align__(128) bf16 As[32 * 32], Bs[32 * 32];
  const int t = threadIdx.x, lane = t & 31, w = t >> 5, m0 = blockIdx.y * 32, n0 = blockIdx.x * 32;
  const int wm = (w >> 1) * 16, wn = (w & 1) * 16;
  float acc[2][4] = {};
  for (int k0 = 0; k0 < K; k0 += 32) {
    for (int i = t; i < 1024; i += 128) {
      int r = i >> 5, c = i & 31;
      As[swz(r, c)] = m0 + r < M && k0 + c < K ? A[(size_t)(m0 + r) * K + k0 + c] : __float2bfloat16(0.f);
      Bs[swz(r, c)] = k0 + r < K && n0 + c < N ? B[(size_t)(k0 + r) * N + n0 + c] : __float2bfloat16(0.f);
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 32; kk += 16) {
      unsigned a[4], b[2];
      ldm4(a, &As[swz(wm + (lane & 15), kk + (lane >> 4) * 8)]);
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        ldm2t(b, &Bs[swz(kk + (lane & 15), wn + j * 8)]);
        mma(acc[j], a, b);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int j = 0; j < 2; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      int m = m0 + wm + lane / 4 + (e / 2) * 8, n = n0 + wn + j * 8 + lane % 4 * 2 + e % 2;
      if (m < M && n < N) {
        float h = acc[j][e] + __bfloat162float(bias[n]);
        C[(size_t)m * N + n] = __float2bfloat16(0.5f * h * (1.0f + erff(h * 0.70710678f)));
      }
    }
}
