// h96_in_place_halo  op=vadd_inplace
// in place, a block reads what its neighbour has overwritten
extern "C" __global__ void cand(const float* x, float* y, long long n){
  long long i = blockIdx.x * 256LL + threadIdx.x; float v = 0.f;
  if (i < n) v = x[i] + (i + 1 < n ? x[i+1] : 0.f);
  __syncthreads();
  if (i < n) y[i] = v;
}
