// w2_gelu_erf_abramowitz  op=gelu_erf
// erf by Abramowitz and Stegun 7.1.26, good to 1.5e-7 absolute only
__device__ float erf_as(float z) {
    float a = fabsf(z), t = 1.0f / (1.0f + 0.47047f * a);
    float e = 1.0f - (0.3480242f * t - 0.0958798f * t * t + 0.7478556f * t * t * t) * expf(-a * a);
    return copysignf(e, z);
}
extern "C" __global__ void gelu_as(const float* x, float* y, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) y[i] = 0.5f * x[i] * (1.0f + erf_as(x[i] * 0.70710678f));
}
