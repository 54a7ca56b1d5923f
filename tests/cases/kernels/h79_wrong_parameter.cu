// h79_wrong_parameter  op=relu
// the kernel takes a 32-bit n, the manifest passes 64 bits
extern "C" __global__ void cand(const float* x, float* y, int n){
  int i = blockIdx.x * 256 + threadIdx.x; if (i < n) y[i] = fmaxf(x[i], 0.f);
}
