/*
 * Chains of two products with row statistics between them, from loops, accesses and arithmetic.
 *
 * Each tensor of the group has a kind, which is how a block with only a part of the shared index
 * knows it:
 *   score    follows from the first product's element and what lies outside the group
 *   weight   exp(score - maximum of that same score) times scores: right but for one factor a row
 *   scaled   a score or weight times or over a value of its row, which comes out of sums
 *   row      a value of the row: right once the index has been gone along
 *   result   of the second product, and maps on it
 * Sums over the index take scores, weights and scaled ones; other reductions take scores.  All may
 * end at the same place, where a row says (a triangular mask).
 *
 * Invariant: what gets a kind can be computed in one pass along the index with rescaling; anything
 * else is refused, as is a score that is needed outside.
 *
 * Not here: statistics that a pass could merge in other ways (mean and deviation), and whether it
 * pays.
 */
#include <string.h>

#include "base/panic.h"

#include "solver/ir/op_int.h"
#include "solver/ir/region_int.h"

enum score_class {
    CLASS_FREE,
    CLASS_SCORE,
    CLASS_WEIGHT,
    CLASS_SCALED,
    CLASS_ROW,
    CLASS_RESULT,
    CLASS_BAD
};

struct chain_scan {
    struct arena *arena;
    struct chain *chain;
    const bool *produced;          /* by tensor: by a statement of the group */
    bool *done;                    /* by tensor: classed */
    enum score_class *of;          /* by tensor, when done */
    const struct expr **maximum;   /* by tensor: of rows, what it is the maximum of */
    size_t row_loop[OP_LOOPS_MAX]; /* of `second`, by row loop of `first` */
    bool reached;                  /* a reduction along the shared index came by */
    const char *why;               /* why the last kind was bad */
};

static enum score_class bad(struct chain_scan *scan, const char *why)
{
    scan->why = why;
    return CLASS_BAD;
}

static const struct expr *uncast(const struct expr *expr)
{
    while (expr->op == EXPR_CAST)
        expr = expr->args[0];
    return expr;
}

/* ---- reads ---- */

struct produced_scan {
    const bool *produced;
    bool found;
};

static void find_produced(void *context, const struct expr *expr)
{
    struct produced_scan *find = context;
    find->found |= expr->op == EXPR_READ && find->produced[expr->tensor];
}

static bool reads_produced(const bool *produced, const struct expr *expr)
{
    struct produced_scan find = {produced, false};
    expr_walk(expr, find_produced, &find);
    return find.found;
}

/* A value of the own row, in the loops of the results. */
static bool reads_own_row(const struct chain_scan *scan, const struct expr *read)
{
    if (read->rank != scan->chain->outer || read->pad != NULL)
        return false;
    for (size_t i = 0; i < read->rank; i++)
        if (read->subs[i]->op != EXPR_INDEX || read->subs[i]->loop != scan->row_loop[i])
            return false;
    return true;
}

static enum score_class class_of_read(struct chain_scan *scan, const struct expr *read,
                                      bool results)
{
    const struct chain *c = scan->chain;
    if (!scan->produced[read->tensor])
        return CLASS_FREE;
    if (!scan->done[read->tensor])
        return bad(scan, "it reads what comes later");
    enum score_class kind = scan->of[read->tensor];
    bool own =
        kind == CLASS_ROW
            ? (results ? reads_own_row(scan, read) : expr_reads_loops(c->op, read, 0, c->outer))
        : kind == CLASS_RESULT ? results && expr_reads_loops(c->op, read, 0, c->second->free_count)
                               : !results && expr_reads_loops(c->op, read, 0, c->outer + c->inner);
    return own ? kind : bad(scan, "it reads another row or element than its own");
}

/* ---- arithmetic ---- */

static bool is_zero(const struct expr *expr)
{
    expr = uncast(expr);
    return (expr->op == EXPR_FLOAT && expr->real == 0) ||
           (expr->op == EXPR_INT && expr->integer == 0);
}

static bool is_score(enum score_class kind)
{
    return kind == CLASS_FREE || kind == CLASS_SCORE;
}

static bool is_row(enum score_class kind)
{
    return kind == CLASS_FREE || kind == CLASS_ROW;
}

static bool is_linear(enum score_class kind)
{
    return kind == CLASS_SCORE || kind == CLASS_WEIGHT || kind == CLASS_SCALED;
}

static enum score_class class_of(struct chain_scan *scan, const struct expr *expr, bool results);

/* exp(x - max x), x a score. */
static enum score_class class_of_weight(struct chain_scan *scan, const struct expr *expr)
{
    const struct expr *exponent = uncast(expr->args[0]);
    if (exponent->op != EXPR_SUB)
        return CLASS_BAD;
    const struct expr *most = uncast(exponent->args[1]);
    if (most->op != EXPR_READ || class_of_read(scan, most, false) != CLASS_ROW ||
        class_of(scan, exponent->args[0], false) != CLASS_SCORE)
        return CLASS_BAD;
    const struct expr *of = scan->maximum[most->tensor];
    if (of == NULL || !expr_equal(uncast(of), uncast(exponent->args[0])))
        return bad(scan, "its exponent is not taken from that exponent's own maximum");
    scan->chain->online = true;
    return CLASS_WEIGHT;
}

static enum score_class class_of_product(struct chain_scan *scan, enum score_class a,
                                         enum score_class b, bool over)
{
    if (is_linear(a) && b == CLASS_ROW)
        return CLASS_SCALED;
    if (!over && a == CLASS_ROW && is_linear(b))
        return CLASS_SCALED;
    if (is_linear(a) && b == CLASS_FREE)
        return a;
    if (!over && a == CLASS_FREE && is_linear(b))
        return b;
    if (!over &&
        ((a == CLASS_WEIGHT && b == CLASS_SCORE) || (a == CLASS_SCORE && b == CLASS_WEIGHT)))
        return CLASS_WEIGHT;
    return bad(scan, "it multiplies what only a finished row can");
}

static enum score_class class_of_mask(struct chain_scan *scan, const struct expr *expr,
                                      const enum score_class *args)
{
    for (int i = 1; i < 3; i++) {
        if (args[i] == CLASS_SCALED)
            return bad(scan, "a mask comes behind the normalisation");
        if (args[i] == CLASS_WEIGHT && is_score(args[0]) && is_zero(expr->args[3 - i]))
            return CLASS_WEIGHT;
    }
    return bad(scan, "it uses a statistic of the whole row that no rescaling brings up to date");
}

static enum score_class class_of_others(struct chain_scan *scan, const struct expr *expr,
                                        const enum score_class *args, size_t count, bool results)
{
    bool scores = true, rows = true, outcome = results;
    for (size_t i = 0; i < count; i++) {
        scores &= is_score(args[i]);
        rows &= is_row(args[i]);
        outcome &= is_row(args[i]) || args[i] == CLASS_RESULT;
    }
    if (scores && rows)
        return CLASS_FREE;
    if (scores)
        return CLASS_SCORE;
    if (rows)
        return CLASS_ROW;
    if (outcome)
        return CLASS_RESULT;
    if (expr->op == EXPR_MUL || expr->op == EXPR_DIV)
        return class_of_product(scan, args[0], args[1], expr->op == EXPR_DIV);
    if (expr->op == EXPR_WHERE)
        return class_of_mask(scan, expr, args);
    return bad(scan, "it uses a statistic of the whole row that no rescaling brings up to date");
}

static enum score_class class_of(struct chain_scan *scan, const struct expr *expr, bool results)
{
    enum score_class args[3] = {CLASS_FREE, CLASS_FREE, CLASS_FREE};
    size_t count = 0;
    if (expr->op == EXPR_READ)
        return class_of_read(scan, expr, results);
    if (expr->op == EXPR_CAST)
        return class_of(scan, expr->args[0], results);
    if ((expr->op == EXPR_EXP || expr->op == EXPR_EXP2) && !results) {
        enum score_class weight = class_of_weight(scan, expr);
        if (weight != CLASS_BAD)
            return weight;
    }
    for (; count < 3 && expr->args[count] != NULL; count++) {
        args[count] = class_of(scan, expr->args[count], results);
        if (args[count] == CLASS_BAD)
            return CLASS_BAD;
    }
    const char *before = scan->why;
    enum score_class kind = class_of_others(scan, expr, args, count, results);
    if (kind == CLASS_BAD && before != NULL && expr->op != EXPR_WHERE)
        scan->why = before;
    return kind;
}

/* ---- statements between and behind the products ---- */

/* Reductions end where a row says, all of them at the same place: a running maximum is none of the
 * terms beyond. */
static bool same_reach(struct chain_scan *scan, const struct stmt *stmt)
{
    struct chain *c = scan->chain;
    struct row_reach reach = {RANGE_FULL, OP_NONE, OP_NONE};
    const size_t first = stmt == c->second ? c->second->free_count : c->outer;
    for (size_t i = first; i < stmt->loop_count; i++) {
        const struct loop *loop = &stmt->loops[i];
        size_t row = stmt == c->second ? 0 : loop->bound_loop;
        if (loop->bound == RANGE_FULL)
            continue;
        while (stmt == c->second && row < c->outer && scan->row_loop[row] != loop->bound_loop)
            row++;
        if (reach.bound != RANGE_FULL || row >= c->outer)
            return false;
        reach = (struct row_reach){loop->bound, c->outer + i - first, row};
    }
    if (!scan->reached)
        c->reach = reach;
    scan->reached = true;
    return reach_equal(c->reach, reach);
}

static enum score_class class_of_reduction(struct chain_scan *scan, const struct stmt *stmt)
{
    const struct chain *c = scan->chain;
    if (stmt->free_count != c->outer || stmt->loop_count != c->outer + c->inner ||
        !same_extents(stmt->loops, c->first->loops, stmt->loop_count))
        return bad(scan, "its reduction goes along another index "
                         "than the second product's");
    if (!same_reach(scan, stmt))
        return bad(scan, "it ends along the shared index where the other reductions do not");
    enum score_class kind = class_of(scan, stmt->value, false);
    if (kind == CLASS_BAD)
        return kind;
    if (stmt->reduce == REDUCE_SUM ? is_linear(kind) || kind == CLASS_FREE : is_score(kind)) {
        scan->maximum[stmt->target] = stmt->reduce == REDUCE_MAX ? stmt->value : NULL;
        return CLASS_ROW;
    }
    return bad(scan, "it reduces what only a finished row has");
}

struct result_scan {
    const struct chain_scan *scan;
    bool found;
};

static void find_result(void *context, const struct expr *expr)
{
    struct result_scan *find = context;
    if (expr->op == EXPR_READ && find->scan->produced[expr->tensor] &&
        find->scan->done[expr->tensor] && find->scan->of[expr->tensor] == CLASS_RESULT)
        find->found = true;
}

static enum score_class class_of_map(struct chain_scan *scan, const struct stmt *stmt)
{
    const struct chain *c = scan->chain;
    struct result_scan find = {scan, false};
    expr_walk(stmt->value, find_result, &find);
    const struct stmt *like = find.found ? c->second : c->first;
    size_t loops = find.found                     ? c->second->free_count
                   : stmt->free_count == c->outer ? c->outer
                                                  : c->outer + c->inner;
    if (stmt->free_count != loops || !same_extents(stmt->loops, like->loops, loops))
        return bad(scan, "its loops are neither those of the rows nor of a product");
    enum score_class kind = class_of(scan, stmt->value, find.found);
    if (kind == CLASS_BAD || find.found)
        return kind;
    if (stmt->free_count == c->outer)
        return is_row(kind) ? CLASS_ROW : bad(scan, "it reads an element of another row");
    return kind == CLASS_ROW    ? bad(scan, "it spreads a value of the row over its elements")
           : kind == CLASS_FREE ? CLASS_SCORE
                                : kind;
}

static bool fail_at(const struct chain_scan *scan, const struct stmt *stmt, const char **why)
{
    *why = why_stmt(scan->arena, scan->why, scan->chain->op, stmt);
    return false;
}

static bool class_statements(struct chain_scan *scan, const char **why)
{
    const struct chain *c = scan->chain;
    for (size_t i = 0; i < c->count; i++) {
        const struct stmt *stmt = &c->op->stmts[c->stmts[i]];
        enum score_class kind = CLASS_BAD;
        scan->why = NULL;
        if (stmt->seq != OP_NONE || stmt->scatter != NULL)
            (void)bad(scan, "it goes step by step, or scatters");
        else if (stmt == c->first)
            kind = CLASS_SCORE;
        else if (stmt == c->second)
            kind = same_reach(scan, stmt)
                       ? CLASS_RESULT
                       : bad(scan, "it ends along the shared index where the other reductions do "
                                   "not");
        else
            kind = stmt->reduce != REDUCE_NONE ? class_of_reduction(scan, stmt)
                                               : class_of_map(scan, stmt);
        if (kind == CLASS_BAD)
            return fail_at(scan, stmt, why);
        scan->of[stmt->target] = kind;
        scan->done[stmt->target] = true;
        if (is_linear(kind) && c->stored[stmt->target]) {
            (void)bad(scan, "its elements are needed outside, and a pass keeps none of them");
            return fail_at(scan, stmt, why);
        }
    }
    return true;
}

/* ---- the two products ---- */

/* A later product one factor of which is made in the group, the other outside: *weight is the
 * former. */
static bool find_second(struct chain_scan *scan, const struct expr **weight)
{
    struct chain *c = scan->chain;
    for (size_t i = 1; i < c->count; i++) {
        const struct stmt *stmt = &c->op->stmts[c->stmts[i]];
        struct tile tile;
        const char *why;
        if (!product_recognise(scan->arena, c->op, &c->stmts[i], 1, &tile, &why))
            continue;
        bool a = reads_produced(scan->produced, tile.a), b = reads_produced(scan->produced, tile.b);
        if (a == b)
            continue;
        c->second = stmt;
        *weight = uncast(a ? tile.a : tile.b);
        c->value = a ? tile.b : tile.a;
        return true;
    }
    return false;
}

/* The weight is read at free loops for the rows, then at all summed loops. */
static bool match_loops(struct chain_scan *scan, const struct expr *weight)
{
    struct chain *c = scan->chain;
    const struct stmt *second = c->second;
    bool used[OP_LOOPS_MAX] = {false};
    if (weight->op != EXPR_READ || weight->pad != NULL || weight->rank != c->first->free_count)
        return false;
    c->inner = second->loop_count - second->free_count;
    if (c->inner >= weight->rank)
        return false;
    c->outer = weight->rank - c->inner;
    for (size_t i = 0; i < weight->rank; i++) {
        const struct expr *sub = weight->subs[i];
        if (sub->op != EXPR_INDEX || used[sub->loop] ||
            (i >= c->outer ? sub->loop != second->free_count + i - c->outer
                           : sub->loop >= second->free_count) ||
            !same_extents(&second->loops[sub->loop], &c->first->loops[i], 1))
            return false;
        used[sub->loop] = true;
        if (i < c->outer)
            scan->row_loop[i] = sub->loop;
    }
    for (size_t i = 0; i < second->free_count; i++)
        if (!used[i])
            c->loops[CHAIN_COLUMNS][c->loop_count[CHAIN_COLUMNS]++] = i;
    return c->loop_count[CHAIN_COLUMNS] > 0;
}

/* The shared index is all that one factor of the first product has of its own. */
static bool match_groups(struct chain *c, const struct tile *tile)
{
    bool swap = tile->loops[TILE_M][0] >= c->outer;
    enum tile_group shared = swap ? TILE_M : TILE_N, rows = swap ? TILE_N : TILE_M;
    const enum tile_group from[] = {TILE_BATCH, rows, shared, TILE_K};
    if (tile->loop_count[shared] != c->inner)
        return false;
    for (size_t i = 0; i < c->inner; i++)
        if (tile->loops[shared][i] != c->outer + i)
            return false;
    c->query = swap ? tile->b : tile->a;
    c->key = swap ? tile->a : tile->b;
    for (size_t g = CHAIN_BATCH; g <= CHAIN_K; g++) {
        c->loop_count[g] = tile->loop_count[from[g]];
        memcpy(c->loops[g], tile->loops[from[g]], sizeof(c->loops[g]));
    }
    return true;
}

bool chain_recognise(struct arena *arena, const struct op *op, const size_t *stmts, size_t count,
                     struct chain *chain, const char **why)
{
    size_t tensors = op->tensor_count + 1;
    bool *produced = arena_array(arena, bool, tensors);
    struct tile tile;
    const struct expr *weight = NULL;
    struct chain_scan scan = {.arena = arena,
                              .chain = chain,
                              .produced = produced,
                              .done = arena_array(arena, bool, tensors),
                              .of = arena_array(arena, enum score_class, tensors),
                              .maximum = arena_array(arena, const struct expr *, tensors)};
    *chain = (struct chain){.op = op, .stmts = stmts, .count = count};
    if (!tile_recognise(arena, op, stmts, 1, &tile, why))
        return false;
    chain->first = tile.contraction;
    chain->stored = region_stored(arena, op, stmts, count);
    for (size_t i = 0; i < count; i++)
        produced[op->stmts[stmts[i]].target] = true;
    *why = "no second product of the first one's results follows";
    if (!find_second(&scan, &weight))
        return false;
    *why =
        why_stmt(arena, "it sums over another index than the one that the first product has last",
                 op, chain->second);
    if (!match_loops(&scan, weight) || !match_groups(chain, &tile))
        return false;
    if (!class_statements(&scan, why))
        return false;
    if (!is_linear(scan.of[weight->tensor])) {
        *why = "the second product's factor is no weight of its row";
        return false;
    }
    return true;
}

const struct formula *chain_extent(struct arena *arena, const struct chain *chain,
                                   enum chain_group group)
{
    const struct formula *extents[OP_LOOPS_MAX];
    const struct stmt *stmt = group == CHAIN_COLUMNS ? chain->second : chain->first;
    for (size_t i = 0; i < chain->loop_count[group]; i++)
        extents[i] = stmt->loops[chain->loops[group][i]].extent;
    return formula_count(arena, extents, chain->loop_count[group]);
}
