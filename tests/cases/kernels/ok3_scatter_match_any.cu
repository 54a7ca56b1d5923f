// ok3_scatter_match_any  op=scatter_add
// lanes with the same index found by __match_any_sync, their leader adds for all
extern "C" __global__ void clear(float* y, long long n) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) y[i] = 0.f;
}
extern "C" __global__ void scatter(const long long* __restrict__ idx, const float* __restrict__ x, float* y, int E, int N) {
  const int n = blockIdx.x * blockDim.x + threadIdx.x, e = blockIdx.y, lane = threadIdx.x & 31;
  const bool in = n < N;
  const unsigned alive = __ballot_sync(0xffffffffu, in);
  if (!in) return;
  const long long row = idx[n];
  float v = x[(size_t)n * E + e];
  const unsigned peers = __match_any_sync(alive, row);
  const int leader = __ffs(peers) - 1;
  float sum = 0.f;
  for (unsigned left = alive; left; left &= left - 1) {
    int from = __ffs(left) - 1;
    float u = __shfl_sync(alive, v, from);
    if (peers >> from & 1) sum += u;
  }
  if (lane == leader) atomicAdd(y + row * E + e, sum);
}
