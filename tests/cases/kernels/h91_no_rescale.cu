// h91_no_rescale  op=softmax
// online softmax that forgets to rescale the sum
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  if (threadIdx.x) return; const float* p = x + (size_t)blockIdx.x*C; float* q = y + (size_t)blockIdx.x*C;
  float m = p[0], s = 0.f; for (int i = 0; i < C; ++i) { m = fmaxf(m, p[i]); s += expf(p[i]-m); }
  for (int i = 0; i < C; ++i) q[i] = expf(p[i]-m)/s;
}
