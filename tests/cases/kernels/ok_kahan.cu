// ok_kahan  op=rowsum_compensated
// Kahan
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  float s = 0.f, c = 0.f;
  for (int i = 0; i < C; ++i) { float v = __fsub_rn(x[(size_t)blockIdx.x*C+i], c); float t = __fadd_rn(s, v); c = __fsub_rn(__fsub_rn(t, s), v); s = t; }
  y[blockIdx.x] = s;
}
