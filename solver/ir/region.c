/*
 * What a group of statements is, from its loops and accesses; names never matter.
 *
 * Rows: all statements share the outer loops; each is a scalar of the row, a vector along the inner
 * loops, or a reduction over all inner loops.  What the group produces is read inside it at the own
 * row and position only, so a block that owns the row needs no other block.
 *
 * Tile: a float sum over k of a(m, k) * b(n, k), any number of loops in each group, batch loops in
 * both; then maps over the same elements.
 *
 * Not here: whether it pays; skeleton.c decides that.
 */
#include "base/buf.h"

#include "solver/ir/region_int.h"

enum { WHY_BYTES_MAX = 1 << 20 };

const char *why_stmt(struct arena *arena, const char *what, const struct op *op,
                     const struct stmt *stmt)
{
    struct buf buf;
    buf_init(&buf, arena, WHY_BYTES_MAX);
    buf_printf(&buf, "%s: ", what);
    op_print_stmt(&buf, op, stmt);
    for (size_t i = 0; i < buf.len; i++)
        if (buf.at[i] == '\n')
            buf.at[i] = ' ';
    return buf.at;
}

bool same_extents(const struct loop *a, const struct loop *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!formula_equal(a[i].extent, b[i].extent))
            return false;
    return true;
}

/* ---- what leaves a region ---- */

struct reader {
    bool *read; /* by tensor */
};

static void mark_read(void *context, const struct expr *expr)
{
    struct reader *reader = context;
    if (expr->op == EXPR_READ)
        reader->read[expr->tensor] = true;
}

static bool contains(const size_t *stmts, size_t count, size_t stmt)
{
    for (size_t i = 0; i < count; i++)
        if (stmts[i] == stmt)
            return true;
    return false;
}

const bool *region_stored(struct arena *arena, const struct op *op, const size_t *stmts,
                          size_t count)
{
    struct reader reader = {arena_array(arena, bool, op->tensor_count + 1)};
    bool *stored = arena_array(arena, bool, op->tensor_count + 1);
    for (size_t i = 0; i < op->stmt_count; i++)
        if (!contains(stmts, count, i))
            stmt_walk(op, &op->stmts[i], mark_read, &reader);
    for (size_t i = 0; i < count; i++) {
        size_t target = op->stmts[stmts[i]].target;
        stored[target] = reader.read[target] || !op->tensors[target].temporary;
    }
    return stored;
}

/* ---- rows ---- */

struct row_check {
    const struct rows *rows;
    const bool *done; /* by tensor: produced by an earlier statement of the region */
    enum row_part part;
    const enum row_part *part_of; /* by tensor */
    bool bad;
};

static void check_row_read(void *context, const struct expr *expr)
{
    struct row_check *check = context;
    if (expr->op != EXPR_READ || !check->rows->produced[expr->tensor])
        return;
    const struct rows *rows = check->rows;
    bool vector = check->part_of[expr->tensor] == ROW_VECTOR;
    if (!check->done[expr->tensor] || (vector && check->part == ROW_SCALAR) ||
        !expr_reads_loops(rows->op, expr, 0, rows->outer + (vector ? rows->inner : 0)))
        check->bad = true;
}

bool plain_reduction(const struct stmt *stmt)
{
    if (stmt->reduce == REDUCE_NONE || stmt->scatter != NULL)
        return false;
    for (size_t i = 0; i < stmt->loop_count; i++)
        if (stmt->loops[i].bound != RANGE_FULL)
            return false;
    return true;
}

static bool find_row_loops(struct rows *rows)
{
    const struct stmt *first = &rows->op->stmts[rows->stmts[0]];
    for (size_t i = 0; i < rows->count; i++) {
        const struct stmt *stmt = &rows->op->stmts[rows->stmts[i]];
        if (!plain_reduction(stmt))
            continue;
        rows->loops = stmt->loops;
        rows->outer = stmt->free_count;
        rows->inner = stmt->loop_count - stmt->free_count;
        return true;
    }
    rows->loops = first->loops;
    rows->outer = 0;
    rows->inner = first->free_count;
    return first->free_count > 0;
}

static bool row_part_of(const struct rows *rows, const struct stmt *stmt, enum row_part *part)
{
    size_t all = rows->outer + rows->inner;
    if (stmt->seq != OP_NONE || stmt->scatter != NULL)
        return false;
    if (stmt->reduce != REDUCE_NONE) {
        *part = ROW_REDUCE;
        return plain_reduction(stmt) && stmt->free_count == rows->outer &&
               stmt->loop_count == all && same_extents(stmt->loops, rows->loops, all);
    }
    *part = stmt->free_count == all ? ROW_VECTOR : ROW_SCALAR;
    return (stmt->free_count == all || stmt->free_count == rows->outer) &&
           same_extents(stmt->loops, rows->loops, stmt->free_count);
}

bool rows_recognise(struct arena *arena, const struct op *op, const size_t *stmts, size_t count,
                    struct rows *rows, const char **why)
{
    bool *produced = arena_array(arena, bool, op->tensor_count + 1);
    bool *done = arena_array(arena, bool, op->tensor_count + 1);
    enum row_part *part_of = arena_array(arena, enum row_part, op->tensor_count + 1);
    enum row_part *parts = arena_array(arena, enum row_part, count + 1);
    *rows = (struct rows){
        .op = op, .stmts = stmts, .count = count, .parts = parts, .produced = produced};
    if (!find_row_loops(rows)) {
        *why = "there is no loop to share out";
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!row_part_of(rows, &op->stmts[stmts[i]], &parts[i])) {
            *why = why_stmt(arena, "its loops do not fit the others", op, &op->stmts[stmts[i]]);
            return false;
        }
        produced[op->stmts[stmts[i]].target] = true;
        part_of[op->stmts[stmts[i]].target] = parts[i];
    }
    for (size_t i = 0; i < count; i++) {
        const struct stmt *stmt = &op->stmts[stmts[i]];
        struct row_check check = {rows, done, parts[i], part_of, false};
        expr_walk(stmt->value, check_row_read, &check);
        if (check.bad) {
            *why = why_stmt(arena, "it reads another row", op, stmt);
            return false;
        }
        done[stmt->target] = true;
    }
    rows->stored = region_stored(arena, op, stmts, count);
    return true;
}

const struct formula *rows_outer_count(struct arena *arena, const struct rows *rows)
{
    const struct formula *extents[OP_LOOPS_MAX];
    for (size_t i = 0; i < rows->outer; i++)
        extents[i] = rows->loops[i].extent;
    return formula_count(arena, extents, rows->outer);
}

const struct formula *rows_inner_count(struct arena *arena, const struct rows *rows)
{
    const struct formula *extents[OP_LOOPS_MAX];
    for (size_t i = 0; i < rows->inner; i++)
        extents[i] = rows->loops[rows->outer + i].extent;
    return formula_count(arena, extents, rows->inner);
}

struct contiguity {
    const struct rows *rows;
    bool found;
};

static void find_contiguous(void *context, const struct expr *expr)
{
    struct contiguity *scan = context;
    if (expr->op != EXPR_READ || scan->rows->op->tensors[expr->tensor].rank == 0)
        return;
    const struct expr *last = expr->subs[scan->rows->op->tensors[expr->tensor].rank - 1];
    scan->found |=
        last->op == EXPR_INDEX && last->loop == scan->rows->outer + scan->rows->inner - 1;
}

bool rows_contiguous(const struct rows *rows)
{
    struct contiguity scan = {.rows = rows};
    for (size_t i = 0; i < rows->count; i++) {
        scan.found |= rows->parts[i] == ROW_VECTOR;
        expr_walk(rows->op->stmts[rows->stmts[i]].value, find_contiguous, &scan);
    }
    return scan.found;
}

/* ---- tiles ---- */

struct loops_used {
    bool used[OP_LOOPS_MAX];
};

static void mark_loop(void *context, const struct expr *expr)
{
    struct loops_used *loops = context;
    if (expr->op == EXPR_INDEX)
        loops->used[expr->loop] = true;
}

static bool group_loops(struct tile *tile)
{
    struct loops_used a = {{false}}, b = {{false}};
    expr_walk(tile->a, mark_loop, &a);
    expr_walk(tile->b, mark_loop, &b);
    for (size_t i = 0; i < tile->contraction->loop_count; i++) {
        enum tile_group group = i >= tile->contraction->free_count ? TILE_K
                                : a.used[i] == b.used[i]           ? TILE_BATCH
                                : a.used[i]                        ? TILE_M
                                                                   : TILE_N;
        tile->loops[group][tile->loop_count[group]++] = i;
    }
    return tile->loop_count[TILE_M] > 0 && tile->loop_count[TILE_N] > 0;
}

struct along {
    const struct op *op;
    size_t loop;
    bool found;
};

static void find_along(void *context, const struct expr *expr)
{
    struct along *along = context;
    if (expr->op != EXPR_READ || along->op->tensors[expr->tensor].rank == 0)
        return;
    const struct expr *last = expr->subs[along->op->tensors[expr->tensor].rank - 1];
    along->found |= last->op == EXPR_INDEX && last->loop == along->loop;
}

static bool memory_along(const struct tile *tile, const struct expr *factor, enum tile_group group)
{
    struct along along = {tile->op, tile->loops[group][tile->loop_count[group] - 1], false};
    expr_walk(factor, find_along, &along);
    return along.found;
}

/* The epilogue's statements are maps over the contraction's elements. */
static bool epilogue_fits(struct arena *arena, const struct tile *tile, const char **why)
{
    const struct op *op = tile->op;
    size_t free = tile->contraction->free_count;
    struct rows rows = {.op = op, .outer = 0, .inner = free};
    bool *produced = arena_array(arena, bool, op->tensor_count + 1);
    enum row_part *part_of = arena_array(arena, enum row_part, op->tensor_count + 1);
    for (size_t i = 0; i < tile->count; i++) {
        produced[op->stmts[tile->stmts[i]].target] = true;
        part_of[op->stmts[tile->stmts[i]].target] = ROW_VECTOR;
    }
    rows.produced = produced;
    bool *done = arena_array(arena, bool, op->tensor_count + 1);
    for (size_t i = 0; i < tile->count; i++) {
        const struct stmt *stmt = &op->stmts[tile->stmts[i]];
        struct row_check check = {&rows, done, ROW_VECTOR, part_of, false};
        bool fits = i == 0 || (stmt->seq == OP_NONE && stmt->scatter == NULL &&
                               stmt->reduce == REDUCE_NONE && stmt->free_count == free &&
                               same_extents(stmt->loops, tile->contraction->loops, free));
        expr_walk(stmt->value, check_row_read, &check);
        if (!fits || check.bad) {
            *why = why_stmt(arena, "it does not follow the contraction's elements", op, stmt);
            return false;
        }
        done[stmt->target] = true;
    }
    return true;
}

bool reach_equal(struct row_reach a, struct row_reach b)
{
    return a.bound == b.bound && a.along == b.along && a.row == b.row;
}

bool tile_recognise(struct arena *arena, const struct op *op, const size_t *stmts, size_t count,
                    struct tile *tile, const char **why)
{
    const struct stmt *stmt = &op->stmts[stmts[0]];
    if (plain_reduction(stmt))
        return product_recognise(arena, op, stmts, count, tile, why);
    *tile = (struct tile){.op = op, .stmts = stmts, .count = count, .contraction = stmt};
    *why = "it is no float sum of products";
    return false;
}

bool product_recognise(struct arena *arena, const struct op *op, const size_t *stmts, size_t count,
                       struct tile *tile, const char **why)
{
    const struct stmt *stmt = &op->stmts[stmts[0]];
    const struct expr *product = expr_exact(stmt->value);
    *tile = (struct tile){.op = op, .stmts = stmts, .count = count, .contraction = stmt};
    if (stmt->seq != OP_NONE || stmt->reduce != REDUCE_SUM || stmt->scatter != NULL ||
        product->op != EXPR_MUL || !dtype_is_float(product->dtype)) {
        *why = "it is no float sum of products";
        return false;
    }
    tile->a = expr_exact(product->args[0]);
    tile->b = expr_exact(product->args[1]);
    if (!group_loops(tile)) {
        *why = "a factor has no loop of its own";
        return false;
    }
    if (!epilogue_fits(arena, tile, why))
        return false;
    tile->a_along_k = memory_along(tile, tile->a, TILE_K) || !memory_along(tile, tile->a, TILE_M);
    tile->b_along_k = memory_along(tile, tile->b, TILE_K) || !memory_along(tile, tile->b, TILE_N);
    tile->stored = region_stored(arena, op, stmts, count);
    return true;
}

const struct formula *tile_extent(struct arena *arena, const struct tile *tile,
                                  enum tile_group group)
{
    const struct formula *extents[OP_LOOPS_MAX];
    for (size_t i = 0; i < tile->loop_count[group]; i++)
        extents[i] = tile->contraction->loops[tile->loops[group][i]].extent;
    return formula_count(arena, extents, tile->loop_count[group]);
}
