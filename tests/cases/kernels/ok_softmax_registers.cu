// ok_softmax_registers  op=softmax
// row in registers, fast division
__device__ __forceinline__ float warp_max(float v) { for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, o)); return v; }

extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32; if (row >= R) return;
  float v[32]; float m = -INFINITY, s = 0.f;
#pragma unroll
  for (int k = 0; k < 32; ++k) { int i = k*32 + lane; v[k] = i < C ? x[(size_t)row*C + i] : -INFINITY; m = fmaxf(m, v[k]); }
  m = warp_max(m);
#pragma unroll
  for (int k = 0; k < 32; ++k) { v[k] = __expf(v[k] - m); s += v[k]; }
  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
#pragma unroll
  for (int k = 0; k < 32; ++k) { int i = k*32 + lane; if (i < C) y[(size_t)row*C + i] = __fdividef(v[k], s); }
}
