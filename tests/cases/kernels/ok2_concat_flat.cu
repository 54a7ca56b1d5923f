// ok2_concat_flat  op=concat
// one flat copy, a block boundary anywhere
extern "C" __global__ void concat_rows(const float* a, const float* b, float* y, long long split, long long total) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total) y[i] = i < split ? a[i] : b[i - split];
}
