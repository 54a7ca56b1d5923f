// ok3_rowsum_tile16_shfl  op=rowsum
// the same with shfl_down of the tile and a loop over tiles of rows
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void rows16(const float* __restrict__ x, float* __restrict__ y, int M, int N) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  for (int row = blockIdx.x * 8 + tile.meta_group_rank(); row < M; row += gridDim.x * 8) {
  float s = 0.f;
  for (int i = tile.thread_rank(); i < N; i += tile.size()) s += x[(size_t)row * N + i];
  for (int o = tile.size() / 2; o > 0; o /= 2) s += tile.shfl_down(s, o);
  if (tile.thread_rank() == 0) y[row] = s;
  }
}
