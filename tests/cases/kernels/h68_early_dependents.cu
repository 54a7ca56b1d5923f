// h68_early_dependents  op=relu
// lets the next kernel start before it is done
extern "C" __global__ void cand(const float* __restrict__ x, float* __restrict__ y, long long n){
  asm volatile("griddepcontrol.launch_dependents;");
  long long i = blockIdx.x * 256LL + threadIdx.x; if (i < n) y[i] = fmaxf(x[i], 0.f);
}
