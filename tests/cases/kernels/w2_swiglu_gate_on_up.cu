// w2_swiglu_gate_on_up  op=swiglu
// the last of four lanes gates the other way round
extern "C" __global__ void swiglu_vec(const float* __restrict__ gate, const float* __restrict__ up,
                                      float* __restrict__ out, int N) {
    int c = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (c >= N) return;
    size_t o = (size_t)blockIdx.y * N + c;
    const float4 g = *reinterpret_cast<const float4*>(gate + o);
    const float4 u = *reinterpret_cast<const float4*>(up + o);
    float4 r;
    r.x = g.x / (1.0f + __expf(-g.x)) * u.x;
    r.y = g.y / (1.0f + __expf(-g.y)) * u.y;
    r.z = g.z / (1.0f + __expf(-g.z)) * u.z;
    r.w = u.w / (1.0f + __expf(-u.w)) * g.w;
    *reinterpret_cast<float4*>(out + o) = r;
}
