// ok_relu_align4_scalar  op=relu_align4
// scalar accesses need no more than 4 bytes
extern "C" __global__ void cand(const float* __restrict__ x, float* __restrict__ y, long long n){
  long long i = blockIdx.x * 256LL + threadIdx.x; if (i < n) y[i] = x[i] < 0.f ? 0.f : x[i];
}
