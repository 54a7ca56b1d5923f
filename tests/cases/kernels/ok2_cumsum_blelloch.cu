// ok2_cumsum_blelloch  op=cumsum
// Blelloch's up and down sweep in shared memory with padding
#define PAD(i) ((i) + ((i) >> 5))
extern "C" __global__ void cumsum_bl(const float* __restrict__ x, float* __restrict__ y, int N) {
    __shared__ float t[PAD(256)];
    __shared__ float total;
    int tid = threadIdx.x;
    const float* in = x + (size_t)blockIdx.x * N;
    float carry = 0.0f;
    for (int base = 0; base < N; base += 256) {
        float a = base + tid < N ? in[base + tid] : 0.0f;
        float b = base + tid + 128 < N ? in[base + tid + 128] : 0.0f;
        t[PAD(tid)] = a;
        t[PAD(tid + 128)] = b;
        int offset = 1;
        for (int d = 128; d > 0; d >>= 1) {
            __syncthreads();
            if (tid < d) {
                int ai = offset * (2 * tid + 1) - 1, bi = offset * (2 * tid + 2) - 1;
                t[PAD(bi)] += t[PAD(ai)];
            }
            offset *= 2;
        }
        __syncthreads();
        if (tid == 0) {
            total = t[PAD(255)];
            t[PAD(255)] = 0.0f;
        }
        for (int d = 1; d < 256; d *= 2) {
            offset >>= 1;
            __syncthreads();
            if (tid < d) {
                int ai = offset * (2 * tid + 1) - 1, bi = offset * (2 * tid + 2) - 1;
                float v = t[PAD(ai)];
                t[PAD(ai)] = t[PAD(bi)];
                t[PAD(bi)] += v;
            }
        }
        __syncthreads();
        if (base + tid < N) y[(size_t)blockIdx.x * N + base + tid] = carry + t[PAD(tid)] + a;
        if (base + tid + 128 < N) y[(size_t)blockIdx.x * N + base + tid + 128] = carry + t[PAD(tid + 128)] + b;
        carry += total;
        __syncthreads();
    }
}
