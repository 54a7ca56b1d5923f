// ok_rowsum_four_accumulators  op=rowsum
// four accumulators a thread and a tail
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  int row = blockIdx.x*128 + threadIdx.x; if (row >= R) return; const float* p = x + (size_t)row*C;
  float a = 0.f, b = 0.f, c = 0.f, d = 0.f; int i = 0;
  for (; i + 3 < C; i += 4) { a += p[i]; b += p[i+1]; c += p[i+2]; d += p[i+3]; }
  for (; i < C; ++i) a += p[i];
  y[row] = (a + b) + (c + d);
}
