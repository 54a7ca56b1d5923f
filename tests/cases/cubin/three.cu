extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128) clustered(float *x)
{
    __shared__ float s[96];
    s[threadIdx.x % 96] = x[threadIdx.x];
    __syncthreads();
    x[blockIdx.x] = s[(threadIdx.x + 1) % 96];
}
extern "C" __global__ void __launch_bounds__(1024, 2) spilling(const float *x, float *y, int n)
{
    float a[48];
    for (int i = 0; i < 48; ++i)
        a[i] = x[i * n + threadIdx.x];
    for (int k = 0; k < n; ++k)
        for (int i = 0; i < 48; ++i)
            a[i] = a[i] * a[(i + 7) % 48] + x[k];
    for (int i = 0; i < 48; ++i)
        y[i * n + threadIdx.x] = a[i];
}
__device__ int counter[300];
extern "C" __global__ void counting() { atomicAdd(&counter[threadIdx.x], 1); }
