// w2_attention_scores_upper_unset  op=causal_attention
// the upper triangle of the workspace stays unset
extern "C" __global__ void scores(const float* q, const float* k, float* p, int T, int D) {
    int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y;
    if (i >= T || j >= T) return;
    size_t b = (size_t)blockIdx.z * T;
    float s = 0.f;
    if (j <= i)
        for (int d = 0; d < D; ++d) s += q[(b + i) * D + d] * k[(b + j) * D + d];
    if (j <= i) p[(b + i) * T + j] = s / sqrtf((float)D);
}
extern "C" __global__ void rows(float* p, int T) {
    __shared__ float r[64];
    float* row = p + ((size_t)blockIdx.y * T + blockIdx.x) * T;
    float m = -INFINITY, s = 0.f;
    for (int j = threadIdx.x; j < T; j += 64) m = fmaxf(m, row[j]);
    r[threadIdx.x] = m;
    __syncthreads();
    for (int o = 32; o; o >>= 1) {
        if (threadIdx.x < o) r[threadIdx.x] = fmaxf(r[threadIdx.x], r[threadIdx.x + o]);
        __syncthreads();
    }
    m = r[0];
    __syncthreads();
    for (int j = threadIdx.x; j < T; j += 64) {
        float e = expf(row[j] - m);
        row[j] = e;
        s += e;
    }
    r[threadIdx.x] = s;
    __syncthreads();
    for (int o = 32; o; o >>= 1) {
        if (threadIdx.x < o) r[threadIdx.x] += r[threadIdx.x + o];
        __syncthreads();
    }
    for (int j = threadIdx.x; j < T; j += 64) row[j] /= r[0];
}
extern "C" __global__ void combine(const float* p, const float* v, float* y, int T, int D) {
    size_t b = (size_t)blockIdx.y * T, i = blockIdx.x;
    for (int d = threadIdx.x; d < D; d += 32) {
        float a = 0.f;
        for (int j = 0; j <= i; ++j) a += p[(b + i) * T + j] * v[(b + j) * D + d];
        y[(b + i) * D + d] = a;
    }
}
