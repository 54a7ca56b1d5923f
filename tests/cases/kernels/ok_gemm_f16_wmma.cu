// ok_gemm_f16_wmma  op=gemm_f16
// wmma with f32 accumulators, staged with zeros at the edges
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void cand(const __half* A, const __half* B, __half* C, int M, int N, int K){
  __shared__ __half a[16*16], b[16*16]; __shared__ float d[16*16]; int r0 = blockIdx.y*16, c0 = blockIdx.x*16;
  wmma::fragment<wmma::matrix_a,16,16,16,__half,wmma::row_major> fa; wmma::fragment<wmma::matrix_b,16,16,16,__half,wmma::row_major> fb; wmma::fragment<wmma::accumulator,16,16,16,float> fc; wmma::fill_fragment(fc, 0.f);
  for (int k0 = 0; k0 < K; k0 += 16) {
    for (int i = threadIdx.x; i < 256; i += 32) { int r = i/16, c = i%16; a[i] = (r0+r < M && k0+c < K) ? A[(size_t)(r0+r)*K + k0+c] : __float2half(0.f); b[i] = (k0+r < K && c0+c < N) ? B[(size_t)(k0+r)*N + c0+c] : __float2half(0.f); }
    __syncthreads(); wmma::load_matrix_sync(fa, a, 16); wmma::load_matrix_sync(fb, b, 16); wmma::mma_sync(fc, fa, fb, fc); __syncthreads();
  }
  wmma::store_matrix_sync(d, fc, 16, wmma::mem_row_major); __syncthreads();
  for (int i = threadIdx.x; i < 256; i += 32) { int r = r0 + i/16, c = c0 + i%16; if (r < M && c < N) C[(size_t)r*N+c] = __float2half(d[i]); }
}
