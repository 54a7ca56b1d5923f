// w2_mlp_bf16_mma_fragment  op=matmul_bias_gelu_bf16
// two registers of the A fragment are exchanged
#include <cuda_bf16.h>
__device__ __forceinline__ unsigned pack(__nv_bfloat16 lo, __nv_bfloat16 hi) {
    return (unsigned)__bfloat16_as_ushort(hi) << 16 | __bfloat16_as_ushort(lo);
}
extern "C" __global__ void mma_gelu(const __nv_bfloat16* __restrict__ A, const __nv_bfloat16* __restrict__ B,
                                    const __nv_bfloat16* __restrict__ bias, __nv_bfloat16* __restrict__ C, int M,
                                    int N, int K) {
    const int lane = threadIdx.x, g = lane >> 2, t = lane & 3, m0 = blockIdx.y * 16, n0 = blockIdx.x * 8;
    const __nv_bfloat16 zero = __float2bfloat16(0.0f);
    auto a_at = [&](int r, int c) { return m0 + r < M && c < K ? A[(size_t)(m0 + r) * K + c] : zero; };
    auto b_at = [&](int r, int c) { return r < K && n0 + c < N ? B[(size_t)r * N + n0 + c] : zero; };
    float d0 = 0.f, d1 = 0.f, d2 = 0.f, d3 = 0.f;
    for (int k = 0; k < K; k += 16) {
        unsigned a0 = pack(a_at(g, k + t * 2), a_at(g, k + t * 2 + 1));
        unsigned a1 = pack(a_at(g + 8, k + t * 2), a_at(g + 8, k + t * 2 + 1));
        unsigned a2 = pack(a_at(g, k + t * 2 + 8), a_at(g, k + t * 2 + 9));
        unsigned a3 = pack(a_at(g + 8, k + t * 2 + 8), a_at(g + 8, k + t * 2 + 9));
        unsigned b0 = pack(b_at(k + t * 2, g), b_at(k + t * 2 + 1, g));
        unsigned b1 = pack(b_at(k + t * 2 + 8, g), b_at(k + t * 2 + 9, g));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                     "{%0,%1,%2,%3};\n"
                     : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
                     : "r"(a0), "r"(a2), "r"(a1), "r"(a3), "r"(b0), "r"(b1));
    }
    auto put = [&](int r, int c, float s) {
        if (m0 + r >= M || n0 + c >= N) return;
        float h = s + __bfloat162float(bias[n0 + c]);
        C[(size_t)(m0 + r) * N + n0 + c] = __float2bfloat16(0.5f * h * (1.0f + erff(h * 0.70710678f)));
    };
    put(g, t * 2, d0);
    put(g, t * 2 + 1, d1);
    put(g + 8, t * 2, d2);
    put(g + 8, t * 2 + 1, d3);
}
