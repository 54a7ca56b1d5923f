// h88_circular_conv  op=conv1d3
// wraps around instead of padding with zeros
extern "C" __global__ void cand(const float* x, float* y, long long n){
  long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) y[i] = (x[(i+n-1)%n] + x[i] + x[(i+1)%n]) * (1.f/3.f);
}
