/*
 * What a value is at least, from its expression and the statements behind it.
 *
 * Known are literals, dims, squares, exp, sqrt, abs, extremes with them, sums and products of what
 * is not negative, and sums of exp(u - maximum of u), which have a term exp(0).  NaN is no value
 * here; an infinite one may be any.  Rounding moves what is returned by a few units in the last
 * place, so it serves to tell normal numbers from those that are not.
 *
 * Not here: upper ends, and intervals of integers at a shape (solver/ir/interval.c).
 */
#include <math.h>

#include "solver/legal/rewrite_int.h"

enum { NODES_SEEN_MAX = 2000 };

struct looking {
    struct draft *d;
    size_t nodes;
};

static const double unknown = (double)-INFINITY;

static double least(struct looking *l, const struct expr *e);

static double not_less(double known, double than)
{
    return known > than ? known : than;
}

static double least_dim(const struct looking *l, size_t dim)
{
    const struct dim *d = &l->d->op.dims[dim];
    return d->kind == DIM_VAR ? (double)d->min : d->kind == DIM_CONST ? (double)d->value : 0;
}

/* A conversion to few bits may lose what is small. */
static double least_cast(const struct expr *e, double of)
{
    if (e->dtype == DTYPE_F32 || e->dtype == DTYPE_F64)
        return of;
    return of >= 1 ? 1 : of >= 0 ? 0 : unknown;
}

static double least_stmt(struct looking *l, size_t s)
{
    const struct stmt *stmt = &l->d->stmts[s];
    if (!is_straight(stmt))
        return unknown;
    double of = least(l, stmt->value);
    switch (stmt->reduce) {
    case REDUCE_NONE:
    case REDUCE_MAX:
    case REDUCE_MIN:
        return of;
    case REDUCE_SUM:
        if (l->d->op.policy.zero_dims)
            return of >= 0 ? 0 : unknown;
        return is_sum_against_maximum(l->d, s) ? not_less(of, 1) : of >= 0 ? of : unknown;
    case REDUCE_PROD:
        return of >= 1 ? 1 : of >= 0 ? 0 : unknown;
    case REDUCE_ARGMAX:
    case REDUCE_ARGMIN:
    case REDUCE_ANY:
    case REDUCE_ALL:
        return 0;
    }
    return unknown;
}

static double least_read(struct looking *l, const struct expr *e)
{
    const struct tensor *tensor = &l->d->tensors[e->tensor];
    double pad = e->pad == NULL ? (double)INFINITY : least(l, e->pad);
    if (tensor->written_by == OP_NONE)
        return unknown;
    return fmin(pad, least_stmt(l, tensor->written_by));
}

static double least_product(struct looking *l, const struct expr *e)
{
    double a = least(l, e->args[0]), b = least(l, e->args[1]);
    if (expr_same(e->args[0], e->args[1]))
        return a >= 0 ? a * a : 0;
    return a >= 0 && b >= 0 ? a * b : unknown;
}

static double least_function(struct looking *l, const struct expr *e)
{
    double a = least(l, e->args[0]);
    if (e->op == EXPR_ABS || e->op == EXPR_SQRT)
        return a >= 0 ? e->op == EXPR_ABS ? a : sqrt(a) : 0;
    if (e->op == EXPR_EXP || e->op == EXPR_EXP2)
        return fmin(e->op == EXPR_EXP ? exp(a) : exp2(a), 1);
    if (e->op == EXPR_COSH)
        return 1;
    return e->op == EXPR_ERFC || e->op == EXPR_RSQRT ? 0 : unknown;
}

static double least(struct looking *l, const struct expr *e)
{
    if (++l->nodes > NODES_SEEN_MAX)
        return unknown;
    if (e->op == EXPR_INT || e->op == EXPR_FLOAT)
        return e->op == EXPR_INT ? (double)e->integer : e->real;
    if (e->op == EXPR_DIM || e->op == EXPR_INDEX)
        return e->op == EXPR_DIM ? least_dim(l, e->dim) : 0;
    if (e->op == EXPR_READ)
        return least_read(l, e);
    if (e->op == EXPR_CAST)
        return least_cast(e, least(l, e->args[0]));
    if (e->op == EXPR_MUL)
        return least_product(l, e);
    if (e->op == EXPR_ADD)
        return least(l, e->args[0]) + least(l, e->args[1]);
    if (e->op == EXPR_MAX)
        return fmax(least(l, e->args[0]), least(l, e->args[1]));
    if (e->op == EXPR_MIN)
        return fmin(least(l, e->args[0]), least(l, e->args[1]));
    if (e->op == EXPR_WHERE)
        return fmin(least(l, e->args[1]), least(l, e->args[2]));
    if (e->op == EXPR_DIV)
        return least(l, e->args[0]) >= 0 && least(l, e->args[1]) >= 0 ? 0 : unknown;
    return e->args[0] != NULL && e->args[1] == NULL ? least_function(l, e) : unknown;
}

double expr_at_least(struct draft *d, const struct expr *expr)
{
    struct looking l = {.d = d};
    double out = least(&l, expr);
    return isnan(out) ? unknown : out;
}
