// ok_relu_float4  op=relu
// float4 with a scalar tail; n any
extern "C" __global__ void cand(const float* __restrict__ x, float* __restrict__ y, long long n){
  long long i = (blockIdx.x * 256LL + threadIdx.x) * 4;
  if (i + 3 < n) { float4 v = *reinterpret_cast<const float4*>(x + i); v.x = v.x < 0.f ? 0.f : v.x; v.y = v.y < 0.f ? 0.f : v.y; v.z = v.z < 0.f ? 0.f : v.z; v.w = v.w < 0.f ? 0.f : v.w; *reinterpret_cast<float4*>(y + i) = v; }
  else for (; i < n; ++i) y[i] = x[i] < 0.f ? 0.f : x[i];
}
