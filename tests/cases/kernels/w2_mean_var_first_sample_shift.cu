// w2_mean_var_first_sample_shift  op=mean_var
// merged variance without the distance of the means
extern "C" __global__ void mv_part(const float* __restrict__ x, float* __restrict__ part, int N) {
    int chunk = (N + 3) / 4, lo = blockIdx.x * chunk, hi = min(lo + chunk, N);
    const float* p = x + (size_t)blockIdx.y * N;
    __shared__ float red[128];
    float s = 0.f, q = 0.f;
    for (int i = lo + threadIdx.x; i < hi; i += 128) s += p[i];
    red[threadIdx.x] = s;
    __syncthreads();
    for (int o = 64; o > 0; o >>= 1) {
        if (threadIdx.x < o) red[threadIdx.x] += red[threadIdx.x + o];
        __syncthreads();
    }
    float n = max(hi - lo, 0), mean = n > 0.f ? red[0] / n : 0.f;
    __syncthreads();
    for (int i = lo + threadIdx.x; i < hi; i += 128) q += (p[i] - mean) * (p[i] - mean);
    red[threadIdx.x] = q;
    __syncthreads();
    for (int o = 64; o > 0; o >>= 1) {
        if (threadIdx.x < o) red[threadIdx.x] += red[threadIdx.x + o];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        float* out = part + ((size_t)blockIdx.y * 4 + blockIdx.x) * 3;
        out[0] = n;
        out[1] = mean;
        out[2] = red[0];
    }
}
extern "C" __global__ void mv_merge(const float* __restrict__ part, float* __restrict__ mean,
                                    float* __restrict__ var, int M, int N) {
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= M) return;
    float n = 0.f, mu = 0.f, m2 = 0.f;
    for (int k = 0; k < 4; ++k) {
        const float* p = part + ((size_t)m * 4 + k) * 3;
        if (p[0] == 0.f) continue;
        float d = p[1] - mu, t = n + p[0];
        mu += d * (p[0] / t);
        m2 += p[2];
        n = t;
    }
    mean[m] = mu;
    var[m] = m2 / N;
}
