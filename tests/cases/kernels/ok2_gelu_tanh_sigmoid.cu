// ok2_gelu_tanh_sigmoid  op=gelu_tanh
// 1 + tanh(u) as 2 sigmoid(2u)
extern "C" __global__ void gelu_sig(const float* x, float* y, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N) return;
    float v = x[i], u = 1.5957691216057308f * (v + 0.044715f * v * v * v);
    y[i] = v / (1.0f + __expf(-u));
}
