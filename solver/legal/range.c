/*
 * What values an expression can have, from it and the statements behind it.
 *
 * Intervals, bottom up, each statement once; and how small a value may be that is not 0, which
 * products and quotients need.  Of a product with itself the sign is known; u - m is at most 0
 * where m is the maximum of u over all that u runs over; a sum of exp(u - m) has a term exp(0).
 * Only finite values count, so 0 times a value without limit is 0; what leaves its type's range has
 * no limit.  Rounding moves what is returned by a few units in the last place.
 *
 * Two readers: expr_at_least knows nothing of inputs; expr_range takes them to be 0 or within
 * REWRITE_INPUT_LEAST and REWRITE_INPUT_MOST, integers to be any.
 *
 * Not here: what a rule does with it (finite.c), and intervals of integers at a shape
 * (solver/ir/interval.c).
 */
#include <math.h>

#include "base/num.h"

#include "solver/legal/rewrite_int.h"

enum { NODES_SEEN_MAX = 20000 };

enum seen { NOT_SEEN, BEING_SEEN, SEEN };

struct looking {
    struct draft *d;
    const struct stmt *stmt; /* whose loops the expression has; NULL = not told */
    double most, least;      /* of inputs */
    struct range *known;     /* by statement */
    signed char *seen;       /* enum seen, by statement */
    size_t nodes;
};

static const struct range anything = {(double)-INFINITY, (double)INFINITY, 0};

static struct range range_of(struct looking *l, const struct expr *e);

static struct range between(double low, double high, double least)
{
    struct range out = {isnan(low) ? anything.low : low, isnan(high) ? anything.high : high,
                        isnan(least) ? 0 : least};
    return out;
}

double range_most(struct range r)
{
    return fmax(fabs(r.low), fabs(r.high));
}

double range_least(struct range r)
{
    return fmax(r.least, fmax(r.low, -r.high));
}

static struct range either(struct range a, struct range b)
{
    return between(fmin(a.low, b.low), fmax(a.high, b.high), fmin(range_least(a), range_least(b)));
}

/* ---- arithmetic ---- */

static double times(double a, double b)
{
    return fabs(a) > 0 && fabs(b) > 0 ? a * b : 0;
}

static struct range product_of(struct range a, struct range b)
{
    double low = fmin(fmin(times(a.low, b.low), times(a.low, b.high)),
                      fmin(times(a.high, b.low), times(a.high, b.high)));
    double high = fmax(fmax(times(a.low, b.low), times(a.low, b.high)),
                       fmax(times(a.high, b.low), times(a.high, b.high)));
    return between(low, high, times(range_least(a), range_least(b)));
}

static struct range sum_of(struct range a, struct range b)
{
    bool alike = (a.low >= 0 && b.low >= 0) || (a.high <= 0 && b.high <= 0);
    return between(a.low + b.low, a.high + b.high,
                   alike ? fmin(range_least(a), range_least(b)) : 0);
}

static struct range negative(struct range a)
{
    return between(-a.high, -a.low, a.least);
}

static struct range size_of(struct range a)
{
    return between(range_least(a) > 0 && (a.low > 0 || a.high < 0) ? range_least(a) : 0,
                   range_most(a), a.least);
}

static struct range quotient_of(struct range a, struct range b)
{
    double least = range_least(b);
    if (isinf(least)) /* only ever 0 */
        return anything;
    struct range inverse = between(b.low >= 0 ? 1 / b.high : -1 / least,
                                   b.high <= 0 ? 1 / b.low : 1 / least, 1 / range_most(b));
    return product_of(a, inverse);
}

/* u - m, m the maximum of u over all values of the loops that it has here? */
static bool is_below_maximum(const struct looking *l, const struct expr *e)
{
    const struct expr *read = e->args[1];
    size_t of[OP_LOOPS_MAX];
    if (read->op != EXPR_READ || read->pad != NULL || l->stmt == NULL ||
        l->d->tensors[read->tensor].written_by == OP_NONE)
        return false;
    const struct stmt *maximum = &l->d->stmts[l->d->tensors[read->tensor].written_by];
    if (maximum->reduce != REDUCE_MAX || !is_straight(maximum))
        return false;
    const struct expr *u = expr_expanded(l->d->arena, &l->d->op, maximum->value);
    const struct expr *here = expr_expanded(l->d->arena, &l->d->op, e->args[0]);
    for (size_t i = 0; i < OP_LOOPS_MAX; i++)
        of[i] = OP_NONE;
    if (u == NULL || here == NULL || !expr_matches(u, here, of))
        return false;
    for (size_t i = 0; i < maximum->loop_count; i++) {
        bool whole = i >= maximum->free_count;
        if (of[i] == OP_NONE)
            continue;
        if (whole && !formula_equal(maximum->loops[i].extent, l->stmt->loops[of[i]].extent))
            return false;
        if (!whole && (read->subs[i]->op != EXPR_INDEX || read->subs[i]->loop != of[i]))
            return false;
    }
    return true;
}

static struct range difference_of(struct looking *l, const struct expr *e)
{
    struct range out = sum_of(range_of(l, e->args[0]), negative(range_of(l, e->args[1])));
    if (is_below_maximum(l, e))
        out.high = fmin(out.high, 0);
    return out;
}

/* ---- functions ---- */

static struct range logarithm_of(enum expr_op op, struct range a)
{
    double low = fmax(a.low, a.low >= 0 ? range_least(a) : 0);
    if (op == EXPR_LOG1P)
        return between(a.low >= 0 ? log1p(a.low) : anything.low, log1p(a.high), 0);
    return op == EXPR_LOG ? between(log(low), log(a.high), 0) : between(log2(low), log2(a.high), 0);
}

static struct range exponential_of(enum expr_op op, struct range a)
{
    double low = op == EXPR_EXP2 ? exp2(a.low) : exp(a.low);
    double high = op == EXPR_EXP2 ? exp2(a.high) : exp(a.high);
    if (op == EXPR_EXPM1)
        return between(low - 1, high - 1, 0);
    return between(fmin(low, 1), high, fmin(low, 1));
}

static struct range root_of(enum expr_op op, struct range a)
{
    double low = fmax(a.low, 0), least = sqrt(range_least(a));
    if (op == EXPR_SQRT)
        return between(sqrt(low), sqrt(a.high), least);
    return between(1 / sqrt(fmax(a.high, 0)), 1 / fmax(least, sqrt(low)), 1 / sqrt(a.high));
}

static struct range function_of(enum expr_op op, struct range a)
{
    switch ((int)op) {
    case EXPR_NEG:
        return negative(a);
    case EXPR_ABS:
        return size_of(a);
    case EXPR_EXP:
    case EXPR_EXP2:
    case EXPR_EXPM1:
        return exponential_of(op, a);
    case EXPR_LOG:
    case EXPR_LOG2:
    case EXPR_LOG1P:
        return logarithm_of(op, a);
    case EXPR_SQRT:
    case EXPR_RSQRT:
        return root_of(op, a);
    case EXPR_COSH:
        return between(1, cosh(range_most(a)), 1);
    case EXPR_SINH:
        return between(sinh(a.low), sinh(a.high), 0);
    case EXPR_SIGN:
    case EXPR_SIN:
    case EXPR_COS:
    case EXPR_TANH:
    case EXPR_ERF:
        return between(-1, 1, op == EXPR_SIGN ? 1 : 0);
    case EXPR_ERFC:
        return between(0, 2, 0);
    case EXPR_ASIN:
    case EXPR_ACOS:
    case EXPR_ATAN:
        return between(-4, 4, 0);
    case EXPR_FLOOR:
    case EXPR_CEIL:
    case EXPR_TRUNC:
    case EXPR_RINT:
        return between(a.low >= 0 ? 0 : a.low - 1, a.high <= 0 ? 0 : a.high + 1, 1);
    default:
        return anything;
    }
}

/* x^2 and the like of what has no sign. */
static struct range power_of(struct range a, const struct expr *exponent)
{
    bool whole = exponent->op == EXPR_INT;
    double by = whole ? (double)exponent->integer : exponent->real;
    if ((!whole && exponent->op != EXPR_FLOAT) || by < 0)
        return anything;
    double most = pow(range_most(a), by);
    return between(a.low >= 0 || fmod(by, 2) == 0 ? 0 : -most, most, pow(range_least(a), by));
}

/* ---- operands ---- */

static double least_dim(const struct looking *l, size_t dim)
{
    const struct dim *d = &l->d->op.dims[dim];
    return d->kind == DIM_VAR ? (double)d->min : d->kind == DIM_CONST ? (double)d->value : 0;
}

static double most_dim(const struct draft *d, const struct dim *dim)
{
    return dim->kind == DIM_VAR     ? (double)dim->max
           : dim->kind == DIM_CONST ? (double)dim->value
                                    : formula_at_most(d, dim->formula);
}

double formula_at_most(const struct draft *d, const struct formula *f)
{
    size_t dim;
    if (f->op == FORMULA_INT)
        return (double)f->value;
    if (f->op == FORMULA_NAME) {
        dim = op_dim_find(&d->op, f->name);
        return dim == OP_NONE ? (double)INFINITY : most_dim(d, &d->op.dims[dim]);
    }
    if (f->op == FORMULA_SUB)
        return formula_at_most(d, f->a);
    if (f->b == NULL)
        return (double)INFINITY;
    double a = formula_at_most(d, f->a), b = formula_at_most(d, f->b);
    if (f->op == FORMULA_ADD)
        return a + b;
    if (f->op == FORMULA_MUL)
        return a * b;
    if (f->op == FORMULA_DIV || f->op == FORMULA_CEILDIV)
        return f->b->op == FORMULA_INT && f->b->value > 0 ? ceil(a / (double)f->b->value) : a;
    return f->op == FORMULA_MIN   ? fmin(a, b)
           : f->op == FORMULA_MAX ? fmax(a, b)
           : f->op == FORMULA_MOD ? b
                                  : (double)INFINITY;
}

double terms_at_most(const struct draft *d, const struct stmt *stmt)
{
    double terms = 1;
    for (size_t i = stmt->free_count; i < stmt->loop_count; i++)
        terms *= formula_at_most(d, stmt->loops[i].extent);
    return terms;
}

static struct range of_type(enum dtype dtype)
{
    if (dtype_is_float(dtype))
        return anything;
    if (dtype == DTYPE_BOOL)
        return between(0, 1, 1);
    double most = ldexp(1, (int)dtype_bytes(dtype) * 8 - (dtype == DTYPE_U8 ? 0 : 1));
    return between(dtype == DTYPE_U8 ? 0 : -most, most - 1, 1);
}

static struct range of_input(const struct looking *l, const struct tensor *tensor)
{
    if (!dtype_is_float(tensor->dtype))
        return of_type(tensor->dtype);
    double most = fmin(l->most, isinf(l->most) ? l->most : dtype_max(tensor->dtype));
    return between(-most, most, fmin(l->least, dtype_tiny(tensor->dtype) * 0x1p10));
}

/* What leaves the type's range has no limit; an integer wraps. */
static struct range in_type(enum dtype dtype, struct range r)
{
    struct range all = of_type(dtype);
    if (!dtype_is_float(dtype))
        return r.low >= all.low && r.high <= all.high ? between(r.low, r.high, fmax(r.least, 1))
                                                      : all;
    double most = dtype_max(dtype);
    return between(r.low < -most ? all.low : r.low, r.high > most ? all.high : r.high, r.least);
}

/* A conversion to few bits may lose what is small, and rounds what is large. */
static struct range cast_of(const struct expr *e, struct range a)
{
    if (!dtype_is_float(e->dtype))
        return e->dtype == DTYPE_BOOL ? of_type(e->dtype) : between(floor(a.low), ceil(a.high), 1);
    if (e->dtype == DTYPE_F32 || e->dtype == DTYPE_F64)
        return a;
    double low = a.low >= 1 ? 1 : a.low >= 0 ? 0 : a.low * 1.25;
    return between(low, a.high <= 0 ? 0 : a.high * 1.25,
                   a.least > dtype_tiny(e->dtype) * 0x1p10 ? a.least / 2 : 0);
}

/* ---- statements ---- */

static struct range sum_over(struct looking *l, size_t s, struct range of)
{
    double terms = terms_at_most(l->d, &l->d->stmts[s]);
    struct range out = between(of.low >= 0 ? of.low : times(terms, of.low),
                               of.high <= 0 ? of.high : times(terms, of.high),
                               of.low >= 0 || of.high <= 0 ? range_least(of) : 0);
    if (l->d->op.policy.zero_dims)
        return either(out, between(0, 0, out.least));
    bool exponentials = of.low >= 0 && of.low < 1 && of.high >= 1;
    if (exponentials && is_sum_against_maximum(l->d, s))
        out.low = fmax(out.low, 1);
    return out;
}

static struct range product_over(struct range of)
{
    double high = range_most(of) <= 1 ? 1 : anything.high;
    return between(of.low >= 1 ? 1 : of.low >= 0 ? 0 : -high, high, of.low >= 1 ? 1 : 0);
}

static struct range reduced(struct looking *l, size_t s)
{
    const struct stmt *stmt = &l->d->stmts[s];
    if (!is_straight(stmt))
        return of_type(stmt->value->dtype);
    struct range of = range_of(l, stmt->value);
    switch (stmt->reduce) {
    case REDUCE_NONE:
    case REDUCE_MAX:
    case REDUCE_MIN:
        return of;
    case REDUCE_SUM:
        return in_type(stmt->value->dtype, sum_over(l, s, of));
    case REDUCE_PROD:
        return in_type(stmt->value->dtype, product_over(of));
    case REDUCE_ARGMAX:
    case REDUCE_ARGMIN:
        return between(0, of_type(DTYPE_I64).high, 1);
    case REDUCE_ANY:
    case REDUCE_ALL:
        return of_type(DTYPE_BOOL);
    }
    return anything;
}

static struct range of_stmt(struct looking *l, size_t s)
{
    const struct stmt *host = l->stmt;
    if (l->seen[s] == SEEN)
        return l->known[s];
    if (l->seen[s] == BEING_SEEN)
        return anything;
    l->seen[s] = BEING_SEEN;
    l->stmt = &l->d->stmts[s];
    l->known[s] = reduced(l, s);
    l->stmt = host;
    l->seen[s] = SEEN;
    return l->known[s];
}

static struct range of_read(struct looking *l, const struct expr *e)
{
    const struct tensor *tensor = &l->d->tensors[e->tensor];
    struct range out =
        tensor->written_by == OP_NONE ? of_input(l, tensor) : of_stmt(l, tensor->written_by);
    return e->pad == NULL ? out : either(out, range_of(l, e->pad));
}

/* ---- expressions ---- */

static struct range of_two(struct looking *l, const struct expr *e)
{
    if (e->op == EXPR_SUB)
        return difference_of(l, e);
    struct range a = range_of(l, e->args[0]), b = range_of(l, e->args[1]);
    switch ((int)e->op) {
    case EXPR_ADD:
        return sum_of(a, b);
    case EXPR_MUL:
        return expr_same(e->args[0], e->args[1]) ? product_of(size_of(a), size_of(a))
                                                 : product_of(a, b);
    case EXPR_DIV:
        return dtype_is_float(e->dtype) ? quotient_of(a, b)
                                        : between(-range_most(a), range_most(a), 1);
    case EXPR_MAX:
        return between(fmax(a.low, b.low), fmax(a.high, b.high),
                       fmin(range_least(a), range_least(b)));
    case EXPR_MIN:
        return between(fmin(a.low, b.low), fmin(a.high, b.high),
                       fmin(range_least(a), range_least(b)));
    case EXPR_FMOD:
        return between(-range_most(a), range_most(a), 0);
    case EXPR_ATAN2:
        return between(-4, 4, 0);
    case EXPR_POW:
        return power_of(a, e->args[1]);
    default:
        return of_type(e->dtype);
    }
}

static struct range of_leaf(struct looking *l, const struct expr *e)
{
    double value = e->op == EXPR_INT ? (double)e->integer : e->real;
    if (e->op == EXPR_READ)
        return of_read(l, e);
    if (e->op == EXPR_INDEX)
        return between(0, 0x1p40, 1);
    if (e->op == EXPR_DIM)
        return between(least_dim(l, e->dim), most_dim(l->d, &l->d->op.dims[e->dim]), 1);
    return between(value, value, fabs(value) > 0 ? fabs(value) : anything.high);
}

static struct range of_operation(struct looking *l, const struct expr *e)
{
    if (e->op == EXPR_CAST)
        return cast_of(e, range_of(l, e->args[0]));
    if (e->op == EXPR_WHERE)
        return either(range_of(l, e->args[1]), range_of(l, e->args[2]));
    if (e->op == EXPR_FMA)
        return sum_of(product_of(range_of(l, e->args[0]), range_of(l, e->args[1])),
                      range_of(l, e->args[2]));
    if (e->args[1] != NULL)
        return of_two(l, e);
    return dtype_is_float(e->dtype) || e->op == EXPR_NEG || e->op == EXPR_ABS
               ? function_of(e->op, range_of(l, e->args[0]))
               : of_type(e->dtype);
}

static struct range range_of(struct looking *l, const struct expr *e)
{
    if (++l->nodes > NODES_SEEN_MAX)
        return of_type(e->dtype);
    struct range out = e->args[0] == NULL ? of_leaf(l, e) : of_operation(l, e);
    return in_type(e->dtype, between(out.low, out.high, out.least));
}

static struct range look(struct draft *d, const struct stmt *stmt, const struct expr *expr,
                         double most, double smallest)
{
    struct looking l = {.d = d, .stmt = stmt, .most = most, .least = smallest};
    l.known = arena_array(d->arena, struct range, d->op.stmt_count + 1);
    l.seen = arena_array(d->arena, signed char, d->op.stmt_count + 1);
    return range_of(&l, expr);
}

double expr_at_least(struct draft *d, const struct expr *expr)
{
    return look(d, NULL, expr, (double)INFINITY, 0).low;
}

struct range expr_range(struct draft *d, const struct stmt *stmt, const struct expr *expr)
{
    return look(d, stmt, expr, ldexp(1, REWRITE_INPUT_MOST), ldexp(1, REWRITE_INPUT_LEAST));
}
