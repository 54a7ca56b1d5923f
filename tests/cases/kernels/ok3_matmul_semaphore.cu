// ok3_matmul_semaphore  op=matmul
// split K, parts added one after the other behind CUTLASS's semaphore
struct Semaphore {
  int* lock; bool wait_thread; int state;
  __device__ Semaphore(int* l, int t) : lock(l), wait_thread(t <= 0), state(-1) {}
  __device__ void fetch() {
    if (wait_thread) asm volatile("ld.global.acquire.gpu.b32 %0, [%1];\n" : "=r"(state) : "l"(lock));
  }
  __device__ void wait(int status = 0) {
    while (__syncthreads_and(state != status)) fetch();
    __syncthreads();
  }
  __device__ void release(int status = 0) {
    __syncthreads();
    if (wait_thread) asm volatile("st.global.release.gpu.b32 [%0], %1;\n" : : "l"(lock), "r"(status));
  }
};
extern "C" __global__ void __launch_bounds__(256) gemm_serial(const float* __restrict__ A, const float* __restrict__ B,
                                                              float* C, int M, int N, int K, float* part, int* locks) {
  __shared__ float As[16][17], Bs[16][17];
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  const int m = blockIdx.y * 16 + ty, n = blockIdx.x * 16 + tx;
  const int S = gridDim.z, z = blockIdx.z, per = ((K + S - 1) / S + 15) / 16 * 16;
  const int k_begin = min(K, z * per), k_end = min(K, k_begin + per);
  float acc = 0.f;
  for (int k0 = k_begin; k0 < k_end; k0 += 16) {
    As[ty][tx] = m < M && k0 + tx < k_end ? A[(size_t)m * K + k0 + tx] : 0.f;
    Bs[ty][tx] = n < N && k0 + ty < k_end ? B[(size_t)(k0 + ty) * N + n] : 0.f;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k) acc += As[ty][k] * Bs[k][tx];
    __syncthreads();
  }
  const int tile = blockIdx.y * gridDim.x + blockIdx.x;
  Semaphore semaphore(locks + tile, threadIdx.x);
  semaphore.fetch();
  semaphore.wait(z);
  float* mine = part + (size_t)tile * 256 + threadIdx.x;
  if (z > 0) acc += *mine;
  if (z + 1 < S) *mine = acc;
  else if (m < M && n < N) C[(size_t)m * N + n] = acc;
  semaphore.release(z + 1);
}
