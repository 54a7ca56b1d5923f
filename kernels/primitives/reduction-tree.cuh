/* N values of a thread summed as a balanced tree: log2 N roundings on each path.  N is a power of two. */
template <int N> __device__ __forceinline__ float tree_sum(const float (&values)[N])
{
    float sums[N];
#pragma unroll
    for (int i = 0; i < N; i++)
        sums[i] = values[i];
#pragma unroll
    for (int half = N / 2; half > 0; half /= 2)
#pragma unroll
        for (int i = 0; i < half; i++)
            sums[i] += sums[i + half];
    return sums[0];
}
