// ok3_rowsum_bulk  op=rowsum
// rows by cp.async.bulk into two stages, full mbarriers with expect_tx, rows of 16 bytes under a guard
typedef unsigned long long u64;
__device__ __forceinline__ unsigned sa(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void mb_init(u64* b, int n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sa(b)), "r"(n) : "memory"); }
__device__ __forceinline__ void mb_expect(u64* b, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(sa(b)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void mb_arrive(u64* b) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(sa(b)) : "memory"); }
__device__ __forceinline__ void mb_wait(u64* b, int phase) {
  asm volatile("{\n.reg .pred p;\nLAB_WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra DONE;\nbra LAB_WAIT;\nDONE:\n}" ::"r"(sa(b)), "r"(phase) : "memory");
}
__device__ __forceinline__ void bulk(void* dst, const void* src, int bytes, u64* b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               ::"r"(sa(dst)), "l"(src), "r"(bytes), "r"(sa(b)) : "memory");
}
extern "C" __global__ void __launch_bounds__(128) k(const float* __restrict__ x, float* __restrict__ y, int N) {
  __shared__ __align__(128) float buf[2][512];
  __shared__ u64 full[2], empty[2];
  __shared__ float red[4];
  const int t = threadIdx.x, steps = (N + 511) / 512;
  const float* row = x + (size_t)blockIdx.x * N;
  if (t == 0) {
    for (int s = 0; s < 2; ++s) mb_init(&full[s], 1), mb_init(&empty[s], 128);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  auto fetch = [&](int s) {
    const int n = min(512, N - s * 512);
    mb_expect(&full[s & 1], n * 4);
    bulk(buf[s & 1], row + s * 512, n * 4, &full[s & 1]);
  };
  if (t == 0)
    for (int s = 0; s < 2 && s < steps; ++s) fetch(s);
  float sum = 0.f;
  for (int s = 0; s < steps; ++s) {
    mb_wait(&full[s & 1], s / 2 & 1);
    const int n = min(512, N - s * 512);
    for (int i = t; i < n; i += 128) sum += buf[s & 1][i];
    mb_arrive(&empty[s & 1]);
    if (t == 0 && s + 2 < steps) {
      mb_wait(&empty[s & 1], s / 2 & 1);
      fetch(s + 2);
    }
  }
  for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
  if (t % 32 == 0) red[t / 32] = sum;
  __syncthreads();
  if (t == 0) y[blockIdx.x] = red[0] + red[1] + red[2] + red[3];
}
