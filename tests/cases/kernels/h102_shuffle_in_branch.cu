// h102_shuffle_in_branch  op=rowsum
// eight lanes shuffle under a mask of 32, the others go on past them
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  __shared__ float part[8]; float s = 0.f;
  for (int i = threadIdx.x; i < C; i += 256) s += x[(size_t)blockIdx.x*C + i];
  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
  if (threadIdx.x % 32 == 0) part[threadIdx.x/32] = s;
  __syncthreads();
  float v = 0.f;
  if (threadIdx.x < 8) {
    v = part[threadIdx.x];
    for (int o = 4; o; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
  }
  if (threadIdx.x % 256 == 0) y[blockIdx.x] = v;
}
