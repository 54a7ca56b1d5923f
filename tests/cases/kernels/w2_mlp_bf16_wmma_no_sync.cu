// w2_mlp_bf16_wmma_no_sync  op=matmul_bias_gelu_bf16
// fragments are stored and read without a barrier
#include <cuda_bf16.h>
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void wmma_gelu(const __nv_bfloat16* __restrict__ A, const __nv_bfloat16* __restrict__ B,
                                     const __nv_bfloat16* __restrict__ bias, __nv_bfloat16* __restrict__ C, int M,
                                     int N, int K) {
    __shared__ __align__(32) __nv_bfloat16 As[32][16 + 8];
    __shared__ __align__(32) __nv_bfloat16 Bs[16][32 + 8];
    __shared__ __align__(32) float Cs[32][32 + 4];
    const int m0 = blockIdx.y * 32, n0 = blockIdx.x * 32, warp = threadIdx.x / 32, wm = warp / 2, wn = warp % 2;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
    wmma::fill_fragment(acc, 0.0f);
    for (int k0 = 0; k0 < K; k0 += 16) {
        for (int i = threadIdx.x; i < 512; i += 128) {
            int r = i / 16, c = i % 16;
            As[r][c] = m0 + r < M && k0 + c < K ? A[(size_t)(m0 + r) * K + k0 + c] : __float2bfloat16(0.0f);
            r = i / 32, c = i % 32;
            Bs[r][c] = k0 + r < K && n0 + c < N ? B[(size_t)(k0 + r) * N + n0 + c] : __float2bfloat16(0.0f);
        }
        __syncthreads();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> a;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> b;
        wmma::load_matrix_sync(a, &As[wm * 16][0], 24);
        wmma::load_matrix_sync(b, &Bs[0][wn * 16], 40);
        wmma::mma_sync(acc, a, b, acc);
        __syncthreads();
    }
    wmma::store_matrix_sync(&Cs[wm * 16][wn * 16], acc, 36, wmma::mem_row_major);
    for (int i = threadIdx.x; i < 1024; i += 128) {
        int r = i / 32, c = i % 32;
        if (m0 + r < M && n0 + c < N) {
            float h = Cs[r][c] + __bfloat162float(bias[n0 + c]);
            C[(size_t)(m0 + r) * N + n0 + c] = __float2bfloat16_rn(0.5f * h * (1.0f + erff(h * 0.7071067811865476f)));
        }
    }
}
