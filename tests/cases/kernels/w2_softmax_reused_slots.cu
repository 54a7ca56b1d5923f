// w2_softmax_reused_slots  op=softmax
// the slots of the maximum are reused for the sum without a barrier
__device__ float reduce(float v, float* red, bool sum) {
    for (int o = 16; o; o >>= 1) {
        float w = __shfl_xor_sync(~0u, v, o);
        v = sum ? v + w : fmaxf(v, w);
    }
    if ((threadIdx.x & 31) == 0) red[threadIdx.x >> 5] = v;
    __syncthreads();
    return sum ? red[0] + red[1] + red[2] + red[3] : fmaxf(fmaxf(red[0], red[1]), fmaxf(red[2], red[3]));
}
extern "C" __global__ void softmax_rows(const float* x, float* y, int N) {
    __shared__ float red[4];
    const float* src = x + (size_t)blockIdx.x * N;
    float m = -INFINITY, s = 0.0f;
    for (int i = threadIdx.x; i < N; i += blockDim.x) m = fmaxf(m, src[i]);
    m = reduce(m, red, false);
    for (int i = threadIdx.x; i < N; i += blockDim.x) s += __expf(src[i] - m);
    s = reduce(s, red, true);
    for (int i = threadIdx.x; i < N; i += blockDim.x) y[(size_t)blockIdx.x * N + i] = __expf(src[i] - m) / s;
}
