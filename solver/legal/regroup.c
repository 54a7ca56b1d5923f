/*
 * Rewrites of sums that change which terms are added first.
 *
 *   hoist        sum(k) a * b(k)                 ->  a * sum(k) b(k)
 *   interchange  op(i, j) x                      ->  op(j, i) x
 *   merge        op(j) p[g(j)], p[q] = op(k) x   ->  op(j, k) x at q = g(j)
 *   associate    sum(j) p * c, p = sum(k) a * b  ->  sum(k) a * (sum(j) b * c)
 *
 * Error terms, with u the unit roundoff, K the terms of the inner sum and J those of the outer.  A
 * float sum of n terms is charged at least min(n - 1, 16) u sum|terms| (solver/ir/interp_bound.c)
 * and no order loses more than (n - 1) u sum|terms|.
 *
 *   hoist        the roundings of the products move behind the sum: inside what the terms had
 *   interchange  (n - 1) / min(n - 1, 16), at most 1 + n / 16
 *   merge        addition k of part j loses u (|S| + sum of part j's |terms|), S the sum before the
 *                part: K times what the outer sum has for S, and K u sum|terms| where the inner
 *                ones have min(K - 1, 16) u sum|terms|; nothing more when K = 1.  At most 1 + K
 *   associate    both sums lose at most (J + K - 2) u, and two products 2 u, of
 *                sum(j) sum(k) |a b c|; the first op is charged min(K - 1, 16) u and 2 u of just
 *                that.  At most 2 + (J + K) / 16
 *
 * Exact reductions (extremes, integers, logic) have no term.  Sums of other terms may leave the
 * type's range where the op's do not: hoist and associate are refused unless finite.c can tell that
 * they stay; interchange and merge have the same terms, and a sum has no order.  NaN and
 * infinities, which associate and hoist would spread to other terms, are refused unless the policy
 * keeps them out.
 */
#include <stdio.h>
#include <string.h>

#include "solver/legal/rewrite_int.h"

static bool is_compensated(const struct draft *d, const struct stmt *stmt)
{
    return d->op.policy.summation == SUMMATION_COMPENSATED && dtype_is_float(stmt->value->dtype);
}

static bool rounds(const struct stmt *stmt)
{
    return dtype_is_float(stmt->value->dtype) &&
           (stmt->reduce == REDUCE_SUM || stmt->reduce == REDUCE_PROD);
}

/* Iterations of the reduced loops; 1 of none. */
static const struct formula *terms_of(struct draft *d, const struct stmt *stmt)
{
    const struct formula *terms = NULL;
    for (size_t i = stmt->free_count; i < stmt->loop_count; i++)
        terms = terms == NULL ? stmt->loops[i].extent
                              : formula_binary(d->arena, FORMULA_MUL, terms, stmt->loops[i].extent);
    return terms == NULL ? formula_int(d->arena, 1) : terms;
}

static void set_term(struct draft *d, double scale, double step, const struct formula *parts)
{
    d->scale = scale;
    d->step = step;
    d->parts = parts;
}

/* ---- hoist ---- */

static bool any_reads_data(const struct factors *factors)
{
    bool reads = false;
    for (size_t i = 0; i < factors->above_count; i++)
        reads |= expr_reads_data(factors->above[i]);
    for (size_t i = 0; i < factors->below_count; i++)
        reads |= expr_reads_data(factors->below[i]);
    return reads;
}

static bool can_hoist(struct draft *d, const struct stmt *stmt, const struct expr *value,
                      struct factors *varying, struct factors *same)
{
    struct factors factors;
    *varying = *same = (struct factors){.above_count = 0};
    if (stmt->reduce != REDUCE_SUM || !is_straight(stmt))
        return refuse(d, "it is no plain sum");
    if (!dtype_is_float(stmt->value->dtype))
        return refuse(d, "quotients of integers do not add up");
    if (value == NULL || !factors_of_product(value, &factors))
        return refuse(d, "its terms have too many factors");
    if (!factors_part(&factors, stmt->free_count, OP_NONE, varying, same))
        return refuse(d, "its terms have too many factors");
    if (same->above_count + same->below_count == 0)
        return refuse(d, "no factor is the same for all its terms");
    if (varying->above_count + varying->below_count == 0)
        return refuse(d, "all its terms are equal");
    return d->op.policy.finite_inputs || !any_reads_data(same) ||
           refuse(d, "an infinite factor makes NaN of each term that is 0, but not of their sum");
}

bool rewrite_hoist(struct draft *d, const struct rewrite *rewrite)
{
    const struct stmt stmt = d->stmts[rewrite->stmt];
    const struct expr *value = expr_expanded(d->arena, &d->op, stmt.value);
    struct factors varying, same;
    const struct nested nested = {&varying, &same, terms_at_most(d, &stmt), 0};
    if (!can_hoist(d, &stmt, value, &varying, &same) || !nested_stays(d, &stmt, &nested))
        return false;
    struct stmt sum = stmt;
    struct stmt *scale = &d->stmts[rewrite->stmt];
    size_t loops[OP_LOOPS_MAX];
    for (size_t i = 0; i < stmt.free_count; i++)
        loops[i] = i;
    sum.target = draft_temporary(d, "sum", stmt.value->dtype, stmt.loops, stmt.free_count);
    sum.value = factors_product(d, NULL, &varying);
    scale->loop_count = stmt.free_count;
    scale->reduce = REDUCE_NONE;
    scale->value = factors_product(d, expr_at(d->arena, sum.target, loops, stmt.free_count), &same);
    draft_insert(d, rewrite->stmt, &sum);
    return true;
}

/* ---- interchange ---- */

bool rewrite_interchange(struct draft *d, const struct rewrite *rewrite)
{
    struct stmt *stmt = &d->stmts[rewrite->stmt];
    size_t at = rewrite->loop;
    if (!is_straight(stmt))
        return refuse(d, "its terms have an order");
    if (at < stmt->free_count || at + 1 >= stmt->loop_count)
        return refuse(d, "no reduced loop follows loop %zu", at);
    if (stmt->reduce == REDUCE_ARGMAX || stmt->reduce == REDUCE_ARGMIN)
        return refuse(d, "positions count in the order of its loops");
    struct loop *loops = arena_array(d->arena, struct loop, stmt->loop_count);
    const struct expr *by_loop[OP_LOOPS_MAX];
    memcpy(loops, stmt->loops, stmt->loop_count * sizeof(loops[0]));
    for (size_t i = 0; i < stmt->loop_count; i++)
        by_loop[i] = expr_index(d->arena, i == at ? at + 1 : i == at + 1 ? at : i);
    loops[at] = stmt->loops[at + 1];
    loops[at + 1] = stmt->loops[at];
    stmt->loops = loops;
    stmt->value = expr_replaced(d->arena, stmt->value, by_loop, OP_NONE);
    if (rounds(stmt))
        set_term(d, 1, 0x1p-4, terms_of(d, stmt));
    return true;
}

/* ---- merge ---- */

static bool name_is_in(const struct loop *loops, size_t count, struct str name)
{
    for (size_t i = 0; i < count; i++)
        if (str_equal(loops[i].name, name))
            return true;
    return false;
}

/* The reduced loops of `inner` behind `count` others, under names that those do not have. */
static size_t append_reduced(struct draft *d, const struct stmt *inner, struct loop *loops,
                             size_t count)
{
    for (size_t i = inner->free_count; i < inner->loop_count; i++) {
        char hint[64];
        loops[count] = inner->loops[i];
        snprintf(hint, sizeof(hint), "%.*s", STR_ARG(inner->loops[i].name));
        if (name_is_in(loops, count, loops[count].name))
            loops[count].name = draft_name(d, hint);
        count++;
    }
    return count;
}

/* The inner statement's loops in an outer one: where it is read, and appended. */
static void loops_at(struct draft *d, const struct stmt *inner, const struct expr *read,
                     size_t appended, const struct expr **by_loop)
{
    for (size_t i = 0; i < inner->free_count; i++)
        by_loop[i] = read->subs[i];
    for (size_t i = inner->free_count; i < inner->loop_count; i++)
        by_loop[i] = expr_index(d->arena, appended + i - inner->free_count);
}

/* The reduction behind a plain read of a temporary. */
static bool inner_of(struct draft *d, const struct stmt *outer, const struct expr *read,
                     const struct stmt **out)
{
    if (read->op != EXPR_READ || !d->tensors[read->tensor].temporary)
        return refuse(d, "its terms are not what another statement reduced");
    if (read->pad != NULL)
        return refuse(d, "what it pads was never reduced");
    const struct stmt *inner = &d->stmts[d->tensors[read->tensor].written_by];
    if (!is_straight(outer) || !is_straight(inner))
        return refuse(d, "a scan, a scatter or a step has its own terms");
    if (inner->value->weak || !expr_reads_data(inner->value))
        return refuse(d, "the type of its terms would be another");
    if (inner->loop_count - inner->free_count + outer->loop_count > OP_LOOPS_MAX)
        return refuse(d, "more than %d loops", OP_LOOPS_MAX);
    *out = inner;
    return true;
}

bool rewrite_merge(struct draft *d, const struct rewrite *rewrite)
{
    struct stmt *outer = &d->stmts[rewrite->stmt];
    const struct stmt *inner;
    const struct expr *by_loop[OP_LOOPS_MAX];
    struct loop *loops = arena_array(d->arena, struct loop, OP_LOOPS_MAX + 1);
    if (outer->reduce == REDUCE_NONE || outer->reduce == REDUCE_ARGMAX ||
        outer->reduce == REDUCE_ARGMIN)
        return refuse(d, "it is no reduction that merges");
    if (!inner_of(d, outer, outer->value, &inner))
        return false;
    if (inner->reduce != outer->reduce)
        return refuse(d, "its terms are %s results and it is a %s",
                      inner->reduce == REDUCE_NONE ? "map" : reduce_op_name(inner->reduce),
                      reduce_op_name(outer->reduce));
    if (is_compensated(d, outer) && rounds(outer))
        return refuse(d, "the spec's sums are compensated, and their parts are given");
    memcpy(loops, outer->loops, outer->loop_count * sizeof(loops[0]));
    loops_at(d, inner, outer->value, outer->loop_count, by_loop);
    size_t count = append_reduced(d, inner, loops, outer->loop_count);
    if (rounds(outer))
        set_term(d, 1, 1, terms_of(d, inner));
    outer->value = expr_replaced(d->arena, inner->value, by_loop, OP_NONE);
    outer->loops = loops;
    outer->loop_count = count;
    return true;
}

/* ---- associate ---- */

/* Factors of both sums, in the loops of the outer one and behind them the inner one's. */
struct triple {
    struct loop loops[OP_LOOPS_MAX];
    size_t free_count, middle, loop_count; /* free, reduced by the outer, by the inner */
    struct factors first, last;            /* a; b and c */
    size_t inner_last, outer_last;         /* of `last`: how many of b that vary with k, of c */
};

static bool chain_factors(struct draft *d, const struct stmt *outer, const struct stmt *inner,
                          const struct factors *of_outer, const struct factors *of_inner,
                          const struct expr *read, struct triple *c)
{
    struct factors all = *of_inner;
    const struct expr *by_loop[OP_LOOPS_MAX];
    loops_at(d, inner, read, outer->loop_count, by_loop);
    for (size_t i = 0; i < all.above_count; i++)
        all.above[i] = expr_replaced(d->arena, all.above[i], by_loop, OP_NONE);
    for (size_t i = 0; i < all.below_count; i++)
        all.below[i] = expr_replaced(d->arena, all.below[i], by_loop, OP_NONE);
    if (!factors_part(&all, c->free_count, c->middle, &c->last, &c->first))
        return refuse(d, "its terms have too many factors");
    for (size_t i = 0; i < c->last.above_count; i++)
        c->inner_last += expr_varies(c->last.above[i], c->middle);
    size_t before = c->last.above_count + c->last.below_count;
    struct factors others = *of_outer;
    for (size_t i = 0, n = 0; i < of_outer->above_count; i++)
        if (of_outer->above[i] != read)
            others.above[n++] = of_outer->above[i];
    others.above_count--;
    if (!factors_part(&others, c->free_count, c->middle, &c->last, &c->first))
        return refuse(d, "its terms have too many factors");
    c->outer_last = c->last.above_count + c->last.below_count - before;
    return true;
}

static bool can_associate(struct draft *d, const struct stmt *outer, const struct rewrite *rewrite,
                          struct factors *factors, const struct stmt **inner)
{
    bool real = dtype_is_float(outer->value->dtype);
    if (outer->reduce != REDUCE_SUM)
        return refuse(d, "it is no sum of products");
    if (!factors_of_product(outer->value, factors) || rewrite->loop >= factors->above_count)
        return refuse(d, "it has no factor %zu", rewrite->loop);
    if (factors->above_count + factors->below_count < 2)
        return refuse(d, "it has no other factor");
    if (!inner_of(d, outer, factors->above[rewrite->loop], inner))
        return false;
    if ((*inner)->reduce != REDUCE_SUM || (*inner)->value->dtype != outer->value->dtype)
        return refuse(d, "its factor %zu is no sum of that type", rewrite->loop);
    if (expr_reads_of(outer->value, factors->above[rewrite->loop]->tensor) != 1)
        return refuse(d, "the sum is a factor twice");
    if (is_compensated(d, outer))
        return refuse(d, "the spec's sums are compensated, each over its own terms");
    if (!real && factors->below_count > 0)
        return refuse(d, "quotients of integers do not add up");
    return !real || d->op.policy.finite_inputs ||
           refuse(d, "NaN and infinities may arrive, and would get into other terms");
}

/* sum(j) b * c, over the loops that it uses. */
static bool last_product(struct draft *d, const struct stmt *outer, const struct triple *c,
                         size_t dtype_of, struct operand *out)
{
    struct stmt over = *outer;
    const struct expr *by_loop[OP_LOOPS_MAX];
    struct loop *loops = arena_array(d->arena, struct loop, OP_LOOPS_MAX + 1);
    size_t used[OP_LOOPS_MAX], count = 0;
    const struct expr *value = factors_product(d, NULL, &c->last);
    for (size_t i = 0; i < c->loop_count; i++) {
        if ((i >= c->free_count && i < c->middle) || !expr_varies_over(value, i, i + 1))
            continue;
        loops[count] = c->loops[i];
        loops[count].reduced = false;
        by_loop[i] = expr_index(d->arena, count);
        used[count++] = i;
    }
    if (count > OP_RANK_MAX)
        return refuse(d, "the product of the others would have %zu indices", count);
    size_t target = draft_temporary(d, "product", d->tensors[dtype_of].dtype, loops, count);
    over.target = target;
    over.free_count = count;
    for (size_t i = c->free_count; i < c->middle; i++) {
        loops[count] = c->loops[i];
        by_loop[i] = expr_index(d->arena, count++);
    }
    over.loops = loops;
    over.loop_count = count;
    over.value = expr_replaced(d->arena, value, by_loop, OP_NONE);
    out->stmt = over;
    out->read = expr_at(d->arena, target, used, over.free_count);
    return true;
}

/* The outer sum's reduced loops go, those behind them move up. */
static void first_product(struct draft *d, struct stmt *outer, const struct triple *c,
                          const struct expr *last)
{
    struct factors all = c->first;
    const struct expr *by_loop[OP_LOOPS_MAX] = {NULL};
    struct loop *loops = arena_array(d->arena, struct loop, OP_LOOPS_MAX + 1);
    size_t count = 0;
    for (size_t i = 0; i < c->loop_count; i++) {
        if (i >= c->free_count && i < c->middle)
            continue;
        loops[count] = c->loops[i];
        by_loop[i] = expr_index(d->arena, count++);
    }
    if (all.above_count < FACTORS_MAX)
        all.above[all.above_count++] = last;
    outer->value = expr_replaced(d->arena, factors_product(d, NULL, &all), by_loop, OP_NONE);
    outer->loops = loops;
    outer->loop_count = count;
}

static bool chain_stays(struct draft *d, const struct stmt *outer, const struct stmt *inner,
                        const struct triple *c)
{
    struct stmt host = *outer;
    const struct nested nested = {&c->last, &c->first, terms_at_most(d, outer),
                                  terms_at_most(d, inner)};
    host.loops = c->loops;
    host.loop_count = c->loop_count;
    return !dtype_is_float(outer->value->dtype) || nested_stays(d, &host, &nested);
}

bool rewrite_associate(struct draft *d, const struct rewrite *rewrite)
{
    struct stmt *outer = &d->stmts[rewrite->stmt];
    const struct stmt *inner;
    struct factors of_outer, of_inner;
    struct operand product;
    if (!can_associate(d, outer, rewrite, &of_outer, &inner))
        return false;
    if (!factors_of_product(inner->value, &of_inner) ||
        of_inner.above_count + of_outer.above_count >= FACTORS_MAX)
        return refuse(d, "its terms have too many factors");
    if (!dtype_is_float(inner->value->dtype) && of_inner.below_count > 0)
        return refuse(d, "quotients of integers do not add up");
    struct triple c = {.free_count = outer->free_count, .middle = outer->loop_count};
    memcpy(c.loops, outer->loops, outer->loop_count * sizeof(c.loops[0]));
    c.loop_count = append_reduced(d, inner, c.loops, outer->loop_count);
    if (!chain_factors(d, outer, inner, &of_outer, &of_inner, of_outer.above[rewrite->loop], &c))
        return false;
    if (c.first.above_count == 0 || c.inner_last == 0 || c.outer_last == 0)
        return refuse(d, "its factors are no chain: all of them have the index that it reduces");
    if (!chain_stays(d, outer, inner, &c))
        return false;
    if (dtype_is_float(outer->value->dtype))
        set_term(d, 2, 0x1p-4,
                 formula_binary(d->arena, FORMULA_ADD, terms_of(d, outer), terms_of(d, inner)));
    if (!last_product(d, outer, &c, outer->target, &product))
        return false;
    first_product(d, outer, &c, product.read);
    draft_insert(d, rewrite->stmt, &product.stmt);
    return true;
}
