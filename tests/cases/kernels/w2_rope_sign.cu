// w2_rope_sign  op=rope
// the rotation goes the other way
extern "C" __global__ void rope_pairs(const float* __restrict__ x, const float* __restrict__ cs,
                                      const float* __restrict__ sn, float* __restrict__ y, int T, int H, int E) {
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= E) return;
    int t = blockIdx.z % T;
    size_t base = ((size_t)blockIdx.z * H + blockIdx.y) * 2 * E;
    float c = cs[(size_t)t * E + e], s = sn[(size_t)t * E + e];
    float a = x[base + e], b = x[base + E + e];
    y[base + e] = a * c + b * s;
    y[base + E + e] = b * c - a * s;
}
