// w2_matmul_async_no_second_sync  op=matmul
// the next copy is started into a buffer that others still read
#include <cuda_pipeline.h>
#define BK 8
__device__ __forceinline__ void copy4(float* dst, const float* src, bool ok) {
    __pipeline_memcpy_async(dst, src, 4, ok ? 0 : 4);
}
__device__ void load_stage(float (*As)[BK], float (*Bs)[32], const float* A, const float* B, int M, int N, int K,
                           int m0, int n0, int k0, int t) {
    int r = t / BK, c = t % BK;
    bool ok = m0 + r < M && k0 + c < K;
    copy4(&As[r][c], ok ? A + (size_t)(m0 + r) * K + k0 + c : A, ok);
    r = t / 32, c = t % 32;
    ok = k0 + r < K && n0 + c < N;
    copy4(&Bs[r][c], ok ? B + (size_t)(k0 + r) * N + n0 + c : B, ok);
}
extern "C" __global__ void gemm_async(const float* __restrict__ A, const float* __restrict__ B,
                                      float* __restrict__ C, int M, int N, int K) {
    __shared__ __align__(16) float As[2][32][BK];
    __shared__ __align__(16) float Bs[2][BK][32];
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * 16 + tx, m0 = blockIdx.y * 32, n0 = blockIdx.x * 32;
    float c[2][2] = {};
    int steps = (K + BK - 1) / BK;
    load_stage(As[0], Bs[0], A, B, M, N, K, m0, n0, 0, t);
    __pipeline_commit();
    for (int s = 0; s < steps; ++s) {
        if (s + 1 < steps) {
            load_stage(As[(s + 1) & 1], Bs[(s + 1) & 1], A, B, M, N, K, m0, n0, (s + 1) * BK, t);
            __pipeline_commit();
            __pipeline_wait_prior(1);
        } else {
            __pipeline_wait_prior(0);
        }
        __syncthreads();
        for (int k = 0; k < BK; ++k)
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 2; ++j) c[i][j] += As[s & 1][ty + 16 * i][k] * Bs[s & 1][k][tx + 16 * j];
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) {
            int m = m0 + ty + 16 * i, n = n0 + tx + 16 * j;
            if (m < M && n < N) C[(size_t)m * N + n] = c[i][j];
        }
}
