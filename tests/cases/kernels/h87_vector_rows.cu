// h87_vector_rows  op=rowsum
// float4 loads from rows that need not be aligned
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  __shared__ float red[256]; float s = 0.f; const float* p = x + (size_t)blockIdx.x*C; int i;
  for (i = threadIdx.x*4; i + 3 < C; i += 1024) { float4 v = *(const float4*)(p + i); s += v.x + v.y + v.z + v.w; }
  for (; i < C; ++i) if (i < C) s += p[i];
  red[threadIdx.x] = s; __syncthreads();
  for (int o = 128; o; o >>= 1) { if (threadIdx.x < o) red[threadIdx.x] += red[threadIdx.x+o]; __syncthreads(); }
  if (!threadIdx.x) y[blockIdx.x] = red[0];
}
