// ok_gemm_split_k  op=gemm
// split K, parts in a workspace, second kernel adds
extern "C" __global__ void part(const float* A, const float* B, float* w, int M, int N, int K){
  int r = blockIdx.y*16 + threadIdx.y, c = blockIdx.x*16 + threadIdx.x, z = blockIdx.z; if (r >= M || c >= N) return;
  int k0 = (int)((long long)K*z/gridDim.z), k1 = (int)((long long)K*(z+1)/gridDim.z); float s = 0.f;
  for (int k = k0; k < k1; ++k) s += A[(size_t)r*K+k]*B[(size_t)k*N+c];
  w[((size_t)z*M + r)*N + c] = s;
}
extern "C" __global__ void add(const float* w, float* C, int M, int N){ long long i = blockIdx.x*256LL + threadIdx.x, mn = (long long)M*N; if (i < mn) C[i] = (w[i] + w[i+mn]) + (w[i+2*mn] + w[i+3*mn]); }
