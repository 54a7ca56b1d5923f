// ok2_attention_flash  op=causal_attention
// flash: 16 queries and 16 keys a tile in shared memory, causal tiles skipped
#define BR 16
#define BC 16
#define DMAX 64
extern "C" __global__ void flash_fwd(const float* __restrict__ q, const float* __restrict__ k,
                                     const float* __restrict__ v, float* __restrict__ y, int T, int D) {
    __shared__ float Qs[BR][DMAX + 1], Ks[BC][DMAX + 1], Vs[BC][DMAX + 1], Ps[BR][BC + 1];
    const int tx = threadIdx.x, ty = threadIdx.y, i0 = blockIdx.x * BR;
    const size_t base = (size_t)blockIdx.y * T * D;
    const float scale = 1.0f / sqrtf((float)D);
    for (int d = tx; d < D; d += 16) Qs[ty][d] = i0 + ty < T ? q[base + (size_t)(i0 + ty) * D + d] : 0.0f;
    float m = -INFINITY, l = 0.0f, o[DMAX / 16] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int j0 = 0; j0 <= i0 && j0 < T; j0 += BC) {
        __syncthreads();
        for (int d = tx; d < D; d += 16) {
            bool in = j0 + ty < T;
            Ks[ty][d] = in ? k[base + (size_t)(j0 + ty) * D + d] : 0.0f;
            Vs[ty][d] = in ? v[base + (size_t)(j0 + ty) * D + d] : 0.0f;
        }
        __syncthreads();
        float s = 0.0f;
        for (int d = 0; d < D; ++d) s += Qs[ty][d] * Ks[tx][d];
        s = (j0 + tx <= i0 + ty && j0 + tx < T) ? s * scale : -INFINITY;
        float mt = s;
#pragma unroll
        for (int w = 8; w; w >>= 1) mt = fmaxf(mt, __shfl_xor_sync(0xffffffffu, mt, w, 16));
        float mn = fmaxf(m, mt), p = __expf(s - mn), lt = p;
#pragma unroll
        for (int w = 8; w; w >>= 1) lt += __shfl_xor_sync(0xffffffffu, lt, w, 16);
        float c = __expf(m - mn);
        l = l * c + lt;
        m = mn;
        Ps[ty][tx] = p;
        __syncwarp();
#pragma unroll
        for (int r = 0; r < DMAX / 16; ++r) {
            int d = tx + 16 * r;
            if (d < D) {
                float a = o[r] * c;
                for (int j = 0; j < BC; ++j) a += Ps[ty][j] * Vs[j][d];
                o[r] = a;
            }
        }
    }
    if (i0 + ty < T)
        for (int r = 0; r < DMAX / 16; ++r)
            if (tx + 16 * r < D) y[base + (size_t)(i0 + ty) * D + tx + 16 * r] = o[r] / l;
}
