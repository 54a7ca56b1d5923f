// ok2_maxpool_plain  op=maxpool
// a thread an output, clamped window
extern "C" __global__ void maxpool3(const float* __restrict__ x, float* __restrict__ y, int H, int W, int P, int Q) {
    int q = blockIdx.x * 32 + threadIdx.x, p = blockIdx.y * 8 + threadIdx.y;
    if (p >= P || q >= Q) return;
    const float* xp = x + (size_t)blockIdx.z * H * W;
    int h0 = max(2 * p - 1, 0), h1 = min(2 * p + 2, H);
    int w0 = max(2 * q - 1, 0), w1 = min(2 * q + 2, W);
    float m = -INFINITY;
    for (int h = h0; h < h1; ++h)
        for (int w = w0; w < w1; ++w) m = fmaxf(m, xp[h * W + w]);
    y[((size_t)blockIdx.z * P + p) * Q + q] = m;
}
