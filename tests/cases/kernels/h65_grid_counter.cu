// h65_grid_counter  op=rowsum
// a home-made grid barrier on a module variable
__device__ unsigned arrived;
extern "C" __global__ void cand(const float* x, float* y, int R, int C){
  if (!threadIdx.x) { float s = 0.f; for (int i = 0; i < C; ++i) s += x[(size_t)blockIdx.x*C + i]; y[blockIdx.x] = s;
    __threadfence(); atomicAdd(&arrived, 1u); while (*(volatile unsigned*)&arrived % gridDim.x != 0) { } }
}
