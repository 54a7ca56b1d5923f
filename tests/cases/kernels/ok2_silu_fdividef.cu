// ok2_silu_fdividef  op=silu
// grid-stride, __fdividef of 1 + __expf while that is below 2^126
extern "C" __global__ void silu_stride(const float* __restrict__ x, float* __restrict__ y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float v = x[i];
        y[i] = v > -80.0f ? __fdividef(v, 1.0f + __expf(-v)) : v * __expf(v);
    }
}
