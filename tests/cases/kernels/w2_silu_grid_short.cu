// w2_silu_grid_short  op=silu
// the grid is rounded down
extern "C" __global__ void silu_k(const float* x, float* y, int N) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N) y[i] = x[i] * __frcp_rn(1.f + expf(-x[i]));
}
