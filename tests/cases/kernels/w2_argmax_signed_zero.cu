// w2_argmax_signed_zero  op=argmax
// bits are ordered as they are, so -0 is less than +0
__device__ __forceinline__ unsigned order(float v) {
    unsigned b = __float_as_uint(v);
    return b & 0x80000000u ? ~b : b | 0x80000000u;
}
extern "C" __global__ void amax_pack(const float* __restrict__ x, unsigned long long* best, int N) {
    const float* p = x + (size_t)blockIdx.y * N;
    unsigned long long b = 0;
    for (int i = blockIdx.x * 512 + threadIdx.x; i < min((int)(blockIdx.x + 1) * 512, N); i += 128) {
        unsigned long long k = (unsigned long long)order(p[i]) << 32 | (0xffffffffu - (unsigned)i);
        b = k > b ? k : b;
    }
    for (int o = 16; o; o >>= 1) {
        unsigned long long k = __shfl_xor_sync(0xffffffffu, b, o);
        b = k > b ? k : b;
    }
    if ((threadIdx.x & 31) == 0) atomicMax(&best[blockIdx.y], b);
}
extern "C" __global__ void amax_unpack(const unsigned long long* best, long long* y, int M) {
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m < M) y[m] = 0xffffffffu - (unsigned)best[m];
}
