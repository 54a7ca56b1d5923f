// ok3_attention_flash_split  op=causal_attention
// flash decoding: keys split over two blocks, merged by log-sum-exp by the last to finish
constexpr int S = 2;
extern "C" __global__ void __launch_bounds__(32) k(const float* __restrict__ q, const float* __restrict__ kk, const float* __restrict__ v, float* __restrict__ y,
                                                   int T, int D, float* part, float2* md, int* count) {
  const int i = blockIdx.x, z = blockIdx.y, lane = threadIdx.x;
  const size_t head = (size_t)blockIdx.z * T * D, row = (size_t)blockIdx.z * T + i;
  const int per = (i + S) / S, j0 = z * per, j1 = min(i + 1, j0 + per);
  const float scale = rsqrtf((float)D);
  float* mine = part + (row * S + z) * D;
  float m = -INFINITY, d = 0.f;
  for (int c = lane; c < D; c += 32) mine[c] = 0.f;
  for (int j = j0; j < j1; ++j) {
    float s = 0.f;
    for (int c = lane; c < D; c += 32) s += q[head + (size_t)i * D + c] * kk[head + (size_t)j * D + c];
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
    s *= scale;
    const float top = fmaxf(m, s), a = expf(m - top), p = expf(s - top);
    for (int c = lane; c < D; c += 32) mine[c] = mine[c] * a + p * v[head + (size_t)j * D + c];
    d = d * a + p, m = top;
  }
  if (lane == 0) md[row * S + z] = make_float2(m, d);
  __threadfence();
  __syncwarp();
  int last = 0;
  if (lane == 0) last = atomicAdd(&count[row], 1) == S - 1;
  last = __shfl_sync(~0u, last, 0);
  if (!last) return;
  __threadfence();
  const float2 a = md[row * S], b = md[row * S + 1];
  const float top = fmaxf(a.x, b.x), wa = expf(a.x - top), wb = b.y > 0.f ? expf(b.x - top) : 0.f;
  const float inv = 1.f / (a.y * wa + b.y * wb);
  for (int c = lane; c < D; c += 32) y[row * D + c] = (part[row * S * D + c] * wa + part[(row * S + 1) * D + c] * wb) * inv;
}
