// ok2_conv2d_im2col  op=conv2d
// im2col into a workspace, a tiled product over it
extern "C" __global__ void im2col(const float* __restrict__ x, float* __restrict__ cols, int C, int H, int W, int R,
                                  int S, int P, int Q, long long total) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    int q = i % Q, p = i / Q % P, s = i / ((long long)Q * P) % S, r = i / ((long long)Q * P * S) % R;
    long long bc = i / ((long long)Q * P * S * R);
    int h = 2 * p + r - R / 2, w = 2 * q + s - S / 2;
    cols[i] = (unsigned)h < (unsigned)H && (unsigned)w < (unsigned)W ? x[(bc * H + h) * W + w] : 0.0f;
}
extern "C" __global__ void gemm_cols(const float* __restrict__ w, const float* __restrict__ cols,
                                     float* __restrict__ y, int M, int K, int N) {
    __shared__ float a[16][16], b[16][16];
    int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
    const float* c = cols + (size_t)blockIdx.z * K * N;
    float acc = 0.f;
    for (int t = 0; t < K; t += 16) {
        a[threadIdx.y][threadIdx.x] = m < M && t + threadIdx.x < K ? w[(size_t)m * K + t + threadIdx.x] : 0.f;
        b[threadIdx.y][threadIdx.x] = n < N && t + threadIdx.y < K ? c[(size_t)(t + threadIdx.y) * N + n] : 0.f;
        __syncthreads();
        for (int i = 0; i < 16; ++i) acc += a[threadIdx.y][i] * b[i][threadIdx.x];
        __syncthreads();
    }
    if (m < M && n < N) y[((size_t)blockIdx.z * M + m) * N + n] = acc;
}
