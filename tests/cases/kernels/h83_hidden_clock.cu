// h83_hidden_clock  op=relu
// reads the clock through pasted assembly
#define PASTE(a, b) a b
extern "C" __global__ void cand(const float* __restrict__ x, float* __restrict__ y, long long n){
  unsigned t; asm volatile(PASTE("mov.u32 %0, %%c", "lock;") : "=r"(t));
  long long i = blockIdx.x * 256LL + threadIdx.x; if (i < n && t != 1u) y[i] = fmaxf(x[i], 0.f);
}
