// w2_cross_entropy_sum  op=cross_entropy
// the sum, not the mean
extern "C" __global__ void ce_rows(const float* __restrict__ x, const long long* __restrict__ t,
                                   float* __restrict__ acc, int N, int C) {
    __shared__ float part[4];
    int lane = threadIdx.x & 31, w = threadIdx.x >> 5, row = blockIdx.x * 4 + w;
    float loss = 0.0f;
    if (row < N) {
        const float* p = x + (size_t)row * C;
        float m = -INFINITY, s = 0.0f;
        for (int c = lane; c < C; c += 32) {
            float v = p[c], mn = fmaxf(m, v);
            s = s * __expf(m - mn) + __expf(v - mn);
            m = mn;
        }
        for (int o = 16; o; o >>= 1) {
            float mo = __shfl_xor_sync(~0u, m, o), so = __shfl_xor_sync(~0u, s, o), mn = fmaxf(m, mo);
            s = (m == -INFINITY ? 0.0f : s * __expf(m - mn)) + (mo == -INFINITY ? 0.0f : so * __expf(mo - mn));
            m = mn;
        }
        loss = m + logf(s) - p[t[row]];
    }
    if (lane == 0) part[w] = loss;
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(acc, part[0] + part[1] + part[2] + part[3]);
}
extern "C" __global__ void ce_mean(const float* acc, float* y, int N) { *y = *acc; }
