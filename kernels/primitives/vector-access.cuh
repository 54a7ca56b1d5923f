/* Four floats in one access of 16 bytes each way; both pointers lie at 16 bytes. */
__device__ __forceinline__ void scale_vector(float *out, const float *in, long long group,
                                             float factor)
{
    float4 four = ((const float4 *)in)[group];
    four.x *= factor;
    four.y *= factor;
    four.z *= factor;
    four.w *= factor;
    ((float4 *)out)[group] = four;
}
