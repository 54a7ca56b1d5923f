// h57_divergent_barrier  op=rowsum
// a barrier inside a loop that threads leave at different times
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  __shared__ float red[256]; red[threadIdx.x] = 0.f; __syncthreads();
  for (int i = threadIdx.x; i < C; i += 256) { red[threadIdx.x] += x[(size_t)blockIdx.x*C + i]; __syncthreads(); }
  __syncthreads();
  for (int o = 128; o; o >>= 1) { if (threadIdx.x < o) red[threadIdx.x] += red[threadIdx.x+o]; __syncthreads(); }
  if (!threadIdx.x) y[blockIdx.x] = red[0];
}
