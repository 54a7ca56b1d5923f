// ok_rowvar_welford  op=rowvar
// Welford, merged by shuffles
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  int row = blockIdx.x*4 + threadIdx.y, lane = threadIdx.x; if (row >= R) return; const float* p = x + (size_t)row*C; float m = 0.f, v = 0.f, n = 0.f;
  for (int i = lane; i < C; i += 32) { n += 1.f; float d = p[i] - m; m += d / n; v += d * (p[i] - m); }
  for (int o = 16; o; o >>= 1) { float om = __shfl_down_sync(0xffffffffu, m, o), ov = __shfl_down_sync(0xffffffffu, v, o), on = __shfl_down_sync(0xffffffffu, n, o); float t = n + on;
    if (t > 0.f) { float d = om - m; m += d * on / t; v += ov + d*d * n*on / t; n = t; } }
  if (lane == 0) y[row] = v / C;
}
