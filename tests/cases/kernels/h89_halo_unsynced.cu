// h89_halo_unsynced  op=conv1d3
// reads the halo before it is there
extern "C" __global__ void cand(const float* x, float* y, long long n){
  __shared__ float s[258]; long long i = blockIdx.x * 256LL + threadIdx.x;
  s[threadIdx.x+1] = i < n ? x[i] : 0.f;
  if (threadIdx.x == 0) s[0] = i > 0 && i - 1 < n ? x[i-1] : 0.f;
  if (threadIdx.x == 255) s[257] = i + 1 < n ? x[i+1] : 0.f;
  if (i < n) y[i] = (s[threadIdx.x] + s[threadIdx.x+1] + s[threadIdx.x+2]) * (1.f/3.f);
}
