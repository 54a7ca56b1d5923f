// h61_naive_variance  op=rowvar
// E[x^2] - E[x]^2 cancels for a large mean
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  __shared__ float r1[256], r2[256]; float s = 0.f, t = 0.f;
  for (int i = threadIdx.x; i < C; i += 256) { float v = x[(size_t)blockIdx.x*C + i]; s += v; t += v*v; }
  r1[threadIdx.x] = s; r2[threadIdx.x] = t; __syncthreads();
  for (int o = 128; o; o >>= 1) { if (threadIdx.x < o) { r1[threadIdx.x] += r1[threadIdx.x+o]; r2[threadIdx.x] += r2[threadIdx.x+o]; } __syncthreads(); }
  if (!threadIdx.x) { float m = r1[0]/C; y[blockIdx.x] = r2[0]/C - m*m; }
}
