// w2_rope_interleaved  op=rope
// rotates neighbours instead of halves
extern "C" __global__ void rope_pairs(const float* __restrict__ x, const float* __restrict__ cs,
                                      const float* __restrict__ sn, float* __restrict__ y, int T, int H, int E) {
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= E) return;
    int t = blockIdx.z % T;
    size_t base = ((size_t)blockIdx.z * H + blockIdx.y) * 2 * E;
    float c = cs[(size_t)t * E + e], s = sn[(size_t)t * E + e];
    float a = x[base + 2 * e], b = x[base + 2 * e + 1];
    y[base + 2 * e] = a * c - b * s;
    y[base + 2 * e + 1] = b * c + a * s;
}
