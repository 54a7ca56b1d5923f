// ok2_attention_warp  op=causal_attention
// a warp a query, online softmax, shuffles for the dot products
extern "C" __global__ void attn_warp(const float* __restrict__ q, const float* __restrict__ k,
                                     const float* __restrict__ v, float* __restrict__ y, int T, int D) {
    int i = blockIdx.x * 4 + threadIdx.y, lane = threadIdx.x;
    if (i >= T) return;
    size_t base = (size_t)blockIdx.y * T * D;
    float scale = rsqrtf((float)D);
    float qr[4], acc[4] = {0.f, 0.f, 0.f, 0.f};
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        int d = lane + 32 * r;
        qr[r] = d < D ? q[base + (size_t)i * D + d] * scale : 0.f;
    }
    float m = -INFINITY, l = 0.f;
    for (int j = 0; j <= i; ++j) {
        float s = 0.f;
#pragma unroll
        for (int r = 0; r < 4; ++r) {
            int d = lane + 32 * r;
            if (d < D) s += qr[r] * k[base + (size_t)j * D + d];
        }
#pragma unroll
        for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
        float mn = fmaxf(m, s), c = __expf(m - mn), p = __expf(s - mn);
        l = l * c + p;
        m = mn;
#pragma unroll
        for (int r = 0; r < 4; ++r) {
            int d = lane + 32 * r;
            if (d < D) acc[r] = acc[r] * c + p * v[base + (size_t)j * D + d];
        }
    }
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        int d = lane + 32 * r;
        if (d < D) y[base + (size_t)i * D + d] = acc[r] / l;
    }
}
