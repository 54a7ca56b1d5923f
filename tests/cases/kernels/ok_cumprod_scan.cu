// ok_cumprod_scan  op=rowcumprod
// warp scans with a carry
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  int row = blockIdx.x, lane = threadIdx.x; float carry = 1.f;
  for (int i0 = 0; i0 < C; i0 += 32) { int i = i0 + lane; float v = i < C ? x[(size_t)row*C + i] : 1.f;
    for (int o = 1; o < 32; o <<= 1) { float u = __shfl_up_sync(0xffffffffu, v, o); if (lane >= o) v *= u; }
    v *= carry; if (i < C) y[(size_t)row*C + i] = v; carry = __shfl_sync(0xffffffffu, v, 31); }
}
