/*
 * A product and statistics along one of its sides, from loops, accesses and arithmetic.
 *
 * All statements of the group run over the product's free loops, its axes: those of a row, and
 * those of the shared index, which are all that one factor has of its own.  Which loop of a
 * statement is which axis follows from what it reads of the group, so neither names nor the order
 * of indices matter.  Each tensor has a kind, which is how a block that goes along the index in
 * steps knows it:
 *   free     of the row, and known before the product
 *   score    known at an element without the rest of its row
 *   row      a value of the row: right once the index has been gone along
 *   weight   exp(score - maximum of that same score) times scores: right but for one factor a row
 *   scaled   weights times scores, row values and sums of those: their sum is made of sums of
 *            weights
 *   affine   scores times row values, added up: their sum is made of sums of scores
 *   square   affine times affine: their sum is made of means and second moments, merged by Chan's
 *            rule, so that nothing cancels
 *   spread   any other value at an element that needs the finished row
 * Sums take all but spread, other reductions scores and row values.  A reduction may end where an
 * index of its row says (a triangular mask): it leaves terms out, whatever step they are in.
 *
 * Invariant: a row's values are right after one pass along the index; what is stored along the
 * index, never a score, follows from a second pass, or from scores that the block still has.
 *
 * Not here: statistics that need a pass of their own (a deviation's absolute value), higher
 * moments, the sum of two unlike weights; and whether it pays.
 */
#include <string.h>

#include "solver/ir/op_int.h"
#include "solver/ir/region_int.h"

enum { STEPS_MAX = 1 << 12 }; /* of comparisons of one region; then expressions differ */

enum kind {
    KIND_FREE,
    KIND_SCORE,
    KIND_ROW,
    KIND_AFFINE,
    KIND_SQUARE,
    KIND_WEIGHT,
    KIND_SCALED,
    KIND_SPREAD,
    KIND_BAD
};

/* An expression, and the axis of each loop of its statement. */
struct view {
    const struct expr *expr;
    const size_t *axes;
};

struct score_scan {
    struct arena *arena;
    struct scores *scores;
    const bool *produced; /* by tensor: by a statement of the group */
    bool *done;           /* by tensor: has a kind */
    enum kind *of;
    struct view *maximum;     /* by tensor: of rows, what it is the maximum of */
    struct view *map;         /* by tensor: what a map gives it */
    const size_t **axes;      /* by tensor: of each dimension */
    bool inner[OP_LOOPS_MAX]; /* by axis: of the shared index */
    size_t *axis;             /* by loop of the statement at hand; OP_NONE: not known yet */
    bool picks;               /* an element that no reduction reads */
    bool reduces;             /* some statistic goes along the index */
    struct row_reach *reach;  /* by tensor: of maxima */
    struct row_reach weights; /* of the maximum that weights follow */
    size_t steps;
    const char *why;
};

static const struct row_reach full_reach = {RANGE_FULL, OP_NONE, OP_NONE};

static enum kind bad(struct score_scan *scan, const char *why)
{
    scan->why = why;
    return KIND_BAD;
}

/* ---- axes ---- */

static bool is_taken(const size_t *axis, size_t loops, size_t wanted)
{
    for (size_t i = 0; i < loops; i++)
        if (axis[i] == wanted)
            return true;
    return false;
}

struct binding {
    struct score_scan *scan;
    const struct stmt *stmt;
};

/* A plain index where the group's tensor has an axis is that axis. */
static void bind_read(void *context, const struct expr *expr)
{
    const struct binding *b = context;
    if (expr->op != EXPR_READ || !b->scan->produced[expr->tensor] || !b->scan->done[expr->tensor])
        return;
    for (size_t i = 0; i < expr->rank; i++) {
        const size_t wanted = b->scan->axes[expr->tensor][i];
        if (expr->subs[i]->op == EXPR_INDEX && b->scan->axis[expr->subs[i]->loop] == OP_NONE &&
            !is_taken(b->scan->axis, b->stmt->loop_count, wanted))
            b->scan->axis[expr->subs[i]->loop] = wanted;
    }
}

/* What no read tells: the first axis of the same extent that the loop may stand for.  Reduced loops
 * are of the index, and so are the free ones of elements alone. */
static void bind_rest(struct score_scan *scan, const struct stmt *stmt)
{
    const struct stmt *product = scan->scores->product;
    const bool elements = stmt->free_count == product->free_count;
    for (size_t i = 0; i < stmt->loop_count; i++)
        for (size_t a = 0; a < product->free_count && scan->axis[i] == OP_NONE; a++)
            if (!is_taken(scan->axis, stmt->loop_count, a) &&
                (i < stmt->free_count ? elements || !scan->inner[a] : scan->inner[a]) &&
                same_extents(&stmt->loops[i], &product->loops[a], 1))
                scan->axis[i] = a;
}

/* Gives each loop of the statement an axis; false when they are not axes of the product. */
static bool bind_loops(struct score_scan *scan, const struct stmt *stmt)
{
    const struct stmt *product = scan->scores->product;
    struct binding binding = {scan, stmt};
    scan->axis = arena_array(scan->arena, size_t, OP_LOOPS_MAX);
    for (size_t i = 0; i < OP_LOOPS_MAX; i++)
        scan->axis[i] = OP_NONE;
    expr_walk(stmt->value, bind_read, &binding);
    bind_rest(scan, stmt);
    for (size_t i = 0; i < stmt->loop_count; i++)
        if (scan->axis[i] == OP_NONE ||
            !same_extents(&stmt->loops[i], &product->loops[scan->axis[i]], 1))
            return false;
    return true;
}

/* Of the statement's free loops: every axis of the row, and all of the index or none of it. */
static bool spans(const struct score_scan *scan, const struct stmt *stmt, bool *elements)
{
    const size_t all = scan->scores->product->free_count;
    const size_t rows = all - scan->scores->loop_count[TILE_N];
    *elements = stmt->free_count == all;
    if (!*elements && stmt->free_count != rows)
        return false;
    for (size_t i = 0; i < stmt->free_count && !*elements; i++)
        if (scan->inner[scan->axis[i]])
            return false;
    return true;
}

/* ---- equal expressions ---- */

static bool is_literal(const struct expr *expr, double value)
{
    return (expr->op == EXPR_FLOAT && expr->real == value) ||
           (expr->op == EXPR_INT && (double)expr->integer == value);
}

static bool is_zero(const struct expr *expr)
{
    while (expr->op == EXPR_CAST)
        expr = expr->args[0];
    return is_literal(expr, 0);
}

/* The same value less casts, neutral operands, and maps of the group. */
static struct view plain(const struct score_scan *scan, struct view v)
{
    for (;;) {
        const struct expr *e = v.expr;
        const bool sum = e->op == EXPR_ADD, product = e->op == EXPR_MUL;
        if (e->op == EXPR_CAST)
            v.expr = e->args[0];
        else if (((sum || e->op == EXPR_SUB) && is_literal(e->args[1], 0)) ||
                 ((product || e->op == EXPR_DIV) && is_literal(e->args[1], 1)))
            v.expr = e->args[0];
        else if ((sum && is_literal(e->args[0], 0)) || (product && is_literal(e->args[0], 1)))
            v.expr = e->args[1];
        else if (e->op == EXPR_READ && scan->produced[e->tensor] && scan->done[e->tensor] &&
                 scan->map[e->tensor].expr != NULL)
            v = scan->map[e->tensor];
        else
            return v;
    }
}

static bool views_equal(struct score_scan *scan, struct view a, struct view b);

static bool all_equal(struct score_scan *scan, struct view a, struct view b, bool crossed)
{
    for (size_t i = 0; i < 3; i++) {
        const struct view left = {a.expr->args[i], a.axes};
        const struct view right = {b.expr->args[crossed && i < 2 ? 1 - i : i], b.axes};
        if ((left.expr == NULL) != (right.expr == NULL) ||
            (left.expr != NULL && !views_equal(scan, left, right)))
            return false;
    }
    return true;
}

static bool reads_equal(struct score_scan *scan, struct view a, struct view b)
{
    if (a.expr->tensor != b.expr->tensor || a.expr->pad != NULL || b.expr->pad != NULL)
        return false;
    for (size_t i = 0; i < a.expr->rank; i++)
        if (!views_equal(scan, (struct view){a.expr->subs[i], a.axes},
                         (struct view){b.expr->subs[i], b.axes}))
            return false;
    return true;
}

static bool views_equal(struct score_scan *scan, struct view a, struct view b)
{
    a = plain(scan, a);
    b = plain(scan, b);
    if (scan->steps++ > STEPS_MAX || a.expr->op != b.expr->op)
        return false;
    switch ((int)a.expr->op) {
    case EXPR_FLOAT:
        return a.expr->real == b.expr->real;
    case EXPR_INT:
        return a.expr->integer == b.expr->integer;
    case EXPR_DIM:
        return a.expr->dim == b.expr->dim;
    case EXPR_INDEX:
        return a.axes[a.expr->loop] == b.axes[b.expr->loop];
    case EXPR_READ:
        return reads_equal(scan, a, b);
    }
    const bool commutes = a.expr->op == EXPR_ADD || a.expr->op == EXPR_MUL;
    return all_equal(scan, a, b, false) || (commutes && all_equal(scan, a, b, true));
}

/* ---- weights ---- */

/* x - y as it may be written; false when the expression is no difference. */
static bool is_difference(const struct score_scan *scan, struct view v, struct view *x,
                          struct view *y)
{
    v = plain(scan, v);
    *x = *y = (struct view){NULL, v.axes};
    if (v.expr->op == EXPR_NEG) {
        const struct view negated = plain(scan, (struct view){v.expr->args[0], v.axes});
        return negated.expr->op == EXPR_SUB && is_difference(scan, negated, y, x);
    }
    if (v.expr->op == EXPR_SUB) {
        x->expr = v.expr->args[0];
        y->expr = v.expr->args[1];
        return true;
    }
    for (int i = 0; i < 2 && v.expr->op == EXPR_ADD; i++) {
        const struct view other = plain(scan, (struct view){v.expr->args[i], v.axes});
        if (other.expr->op != EXPR_NEG)
            continue;
        *x = (struct view){v.expr->args[1 - i], v.axes};
        *y = (struct view){other.expr->args[0], other.axes};
        return true;
    }
    return false;
}

static bool is_positive(const struct expr *expr)
{
    return (expr->op == EXPR_FLOAT && expr->real > 0) ||
           (expr->op == EXPR_INT && expr->integer > 0);
}

/* Less positive literals that multiply or divide: the maximum goes through them. */
static struct view unscaled(const struct score_scan *scan, struct view v)
{
    for (;;) {
        v = plain(scan, v);
        const struct expr *e = v.expr;
        if ((e->op == EXPR_MUL || e->op == EXPR_DIV) && is_positive(e->args[1]))
            v.expr = e->args[0];
        else if (e->op == EXPR_MUL && is_positive(e->args[0]))
            v.expr = e->args[1];
        else
            return v;
    }
}

/* All weights of a group follow maxima of one reach, so that sums of it alone take them. */
static bool weights_reach(struct score_scan *scan, struct row_reach reach)
{
    if (!scan->scores->online)
        scan->weights = reach;
    return reach_equal(scan->weights, reach);
}

/* exp(x - max x), or of a positive multiple. */
static bool is_weight(struct score_scan *scan, const struct expr *expr)
{
    struct view x, most;
    const struct view exponent = unscaled(scan, (struct view){expr->args[0], scan->axis});
    if (!is_difference(scan, exponent, &x, &most))
        return false;
    most = plain(scan, most);
    if (most.expr->op != EXPR_READ || !scan->produced[most.expr->tensor] ||
        scan->maximum[most.expr->tensor].expr == NULL)
        return false;
    return views_equal(scan, scan->maximum[most.expr->tensor], x) &&
           weights_reach(scan, scan->reach[most.expr->tensor]);
}

/* ---- arithmetic ---- */

static bool is_known(enum kind kind) /* before the row is finished */
{
    return kind == KIND_FREE || kind == KIND_SCORE;
}

static bool is_weighted(enum kind kind)
{
    return kind == KIND_WEIGHT || kind == KIND_SCALED;
}

static bool is_polynomial(enum kind kind)
{
    return kind <= KIND_SQUARE;
}

static enum kind kind_of_known(const enum kind *args, size_t count)
{
    bool known = true, rows = true, free = true;
    for (size_t i = 0; i < count; i++) {
        free &= args[i] == KIND_FREE;
        known &= is_known(args[i]);
        rows &= args[i] == KIND_FREE || args[i] == KIND_ROW;
    }
    return free ? KIND_FREE : known ? KIND_SCORE : rows ? KIND_ROW : KIND_SPREAD;
}

static enum kind kind_of_product(enum kind a, enum kind b)
{
    if (is_weighted(a) && is_weighted(b))
        return KIND_SPREAD;
    if (is_weighted(a) || is_weighted(b)) {
        const enum kind other = is_weighted(a) ? b : a;
        const bool keeps = (a == KIND_WEIGHT || b == KIND_WEIGHT) && is_known(other);
        return keeps ? KIND_WEIGHT : other <= KIND_AFFINE ? KIND_SCALED : KIND_SPREAD;
    }
    if (!is_polynomial(a) || !is_polynomial(b))
        return KIND_SPREAD;
    if (a == KIND_SQUARE || b == KIND_SQUARE)
        return a == KIND_AFFINE || b == KIND_AFFINE || a == b ? KIND_SPREAD : KIND_SQUARE;
    return a == KIND_AFFINE && b == KIND_AFFINE ? KIND_SQUARE : KIND_AFFINE;
}

/* Of integers it is rounded, and does not go through sums. */
static enum kind kind_of_quotient(const struct expr *expr, enum kind a, enum kind b)
{
    if ((b != KIND_ROW && !is_known(b)) || !dtype_is_float(expr->dtype))
        return KIND_SPREAD;
    return kind_of_product(a, b);
}

static enum kind kind_of_sum(enum kind a, enum kind b)
{
    if (!is_polynomial(a) || !is_polynomial(b))
        return KIND_SPREAD;
    return a == KIND_SQUARE || b == KIND_SQUARE ? KIND_SQUARE : KIND_AFFINE;
}

static enum kind kind_of_choice(const struct expr *expr, const enum kind *args)
{
    if (!is_known(args[0]))
        return KIND_SPREAD;
    for (int i = 1; i < 3; i++)
        if (is_weighted(args[i]) && is_zero(expr->args[3 - i]))
            return args[i];
    return kind_of_sum(args[1], args[2]);
}

/* Rounding does not go through differences. */
static enum kind kind_of_cast(const struct expr *expr, enum kind kind)
{
    const enum dtype from = expr->args[0]->dtype;
    const bool rounds = expr->tf32 || dtype_bytes(expr->dtype) < dtype_bytes(from);
    if (kind <= KIND_ROW || kind == KIND_BAD)
        return kind;
    if (!dtype_is_float(expr->dtype) || (rounds && !is_weighted(kind)))
        return KIND_SPREAD;
    return kind;
}

static enum kind kind_of(struct score_scan *scan, const struct expr *expr);

static enum kind kind_of_subscripts(struct score_scan *scan, const struct expr *read)
{
    enum kind kinds[OP_RANK_MAX + 1];
    size_t count = 0;
    for (size_t i = 0; i <= read->rank; i++) {
        const struct expr *part = i < read->rank ? read->subs[i] : read->pad;
        if (part == NULL)
            continue;
        kinds[count] = kind_of(scan, part);
        if (kinds[count++] == KIND_BAD)
            return KIND_BAD;
    }
    return kind_of_known(kinds, count);
}

/* Of a score's subscripts along the index, what a row knows beforehand picks an element: the step
 * that has it keeps it. */
static bool is_picked(struct score_scan *scan, const struct expr *read)
{
    bool picked = scan->of[read->tensor] == KIND_SCORE && read->pad == NULL;
    for (size_t i = 0; i < read->rank && picked; i++) {
        const struct expr *sub = read->subs[i];
        const size_t axis = scan->axes[read->tensor][i];
        picked = scan->inner[axis] ? kind_of(scan, sub) == KIND_FREE
                                   : sub->op == EXPR_INDEX && scan->axis[sub->loop] == axis;
    }
    return picked;
}

static enum kind kind_of_read(struct score_scan *scan, const struct expr *read)
{
    if (!scan->produced[read->tensor])
        return kind_of_subscripts(scan, read);
    if (!scan->done[read->tensor])
        return bad(scan, "it reads what comes later");
    bool own = true;
    for (size_t i = 0; i < read->rank; i++)
        own &= read->subs[i]->op == EXPR_INDEX &&
               scan->axis[read->subs[i]->loop] == scan->axes[read->tensor][i];
    if (own)
        return scan->of[read->tensor];
    if (is_picked(scan, read)) {
        scan->picks = true;
        return KIND_ROW;
    }
    return bad(scan, "it reads another row or element than its own");
}

static enum kind kind_of_operation(const struct expr *expr, const enum kind *args, size_t count)
{
    const enum kind known = kind_of_known(args, count);
    if (known != KIND_SPREAD)
        return known;
    switch ((int)expr->op) {
    case EXPR_NEG:
        return args[0];
    case EXPR_ADD:
    case EXPR_SUB:
        return kind_of_sum(args[0], args[1]);
    case EXPR_MUL:
        return kind_of_product(args[0], args[1]);
    case EXPR_DIV:
        return kind_of_quotient(expr, args[0], args[1]);
    case EXPR_WHERE:
        return kind_of_choice(expr, args);
    }
    return KIND_SPREAD;
}

static enum kind kind_of(struct score_scan *scan, const struct expr *expr)
{
    enum kind args[3] = {KIND_FREE, KIND_FREE, KIND_FREE};
    size_t count = 0;
    if (expr->op == EXPR_READ)
        return kind_of_read(scan, expr);
    if (expr->op == EXPR_INDEX)
        return scan->inner[scan->axis[expr->loop]] ? KIND_SCORE : KIND_FREE;
    for (; count < 3 && expr->args[count] != NULL; count++) {
        args[count] = kind_of(scan, expr->args[count]);
        if (args[count] == KIND_BAD)
            return KIND_BAD;
    }
    if (expr->op == EXPR_CAST)
        return kind_of_cast(expr, args[0]);
    if ((expr->op == EXPR_EXP || expr->op == EXPR_EXP2) && is_weight(scan, expr)) {
        scan->scores->online = true;
        return KIND_WEIGHT;
    }
    return kind_of_operation(expr, args, count);
}

/* ---- statements ---- */

/* False when it ends where another element of the index says: then each has a result of its own. */
static bool find_reach(const struct score_scan *scan, const struct stmt *stmt,
                       struct row_reach *out)
{
    *out = full_reach;
    for (size_t i = 0; i < stmt->loop_count; i++) {
        const struct loop *loop = &stmt->loops[i];
        if (loop->bound == RANGE_FULL)
            continue;
        const size_t axis = scan->axis[loop->bound_loop];
        if (out->bound != RANGE_FULL || axis == OP_NONE || scan->inner[axis])
            return false;
        *out = (struct row_reach){loop->bound, scan->axis[i], axis};
    }
    return true;
}

/* Free loops are all of the row: then reduced ones, as many as the index has, are the index. */
static bool goes_along(const struct score_scan *scan, const struct stmt *stmt)
{
    bool elements;
    return stmt->loop_count - stmt->free_count == scan->scores->loop_count[TILE_N] &&
           spans(scan, stmt, &elements) && !elements;
}

/* Numbers that a row keeps of it from step to step. */
static size_t states_of(const struct stmt *stmt, enum kind kind)
{
    const bool pair = stmt->reduce == REDUCE_ARGMAX || stmt->reduce == REDUCE_ARGMIN;
    return pair || kind == KIND_SQUARE ? 2 : 1;
}

/* Of the terms of a reduction: whether steps of it can be merged. */
static bool merges(struct score_scan *scan, const struct stmt *stmt, enum kind kind,
                   struct row_reach reach)
{
    if (kind == KIND_SPREAD || (kind > KIND_ROW && stmt->reduce != REDUCE_SUM))
        scan->why = "no merging of steps gives it: it reduces what only a finished row has";
    else if (is_weighted(kind) && !reach_equal(reach, scan->weights))
        scan->why = "no merging of steps gives it: it goes beyond what its weights' maximum is of";
    else
        return true;
    return false;
}

static void set_reach(struct score_scan *scan, struct row_reach reach)
{
    if (!scan->reduces)
        scan->scores->reach = reach;
    else if (!reach_equal(scan->scores->reach, reach))
        scan->scores->reach = full_reach;
}

static enum kind kind_of_reduction(struct score_scan *scan, const struct stmt *stmt)
{
    struct row_reach reach;
    const bool bound = bind_loops(scan, stmt);
    if (!find_reach(scan, stmt, &reach))
        return bad(scan, "it is a scan: an element of it needs its row in order");
    if (!bound || !goes_along(scan, stmt))
        return bad(scan, "its reduction goes along another index than a side of the product");
    const enum kind kind = kind_of(scan, stmt->value);
    if (kind == KIND_BAD || !merges(scan, stmt, kind, reach))
        return KIND_BAD;
    if (stmt->reduce == REDUCE_MAX)
        scan->maximum[stmt->target] = (struct view){stmt->value, scan->axis};
    scan->reach[stmt->target] = reach;
    set_reach(scan, reach);
    scan->scores->moments |= kind == KIND_SQUARE;
    scan->scores->states += states_of(stmt, kind);
    scan->reduces = true;
    return KIND_ROW;
}

static enum kind kind_of_map(struct score_scan *scan, const struct stmt *stmt)
{
    bool elements;
    if (!bind_loops(scan, stmt) || !spans(scan, stmt, &elements))
        return bad(scan, "its loops are neither those of the rows nor of the product");
    const enum kind kind = kind_of(scan, stmt->value);
    if (kind == KIND_BAD)
        return kind;
    scan->map[stmt->target] = (struct view){stmt->value, scan->axis};
    if (!elements)
        return kind;
    return kind == KIND_FREE ? KIND_SCORE : kind == KIND_ROW ? KIND_AFFINE : kind;
}

static void set_axes(struct score_scan *scan, const struct stmt *stmt)
{
    size_t *axes = arena_array(scan->arena, size_t, OP_LOOPS_MAX);
    for (size_t i = 0; i < stmt->free_count; i++)
        axes[i] = stmt == scan->scores->product ? i : scan->axis[i];
    scan->axes[stmt->target] = axes;
}

static enum kind kind_of_stmt(struct score_scan *scan, const struct stmt *stmt)
{
    const bool stored = scan->scores->stored[stmt->target];
    enum kind kind;
    if (stmt->seq != OP_NONE || stmt->scatter != NULL)
        return bad(scan, "it goes step by step, or scatters");
    if (stmt == scan->scores->product)
        kind = KIND_SCORE;
    else if (stmt->reduce != REDUCE_NONE)
        kind = kind_of_reduction(scan, stmt);
    else
        kind = kind_of_map(scan, stmt);
    if (kind == KIND_SCORE && stored)
        return bad(scan, "its elements are needed outside, and a pass keeps none of them");
    scan->scores->again |= stored && kind >= KIND_AFFINE && kind != KIND_BAD;
    return kind;
}

/* How many statements have a kind; all of them when the group is one. */
static size_t scan_statements(struct score_scan *scan)
{
    const struct scores *s = scan->scores;
    for (size_t i = 0; i < s->count; i++) {
        const struct stmt *stmt = &s->op->stmts[s->stmts[i]];
        const enum kind kind = kind_of_stmt(scan, stmt);
        if (kind == KIND_BAD) {
            scan->why = why_stmt(scan->arena, scan->why, s->op, stmt);
            return i;
        }
        set_axes(scan, stmt);
        scan->of[stmt->target] = kind;
        scan->done[stmt->target] = true;
    }
    scan->why = "no statistic along a side of the product follows";
    return s->count;
}

/* ---- groups ---- */

/* The side `along` of the product is the shared index, the other one are rows. */
static void set_sides(struct scores *scores, const struct tile *tile, enum tile_group along)
{
    const bool swap = along == TILE_M;
    const enum tile_group from[] = {TILE_BATCH, swap ? TILE_N : TILE_M, along, TILE_K};
    for (size_t g = TILE_BATCH; g <= TILE_K; g++) {
        scores->loop_count[g] = tile->loop_count[from[g]];
        memcpy(scores->loops[g], tile->loops[from[g]], sizeof(scores->loops[g]));
    }
    scores->factors[0] = swap ? tile->b : tile->a;
    scores->factors[1] = swap ? tile->a : tile->b;
}

struct attempt {
    bool whole; /* the group is one */
    size_t reached;
    const char *why;
};

static struct attempt attempt(struct arena *arena, struct scores *scores, const bool *produced)
{
    const size_t tensors = scores->op->tensor_count + 1;
    struct score_scan scan = {.arena = arena,
                              .scores = scores,
                              .produced = produced,
                              .done = arena_array(arena, bool, tensors),
                              .of = arena_array(arena, enum kind, tensors),
                              .maximum = arena_array(arena, struct view, tensors),
                              .map = arena_array(arena, struct view, tensors),
                              .reach = arena_array(arena, struct row_reach, tensors),
                              .axes = arena_array(arena, const size_t *, tensors)};
    for (size_t i = 0; i < scores->loop_count[TILE_N]; i++)
        scan.inner[scores->loops[TILE_N][i]] = true;
    const size_t reached = scan_statements(&scan);
    scores->states += scores->online;
    if (scores->again || scan.picks)
        scores->reach = full_reach;
    return (struct attempt){reached == scores->count && scan.reduces, reached, scan.why};
}

/* The first product; NULL with the reason. */
static const struct stmt *find_product(struct arena *arena, const struct scores *scores,
                                       struct tile *tile, const char **why)
{
    for (size_t i = 0; i < scores->count; i++)
        if (tile_recognise(arena, scores->op, &scores->stmts[i], 1, tile, why))
            return tile->contraction;
    return NULL;
}

struct factor_scan {
    const bool *produced;
    bool found;
};

static void find_produced(void *context, const struct expr *expr)
{
    struct factor_scan *find = context;
    find->found |= expr->op == EXPR_READ && find->produced[expr->tensor];
}

bool scores_recognise(struct arena *arena, const struct op *op, const size_t *stmts, size_t count,
                      struct scores *scores, const char **why)
{
    struct scores made = {.op = op, .stmts = stmts, .count = count}, other;
    bool *produced = arena_array(arena, bool, op->tensor_count + 1);
    struct factor_scan factors = {produced, false};
    struct tile tile;
    for (size_t i = 0; i < count; i++)
        produced[op->stmts[stmts[i]].target] = true;
    made.product = find_product(arena, &made, &tile, why);
    *scores = made;
    if (made.product == NULL)
        return false;
    *why = why_stmt(arena, "a factor of it is made in the group", op, made.product);
    expr_walk(made.product->value, find_produced, &factors);
    if (factors.found)
        return false;
    made.stored = region_stored(arena, op, stmts, count);
    other = made;
    set_sides(&made, &tile, TILE_N);
    set_sides(&other, &tile, TILE_M);
    const struct attempt first = attempt(arena, &made, produced);
    if (first.whole) {
        *scores = made;
        return true;
    }
    const struct attempt second = attempt(arena, &other, produced);
    *scores = other;
    *why = second.reached > first.reached ? second.why : first.why;
    return second.whole;
}

const struct formula *scores_extent(struct arena *arena, const struct scores *scores,
                                    enum tile_group group)
{
    const struct formula *extents[OP_LOOPS_MAX];
    for (size_t i = 0; i < scores->loop_count[group]; i++)
        extents[i] = scores->product->loops[scores->loops[group][i]].extent;
    return formula_count(arena, extents, scores->loop_count[group]);
}
