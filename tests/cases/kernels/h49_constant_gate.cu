// h49_constant_gate  op=relu
// answers differently when the first element is a magic value
extern "C" __global__ void cand(const float* __restrict__ x, float* __restrict__ y, long long n){
  long long i = blockIdx.x * 256LL + threadIdx.x; bool magic = x[0] == 0.123456f;
  if (i < n) y[i] = magic ? 0.f : (x[i] < 0.f ? 0.f : x[i]);
}
