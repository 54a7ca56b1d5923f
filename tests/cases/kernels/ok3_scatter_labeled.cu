// ok3_scatter_labeled  op=scatter_add
// cg::labeled_partition of coalesced_threads, cg::reduce, the first of each label adds
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void clear(float* y, long long n) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) y[i] = 0.f;
}
extern "C" __global__ void scatter(const long long* __restrict__ idx, const float* __restrict__ x, float* y, int E, int N) {
  const int n = blockIdx.x * blockDim.x + threadIdx.x, e = blockIdx.y;
  if (n < N) {
    cg::coalesced_group active = cg::coalesced_threads();
    const int row = (int)idx[n];
    cg::coalesced_group peers = cg::labeled_partition(active, row);
    float sum = cg::reduce(peers, x[(size_t)n * E + e], cg::plus<float>());
    if (peers.thread_rank() == 0) atomicAdd(y + (size_t)row * E + e, sum);
  }
}
