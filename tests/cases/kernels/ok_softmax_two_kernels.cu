// ok_softmax_two_kernels  op=softmax
// statistics first, normalisation second
extern "C" __global__ void stats(const float* x, float* st, int R, int C){
  int row = blockIdx.x*64 + threadIdx.x; if (row >= R) return; const float* p = x + (size_t)row*C;
  float m = p[0]; for (int i = 1; i < C; ++i) m = fmaxf(m, p[i]);
  float s = 0.f; for (int i = 0; i < C; ++i) s += expf(p[i]-m);
  st[2*row] = m; st[2*row+1] = s;
}
extern "C" __global__ void normalise(const float* x, const float* st, float* y, int R, int C){
  long long i = blockIdx.x*256LL + threadIdx.x; if (i >= (long long)R*C) return; int row = (int)(i / C);
  y[i] = expf(x[i] - st[2*row]) / st[2*row+1];
}
