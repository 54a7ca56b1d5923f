// w2_embedding_int32_indices  op=embedding
// reads the 64-bit indices as 32-bit ones
extern "C" __global__ void embed(const int* __restrict__ idx, const float* __restrict__ table,
                                 float* __restrict__ y, int E, int N) {
    int n = blockIdx.x * blockDim.y + threadIdx.y;
    if (n >= N) return;
    const float4* src = reinterpret_cast<const float4*>(table + (size_t)idx[n] * E);
    float4* dst = reinterpret_cast<float4*>(y + (size_t)n * E);
    for (int e = threadIdx.x; e < E / 4; e += 32) dst[e] = __ldg(src + e);
}
