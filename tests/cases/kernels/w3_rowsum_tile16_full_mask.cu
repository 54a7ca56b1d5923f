// w3_rowsum_tile16_full_mask  op=rowsum
// half-warps that walk rows of their own shuffle under the mask of the whole warp
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void rows16(const float* __restrict__ x, float* __restrict__ y, int M, int N) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  for (int row = blockIdx.x * 8 + tile.meta_group_rank(); row < M; row += gridDim.x * 8) {
  float s = 0.f;
  for (int i = tile.thread_rank(); i < N; i += tile.size()) s += x[(size_t)row * N + i];
  for (int o = 8; o > 0; o /= 2) s += __shfl_down_sync(0xffffffffu, s, o, 16);
  if (tile.thread_rank() == 0) y[row] = s;
  }
  __syncthreads();
  if (M < 0) y[threadIdx.x] = 0.f;
}
