// w2_cross_entropy_counter_off  op=cross_entropy
// the second last block already adds up
__device__ float reduce64(float v, float* red, bool sum) {
    red[threadIdx.x] = v;
    __syncthreads();
    for (int o = 32; o > 0; o >>= 1) {
        if (threadIdx.x < o) {
            float a = red[threadIdx.x], b = red[threadIdx.x + o];
            red[threadIdx.x] = sum ? a + b : fmaxf(a, b);
        }
        __syncthreads();
    }
    v = red[0];
    __syncthreads();
    return v;
}
extern "C" __global__ void ce_last(const float* x, const long long* t, float* y, float* loss, unsigned int* done,
                                   int N, int C) {
    __shared__ float red[64];
    __shared__ bool is_last;
    const float* p = x + (size_t)blockIdx.x * C;
    float m = -INFINITY, s = 0.0f;
    for (int c = threadIdx.x; c < C; c += 64) m = fmaxf(m, p[c]);
    m = reduce64(m, red, false);
    for (int c = threadIdx.x; c < C; c += 64) s += expf(p[c] - m);
    s = reduce64(s, red, true);
    if (threadIdx.x == 0) {
        loss[blockIdx.x] = m + logf(s) - p[t[blockIdx.x]];
        __threadfence();
        is_last = atomicAdd(done, 1u) >= max(gridDim.x, 2u) - 2;
    }
    __syncthreads();
    if (!is_last) return;
    float total = 0.0f;
    for (int i = threadIdx.x; i < N; i += 64) total += __ldcg(&loss[i]);
    total = reduce64(total, red, true);
    if (threadIdx.x == 0) *y = total / N;
}
