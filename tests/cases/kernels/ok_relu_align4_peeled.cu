// ok_relu_align4_peeled  op=relu_align4
// aligns itself before it goes wide
extern "C" __global__ void cand(const float* __restrict__ x, float* __restrict__ y, long long n){
  long long t = blockIdx.x * 256LL + threadIdx.x, total = gridDim.x * 256LL;
  long long head = ((16 - ((size_t)x & 15)) & 15) / 4; bool same = (((size_t)x ^ (size_t)y) & 15) == 0;
  if (!same) { for (long long i = t; i < n; i += total) y[i] = x[i] < 0.f ? 0.f : x[i]; return; }
  if (head > n) head = n;
  long long wide = (n - head) / 4;
  if (t < head) y[t] = x[t] < 0.f ? 0.f : x[t];
  for (long long i = t; i < wide; i += total) { float4 v = ((const float4*)(x + head))[i]; v.x = v.x < 0.f ? 0.f : v.x; v.y = v.y < 0.f ? 0.f : v.y; v.z = v.z < 0.f ? 0.f : v.z; v.w = v.w < 0.f ? 0.f : v.w; ((float4*)(y + head))[i] = v; }
  for (long long i = head + wide * 4 + t; i < n; i += total) y[i] = x[i] < 0.f ? 0.f : x[i];
}
