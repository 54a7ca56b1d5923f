/*
 * The checker's own kernels: poison, checksums, data, flushing, comparison.
 *
 * Data are those of solver/ir/fill.c, bit for bit: integer operations and exactly rounded adds and
 * multiplications in the same order (no contraction: intrinsics say so).  The comparison is that of
 * compare.c.
 */
#include <cuda_bf16.h>
#include <cuda_fp16.h>

typedef unsigned int word32;
typedef unsigned long long word64;
typedef long long int64;

static __device__ word64 mix(word64 x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

static __device__ int64 first_of_grid()
{
    return (int64)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ int64 grid_step()
{
    return (int64)gridDim.x * blockDim.x;
}

/* Random, and finite in every float format: the top exponent bit of each byte is 0. */
extern "C" __global__ void ww_poison(word64 *at, int64 words, word64 seed)
{
    for (int64 i = first_of_grid(); i < words; i += grid_step())
        at[i] = mix(seed + (word64)i * 0x9e3779b97f4a7c15ull) & 0xbfbfbfbfbfbfbfbfull;
}

/* sums[r] += a sum over the bytes of range r (begin and end in bytes) that depends on each byte and
 * its place. */
extern "C" __global__ void ww_checksum(const unsigned char *base, const int64 *ranges,
                                       word64 *sums, word64 seed)
{
    const int64 begin = ranges[2 * blockIdx.y], end = ranges[2 * blockIdx.y + 1];
    const int64 head = min(end, (begin + 7) / 8 * 8), tail = max(head, end / 8 * 8);
    word64 sum = 0;

    for (int64 i = head / 8 + first_of_grid(); i < tail / 8; i += grid_step())
        sum += mix(((const word64 *)base)[i] + mix(seed + (word64)i));
    if (first_of_grid() == 0) {
        for (int64 i = begin; i < head; ++i)
            sum += mix(base[i] + mix(~seed + (word64)i));
        for (int64 i = tail; i < end; ++i)
            sum += mix(base[i] + mix(~seed + (word64)i));
    }
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x % 32 == 0 && sum != 0)
        atomicAdd(&sums[blockIdx.y], sum);
}

/* ---- caches and shared memory hold nothing of ours, or of the last launch ---- */

extern "C" __global__ void ww_flush_write(word64 *at, int64 words, word64 seed)
{
    for (int64 i = first_of_grid(); i < words; i += grid_step())
        at[i] = seed + (word64)i;
}

extern "C" __global__ void ww_flush_read(const word64 *at, int64 words, word64 *sink)
{
    word64 sum = 0;

    for (int64 i = first_of_grid(); i < words; i += grid_step())
        sum ^= at[i];
    if (sum == 0x5851f42d4c957f2dull)
        *sink = sum;
}

extern "C" __global__ void ww_scrub(int words, word32 seed)
{
    extern __shared__ volatile word32 everything[];

    for (int i = threadIdx.x; i < words; i += blockDim.x)
        everything[i] = (word32)mix(seed + (word64)i + ((word64)blockIdx.x << 32));
}

/* ---- data ---- */

struct block4 {
    word32 word[4];
};

static __device__ block4 philox(word32 k0, word32 k1, int64 index)
{
    word32 x0 = (word32)index, x1 = (word32)((word64)index >> 32), x2 = 0, x3 = 0;

    for (int round = 0; round < 10; ++round) {
        const word64 a = 0xd2511f53ull * x0, b = 0xcd9e8d57ull * x2;
        x0 = (word32)(b >> 32) ^ x1 ^ k0;
        x1 = (word32)b;
        x2 = (word32)(a >> 32) ^ x3 ^ k1;
        x3 = (word32)a;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    return {{x0, x1, x2, x3}};
}

static __device__ double normal(const block4 &block)
{
    int64 sum = 0;

    for (int i = 0; i < 4; ++i)
        sum += (int64)(block.word[i] & 0xffffu) + (block.word[i] >> 16);
    return __dmul_rn((double)(2 * sum - 8 * 65535), 9.344062430904407e-06);
}

static __device__ int64 below(const block4 &block, int64 bound)
{
    if (bound <= 1ll << 32)
        return (int64)((word64)block.word[0] * (word64)bound >> 32);
    return (int64)((block.word[0] | (word64)block.word[1] << 32) % (word64)bound);
}

/* Element types, numbered as gpu_tools.c does. */
enum element { F64, F32, F16, BF16, I64, I32, I16, I8, U8 };

static __device__ double rounded(int type, double x)
{
    switch (type) {
    case F32:
        return (double)__double2float_rn(x);
    case F16:
        return (double)__half2float(__double2half(x));
    case BF16:
        return (double)__bfloat162float(__double2bfloat16(x));
    }
    return x;
}

static __device__ void store(void *out, int type, int64 i, double x)
{
    switch (type) {
    case F64:
        ((double *)out)[i] = x;
        break;
    case F32:
        ((float *)out)[i] = __double2float_rn(x);
        break;
    case F16:
        ((__half *)out)[i] = __double2half(x);
        break;
    case BF16:
        ((__nv_bfloat16 *)out)[i] = __double2bfloat16(x);
        break;
    case I64:
        ((int64 *)out)[i] = (int64)x;
        break;
    case I32:
        ((int *)out)[i] = (int)(int64)x;
        break;
    case I16:
        ((short *)out)[i] = (short)(int64)x;
        break;
    default:
        ((unsigned char *)out)[i] = (unsigned char)(int64)x;
    }
}

/* What the host says of a tensor's fill; the layout is gpu_tools.c's.  domain: 0 as the spec says,
 * 1 normal values moved above a, 2 normal values. */
struct fill {
    int type, kind, digits, domain;
    word32 k0, k1;
    double a, b;
    int64 low, span;
};
enum fill_kind { NORMAL, UNIFORM, INTS, ZEROS, ONES, MASK };

static __device__ double value_of(const fill &f, const block4 &block)
{
    switch (f.kind) {
    case NORMAL:
        return __dadd_rn(f.a, __dmul_rn(f.b, normal(block)));
    case UNIFORM: {
        const double unit = (double)(block.word[0] >> (32 - f.digits)) * ldexp(1.0, -f.digits);
        const double value = __dadd_rn(f.a, __dmul_rn(__dsub_rn(f.b, f.a), unit));
        return rounded(f.type, value) < f.b ? value : f.a;
    }
    case INTS:
        return (double)(f.low + below(block, f.span));
    case ONES:
        return 1;
    case MASK:
        return (double)block.word[0] < f.a * 4294967296.0 ? 1 : 0;
    }
    return 0;
}

extern "C" __global__ void ww_fill(void *out, int64 count, fill f)
{
    for (int64 i = first_of_grid(); i < count; i += grid_step()) {
        const block4 block = philox(f.k0, f.k1, i);
        const double value = f.domain != 0 ? normal(block) : value_of(f, block);
        store(out, f.type, i, f.domain == 1 ? __dadd_rn(f.a, fabs(value)) : value);
    }
}

/* ---- comparison ---- */

static __device__ double element(const void *at, int type, int64 i)
{
    switch (type) {
    case F64:
        return ((const double *)at)[i];
    case F32:
        return ((const float *)at)[i];
    case F16:
        return __half2float(((const __half *)at)[i]);
    case BF16:
        return __bfloat162float(((const __nv_bfloat16 *)at)[i]);
    }
    return 0;
}

static __device__ int64 whole(const void *at, int type, int64 i)
{
    switch (type) {
    case I64:
        return ((const int64 *)at)[i];
    case I32:
        return ((const int *)at)[i];
    case I16:
        return ((const short *)at)[i];
    case I8:
        return ((const signed char *)at)[i];
    }
    return ((const unsigned char *)at)[i];
}

#define INFINITE __longlong_as_double(0x7ff0000000000000ll)

static __device__ double judge(double got, double want, double bound, double largest)
{
    if (isnan(want))
        return isnan(got) ? 0 : INFINITE;
    if (isnan(got))
        return INFINITE;
    if (isinf(want))
        return got == want ? 0 : INFINITE;
    if (isinf(got))
        return signbit(got) == signbit(want) && fabs(want) + bound >= largest ? 0 : INFINITE;
    const double distance = fabs(got - want);
    if (distance <= bound)
        return bound > 0 ? distance / bound : 0;
    return bound > 0 ? fmax(distance / bound, 1.0000000000000002) : INFINITE;
}

/* What a block found; the host adds up. */
struct part {
    int64 compared, wrong, worst;
    double got, want, bound, ratio;
};

static __device__ void take(part &into, const part &other)
{
    into.compared += other.compared;
    into.wrong += other.wrong;
    if (other.worst >= 0 && (into.worst < 0 || other.ratio > into.ratio)) {
        into.worst = other.worst;
        into.got = other.got;
        into.want = other.want;
        into.bound = other.bound;
        into.ratio = other.ratio;
    }
}

/* `skip_nonfinite`: inputs were finite, so a value that is not decides nothing. */
static __device__ void compare_one(part &mine, const void *got, int type, const double *value,
                                   const double *bounds, int64 i, double largest,
                                   int skip_nonfinite)
{
    const double bound = bounds[i];
    part one = {1, 0, i, 0, 0, bound, 0};

    if (!(bound >= 0 && bound < INFINITE))
        return;
    if (type >= I64) {
        const int64 found = whole(got, type, i), want = ((const int64 *)value)[i];
        one.got = (double)found;
        one.want = (double)want;
        one.ratio = found == want || fabs(one.got - one.want) <= bound ? 0 : INFINITE;
    } else {
        one.got = element(got, type, i);
        one.want = value[i];
        if (skip_nonfinite && !isfinite(one.want))
            return;
        one.ratio = judge(one.got, one.want, bound, largest);
    }
    one.wrong = !(one.ratio <= 1);
    take(mine, one);
}

extern "C" __global__ void ww_compare(const void *got, int type, const double *value,
                                      const double *bounds, int64 count, double largest,
                                      int skip_nonfinite, part *parts)
{
    __shared__ part all[256];
    part mine = {0, 0, -1, 0, 0, 0, 0};

    for (int64 i = first_of_grid(); i < count; i += grid_step())
        compare_one(mine, got, type, value, bounds, i, largest, skip_nonfinite);
    all[threadIdx.x] = mine;
    __syncthreads();
    for (int step = 128; step > 0; step /= 2) {
        if (threadIdx.x < step)
            take(all[threadIdx.x], all[threadIdx.x + step]);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        parts[blockIdx.x] = all[0];
}
