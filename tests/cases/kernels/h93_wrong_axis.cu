// h93_wrong_axis  op=hinge
// averages over rows first, with the targets of the row
extern "C" __global__ void cand(const float* pred, const float* t, float* out, int R, int C){
  __shared__ float red[256]; float s = 0.f;
  for (long long i = threadIdx.x; i < (long long)R*C; i += 256) { long long j = (i / C + i % C) % C; s += fmaxf(0.f, 1.f - pred[i]*t[j]); }
  red[threadIdx.x] = s; __syncthreads();
  for (int o = 128; o; o >>= 1) { if (threadIdx.x < o) red[threadIdx.x] += red[threadIdx.x+o]; __syncthreads(); }
  if (!threadIdx.x) out[0] = red[0] / ((float)R*C);
}
