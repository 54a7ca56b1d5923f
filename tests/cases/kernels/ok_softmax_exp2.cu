// ok_softmax_exp2  op=softmax
// exp2f with the scale folded in, row kept in shared memory
__device__ __forceinline__ float warp_max(float v) { for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, o)); return v; }

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
  return v;
}
__device__ __forceinline__ float block_sum(float v) {
  __shared__ float part[32];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  v = warp_sum(v);
  if (lane == 0) part[warp] = v;
  __syncthreads();
  v = threadIdx.x < (blockDim.x + 31) / 32 ? part[lane] : 0.f;
  if (warp == 0) v = warp_sum(v);
  if (threadIdx.x == 0) part[0] = v;
  __syncthreads();
  v = part[0];
  __syncthreads();
  return v;
}
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  extern __shared__ float row[]; __shared__ float red[8]; const float L = 1.4426950408889634f;
  const float* p = x + (size_t)blockIdx.x*C; float* q = y + (size_t)blockIdx.x*C; float m = -INFINITY;
  for (int i = threadIdx.x; i < C; i += 256) { float v = p[i]; row[i] = v; m = fmaxf(m, v); }
  m = warp_max(m); if (threadIdx.x % 32 == 0) red[threadIdx.x/32] = m; __syncthreads();
  m = red[0]; for (int w = 1; w < 8; ++w) m = fmaxf(m, red[w]);
  float s = 0.f; for (int i = threadIdx.x; i < C; i += 256) { float e = exp2f((row[i] - m) * L); row[i] = e; s += e; }
  s = block_sum(s); float r = 1.f / s;
  for (int i = threadIdx.x; i < C; i += 256) q[i] = row[i] * r;
}
