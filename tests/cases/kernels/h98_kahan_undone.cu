// h98_kahan_undone  op=rowsum_compensated
// compensation that is computed and dropped
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  float s = 0.f, c = 0.f;
  for (int i = 0; i < C; ++i) { float v = x[(size_t)blockIdx.x*C+i]; float t = s + v; c += (s - t) + v; s = t; }
  y[blockIdx.x] = c == 12345.f ? c : s;
}
