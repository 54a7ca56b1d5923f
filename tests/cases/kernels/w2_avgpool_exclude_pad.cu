// w2_avgpool_exclude_pad  op=avgpool
// divides by the number of elements inside: count_include_pad is off
extern "C" __global__ void avgpool3(const float* x, float* y, long long total, int H, int W, int P, int Q) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= total) return;
    int q = i % Q, p = (i / Q) % P, count = 0;
    long long bc = i / ((long long)Q * P);
    float sum = 0.f;
    for (int h = max(0, 2 * p - 1); h < min(H, 2 * p + 2); ++h)
        for (int w = max(0, 2 * q - 1); w < min(W, 2 * q + 2); ++w) {
            sum += x[(bc * H + h) * W + w];
            count++;
        }
    y[i] = sum / count;
}
