// ok_rowsum_warp_rows  op=rowsum
// a warp a row, several rows a block
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
  int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= R) return;
  float s = 0.f; for (int i = lane; i < C; i += 32) s += __ldg(&x[(size_t)row*C + i]);
  s = warp_sum(s); if (lane == 0) y[row] = s;
}
