// w2_lstm_h_not_carried  op=lstm
// the hidden state of the first step is used throughout
__device__ __forceinline__ float sigmoid(float v) { return 1.0f / (1.0f + expf(-v)); }
extern "C" __global__ void lstm_seq(const float* __restrict__ x, const float* __restrict__ h0,
                                    const float* __restrict__ c0, const float* __restrict__ w,
                                    const float* __restrict__ u, const float* __restrict__ bias, float* h, float* cn,
                                    int T, int B, int I, int H) {
    extern __shared__ float sm[];
    float *hs = sm, *cs = sm + H, *gate = sm + 2 * H;
    const int b = blockIdx.x, tid = threadIdx.x;
    for (int j = tid; j < H; j += blockDim.x) {
        hs[j] = h0[b * H + j];
        cs[j] = c0[b * H + j];
    }
    __syncthreads();
    for (int t = 0; t < T; ++t) {
        const float* xt = x + ((size_t)t * B + b) * I;
        for (int g = tid; g < 4 * H; g += blockDim.x) {
            float a = bias[g];
            for (int i = 0; i < I; ++i) a += xt[i] * w[(size_t)g * I + i];
            for (int j = 0; j < H; ++j) a += hs[j] * u[(size_t)g * H + j];
            gate[g] = a;
        }
        __syncthreads();
        for (int j = tid; j < H; j += blockDim.x) {
            float c = sigmoid(gate[H + j]) * cs[j] + sigmoid(gate[j]) * tanhf(gate[2 * H + j]);
            float hv = sigmoid(gate[3 * H + j]) * tanhf(c);
            cs[j] = c;
            if (t == 0) hs[j] = hv;
            h[((size_t)t * B + b) * H + j] = hv;
        }
        __syncthreads();
    }
    for (int j = tid; j < H; j += blockDim.x) cn[b * H + j] = cs[j];
}
