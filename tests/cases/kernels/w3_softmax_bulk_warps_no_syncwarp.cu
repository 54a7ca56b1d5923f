// w3_softmax_bulk_warps_no_syncwarp  op=softmax
// a lane gives the stage back for its warp without a __syncwarp
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

constexpr int S = 3, W = 256;
extern "C" __global__ void __launch_bounds__(160) k(const float* __restrict__ x, float* __restrict__ y, int N) {
  __shared__ __align__(128) float buf[S][W];
  __shared__ u64 full[S], empty[S];
  __shared__ float2 red[4];
  const int t = threadIdx.x, w = t >> 5, lane = t & 31, steps = (N + W - 1) / W;
  const float* row = x + (size_t)blockIdx.x * N;
  float* out = y + (size_t)blockIdx.x * N;
  if (t == 0) {
    for (int s = 0; s < S; ++s) mb_init(&full[s], 1), mb_init(&empty[s], 4);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (w == 4) {
    if (lane == 0)
      for (int pass = 0, g = 0; pass < 2; ++pass)
        for (int s = 0; s < steps; ++s, ++g) {
          const int slot = g % S;
          mb_wait(&empty[slot], (g / S & 1) ^ 1);
          const int n = min(W, N - s * W);
          mb_expect(&full[slot], n * 4);
          bulk(buf[slot], row + s * W, n * 4, &full[slot]);
        }
    return;
  }
  int g = 0;
  float m = -INFINITY, d = 0.f;
  for (int s = 0; s < steps; ++s, ++g) {
    const int slot = g % S, n = min(W, N - s * W);
    mb_wait(&full[slot], g / S & 1);
    for (int i = t; i < n; i += 128) {
      const float v = buf[slot][i], top = fmaxf(m, v);
      d = d * __expf(m - top) + __expf(v - top), m = top;
    }
    if (lane == 0) mb_arrive(&empty[slot]);
  }
  float top = m;
  for (int o = 16; o; o >>= 1) top = fmaxf(top, __shfl_xor_sync(~0u, top, o));
  d = m == -INFINITY ? 0.f : d * __expf(m - top);
  for (int o = 16; o; o >>= 1) d += __shfl_xor_sync(~0u, d, o);
  if (lane == 0) red[w] = make_float2(top, d);
  asm volatile("bar.sync 1, 128;" ::: "memory");
  m = fmaxf(fmaxf(red[0].x, red[1].x), fmaxf(red[2].x, red[3].x));
  d = 0.f;
  for (int j = 0; j < 4; ++j) d += red[j].y * __expf(red[j].x - m);
  for (int s = 0; s < steps; ++s, ++g) {
    const int slot = g % S, n = min(W, N - s * W);
    mb_wait(&full[slot], g / S & 1);
    for (int i = t; i < n; i += 128) out[s * W + i] = __expf(buf[slot][i] - m) / d;
    if (lane == 0) mb_arrive(&empty[slot]);
  }
}
