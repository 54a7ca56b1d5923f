// ok_sin_wide  op=sin_wide
// sinf, with its slow path for large angles
extern "C" __global__ void cand(const float* x, float* y, int N){
  int i = blockIdx.x*256 + threadIdx.x;
  if (i < N) y[i] = sinf(x[i]);
}
