// ok2_gemv_warp_float4  op=gemv
// a warp a row, float4 under a guard
extern "C" __global__ void gemv_warp(const float* __restrict__ A, const float* __restrict__ x,
                                     float* __restrict__ y, int M, int K) {
    int row = blockIdx.x * 4 + threadIdx.y;
    if (row >= M) return;
    const float4* a4 = reinterpret_cast<const float4*>(A + (size_t)row * K);
    const float4* x4 = reinterpret_cast<const float4*>(x);
    float sum = 0.f;
    for (int k = threadIdx.x; k < K / 4; k += 32) {
        float4 a = __ldg(a4 + k), b = __ldg(x4 + k);
        sum += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
    }
    for (int o = 16; o > 0; o >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, o);
    if (threadIdx.x == 0) y[row] = sum;
}
