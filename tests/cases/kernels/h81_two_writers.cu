// h81_two_writers  op=rowsum
// two blocks write the same element
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  __shared__ float red[256]; float s = 0.f; int row = blockIdx.x;
  for (int i = threadIdx.x; i < C; i += 256) s += x[(size_t)row*C + i];
  red[threadIdx.x] = s; __syncthreads();
  for (int o = 128; o; o >>= 1) { if (threadIdx.x < o) red[threadIdx.x] += red[threadIdx.x+o]; __syncthreads(); }
  if (!threadIdx.x) y[row] = blockIdx.y ? red[0] : red[0] * 0.5f;
}
