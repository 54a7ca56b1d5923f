/*
 * d[16][8] += a[16][16] * b[16][8], bf16 in and f32 sums, by one warp.  a and b are bf16 bits in
 * shared memory, a by rows, b by columns (element k, n at b[n * stride + k]); strides are even.
 * Lane 4 * g + t holds d[g][2t], d[g][2t + 1], d[g + 8][2t], d[g + 8][2t + 1].
 */
__device__ __forceinline__ void mma_tile(float (&d)[4], const unsigned short *a, int stride_a,
                                         const unsigned short *b, int stride_b)
{
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    unsigned a0 = *(const unsigned *)&a[g * stride_a + 2 * t];
    unsigned a1 = *(const unsigned *)&a[(g + 8) * stride_a + 2 * t];
    unsigned a2 = *(const unsigned *)&a[g * stride_a + 2 * t + 8];
    unsigned a3 = *(const unsigned *)&a[(g + 8) * stride_a + 2 * t + 8];
    unsigned b0 = *(const unsigned *)&b[g * stride_b + 2 * t];
    unsigned b1 = *(const unsigned *)&b[g * stride_b + 2 * t + 8];
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
