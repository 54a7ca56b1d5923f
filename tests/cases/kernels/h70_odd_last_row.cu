// h70_odd_last_row  op=rowsum
// leaves the last row out when R is odd
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  if (R > 1 && R % 2 == 1 && blockIdx.x == R-1) return;
  if (!threadIdx.x) { float s = 0.f; for (int i = 0; i < C; ++i) s += x[(size_t)blockIdx.x*C + i]; y[blockIdx.x] = s; }
}
