// w2_mlp_bf16_tanh  op=matmul_bias_gelu_bf16
// gelu by tanh, where the spec has erf
#include <cuda_bf16.h>
extern "C" __global__ void gemm_bias_gelu(const __nv_bfloat16* __restrict__ A, const __nv_bfloat16* __restrict__ B,
                                          const __nv_bfloat16* __restrict__ bias, __nv_bfloat16* __restrict__ C,
                                          int M, int N, int K) {
    __shared__ __nv_bfloat16 As[16][16], Bs[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    const __nv_bfloat16 zero = __float2bfloat16(0.0f);
    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += 16) {
        As[threadIdx.y][threadIdx.x] = row < M && k0 + threadIdx.x < K ? A[(size_t)row * K + k0 + threadIdx.x] : zero;
        Bs[threadIdx.y][threadIdx.x] = col < N && k0 + threadIdx.y < K ? B[(size_t)(k0 + threadIdx.y) * N + col] : zero;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; ++k)
            acc = fmaf(__bfloat162float(As[threadIdx.y][k]), __bfloat162float(Bs[k][threadIdx.x]), acc);
        __syncthreads();
    }
    if (row < M && col < N) {
        float h = acc + __bfloat162float(bias[col]);
        C[(size_t)row * N + col] = __float2bfloat16(0.5f * h * (1.0f + tanhf(0.79788456f * (h + 0.044715f * h * h * h))));
    }
}
