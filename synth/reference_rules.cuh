/*
 * Values in double and bounds on how far an honest kernel's value may be from them.  The rules are
 * those of the interpreter's bounds (solver/ir/interp_bound.c explains each); this text is written
 * apart from it, and tests compare the two.
 */
typedef long long i64;
typedef unsigned long long u64;
typedef unsigned char u8;

#define INF    __longlong_as_double(0x7ff0000000000000LL)
#define RULE   __device__ __forceinline__
#define LARGER inline __device__ __noinline__

struct num {
    double v, b;
};
struct whole {
    i64 v;
    double b;
};

/* ---- formats: significand bits, least exponent of normal numbers, largest number ---- */

struct format {
    int bits, least_exponent;
    double u, flush, max; /* u of f64 counts twice: the value here is rounded too */
    bool wide, has_infinity;
};
RULE format f64()
{
    return {53, -1022, 0x1p-52, 0x1p-1022, 1.7976931348623157e308, true, true};
}
RULE format f32()
{
    return {24, -126, 0x1p-24, 0x1p-126, 0x1.fffffep127, true, true};
}
RULE format f16()
{
    return {11, -14, 0x1p-11, 0x1p-25, 65504, false, true};
}
RULE format bf16()
{
    return {8, -126, 0x1p-8, 0x1p-134, 0x1.fep127, false, true};
}
RULE format e4m3()
{
    return {4, -6, 0x1p-4, 0x1p-10, 448, false, false};
}
RULE format e5m2()
{
    return {3, -14, 0x1p-3, 0x1p-17, 57344, false, true};
}

/* To the nearest number of the format, ties to even. */
LARGER double round_to(format f, double x)
{
    if (!isfinite(x) || x == 0 || f.bits == 53)
        return isinf(x) && !f.has_infinity ? x - x : x;
    const int e = max(ilogb(x), f.least_exponent);
    const double r = ldexp(rint(ldexp(x, f.bits - 1 - e)), e - f.bits + 1);
    if (fabs(r) <= f.max)
        return r;
    return f.has_infinity ? copysign(INF, x) : INF - INF;
}

/* Ties away from zero, exponents of f32. */
LARGER double round_tf32(double x)
{
    if (!isfinite(x) || x == 0)
        return x;
    const int e = max(ilogb(x), -126);
    const double r = ldexp(round(ldexp(x, 10 - e)), e - 10);
    return fabs(r) <= 0x1.ffcp127 ? r : copysign(INF, x);
}

RULE bool narrows(format from, format to)
{
    return to.u > from.u || to.max < from.max;
}

/* What `cost` units are worth: intrinsics of narrow types are no worse than 3. */
RULE double units(format f, double cost)
{
    return (f.wide ? cost : fmin(cost, 3.0)) * f.u;
}

#define SPECK 0x1p-1074 /* what is lost is more than nothing even where it underflows */

RULE double rounding(format f, double size)
{
    return f.u * size + SPECK;
}

/* A negative bound -l: the value may overflow its type; an honest one has v's sign and a magnitude
 * of l or more, infinity included. */
RULE double overflowing(double least)
{
    return least > 1 ? -fmin(least, 1.7976931348623157e308) : INF;
}

RULE double open_or(double b)
{
    return b < 0 ? INF : b;
}

RULE double settle(format f, double v, double b)
{
    if (!(b < INF))
        return INF;
    if (isfinite(v) && fabs(v) + b > f.max)
        return overflowing(fabs(v) - b);
    return b > 0 ? b + f.flush : 0;
}

RULE bool is_whole(double x)
{
    return fabs(x) < 0x1p51 && rint(x) == x;
}

RULE bool is_power_of_two(double x)
{
    return (__double_as_longlong(x) & 0xfffffffffffffLL) == 0 && x != 0 && isfinite(x);
}

RULE double smallest_normal(format f)
{
    return ldexp(1.0, f.least_exponent);
}

RULE double largest_whole(format f)
{
    return ldexp(1.0, f.bits);
}

RULE bool is_integral(format f, double x, double y, double v)
{
    const double limit = largest_whole(f);
    return fabs(v) <= limit && fabs(x) <= limit && fabs(y) <= limit && is_whole(x) && is_whole(y);
}

/* The end of each float operation: what overflows or is not finite. */
RULE num finish(format f, double v, double b, bool special, bool open, bool exact)
{
    if (!isfinite(v))
        return {v, !open && (special || exact) ? 0 : INF};
    return {v, b < 0 ? b : settle(f, v, b)};
}

RULE num finish1(format f, double v, double b, num x)
{
    return finish(f, v, b, !isfinite(x.v), !(x.b < INF), x.b == 0);
}

RULE num finish2(format f, double v, double b, num x, num y)
{
    return finish(f, v, b, !isfinite(x.v) || !isfinite(y.v), !(x.b < INF) || !(y.b < INF),
                  x.b == 0 && y.b == 0);
}

/* ---- arithmetic ---- */

/* One may overflow: the sum then has its sign, and loses at most the other's size. */
RULE double add_overflowing(num x, num y)
{
    const num big = x.b < 0 ? x : y, other = x.b < 0 ? y : x;
    if (other.b < 0 || !isfinite(other.v) || !(other.b < INF))
        return INF;
    return overflowing(-big.b - fabs(other.v) - other.b);
}

RULE double add_bound(format f, num x, num y)
{
    const double moved = x.b + y.b;
    if (x.b < 0 || y.b < 0)
        return add_overflowing(x, y);
    if ((x.b == 0 && x.v == 0) || (y.b == 0 && y.v == 0))
        return moved;
    const double size = fabs(x.v) + fabs(y.v) + moved;
    return moved + rounding(f, moved > 0 ? 2 * size : size);
}

RULE double mul_bound(format f, num x, num y, double v)
{
    const double moved = fabs(x.v) * y.b + fabs(y.v) * x.b + x.b * y.b;
    if ((x.b == 0 && x.v == 0) || (y.b == 0 && y.v == 0))
        return moved;
    const bool scales =
        (x.b == 0 && is_power_of_two(x.v)) || (y.b == 0 && is_power_of_two(y.v));
    if (scales && fabs(v) >= smallest_normal(f))
        return moved;
    if (x.b == 0 && y.b == 0 && is_integral(f, x.v, y.v, v))
        return moved;
    return moved + rounding(f, fabs(v) + moved);
}

RULE num closed(num x)
{
    return {x.v, open_or(x.b)};
}

RULE num add(format f, num x, num y)
{
    const double v = x.v + y.v;
    return finish2(f, v, add_bound(f, x, y), x, y);
}

RULE num sub(format f, num x, num y)
{
    const double v = x.v - y.v;
    return finish2(f, v, add_bound(f, x, y), x, y);
}

RULE num mul(format f, num x, num y)
{
    const double v = x.v * y.v;
    return finish2(f, v, mul_bound(f, closed(x), closed(y), v), x, y);
}

/* A fast quotient by what is beyond 2^126 is 0. */
RULE bool divides_far(format f, num y)
{
    return smallest_normal(f) == 0x1p-126 && fabs(y.v) + y.b > 0x1p126;
}

LARGER num divide(format f, num x, num y)
{
    const double v = x.v / y.v, least = fabs(y.v) - y.b;
    double b = INF;
    if (y.b < 0) {
        b = fmax(fabs(v), (fabs(x.v) + open_or(x.b)) / -y.b);
    } else if (least > 0 && x.b >= 0) {
        b = (x.b + fabs(v) * y.b) / least;
        const bool exact = v == 0 || (is_power_of_two(y.v) && fabs(v) >= smallest_normal(f));
        if (divides_far(f, y))
            b += fabs(v);
        else if (b != 0 || !exact)
            b += units(f, 6) * (fabs(v) + b) + SPECK;
    }
    return finish2(f, v, b, x, y);
}

RULE num multiply_add(format f, num x, num y, num z)
{
    const double p = x.v * y.v, v = fma(x.v, y.v, z.v);
    const num product = {p, mul_bound(f, closed(x), closed(y), p)};
    return finish(f, v, add_bound(f, product, z),
                  !isfinite(x.v) || !isfinite(y.v) || !isfinite(z.v),
                  !(x.b < INF) || !(y.b < INF) || !(z.b < INF), x.b == 0 && y.b == 0 && z.b == 0);
}

RULE double larger(double x, double y)
{
    return isnan(x) || x > y ? x : y;
}

RULE double smaller(double x, double y)
{
    return isnan(x) || x < y ? x : y;
}

RULE double extremum_bound(bool most, num x, num y, double v)
{
    if (!(x.b < INF && y.b < INF) || x.b < 0 || y.b < 0)
        return INF;
    const double low = most ? fmax(x.v - x.b, y.v - y.b) : fmin(x.v - x.b, y.v - y.b);
    const double high = most ? fmax(x.v + x.b, y.v + y.b) : fmin(x.v + x.b, y.v + y.b);
    return fmax(v - low, high - v);
}

RULE num maximum(format f, num x, num y)
{
    const double v = larger(x.v, y.v);
    return finish2(f, v, extremum_bound(true, x, y, v), x, y);
}

RULE num minimum(format f, num x, num y)
{
    const double v = smaller(x.v, y.v);
    return finish2(f, v, extremum_bound(false, x, y, v), x, y);
}

RULE num negate(format f, num x)
{
    return x.b < 0 ? num{-x.v, x.b} : finish1(f, -x.v, x.b, x);
}

RULE num absolute(format f, num x)
{
    return finish1(f, fabs(x.v), x.b, x);
}

/* ---- functions of one real ---- */

#define FUNCTION(name, text)                                                                       \
    struct fn_##name {                                                                             \
        static __device__ double at(double x)                                                      \
        {                                                                                          \
            return text;                                                                           \
        }                                                                                          \
    };
FUNCTION(exp, exp(x))
FUNCTION(exp2, exp2(x))
FUNCTION(expm1, expm1(x))
FUNCTION(log, log(x))
FUNCTION(log2, log2(x))
FUNCTION(log1p, log1p(x))
FUNCTION(sqrt, sqrt(x))
FUNCTION(rsqrt, 1 / sqrt(x))
FUNCTION(sin, sin(x))
FUNCTION(cos, cos(x))
FUNCTION(tan, tan(x))
FUNCTION(asin, asin(x))
FUNCTION(acos, acos(x))
FUNCTION(atan, atan(x))
FUNCTION(sinh, sinh(x))
FUNCTION(cosh, cosh(x))
FUNCTION(tanh, tanh(x))
FUNCTION(erf, erf(x))
FUNCTION(erfc, erfc(x))
FUNCTION(floor, floor(x))
FUNCTION(ceil, ceil(x))
FUNCTION(trunc, trunc(x))
FUNCTION(rint, rint(x))
FUNCTION(sign, (x > 0 ? 1.0 : x < 0 ? -1.0 : x))

/* Least and greatest argument at which it is defined; an open end is not. */
struct domain {
    double low, high;
    bool open;
};
RULE domain everywhere()
{
    return {-INF, INF, false};
}
RULE domain above(double low)
{
    return {low, INF, true};
}
RULE domain from(double low, double high)
{
    return {low, high, false};
}

/* Largest change over the interval, of a function that is monotone there. */
template <class Fn> RULE double swing(num x, double least, double v, domain d)
{
    if (x.b == 0)
        return 0;
    const double low = fmin(x.v, fmax(x.v - x.b, least)), high = x.v + x.b;
    if (!(d.open ? low > d.low : low >= d.low) || !(high <= d.high))
        return INF;
    return fmax(fabs(Fn::at(low) - v), fabs(Fn::at(high) - v));
}

/* Near 0, e^x moves by e^x times the interval. */
template <class Fn> RULE double swing_exp(num x, double least, double v, double slope)
{
    if (x.b != 0 && x.b < 0x1p-6)
        return slope * (x.b + x.b * x.b);
    return swing<Fn>(x, least, v, everywhere());
}

/* moved, and what an honest evaluation loses. */
RULE num evaluated(format f, num x, double v, double moved, double cost, bool exact_at_whole)
{
    double b = INF;
    if (x.b == 0 && isinf(x.v)) {
        b = 0;
    } else if (x.b < INF && x.b >= 0) {
        const bool exact = exact_at_whole && fabs(x.v) <= 1 && x.v == rint(x.v) && v == rint(v);
        b = moved == 0 && exact ? 0 : moved + units(f, cost) + units(f, 2) * moved + SPECK;
    }
    return finish1(f, v, b, x);
}

LARGER num r_exp(format f, num x, double least)
{
    const double v = exp(x.v);
    if (isinf(v) && isfinite(x.v) && x.b > 0)
        return {v, overflowing(exp(x.v - x.b))};
    return evaluated(f, x, v, swing_exp<fn_exp>(x, least, v, v), (8 + 3 * fabs(x.v)) * v, true);
}
LARGER num r_exp2(format f, num x, double least)
{
    const double v = exp2(x.v);
    return evaluated(f, x, v, swing<fn_exp2>(x, least, v, everywhere()),
                     (8 + 2 * fabs(x.v)) * v, true);
}
LARGER num r_expm1(format f, num x, double least)
{
    const double v = expm1(x.v);
    return evaluated(f, x, v, swing_exp<fn_expm1>(x, least, v, v + 1),
                     (8 + 3 * fabs(x.v)) * fabs(v + 1) + 8 * fabs(v), true);
}
LARGER num r_sin(format f, num x, double)
{
    const double v = sin(x.v);
    return evaluated(f, x, v, fmin(x.b, 2.0), 8 * fmax(fabs(v), 1.0), true);
}
LARGER num r_cos(format f, num x, double)
{
    const double v = cos(x.v);
    return evaluated(f, x, v, fmin(x.b, 2.0), 8 * fmax(fabs(v), 1.0), true);
}
LARGER num r_tan(format f, num x, double)
{
    const double pi = 3.14159265358979323846, v = tan(x.v), low = x.v - x.b, high = x.v + x.b;
    double moved = INF;
    if (floor(low / pi + 0.5) == floor(high / pi + 0.5))
        moved = fmax(fabs(tan(low) - v), fabs(tan(high) - v));
    return evaluated(f, x, v, moved, 16 * (1 + v * v), true);
}
LARGER num r_cosh(format f, num x, double)
{
    const double v = cosh(x.v);
    const double moved = x.b == 0 ? 0 : fmax(cosh(fabs(x.v) + x.b) - v, v - 1);
    return evaluated(f, x, v, moved, (8 + 3 * fabs(x.v)) * fmax(fabs(v), 1.0), true);
}
LARGER num r_sinh(format f, num x, double least)
{
    const double v = sinh(x.v);
    return evaluated(f, x, v, swing<fn_sinh>(x, least, v, everywhere()),
                     (8 + 3 * fabs(x.v)) * fmax(fabs(v), 1.0), true);
}

#define MONOTONE(name, where, cost, exact)                                                         \
    LARGER num r_##name(format f, num x, double least)                                             \
    {                                                                                              \
        const double v = fn_##name::at(x.v), size = fabs(v);                                       \
        return evaluated(f, x, v, swing<fn_##name>(x, least, v, where), cost, exact);              \
    }
MONOTONE(log, above(0), 8 * fmax(size, 1.0), true)
MONOTONE(log2, above(0), 8 * fmax(size, 1.0), true)
MONOTONE(log1p, above(-1), 8 * fmax(size, 1.0), true)
MONOTONE(sqrt, from(0, INF), 6 * size, true)
MONOTONE(rsqrt, above(0), 6 * size, true)
MONOTONE(asin, from(-1, 1), 8 * fmax(size, 1.0), true)
MONOTONE(acos, from(-1, 1), 8 * fmax(size, 1.0), true)
MONOTONE(atan, everywhere(), 8 * fmax(size, 1.0), true)
MONOTONE(tanh, everywhere(), 8 * fmax(size, 1.0), true)
MONOTONE(erf, everywhere(), 8 * fmax(size, 1.0), false)
MONOTONE(erfc, everywhere(), 16 * size, true)

/* Steps lose nothing themselves, but may fall to either side. */
#define STEP(name)                                                                                 \
    LARGER num r_##name(format f, num x, double least)                                             \
    {                                                                                              \
        const double v = fn_##name::at(x.v);                                                       \
        const bool known = x.b < INF && x.b >= 0;                                                  \
        return finish1(f, v, known ? swing<fn_##name>(x, least, v, everywhere()) : INF, x);        \
    }
STEP(floor)
STEP(ceil)
STEP(trunc)
STEP(rint)
STEP(sign)

/* e^(p - q) is often computed as 2^(p c - q c), which loses u times the larger of both. */
RULE num scaled_exponent(format f, num e, num p, num q)
{
    const double size = fmax(fabs(p.v), fabs(q.v));
    if (e.b > 0 && isfinite(e.v) && isfinite(size))
        e.b = settle(f, e.v, e.b + units(f, 2 * size * e.v));
    return e;
}

/* ---- functions of two reals ---- */

LARGER num power(format f, num x, num y)
{
    x = closed(x);
    y = closed(y);
    const double v = pow(x.v, y.v);
    double moved = 0;
    if (x.b > 0 || y.b > 0) {
        const bool natural = y.b == 0 && y.v == rint(y.v) && y.v >= 0;
        if (!(x.v - x.b > 0) && !natural)
            return finish2(f, v, INF, x, y);
        for (int i = 0; i < 4; ++i) {
            const double corner =
                pow(i & 1 ? x.v + x.b : x.v - x.b, i & 2 ? y.v + y.b : y.v - y.b);
            moved = fmax(moved, fabs(corner - v));
        }
        if (fabs(x.v) <= x.b)
            moved = fmax(moved, fabs(v));
    }
    const double slope = v != 0 ? fabs(log(fabs(v))) : 0;
    return finish2(f, v, moved + units(f, (16 + 4 * slope) * fabs(v)), x, y);
}

LARGER num angle(format f, num y, num x)
{
    x = closed(x);
    y = closed(y);
    const double turn = 6.283185307179586, v = atan2(y.v, x.v);
    const double radius = hypot(y.v, x.v) - hypot(y.b, x.b), reach = y.b + x.b;
    const double moved = reach > 0 ? reach / fmax(radius, 0x1p-1000) : 0;
    const bool wraps = x.v - x.b <= 0 && y.b > 0 && fabs(y.v) <= y.b;
    return finish2(f, v, (wraps ? turn : fmin(moved, turn)) + units(f, 8 * fmax(fabs(v), 1.0)), y,
                   x);
}

LARGER num remainder_of(format f, num x, num y)
{
    x = closed(x);
    y = closed(y);
    const double v = fmod(x.v, y.v), least = fabs(y.v) - y.b;
    double b = 0;
    if (x.b != 0 || y.b != 0) {
        b = INF;
        const double q = fabs(trunc(x.v / y.v));
        const double far = (fabs(x.v) + x.b) / least;
        const double near = (fabs(x.v) - x.b) / (fabs(y.v) + y.b);
        if (least > 0 && trunc(far) == q && near >= q && (q != 0 || near >= 0))
            b = x.b + q * y.b;
    }
    return finish2(f, v, b, x, y);
}

/* ---- choices: a bool with b = 1 may come out either way ---- */

RULE double either(bool yes)
{
    return yes ? 1 : 0;
}

#define COMPARISON(name, sign)                                                                     \
    RULE whole name(num x, num y)                                                                  \
    {                                                                                              \
        const double reach = open_or(x.b) + open_or(y.b);                                          \
        return {x.v sign y.v, either(reach > 0 && !(fabs(x.v - y.v) > reach))};                    \
    }                                                                                              \
    RULE whole name(whole x, whole y)                                                              \
    {                                                                                              \
        const double reach = x.b + y.b;                                                            \
        const double apart = fabs((double)x.v - (double)y.v);                                      \
        return {x.v sign y.v, either(reach > 0 && !(apart > reach))};                              \
    }
COMPARISON(less, <)
COMPARISON(less_equal, <=)
COMPARISON(greater, >)
COMPARISON(greater_equal, >=)
COMPARISON(equal, ==)
COMPARISON(not_equal, !=)

RULE whole both(whole x, whole y)
{
    const bool decided = (x.b == 0 && x.v == 0) || (y.b == 0 && y.v == 0);
    return {x.v && y.v, either(!decided && x.b + y.b > 0)};
}

RULE whole one_of(whole x, whole y)
{
    const bool decided = (x.b == 0 && x.v != 0) || (y.b == 0 && y.v != 0);
    return {x.v || y.v, either(!decided && x.b + y.b > 0)};
}

RULE whole is_nan(num x)
{
    return {isnan(x.v), either(!(x.b < INF))};
}

RULE whole is_inf(num x)
{
    return {isinf(x.v), either(!(x.b < INF))};
}

RULE num choose(whole c, num x, num y)
{
    const double v = c.v ? x.v : y.v;
    if (c.b == 0)
        return {v, c.v ? x.b : y.b};
    const double reach = fmax(open_or(x.b), open_or(y.b)) + fabs(x.v - y.v);
    return {v, isfinite(v) && reach < INF ? reach : INF};
}

RULE whole choose(whole c, whole x, whole y)
{
    if (c.b == 0)
        return c.v ? x : y;
    const double reach = fmax(x.b, y.b) + fabs((double)x.v - (double)y.v);
    return {c.v ? x.v : y.v, reach};
}

/* ---- integers of `width` bits ---- */

RULE i64 wrap(i64 v, int width, bool is_signed)
{
    if (width == 64)
        return v;
    const u64 low = (u64)v << (64 - width);
    return is_signed ? (i64)low >> (64 - width) : (i64)(low >> (64 - width));
}

RULE double int_settle(double v, double b, int width)
{
    const double limit = width == 1 ? 2 : ldexp(1.0, width - 1) - 1;
    return b == 0 || (b <= limit && fabs(v) + b <= limit) ? b : INF;
}

RULE whole int_result(i64 v, double b, int width, bool is_signed)
{
    const i64 w = wrap(v, width, is_signed);
    return {w, int_settle((double)w, b, width)};
}

RULE i64 div_down(i64 a, i64 b)
{
    if (b == 0)
        return 0;
    if (b == -1)
        return (i64)-(u64)a;
    const i64 q = a / b;
    return q * b > a == (b > 0) && q * b != a ? q - 1 : q;
}

RULE i64 mod_down(i64 a, i64 b)
{
    return b == 0 || b == -1 ? 0 : a - div_down(a, b) * b;
}

RULE double no_bound(whole x, whole y)
{
    return x.b == 0 && y.b == 0 ? 0 : INF;
}

RULE whole int_add(whole x, whole y, int width, bool is_signed)
{
    return int_result((i64)((u64)x.v + (u64)y.v), x.b + y.b, width, is_signed);
}
RULE whole int_sub(whole x, whole y, int width, bool is_signed)
{
    return int_result((i64)((u64)x.v - (u64)y.v), x.b + y.b, width, is_signed);
}
RULE whole int_mul(whole x, whole y, int width, bool is_signed)
{
    const double p = (double)x.v, q = (double)y.v;
    return int_result((i64)((u64)x.v * (u64)y.v), fabs(p) * y.b + fabs(q) * x.b + x.b * y.b, width,
                      is_signed);
}
RULE whole int_div(whole x, whole y, int width, bool is_signed)
{
    return int_result(div_down(x.v, y.v), no_bound(x, y), width, is_signed);
}
RULE whole int_mod(whole x, whole y, int width, bool is_signed)
{
    return int_result(mod_down(x.v, y.v), no_bound(x, y), width, is_signed);
}
RULE whole int_shl(whole x, whole y, int width, bool is_signed)
{
    const bool out = y.v < 0 || y.v >= width;
    return int_result(out ? 0 : (i64)((u64)x.v << y.v), no_bound(x, y), width, is_signed);
}
RULE whole int_shr(whole x, whole y, int width, bool is_signed)
{
    const bool out = y.v < 0 || y.v >= width;
    return int_result(out ? (x.v < 0 ? -1 : 0) : x.v >> y.v, no_bound(x, y), width, is_signed);
}
RULE whole int_min(whole x, whole y, int width, bool is_signed)
{
    const i64 v = x.v < y.v ? x.v : y.v;
    const double b = extremum_bound(false, {(double)x.v, x.b}, {(double)y.v, y.b}, (double)v);
    return int_result(v, b, width, is_signed);
}
RULE whole int_max(whole x, whole y, int width, bool is_signed)
{
    const i64 v = x.v > y.v ? x.v : y.v;
    const double b = extremum_bound(true, {(double)x.v, x.b}, {(double)y.v, y.b}, (double)v);
    return int_result(v, b, width, is_signed);
}
RULE whole int_neg(whole x, int width, bool is_signed)
{
    return int_result((i64)-(u64)x.v, x.b, width, is_signed);
}
RULE whole int_abs(whole x, int width, bool is_signed)
{
    return int_result(x.v < 0 ? (i64)-(u64)x.v : x.v, x.b, width, is_signed);
}
RULE whole int_sign(whole x, int width, bool is_signed)
{
    return int_result((x.v > 0) - (x.v < 0), x.b == 0 ? 0 : INF, width, is_signed);
}
RULE whole int_not(whole x, int width, bool is_signed)
{
    return int_result(~x.v, x.b == 0 ? 0 : INF, width, is_signed);
}
#define INT_BITS(name, sign)                                                                       \
    RULE whole name(whole x, whole y, int width, bool is_signed)                                   \
    {                                                                                              \
        const double b = x.b == 0 && y.b == 0 ? 0 : width == 1 ? 1 : INF;                          \
        return int_result(x.v sign y.v, b, width, is_signed);                                      \
    }
INT_BITS(int_and, &)
INT_BITS(int_or, |)
INT_BITS(int_xor, ^)

RULE whole opposite(whole x)
{
    return {!x.v, either(x.b != 0)};
}

/* ---- conversions ---- */

/* An 8-bit float with E exponent bits and the given bias. */
template <int E, int BIAS> LARGER double eighth(u8 bits)
{
    const int m_bits = 7 - E, e = bits >> m_bits & ((1 << E) - 1), m = bits & ((1 << m_bits) - 1);
    const double sign = bits & 0x80 ? -1 : 1;
    const bool top = e == (1 << E) - 1;
    if (top && (E == 5 || m == (1 << m_bits) - 1))
        return E == 5 && m == 0 ? sign * INF : INF - INF;
    const double fraction = ldexp((double)m, -m_bits) + (e > 0 ? 1 : 0);
    return sign * ldexp(fraction, (e > 0 ? e : 1) - BIAS);
}

/* The spec rounds: every rounding of a value in reach. */
LARGER num cast_real(format from_, format to_, num x)
{
    x = closed(x);
    const double v = round_to(to_, x.v);
    if (!isfinite(v))
        return {v, x.b == 0 ? 0 : INF};
    if (!(x.b < INF))
        return {v, INF};
    if (!narrows(from_, to_))
        return {v, x.b + fabs(x.v - v)};
    const double b = fmax(v - round_to(to_, x.v - x.b), round_to(to_, x.v + x.b) - v);
    return {v, b < INF ? b : INF};
}

LARGER num cast_tf32(num x)
{
    x = closed(x);
    const double v = round_tf32(x.v);
    if (!isfinite(v))
        return {v, x.b == 0 ? 0 : INF};
    const double b = fmax(v - round_tf32(x.v - x.b), round_tf32(x.v + x.b) - v);
    return {v, b < INF ? b : INF};
}

/* The spec does not round, but a kernel stores in a narrower type. */
LARGER num assign_real(format from_, format to_, num x)
{
    x = closed(x);
    if (!(x.b < INF))
        return {x.v, INF};
    const bool fits = x.b == 0 && round_to(to_, x.v) == x.v;
    if (!isfinite(x.v) || !narrows(from_, to_) || fits)
        return x;
    return {x.v, settle(to_, x.v, x.b + to_.u * (fabs(x.v) + x.b))};
}

LARGER num real_of(format to_, bool rounds, whole x)
{
    const double exact = (double)x.v;
    const double v = rounds ? round_to(to_, exact) : exact;
    if (!(x.b < INF))
        return {v, INF};
    const bool fits = round_to(to_, exact) == exact;
    return {v, settle(to_, v, x.b + (fits ? 0 : to_.u * (fabs(exact) + x.b)))};
}

LARGER whole whole_of(num x, int width, bool is_signed)
{
    x = closed(x);
    if (width == 1)
        return {x.v != 0, x.b < INF ? either(x.b > 0 && !(fabs(x.v) > x.b)) : INF};
    const double top = ldexp(1.0, is_signed ? width - 1 : width), bottom = is_signed ? -top : 0;
    const double t = trunc(x.v);
    const i64 most = is_signed ? (i64)(((u64)1 << (width - 1)) - 1) : (i64)top - 1;
    const i64 least = is_signed ? -most - 1 : 0;
    const i64 v = isnan(t) ? 0 : t >= top ? most : t <= bottom ? least : (i64)t;
    if (x.b == 0)
        return {v, 0};
    const double low = trunc(x.v - x.b), high = trunc(x.v + x.b);
    const double limit = ldexp(1.0, width - 1) - 1;
    if (!(low >= -limit && high <= limit))
        return {v, INF};
    return {v, fmax(high - (double)v, (double)v - low)};
}

RULE whole int_convert(whole x, int width, bool is_signed)
{
    if (width == 1)
        return {x.v != 0, x.b < INF ? either(x.b > 0 && !(fabs((double)x.v) > x.b)) : INF};
    const double limit = ldexp(1.0, width - 1) - 1;
    return {wrap(x.v, width, is_signed),
            x.b == 0 || fabs((double)x.v) + x.b <= limit ? x.b : INF};
}

/* ---- sums ---- */

/* A first look at a run of terms: what the thread with the next run must know. */
struct sum_look {
    double v, abs, high, low; /* high, low: of the partial sums, from 0 */
    double last, previous;    /* terms that are not 0; 0 = there is none */
    double terms, most;       /* how many of them, the largest size */
};
RULE void look_add(sum_look &s, double x)
{
    s.v += x;
    s.abs += fabs(x);
    s.high = fmax(s.high, s.v);
    s.low = fmin(s.low, s.v);
    if (x != 0) {
        s.previous = s.last;
        s.last = x;
        s.terms += 1;
        s.most = fmax(s.most, fabs(x));
    }
}
RULE sum_look join(sum_look p, sum_look q)
{
    return {p.v + q.v,
            p.abs + q.abs,
            fmax(p.high, p.v + q.high),
            fmin(p.low, p.v + q.low),
            q.last != 0 ? q.last : p.last,
            q.previous != 0 ? q.previous : q.last != 0 ? p.last : p.previous,
            p.terms + q.terms,
            fmax(p.most, q.most)};
}

/* A sum in index order.  v, abs, peak, terms and most are of all terms so far, those of earlier runs
 * included; the rest is of this thread's run. */
struct sum_acc {
    double v, abs, peak, last, terms, most;
    bool alike; /* the last term was like the one before */
    double b, coherent, dwarfed, square, round_a, round_b;
    double alike_count, alike_abs, alike_at, alike_square;
    bool inexact;
};
RULE sum_acc sum_start(format f, sum_look before)
{
    const double apart = fabs(before.last - before.previous);
    const bool alike = before.last != 0 && apart <= 2 * f.u * fabs(before.v - before.last);
    return {before.v,    before.abs,  fmax(before.high, -before.low),
            before.last, before.terms, before.most,
            alike,       0,           0,
            0,           0,           0,
            0,           0,           0,
            0,           0,           false};
}
/* Terms that are alike round alike: their losses do not average out. */
RULE void sum_coherent(format f, sum_acc &s, double x)
{
    const double size = fabs(x), loss = f.u * fabs(s.v);
    if (x == 0)
        return;
    if (4 * f.u * size > s.most)
        s.dwarfed = fmax(s.dwarfed, fmin(s.abs, s.terms * f.u * size));
    const bool alike = fabs(x - s.last) <= 2 * loss;
    if (alike && s.alike) {
        s.coherent += size < loss ? size : loss;
        s.alike_count += 1;
        s.alike_abs += size;
        s.alike_at += s.v;
        s.alike_square += s.v * s.v;
    }
    s.alike = alike;
    s.last = x;
    s.terms += 1;
    s.most = fmax(s.most, size);
}
RULE void sum_add(format f, sum_acc &s, num x)
{
    sum_coherent(f, s, x.v);
    s.v += x.v;
    s.abs += fabs(x.v);
    s.b += open_or(x.b);
    s.peak = fabs(s.v) > s.peak ? fabs(s.v) : s.peak;
    s.inexact |= x.b != 0 || !is_whole(x.v);
}
RULE sum_acc join(sum_acc p, sum_acc q)
{
    q.b += p.b;
    q.coherent += p.coherent;
    q.dwarfed = fmax(q.dwarfed, p.dwarfed);
    q.alike_count += p.alike_count;
    q.alike_abs += p.alike_abs;
    q.alike_at += p.alike_at;
    q.alike_square += p.alike_square;
    q.square += p.square;
    q.round_a += p.round_a;
    q.round_b += p.round_b;
    q.inexact |= p.inexact;
    return q;
}
/* What rounding the factors (to rx, ry) does to the sum. */
RULE void sum_rounding(sum_acc &s, double x, double rx, double y, double ry, double weight)
{
    s.square += weight * (x * y) * (x * y);
    s.round_a += (rx - x) * y;
    s.round_b += rx * (ry - y);
}

struct sum_kind {
    bool product;    /* of two reads: tensor cores may truncate where they accumulate */
    bool split;      /* of f32 factors, which may be taken in three tf32 products: 12 u */
    bool rounded;    /* the track rounds a factor, to unit roundoff factor_u */
    bool compensated;
    bool keeps_exact; /* sums of integers are exact in every honest kernel */
    double factor_u;
};

/* What the additions of terms that are alike may lose, from either end. */
RULE double alike_loss(format f, sum_acc s)
{
    const double squares = s.alike_count * s.v * s.v - 2 * s.v * s.alike_at + s.alike_square;
    const double reversed = f.u * sqrt(s.alike_count * fmax(squares, 0.0));
    return fmax(s.coherent, fmin(reversed, s.alike_abs)) + s.dwarfed;
}

/* What honest orders of summing `count` terms may lose. */
RULE double sum_loss(format f, sum_kind kind, sum_acc s, double count)
{
    const double size = f.u * s.abs, most = (count - 1 + (kind.split ? 12 : 0)) * size;
    const double peak = f.u * fmin(s.peak, s.abs);
    if (kind.compensated)
        return fmin(most, (3 + count * f.u) * size);
    if (!f.wide)
        return most;
    const double any_order = 4 * sqrt(count) * peak;
    const double truncated = kind.product ? count / 8 * peak : 0;
    const double loss = fmax(16 * size, fmax(any_order, truncated)) + alike_loss(f, s);
    return fmin(most, loss);
}

LARGER num sum_end(format f, sum_kind kind, sum_acc s, double count)
{
    if (!isfinite(s.v))
        return {s.v, s.b < INF ? 0 : INF};
    double b = s.b;
    if (kind.rounded)
        b += 4 * kind.factor_u * sqrt(s.square) + fabs(s.round_a) + fabs(s.round_b);
    if (!kind.keeps_exact || s.inexact || s.abs > largest_whole(f))
        b += sum_loss(f, kind, s, count);
    const double one_sign = (s.abs + fabs(s.v)) / 2; /* the terms of v's sign alone */
    if (one_sign + b > f.max)
        return {s.v, INF};
    return {s.v, settle(f, s.v, b)};
}

/* ---- other reductions ---- */

struct product_acc {
    double v, b, above, below; /* binades that the factors go up, and down */
};
RULE product_acc product_start()
{
    return {1, 0, 0, 0};
}
RULE void product_take(format f, product_acc &p, num x)
{
    const num before = closed({p.v, p.b});
    const double v = p.v * x.v;
    const num after = finish2(f, v, mul_bound(f, before, closed(x), v), before, closed(x));
    p.v = v;
    p.b = open_or(after.b);
}
RULE void product_add(format f, product_acc &p, num x)
{
    const double binades = log2(fabs(x.v));
    product_take(f, p, x);
    if (isfinite(binades))
        (binades > 0 ? p.above : p.below) += binades;
}
RULE product_acc product_join(format f, product_acc p, product_acc q)
{
    product_take(f, p, {q.v, q.b});
    p.above += q.above;
    p.below += q.below;
    return p;
}
RULE num product_end(format f, product_acc p)
{
    const double most = exp2(p.above), least = exp2(p.below);
    if (most > f.max)
        return {p.v, INF};
    return {p.v, least < smallest_normal(f) ? p.b + f.flush * most : p.b};
}

/* Of values as doubles; integers beside them, exactly. */
struct extreme_acc {
    double v, least, most;
    i64 exact;
    bool open;
};
RULE extreme_acc extreme_start(double empty, i64 exact)
{
    return {empty, empty, empty, exact, false};
}
RULE extreme_acc join(bool largest, extreme_acc p, extreme_acc q)
{
    return {largest ? larger(p.v, q.v) : smaller(p.v, q.v),
            largest ? fmax(p.least, q.least) : fmin(p.least, q.least),
            largest ? fmax(p.most, q.most) : fmin(p.most, q.most),
            (largest ? p.exact > q.exact : p.exact < q.exact) ? p.exact : q.exact,
            p.open || q.open};
}
RULE void extreme_add(bool largest, extreme_acc &p, double v, double b, i64 exact)
{
    p = join(largest, p, {v, v - b, v + b, exact, !(b < INF) || b < 0});
}
RULE double extreme_end(extreme_acc p)
{
    if (p.open)
        return INF;
    if (!isfinite(p.v))
        return isnan(p.v) || (p.least == p.v && p.most == p.v) ? 0 : INF;
    return fmax(p.most - p.v, p.v - p.least);
}

/* Integer sums and products; any and all. */
struct int_acc {
    i64 v;
    double b;
    bool decided;
};
RULE void int_acc_add(int_acc &p, whole x)
{
    p = {(i64)((u64)p.v + (u64)x.v), p.b + x.b, false};
}
RULE void int_acc_mul(int_acc &p, whole x)
{
    p = {(i64)((u64)p.v * (u64)x.v), p.b + (x.b > 0 ? INF : 0), false};
}
RULE void int_acc_any(int_acc &p, whole x)
{
    p = {p.v | (x.v != 0), p.b + x.b, p.decided || (x.b == 0 && x.v != 0)};
}
RULE void int_acc_all(int_acc &p, whole x)
{
    p = {p.v & (x.v != 0), p.b + x.b, p.decided || (x.b == 0 && x.v == 0)};
}

/* Positions of extremes: the first best value; the greatest value that is certain, and where first;
 * then how many terms may be the extremum. */
struct arg_acc {
    double best;
    i64 exact, at; /* at: flat position, -1 before the first term */
    double best_b;
    double certain;
    i64 certain_order; /* index among the terms */
};
RULE arg_acc arg_start()
{
    return {0, 0, -1, 0, -INF, 0};
}
RULE bool arg_wins(bool is_real, double v, i64 exact, arg_acc p)
{
    if (!is_real)
        return exact > p.exact;
    return !isnan(p.best) && (isnan(v) || v > p.best);
}
/* Values are negated for argmin, so that the largest wins. */
RULE void arg_add(bool is_real, arg_acc &p, double v, double b, i64 exact, i64 at, i64 order)
{
    b = open_or(b);
    if (p.at < 0 || arg_wins(is_real, v, exact, p)) {
        p.best = v;
        p.exact = exact;
        p.at = at;
        p.best_b = b;
    }
    if (v - b > p.certain) {
        p.certain = v - b;
        p.certain_order = order;
    }
}
RULE arg_acc join(bool is_real, arg_acc p, arg_acc q)
{
    if (q.at >= 0 && (p.at < 0 || arg_wins(is_real, q.best, q.exact, p))) {
        p.best = q.best;
        p.exact = q.exact;
        p.at = q.at;
        p.best_b = q.best_b;
    }
    if (q.certain > p.certain) {
        p.certain = q.certain;
        p.certain_order = q.certain_order;
    }
    return p;
}
RULE bool arg_possible(arg_acc p, double v, double b, i64 order)
{
    b = open_or(b);
    return !(b < INF) || v + b > p.certain || (v + b == p.certain && order <= p.certain_order);
}

RULE num open_if(bool open, num x)
{
    return {x.v, open ? INF : x.b};
}
RULE whole open_if(bool open, whole x)
{
    return {x.v, open ? INF : x.b};
}

/* What an output's bound says to its reader: infinite = anything is accepted. */
RULE double final_bound(num x, bool finite_inputs)
{
    return finite_inputs && !isfinite(x.v) ? INF : open_or(x.b);
}
RULE double final_bound(whole x, bool)
{
    return x.b;
}

/* How many threads share an output: few where outputs are many. */
RULE i64 lanes_for(i64 outputs, i64 terms)
{
    if (terms >= 1024 && outputs <= 65536)
        return 256;
    return terms >= 32 && outputs <= 1048576 ? 32 : 1;
}
