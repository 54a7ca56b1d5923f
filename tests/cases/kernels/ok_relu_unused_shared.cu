// ok_relu_unused_shared  op=relu
// dynamic shared memory as staging
extern "C" __global__ void cand(const float* __restrict__ x, float* __restrict__ y, long long n){
  extern __shared__ float s[]; long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) s[threadIdx.x] = x[i];
  __syncthreads();
  if (i < n) y[i] = s[threadIdx.x] < 0.f ? 0.f : s[threadIdx.x];
}
