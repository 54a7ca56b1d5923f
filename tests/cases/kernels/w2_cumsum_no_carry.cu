// w2_cumsum_no_carry  op=cumsum
// the carry is replaced, not added to
extern "C" __global__ void cumsum_hs(const float* __restrict__ x, float* __restrict__ y, int N) {
    __shared__ float buf[2][256];
    const int tid = threadIdx.x;
    const float* in = x + (size_t)blockIdx.x * N;
    float* out = y + (size_t)blockIdx.x * N;
    float carry = 0.0f;
    for (int base = 0; base < N; base += 256) {
        int i = base + tid, cur = 0;
        buf[0][tid] = i < N ? in[i] : 0.0f;
        __syncthreads();
        for (int d = 1; d < 256; d *= 2) {
            float v = buf[cur][tid];
            if (tid >= d) v += buf[cur][tid - d];
            buf[cur ^ 1][tid] = v;
            cur ^= 1;
            __syncthreads();
        }
        if (i < N) out[i] = carry + buf[cur][tid];
        carry = buf[cur][255];
        __syncthreads();
    }
}
