// ok_rowsum_sequential  op=rowsum
// one thread a row, one accumulator
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  int row = blockIdx.x*128 + threadIdx.x; if (row >= R) return;
  float s = 0.f; for (int i = 0; i < C; ++i) s += x[(size_t)row*C + i]; y[row] = s;
}
