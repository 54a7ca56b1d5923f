// h74_prefetch_past_end  op=rowsum
// prefetches one element past the end of the last row
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  if (threadIdx.x) return; const float* p = x + (size_t)blockIdx.x*C; float s = 0.f, v = p[0];
  for (int i = 0; i < C; ++i) { float w = ((const volatile float*)p)[i+1]; s += v; v = w; }
  y[blockIdx.x] = s;
}
