// h54_shared_oob  op=rowsum
// the tree reads one element behind the shared array
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  __shared__ float red[256]; float s = 0.f;
  for (int i = threadIdx.x; i < C; i += 256) s += x[(size_t)blockIdx.x*C + i];
  red[threadIdx.x] = s; __syncthreads();
  for (int o = 128; o; o >>= 1) { float v = 0.f; if (threadIdx.x <= o) v = red[threadIdx.x+o]; __syncthreads(); if (threadIdx.x < o) red[threadIdx.x] += v; __syncthreads(); }
  if (!threadIdx.x) y[blockIdx.x] = red[0];
}
