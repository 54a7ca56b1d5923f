// h103_shuffle_both_sides  op=rowsum
// a shuffle of the whole warp on each side of a branch
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  __shared__ float part[8]; float s = 0.f;
  for (int i = threadIdx.x; i < C; i += 256) s += x[(size_t)blockIdx.x*C + i];
  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
  if (threadIdx.x % 32 == 0) part[threadIdx.x/32] = s;
  __syncthreads();
  float v = part[threadIdx.x % 8];
  if (threadIdx.x < 8) for (int o = 4; o; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
  else for (int o = 4; o; o >>= 1) v -= __shfl_xor_sync(0xffffffffu, v, o);
  if (threadIdx.x % 256 == 0) y[blockIdx.x] = v;
}
