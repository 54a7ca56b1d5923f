/*
 * out[i] = f(x[i]) / sum of f(x): f is computed in the pass that sums and again in the pass that
 * stores, so its values are never stored in between.  `sum` makes one number of all threads' parts.
 */
template <class F, class Sum>
__device__ __forceinline__ void again_normalise(float *out, const float *x, int length, F f,
                                                Sum sum)
{
    float part = 0.0f;
    for (int i = threadIdx.x; i < length; i += blockDim.x)
        part += f(x[i]);
    float total = sum(part);
    for (int i = threadIdx.x; i < length; i += blockDim.x)
        out[i] = f(x[i]) / total;
}
