/*
 * An index cut into parts, and the reduction over it: over each part, then over the parts.
 *
 * A reduction over an index i < n is cut into parts of `number` iterations: i = part * number +
 * inner.  The last part may be short, so its terms are where(i < n, term, neutral), and reads that
 * could leave their tensor are padded; neutral is what the reduction yields for nothing.  Where no
 * literal is neutral (extremes of integers, positions) the last iteration is repeated instead,
 * which no extremum notices, and no position, for the first of equals wins.
 *
 * argmax keeps the value and the position of each part; the first part with the largest value wins.
 */
#include <math.h>
#include <string.h>

#include "base/panic.h"

#include "solver/legal/rewrite_int.h"

/* ---- parts ---- */

static bool cut_loops(struct draft *d, const struct stmt *stmt, size_t loop, int64_t block,
                      struct parts *p)
{
    struct formula *count = arena_new(d->arena, struct formula);
    size_t n = 0;
    p->free_count = stmt->free_count + 1;
    p->part = stmt->free_count;
    for (size_t i = 0; i < stmt->loop_count; i++) {
        if (i == stmt->free_count)
            n++;
        p->loops[n] = stmt->loops[i];
        p->by_loop[i] = expr_index(d->arena, n);
        if (i == loop)
            p->inner = n;
        n++;
    }
    p->loop_count = n;
    *count = (struct formula){
        .op = FORMULA_CEILDIV, .a = stmt->loops[loop].extent, .b = formula_int(d->arena, block)};
    p->loops[p->part] = (struct loop){.extent = count};
    p->loops[p->inner].extent = formula_int(d->arena, block);
    return true;
}

const struct expr *others_of(struct draft *d, const struct stmt *stmt, size_t loop)
{
    const struct expr *product = expr_int(d->arena, 1);
    for (size_t i = stmt->free_count; i < stmt->loop_count; i++) {
        const struct expr *extent = expr_of_formula(d, stmt->loops[i].extent);
        if (extent == NULL)
            return NULL;
        if (i == loop)
            continue;
        product =
            product->op == EXPR_INT ? extent : expr_call(d->arena, EXPR_MUL, product, extent, NULL);
    }
    return product;
}

/* min(block, extent - part * block) times the other reduced loops. */
static const struct expr *part_count(struct draft *d, const struct stmt *stmt, size_t loop,
                                     const struct expr *start, const struct expr *extent,
                                     int64_t block)
{
    const struct expr *rest = expr_call(d->arena, EXPR_SUB, extent, start, NULL);
    const struct expr *count = expr_call(d->arena, EXPR_MIN, expr_int(d->arena, block), rest, NULL);
    const struct expr *others = others_of(d, stmt, loop);
    if (others == NULL || stmt->loop_count - stmt->free_count == 1)
        return others == NULL ? NULL : count;
    return expr_call(d->arena, EXPR_MUL, count, others, NULL);
}

bool parts_of(struct draft *d, const struct stmt *stmt, size_t loop, int64_t block,
              struct str part_name, struct str inner_name, struct parts *out)
{
    struct arena *arena = d->arena;
    struct parts p = {.cut = loop};
    if (loop < stmt->free_count || loop >= stmt->loop_count)
        return refuse(d, "loop %zu is not one that it reduces over", loop);
    if (block < 1 || block > REWRITE_BLOCK_MAX)
        return refuse(d, "parts of %lld iterations", (long long)block);
    if (stmt->loop_count + 1 > OP_LOOPS_MAX || stmt->free_count + 1 > OP_RANK_MAX)
        return refuse(d, "one index more than the %d that a statement may have", OP_LOOPS_MAX);
    const struct expr *extent = expr_of_formula(d, stmt->loops[loop].extent);
    if (extent == NULL || !cut_loops(d, stmt, loop, block, &p))
        return refuse(d, "its extent is no plain formula");
    p.loops[p.part].name = part_name;
    p.loops[p.inner].name = inner_name;
    const struct expr *start =
        expr_call(arena, EXPR_MUL, expr_index(arena, p.part), expr_int(arena, block), NULL);
    const struct expr *at = expr_call(arena, EXPR_ADD, start, expr_index(arena, p.inner), NULL);
    p.by_loop[loop] = at;
    p.inside = expr_call(arena, EXPR_LT, at, extent, NULL);
    p.count = part_count(d, stmt, loop, start, extent, block);
    *out = p;
    return true;
}

const struct expr *parts_value(struct draft *d, const struct parts *p, const struct expr *value,
                               const struct expr *neutral)
{
    return expr_call(d->arena, EXPR_WHERE, p->inside,
                     expr_replaced(d->arena, value, p->by_loop, p->cut), neutral);
}

static struct stmt stmt_over(struct draft *d, const struct parts *p, size_t target,
                             size_t free_count, size_t loop_count, enum reduce_op op,
                             const struct expr *value)
{
    struct loop *loops = arena_array(d->arena, struct loop, loop_count + 1);
    memcpy(loops, p->loops, loop_count * sizeof(loops[0]));
    for (size_t i = 0; i < loop_count; i++)
        loops[i].reduced = i >= free_count;
    return (struct stmt){.target = target,
                         .loops = loops,
                         .loop_count = loop_count,
                         .free_count = free_count,
                         .reduce = op,
                         .value = value,
                         .seq = OP_NONE};
}

struct stmt parts_stmt(struct draft *d, const struct parts *p, size_t target, enum reduce_op op,
                       const struct expr *value)
{
    return stmt_over(d, p, target, p->free_count, p->loop_count, op, value);
}

struct stmt parts_merge(struct draft *d, const struct stmt *stmt, const struct parts *p,
                        enum reduce_op op, const struct expr *value)
{
    return stmt_over(d, p, stmt->target, p->free_count - 1, p->free_count, op, value);
}

const struct expr *parts_read(struct draft *d, const struct parts *p, size_t tensor)
{
    size_t loops[OP_LOOPS_MAX];
    for (size_t i = 0; i < p->free_count; i++)
        loops[i] = i;
    return expr_at(d->arena, tensor, loops, p->free_count);
}

/* ---- split ---- */

/* What the reduction yields for no terms; NULL: nothing, or not expressible in its type. */
static const struct expr *neutral_of(struct draft *d, const struct stmt *stmt)
{
    bool real = dtype_is_float(stmt->value->dtype);
    struct expr *boolean = arena_new(d->arena, struct expr);
    switch (stmt->reduce) {
    case REDUCE_SUM:
        return real ? expr_real(d->arena, 0) : expr_int(d->arena, 0);
    case REDUCE_PROD:
        return real ? expr_real(d->arena, 1) : expr_int(d->arena, 1);
    case REDUCE_MAX:
        return real ? expr_real(d->arena, (double)-INFINITY) : NULL;
    case REDUCE_MIN:
        return real ? expr_real(d->arena, (double)INFINITY) : NULL;
    case REDUCE_ANY:
    case REDUCE_ALL:
        *boolean = (struct expr){
            .op = EXPR_INT, .dtype = DTYPE_BOOL, .integer = stmt->reduce == REDUCE_ALL};
        return boolean;
    case REDUCE_ARGMAX:
    case REDUCE_ARGMIN:
    case REDUCE_NONE:
        break;
    }
    return NULL;
}

static bool is_arg(const struct stmt *stmt)
{
    return stmt->reduce == REDUCE_ARGMAX || stmt->reduce == REDUCE_ARGMIN;
}

static bool is_extremum(const struct stmt *stmt)
{
    return stmt->reduce == REDUCE_MAX || stmt->reduce == REDUCE_MIN || is_arg(stmt);
}

static bool can_split(struct draft *d, const struct stmt *stmt)
{
    bool sums = stmt->reduce == REDUCE_SUM || stmt->reduce == REDUCE_PROD;
    if (stmt->reduce == REDUCE_NONE)
        return refuse(d, "it reduces nothing");
    if (stmt->seq != OP_NONE)
        return refuse(d, "a step needs the one before");
    if (stmt->scatter != NULL)
        return refuse(d, "data say where its terms go");
    if (!is_straight(stmt))
        return refuse(d, "each result of a scan has its own terms");
    if (d->op.policy.summation == SUMMATION_COMPENSATED && sums &&
        dtype_is_float(stmt->value->dtype))
        return refuse(d, "the spec's sums are compensated, and so would partial sums have to be");
    return true;
}

/* The terms of a part: guarded, or with the last iteration repeated. */
static const struct expr *terms_of(struct draft *d, const struct stmt *stmt, const struct parts *p)
{
    const struct expr *neutral = is_arg(stmt) ? NULL : neutral_of(d, stmt);
    if (neutral != NULL)
        return parts_value(d, p, stmt->value, neutral);
    ASSERT(is_extremum(stmt));
    struct parts repeated = *p;
    const struct expr *extent = expr_of_formula(d, stmt->loops[p->cut].extent);
    const struct expr *last = expr_call(d->arena, EXPR_SUB, extent, expr_int(d->arena, 1), NULL);
    repeated.by_loop[p->cut] = expr_call(d->arena, EXPR_MIN, p->by_loop[p->cut], last, NULL);
    return expr_replaced(d->arena, stmt->value, repeated.by_loop, OP_NONE);
}

/* target = best * block * others + place[best], best the first part that has the extremum. */
static bool merge_places(struct draft *d, const struct rewrite *rewrite, const struct parts *p,
                         size_t partial, const struct expr *terms)
{
    struct arena *arena = d->arena;
    const struct stmt stmt = d->stmts[rewrite->stmt];
    size_t rank = p->free_count - 1, loops[OP_LOOPS_MAX];
    const struct expr *others = others_of(d, &stmt, rewrite->loop);
    if (others == NULL)
        return refuse(d, "the number of its terms is no plain formula");
    for (size_t i = 0; i < rank; i++)
        loops[i] = i;
    size_t place = draft_temporary(d, "place", DTYPE_I64, p->loops, p->free_count);
    size_t best = draft_temporary(d, "best", DTYPE_I64, p->loops, rank);
    const struct stmt places = parts_stmt(d, p, place, stmt.reduce, terms);
    struct stmt bests = parts_merge(d, &stmt, p, stmt.reduce, parts_read(d, p, partial));
    bests.target = best;
    const struct expr *first = expr_at(arena, best, loops, rank);
    const struct expr **subs = arena_array(arena, const struct expr *, p->free_count);
    for (size_t i = 0; i < rank; i++)
        subs[i] = expr_index(arena, i);
    subs[rank] = first;
    struct expr *own = arena_new(arena, struct expr);
    /* the parts' number is known to be in range, but not to a reader of the text */
    *own = (struct expr){.op = EXPR_READ,
                         .tensor = place,
                         .rank = p->free_count,
                         .subs = subs,
                         .pad = expr_int(arena, 0)};
    const struct expr *start =
        expr_call(arena, EXPR_MUL, first, expr_int(arena, rewrite->number), NULL);
    if (stmt.loop_count - stmt.free_count > 1)
        start = expr_call(arena, EXPR_MUL, start, others, NULL);
    struct stmt *whole = &d->stmts[rewrite->stmt];
    whole->value = expr_call(arena, EXPR_ADD, start, own, NULL);
    whole->reduce = REDUCE_NONE;
    whole->loop_count = whole->free_count;
    draft_insert(d, rewrite->stmt, &bests);
    draft_insert(d, rewrite->stmt, &places);
    return true;
}

bool rewrite_split(struct draft *d, const struct rewrite *rewrite)
{
    const struct stmt stmt = d->stmts[rewrite->stmt];
    bool arg = is_arg(&stmt);
    enum reduce_op op = !arg ? stmt.reduce : stmt.reduce == REDUCE_ARGMAX ? REDUCE_MAX : REDUCE_MIN;
    struct parts p;
    if (!can_split(d, &stmt))
        return false;
    if (arg && rewrite->loop > stmt.free_count)
        return refuse(d, "of equal values the first wins, and parts of an inner index are not in "
                         "the order of positions");
    if (!parts_of(d, &stmt, rewrite->loop, rewrite->number, draft_name(d, "part"),
                  draft_name(d, "inner"), &p))
        return false;
    const struct expr *terms = terms_of(d, &stmt, &p);
    size_t partial = draft_temporary(d, "partial", stmt.value->dtype, p.loops, p.free_count);
    const struct stmt over = parts_stmt(d, &p, partial, op, terms);
    if (arg && !merge_places(d, rewrite, &p, partial, terms))
        return false;
    size_t at = rewrite->stmt;
    if (!arg)
        d->stmts[at] = parts_merge(d, &stmt, &p, op, parts_read(d, &p, partial));
    draft_insert(d, at, &over);
    return true;
}
