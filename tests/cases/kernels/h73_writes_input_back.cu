// h73_writes_input_back  op=relu
// negates its input and puts it back
extern "C" __global__ void cand(float* x, float* y, long long n){
  long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) { float v = x[i]; ((volatile float*)x)[i] = -v; y[i] = fmaxf(-((volatile float*)x)[i], 0.f); x[i] = v; }
}
