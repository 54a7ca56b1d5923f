// ok_conv_registers  op=conv1d3
// four outputs a thread, sliding registers
extern "C" __global__ void cand(const float* __restrict__ x, float* __restrict__ y, long long n){
  long long i = (blockIdx.x * 128LL + threadIdx.x) * 4; if (i >= n) return;
  float a = i > 0 ? x[i-1] : 0.f, b = x[i];
  for (int k = 0; k < 4 && i + k < n; ++k) { float c = i + k + 1 < n ? x[i+k+1] : 0.f; y[i+k] = (a + b + c) * (1.f/3.f); a = b; b = c; }
}
