// ok_rowsum_last_block  op=rowsum
// the last block to arrive adds up the parts
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

extern "C" __global__ void cand(const float* x, float* y, int R, int C, float* part, unsigned* count){
  __shared__ bool last; float s = 0.f; int row = blockIdx.x, P = gridDim.y;
  for (int i = blockIdx.y*256 + threadIdx.x; i < C; i += 256*P) s += x[(size_t)row*C + i];
  s = block_sum(s);
  if (threadIdx.x == 0) { part[(size_t)row*P + blockIdx.y] = s; __threadfence(); last = atomicAdd(&count[row], 1u) == (unsigned)P - 1; }
  __syncthreads();
  if (last && threadIdx.x == 0) { __threadfence(); float t = 0.f; for (int p = 0; p < P; ++p) t += ((volatile float*)part)[(size_t)row*P + p]; y[row] = t; }
}
