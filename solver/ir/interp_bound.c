/*
 * Bounds: how far may an honest kernel's value of this operation be from the real one?
 *
 * Running error analysis.  With v = f(x, y), and x', y' within bx, by for every honest candidate:
 *
 *     bound = largest change of f over the box + cost * u * scale
 *
 * u is the type's unit roundoff, cost * scale what an honest evaluation of f may lose.  Changes are
 * taken at the ends of the interval where f is monotone, so steep functions are safe.  An infinite
 * bound means open: any value is accepted, e.g. behind a division by what may be 0.
 *
 * Functions in f32.  CUDA C++ Programming Guide 13.0, "Mathematical Functions", largest distance
 * from the correctly rounded value in ulp (1 ulp <= 2 u): exp exp2 2, expm1 1, log log2 log1p 1,
 * rsqrt 2, fdividef 2, sin cos 2, tan 4, asin acos atan 2, atan2 3, sinh 3, cosh tanh erf 2, erfc
 * 4, pow 4; __expf 2 + floor(|1.173 x|), __logf 2^-21.41 absolute in [0.5, 2] and 3 ulp elsewhere,
 * __sinf 2^-21.41 and __cosf 2^-21.19 absolute in [-pi, pi], __tanf as their quotient.  With the
 * half ulp of rounding all are within function_cost(), most at half of it, because kernels compose
 * them: 1 / s, e^x - 1, 1 - 2 / (1 + e^2x); rsqrt, fdividef, __logf and __cosf come to 5 of 6, 5 of
 * 6, 7 of 8 and 7 of 8 u.  All stays below 2^-18 relative at ordinary arguments, a hundredth of
 * what tanh.approx (2^-11, __tanhf) or bf16 lose.  Not covered: __sinf and __cosf beyond pi, where
 * the guide promises nothing and PTX 2^-14.7 at 100 pi; __powf near x = 1, which is exp2(y log2 x)
 * with log2 off by 2^-22.  In f64 the guide has 1 to 2, erfc 5.  In f16 and bf16 the PTX ISA allows
 * ex2.approx 2^-9.9 and 2^-7 relative, tanh.approx 2^-10.987 and 2^-8 absolute: at most 2.2 u of
 * the 3 in units().
 *
 * Sums of K terms, in units of u * sum|terms|, largest error seen (facts/verification, section 3;
 * tests/unit/solver/ir/test_interp_bound.c):
 *
 *     zero mean, any order          4.1 for every K
 *     positive, one accumulator     0.9 .. 1.0 * sqrt(K)
 *
 * An addition loses up to u times the partial sum, so what matters is how large partial sums get:
 * with P the largest in index order, 4 sqrt(K) P / sum|terms| is 4 sqrt(K) for positive terms and
 * about 6 for zero-mean ones.  Hence max(16, 4 sqrt(K) P / sum|terms|), and never more than the
 * K - 1 that no order exceeds.  Tensor cores truncate where they accumulate, K / 8 times, so sums
 * of products get K / 8 * P / sum|terms| too.  Sums in types narrower than f32 may stagnate: K - 1.
 * A compensated sum is within (2 + O(K u)) units (Kahan; Higham 2002, section 4.3): 3 + K u.
 *
 * Terms that are alike round alike: with equal terms, or terms far below the partial sum s, errors
 * do not average out.  So a third term in a row that differs from its predecessor by at most
 * 2 u |s| adds what its addition can lose, min(|term|, u |s|); random terms rarely do.  From the
 * other end the same terms meet V - s, V the whole sum: u times the sum of |V - s| over them, which
 * is at most sqrt(n sum (V - s)^2) for n of them; never more than their own sizes.  And where a
 * term dwarfs all n before it, an order that begins with it may lose u times its size n times.
 *
 * An f32 product made of three tf32 ones (3xTF32, honest on every track) is within 12 u of itself:
 * two rests rounded at 2^-11 of 2^-11, and the product of the rests left out.
 *
 * Products whose factors the track rounds to u_in: what rounding does to this very sum, for each
 * factor alone, plus 4 u_in sqrt(sum (ab)^2) for other honest roundings (ties, a scale folded into
 * a factor, factors computed in another order).  Rounding both factors has a standard deviation of
 * 0.59 u_in in that unit, so 4 is seven of them; bf16 on a tf32 track is eight times larger.
 *
 * An addition costs u times its operands' size, not its result's, because honest kernels distribute
 * what follows: (x - mean) * scale + shift is also x * scale + (shift - mean * scale).  And twice
 * that where an operand was computed, so that p - q + b may be p + (b - q).
 *
 * Exact integers below 1 / u cost nothing, in any order, in an output.  Other sums are steps to
 * something that may be reached without them: Welford's running mean of integers is no integer, nor
 * are the weights of an attention that divides before it adds.
 *
 * A sum has no order, so where the terms of one sign alone leave the type's range it is open.  So
 * is a product whose factors above 1 do; where those below 1 leave it at the other end, the others
 * multiply what is flushed.
 *
 * In f64 the value that candidates are compared with is itself rounded like theirs: u counts twice.
 *
 * A negative bound -l says that the value may overflow its type: an honest value has v's sign and a
 * magnitude of l or more, infinity included.  1 / (1 + exp(-x)) is well-defined behind such a
 * value; operations that do not know better (all but NEG, ADD, SUB, DIV) treat it as open.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "solver/ir/interp_int.h"

/* One operand or result: value and bound. */
struct ball {
    double v, b;
};

struct limits bound_limits(enum dtype dtype)
{
    if (!dtype_is_float(dtype))
        return (struct limits){.max = INFINITY};
    struct limits limits = {.unit = dtype_unit_roundoff(dtype),
                            .max = dtype_max(dtype),
                            .flush = dtype_tiny(dtype) / 2,
                            .wide = dtype == DTYPE_F32 || dtype == DTYPE_F64};
    limits.whole = 1 / limits.unit;
    limits.normal = dtype_tiny(dtype) / (2 * limits.unit);
    if (dtype == DTYPE_F64) {
        limits.flush = 0x1p-1022;
        limits.unit *= 2;
    }
    if (dtype == DTYPE_F32)
        limits.flush = 0x1p-126;
    return limits;
}

/* At least `least`, or open when that says nothing. */
static double overflowing(double least)
{
    return least > 1 ? -fmin(least, DBL_MAX) : INFINITY;
}

/* Anything inexact may also be flushed. */
static double settle(const struct limits *t, double v, double b)
{
    if (!(b < INFINITY))
        return INFINITY;
    if (isfinite(v) && fabs(v) + b > t->max)
        return overflowing(fabs(v) - b);
    return b > 0 ? b + t->flush : 0;
}

static double open_or(double b)
{
    return b < 0 ? INFINITY : b;
}

/* Of a value that is not finite: exact when it comes from exact operands or infinite ones. */
static double settle_special(const struct ball *args, size_t count)
{
    bool special = false;
    bool open = false;
    bool exact = true;
    for (size_t i = 0; i < count; i++) {
        special |= !isfinite(args[i].v);
        open |= !(args[i].b < INFINITY);
        exact &= args[i].b == 0;
    }
    return !open && (special || exact) ? 0 : INFINITY;
}

/* What `cost` units are worth: intrinsics of narrow types are no worse than 3. */
static double units(const struct limits *t, double cost)
{
    return (t->wide ? cost : fmin(cost, 3)) * t->unit;
}

/* Of one operation; more than nothing even where it underflows in double. */
static double rounding(const struct limits *t, double size)
{
    return t->unit * size + DBL_TRUE_MIN;
}

static bool is_whole(double x)
{
    return fabs(x) < 0x1p51 && (x + 0x1.8p52) - 0x1.8p52 == x;
}

static bool is_power_of_two(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return (bits & ((UINT64_C(1) << 52) - 1)) == 0 && x != 0 && isfinite(x);
}

/* ---- arithmetic ---- */

/* Both exactly known integers, and the result small enough for the type. */
static bool is_integral(const struct limits *t, double x, double y, double v)
{
    return fabs(v) <= t->whole && fabs(x) <= t->whole && fabs(y) <= t->whole && is_whole(x) &&
           is_whole(y);
}

/* An operand may overflow: the sum then has its sign, and loses at most the other's size. */
static double add_overflowing(const struct ball *x, const struct ball *y)
{
    const struct ball *big = x->b < 0 ? x : y;
    const struct ball *other = x->b < 0 ? y : x;
    if (other->b < 0 || !isfinite(other->v) || !(other->b < INFINITY))
        return INFINITY;
    return overflowing(-big->b - fabs(other->v) - other->b);
}

static double bound_add(const struct limits *t, const struct ball *x, const struct ball *y)
{
    double moved = x->b + y->b;
    if (x->b < 0 || y->b < 0)
        return add_overflowing(x, y);
    if ((x->b == 0 && x->v == 0) || (y->b == 0 && y->v == 0))
        return moved;
    double size = fabs(x->v) + fabs(y->v) + moved;
    return moved + rounding(t, moved > 0 ? 2 * size : size);
}

static double bound_mul(const struct limits *t, double x, double bx, double y, double by, double v)
{
    double moved = fabs(x) * by + fabs(y) * bx + bx * by;
    if ((bx == 0 && x == 0) || (by == 0 && y == 0))
        return moved;
    bool scales = (bx == 0 && is_power_of_two(x)) || (by == 0 && is_power_of_two(y));
    if (scales && fabs(v) >= t->normal)
        return moved;
    if (bx == 0 && by == 0 && is_integral(t, x, y, v))
        return moved;
    return moved + rounding(t, fabs(v) + moved);
}

/* __fdividef is 0 for divisors from 2^126 to 2^128 (CUDA guide, "Intrinsic Functions"). */
static bool divides_far(const struct limits *t, const struct ball *y)
{
    return t->normal == 0x1p-126 && fabs(y->v) + y->b > 0x1p126;
}

static double bound_div(const struct limits *t, const struct ball *x, const struct ball *y,
                        double v)
{
    if (y->b < 0)
        return fmax(fabs(v), (fabs(x->v) + open_or(x->b)) / -y->b);
    double least = fabs(y->v) - y->b;
    if (!(least > 0) || x->b < 0)
        return INFINITY;
    double moved = (x->b + fabs(v) * y->b) / least;
    if (divides_far(t, y))
        return fabs(v) + moved;
    if (moved == 0 && (v == 0 || (is_power_of_two(y->v) && fabs(v) >= t->normal)))
        return 0;
    return moved + units(t, 6) * (fabs(v) + moved) + DBL_TRUE_MIN;
}

static double bound_fma(const struct limits *t, const struct ball *a)
{
    double p = a[0].v * a[1].v;
    struct ball product = {p, bound_mul(t, a[0].v, a[0].b, a[1].v, a[1].b, p)};
    return bound_add(t, &product, &a[2]);
}

static double bound_extremum(bool max, const struct ball *x, const struct ball *y, double v)
{
    if (!(x->b < INFINITY && y->b < INFINITY))
        return INFINITY;
    double low = max ? fmax(x->v - x->b, y->v - y->b) : fmin(x->v - x->b, y->v - y->b);
    double high = max ? fmax(x->v + x->b, y->v + y->b) : fmin(x->v + x->b, y->v + y->b);
    return fmax(v - low, high - v);
}

/* ---- functions ---- */

static double apply(enum expr_op op, double x)
{
    union cell in = {.f = x};
    union cell out;
    eval_function(op, &in, &out);
    return out.f;
}

/* Where the function is defined; outside, an honest value may be NaN. */
static bool in_domain(enum expr_op op, double low, double high)
{
    if (op == EXPR_LOG || op == EXPR_LOG2 || op == EXPR_RSQRT)
        return low > 0;
    if (op == EXPR_LOG1P)
        return low > -1;
    if (op == EXPR_SQRT)
        return low >= 0;
    return (op != EXPR_ASIN && op != EXPR_ACOS) || (low >= -1 && high <= 1);
}

/* Largest change of a monotone function over [x - b, x + b], cut at `least`. */
static double swing(enum expr_op op, const struct ball *x, double least, double v)
{
    if (x->b == 0)
        return 0;
    if ((op == EXPR_EXP || op == EXPR_EXPM1) && x->b < 0x1p-6)
        return (op == EXPR_EXP ? v : v + 1) * (x->b + x->b * x->b);
    double low = fmin(x->v, fmax(x->v - x->b, least));
    double high = x->v + x->b;
    if (!in_domain(op, low, high))
        return INFINITY;
    return fmax(fabs(apply(op, low) - v), fabs(apply(op, high) - v));
}

static double swing_tan(const struct ball *x, double v)
{
    const double pi = 3.14159265358979323846;
    double low = x->v - x->b;
    double high = x->v + x->b;
    if (floor(low / pi + 0.5) != floor(high / pi + 0.5))
        return INFINITY;
    return fmax(fabs(tan(low) - v), fabs(tan(high) - v));
}

/* Error of an honest evaluation in units of u, absolute. */
static double function_cost(enum expr_op op, double x, double v)
{
    double size = fabs(v);
    if (op == EXPR_EXP)
        return (8 + 3 * fabs(x)) * size;
    if (op == EXPR_EXP2)
        return (8 + 2 * fabs(x)) * size;
    if (op == EXPR_EXPM1)
        return (8 + 3 * fabs(x)) * fabs(v + 1) + 8 * size;
    if (op == EXPR_SQRT || op == EXPR_RSQRT)
        return 6 * size;
    if (op == EXPR_LOG || op == EXPR_LOG2 || op == EXPR_LOG1P)
        return 8 * fmax(size, 1);
    if (op == EXPR_TAN)
        return 16 * (1 + v * v);
    if (op == EXPR_SINH || op == EXPR_COSH)
        return (8 + 3 * fabs(x)) * fmax(size, 1);
    return op == EXPR_ERFC ? 16 * size : 8 * fmax(size, 1);
}

static bool is_step(enum expr_op op)
{
    return op == EXPR_FLOOR || op == EXPR_CEIL || op == EXPR_TRUNC || op == EXPR_RINT ||
           op == EXPR_SIGN;
}

static double bound_function(const struct limits *t, enum expr_op op, const struct ball *x,
                             double least, double v)
{
    if (op == EXPR_NEG || op == EXPR_ABS)
        return x->b;
    if (x->b == 0 && isinf(x->v))
        return 0;
    if (!(x->b < INFINITY))
        return INFINITY;
    if (is_step(op))
        return swing(op, x, least, v);
    double moved;
    if (op == EXPR_SIN || op == EXPR_COS)
        moved = fmin(x->b, 2);
    else if (op == EXPR_TAN)
        moved = swing_tan(x, v);
    else if (op == EXPR_COSH)
        moved = x->b == 0 ? 0 : fmax(cosh(fabs(x->v) + x->b) - v, v - 1);
    else
        moved = swing(op, x, least, v);
    bool exact = fabs(x->v) <= 1 && x->v == rint(x->v) && v == rint(v) && op != EXPR_ERF;
    if (moved == 0 && exact)
        return 0;
    return moved + units(t, function_cost(op, x->v, v)) + units(t, 2) * moved + DBL_TRUE_MIN;
}

static double bound_pow(const struct limits *t, const struct ball *x, const struct ball *y,
                        double v)
{
    double moved = 0;
    if (x->b > 0 || y->b > 0) {
        bool whole = y->b == 0 && y->v == rint(y->v);
        if (!(x->v - x->b > 0) && !(whole && y->v >= 0))
            return INFINITY;
        for (int i = 0; i < 4; i++) {
            double corner =
                pow(i & 1 ? x->v + x->b : x->v - x->b, i & 2 ? y->v + y->b : y->v - y->b);
            moved = fmax(moved, fabs(corner - v));
        }
        if (fabs(x->v) <= x->b)
            moved = fmax(moved, fabs(v));
    }
    double slope = v != 0 ? fabs(log(fabs(v))) : 0;
    return moved + units(t, (16 + 4 * slope) * fabs(v));
}

static double bound_atan2(const struct limits *t, const struct ball *y, const struct ball *x,
                          double v)
{
    const double turn = 6.283185307179586;
    double radius = hypot(y->v, x->v) - hypot(y->b, x->b);
    double moved = y->b + x->b > 0 ? (y->b + x->b) / fmax(radius, 0x1p-1000) : 0;
    bool wraps = x->v - x->b <= 0 && y->b > 0 && fabs(y->v) <= y->b;
    return (wraps ? turn : fmin(moved, turn)) + units(t, 8 * fmax(fabs(v), 1));
}

static double bound_fmod(const struct ball *x, const struct ball *y)
{
    if (x->b == 0 && y->b == 0)
        return 0;
    double least = fabs(y->v) - y->b;
    if (!(least > 0))
        return INFINITY;
    double q = trunc(x->v / y->v);
    double far = (fabs(x->v) + x->b) / least;
    double near = (fabs(x->v) - x->b) / (fabs(y->v) + y->b);
    bool decided = trunc(far) == fabs(q) && (near >= fabs(q)) && (q != 0 || near >= 0);
    return decided ? x->b + fabs(q) * y->b : INFINITY;
}

/* ---- choices ---- */

static double undecided(bool yes)
{
    return yes ? 1 : 0;
}

static double bound_test(enum expr_op op, const struct ball *x, const struct ball *y)
{
    if (op == EXPR_AND || op == EXPR_OR) {
        bool settles = op == EXPR_OR; /* the value that decides alone */
        bool by_x = x->b == 0 && (x->v != 0) == settles;
        bool by_y = y->b == 0 && (y->v != 0) == settles;
        return undecided(!by_x && !by_y && x->b + y->b > 0);
    }
    double reach = x->b + y->b;
    return undecided(reach > 0 && !(fabs(x->v - y->v) > reach));
}

static double bound_where(const struct ball *args, double v)
{
    const struct ball *c = &args[0];
    if (c->b == 0)
        return c->v != 0 ? args[1].b : args[2].b;
    double reach = fmax(args[1].b, args[2].b) + fabs(args[1].v - args[2].v);
    return isfinite(v) && reach < INFINITY ? reach : INFINITY;
}

static double bound_int(enum expr_op op, enum dtype dtype, const struct ball *args, double v)
{
    const struct ball *x = &args[0];
    const struct ball *y = &args[1];
    if (x->b == 0 && y->b == 0)
        return 0;
    double b = INFINITY;
    if (op == EXPR_NEG || op == EXPR_ABS)
        b = x->b;
    else if (op == EXPR_ADD || op == EXPR_SUB)
        b = x->b + y->b;
    else if (op == EXPR_MUL)
        b = fabs(x->v) * y->b + fabs(y->v) * x->b + x->b * y->b;
    else if (op == EXPR_MIN || op == EXPR_MAX)
        b = bound_extremum(op == EXPR_MAX, x, y, v);
    else if (op == EXPR_NOT || op == EXPR_BITXOR || op == EXPR_BITAND || op == EXPR_BITOR)
        b = dtype == DTYPE_BOOL ? 1 : INFINITY;
    double limit = ldexp(1, (int)dtype_bytes(dtype) * 8 - 1) - 1;
    if (dtype == DTYPE_BOOL)
        limit = 2;
    return b <= limit && fabs(v) + b <= limit ? b : INFINITY;
}

/* ---- lanes ---- */

static double bound_float(const struct insn *insn, const struct ball *args, double least, double v)
{
    const struct limits *t = &insn->limits;
    enum expr_op op = insn->op;
    if (op == EXPR_ADD || op == EXPR_SUB)
        return bound_add(t, &args[0], &args[1]);
    if (op == EXPR_MUL)
        return bound_mul(t, args[0].v, args[0].b, args[1].v, args[1].b, v);
    if (op == EXPR_DIV)
        return bound_div(t, &args[0], &args[1], v);
    if (op == EXPR_FMA)
        return bound_fma(t, args);
    if (op == EXPR_MIN || op == EXPR_MAX)
        return bound_extremum(op == EXPR_MAX, &args[0], &args[1], v);
    if (op == EXPR_POW)
        return bound_pow(t, &args[0], &args[1], v);
    if (op == EXPR_ATAN2)
        return bound_atan2(t, &args[0], &args[1], v);
    if (op == EXPR_FMOD)
        return bound_fmod(&args[0], &args[1]);
    return bound_function(t, op, &args[0], least, v);
}

/* The operands of lane i. */
static void load_balls(const struct worker *w, const struct insn *insn, size_t i, struct ball *args)
{
    for (size_t a = 0; a < COUNT_OF(insn->args) && insn->args[a] != OP_NONE; a++) {
        const struct reg *reg = &w->regs[insn->args[a]];
        bool is_float = dtype_is_float(w->kernel->insns[insn->args[a]].dtype);
        union cell cell = reg->at[i * reg->step];
        args[a] =
            (struct ball){is_float ? cell.f : (double)cell.i, reg->bound[i * reg->bound_step]};
    }
}

/* exp(p - m) is often computed as exp2(p c - m c), which loses u times the larger of both. */
static double scale_cost(const struct worker *w, const struct insn *insn, size_t i, double v)
{
    struct ball args[3];
    load_balls(w, &w->kernel->insns[insn->args[0]], i, args);
    double size = fmax(fabs(args[0].v), fabs(args[1].v));
    return isfinite(size) ? units(&insn->limits, 2 * size * v) : 0;
}

static double bound_lane(const struct worker *w, const struct insn *insn, const struct ball *args,
                         size_t count, union cell value, size_t i)
{
    bool is_float = dtype_is_float(insn->dtype);
    double v = is_float ? value.f : (double)value.i;
    if (insn->op == EXPR_WHERE)
        return bound_where(args, v);
    if (insn->op >= EXPR_LT && insn->op <= EXPR_OR)
        return bound_test(insn->op, &args[0], &args[1]);
    if (insn->op == EXPR_ISNAN || insn->op == EXPR_ISINF)
        return undecided(!(args[0].b < INFINITY));
    if (!is_float)
        return bound_int(insn->op, insn->dtype, args, v);
    if (isinf(v) && insn->op == EXPR_EXP && isfinite(args[0].v) && args[0].b > 0)
        return overflowing(exp(args[0].v - args[0].b));
    if (!isfinite(v) && !(insn->op == EXPR_NEG && args[0].b < 0))
        return settle_special(args, count);
    double b = bound_float(insn, args, w->kernel->insns[insn->args[0]].least, v);
    if (b < 0)
        return b;
    if (insn->scaled_exp && b > 0)
        b += scale_cost(w, insn, i, v);
    return settle(&insn->limits, v, b);
}

/* Products and sums, which most work is: no gathering of operands. */
static void bound_plain_lanes(const struct insn *insn, const struct reg *a, const struct reg *b,
                              const struct reg *dst, size_t n)
{
    const struct limits *t = &insn->limits;
    for (size_t i = 0; i < n; i++) {
        struct ball args[2] = {
            {a->at[i * a->step].f, a->bound[i * a->bound_step]},
            {b->at[i * b->step].f, b->bound[i * b->bound_step]},
        };
        double v = dst->own[i].f;
        double bound = insn->op == EXPR_MUL ? bound_mul(t, args[0].v, open_or(args[0].b), args[1].v,
                                                        open_or(args[1].b), v)
                                            : bound_add(t, &args[0], &args[1]);
        if (bound >= 0 && fabs(v) + bound <= t->max)
            dst->own_bound[i] = bound + (bound > 0 ? t->flush : 0);
        else if (bound < 0 || isfinite(v))
            dst->own_bound[i] = bound < 0 ? bound : settle(t, v, bound);
        else
            dst->own_bound[i] = settle_special(args, 2);
    }
}

static bool all_exact(const struct worker *w, const struct insn *insn, size_t count)
{
    for (size_t a = 0; a < count; a++) {
        const struct reg *reg = &w->regs[insn->args[a]];
        if (reg->bound_step != 0 || reg->bound[0] != 0)
            return false;
    }
    return true;
}

void bound_op_lanes(const struct worker *w, const struct insn *insn, const struct reg *dst,
                    size_t n)
{
    size_t count = 0;
    while (count < COUNT_OF(insn->args) && insn->args[count] != OP_NONE)
        count++;
    if (!dtype_is_float(insn->dtype) && all_exact(w, insn, count)) {
        for (size_t i = 0; i < n; i++)
            dst->own_bound[i] = 0;
        return;
    }
    bool plain = insn->op == EXPR_MUL || insn->op == EXPR_ADD || insn->op == EXPR_SUB;
    if (plain && dtype_is_float(insn->dtype)) {
        bound_plain_lanes(insn, &w->regs[insn->args[0]], &w->regs[insn->args[1]], dst, n);
        return;
    }
    struct ball args[COUNT_OF(insn->args)] = {{0, 0}};
    for (size_t i = 0; i < n; i++) {
        load_balls(w, insn, i, args);
        dst->own_bound[i] = bound_lane(w, insn, args, count, dst->own[i], i);
    }
}

/* ---- conversions ---- */

static bool narrows(enum dtype from, enum dtype to)
{
    return dtype_unit_roundoff(to) > dtype_unit_roundoff(from) || dtype_max(to) < dtype_max(from);
}

/* A rounding that the spec asks for: every rounding of a value in reach. */
static double bound_cast(const struct conversion *c, const struct ball *x, double v)
{
    if (!isfinite(v))
        return x->b == 0 ? 0 : INFINITY;
    if (!c->tf32 && !narrows(c->from, c->to))
        return x->b + fabs(x->v - v);
    double low = c->tf32 ? tf32_round(x->v - x->b) : dtype_round(c->to, x->v - x->b);
    double high = c->tf32 ? tf32_round(x->v + x->b) : dtype_round(c->to, x->v + x->b);
    double b = fmax(v - low, high - v);
    return b < INFINITY ? b : INFINITY;
}

/* A value that the real meaning leaves as it is, but an honest kernel stores in a narrower type. */
static double bound_assign(const struct conversion *c, const struct ball *x)
{
    bool fits = x->b == 0 && dtype_round(c->to, x->v) == x->v;
    if (!isfinite(x->v) || !narrows(c->from, c->to) || fits)
        return x->b;
    struct limits t = bound_limits(c->to);
    return settle(&t, x->v, x->b + t.unit * (fabs(x->v) + x->b));
}

static double bound_to_int(const struct conversion *c, const struct ball *x, int64_t v)
{
    if (c->to == DTYPE_BOOL)
        return undecided(x->b > 0 && !(fabs(x->v) > x->b));
    if (x->b == 0)
        return 0;
    double low = trunc(x->v - x->b);
    double high = trunc(x->v + x->b);
    double limit = ldexp(1, (int)dtype_bytes(c->to) * 8 - 1) - 1;
    if (!(low >= -limit && high <= limit))
        return INFINITY;
    return fmax(high - (double)v, (double)v - low);
}

static double bound_conversion(const struct conversion *c, const struct ball *x, union cell out)
{
    bool from_float = dtype_is_float(c->from);
    bool to_float = dtype_is_float(c->to);
    if (from_float && to_float)
        return c->is_cast ? bound_cast(c, x, out.f) : bound_assign(c, x);
    if (from_float)
        return bound_to_int(c, x, out.i);
    if (to_float) {
        bool fits = dtype_round(c->to, x->v) == x->v;
        struct limits t = bound_limits(c->to);
        return settle(&t, out.f, x->b + (fits ? 0 : t.unit * (fabs(x->v) + x->b)));
    }
    if (c->to == DTYPE_BOOL)
        return undecided(x->b > 0 && !(fabs(x->v) > x->b));
    double limit = ldexp(1, (int)dtype_bytes(c->to) * 8 - 1) - 1;
    return x->b == 0 || fabs(x->v) + x->b <= limit ? x->b : INFINITY;
}

void bound_convert(const struct conversion *c, const struct reg *src, const struct reg *dst,
                   size_t n)
{
    bool from_float = dtype_is_float(c->from);
    for (size_t i = 0; i < n; i++) {
        union cell in = src->at[i * src->step];
        struct ball x = {from_float ? in.f : (double)in.i, src->bound[i * src->bound_step]};
        bool same = c->from == c->to && !c->tf32;
        if (x.b < 0 && !same)
            x.b = INFINITY;
        if (same || !(x.b < INFINITY))
            dst->own_bound[i] = x.b;
        else
            dst->own_bound[i] = bound_conversion(c, &x, dst->own[i]);
    }
}

/* ---- sums ---- */

/* What the additions of terms that are alike may lose, from either end. */
static double alike_loss(const struct acc *acc, size_t at, double unit)
{
    double v = acc->value[at].f;
    double n = acc->field[ACC_ALIKE][at];
    double squares =
        n * v * v - 2 * v * acc->field[ACC_ALIKE_AT][at] + acc->field[ACC_ALIKE_SQUARE][at];
    double reversed = unit * sqrt(n * fmax(squares, 0));
    return fmax(acc->field[ACC_COHERENT][at], fmin(reversed, acc->field[ACC_ALIKE_ABS][at])) +
           acc->field[ACC_DWARFED][at];
}

/* What honest orders of summing `count` terms may lose. */
static double sum_loss(const struct kernel *k, const struct acc *acc, size_t at, double count)
{
    double size = k->limits.unit * acc->field[ACC_ABS][at];
    double split = k->is_split ? 12 : 0;
    double most = (count - 1 + split) * size;
    double peak = k->limits.unit * fmin(acc->field[ACC_PEAK][at], acc->field[ACC_ABS][at]);
    if (k->summation == SUMMATION_COMPENSATED)
        return fmin(most, (3 + count * k->limits.unit) * size);
    if (!k->limits.wide)
        return most;
    double any_order = 4 * sqrt(count) * peak;
    double truncated = k->is_product ? count / 8 * peak : 0;
    double loss = fmax(16 * size, fmax(any_order, truncated)) + alike_loss(acc, at, k->limits.unit);
    return fmin(most, loss);
}

double bound_sum(const struct kernel *k, const struct acc *acc, size_t at, int64_t count)
{
    double v = acc->value[at].f;
    double b = acc->field[ACC_BOUND][at];
    if (!isfinite(v))
        return b < INFINITY ? 0 : INFINITY;
    if (k->is_contraction) {
        double random = 4 * k->factor_roundoff * sqrt(acc->field[ACC_SQUARE][at]);
        b += random + fabs(acc->field[ACC_ROUND_A][at]) + fabs(acc->field[ACC_ROUND_B][at]);
    }
    if (!k->keeps_exact || acc->field[ACC_INEXACT][at] != 0 ||
        acc->field[ACC_ABS][at] > k->limits.whole)
        b += sum_loss(k, acc, at, (double)count);
    double one_sign = (acc->field[ACC_ABS][at] + fabs(v)) / 2; /* the terms of v's sign alone */
    if (one_sign + b > k->limits.max)
        return INFINITY;
    return settle(&k->limits, v, b);
}

double bound_product(const struct limits *limits, double x, double bx, double y, double by,
                     double v)
{
    double b = bound_mul(limits, x, open_or(bx), y, open_or(by), v);
    if (isfinite(v))
        return open_or(settle(limits, v, b));
    struct ball args[2] = {{x, open_or(bx)}, {y, open_or(by)}};
    return settle_special(args, 2);
}

double bound_factors(const struct limits *limits, double b, double above, double below)
{
    double most = exp2(above);
    double least = exp2(below);
    if (most > limits->max)
        return INFINITY;
    return least < limits->normal ? b + limits->flush * most : b;
}
