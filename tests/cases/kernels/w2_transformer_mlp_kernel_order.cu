// w2_transformer_mlp_kernel_order  op=transformer_mlp
// the down product comes before its input is there
extern "C" __global__ void rms(const float* __restrict__ x, const float* __restrict__ gamma, float* __restrict__ out,
                               int E) {
    __shared__ float red[2];
    const float* p = x + (size_t)blockIdx.x * E;
    float s = 0.f;
    for (int i = threadIdx.x; i < E; i += 64) s += p[i] * p[i];
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
    if (threadIdx.x % 32 == 0) red[threadIdx.x / 32] = s;
    __syncthreads();
    float r = rsqrtf((red[0] + red[1]) / E + 1e-6f);
    for (int i = threadIdx.x; i < E; i += 64) out[(size_t)blockIdx.x * E + i] = p[i] * r * gamma[i];
}
extern "C" __global__ void gate_up(const float* __restrict__ a, const float* __restrict__ wg,
                                   const float* __restrict__ wu, float* __restrict__ act, int M, int N, int K) {
    __shared__ float As[16][17], Gs[16][17], Us[16][17];
    int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
    float g = 0.f, u = 0.f;
    for (int t = 0; t < K; t += 16) {
        int ka = t + threadIdx.x, kb = t + threadIdx.y;
        As[threadIdx.y][threadIdx.x] = m < M && ka < K ? a[(size_t)m * K + ka] : 0.f;
        Gs[threadIdx.y][threadIdx.x] = n < N && kb < K ? wg[(size_t)kb * N + n] : 0.f;
        Us[threadIdx.y][threadIdx.x] = n < N && kb < K ? wu[(size_t)kb * N + n] : 0.f;
        __syncthreads();
        for (int k = 0; k < 16; ++k) {
            float v = As[threadIdx.y][k];
            g = fmaf(v, Gs[k][threadIdx.x], g);
            u = fmaf(v, Us[k][threadIdx.x], u);
        }
        __syncthreads();
    }
    if (m < M && n < N) act[(size_t)m * N + n] = g / (1.f + __expf(-g)) * u;
}
extern "C" __global__ void down(const float* __restrict__ a, const float* __restrict__ wd, const float* __restrict__ x,
                                float* __restrict__ y, int M, int N, int K) {
    __shared__ float As[16][17], Bs[16][17];
    int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
    float s = 0.f;
    for (int t = 0; t < K; t += 16) {
        int ka = t + threadIdx.x, kb = t + threadIdx.y;
        As[threadIdx.y][threadIdx.x] = m < M && ka < K ? a[(size_t)m * K + ka] : 0.f;
        Bs[threadIdx.y][threadIdx.x] = n < N && kb < K ? wd[(size_t)kb * N + n] : 0.f;
        __syncthreads();
        for (int k = 0; k < 16; ++k) s = fmaf(As[threadIdx.y][k], Bs[k][threadIdx.x], s);
        __syncthreads();
    }
    if (m < M && n < N) y[(size_t)m * N + n] = x[(size_t)m * N + n] + s;
}
