// ok_gemm_warp_dot  op=gemm
// a warp an element
extern "C" __global__ void cand(const float* A, const float* B, float* C, int M, int N, int K){
  long long e = blockIdx.x*8LL + threadIdx.y; if (e >= (long long)M*N) return; int r = (int)(e / N), c = (int)(e % N), lane = threadIdx.x; float s = 0.f;
  for (int k = lane; k < K; k += 32) s += A[(size_t)r*K+k]*B[(size_t)k*N+c];
  for (int o = 16; o; o >>= 1) s += __shfl_down_sync(0xffffffffu, s, o);
  if (lane == 0) C[e] = s;
}
