// ok_neumaier_parallel  op=rowsum_compensated
// two-sums a thread, merged in shared memory
__device__ __forceinline__ void two_sum(float& s, float& e, float v) { float t = __fadd_rn(s, v), z = __fsub_rn(t, s); e = __fadd_rn(e, __fadd_rn(__fsub_rn(s, __fsub_rn(t, z)), __fsub_rn(v, z))); s = t; }
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  __shared__ float hi[128], lo[128]; float s = 0.f, e = 0.f;
  for (int i = threadIdx.x; i < C; i += 128) two_sum(s, e, x[(size_t)blockIdx.x*C + i]);
  hi[threadIdx.x] = s; lo[threadIdx.x] = e; __syncthreads();
  for (int o = 64; o; o >>= 1) { if (threadIdx.x < o) { s = hi[threadIdx.x]; e = lo[threadIdx.x] + lo[threadIdx.x+o]; two_sum(s, e, hi[threadIdx.x+o]); hi[threadIdx.x] = s; lo[threadIdx.x] = e; } __syncthreads(); }
  if (!threadIdx.x) y[blockIdx.x] = hi[0] + lo[0];
}
