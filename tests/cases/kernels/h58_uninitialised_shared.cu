// h58_uninitialised_shared  op=rowsum
// shared slots of idle threads stay unset when C < 256
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  __shared__ float red[256];
  if (threadIdx.x < C) { float s = 0.f; for (int i = threadIdx.x; i < C; i += 256) s += x[(size_t)blockIdx.x*C + i]; red[threadIdx.x] = s; }
  __syncthreads();
  for (int o = 128; o; o >>= 1) { if (threadIdx.x < o) red[threadIdx.x] += red[threadIdx.x+o]; __syncthreads(); }
  if (!threadIdx.x) y[blockIdx.x] = red[0];
}
