// ok2_matmul_double_buffer  op=matmul
// two shared stages, the next tile prefetched into registers
extern "C" __global__ void sgemm_db(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                                    int M, int N, int K) {
    __shared__ float As[2][8][33];
    __shared__ float Bs[2][8][32];
    const int tx = threadIdx.x, ty = threadIdx.y, t = ty * 16 + tx;
    const int ar = t / 8, ac = t % 8, br = t / 32, bc = t % 32;
    const int gm = blockIdx.y * 32 + ar, gn = blockIdx.x * 32 + bc;
    float c00 = 0.f, c01 = 0.f, c10 = 0.f, c11 = 0.f;
    As[0][ac][ar] = (gm < M && ac < K) ? A[(size_t)gm * K + ac] : 0.f;
    Bs[0][br][bc] = (br < K && gn < N) ? B[(size_t)br * N + gn] : 0.f;
    __syncthreads();
    int cur = 0;
    for (int k0 = 0; k0 < K; k0 += 8) {
        float na = 0.f, nb = 0.f;
        const int k1 = k0 + 8;
        if (k1 < K) {
            if (gm < M && k1 + ac < K) na = A[(size_t)gm * K + k1 + ac];
            if (k1 + br < K && gn < N) nb = B[(size_t)(k1 + br) * N + gn];
        }
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            float a0 = As[cur][k][ty * 2], a1 = As[cur][k][ty * 2 + 1];
            float b0 = Bs[cur][k][tx * 2], b1 = Bs[cur][k][tx * 2 + 1];
            c00 += a0 * b0;
            c01 += a0 * b1;
            c10 += a1 * b0;
            c11 += a1 * b1;
        }
        if (k1 < K) {
            As[cur ^ 1][ac][ar] = na;
            Bs[cur ^ 1][br][bc] = nb;
        }
        __syncthreads();
        cur ^= 1;
    }
    const int m = blockIdx.y * 32 + ty * 2, n = blockIdx.x * 32 + tx * 2;
    if (m < M && n < N) C[(size_t)m * N + n] = c00;
    if (m < M && n + 1 < N) C[(size_t)m * N + n + 1] = c01;
    if (m + 1 < M && n < N) C[(size_t)(m + 1) * N + n] = c10;
    if (m + 1 < M && n + 1 < N) C[(size_t)(m + 1) * N + n + 1] = c11;
}
