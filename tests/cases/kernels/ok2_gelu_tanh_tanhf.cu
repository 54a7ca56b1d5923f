// ok2_gelu_tanh_tanhf  op=gelu_tanh
// tanhf, cube by two products
extern "C" __global__ void gelu_tanh_fwd(const float* __restrict__ x, float* __restrict__ y, int N) {
    const float kBeta = 0.7978845608028654f, kKappa = 0.044715f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += blockDim.x * gridDim.x) {
        float v = x[i];
        float inner = kBeta * fmaf(kKappa * v, v * v, v);
        y[i] = 0.5f * v * (1.0f + tanhf(inner));
    }
}
