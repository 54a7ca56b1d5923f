/*
 * Footprints: numbers of a region's kernel, from plan and statements.
 *
 * This follows what synth/realise_*.c print, closely enough that shared memory, threads, blocks and
 * traffic are exact; tests/integration/test_footprint.c holds it to the compiled kernels.
 *
 * Registers: sums and operands that a thread names, plus what addresses and indices take.
 */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/panic.h"

#include "solver/ir/footprint_int.h"

enum {
    WARP = 32,
    ELEMENTS_THREADS = 256,
    BLOCKS_MAX = 1 << 20, /* of rows, maps and elements: then threads walk */
    /* TUNING: registers that kernels for sm_90a have beside elements: 48 and 52 for rows of 8
     * elements a thread (tests/gpu/results); the last two are from
     * tests/integration/test_estimates.c. */
    ROW_REGISTERS = 24,
    ROW_ARRAYS_LIVE = 3,
    ROW_FAR_REGISTERS = 6, /* of a tensor that is read elsewhere than along the row: its address */
    ELEMENT_REGISTERS = 32 /* 90 of 105 kernels have no more, half have 29 or less */
};

static const char *const kind_names[] = {
#define X(id, name) name,
    FOOTPRINT_KINDS(X)
#undef X
};

const char *footprint_kind_name(enum footprint_kind kind)
{
    ASSERT((size_t)kind < COUNT_OF(kind_names));
    return kind_names[kind];
}

int64_t footprint_times(int64_t a, int64_t b)
{
    int64_t product;
    return num_mul(a, b, &product) ? product : INT64_MAX;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- tensors ---- */

static void mark_read(void *context, const struct expr *expr)
{
    bool *read = context;
    if (expr->op == EXPR_READ)
        read[expr->tensor] = true;
}

static void mark_stmt(const struct op *op, size_t s, bool *read)
{
    const struct stmt *stmt = &op->stmts[s];
    stmt_walk(op, stmt, mark_read, read);
}

struct region_tensors region_tensors(struct arena *arena, const struct op *op,
                                     const struct plan_region *region)
{
    bool *read = arena_array(arena, bool, op->tensor_count + 1);
    bool *written = arena_array(arena, bool, op->tensor_count + 1);
    bool *stored = arena_array(arena, bool, op->tensor_count + 1);
    bool *outside = arena_array(arena, bool, op->tensor_count + 1);
    size_t next = 0;
    for (size_t s = 0; s < op->stmt_count; s++) {
        bool own = next < region->stmt_count && region->stmts[next] == s;
        next += own;
        mark_stmt(op, s, own ? read : outside);
        written[op->stmts[s].target] |= own;
    }
    for (size_t t = 0; t < op->tensor_count; t++)
        stored[t] = written[t] && (outside[t] || !op->tensors[t].temporary);
    return (struct region_tensors){read, written, stored};
}

/* The first of several loops is what the others leave. */
int64_t footprint_divisions(const struct loop *loops, size_t count)
{
    int64_t divisions = 0;
    for (size_t i = 1; i < count; i++)
        divisions += loops[i].extent->op != FORMULA_INT;
    return divisions;
}

/* ---- rows ---- */

enum part { PART_SCALAR, PART_VECTOR, PART_REDUCE };
struct rows {
    const struct bound_op *bound;
    const struct op *op;
    const struct plan_region *region;
    struct footprint *out;
    size_t outer, inner; /* loops */
    enum part *parts;    /* by position */
    bool *member;        /* by position: runs in the pass at hand */
    bool *live;          /* by tensor: a thread holds its elements */
    bool *touched;       /* by tensor: loaded in the pass at hand */
    bool *arrays;        /* by tensor: ever held */
    bool *far;           /* by tensor: read elsewhere than at the own position */
    bool loose;          /* some is */
    int64_t *loads;
    bool *written; /* by tensor: by a statement of the region */
};

static const struct stmt *row_stmt(const struct rows *rows, size_t i)
{
    return &rows->op->stmts[rows->region->stmts[i]];
}

static bool find_loops(struct rows *rows)
{
    const struct stmt *chosen = row_stmt(rows, 0);
    size_t at = 0;
    for (size_t i = rows->region->stmt_count; i-- > 0;)
        if (row_stmt(rows, i)->reduce != REDUCE_NONE) {
            chosen = row_stmt(rows, i);
            at = i;
        }
    bool reduces = chosen->reduce != REDUCE_NONE;
    rows->outer = reduces ? chosen->free_count : 0;
    rows->inner = reduces ? chosen->loop_count - chosen->free_count : chosen->free_count;
    rows->out->rows = rows->out->length = 1;
    for (size_t i = 0; i < rows->outer + rows->inner; i++) {
        int64_t extent = rows->bound->extents[rows->region->stmts[at]][i];
        int64_t *count = i < rows->outer ? &rows->out->rows : &rows->out->length;
        *count = footprint_times(*count, extent);
    }
    return rows->inner > 0;
}

static bool find_parts(struct rows *rows, const char **why)
{
    size_t all = rows->outer + rows->inner;
    *why = "its statements do not share their loops";
    for (size_t i = 0; i < rows->region->stmt_count; i++) {
        const struct stmt *stmt = row_stmt(rows, i);
        if (stmt->seq != OP_NONE || stmt->scatter != NULL)
            return false;
        rows->parts[i] = stmt->reduce != REDUCE_NONE ? PART_REDUCE
                         : stmt->free_count == all   ? PART_VECTOR
                                                     : PART_SCALAR;
        bool fits = rows->parts[i] == PART_REDUCE
                        ? stmt->free_count == rows->outer && stmt->loop_count == all
                        : rows->parts[i] == PART_VECTOR || stmt->free_count == rows->outer;
        if (!fits)
            return false;
    }
    return true;
}

static bool is_own(const struct rows *rows, const struct expr *read)
{
    return expr_reads_loops(rows->op, read, 0, rows->outer + rows->inner) ||
           expr_reads_loops(rows->op, read, rows->outer, rows->inner);
}

static void touch(void *context, const struct expr *expr)
{
    struct rows *rows = context;
    if (expr->op != EXPR_READ)
        return;
    rows->touched[expr->tensor] = true;
    bool own = is_own(rows, expr), scalar = rows->op->tensors[expr->tensor].rank <= rows->outer;
    rows->arrays[expr->tensor] |= own;
    bool far = !own && !(scalar && rows->written[expr->tensor]);
    rows->far[expr->tensor] |= far;
    rows->loose |= far;
}

/* Adds what an earlier pass computed and this one needs again; notes what is read. */
static void close_pass(struct rows *rows)
{
    memset(rows->touched, 0, rows->op->tensor_count * sizeof(bool));
    for (size_t i = rows->region->stmt_count; i-- > 0;) {
        const struct stmt *stmt = row_stmt(rows, i);
        bool again = rows->parts[i] == PART_VECTOR && rows->touched[stmt->target] &&
                     !rows->live[stmt->target];
        if (rows->member[i] || again)
            expr_walk(stmt->value, touch, rows);
        rows->live[stmt->target] |= rows->parts[i] == PART_VECTOR && (rows->member[i] || again);
    }
}

static void end_pass(struct rows *rows, bool *open)
{
    if (!*open)
        return;
    close_pass(rows);
    rows->out->passes++;
    for (size_t t = 0; t < rows->op->tensor_count; t++) {
        bool loaded = rows->touched[t] && !rows->written[t];
        if (loaded && (rows->out->streaming || rows->loads[t] == 0))
            rows->loads[t]++;
    }
    memset(rows->member, 0, rows->region->stmt_count * sizeof(bool));
    for (size_t t = 0; rows->out->streaming && t < rows->op->tensor_count; t++)
        rows->live[t] = false;
    *open = false;
}

struct pending {
    const struct rows *rows;
    bool found;
};

static void find_pending(void *context, const struct expr *expr)
{
    struct pending *pending = context;
    const struct rows *rows = pending->rows;
    for (size_t i = 0; expr->op == EXPR_READ && i < rows->region->stmt_count; i++)
        pending->found |= rows->member[i] && rows->parts[i] == PART_REDUCE &&
                          row_stmt(rows, i)->target == expr->tensor;
}

/* A pass ends where a statement needs one of its reductions. */
static void find_passes(struct rows *rows)
{
    bool open = false;
    for (size_t i = 0; i < rows->region->stmt_count; i++) {
        struct pending pending = {rows, false};
        const struct stmt *stmt = row_stmt(rows, i);
        expr_walk(stmt->value, find_pending, &pending);
        if (rows->parts[i] == PART_SCALAR || pending.found)
            end_pass(rows, &open);
        if (rows->parts[i] == PART_SCALAR) {
            memset(rows->touched, 0, rows->op->tensor_count * sizeof(bool));
            expr_walk(stmt->value, touch, rows);
            for (size_t t = 0; t < rows->op->tensor_count; t++)
                if (rows->touched[t] && !rows->written[t] && rows->loads[t] == 0)
                    rows->loads[t] = 1;
            continue;
        }
        rows->member[i] = open = true;
        rows->arrays[stmt->target] |= rows->parts[i] == PART_VECTOR;
    }
    end_pass(rows, &open);
}

/* Bytes that one warp's result of a reduction takes in shared memory. */
static int64_t partial_bytes(const struct rows *rows, const struct stmt *stmt)
{
    enum dtype dtype = stmt->value->dtype;
    bool adds = stmt->reduce == REDUCE_SUM || stmt->reduce == REDUCE_PROD;
    bool logic = stmt->reduce == REDUCE_ANY || stmt->reduce == REDUCE_ALL;
    bool arg = stmt->reduce == REDUCE_ARGMAX || stmt->reduce == REDUCE_ARGMIN;
    bool integer = !dtype_is_float(dtype);
    int64_t value = dtype == DTYPE_F64 || (adds && rows->out->streaming) || (integer && adds) ? 8
                    : logic || dtype == DTYPE_BOOL || !integer                                ? 4
                                                                                              : 8;
    return arg ? 16 : value;
}

/* Equal instantiations share their array. */
static int64_t rows_shared_bytes(const struct rows *rows)
{
    int64_t warps = rows->out->threads / WARP, bytes = 0;
    for (size_t i = 0; i < rows->region->stmt_count; i++) {
        bool known = rows->parts[i] != PART_REDUCE;
        const struct stmt *stmt = row_stmt(rows, i);
        for (size_t k = 0; k < i && !known; k++)
            known = rows->parts[k] == PART_REDUCE && row_stmt(rows, k)->reduce == stmt->reduce &&
                    partial_bytes(rows, row_stmt(rows, k)) == partial_bytes(rows, stmt);
        if (!known)
            bytes += warps * partial_bytes(rows, stmt);
    }
    return rows->out->warp || rows->out->kind == FOOTPRINT_MAPS ? 0 : bytes;
}

static void rows_registers(const struct rows *rows)
{
    struct footprint *out = rows->out;
    int64_t arrays = 0, words = 1, far = 0;
    out->element_bytes = 1;
    for (size_t t = 0; t < rows->op->tensor_count; t++) {
        far += rows->far[t] && !rows->arrays[t];
        if (!rows->arrays[t])
            continue;
        int64_t bytes = (int64_t)dtype_bytes(rows->op->tensors[t].dtype);
        arrays++;
        words = bytes > 4 ? 2 : words;
        out->element_bytes = bytes > out->element_bytes ? bytes : out->element_bytes;
    }
    out->registers = ROW_REGISTERS + ROW_FAR_REGISTERS * far +
                     out->items * words * smaller(arrays, ROW_ARRAYS_LIVE);
}

/* What a kernel of ours does not write: rows in shared memory, a running state in place of a pass,
 * several blocks a row. */
static bool rows_for_models(struct rows *rows, const char **why)
{
    struct footprint *out = rows->out;
    const bool in_shared = region_uses(rows->region, PRIMITIVE_SHARED_RESIDENCY);
    if (region_uses(rows->region, PRIMITIVE_ONLINE_STATE) && out->passes > 1) {
        out->passes--;
        for (size_t t = 0; t < rows->op->tensor_count; t++)
            rows->loads[t] = smaller(rows->loads[t], out->passes);
    }
    for (size_t t = 0; in_shared && t < rows->op->tensor_count; t++) {
        if (rows->loads[t] <= 1 || !rows->arrays[t])
            continue;
        int64_t row =
            footprint_times(out->length, (int64_t)dtype_bytes(rows->op->tensors[t].dtype));
        int64_t own = footprint_times(row, out->threads / out->sharing);
        out->held_bytes = num_add(out->held_bytes, own, &own) ? own : INT64_MAX;
        rows->loads[t] = 1;
    }
    if (out->split > 1 && out->passes > 1) {
        *why = "several blocks share a row, but a later pass over it needs the results of all";
        return false;
    }
    if (out->split > 1) {
        int64_t states = 0;
        for (size_t i = 0; i < rows->region->stmt_count; i++)
            states += rows->parts[i] == PART_REDUCE;
        out->kernels = 2;
        out->blocks = smaller(footprint_times(out->blocks, out->split), INT32_MAX);
        out->workspace_bytes = footprint_times(footprint_times(out->rows, out->split), 8 * states);
    }
    return true;
}

static bool rows_footprint(struct arena *arena, const struct plan_region *region,
                           const struct bound_op *bound, struct footprint *out, const char **why)
{
    size_t tensors = bound->op->tensor_count + 1, stmts = region->stmt_count + 1;
    struct rows rows = {.bound = bound,
                        .op = bound->op,
                        .region = region,
                        .out = out,
                        .parts = arena_array(arena, enum part, stmts),
                        .member = arena_array(arena, bool, stmts),
                        .live = arena_array(arena, bool, tensors),
                        .touched = arena_array(arena, bool, tensors),
                        .arrays = arena_array(arena, bool, tensors),
                        .far = arena_array(arena, bool, tensors),
                        .loads = arena_array(arena, int64_t, tensors),
                        .written = arena_array(arena, bool, tensors)};
    for (size_t i = 0; i < region->stmt_count; i++)
        rows.written[row_stmt(&rows, i)->target] = true;
    *why = "there is no loop to share out";
    if (!find_loops(&rows) || !find_parts(&rows, why))
        return false;
    const struct stmt *first = row_stmt(&rows, 0);
    for (size_t i = 0; i < region->stmt_count; i++)
        first = rows.parts[i] == PART_REDUCE ? row_stmt(&rows, i) : first;
    bool reduces = first->reduce != REDUCE_NONE;
    const struct plan_tile *tile =
        region_tile(region, first->loops[rows.outer + rows.inner - 1].name);
    out->kind = reduces ? FOOTPRINT_ROWS : FOOTPRINT_MAPS;
    out->warp = region_uses(region, PRIMITIVE_WARP_SUMMARY);
    out->streaming = !reduces || region_uses(region, PRIMITIVE_STREAMING_ACCUMULATION);
    out->threads = region->threads[0];
    out->vector = region->vector;
    out->split = region->split;
    out->items = out->streaming ? out->vector : tile == NULL ? 1 : tile->thread;
    out->sharing = out->warp ? WARP : out->threads;
    if (tile != NULL)
        out->apart = llabs(tile->thread - out->items) +
                     llabs(tile->block - footprint_times(out->sharing, out->items));
    out->kernels = 1;
    int64_t work = reduces ? out->rows : out->length;
    int64_t each =
        reduces ? out->threads / out->sharing : footprint_times(out->threads, out->vector);
    out->blocks = smaller(num_ceil_div(work, each > 0 ? each : 1), BLOCKS_MAX);
    find_passes(&rows);
    out->loads = rows.loads;
    out->arrays = rows.arrays;
    if (rows.loose)
        out->divisions[0] = footprint_divisions(&first->loops[rows.outer], rows.inner);
    if (!rows_for_models(&rows, why))
        return false;
    rows_registers(&rows);
    if (!num_add(rows_shared_bytes(&rows), out->held_bytes, &out->shared_bytes))
        out->shared_bytes = INT64_MAX;
    return true;
}

/* ---- elements ---- */

static void elements_footprint(struct arena *arena, const struct plan_region *region,
                               const struct bound_op *bound, struct footprint *out)
{
    struct region_tensors tensors = region_tensors(arena, bound->op, region);
    int64_t *loads = arena_array(arena, int64_t, bound->op->tensor_count + 1);
    out->threads = ELEMENTS_THREADS;
    out->blocks = out->vector = out->items = out->passes = 1;
    out->registers = ELEMENT_REGISTERS;
    for (size_t i = 0; i < region->stmt_count; i++) {
        const struct stmt *stmt = &bound->op->stmts[region->stmts[i]];
        int64_t work = bound->tensors[stmt->target].count;
        int64_t blocks = smaller(num_ceil_div(work, ELEMENTS_THREADS), BLOCKS_MAX);
        out->kernels += stmt->scatter != NULL ? 2 : 1;
        if (stmt->seq == OP_NONE && blocks > out->blocks)
            out->blocks = blocks;
    }
    if (bound->op->stmts[region->stmts[0]].seq != OP_NONE)
        out->kernels = 1;
    for (size_t t = 0; t < bound->op->tensor_count; t++) {
        loads[t] = tensors.read[t];
        int64_t bytes = (int64_t)dtype_bytes(bound->op->tensors[t].dtype);
        if (tensors.read[t] && bytes > out->element_bytes)
            out->element_bytes = bytes;
    }
    out->loads = loads;
}

/* ---- who writes it ---- */

bool region_realisable(const struct plan_region *region, const char **why)
{
    const bool rows =
        region_uses(region, PRIMITIVE_WARP_SUMMARY) || region_uses(region, PRIMITIVE_BLOCK_SUMMARY);
    const bool tile = region_uses(region, PRIMITIVE_REGISTER_TILE);
    *why = "split, pipelined and tensor-core regions";
    if (region->split > 1 || region->depth > 1 || region->mma[0] > 0 || region->stage_count > 0 ||
        region_uses(region, PRIMITIVE_TENSOR_CORE_TILE))
        return false;
    *why = "a chain of two products, or of one and its row statistics, in one kernel: the realiser "
           "writes each product as a region of its own";
    if (region_uses(region, PRIMITIVE_TILE_STAGING) &&
        region_uses(region, PRIMITIVE_STREAMING_ACCUMULATION))
        return false;
    *why = "vector accesses and layouts of a tile";
    if (tile && (region->vector > 1 || !str_equal(region->layout, STR_LIT(LAYOUT_ROW_MAJOR))))
        return false;
    *why = "rows in shared memory or with a running state";
    return !rows || (!region_uses(region, PRIMITIVE_SHARED_RESIDENCY) &&
                     !region_uses(region, PRIMITIVE_ONLINE_STATE));
}

bool plan_realisable(const struct plan *plan)
{
    const char *why;
    for (size_t i = 0; i < plan->region_count; i++)
        if (!region_realisable(&plan->regions[i], &why))
            return false;
    return true;
}

bool footprint_of(struct arena *arena, const struct plan_region *region,
                  const struct bound_op *bound, struct footprint *out, const char **why)
{
    struct footprint made = {.kind = FOOTPRINT_ELEMENTS};
    bool summary =
        region_uses(region, PRIMITIVE_WARP_SUMMARY) || region_uses(region, PRIMITIVE_BLOCK_SUMMARY);
    if (region_uses(region, PRIMITIVE_TILE_STAGING) &&
        region_uses(region, PRIMITIVE_STREAMING_ACCUMULATION)) {
        if (!chain_footprint(arena, region, bound, &made, why))
            return false;
    } else if (region_uses(region, PRIMITIVE_REGISTER_TILE) ||
               region_uses(region, PRIMITIVE_TENSOR_CORE_TILE)) {
        if (!tile_footprint(arena, region, bound, &made, why))
            return false;
    } else if (summary || region_uses(region, PRIMITIVE_VECTOR_ACCESS)) {
        if (!rows_footprint(arena, region, bound, &made, why))
            return false;
    } else {
        elements_footprint(arena, region, bound, &made);
    }
    /* a launch has a block, where a dim of size 0 leaves nothing to do too */
    made.blocks = made.blocks > 1 ? made.blocks : 1;
    *out = made;
    return true;
}
