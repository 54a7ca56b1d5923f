/*
 * Values of operations, lane by lane.
 *
 * Floats are doubles.  In INTERP_TYPED each result is then rounded to its type; for + - * / and
 * sqrt of f32, f16, bf16 and fp8 rounding the double result gives the correctly rounded one, since
 * a double has more than twice their digits and two; fma goes through round-to-odd.  Math functions
 * are the C library's in double, rounded.  Integers are int64 wrapped to their type after each
 * operation, which for + - * << & | ^ ~ equals arithmetic at that width.
 *
 * Invariant: dst owns its lanes and is no operand.
 */
#include <math.h>
#include <string.h>

#include "base/panic.h"

#include "solver/ir/interp_int.h"

/* ---- rounding and conversion ---- */

/* Round to nearest even by adding half of the last kept bit; for normal numbers of the format. */
static double round_bits(double value, int drop)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    uint64_t half = (UINT64_C(1) << (drop - 1)) - 1 + (bits >> drop & 1);
    bits = (bits + half) & ~((UINT64_C(1) << drop) - 1);
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static void round_narrow(enum dtype dtype, int drop, double normal_min, union cell *at, size_t n)
{
    double max = dtype_max(dtype);
    for (size_t i = 0; i < n; i++) {
        double magnitude = fabs(at[i].f);
        bool plain = magnitude >= normal_min && magnitude <= max;
        at[i].f = plain ? round_bits(at[i].f, drop) : dtype_round(dtype, at[i].f);
    }
}

void round_lanes(enum dtype dtype, union cell *at, size_t n)
{
    if (dtype == DTYPE_F64)
        return;
    if (dtype == DTYPE_BF16) {
        round_narrow(dtype, 45, 0x1p-126, at, n);
    } else if (dtype == DTYPE_F16) {
        round_narrow(dtype, 42, 0x1p-14, at, n);
    } else if (dtype == DTYPE_F32) {
        for (size_t i = 0; i < n; i++)
            at[i].f = (double)(float)at[i].f;
    } else {
        for (size_t i = 0; i < n; i++)
            at[i].f = dtype_round(dtype, at[i].f);
    }
}

static void wrap_lanes(enum dtype dtype, union cell *at, size_t n)
{
    if (dtype == DTYPE_I32) {
        for (size_t i = 0; i < n; i++)
            at[i].i = (int32_t)at[i].i;
    } else if (dtype != DTYPE_I64) {
        for (size_t i = 0; i < n; i++)
            at[i].i = dtype_wrap(dtype, at[i].i);
    }
}

static void int_range(enum dtype dtype, double *low, double *high)
{
    int bits = (int)dtype_bytes(dtype) * 8 - (dtype == DTYPE_U8 ? 0 : 1);
    *high = ldexp(1, bits);
    *low = dtype == DTYPE_U8 ? 0 : -*high;
}

/* Toward zero, held to the type's range; NaN is 0. */
static int64_t float_to_int(double value, double low, double high)
{
    if (isnan(value))
        return 0;
    double whole = trunc(value);
    if (whole >= high)
        return high >= 0x1p63 ? INT64_MAX : (int64_t)high - 1;
    return whole <= low ? (low <= -0x1p63 ? INT64_MIN : (int64_t)low) : (int64_t)whole;
}

static void float_lanes_to_int(enum dtype to, const struct reg *src, struct reg *dst, size_t n)
{
    double low, high;
    int_range(to, &low, &high);
    for (size_t i = 0; i < n; i++) {
        double value = src->at[i * src->step].f;
        dst->own[i].i = to == DTYPE_BOOL ? value != 0 : float_to_int(value, low, high);
    }
}

static void int_lanes_to_float(enum dtype to, bool round, const struct reg *src, struct reg *dst,
                               size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int64_t value = src->at[i * src->step].i;
        dst->own[i].f = (double)value;
        if (round) {
            uint64_t room;
            elem_from_int(to, &room, 0, value);
            dst->own[i].f = elem_to_double(to, &room, 0);
        }
    }
}

static void float_lanes(const struct conversion *c, const struct reg *src, struct reg *dst,
                        size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst->own[i].f = src->at[i * src->step].f;
    if (c->tf32) {
        for (size_t i = 0; i < n; i++)
            dst->own[i].f = tf32_round(dst->own[i].f);
    } else if (c->is_cast || c->mode == INTERP_TYPED) {
        round_lanes(c->to, dst->own, n);
    }
}

void eval_convert(const struct conversion *c, const struct reg *src, struct reg *dst, size_t n)
{
    bool from_float = dtype_is_float(c->from);
    bool to_float = dtype_is_float(c->to);
    if (from_float && to_float) {
        float_lanes(c, src, dst, n);
    } else if (from_float) {
        float_lanes_to_int(c->to, src, dst, n);
    } else if (to_float) {
        int_lanes_to_float(c->to, c->is_cast || c->mode == INTERP_TYPED, src, dst, n);
    } else {
        for (size_t i = 0; i < n; i++)
            dst->own[i].i = dtype_wrap(c->to, src->at[i * src->step].i);
    }
}

/* ---- operations ---- */

/* An operand: its lanes and their step. */
struct lanes {
    const union cell *at;
    size_t step;
};

static struct lanes lanes_of(const struct worker *w, const struct insn *insn, size_t arg)
{
    const struct reg *reg = &w->regs[insn->args[arg]];
    return (struct lanes){reg->at, reg->step};
}

#define UNARY(out, in, value)                                                                      \
    do {                                                                                           \
        for (size_t i = 0; i < n; i++) {                                                           \
            __typeof__(a.at->in) x = a.at[i * a.step].in;                                          \
            d[i].out = (value);                                                                    \
        }                                                                                          \
    } while (0)

/* The three loops differ only in what is constant, so that each can be vectorised. */
#define BINARY(out, in, value)                                                                     \
    do {                                                                                           \
        if (a.step && b.step) {                                                                    \
            for (size_t i = 0; i < n; i++) {                                                       \
                __typeof__(a.at->in) x = a.at[i].in, y = b.at[i].in;                               \
                d[i].out = (value);                                                                \
            }                                                                                      \
        } else if (a.step) {                                                                       \
            __typeof__(a.at->in) y = b.at[0].in;                                                   \
            for (size_t i = 0; i < n; i++) {                                                       \
                __typeof__(a.at->in) x = a.at[i].in;                                               \
                d[i].out = (value);                                                                \
            }                                                                                      \
        } else {                                                                                   \
            __typeof__(a.at->in) x = a.at[0].in;                                                   \
            for (size_t i = 0; i < n; i++) {                                                       \
                __typeof__(a.at->in) y = b.at[i * b.step].in;                                      \
                d[i].out = (value);                                                                \
            }                                                                                      \
        }                                                                                          \
    } while (0)

static double sign_of(double x)
{
    return x > 0 ? 1 : x < 0 ? -1 : x;
}

static double min_nan(double x, double y)
{
    return isnan(x) || x < y ? x : y;
}

static double max_nan(double x, double y)
{
    return isnan(x) || x > y ? x : y;
}

/* x * y + z of f32 or narrower, rounded to odd at 53 bits, so that one rounding follows. */
static double fma_odd(double x, double y, double z)
{
    double p = x * y;
    double s = p + z;
    double t = s - p;
    double rest = (p - (s - t)) + (z - t);
    uint64_t bits;
    memcpy(&bits, &s, sizeof(bits));
    if (rest == 0 || !isfinite(s) || (bits & 1))
        return s;
    bits += (rest > 0) == (s > 0) ? 1 : UINT64_MAX;
    memcpy(&s, &bits, sizeof(s));
    return s;
}

static void unary_float(enum expr_op op, struct lanes a, union cell *restrict d, size_t n)
{
    if (op == EXPR_NEG)
        UNARY(f, f, -x);
    else if (op == EXPR_ABS)
        UNARY(f, f, fabs(x));
    else if (op == EXPR_SIGN)
        UNARY(f, f, sign_of(x));
    else if (op == EXPR_EXP)
        UNARY(f, f, exp(x));
    else if (op == EXPR_EXP2)
        UNARY(f, f, exp2(x));
    else if (op == EXPR_EXPM1)
        UNARY(f, f, expm1(x));
    else if (op == EXPR_LOG)
        UNARY(f, f, log(x));
    else if (op == EXPR_LOG2)
        UNARY(f, f, log2(x));
    else if (op == EXPR_LOG1P)
        UNARY(f, f, log1p(x));
    else if (op == EXPR_SQRT)
        UNARY(f, f, sqrt(x));
    else if (op == EXPR_RSQRT)
        UNARY(f, f, 1 / sqrt(x));
    else if (op == EXPR_FLOOR)
        UNARY(f, f, floor(x));
    else if (op == EXPR_CEIL)
        UNARY(f, f, ceil(x));
    else if (op == EXPR_TRUNC)
        UNARY(f, f, trunc(x));
    else if (op == EXPR_RINT)
        UNARY(f, f, rint(x));
    else
        panic("no unary operation of floats: %s", expr_op_name(op));
}

static bool is_circular(enum expr_op op)
{
    return op >= EXPR_SIN && op <= EXPR_ERFC;
}

static void unary_circular(enum expr_op op, struct lanes a, union cell *restrict d, size_t n)
{
    if (op == EXPR_SIN)
        UNARY(f, f, sin(x));
    else if (op == EXPR_COS)
        UNARY(f, f, cos(x));
    else if (op == EXPR_TAN)
        UNARY(f, f, tan(x));
    else if (op == EXPR_ASIN)
        UNARY(f, f, asin(x));
    else if (op == EXPR_ACOS)
        UNARY(f, f, acos(x));
    else if (op == EXPR_ATAN)
        UNARY(f, f, atan(x));
    else if (op == EXPR_SINH)
        UNARY(f, f, sinh(x));
    else if (op == EXPR_COSH)
        UNARY(f, f, cosh(x));
    else if (op == EXPR_TANH)
        UNARY(f, f, tanh(x));
    else if (op == EXPR_ERF)
        UNARY(f, f, erf(x));
    else if (op == EXPR_ERFC)
        UNARY(f, f, erfc(x));
    else
        panic("no circular operation: %s", expr_op_name(op));
}

static void binary_float(enum expr_op op, struct lanes a, struct lanes b, union cell *restrict d,
                         size_t n)
{
    if (op == EXPR_ADD)
        BINARY(f, f, x + y);
    else if (op == EXPR_SUB)
        BINARY(f, f, x - y);
    else if (op == EXPR_MUL)
        BINARY(f, f, x * y);
    else if (op == EXPR_DIV)
        BINARY(f, f, x / y);
    else if (op == EXPR_MIN)
        BINARY(f, f, min_nan(x, y));
    else if (op == EXPR_MAX)
        BINARY(f, f, max_nan(x, y));
    else if (op == EXPR_POW)
        BINARY(f, f, pow(x, y));
    else if (op == EXPR_ATAN2)
        BINARY(f, f, atan2(x, y));
    else if (op == EXPR_FMOD)
        BINARY(f, f, fmod(x, y));
    else
        panic("no binary operation of floats: %s", expr_op_name(op));
}

static void fma_lanes(const struct worker *w, const struct insn *insn, struct reg *dst, size_t n)
{
    struct lanes a = lanes_of(w, insn, 0);
    struct lanes b = lanes_of(w, insn, 1);
    struct lanes c = lanes_of(w, insn, 2);
    bool odd = w->interp->mode == INTERP_TYPED && insn->dtype != DTYPE_F64;
    for (size_t i = 0; i < n; i++) {
        double x = a.at[i * a.step].f;
        double y = b.at[i * b.step].f;
        double z = c.at[i * c.step].f;
        dst->own[i].f = odd ? fma_odd(x, y, z) : fma(x, y, z);
    }
}

static void where_lanes(const struct worker *w, const struct insn *insn, struct reg *dst, size_t n)
{
    struct lanes c = lanes_of(w, insn, 0);
    struct lanes a = lanes_of(w, insn, 1);
    struct lanes b = lanes_of(w, insn, 2);
    for (size_t i = 0; i < n; i++)
        dst->own[i] = c.at[i * c.step].i ? a.at[i * a.step] : b.at[i * b.step];
}

static void test_float(enum expr_op op, struct lanes a, struct lanes b, union cell *restrict d,
                       size_t n)
{
    if (op == EXPR_LT)
        BINARY(i, f, x < y);
    else if (op == EXPR_LE)
        BINARY(i, f, x <= y);
    else if (op == EXPR_GT)
        BINARY(i, f, x > y);
    else if (op == EXPR_GE)
        BINARY(i, f, x >= y);
    else if (op == EXPR_EQ)
        BINARY(i, f, x == y);
    else if (op == EXPR_NE)
        BINARY(i, f, x != y);
    else
        panic("no comparison: %s", expr_op_name(op));
}

/* ---- integers ---- */

static int64_t wrap_add(int64_t x, int64_t y)
{
    return (int64_t)((uint64_t)x + (uint64_t)y);
}

static int64_t wrap_sub(int64_t x, int64_t y)
{
    return (int64_t)((uint64_t)x - (uint64_t)y);
}

static int64_t wrap_mul(int64_t x, int64_t y)
{
    return (int64_t)((uint64_t)x * (uint64_t)y);
}

static int64_t floor_div(int64_t x, int64_t y)
{
    if (y == 0)
        return 0;
    return y == -1 ? wrap_sub(0, x) : num_floor_div(x, y);
}

static int64_t floor_mod(int64_t x, int64_t y)
{
    return y == 0 ? 0 : num_floor_mod(x, y);
}

/* Counts outside the type's width shift everything out. */
static int64_t shift_left(int64_t x, int64_t count, int width)
{
    return count < 0 || count >= width ? 0 : (int64_t)((uint64_t)x << count);
}

static int64_t shift_right(int64_t x, int64_t count, int width)
{
    if (count < 0 || count >= width)
        return x < 0 ? -1 : 0;
    return x >> count;
}

static void unary_int(enum expr_op op, struct lanes a, union cell *restrict d, size_t n)
{
    if (op == EXPR_NEG)
        UNARY(i, i, wrap_sub(0, x));
    else if (op == EXPR_ABS)
        UNARY(i, i, x < 0 ? wrap_sub(0, x) : x);
    else if (op == EXPR_SIGN)
        UNARY(i, i, (x > 0) - (x < 0));
    else if (op == EXPR_NOT)
        UNARY(i, i, !x);
    else if (op == EXPR_BITNOT)
        UNARY(i, i, ~x);
    else
        panic("no unary operation of integers: %s", expr_op_name(op));
}

static void binary_int(enum expr_op op, enum dtype dtype, struct lanes a, struct lanes b,
                       union cell *restrict d, size_t n)
{
    int width = (int)dtype_bytes(dtype) * 8;
    if (op == EXPR_ADD)
        BINARY(i, i, wrap_add(x, y));
    else if (op == EXPR_SUB)
        BINARY(i, i, wrap_sub(x, y));
    else if (op == EXPR_MUL)
        BINARY(i, i, wrap_mul(x, y));
    else if (op == EXPR_DIV)
        BINARY(i, i, floor_div(x, y));
    else if (op == EXPR_MOD)
        BINARY(i, i, floor_mod(x, y));
    else if (op == EXPR_SHL)
        BINARY(i, i, shift_left(x, y, width));
    else if (op == EXPR_SHR)
        BINARY(i, i, shift_right(x, y, width));
    else if (op == EXPR_BITAND)
        BINARY(i, i, x & y);
    else if (op == EXPR_BITOR)
        BINARY(i, i, x | y);
    else if (op == EXPR_BITXOR)
        BINARY(i, i, x ^ y);
    else if (op == EXPR_MIN)
        BINARY(i, i, x < y ? x : y);
    else if (op == EXPR_MAX)
        BINARY(i, i, x > y ? x : y);
    else
        panic("no binary operation of integers: %s", expr_op_name(op));
}

static void test_int(enum expr_op op, struct lanes a, struct lanes b, union cell *restrict d,
                     size_t n)
{
    if (op == EXPR_LT)
        BINARY(i, i, x < y);
    else if (op == EXPR_LE)
        BINARY(i, i, x <= y);
    else if (op == EXPR_GT)
        BINARY(i, i, x > y);
    else if (op == EXPR_GE)
        BINARY(i, i, x >= y);
    else if (op == EXPR_EQ)
        BINARY(i, i, x == y);
    else if (op == EXPR_NE)
        BINARY(i, i, x != y);
    else if (op == EXPR_AND)
        BINARY(i, i, x && y);
    else if (op == EXPR_OR)
        BINARY(i, i, x || y);
    else
        panic("no test of integers: %s", expr_op_name(op));
}

/* ---- dispatch ---- */

static bool is_test(enum expr_op op)
{
    return (op >= EXPR_LT && op <= EXPR_OR);
}

void eval_function(enum expr_op op, const union cell *in, union cell *out)
{
    struct lanes a = {in, 0};
    if (is_circular(op))
        unary_circular(op, a, out, 1);
    else
        unary_float(op, a, out, 1);
}

static void eval_float(const struct worker *w, const struct insn *insn, struct reg *dst, size_t n)
{
    struct lanes a = lanes_of(w, insn, 0);
    union cell *d = dst->own;
    if (insn->op == EXPR_FMA)
        fma_lanes(w, insn, dst, n);
    else if (is_test(insn->op))
        test_float(insn->op, a, lanes_of(w, insn, 1), d, n);
    else if (insn->op == EXPR_ISNAN)
        UNARY(i, f, isnan(x) != 0);
    else if (insn->op == EXPR_ISINF)
        UNARY(i, f, isinf(x) != 0);
    else if (insn->args[1] != OP_NONE)
        binary_float(insn->op, a, lanes_of(w, insn, 1), d, n);
    else if (is_circular(insn->op))
        unary_circular(insn->op, a, d, n);
    else
        unary_float(insn->op, a, d, n);
    if (w->interp->mode == INTERP_TYPED && dtype_is_float(insn->dtype))
        round_lanes(insn->dtype, d, n);
}

static void eval_int(const struct worker *w, const struct insn *insn, struct reg *dst, size_t n)
{
    struct lanes a = lanes_of(w, insn, 0);
    if (is_test(insn->op))
        test_int(insn->op, a, lanes_of(w, insn, 1), dst->own, n);
    else if (insn->args[1] != OP_NONE)
        binary_int(insn->op, insn->dtype, a, lanes_of(w, insn, 1), dst->own, n);
    else
        unary_int(insn->op, a, dst->own, n);
    wrap_lanes(insn->dtype, dst->own, n);
}

void eval_op(const struct worker *w, const struct insn *insn, struct reg *dst, size_t n)
{
    if (insn->op == EXPR_WHERE)
        where_lanes(w, insn, dst, n);
    else if (dtype_is_float(insn->from))
        eval_float(w, insn, dst, n);
    else
        eval_int(w, insn, dst, n);
}
