// w3_relu_bulk_both_leaked  op=relu
// the block ends while bulk copies may still read its shared memory
typedef unsigned long long u64;
__device__ __forceinline__ unsigned sa(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void mb_init(u64* b, int n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sa(b)), "r"(n) : "memory"); }
__device__ __forceinline__ void mb_expect(u64* b, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(sa(b)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void mb_arrive(u64* b) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(sa(b)) : "memory"); }
__device__ __forceinline__ void mb_wait(u64* b, unsigned phase) {
  unsigned done = 0;
  while (!done)
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(done) : "r"(sa(b)), "r"(phase) : "memory");
}
__device__ __forceinline__ void bulk(void* dst, const void* src, int bytes, u64* b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               ::"r"(sa(dst)), "l"(src), "r"(bytes), "r"(sa(b)) : "memory");
}

extern "C" __global__ void __launch_bounds__(128) k(const float* __restrict__ x, float* __restrict__ y, int N) {
  __shared__ __align__(128) float buf[2][512];
  __shared__ u64 full[2];
  const int t = threadIdx.x, tiles = (N + 511) / 512;
  if (t == 0) { mb_init(&full[0], 1); mb_init(&full[1], 1); asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
  __syncthreads();
  auto fetch = [&](int tile, int s) {
    const int n = min(512, N - tile * 512);
    mb_expect(&full[s], n * 4);
    bulk(buf[s], x + tile * 512, n * 4, &full[s]);
  };
  if (t == 0 && blockIdx.x < tiles) fetch(blockIdx.x, 0);
  int s = 0, phase[2] = {0, 0};
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, s ^= 1) {
    const int next = tile + gridDim.x, n = min(512, N - tile * 512);
    if (t == 0 && next < tiles) {
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
      fetch(next, s ^ 1);
    }
    mb_wait(&full[s], phase[s]);
    phase[s] ^= 1;
    for (int i = t; i < n; i += 128) buf[s][i] = fmaxf(buf[s][i], 0.f);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(y + tile * 512), "r"(sa(buf[s])), "r"(n * 4) : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
  }
}
