// w2_cumprod_by_division  op=cumprod_reverse
// the exclusive product by dividing the inclusive one
extern "C" __global__ void cumprod_rev(const float* __restrict__ x, float* __restrict__ y, int M, int N) {
    int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= M) return;
    float carry = 1.0f;
    for (int base = 0; base < N; base += 32) {
        int i = N - 1 - base - lane;
        float v = i >= 0 ? x[(size_t)row * N + i] : 1.0f;
#pragma unroll
        for (int o = 1; o < 32; o <<= 1) {
            float u = __shfl_up_sync(0xffffffffu, v, o);
            if (lane >= o) v *= u;
        }
        float e = i >= 0 ? v / x[(size_t)row * N + i] : 1.0f;
        if (i >= 0) y[(size_t)row * N + i] = carry * e;
        carry *= __shfl_sync(0xffffffffu, v, 31);
    }
}
