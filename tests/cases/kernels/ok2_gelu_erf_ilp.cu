// ok2_gelu_erf_ilp  op=gelu_erf
// four elements a thread a block apart, erff
#define UNROLL 4
extern "C" __global__ void gelu_erf_kernel(const float* __restrict__ x, float* __restrict__ y, int N) {
    int base = blockIdx.x * blockDim.x * UNROLL + threadIdx.x;
    float v[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        int i = base + u * blockDim.x;
        v[u] = i < N ? x[i] : 0.0f;
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        int i = base + u * blockDim.x;
        if (i < N) y[i] = 0.5f * v[u] * (1.0f + erff(v[u] * 0.70710678118654752440f));
    }
}
