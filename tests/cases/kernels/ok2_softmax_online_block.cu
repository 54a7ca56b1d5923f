// ok2_softmax_online_block  op=softmax
// online (max, sum) pairs merged by shuffles, then across warps
struct __align__(8) MD {
    float m, d;
};
__device__ __forceinline__ MD merge(MD a, MD b) {
    bool bigger = a.m > b.m;
    MD hi = bigger ? a : b, lo = bigger ? b : a;
    MD r;
    r.d = hi.d + lo.d * __expf(lo.m - hi.m);
    r.m = hi.m;
    return r;
}
__device__ __forceinline__ MD warp_merge(MD v) {
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) {
        MD o;
        o.m = __shfl_xor_sync(0xffffffff, v.m, offset);
        o.d = __shfl_xor_sync(0xffffffff, v.d, offset);
        v = merge(v, o);
    }
    return v;
}
extern "C" __global__ void softmax_online(const float* __restrict__ x, float* __restrict__ y, int N) {
    __shared__ MD part[8];
    const float* row = x + (size_t)blockIdx.x * N;
    MD v = {-FLT_MAX, 0.0f};
    for (int i = threadIdx.x; i < N; i += blockDim.x) v = merge(v, MD{row[i], 1.0f});
    v = warp_merge(v);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (lane == 0) part[warp] = v;
    __syncthreads();
    if (warp == 0) {
        v = lane < blockDim.x / 32 ? part[lane] : MD{-FLT_MAX, 0.0f};
        v = warp_merge(v);
        if (lane == 0) part[0] = v;
    }
    __syncthreads();
    const float m = part[0].m, inv = 1.0f / part[0].d;
    for (int i = threadIdx.x; i < N; i += blockDim.x)
        y[(size_t)blockIdx.x * N + i] = __expf(row[i] - m) * inv;
}
