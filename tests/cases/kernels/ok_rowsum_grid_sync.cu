// ok_rowsum_grid_sync  op=rowsum
// a cooperative launch with a grid barrier
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void cand(const float* x, float* y, int R, int C, float* part){
  cg::grid_group grid = cg::this_grid(); int P = gridDim.x;
  for (int row = 0; row < R; ++row) {
    float s = 0.f; for (int i = blockIdx.x*64 + threadIdx.x; i < C; i += 64*P) s += x[(size_t)row*C + i];
    for (int o = 16; o; o >>= 1) s += __shfl_down_sync(0xffffffffu, s, o);
    if (threadIdx.x % 32 == 0) part[((size_t)row*P + blockIdx.x)*2 + threadIdx.x/32] = s;
  }
  grid.sync();
  for (int row = blockIdx.x*64 + threadIdx.x; row < R; row += 64*P) { float t = 0.f; for (int p = 0; p < 2*P; ++p) t += part[(size_t)row*P*2 + p]; y[row] = t; }
}
