/*
 * Summaries that run over the parts: the state of all parts so far, one part after the other.
 *
 *   online   m' = max(m, mp), s' = s * exp(m - m') + sp * exp(mp - m')
 *   welford  n' = n + np, d = tp / np - mean, mean' = mean + d * np / n',
 *            q' = q + qp + d^2 * n * np / n'; in the end q + n * (mean - c)^2
 *
 * The parts' own summaries are those of rescale and centre; only the merge at the end is replaced,
 * by a sequential block and reads of its last step.  A sum whose terms need another of the sums, or
 * the whole maximum in another way, cannot run, for its parts would wait for the end.
 */
#include <math.h>
#include <string.h>

#include "solver/legal/rewrite_int.h"

struct run {
    struct draft *d;
    const struct formula *steps; /* number of parts */
    const struct expr *last;     /* steps - 1 */
    struct str index;
    struct stmt stmts[SUMS_MAX + 1]; /* of the block */
    size_t count;
};

static struct run run_begin(struct draft *d, const struct stmt *stmt, const struct rewrite *rewrite)
{
    struct arena *arena = d->arena;
    struct formula *steps = arena_new(arena, struct formula);
    const struct formula *extent = stmt->loops[rewrite->loop].extent;
    *steps = (struct formula){
        .op = FORMULA_CEILDIV, .a = extent, .b = formula_int(arena, rewrite->number)};
    /* ceil(e / b) - 1 = (e - 1) / b */
    const struct expr *less =
        expr_call(arena, EXPR_SUB, expr_of_formula(d, extent), expr_int(arena, 1), NULL);
    return (struct run){
        .d = d,
        .steps = steps,
        .last = expr_call(arena, EXPR_DIV, less, expr_int(arena, rewrite->number), NULL),
        .index = draft_name(d, "step")};
}

/* The step, then the loops; their target is a new temporary. */
static struct stmt *add_state(struct run *r, const char *hint, enum dtype dtype,
                              const struct loop *free, size_t free_count)
{
    struct loop *loops = arena_array(r->d->arena, struct loop, free_count + 1);
    struct stmt *stmt = &r->stmts[r->count++];
    loops[0] = (struct loop){.name = r->index, .extent = r->steps};
    memcpy(&loops[1], free, free_count * sizeof(loops[0]));
    *stmt = (struct stmt){.target = draft_temporary(r->d, hint, dtype, loops, free_count + 1),
                          .loops = loops,
                          .loop_count = free_count + 1,
                          .free_count = free_count + 1,
                          .seq = OP_NONE};
    return stmt;
}

/* tensor[first, loops...]; pad NULL = none. */
static const struct expr *read_state(struct run *r, size_t tensor, const struct expr *first,
                                     const size_t *loops, size_t count, const struct expr *pad)
{
    struct arena *arena = r->d->arena;
    const struct expr **subs = arena_array(arena, const struct expr *, count + 1);
    struct expr *read = arena_new(arena, struct expr);
    subs[0] = first;
    for (size_t i = 0; i < count; i++)
        subs[i + 1] = expr_index(arena, loops[i]);
    *read = (struct expr){
        .op = EXPR_READ, .tensor = tensor, .rank = count + 1, .subs = subs, .pad = pad};
    return read;
}

static const struct expr *before(struct run *r, size_t tensor, const size_t *loops, size_t count,
                                 double start)
{
    struct arena *arena = r->d->arena;
    struct expr *pad = arena_new(arena, struct expr);
    const struct expr *first =
        expr_call(arena, EXPR_SUB, expr_index(arena, 0), expr_int(arena, 1), NULL);
    /* a literal alone has no type, and the state none yet */
    *pad = (struct expr){
        .op = EXPR_CAST, .dtype = r->d->tensors[tensor].dtype, .args = {expr_real(arena, start)}};
    return read_state(r, tensor, first, loops, count, pad);
}

static const struct expr *now(struct run *r, size_t tensor, const size_t *loops, size_t count)
{
    return read_state(r, tensor, expr_index(r->d->arena, 0), loops, count, NULL);
}

/* tensor[loops..., step], of a part. */
static const struct expr *of_part(struct run *r, size_t tensor, const size_t *loops, size_t count)
{
    size_t all[OP_LOOPS_MAX];
    memcpy(all, loops, count * sizeof(all[0]));
    all[count] = 0;
    return expr_at(r->d->arena, tensor, all, count + 1);
}

/* The statement that merged the parts becomes a map. */
static struct stmt *merge_of(struct run *r, size_t target)
{
    struct stmt *stmt = NULL;
    for (size_t s = 0; s < r->d->op.stmt_count; s++)
        if (r->d->stmts[s].target == target)
            stmt = &r->d->stmts[s];
    stmt->loop_count = stmt->free_count;
    stmt->reduce = REDUCE_NONE;
    return stmt;
}

static void count_up(size_t *loops, size_t from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        loops[i] = from + i;
}

/* ---- online ---- */

static const struct expr *rescaled(struct run *r, const struct expr *sum, enum expr_op exp,
                                   const struct expr *from, const struct expr *to)
{
    struct arena *arena = r->d->arena;
    const struct expr *factor =
        expr_call(arena, exp, expr_call(arena, EXPR_SUB, from, to, NULL), NULL, NULL);
    return unless_empty(r->d, from, expr_call(arena, EXPR_MUL, sum, factor, NULL));
}

static void run_sum(struct run *r, const struct rescaled *parts, size_t maxima,
                    const struct rescaled_sum *sum, size_t maximum_rank)
{
    struct stmt *merge = merge_of(r, sum->target);
    size_t own[OP_LOOPS_MAX], of_maximum[OP_LOOPS_MAX];
    count_up(own, 1, merge->free_count);
    for (size_t i = 0; i < maximum_rank; i++)
        of_maximum[i] = sum->loops[i] + 1;
    struct stmt *state =
        add_state(r, "sums", r->d->tensors[sum->target].dtype, merge->loops, merge->free_count);
    const struct expr *whole = now(r, maxima, of_maximum, maximum_rank);
    state->value =
        expr_call(r->d->arena, EXPR_ADD,
                  rescaled(r, before(r, state->target, own, merge->free_count, 0), sum->exp,
                           before(r, maxima, of_maximum, maximum_rank, (double)-INFINITY), whole),
                  rescaled(r, of_part(r, sum->partial, own, merge->free_count), sum->exp,
                           of_part(r, parts->partial, of_maximum, maximum_rank), whole),
                  NULL);
    count_up(own, 0, merge->free_count);
    merge->value = read_state(r, state->target, r->last, own, merge->free_count, NULL);
}

/* What a statement needs, through others. */
struct needs {
    const struct draft *d;
    bool *seen; /* by tensor */
};

static void note_need(void *context, const struct expr *expr)
{
    struct needs *needs = context;
    if (expr->op != EXPR_READ || needs->seen[expr->tensor])
        return;
    size_t writer = needs->d->tensors[expr->tensor].written_by;
    needs->seen[expr->tensor] = true;
    if (writer != OP_NONE)
        expr_walk(needs->d->stmts[writer].value, note_need, needs);
}

static bool can_run(struct draft *d, const struct rescaled *parts)
{
    for (size_t i = 0; i < parts->count; i++) {
        size_t writer = d->tensors[parts->sums[i].partial].written_by;
        struct needs needs = {d, arena_array(d->arena, bool, d->op.tensor_count)};
        expr_walk(d->stmts[writer].value, note_need, &needs);
        bool waits = needs.seen[parts->maximum];
        for (size_t k = 0; k < parts->count; k++)
            waits |= needs.seen[parts->sums[k].target];
        if (waits)
            return refuse(d,
                          "'%.*s' has terms that need the end of what would run; what all of "
                          "them have can be taken out before",
                          STR_ARG(d->tensors[parts->sums[i].target].name));
    }
    return true;
}

bool rewrite_online(struct draft *d, const struct rewrite *rewrite)
{
    const struct stmt maximum = d->stmts[rewrite->stmt];
    struct rescaled parts;
    size_t own[OP_LOOPS_MAX], rank = maximum.free_count;
    if (!rewrite_rescale(d, rewrite, &parts) || !can_run(d, &parts))
        return false;
    struct run r = run_begin(d, &maximum, rewrite);
    struct stmt *merge = merge_of(&r, maximum.target);
    struct stmt *state =
        add_state(&r, "maxima", d->tensors[maximum.target].dtype, merge->loops, rank);
    count_up(own, 1, rank);
    state->value =
        expr_call(d->arena, EXPR_MAX, before(&r, state->target, own, rank, (double)-INFINITY),
                  of_part(&r, parts.partial, own, rank), NULL);
    for (size_t i = 0; i < parts.count; i++)
        run_sum(&r, &parts, state->target, &parts.sums[i], rank);
    count_up(own, 0, rank);
    merge_of(&r, maximum.target)->value = read_state(&r, state->target, r.last, own, rank, NULL);
    draft_append_seq(d, r.index, r.steps, r.stmts, r.count);
    return true;
}

/* ---- welford ---- */

struct counts {
    const struct expr *before, *part, *now, *all; /* elements; the first three at the step */
};

static struct counts counts_of(struct draft *d, const struct stmt *stmt,
                               const struct rewrite *rewrite)
{
    struct arena *arena = d->arena;
    const struct expr *extent = expr_of_formula(d, stmt->loops[rewrite->loop].extent);
    const struct expr *others = others_of(d, stmt, rewrite->loop);
    const struct expr *block = expr_int(arena, rewrite->number), *step = expr_index(arena, 0);
    const struct expr *start = expr_call(arena, EXPR_MUL, step, block, NULL);
    const struct expr *end =
        expr_call(arena, EXPR_MIN, expr_call(arena, EXPR_ADD, start, block, NULL), extent, NULL);
    const struct expr *own = expr_call(arena, EXPR_SUB, end, start, NULL);
    struct counts counts = {start, own, end, extent};
    if (stmt->loop_count - stmt->free_count == 1)
        return counts;
    return (struct counts){expr_call(arena, EXPR_MUL, start, others, NULL),
                           expr_call(arena, EXPR_MUL, own, others, NULL),
                           expr_call(arena, EXPR_MUL, end, others, NULL),
                           expr_call(arena, EXPR_MUL, extent, others, NULL)};
}

/* a * b / c, in that order: the counts b and c are integers, a is not. */
static const struct expr *share_of(struct arena *arena, const struct expr *a, const struct expr *b,
                                   const struct expr *c)
{
    return expr_call(arena, EXPR_DIV, expr_call(arena, EXPR_MUL, a, b, NULL), c, NULL);
}

static const struct expr *square_of(struct arena *arena, const struct expr *a)
{
    return expr_call(arena, EXPR_MUL, a, a, NULL);
}

bool rewrite_welford(struct draft *d, const struct rewrite *rewrite)
{
    const struct stmt whole = d->stmts[rewrite->stmt];
    struct arena *arena = d->arena;
    struct centred parts;
    size_t own[OP_LOOPS_MAX], rank = whole.free_count;
    if (!rewrite_centre(d, rewrite, &parts))
        return false;
    struct run r = run_begin(d, &whole, rewrite);
    struct counts n = counts_of(d, &whole, rewrite);
    struct stmt *mean = add_state(&r, "mean", whole.value->dtype, whole.loops, rank);
    struct stmt *square = add_state(&r, "squares", whole.value->dtype, whole.loops, rank);
    count_up(own, 1, rank);
    const struct expr *old = before(&r, mean->target, own, rank, 0);
    const struct expr *away = expr_call(
        arena, EXPR_SUB,
        expr_call(arena, EXPR_DIV, of_part(&r, parts.total, own, rank), n.part, NULL), old, NULL);
    mean->value = expr_call(arena, EXPR_ADD, old, share_of(arena, away, n.part, n.now), NULL);
    const struct expr *both = expr_call(arena, EXPR_ADD, before(&r, square->target, own, rank, 0),
                                        of_part(&r, parts.square, own, rank), NULL);
    const struct expr *moved = share_of(
        arena, expr_call(arena, EXPR_MUL, square_of(arena, away), n.before, NULL), n.part, n.now);
    square->value = expr_call(arena, EXPR_ADD, both, moved, NULL);
    count_up(own, 0, rank);
    const struct expr *off = expr_call(
        arena, EXPR_SUB, read_state(&r, mean->target, r.last, own, rank, NULL), parts.centre, NULL);
    merge_of(&r, whole.target)->value =
        expr_call(arena, EXPR_ADD, read_state(&r, square->target, r.last, own, rank, NULL),
                  expr_call(arena, EXPR_MUL, n.all, square_of(arena, off), NULL), NULL);
    draft_append_seq(d, r.index, r.steps, r.stmts, r.count);
    return true;
}
