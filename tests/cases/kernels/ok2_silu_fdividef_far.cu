// ok2_silu_fdividef_far  op=silu
// __fdividef by more than 2^126 is 0: the far left tail is lost
extern "C" __global__ void silu_stride(const float* __restrict__ x, float* __restrict__ y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float v = x[i];
        y[i] = __fdividef(v, 1.0f + __expf(-v));
    }
}
