// ok_hinge_last_block  op=hinge
// atomics into a zeroed workspace; the last block divides
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
extern "C" __global__ void cand(const float* pred, const float* t, float* out, int R, int C, float* sum, unsigned* count){
  float s = 0.f; for (long long i = blockIdx.x*256LL + threadIdx.x; i < (long long)R*C; i += gridDim.x*256LL) s += fmaxf(0.f, 1.f - pred[i]*t[i % C]);
  s = block_sum(s);
  if (!threadIdx.x) { atomicAdd(sum, s); __threadfence(); if (atomicAdd(count, 1u) == gridDim.x - 1) { out[0] = atomicAdd(sum, 0.f) / ((float)R*C); } }
}
