// ok_softmax_online  op=softmax
// online softmax, a warp a row, pairs merged by shuffles
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  int row = blockIdx.x * 4 + threadIdx.y, lane = threadIdx.x; if (row >= R) return;
  const float* p = x + (size_t)row*C; float* q = y + (size_t)row*C;
  float m = -INFINITY, s = 0.f;
  for (int i = lane; i < C; i += 32) { float v = p[i], mn = fmaxf(m, v); s = s * __expf(m - mn) + __expf(v - mn); m = mn; }
  for (int o = 16; o; o >>= 1) { float om = __shfl_xor_sync(0xffffffffu, m, o), os = __shfl_xor_sync(0xffffffffu, s, o); float mn = fmaxf(m, om);
    s = (m == -INFINITY ? 0.f : s * __expf(m - mn)) + (om == -INFINITY ? 0.f : os * __expf(om - mn)); m = mn; }
  float r = 1.f / s; for (int i = lane; i < C; i += 32) q[i] = __expf(p[i] - m) * r;
}
