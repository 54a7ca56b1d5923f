// ok_rowvar_two_pass  op=rowvar
// mean first, squares second
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
  const float* p = x + (size_t)blockIdx.x*C; float s = 0.f; for (int i = threadIdx.x; i < C; i += 256) s += p[i];
  float m = block_sum(s) / C; s = 0.f; for (int i = threadIdx.x; i < C; i += 256) { float d = p[i] - m; s += d*d; }
  s = block_sum(s); if (!threadIdx.x) y[blockIdx.x] = s / C;
}
