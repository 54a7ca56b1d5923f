/*
 * Expressions seen through temporaries, and when two are the same.
 *
 * e[m,n] = exp(x[m,n] - mx[m]) read as e[i,j] is exp(x[i,j] - mx[i]): a map behind a read whose
 * subscripts are plain can be put in its place, with its loops renamed to the reader's.  So what a
 * spec writes in one statement or in four is the same here.
 *
 * Comparison pairs the loops of two statements as it goes.  A loop has one partner; a choice made
 * in a part that then differs is taken back.
 */
#include "base/panic.h"

#include "solver/legal/structure_int.h"

enum { FACTORS_DEPTH_MAX = 16 };

struct view view_of(const struct op *op, const struct stmt *host, const struct expr *expr)
{
    struct view view = {.op = op, .stmt = host, .expr = without_casts(expr)};
    for (size_t i = 0; i < OP_LOOPS_MAX; i++)
        view.loop[i] = i < host->loop_count ? i : OP_NONE;
    return view;
}

/* The map that computes what the view reads, or NULL. */
static const struct stmt *map_behind(const struct view *view)
{
    if (view->expr->op != EXPR_READ)
        return NULL;
    const struct tensor *tensor = &view->op->tensors[view->expr->tensor];
    if (tensor->written_by == OP_NONE || !reads_plainly(view->op, view->expr))
        return NULL;
    const struct stmt *stmt = &view->op->stmts[tensor->written_by];
    return is_plain_map(stmt) && stmt->free_count == tensor->rank ? stmt : NULL;
}

struct view view_through(struct view view)
{
    view.expr = without_casts(view.expr);
    for (const struct stmt *map = map_behind(&view); map != NULL; map = map_behind(&view)) {
        struct view inner = {.op = view.op, .stmt = map, .expr = without_casts(map->value)};
        for (size_t i = 0; i < OP_LOOPS_MAX; i++)
            inner.loop[i] =
                i < map->free_count ? view.loop[plain_loop(view.expr->subs[i])] : OP_NONE;
        view = inner;
    }
    return view;
}

struct view view_arg(const struct view *view, size_t arg)
{
    struct view inner = *view;
    inner.expr = without_casts(view->expr->args[arg]);
    return inner;
}

void pairing_init(struct pairing *pairing)
{
    for (size_t i = 0; i < OP_LOOPS_MAX; i++)
        pairing->of[i] = OP_NONE;
    pairing->steps = 0;
}

static bool pair_loops(struct pairing *pairing, size_t first, size_t second)
{
    if (first == OP_NONE || second == OP_NONE)
        return false;
    if (pairing->of[first] != OP_NONE)
        return pairing->of[first] == second;
    for (size_t i = 0; i < OP_LOOPS_MAX; i++)
        if (pairing->of[i] == second)
            return false;
    pairing->of[first] = second;
    return true;
}

static bool equal_parts(const struct view *first, const struct view *second,
                        struct pairing *pairing);

static bool equal_at(const struct view *first, const struct expr *p, const struct view *second,
                     const struct expr *q, struct pairing *pairing)
{
    struct view a = *first, b = *second;
    a.expr = without_casts(p);
    b.expr = without_casts(q);
    return equal_parts(&a, &b, pairing);
}

static bool equal_reads(const struct view *first, const struct view *second,
                        struct pairing *pairing)
{
    const struct expr *p = first->expr, *q = second->expr;
    if (p->tensor != q->tensor || (p->pad == NULL) != (q->pad == NULL))
        return false;
    for (size_t i = 0; i < first->op->tensors[p->tensor].rank; i++)
        if (!equal_at(first, p->subs[i], second, q->subs[i], pairing))
            return false;
    return p->pad == NULL || equal_at(first, p->pad, second, q->pad, pairing);
}

static bool equal_nodes(const struct view *first, const struct view *second,
                        struct pairing *pairing)
{
    const struct expr *p = first->expr, *q = second->expr;
    if (p->op != q->op)
        return false;
    if (p->op == EXPR_READ)
        return equal_reads(first, second, pairing);
    if (p->op == EXPR_INDEX)
        return pair_loops(pairing, first->loop[p->loop], second->loop[q->loop]);
    if (p->op == EXPR_FLOAT || p->op == EXPR_INT || p->op == EXPR_DIM)
        return p->integer == q->integer && p->dim == q->dim &&
               (p->real < q->real) == (p->real > q->real);
    for (size_t i = 0; i < COUNT_OF(p->args) && p->args[i] != NULL; i++)
        if (!equal_at(first, p->args[i], second, q->args[i], pairing))
            return false;
    return true;
}

static void take_back(struct pairing *pairing, const struct pairing *kept)
{
    size_t steps = pairing->steps;
    *pairing = *kept;
    pairing->steps = steps;
}

static bool equal_parts(const struct view *first, const struct view *second,
                        struct pairing *pairing)
{
    struct pairing kept = *pairing;
    if (++pairing->steps > VIEW_STEPS_MAX)
        return false;
    if (equal_nodes(first, second, pairing))
        return true;
    take_back(pairing, &kept);
    struct view p = view_through(*first), q = view_through(*second);
    if (p.expr == first->expr && q.expr == second->expr)
        return false;
    if (equal_nodes(&p, &q, pairing))
        return true;
    take_back(pairing, &kept);
    return false;
}

bool views_equal(const struct view *first, const struct view *second, struct pairing *pairing)
{
    struct view a = *first, b = *second;
    a.expr = without_casts(a.expr);
    b.expr = without_casts(b.expr);
    return equal_parts(&a, &b, pairing);
}

static size_t factors_of(struct view view, struct view *out, size_t room, size_t depth)
{
    if (room == 0)
        return 0;
    struct view inner = view_through(view);
    if (inner.expr->op != EXPR_MUL || depth == FACTORS_DEPTH_MAX) {
        out[0] = view;
        return 1;
    }
    size_t count = factors_of(view_arg(&inner, 0), out, room, depth + 1);
    return count + factors_of(view_arg(&inner, 1), out + count, room - count, depth + 1);
}

size_t view_factors(struct view view, struct view *out, size_t room)
{
    view.expr = without_casts(view.expr);
    return factors_of(view, out, room, 0);
}
