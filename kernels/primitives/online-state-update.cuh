/*
 * Maximum and sum of exponentials as one state.  {-inf, 0} is the state of no terms; merging is
 * commutative and, but for rounding, associative.  A state whose maximum is -inf has no weight.
 */
struct online_state {
    float most, sum;
};

__device__ __forceinline__ online_state online_none()
{
    return {-__int_as_float(0x7f800000), 0.0f};
}

__device__ __forceinline__ online_state online_merge(online_state a, online_state b)
{
    float most = fmaxf(a.most, b.most);
    float none = -__int_as_float(0x7f800000);
    float of_a = a.most == none ? 0.0f : expf(a.most - most);
    float of_b = b.most == none ? 0.0f : expf(b.most - most);
    return {most, a.sum * of_a + b.sum * of_b};
}

__device__ __forceinline__ online_state online_add(online_state state, float value)
{
    return online_merge(state, {value, 1.0f});
}
