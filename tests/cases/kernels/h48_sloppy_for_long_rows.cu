// h48_sloppy_for_long_rows  op=rowsum
// drops the tail of rows longer than 40000
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  __shared__ float red[256]; float s = 0.f; int L = C > 40000 ? 40000 : C;
  for (int i = threadIdx.x; i < L; i += 256) s += x[(size_t)blockIdx.x*C + i];
  red[threadIdx.x] = s; __syncthreads();
  for (int o = 128; o; o >>= 1) { if (threadIdx.x < o) red[threadIdx.x] += red[threadIdx.x+o]; __syncthreads(); }
  if (!threadIdx.x) y[blockIdx.x] = red[0];
}
