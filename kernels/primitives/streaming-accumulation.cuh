/*
 * A thread's share of a row: elements first, first + stride, ...  Adds up in double, so the result
 * is that of a float sum rounded once, however long the row is.
 */
__device__ __forceinline__ double stream_sum(const float *row, long long length, int first,
                                             int stride)
{
    double sum = 0.0;
    for (long long i = first; i < length; i += stride)
        sum += (double)row[i];
    return sum;
}
