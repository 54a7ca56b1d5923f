// h55_warp_synchronous  op=rowsum
// the last warp reduces without __syncwarp
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  __shared__ float red[256]; float s = 0.f;
  for (int i = threadIdx.x; i < C; i += 256) s += x[(size_t)blockIdx.x*C + i];
  red[threadIdx.x] = s; __syncthreads();
  for (int o = 128; o > 16; o >>= 1) { if (threadIdx.x < o) red[threadIdx.x] += red[threadIdx.x+o]; __syncthreads(); }
  if (threadIdx.x < 32) for (int o = 16; o; o >>= 1) if (threadIdx.x < o) red[threadIdx.x] += red[threadIdx.x+o];
  if (!threadIdx.x) y[blockIdx.x] = red[0];
}
