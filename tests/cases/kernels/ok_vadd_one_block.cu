// ok_vadd_one_block  op=vadd_inplace
// one block walks forward with barriers, safe in place
extern "C" __global__ void cand(const float* x, float* y, long long n){
  for (long long b = 0; b < n; b += 256) { long long i = b + threadIdx.x; float v = 0.f; if (i < n) v = i + 1 < n ? x[i] + x[i+1] : x[i]; __syncthreads(); if (i < n) y[i] = v; __syncthreads(); }
}
