// ok3_relu_compact  op=relu
// positive elements are collected by warp-aggregated atomics under __activemask, then put back
__device__ int append(int* counter) {
  const unsigned mask = __activemask();
  const int lane = threadIdx.x & 31, leader = __ffs(mask) - 1;
  int base = 0;
  if (lane == leader) base = atomicAdd(counter, __popc(mask));
  base = __shfl_sync(mask, base, leader);
  return base + __popc(mask & ((1u << lane) - 1));
}
extern "C" __global__ void collect(const float* __restrict__ x, float* y, int N, int* list, int* count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N) return;
  const float v = x[i];
  y[i] = 0.f;
  if (v > 0.f) list[append(count)] = i;
}
extern "C" __global__ void put(const float* __restrict__ x, float* y, const int* list, const int* count) {
  const int n = *count;
  for (int j = blockIdx.x * blockDim.x + threadIdx.x; j < n; j += gridDim.x * blockDim.x) y[list[j]] = x[list[j]];
}
