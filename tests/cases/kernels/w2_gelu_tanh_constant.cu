// w2_gelu_tanh_constant  op=gelu_tanh
// 0.0447 for 0.044715
extern "C" __global__ void gelu_tanh_fwd(const float* __restrict__ x, float* __restrict__ y, int N) {
    const float kBeta = 0.7978845608028654f, kKappa = 0.0447f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += blockDim.x * gridDim.x) {
        float v = x[i];
        float inner = kBeta * fmaf(kKappa * v, v * v, v);
        y[i] = 0.5f * v * (1.0f + tanhf(inner));
    }
}
