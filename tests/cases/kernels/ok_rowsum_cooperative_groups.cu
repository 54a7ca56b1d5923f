// ok_rowsum_cooperative_groups  op=rowsum
// cooperative groups: tiles and reduce
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  __shared__ float part[8];
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
  float s = 0.f; for (int i = threadIdx.x; i < C; i += 256) s += x[(size_t)blockIdx.x*C + i];
  s = cg::reduce(tile, s, cg::plus<float>());
  if (tile.thread_rank() == 0) part[tile.meta_group_rank()] = s;
  block.sync();
  if (block.thread_rank() == 0) { float t = 0.f; for (int w = 0; w < 8; ++w) t += part[w]; y[blockIdx.x] = t; }
}
