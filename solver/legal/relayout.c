/*
 * Rewrites of how temporaries are stored.
 *
 *   transpose  t[.., i, j, ..]  ->  t[.., j, i, ..], where it is written and where it is read
 *   flatten    t[.., i, j, ..]  ->  t[.., i * J + j, ..], J the extent of j
 *   gather     sum(k) f(i, k) * w(k, j), f read through a window  ->  a[i, k] = f(i, k),
 *              sum(k) a[i, k] * w(k, j): the window's elements become a matrix over the indices of
 *              the contraction, which is then a plain one
 *
 * All three are exact, for elements are copied.  Refused are outputs, whose layout the spec gives,
 * steps of a sequential block, which come first, and reads with a pad of an index that is
 * flattened: what leaves one index would be inside the other.
 */
#include <string.h>

#include "solver/legal/rewrite_int.h"

struct layout {
    struct draft *d;
    size_t tensor, axis;
    const struct expr *extent; /* of the second index; NULL = they change places */
    bool padded;
};

static bool can_lay_out(struct draft *d, const struct rewrite *rewrite)
{
    const struct stmt *stmt = &d->stmts[rewrite->stmt];
    size_t axis = rewrite->loop;
    if (!d->tensors[stmt->target].temporary)
        return refuse(d, "it writes an output, whose layout the spec gives");
    if (axis + 1 >= stmt->free_count)
        return refuse(d, "no index of what it writes follows index %zu", axis);
    return stmt->seq == OP_NONE || axis > 0 ||
           refuse(d, "the steps of a sequential block come first");
}

static const struct expr *lay_out(void *context, const struct expr *expr, struct expr *copied)
{
    struct layout *l = context;
    struct arena *arena = l->d->arena;
    if (expr->op != EXPR_READ || expr->tensor != l->tensor)
        return copied;
    const struct expr **subs = arena_array(arena, const struct expr *, copied->rank + 1);
    const struct expr *first = copied->subs[l->axis], *second = copied->subs[l->axis + 1];
    l->padded |= expr->pad != NULL;
    for (size_t i = 0; i < copied->rank; i++)
        subs[i] = copied->subs[i];
    if (l->extent == NULL) {
        subs[l->axis] = second;
        subs[l->axis + 1] = first;
    } else {
        subs[l->axis] = expr_call(arena, EXPR_ADD,
                                  expr_call(arena, EXPR_MUL, first, l->extent, NULL), second, NULL);
        for (size_t i = l->axis + 1; i + 1 < copied->rank; i++)
            subs[i] = subs[i + 1];
        copied->rank--;
    }
    copied->subs = subs;
    return copied;
}

static void lay_out_reads(struct layout *l)
{
    for (size_t s = 0; s < l->d->op.stmt_count; s++)
        stmt_map(l->d, &l->d->stmts[s], lay_out, l);
}

bool rewrite_transpose(struct draft *d, const struct rewrite *rewrite)
{
    struct stmt *stmt = &d->stmts[rewrite->stmt];
    struct tensor *tensor = &d->tensors[stmt->target];
    size_t axis = rewrite->loop;
    const struct expr *by_loop[OP_LOOPS_MAX];
    struct layout layout = {.d = d, .tensor = stmt->target, .axis = axis};
    if (!can_lay_out(d, rewrite))
        return false;
    struct loop *loops = arena_array(d->arena, struct loop, stmt->loop_count);
    for (size_t i = 0; i < stmt->loop_count; i++) {
        size_t to = i == axis ? axis + 1 : i == axis + 1 ? axis : i;
        loops[to] = stmt->loops[i];
        by_loop[i] = expr_index(d->arena, to);
    }
    for (size_t i = 0; i < stmt->loop_count; i++)
        if (loops[i].bound != RANGE_FULL)
            loops[i].bound_loop = by_loop[loops[i].bound_loop]->loop;
    stmt->loops = loops;
    stmt->value = expr_replaced(d->arena, stmt->value, by_loop, OP_NONE);
    const struct formula *first = tensor->shape[axis];
    tensor->shape[axis] = tensor->shape[axis + 1];
    tensor->shape[axis + 1] = first;
    lay_out_reads(&layout);
    return true;
}

/* ---- flatten ---- */

static bool flat_writer(struct draft *d, struct stmt *stmt, size_t axis, const struct expr *extent)
{
    const struct expr *by_loop[OP_LOOPS_MAX];
    struct loop *loops = arena_array(d->arena, struct loop, stmt->loop_count);
    const struct expr *flat = expr_index(d->arena, axis);
    for (size_t i = 0; i < stmt->loop_count; i++) {
        size_t to = i > axis ? i - 1 : i;
        const struct loop *loop = &stmt->loops[i];
        by_loop[i] = expr_index(d->arena, to);
        loops[to] = *loop;
        if (loop->bound != RANGE_FULL && (loop->bound_loop == axis || loop->bound_loop == axis + 1))
            return refuse(d, "a scan is bounded by one of the indices");
        if (loop->bound != RANGE_FULL && loop->bound_loop > axis)
            loops[to].bound_loop--;
    }
    by_loop[axis] = expr_call(d->arena, EXPR_DIV, flat, extent, NULL);
    by_loop[axis + 1] = expr_call(d->arena, EXPR_MOD, flat, extent, NULL);
    loops[axis] =
        (struct loop){.name = draft_name(d, "flat"),
                      .extent = formula_binary(d->arena, FORMULA_MUL, stmt->loops[axis].extent,
                                               stmt->loops[axis + 1].extent)};
    stmt->loops = loops;
    stmt->loop_count--;
    stmt->free_count--;
    stmt->value = expr_replaced(d->arena, stmt->value, by_loop, OP_NONE);
    return true;
}

bool rewrite_flatten(struct draft *d, const struct rewrite *rewrite)
{
    struct stmt *stmt = &d->stmts[rewrite->stmt];
    struct tensor *tensor = &d->tensors[stmt->target];
    struct layout layout = {.d = d, .tensor = stmt->target, .axis = rewrite->loop};
    if (!can_lay_out(d, rewrite))
        return false;
    layout.extent = expr_of_formula(d, stmt->loops[rewrite->loop + 1].extent);
    if (layout.extent == NULL)
        return refuse(d, "its extent is no plain formula");
    if (!flat_writer(d, stmt, rewrite->loop, layout.extent))
        return false;
    tensor->rank--;
    for (size_t i = rewrite->loop; i < tensor->rank; i++)
        tensor->shape[i] = stmt->loops[i].extent;
    lay_out_reads(&layout);
    return !layout.padded ||
           refuse(d, "a statement pads what it reads of it: what leaves one index would be inside "
                     "the other");
}

/* ---- gather ---- */

static bool is_plain_operand(const struct expr *expr)
{
    while (expr->op == EXPR_CAST)
        expr = expr->args[0];
    if (expr->op != EXPR_READ || expr->pad != NULL)
        return false;
    for (size_t i = 0; i < expr->rank; i++)
        if (expr->subs[i]->op != EXPR_INDEX)
            return false;
    return true;
}

bool rewrite_gather(struct draft *d, const struct rewrite *rewrite)
{
    struct stmt *stmt = &d->stmts[rewrite->stmt];
    struct factors factors;
    struct operand operand;
    if (stmt->reduce != REDUCE_SUM || !is_straight(stmt))
        return refuse(d, "it is no plain sum of products");
    if (!factors_of_product(stmt->value, &factors) || factors.above_count < 2)
        return refuse(d, "its terms are no products");
    if (rewrite->loop >= factors.above_count)
        return refuse(d, "it has no factor %zu", rewrite->loop);
    const struct expr *factor = factors.above[rewrite->loop];
    if (factor->weak || !expr_reads_data(factor) || !expr_varies(factor, stmt->free_count))
        return refuse(d, "its factor %zu is no operand", rewrite->loop);
    if (is_plain_operand(factor))
        return refuse(d, "its factor %zu is a matrix over its indices as it is", rewrite->loop);
    if (!operand_of(d, stmt, factor, "operand", &operand))
        return false;
    stmt->value = expr_put(d, stmt->value, factor, operand.read);
    draft_insert(d, rewrite->stmt, &operand.stmt);
    return true;
}
