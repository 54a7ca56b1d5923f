// h56_shuffle_inactive  op=rowsum
// shuffles name lanes that have left
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  __shared__ float part[8]; float s = 0.f;
  for (int i = threadIdx.x; i < C; i += 256) s += x[(size_t)blockIdx.x*C + i];
  if (threadIdx.x % 32 < 30) for (int o = 16; o; o >>= 1) s += __shfl_down_sync(0xffffffffu, s, o);
  if (threadIdx.x % 32 == 0) part[threadIdx.x/32] = s;
  __syncthreads();
  if (!threadIdx.x) { float t = 0.f; for (int w = 0; w < 8; ++w) t += part[w]; y[blockIdx.x] = t; }
}
