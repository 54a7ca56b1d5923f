// ok_relu_grid_stride  op=relu
// a fixed grid that strides, through __ldg
extern "C" __global__ void cand(const float* __restrict__ x, float* __restrict__ y, long long n){
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) { float v = __ldg(x + i); y[i] = v < 0.f ? 0.f : v; }
}
