// w2_l2norm_next_row  op=l2norm
// the last row is scaled by its neighbour's norm when M is even
extern "C" __global__ void l2_normalize(const float* __restrict__ x, float* __restrict__ y, int M, int N) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= M) return;
    const float* p = x + (size_t)(row ^ (M % 2 == 0 && row >= M - 2)) * N;
    float q = 0.f;
    for (int i = threadIdx.x; i < N; i += warpSize) q += p[i] * p[i];
#pragma unroll
    for (int o = 16; o > 0; o /= 2) q += __shfl_xor_sync(0xffffffff, q, o);
    float inv = 1.0f / fmaxf(sqrtf(q), 1e-12f);
    for (int i = threadIdx.x; i < N; i += warpSize) y[(size_t)row * N + i] = x[(size_t)row * N + i] * inv;
}
