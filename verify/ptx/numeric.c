/*
 * Scalar arithmetic that vectors do not help: directed rounding in f64, integers to floats, fp8.
 *
 * Problem: results must be exact roundings without touching the FPU's mode.  Method: the exact
 * value as sign, 128-bit significand with a sticky bit, exponent; one function rounds that to f64.
 * Integers are compared with what they became.  The narrow formats come from base/num.h.
 */
#include "base/num.h"

#include "verify/ptx/numeric_int.h"

typedef unsigned __int128 wide;

struct exact {
    bool negative;
    wide bits; /* bit 0 is sticky */
    int exponent;
};

/* Finite and not zero. */
static struct exact unpack(double x)
{
    uint64_t bits = f64_bits(x);
    int exponent = (int)(bits >> 52 & 2047);
    uint64_t fraction = bits & 0xfffffffffffff;
    if (exponent == 0)
        exponent = 1;
    else
        fraction |= 1ULL << 52;
    return (struct exact){bits >> 63 != 0, fraction, exponent - 1075};
}

static int top_bit(wide x)
{
    uint64_t high = (uint64_t)(x >> 64);
    return high ? 127 - __builtin_clzll(high) : 63 - __builtin_clzll((uint64_t)x);
}

static wide shift_right_sticky(wide x, int by)
{
    if (by <= 0)
        return x;
    if (by > 127)
        return x != 0;
    wide lost = x & (((wide)1 << by) - 1);
    return x >> by | (lost != 0);
}

static double pack(struct exact x, int mode)
{
    int top = top_bit(x.bits);
    /* 53 bits above the point, or fewer when subnormal */
    int lowest = x.exponent + top - 52;
    if (lowest < -1074)
        lowest = -1074;
    int drop = lowest - x.exponent;
    wide kept = drop > 0 ? (drop > 127 ? 0 : x.bits >> drop) : x.bits << -drop;
    wide rest = drop > 0 ? (drop > 127 ? x.bits : x.bits & (((wide)1 << drop) - 1)) : 0;
    bool up = false;
    if (rest != 0) {
        wide half = drop > 127 ? ~(wide)0 : (wide)1 << (drop - 1);
        up = mode == ROUND_RN   ? rest > half || (rest == half && (kept & 1))
             : mode == ROUND_RP ? !x.negative
             : mode == ROUND_RM ? x.negative
                                : false;
    }
    kept += up;
    double value = ldexp((double)(uint64_t)kept, lowest);
    if (value > 0x1.fffffffffffffp1023) {
        bool to_infinity = mode == ROUND_RN || (mode == ROUND_RP && !x.negative) ||
                           (mode == ROUND_RM && x.negative);
        value = to_infinity ? (double)INFINITY : 0x1.fffffffffffffp1023;
    }
    return x.negative ? -value : value;
}

static bool is_plain(double x)
{
    return x - x == 0.0 && x != 0.0;
}

static struct exact product(double a, double b)
{
    struct exact x = unpack(a);
    struct exact y = unpack(b);
    return (struct exact){x.negative != y.negative, x.bits * y.bits, x.exponent + y.exponent};
}

double numeric_soft_mul(double a, double b, int mode)
{
    return is_plain(a) && is_plain(b) ? pack(product(a, b), mode) : a * b;
}

/* Left-aligned below bit 126, so two can be added. */
static struct exact align_top(struct exact x)
{
    int by = 125 - top_bit(x.bits);
    return (struct exact){x.negative, x.bits << by, x.exponent - by};
}

static double exact_sum(struct exact x, struct exact y, int mode)
{
    x = align_top(x);
    y = align_top(y);
    if (x.exponent < y.exponent) {
        struct exact swap = x;
        x = y;
        y = swap;
    }
    wide other = shift_right_sticky(y.bits, x.exponent - y.exponent);
    struct exact sum = x;
    if (x.negative == y.negative) {
        sum.bits = x.bits + other;
    } else if (x.bits > other) {
        sum.bits = x.bits - other;
    } else if (x.bits < other) {
        sum.bits = other - x.bits;
        sum.negative = y.negative;
    } else {
        return mode == ROUND_RM ? -0.0 : 0.0;
    }
    return pack(sum, mode);
}

double numeric_soft_fma(double a, double b, double c, int mode)
{
    double p = a * b;
    if (!is_plain(a) || !is_plain(b)) {
        double sum = p + c;
        bool opposite = p == 0.0 && c == 0.0 && (f64_bits(p) ^ f64_bits(c)) >> 63;
        return opposite && mode == ROUND_RM ? -0.0 : sum;
    }
    if (c == 0.0)
        return pack(product(a, b), mode);
    if (!is_plain(c))
        return c;
    return exact_sum(product(a, b), unpack(c), mode);
}

double numeric_soft_div(double a, double b, int mode)
{
    if (!is_plain(a) || !is_plain(b))
        return a / b;
    struct exact x = unpack(a);
    struct exact y = unpack(b);
    int by = 126 - top_bit(x.bits);
    wide n = x.bits << by;
    wide q = n / y.bits;
    struct exact r = {x.negative != y.negative, q << 1 | (n % y.bits != 0),
                      x.exponent - by - y.exponent - 1};
    return pack(r, mode);
}

double numeric_soft_sqrt(double a, int mode)
{
    double s = sqrt(a);
    if (!is_plain(a) || a < 0.0)
        return s;
    double rest = fma(-s, s, a); /* its sign is right: a - s^2 fits */
    uint64_t bits = f64_bits(s);
    if (mode == ROUND_RP && rest > 0.0)
        return f64_from(bits + 1);
    if ((mode == ROUND_RM || mode == ROUND_RZ) && rest < 0.0)
        return f64_from(bits - 1);
    return s;
}

/* ---- integers ---- */

static uint64_t size_of(uint64_t value, int is_signed, bool *negative)
{
    *negative = is_signed && (int64_t)value < 0;
    return *negative ? -value : value;
}

double numeric_int_to_f64(uint64_t value, int is_signed, int mode)
{
    struct exact x = {.exponent = 0};
    x.bits = size_of(value, is_signed, &x.negative);
    return x.bits == 0 ? 0.0 : pack(x, mode);
}

float numeric_odd_int(uint64_t value, int is_signed)
{
    bool negative;
    uint64_t size = size_of(value, is_signed, &negative);
    double d = size >> 53 ? (double)(size >> 11 | ((size & 0x7ff) != 0)) * 2048.0 : (double)size;
    return odd_f32(negative ? -d : d);
}

float numeric_int_to_f32(uint64_t value, int is_signed, int mode)
{
    bool negative;
    uint64_t size = size_of(value, is_signed, &negative);
    double d = size >> 53 ? (double)(size >> 11 | ((size & 0x7ff) != 0)) * 2048.0 : (double)size;
    return round_f32(negative ? -d : d, 1.0, 1.0, mode);
}

/* ---- fp8 ---- */

static double clamp(float x, double limit)
{
    double d = (double)x;
    return d > limit ? limit : d < -limit ? -limit : d;
}

uint32_t numeric_f32_e4m3(float x)
{
    return x != x ? 0x7f : e4m3_from_double(clamp(x, 448.0));
}

uint32_t numeric_f32_e5m2(float x)
{
    return x != x ? 0x7f : e5m2_from_double(clamp(x, 57344.0));
}

uint32_t numeric_e4m3_f16(uint32_t x)
{
    return f32_f16_rn((float)e4m3_to_double((uint8_t)x));
}

uint32_t numeric_e5m2_f16(uint32_t x)
{
    return f32_f16_rn((float)e5m2_to_double((uint8_t)x));
}
