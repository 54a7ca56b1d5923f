// h67_pinned_l2  op=relu
// keeps its input in L2 with an evict_last policy
extern "C" __global__ void cand(const float* __restrict__ x, float* __restrict__ y, long long n){
  long long i = blockIdx.x * 256LL + threadIdx.x; if (i >= n) return;
  unsigned long long pol; float v;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(pol));
  asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(v) : "l"(x + i), "l"(pol));
  y[i] = fmaxf(v, 0.f);
}
