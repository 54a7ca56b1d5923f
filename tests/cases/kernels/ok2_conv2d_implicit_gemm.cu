// ok2_conv2d_implicit_gemm  op=conv2d
// implicit GEMM: 16 x 16 tiles over K and (B, P, Q), reduction over (C, R, S)
extern "C" __global__ void conv_igemm(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y,
                                      int B, int C, int H, int W, int K, int R, int S, int P, int Q) {
    __shared__ float Ws[16][17], Xs[16][17];
    const int gm = B * P * Q, crs = C * R * S;
    const int n = blockIdx.x * 16 + threadIdx.x, k = blockIdx.y * 16 + threadIdx.y;
    const int b = n / (P * Q), p = n / Q % P, q = n % Q;
    float acc = 0.0f;
    for (int t = 0; t < crs; t += 16) {
        int rk = t + threadIdx.x, rx = t + threadIdx.y;
        Ws[threadIdx.y][threadIdx.x] = k < K && rk < crs ? w[(size_t)k * crs + rk] : 0.0f;
        float v = 0.0f;
        if (n < gm && rx < crs) {
            int c = rx / (R * S), r = rx / S % R, s = rx % S;
            int h = 2 * p + r - R / 2, ww = 2 * q + s - S / 2;
            if (h >= 0 && h < H && ww >= 0 && ww < W) v = x[(((size_t)b * C + c) * H + h) * W + ww];
        }
        Xs[threadIdx.y][threadIdx.x] = v;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; ++i) acc += Ws[threadIdx.y][i] * Xs[i][threadIdx.x];
        __syncthreads();
    }
    if (k < K && n < gm) y[(((size_t)b * K + k) * P + p) * Q + q] = acc;
}
