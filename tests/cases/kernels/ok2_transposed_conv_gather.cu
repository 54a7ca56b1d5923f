// ok2_transposed_conv_gather  op=transposed_conv
// each output gathers the one, two or four inputs of its parity
extern "C" __global__ void tconv(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y, int C,
                                 int K, int H, int W, long long total) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    const int P = 2 * H, Q = 2 * W, q = i % Q, p = i / Q % P, k = i / ((long long)P * Q) % K;
    const long long b = i / ((long long)P * Q * K);
    float acc = 0.0f;
    for (int r = (p + 1) & 1; r < 3; r += 2) {
        int h = (p + 1 - r) / 2;
        if (h < 0 || h >= H) continue;
        for (int s = (q + 1) & 1; s < 3; s += 2) {
            int ww = (q + 1 - s) / 2;
            if (ww < 0 || ww >= W) continue;
            for (int c = 0; c < C; ++c)
                acc += x[((b * C + c) * H + h) * W + ww] * w[(((size_t)c * K + k) * 3 + r) * 3 + s];
        }
    }
    y[i] = acc;
}
