/*
 * matmul_bias_gelu_bf16, track bf16, guard 1
 * region 0: 256 threads, vector 1, m 128/8, n 128/8, k 16/1; tile-staging, shared-residency, register-tile
 */
#include <cuda_bf16.h>

typedef long long i64;
typedef unsigned long long u64;

/* A tile of the output a block, staged through shared memory:
 *   s[m,n] = sum(k) f32(A[m,k]) * f32(B[k,n])
 *   h[m,n] = s[m,n] + f32(bias[n])
 *   C[m,n] = bf16(0.5 * h[m,n] * (1.0 + erf(h[m,n] * 0.7071067811865476)))
 */
extern "C" __global__ void __launch_bounds__(256) matmul_bias_gelu_bf16_1_C(const __nv_bfloat16 *__restrict__ A, const __nv_bfloat16 *__restrict__ B, const __nv_bfloat16 *__restrict__ bias, __nv_bfloat16 *__restrict__ C, i64 M, i64 N, i64 K)
{
    __shared__ __align__(16) float a_tile[16][132], b_tile[16][132];
    const i64 m_count = M, n_count = N, k_count = K;
    const i64 across = (n_count + 127) / 128, down = (m_count + 127) / 128;
    const i64 first_n = blockIdx.x % across * 128;
    const i64 first_m = blockIdx.x / across % down * 128;
    const int tid = threadIdx.x, tx = tid % 16, ty = tid / 16;
    float sum[8][8] = {};
    for (i64 k_start = 0; k_start < k_count; k_start += 16) {
        #pragma unroll 4
        for (int cell = tid; cell < 2048; cell += 256) {
            const int tile_k = cell % 16, tile_m = cell / 16;
            const i64 flat_m = first_m + tile_m, flat_k = k_start + tile_k;
            float term = 0;
            if (flat_m < m_count && flat_k < k_count) {
                const i64 m = flat_m;
                const i64 k = flat_k;
                term = __bfloat162float(A[m * K + k]);
            }
            a_tile[tile_k][tile_m] = term;
        }
        #pragma unroll 4
        for (int cell = tid; cell < 2048; cell += 256) {
            const int tile_n = cell % 128, tile_k = cell / 128;
            const i64 flat_n = first_n + tile_n, flat_k = k_start + tile_k;
            float term = 0;
            if (flat_n < n_count && flat_k < k_count) {
                const i64 n = flat_n;
                const i64 k = flat_k;
                term = __bfloat162float(B[k * N + n]);
            }
            b_tile[tile_k][tile_n] = term;
        }
        __syncthreads();
        float fresh[8][8] = {};
        #pragma unroll
        for (int step = 0; step < 16; ++step) {
            float a_reg[8], b_reg[8];
            #pragma unroll
            for (int i_ = 0; i_ < 8; ++i_) {
                a_reg[i_] = a_tile[step][i_ / 4 * 64 + ty * 4 + i_ % 4];
            }
            #pragma unroll
            for (int j_ = 0; j_ < 8; ++j_) {
                b_reg[j_] = b_tile[step][j_ / 4 * 64 + tx * 4 + j_ % 4];
            }
            #pragma unroll
            for (int i_ = 0; i_ < 8; ++i_) {
                #pragma unroll
                for (int j_ = 0; j_ < 8; ++j_) {
                    fresh[i_][j_] += a_reg[i_] * b_reg[j_];
                }
            }
        }
        #pragma unroll
        for (int i_ = 0; i_ < 8; ++i_) {
            #pragma unroll
            for (int j_ = 0; j_ < 8; ++j_) {
                sum[i_][j_] += fresh[i_][j_];
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i_ = 0; i_ < 8; ++i_) {
        #pragma unroll
        for (int j_ = 0; j_ < 8; ++j_) {
            const i64 flat_m = first_m + i_ / 4 * 64 + ty * 4 + i_ % 4;
            const i64 flat_n = first_n + j_ / 4 * 64 + tx * 4 + j_ % 4;
            if (flat_m < m_count && flat_n < n_count) {
                const i64 m = flat_m;
                const i64 n = flat_n;
                const float s_cell = sum[i_][j_];
                const float h_cell = s_cell + __bfloat162float(bias[n]);
                const float C_cell = __bfloat162float((__float2bfloat16_rn(0.5f * h_cell * (1.0f + erff(h_cell * 0.707106781f)))));
                C[m * N + n] = __float2bfloat16_rn(C_cell);
            }
        }
    }
}

// manifest: {"arch":"sm_90a","deterministic":false,"guard":1,"kernels":[{"args":[{"tensor":"A"},{"tensor":"B"},{"tensor":"bias"},{"tensor":"C"},{"dim":"M","dtype":"i64"},{"dim":"N","dtype":"i64"},{"dim":"K","dtype":"i64"}],"block":[256,1,1],"cluster":[1,1,1],"cooperative":false,"entry":"matmul_bias_gelu_bf16_1_C","grid":["ceildiv(M, 128) * ceildiv(N, 128)",1,1],"programmatic":false,"smem":0}],"manifest":1,"op":"matmul_bias_gelu_bf16","prepare":[],"strategy":"realised","workspace":[]}
