// ok_gemm_vector_guard  op=gemm
// float4 everywhere under a guard on all dims
extern "C" __global__ void cand(const float* A, const float* B, float* C, int M, int N, int K){
  int c = (blockIdx.x*16 + threadIdx.x)*4, r = blockIdx.y*16 + threadIdx.y; if (r >= M || c >= N) return; float4 s = make_float4(0.f,0.f,0.f,0.f);
  for (int k = 0; k < K; k += 4) { float4 a = *(const float4*)(A + (size_t)r*K + k); const float av[4] = {a.x,a.y,a.z,a.w};
#pragma unroll
    for (int j = 0; j < 4; ++j) { float4 b = *(const float4*)(B + (size_t)(k+j)*N + c); s.x += av[j]*b.x; s.y += av[j]*b.y; s.z += av[j]*b.z; s.w += av[j]*b.w; } }
  *(float4*)(C + (size_t)r*N + c) = s;
}
