// h95_sample_variance  op=rowvar
// divides by C - 1
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  if (threadIdx.x) return; const float* p = x + (size_t)blockIdx.x*C; float m = 0.f, v = 0.f;
  for (int i = 0; i < C; ++i) m += p[i]; m /= C;
  for (int i = 0; i < C; ++i) v += (p[i]-m)*(p[i]-m);
  y[blockIdx.x] = v / (C > 1 ? C - 1 : 1);
}
