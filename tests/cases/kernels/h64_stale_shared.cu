// h64_stale_shared  op=relu
// a tag left in shared memory by an earlier block
extern "C" __global__ void cand(const float* __restrict__ x, float* __restrict__ y, long long n){
  __shared__ unsigned tag[4]; long long i = blockIdx.x * 256LL + threadIdx.x;
  if (tag[0] == 0xC0FFEEu) return;
  if (i < n) y[i] = fmaxf(x[i], 0.f);
  __syncthreads(); if (!threadIdx.x) tag[0] = 0xC0FFEEu;
}
