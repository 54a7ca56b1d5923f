/* Columns scaled by twice a weight; the doubled weights are made once, in the prepare stage.  The
 * counter shows that a workspace with init "zero" is zero each time. */
extern "C" __global__ void pack_weights(const float *w, float *packed, int N)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < N)
        packed[i] = 2 * w[i];
}

extern "C" __global__ void prepared_scale(const float *x, const float *packed, float *y,
                                          int *counter, int M, int N)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= (long long)M * N)
        return;
    const int before = i % N == 0 ? atomicAdd(&counter[i / N], 1) : 0;
    y[i] = x[i] * packed[i % N] + (before == 0 ? 0.0f : 1e9f);
}
