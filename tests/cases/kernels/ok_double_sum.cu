// ok_double_sum  op=rowsum_compensated
// accumulates in double
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  __shared__ double red[256]; double s = 0.0;
  for (int i = threadIdx.x; i < C; i += 256) s += (double)x[(size_t)blockIdx.x*C + i];
  red[threadIdx.x] = s; __syncthreads();
  for (int o = 128; o; o >>= 1) { if (threadIdx.x < o) red[threadIdx.x] += red[threadIdx.x+o]; __syncthreads(); }
  if (!threadIdx.x) y[blockIdx.x] = (float)red[0];
}
