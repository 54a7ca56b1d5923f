// ok2_silu_sigmoid_recip  op=silu
// sigmoid by __frcp_rn, times x
extern "C" __global__ void silu_k(const float* x, float* y, int N) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) y[i] = x[i] * __frcp_rn(1.f + expf(-x[i]));
}
