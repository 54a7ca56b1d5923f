// ok2_layernorm_welford  op=layernorm
// Welford a thread, Chan merges by shuffles and in shared memory
struct Stat {
    float mean, m2, n;
};
__device__ __forceinline__ Stat combine(Stat a, Stat b) {
    float n = a.n + b.n;
    if (n == 0.f) return a;
    float delta = b.mean - a.mean, f = b.n / n;
    return Stat{a.mean + delta * f, a.m2 + b.m2 + delta * delta * a.n * f, n};
}
__device__ __forceinline__ Stat warp_combine(Stat s) {
    for (int o = 16; o > 0; o >>= 1) {
        Stat t;
        t.mean = __shfl_down_sync(0xffffffffu, s.mean, o);
        t.m2 = __shfl_down_sync(0xffffffffu, s.m2, o);
        t.n = __shfl_down_sync(0xffffffffu, s.n, o);
        s = combine(s, t);
    }
    return s;
}
extern "C" __global__ void layernorm_welford(const float* __restrict__ x, const float* __restrict__ gamma,
                                             const float* __restrict__ beta, float* __restrict__ y, int N) {
    __shared__ Stat parts[8];
    __shared__ float s_mean, s_rstd;
    const float* row = x + (size_t)blockIdx.x * N;
    Stat s = {0.f, 0.f, 0.f};
    for (int i = threadIdx.x; i < N; i += blockDim.x) {
        float v = row[i];
        s.n += 1.f;
        float d = v - s.mean;
        s.mean += d / s.n;
        s.m2 += d * (v - s.mean);
    }
    s = warp_combine(s);
    if ((threadIdx.x & 31) == 0) parts[threadIdx.x >> 5] = s;
    __syncthreads();
    if (threadIdx.x < 32) {
        s = threadIdx.x < 8 ? parts[threadIdx.x] : Stat{0.f, 0.f, 0.f};
        s = warp_combine(s);
        if (threadIdx.x == 0) {
            s_mean = s.mean;
            s_rstd = rsqrtf(s.m2 / N + 1e-5f);
        }
    }
    __syncthreads();
    float mean = s_mean, rstd = s_rstd;
    for (int i = threadIdx.x; i < N; i += blockDim.x)
        y[(size_t)blockIdx.x * N + i] = (row[i] - mean) * rstd * gamma[i] + beta[i];
}
