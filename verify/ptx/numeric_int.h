#ifndef VERIFY_PTX_NUMERIC_INT_H
#define VERIFY_PTX_NUMERIC_INT_H

#include <math.h>
#include <string.h>

#include "verify/ptx/lanes_int.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

/*
 * Scalar arithmetic of the lane operations, written so that loops over lanes become vector code.
 *
 * Rounding without touching the FPU's mode: a sum or product is computed in double, rounded to odd
 * (the last bit is set when digits were lost), which a later rounding to a format with at least two
 * bits less then treats like the exact value.
 *
 * The functions that PTX calls approximate are computed as a double that is right to about 2^-36
 * and then made as wrong as the PTX ISA lets hardware be, or at least half of that: what needs
 * better must not pass here.  Errors that the ISA allows (9.7.3, 9.7.4), and what is done:
 *
 *     tanh.f32      2^-11 relative       11 bits kept (an H200 loses 2^-16.5)
 *     tanh.f16      2^-10.987 absolute   10 bits kept
 *     tanh.bf16     2^-8 absolute        7 bits kept
 *     ex2.f32       2 ulp                22 bits kept
 *     ex2.f16       2^-9.9 relative      10 bits kept
 *     ex2.bf16      2^-7 relative        7 bits kept
 *     lg2.f32       2^-22 absolute in (0.5, 2), else relative: that grid, 22 bits kept
 *     rcp.f32       1 ulp                23 bits kept
 *     rsqrt.f32     2^-22.9 relative     23 bits kept
 *     sqrt.f32      2^-23 relative       23 bits kept
 *     div.f32       2 ulp                22 bits kept
 *     sin, cos      2^-20.5 absolute up to 2 pi, 2^-14.7 up to 100 pi: see sin_approx
 */

static inline uint32_t f32_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static inline float f32_from(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static inline uint64_t f64_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static inline double f64_from(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static inline float canon_f32(float x)
{
    return x != x ? f32_from(0x7fffffff) : x;
}

static inline double canon_f64(double x)
{
    return x != x ? f64_from(0x7fffffffffffffff) : x;
}

static inline float ftz(float x)
{
    uint32_t bits = f32_bits(x);
    return f32_from((bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits);
}

static inline double ftz64(double x)
{
    uint64_t bits = f64_bits(x);
    return f64_from((bits & 0x7ff0000000000000) == 0 ? bits & 0x8000000000000000 : bits);
}

static inline double high_half(double x)
{
    return f64_from(f64_bits(x) & 0xffffffff00000000);
}

static inline float sqrt_f32(float x)
{
#ifdef __SSE2__
    return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x)));
#else
    return sqrtf(x);
#endif
}

static inline double sqrt_f64(double x)
{
#ifdef __SSE2__
    return _mm_cvtsd_f64(_mm_sqrt_sd(_mm_setzero_pd(), _mm_set_sd(x)));
#else
    return sqrt(x);
#endif
}

/* PTX min and max: a NaN loses, and -0 is less than +0. */
static inline float min_f32(float a, float b)
{
    float less = a < b ? a : b;
    float either = a == b ? f32_from(f32_bits(a) | f32_bits(b)) : less;
    return a != a ? b : b != b ? a : either;
}

static inline float max_f32(float a, float b)
{
    float more = a > b ? a : b;
    float either = a == b ? f32_from(f32_bits(a) & f32_bits(b)) : more;
    return a != a ? b : b != b ? a : either;
}

static inline double min_f64(double a, double b)
{
    double less = a < b ? a : b;
    double either = a == b ? f64_from(f64_bits(a) | f64_bits(b)) : less;
    return a != a ? b : b != b ? a : either;
}

static inline double max_f64(double a, double b)
{
    double more = a > b ? a : b;
    double either = a == b ? f64_from(f64_bits(a) & f64_bits(b)) : more;
    return a != a ? b : b != b ? a : either;
}

/* ---- rounding ---- */

/* The neighbour of `s` towards the sign of `error` when `s` is even, so the result is odd. */
static inline double to_odd(double s, double error)
{
    uint64_t bits = f64_bits(s);
    uint64_t up = (error > 0.0) == (s > 0.0) ? 1ULL : ~0ULL;
    uint64_t move = (error > 0.0 || error < 0.0) && (bits & 1) == 0 ? up : 0;
    return f64_from(bits + move);
}

/* a + b to odd (Knuth's TwoSum gives the exact error). */
static inline double add_odd(double a, double b)
{
    double s = a + b;
    double bb = s - a;
    double error = (a - (s - bb)) + (b - bb);
    return to_odd(s, error);
}

static inline double div_odd(double a, double b)
{
    double q = a / b;
    double rest = __builtin_fma(-q, b, a);
    return to_odd(q, (q - q == 0.0) ? (b > 0.0 ? rest : -rest) : 0.0);
}

static inline double sqrt_odd(double a)
{
    double s = sqrt_f64(a);
    return to_odd(s, (s - s == 0.0) ? __builtin_fma(-s, s, a) : 0.0);
}

static inline float fma_f32(float a, float b, float c)
{
#ifdef __FMA__
    return __builtin_fmaf(a, b, c);
#else
    return (float)add_odd((double)a * b, c);
#endif
}

static inline float f32_down(float x)
{
    uint32_t bits = f32_bits(x);
    uint32_t moved = bits & 0x80000000 ? bits + 1 : bits - 1;
    return f32_from(bits == 0 ? 0x80000001 : moved);
}

static inline float f32_up(float x)
{
    return -f32_down(-x);
}

/* An odd-rounded double to f32; x and y are the terms of a sum, for the sign of an exact zero. */
static inline float round_f32(double d, double x, double y, int mode)
{
    float f = (float)d;
    double back = (double)f;
    float down = back > d ? f32_down(f) : f;
    float up = back < d ? f32_up(f) : f;
    uint64_t negative = (f64_bits(x) | f64_bits(y)) >> 63;
    float zero = d == 0.0 && negative && x == -y ? -0.0f : f;
    down = d == 0.0 ? zero : down;
    float toward = d > 0.0 ? down : up;
    float directed = mode == ROUND_RM ? down : mode == ROUND_RP ? up : toward;
    return mode == ROUND_RN ? f : directed;
}

/* double to f32, to odd */
static inline float odd_f32(double d)
{
    float f = (float)d;
    uint32_t bits = f32_bits(f);
    double back = (double)f;
    uint32_t cut = (back < 0.0 ? -back : back) > (d < 0.0 ? -d : d) ? bits - 1 : bits;
    return f32_from(back == d || d != d ? bits : cut | 1);
}

/* To an integer of the same type. */
static inline double round_integral(double x, int mode)
{
    uint64_t sign = f64_bits(x) & 1ULL << 63;
    double size = f64_from(f64_bits(x) ^ sign);
    double near = (size + 0x1p52) - 0x1p52;
    double down = near > size ? near - 1.0 : near;
    double up = near < size ? near + 1.0 : near;
    int away = (mode == ROUND_RM && sign) || (mode == ROUND_RP && !sign);
    double r = mode == ROUND_RN ? near : away ? up : down;
    return size < 0x1p52 ? f64_from(f64_bits(r) | sign) : x;
}

/* ---- narrow formats ---- */

static inline float f16_f32(uint32_t h)
{
    uint32_t bits = (h & 0x7fff) << 13;
    uint32_t exponent = bits & 0x0f800000;
    uint32_t normal = bits + (112U << 23);
    uint32_t special = normal + (112U << 23);
    uint32_t tiny = f32_bits(f32_from(bits + (113U << 23)) - f32_from(113U << 23));
    uint32_t r = exponent == 0x0f800000 ? special : exponent == 0 ? tiny : normal;
    return f32_from(r | (h & 0x8000) << 16);
}

static inline uint32_t f32_f16_rn(float x)
{
    uint32_t bits = f32_bits(x);
    uint32_t sign = bits >> 16 & 0x8000;
    uint32_t a = bits & 0x7fffffff;
    uint32_t tiny = f32_bits(f32_from(a) + 0.5f) - 0x3f000000;
    uint32_t normal = (a + 0xc8000fff + (a >> 13 & 1)) >> 13;
    uint32_t r = a > 0x7f800000    ? 0x7fff
                 : a >= 0x47800000 ? 0x7c00
                 : a < 0x38800000  ? tiny
                                   : normal;
    return a > 0x7f800000 ? 0x7fff : r | sign;
}

static inline float bf16_f32(uint32_t h)
{
    return f32_from(h << 16);
}

static inline uint32_t f32_bf16_rn(float x)
{
    uint32_t bits = f32_bits(x);
    uint32_t r = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return x != x ? 0x7fff : r;
}

/* One step of a sign-and-magnitude value of 16 bits: down or up. */
static inline uint32_t half_step(uint32_t h, int up)
{
    if ((h & 0x7fff) == 0)
        return up ? 0x0001 : 0x8001;
    return (h >> 15 != 0) == up ? h - 1 : h + 1;
}

static inline uint32_t half_directed(uint32_t h, float back, float x, int mode)
{
    if (back == x || x != x)
        return h;
    int down = mode == ROUND_RM || (mode == ROUND_RZ && x > 0.0f);
    if (mode == ROUND_RN)
        return h;
    if (down)
        return back > x ? half_step(h, 0) : h;
    return back < x ? half_step(h, 1) : h;
}

static inline uint32_t f32_f16(float x, int mode)
{
    uint32_t h = f32_f16_rn(x);
    return mode == ROUND_RN ? h : half_directed(h, f16_f32(h), x, mode);
}

static inline uint32_t f32_bf16(float x, int mode)
{
    uint32_t h = f32_bf16_rn(x);
    return mode == ROUND_RN ? h : half_directed(h, bf16_f32(h), x, mode);
}

/* tf32 in an f32: 10 fraction bits; .rna rounds ties away from zero, .rn to even, .rz cuts. */
static inline uint32_t tf32(uint32_t bits, int mode)
{
    uint32_t special = bits & 0x7f800000;
    uint32_t add = mode == ROUND_RNA ? 0x1000 : mode == ROUND_RN ? 0xfff + (bits >> 13 & 1) : 0;
    uint32_t rounded = (bits + add) & 0xffffe000;
    uint32_t nan = (bits & 0x7fffffff) > 0x7f800000 ? 0x7fffffff : bits;
    return special == 0x7f800000 ? nan : rounded;
}

/* ---- integers and floats ---- */

static inline int64_t f64_to_s64(double x, int mode, double low, double high)
{
    double r = round_integral(x, mode);
    if (r != r)
        return 0;
    if (r >= 0x1p63)
        return high >= 0x1p62 ? INT64_MAX : (int64_t)high;
    r = r < low ? low : r > high ? high : r;
    return (int64_t)r;
}

static inline uint64_t f64_to_u64(double x, int mode)
{
    double r = round_integral(x, mode);
    if (!(r > 0.0))
        return 0;
    return r >= 0x1p64 ? UINT64_MAX : (uint64_t)r;
}

/* Which integer a NaN becomes. */
#define NAN_OR(a, nan, value) ((a) != (a) ? (nan) : (value))

float numeric_int_to_f32(uint64_t value, int is_signed, int mode);
double numeric_int_to_f64(uint64_t value, int is_signed, int mode);
float numeric_odd_int(uint64_t value, int is_signed);
double numeric_soft_fma(double a, double b, double c, int mode);
double numeric_soft_mul(double a, double b, int mode);
double numeric_soft_div(double a, double b, int mode);
double numeric_soft_sqrt(double a, int mode);
uint32_t numeric_f32_e4m3(float x);
uint32_t numeric_f32_e5m2(float x);
uint32_t numeric_e4m3_f16(uint32_t x);
uint32_t numeric_e5m2_f16(uint32_t x);

#define int_to_f32 numeric_int_to_f32
#define int_to_f64 numeric_int_to_f64
#define odd_int    numeric_odd_int
#define soft_fma   numeric_soft_fma
#define soft_mul   numeric_soft_mul
#define soft_div   numeric_soft_div
#define soft_sqrt  numeric_soft_sqrt
#define f32_e4m3   numeric_f32_e4m3
#define f32_e5m2   numeric_f32_e5m2
#define e4m3_f16   numeric_e4m3_f16
#define e5m2_f16   numeric_e5m2_f16

static inline int64_t clamp_s64(int64_t a, int64_t bits, int is_unsigned)
{
    if (is_unsigned) {
        if (a < 0)
            return 0;
        return bits < 64 && a >> bits != 0 ? (int64_t)((1ULL << bits) - 1) : a;
    }
    if (bits >= 64)
        return a;
    int64_t high = (int64_t)((1ULL << (bits - 1)) - 1);
    return a > high ? high : a < -high - 1 ? -high - 1 : a;
}

static inline uint64_t clamp_u64(uint64_t a, int64_t bits, int is_unsigned)
{
    uint64_t high = UINT64_MAX >> (64 - bits + (is_unsigned ? 0 : 1));
    return a > high ? high : a;
}

/* ---- approximate functions ---- */

#define ROUND_MAGIC 0x1.8p52

/* v with `bits` significant bits, ties away from zero: at most 2^-bits of v from it. */
static inline double keep_bits(double v, int bits)
{
    const int cut = 53 - bits;
    uint64_t kept = (f64_bits(v) + (1ULL << (cut - 1))) & ~((1ULL << cut) - 1);
    return v != v ? v : f64_from(kept);
}

/* div.approx multiplies by 1 / b, which is 0 beyond 2^126. */
static inline double far_divisor(float b)
{
    double size = b < 0.0f ? -(double)b : (double)b;
    return size > 0x1p126 ? (double)b * (double)INFINITY : (double)b;
}

/* 2^x: x = n + f with |f| <= 1/2, Taylor's series of e^(f ln 2) to f^10. */
static inline double ex2(double x)
{
    double c = x > 300.0 ? 300.0 : x < -300.0 ? -300.0 : x;
    double shifted = c + ROUND_MAGIC;
    double f = (c - (shifted - ROUND_MAGIC)) * 0x1.62e42fefa39efp-1;
    double p = 1.0 / 3628800;
    p = p * f + 1.0 / 362880;
    p = p * f + 1.0 / 40320;
    p = p * f + 1.0 / 5040;
    p = p * f + 1.0 / 720;
    p = p * f + 1.0 / 120;
    p = p * f + 1.0 / 24;
    p = p * f + 1.0 / 6;
    p = p * f + 1.0 / 2;
    p = p * f + 1.0;
    p = p * f + 1.0;
    return p * f64_from((f64_bits(shifted) + 1023) << 52);
}

/* log2 x: x = 2^e m with m near 1, log m = 2 artanh((m - 1) / (m + 1)). */
static inline double lg2(double x)
{
    uint64_t t = f64_bits(x) + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd);
    double e = f64_from((t >> 52) | 0x4330000000000000) - (0x1p52 + 1023);
    double m = f64_from((t & 0xfffffffffffff) + 0x3fe6a09e667f3bcd);
    double s = (m - 1.0) / (m + 1.0);
    double q = s * s;
    double p = 1.0 / 17;
    p = p * q + 1.0 / 15;
    p = p * q + 1.0 / 13;
    p = p * q + 1.0 / 11;
    p = p * q + 1.0 / 9;
    p = p * q + 1.0 / 7;
    p = p * q + 1.0 / 5;
    p = p * q + 1.0 / 3;
    p = p * q + 1.0;
    double r = e + p * s * 0x1.71547652b82fep+1;
    r = x == 0.0 ? -(double)INFINITY : r;
    r = x == (double)INFINITY ? x : r;
    return x >= 0.0 ? r : (double)NAN;
}

/* Nearest multiples of 2^-21 where that is what may be lost. */
static inline double lg2_approx(double x)
{
    double v = lg2(x);
    double near = ((v * 0x1p21 + ROUND_MAGIC) - ROUND_MAGIC) * 0x1p-21;
    return v > -1.0 && v < 1.0 ? near : keep_bits(v, 22);
}

/*
 * sin or cos: x minus a multiple k of pi/2, held in three pieces of 33 bits, so k times the first
 * two is exact up to k = 2^20.  Beyond 2^30, where hardware promises nothing, the angle counts as
 * 0.
 */
static inline double sin_cos(double x, int cosine)
{
    double shifted = x * 0x1.45f306dc9c883p-1 + ROUND_MAGIC;
    double k = shifted - ROUND_MAGIC;
    double near = ((x - k * 0x1.921fb544p+0) - k * 0x1.0b4611a6p-34) - k * 0x1.3198a2e037073p-69;
    double size = x < 0.0 ? -x : x;
    double r = size <= 0x1p30 ? near : x - x;
    uint64_t quadrant = (size <= 0x1p30 ? f64_bits(shifted) : 0) + (uint64_t)cosine;
    double q = r * r;
    double s = 1.0 / 6227020800;
    s = s * q - 1.0 / 39916800;
    s = s * q + 1.0 / 362880;
    s = s * q - 1.0 / 5040;
    s = s * q + 1.0 / 120;
    s = s * q - 1.0 / 6;
    s = s * q + 1.0;
    s = s * r;
    double c = 1.0 / 479001600;
    c = c * q - 1.0 / 3628800;
    c = c * q + 1.0 / 40320;
    c = c * q - 1.0 / 720;
    c = c * q + 1.0 / 24;
    c = c * q - 1.0 / 2;
    c = c * q + 1.0;
    double value = quadrant & 1 ? c : s;
    return quadrant & 2 ? -value : value;
}

/*
 * sin or cos as hardware has it: the angle becomes turns in fixed point, of 24 bits behind the
 * point, or of 24 significant ones beyond half a turn.  So small angles lose 2^-22.35 (a sine below
 * 2^-24 is 0, as on an H200), within the 2^-21.41 that the CUDA Programming Guide states for __sinf
 * up to pi; angles up to a turn lose 2^-21.35, and what follows in proportion.
 */
static inline double sin_approx(double x, int cosine)
{
    uint64_t sign = f64_bits(x) & 1ULL << 63;
    double turns = f64_from(f64_bits(x) ^ sign) * 0x1.45f306dc9c883p-3;
    double fine = ((turns * 0x1p24 + ROUND_MAGIC) - ROUND_MAGIC) * 0x1p-24;
    double coarse = f64_from(f64_bits(turns) & ~((1ULL << 29) - 1));
    double kept = turns < 0.5 ? fine : coarse;
    double part = kept - ((kept + ROUND_MAGIC) - ROUND_MAGIC);
    double v = sin_cos((turns < 0x1p24 ? part : turns - turns) * 0x1.921fb54442d18p+2, cosine);
    return cosine ? v : f64_from(f64_bits(v) ^ sign);
}

static inline double tanh_f64(double x)
{
    double c = x > 30.0 ? 30.0 : x < -30.0 ? -30.0 : x;
    double e = ex2(c * 0x1.71547652b82fep+1);
    double big = (e - 1.0) / (e + 1.0);
    double q = c * c;
    double small = ((-17.0 / 315 * q + 2.0 / 15) * q - 1.0 / 3) * q * c + c;
    return q < 0x1p-10 ? small : big;
}

/* Small arguments pass through. */
static inline double tanh_approx(double x)
{
    return x > -0x1p-12 && x < 0x1p-12 ? x : keep_bits(tanh_f64(x), 11);
}

#endif
