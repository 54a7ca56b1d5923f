// w3_matmul_stream_k_fence  op=matmul
// stream-K without a fence behind the parts
constexpr int T = 16;
extern "C" __global__ void stream_k(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                                    int M, int N, int K, float* parts, int* done) {
  __shared__ float As[T][T + 1], Bs[T][T + 1];
  __shared__ int s_old;
  const int tx = threadIdx.x, ty = threadIdx.y, t = ty * T + tx;
  const int tn = (N + T - 1) / T, tm = (M + T - 1) / T, steps = (K + T - 1) / T;
  const long long total = (long long)tn * tm * steps, per = (total + gridDim.x - 1) / gridDim.x;
  long long at = blockIdx.x * per;
  const long long end = min(total, at + per);
  while (at < end) {
    const int tile = (int)(at / steps), first = (int)(at % steps);
    const int last = (int)min((long long)steps, first + (end - at));
    const int m = tile / tn * T + ty, n = tile % tn * T + tx;
    float acc = 0.f;
    for (int s = first; s < last; ++s) {
      As[ty][tx] = (m < M && s * T + tx < K) ? __ldg(A + (size_t)m * K + s * T + tx) : 0.f;
      Bs[ty][tx] = (n < N && s * T + ty < K) ? __ldg(B + (size_t)(s * T + ty) * N + n) : 0.f;
      __syncthreads();
      for (int k = 0; k < T; ++k) acc = fmaf(As[ty][k], Bs[k][tx], acc);
      __syncthreads();
    }
    if (first == 0 && last == steps) {
      if (m < M && n < N) C[(size_t)m * N + n] = acc;
    } else {
      // slot 0: the tile this block began with, slot 1: the one it ended with
      const int slot = blockIdx.x * 2 + (first == 0);
      parts[slot * T * T + t] = acc;
      __syncthreads();
      if (t == 0) s_old = atomicAdd(&done[tile], last - first);
      __syncthreads();
      if (s_old + last - first == steps) {
        __threadfence();
        const long long begin = (long long)tile * steps;
        float sum = 0.f;
        for (int b = (int)(begin / per); b < (int)gridDim.x && b * per < begin + steps; ++b)
          sum += parts[(b * 2 + (b * per <= begin)) * T * T + t];
        if (m < M && n < N) C[(size_t)m * N + n] = sum;
      }
      __syncthreads();
    }
    at += last - first;
  }
}
