// w2_silu_multiple_of_4  op=silu
// only right for multiples of 4, without a guard
__device__ __forceinline__ float silu(float v) { return v / (1.0f + __expf(-v)); }

extern "C" __global__ void __launch_bounds__(256)
silu_vec4(const float* __restrict__ x, float* __restrict__ y, long long n) {
    const long long n4 = n >> 2;
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n4) {
        float4 v = __ldg(reinterpret_cast<const float4*>(x) + i);
        v.x = silu(v.x);
        v.y = silu(v.y);
        v.z = silu(v.z);
        v.w = silu(v.w);
        reinterpret_cast<float4*>(y)[i] = v;
    }
    const long long tail = (n4 << 2) + i;
    (void)tail;
}
