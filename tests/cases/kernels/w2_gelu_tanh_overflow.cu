// w2_gelu_tanh_overflow  op=gelu_tanh
// exp(u) / (1 + exp(u)) is NaN where u is large
extern "C" __global__ void gelu_sig(const float* x, float* y, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N) return;
    float v = x[i], u = 1.5957691216057308f * (v + 0.044715f * v * v * v);
    float e = expf(u); y[i] = v * e / (1.0f + e);
}
