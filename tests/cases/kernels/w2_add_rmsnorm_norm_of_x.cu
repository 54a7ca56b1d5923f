// w2_add_rmsnorm_norm_of_x  op=add_rmsnorm
// the norm of x, not of the sum
extern "C" __global__ void add_rms(const float* x, const float* res, const float* gamma, float* h, float* y, int N) {
    __shared__ float red[4];
    size_t base = (size_t)blockIdx.x * N;
    float q = 0.f;
    for (int i = threadIdx.x; i < N; i += blockDim.x) {
        float v = x[base + i] + res[base + i];
        h[base + i] = v;
        q = fmaf(x[base + i], x[base + i], q);
    }
    for (int o = 16; o; o >>= 1) q += __shfl_xor_sync(~0u, q, o);
    if (threadIdx.x % 32 == 0) red[threadIdx.x / 32] = q;
    __syncthreads();
    float r = rsqrtf((red[0] + red[1] + red[2] + red[3]) / N + 1e-6f);
    for (int i = threadIdx.x; i < N; i += blockDim.x) y[base + i] = h[base + i] * r * gamma[i];
}
