/*
 * Rewrites of several statements: a summary of a part that a later part can be merged with.
 *
 *   rescale  m = max u, s = sum exp(u - m) * w   ->   over parts p
 *            mp = max u, sp = sum exp(u - mp) * w;  m = max(p) mp, s = sum(p) sp * exp(mp - m)
 *            for every sum of this form, so that attention's numerator and denominator go together
 *   centre   q = sum (x - c)^2                   ->   over parts p of n elements
 *            tp = sum x, qp = sum (x - tp/n)^2;     q = sum(p) qp + n * (tp/n - c)^2
 *            true for any c that is the same for all terms, so nothing has to be known about it
 *
 * Terms are compared after all plain maps are put in place of reads of them; whether a spec writes
 * one statement or five does not matter.  While a part's maximum is -inf it has added nothing, and
 * exp(-inf - -inf) must not be taken.  What weights a term counts in full against the part's own
 * maximum, so it must not take the sum out of its type's range there (finite.c).
 */
#include <math.h>

#include "solver/legal/rewrite_int.h"

/* ---- rescale ---- */

/* A sum against the maximum, ready to be cut. */
struct against {
    size_t stmt;
    const struct expr *value; /* expanded */
    size_t of[OP_LOOPS_MAX];  /* by loop of the maximum: of the sum */
    enum expr_op exp;         /* EXPR_EXP or EXPR_EXP2 */
    struct factors weights;   /* the others */
};

struct rescaling {
    struct draft *d;
    size_t maximum; /* statement */
    size_t loop;    /* of it */
    const struct expr *u;
    struct against sums[SUMS_MAX];
    size_t count;
    struct rescaled *made;
};

/* exp(u - m[...]) at the sum's loops that correspond to the maximum's. */
static bool is_against(const struct rescaling *r, const struct stmt *maximum,
                       const struct expr *factor, size_t *of)
{
    if (factor->op != EXPR_EXP && factor->op != EXPR_EXP2)
        return false;
    const struct expr *difference = factor->args[0];
    if (difference->op != EXPR_SUB)
        return false;
    const struct expr *read = difference->args[1];
    for (size_t i = 0; i < OP_LOOPS_MAX; i++)
        of[i] = OP_NONE;
    if (read->op != EXPR_READ || read->tensor != maximum->target || read->pad != NULL ||
        !expr_matches(r->u, difference->args[0], of))
        return false;
    for (size_t i = 0; i < maximum->free_count; i++)
        if (read->subs[i]->op != EXPR_INDEX || read->subs[i]->loop != of[i])
            return false;
    return true;
}

/* Loops of u that u does not use have no partner; the cut one must have. */
static bool reduces_alike(const struct rescaling *r, const struct stmt *maximum,
                          const struct stmt *sum, const size_t *of)
{
    for (size_t i = 0; i < maximum->loop_count; i++)
        if (of[i] == OP_NONE || (i >= maximum->free_count) != (of[i] >= sum->free_count))
            return false;
    return of[r->loop] >= sum->free_count &&
           sum->loop_count - sum->free_count == maximum->loop_count - maximum->free_count;
}

static bool find_sum(struct rescaling *r, size_t s)
{
    struct draft *d = r->d;
    const struct stmt *maximum = &d->stmts[r->maximum], *sum = &d->stmts[s];
    struct against against = {.stmt = s};
    struct factors factors;
    if (sum->reduce != REDUCE_SUM || !is_straight(sum) || !dtype_is_float(sum->value->dtype))
        return false;
    against.value = expr_expanded(d->arena, &d->op, sum->value);
    if (against.value == NULL || expr_reads_of(against.value, maximum->target) != 1 ||
        !factors_of_product(against.value, &factors))
        return false;
    for (size_t i = 0; i < factors.above_count; i++)
        if (is_against(r, maximum, factors.above[i], against.of) &&
            reduces_alike(r, maximum, sum, against.of) && r->count < SUMS_MAX) {
            against.exp = factors.above[i]->op;
            against.weights = factors;
            against.weights.above[i] = factors.above[--against.weights.above_count];
            r->sums[r->count++] = against;
            return true;
        }
    return false;
}

bool is_sum_against_maximum(struct draft *d, size_t stmt)
{
    const struct expr *value = expr_expanded(d->arena, &d->op, d->stmts[stmt].value);
    for (size_t m = 0; value != NULL && m < stmt; m++) {
        const struct stmt *maximum = &d->stmts[m];
        struct rescaling r = {.d = d, .maximum = m, .loop = maximum->free_count};
        struct factors factors;
        if (maximum->reduce != REDUCE_MAX || !is_straight(maximum) ||
            expr_reads_of(value, maximum->target) != 1)
            continue;
        r.u = expr_expanded(d->arena, &d->op, maximum->value);
        if (r.u != NULL && find_sum(&r, stmt) && factors_of_product(r.sums[0].value, &factors) &&
            factors.above_count == 1 && factors.below_count == 0)
            return true;
    }
    return false;
}

/* The sum's value with the part's maximum in place of the whole one. */
static const struct expr *against_part(struct arena *arena, const struct expr *expr, size_t whole,
                                       const struct expr *part)
{
    if (expr->op == EXPR_READ && expr->tensor == whole)
        return part;
    struct expr *e = arena_new(arena, struct expr);
    *e = *expr;
    for (size_t i = 0; i < COUNT_OF(e->args) && e->args[i] != NULL; i++)
        e->args[i] = against_part(arena, e->args[i], whole, part);
    return e;
}

const struct expr *unless_empty(struct draft *d, const struct expr *maximum,
                                const struct expr *value)
{
    const struct expr *empty =
        expr_call(d->arena, EXPR_EQ, maximum, expr_real(d->arena, (double)-INFINITY), NULL);
    return expr_call(d->arena, EXPR_WHERE, empty, expr_real(d->arena, 0), value);
}

static bool cut_sum(struct rescaling *r, const struct against *sum, size_t at,
                    const struct parts *of_maximum, size_t parts_maximum, int64_t block)
{
    struct draft *d = r->d;
    const struct stmt stmt = d->stmts[at], *maximum = &d->stmts[r->maximum + 1];
    struct parts p;
    size_t loops[OP_LOOPS_MAX], whole = maximum->target;
    if (!parts_of(d, &stmt, sum->of[r->loop], block, of_maximum->loops[of_maximum->part].name,
                  of_maximum->loops[of_maximum->inner].name, &p))
        return false;
    for (size_t i = 0; i < maximum->free_count; i++)
        loops[i] = sum->of[i];
    const struct expr *now = expr_at(d->arena, whole, loops, maximum->free_count);
    loops[maximum->free_count] = p.part;
    const struct expr *own = expr_at(d->arena, parts_maximum, loops, maximum->free_count + 1);
    /* free loops keep their places, so `own` and `now` stand in the merge as they are */
    const struct expr *terms =
        against_part(d->arena, expr_replaced(d->arena, sum->value, p.by_loop, p.cut), whole, own);
    size_t partial = draft_temporary(d, "partial", stmt.value->dtype, p.loops, p.free_count);
    const struct stmt over =
        parts_stmt(d, &p, partial, REDUCE_SUM,
                   expr_call(d->arena, EXPR_WHERE, p.inside, unless_empty(d, own, terms),
                             expr_real(d->arena, 0)));
    const struct expr *factor =
        expr_call(d->arena, sum->exp, expr_call(d->arena, EXPR_SUB, own, now, NULL), NULL, NULL);
    const struct expr *scaled =
        expr_call(d->arena, EXPR_MUL, parts_read(d, &p, partial), factor, NULL);
    d->stmts[at] = parts_merge(d, &stmt, &p, REDUCE_SUM, unless_empty(d, own, scaled));
    draft_insert(d, at, &over);
    struct rescaled_sum *made = &r->made->sums[r->made->count++];
    *made = (struct rescaled_sum){.target = stmt.target, .partial = partial, .exp = sum->exp};
    for (size_t i = 0; i < maximum->free_count; i++)
        made->loops[i] = sum->of[i];
    return true;
}

static bool can_rescale(struct rescaling *r, const struct stmt *maximum)
{
    struct draft *d = r->d;
    if (maximum->reduce != REDUCE_MAX || !is_straight(maximum) ||
        !dtype_is_float(maximum->value->dtype))
        return refuse(d, "it is no plain maximum of floats");
    if (d->op.policy.summation == SUMMATION_COMPENSATED)
        return refuse(d, "the spec's sums are compensated, and so would partial sums have to be");
    r->u = expr_expanded(d->arena, &d->op, maximum->value);
    if (r->u == NULL)
        return refuse(d, "its terms have too many operations");
    for (size_t s = r->maximum + 1; s < d->op.stmt_count; s++)
        (void)find_sum(r, s);
    if (r->count == 0)
        return refuse(d, "no sum has a factor exp(u - this maximum of u)");
    for (size_t i = 0; i < r->count; i++)
        if (!weights_stay(d, &d->stmts[r->sums[i].stmt], r->sums[i].stmt, &r->sums[i].weights))
            return false;
    return true;
}

bool rewrite_rescale(struct draft *d, const struct rewrite *rewrite, struct rescaled *out)
{
    struct rescaling r = {.d = d, .maximum = rewrite->stmt, .loop = rewrite->loop, .made = out};
    const struct stmt maximum = d->stmts[rewrite->stmt];
    struct parts p;
    if (!can_rescale(&r, &maximum) || !parts_of(d, &maximum, rewrite->loop, rewrite->number,
                                                draft_name(d, "part"), draft_name(d, "inner"), &p))
        return false;
    size_t parts_maximum =
        draft_temporary(d, "partial", maximum.value->dtype, p.loops, p.free_count);
    const struct stmt over =
        parts_stmt(d, &p, parts_maximum, REDUCE_MAX,
                   parts_value(d, &p, r.u, expr_real(d->arena, (double)-INFINITY)));
    d->stmts[rewrite->stmt] =
        parts_merge(d, &maximum, &p, REDUCE_MAX, parts_read(d, &p, parts_maximum));
    draft_insert(d, rewrite->stmt, &over);
    *out = (struct rescaled){.maximum = maximum.target, .partial = parts_maximum};
    for (size_t i = 0; i < r.count; i++) /* each one before moves the next by one */
        if (!cut_sum(&r, &r.sums[i], r.sums[i].stmt + 1 + i, &p, parts_maximum, rewrite->number))
            return false;
    return true;
}

/* ---- centre ---- */

/* x and c of (x - c) * (x - c). */
static bool centred_square(struct draft *d, const struct stmt *stmt, const struct expr **x,
                           const struct expr **c)
{
    if (stmt->reduce != REDUCE_SUM || !is_straight(stmt) || !dtype_is_float(stmt->value->dtype))
        return refuse(d, "it is no plain sum of floats");
    if (d->op.policy.summation == SUMMATION_COMPENSATED)
        return refuse(d, "the spec's sums are compensated, and so would partial sums have to be");
    const struct expr *value = expr_expanded(d->arena, &d->op, stmt->value);
    if (value == NULL || value->op != EXPR_MUL || !expr_same(value->args[0], value->args[1]))
        return refuse(d, "its terms are no squares");
    const struct expr *difference = value->args[0];
    if (difference->op != EXPR_SUB || expr_varies(difference->args[1], stmt->free_count) ||
        !expr_varies(difference->args[0], stmt->free_count))
        return refuse(d, "its squares are not about one centre");
    *x = difference->args[0];
    *c = difference->args[1];
    return true;
}

bool rewrite_centre(struct draft *d, const struct rewrite *rewrite, struct centred *out)
{
    struct arena *arena = d->arena;
    const struct stmt stmt = d->stmts[rewrite->stmt];
    const struct expr *x, *c;
    struct parts p;
    if (!centred_square(d, &stmt, &x, &c) ||
        !parts_of(d, &stmt, rewrite->loop, rewrite->number, draft_name(d, "part"),
                  draft_name(d, "inner"), &p))
        return false;
    if (p.count == NULL)
        return refuse(d, "the number of its terms is no plain formula");
    size_t total = draft_temporary(d, "total", stmt.value->dtype, p.loops, p.free_count);
    const struct stmt totals =
        parts_stmt(d, &p, total, REDUCE_SUM, parts_value(d, &p, x, expr_real(arena, 0)));
    const struct expr *mean = expr_call(arena, EXPR_DIV, parts_read(d, &p, total), p.count, NULL);
    const struct expr *apart =
        expr_call(arena, EXPR_SUB, expr_replaced(arena, x, p.by_loop, p.cut), mean, NULL);
    size_t square = draft_temporary(d, "square", stmt.value->dtype, p.loops, p.free_count);
    const struct stmt squares =
        parts_stmt(d, &p, square, REDUCE_SUM,
                   expr_call(arena, EXPR_WHERE, p.inside,
                             expr_call(arena, EXPR_MUL, apart, apart, NULL), expr_real(arena, 0)));
    /* c has free loops alone, which keep their places */
    const struct expr *away = expr_call(arena, EXPR_SUB, mean, c, NULL);
    const struct expr *between =
        expr_call(arena, EXPR_MUL, p.count, expr_call(arena, EXPR_MUL, away, away, NULL), NULL);
    d->stmts[rewrite->stmt] =
        parts_merge(d, &stmt, &p, REDUCE_SUM,
                    expr_call(arena, EXPR_ADD, parts_read(d, &p, square), between, NULL));
    draft_insert(d, rewrite->stmt, &squares);
    draft_insert(d, rewrite->stmt, &totals);
    *out = (struct centred){stmt.target, total, square, c};
    return true;
}
