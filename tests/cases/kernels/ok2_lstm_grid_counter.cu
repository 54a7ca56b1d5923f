// ok2_lstm_grid_counter  op=lstm
// a persistent cooperative kernel, each time step ends at a hand-written barrier on a counter
__device__ __forceinline__ float sigmoid(float v) { return 1.0f / (1.0f + expf(-v)); }
__device__ void barrier_all(unsigned* count, unsigned goal) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(count, 1u);
        while (*(volatile unsigned*)count < goal) {}
        __threadfence();
    }
    __syncthreads();
}
extern "C" __global__ void lstm_coop(const float* __restrict__ x, const float* __restrict__ h0,
                                     const float* __restrict__ c0, const float* __restrict__ w,
                                     const float* __restrict__ u, const float* __restrict__ bias, float* h,
                                     float* __restrict__ cn, float* c, unsigned* count, int T, int B, int I, int H) {
    const int size = gridDim.x * blockDim.x;
    for (int t = 0; t < T; ++t) {
        const float* hp = t == 0 ? h0 : h + (size_t)(t - 1) * B * H;
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < B * H; i += size) {
            int b = i / H, k = i % H;
            float a[4];
            for (int g = 0; g < 4; ++g) {
                int row = g * H + k;
                float s = bias[row];
                for (int j = 0; j < I; ++j) s = fmaf(x[((size_t)t * B + b) * I + j], w[(size_t)row * I + j], s);
                for (int j = 0; j < H; ++j) s = fmaf(hp[b * H + j], u[(size_t)row * H + j], s);
                a[g] = s;
            }
            float old = t == 0 ? c0[i] : c[i];
            float cv = sigmoid(a[1]) * old + sigmoid(a[0]) * tanhf(a[2]);
            c[i] = cv;
            h[(size_t)t * B * H + i] = sigmoid(a[3]) * tanhf(cv);
            if (t == T - 1) cn[i] = cv;
        }
        barrier_all(count, (unsigned)(t + 1) * gridDim.x);
    }
}
