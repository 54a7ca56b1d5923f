// w2_softmax_smem_overflow  op=softmax
// a guard that lets rows through that do not fit
extern __shared__ __align__(16) float row[];

__device__ float block_reduce_max(float v, float* red) {
    for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_down_sync(~0u, v, o));
    if ((threadIdx.x & 31) == 0) red[threadIdx.x >> 5] = v;
    __syncthreads();
    v = fmaxf(fmaxf(red[0], red[1]), fmaxf(red[2], red[3]));
    __syncthreads();
    return v;
}
__device__ float block_reduce_sum(float v, float* red) {
    for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
    if ((threadIdx.x & 31) == 0) red[threadIdx.x >> 5] = v;
    __syncthreads();
    v = red[0] + red[1] + red[2] + red[3];
    __syncthreads();
    return v;
}
extern "C" __global__ void softmax_smem(const float* __restrict__ x, float* __restrict__ y, int N) {
    __shared__ float red[4];
    const float* src = x + (size_t)blockIdx.x * N;
    float* dst = y + (size_t)blockIdx.x * N;
    const bool vec = (N & 3) == 0;
    float m = -INFINITY;
    if (vec) {
        for (int i = threadIdx.x; i < N / 4; i += blockDim.x) {
            float4 v = reinterpret_cast<const float4*>(src)[i];
            reinterpret_cast<float4*>(row)[i] = v;
            m = fmaxf(m, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
        }
    } else {
        for (int i = threadIdx.x; i < N; i += blockDim.x) {
            row[i] = src[i];
            m = fmaxf(m, row[i]);
        }
    }
    m = block_reduce_max(m, red);
    float s = 0.0f;
    for (int i = threadIdx.x; i < N; i += blockDim.x) {
        float e = __expf(row[i] - m);
        row[i] = e;
        s += e;
    }
    s = block_reduce_sum(s, red);
    const float inv = __frcp_rn(s);
    for (int i = threadIdx.x; i < N; i += blockDim.x) dst[i] = row[i] * inv;
}
