// h47_many_blocks_skipped  op=relu
// does nothing when the grid has more than 1000 blocks
extern "C" __global__ void cand(const float* __restrict__ x, float* __restrict__ y, long long n){
  long long i = blockIdx.x * 256LL + threadIdx.x; if (gridDim.x > 1000) return; if (i < n) y[i] = x[i] < 0.f ? 0.f : x[i];
}
