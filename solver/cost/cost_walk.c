/*
 * What a region finds in L2 of a tensor that the region before it wrote.
 *
 * A tensor that is larger than L2 leaves there what was written last.  Read in the order in which
 * it was written, its beginning is gone, and reading that evicts the end before its turn comes: as
 * with any LRU and a loop longer than the cache, nothing is found.  Read from the other end, the
 * end is still there.  So whether two regions walk alike or against each other is a choice of both.
 *
 * Each element that the producer wrote is written back to DRAM once, whichever way the reader
 * walks: evicted by what comes after it or, for the last part, by the reader's own traffic.  So the
 * direction saves reads, no writes.
 *
 * A walk counts only if the statements' accesses take the tensor in its own order: its leading
 * subscripts are the walk's leading loops, and the slices that all SMs have at hand fit into what
 * L2 keeps.
 *   rows      outer loops: a matrix along its rows, not a transposed one
 *   maps      all loops
 *   tile      the batch's loops, then the first factor's; the second factor is read whole by each
 *             row of tiles
 *   elements  the loops that threads share; none in a seq block or a scatter-add
 *
 * Not here: two regions that both read a tensor, which no edge of a plan stands for; a tensor of
 * less than L2, which any order finds there (cost.c).
 */
#include <math.h>

#include "base/panic.h"

#include "solver/cost/cost_int.h"

enum { SCRATCH_BYTES = 16 << 20 };

/* TUNING: guessed: blocks an SM works on at a time, each on a slice of its own. */
static const double blocks_at_once = 2;

/* TUNING: of L2 that still holds the end of what was written last when the next kernel begins.
 * Least squares over tests/gpu/results/joint.jsonl (an H200, cold): 1.52 us an edge, 14 MB at the
 * difference of the two rates.  Measured less fitted, us: walk_pair of 32 to 256 MiB +0.0, +0.0,
 * -0.0, -0.3, 0.0, +0.2; chain and residual, three edges each, -0.6, +0.8; matmul_layernorm +0.5,
 * rows_map -0.7, softmax -0.3.  A tensor of 8 or 16 MiB gains nothing, one of 24 gains 0.4, one of
 * 32 all: machine_l2_holds, 30 MiB here, is where the model has it begin. */
static const double kept_share = 0.219;

/* Loops of a statement, the one that changes slowest first. */
struct walk {
    size_t loops[OP_LOOPS_MAX];
    size_t count;
};

/* ---- the order in which blocks go ---- */

static void tile_walk(const struct tile *tile, struct walk *walk)
{
    for (enum tile_group group = TILE_BATCH; group <= TILE_M; group++)
        for (size_t i = 0; i < tile->loop_count[group]; i++)
            walk->loops[walk->count++] = tile->loops[group][i];
}

/* Free loops, but for the one that a scan runs along. */
static void element_walk(const struct stmt *stmt, struct walk *walk)
{
    size_t along = OP_NONE;
    for (size_t i = stmt->free_count; i < stmt->loop_count; i++)
        if (stmt->loops[i].bound != RANGE_FULL)
            along = stmt->loops[i].bound_loop;
    for (size_t i = 0; i < stmt->free_count; i++)
        if (i != along)
            walk->loops[walk->count++] = i;
}

static void first_loops(size_t count, struct walk *walk)
{
    for (size_t i = 0; i < count; i++)
        walk->loops[walk->count++] = i;
}

/* False when it has none that could be followed. */
static bool walk_of(struct arena *arena, const struct op *op, const struct plan_region *region,
                    const struct stmt *stmt, struct walk *walk)
{
    const char *why;
    struct tile tile;
    struct rows rows;
    bool summary =
        region_uses(region, PRIMITIVE_WARP_SUMMARY) || region_uses(region, PRIMITIVE_BLOCK_SUMMARY);
    *walk = (struct walk){.count = 0};
    if (stmt->seq != OP_NONE || stmt->scatter != NULL)
        return false;
    if (region_uses(region, PRIMITIVE_REGISTER_TILE)) {
        if (tile_recognise(arena, op, region->stmts, region->stmt_count, &tile, &why))
            tile_walk(&tile, walk);
    } else if (summary) {
        if (rows_recognise(arena, op, region->stmts, region->stmt_count, &rows, &why))
            first_loops(rows.outer, walk);
    } else if (region_uses(region, PRIMITIVE_VECTOR_ACCESS)) {
        first_loops(stmt->free_count, walk);
    } else {
        element_walk(stmt, walk);
    }
    return walk->count > 0;
}

/* ---- the order in which it takes a tensor ---- */

struct access {
    const struct bound_op *bound;
    const int64_t *extents; /* of its loops */
    const struct walk *walk;
    size_t tensor;
    double kept_bytes, slices_at_once;
    bool found, followed;
};

/* Bytes of the tensor that are walked at a time.  subscripts[i] is the loop of dimension i, OP_NONE
 * for anything else.  A value of all loops of the walk is a block's or less, a value of the first
 * few is shared by many blocks. */
static double bytes_at_hand(const struct access *a, const size_t *subscripts)
{
    const struct bound_tensor *tensor = &a->bound->tensors[a->tensor];
    double bytes = (double)tensor->bytes;
    size_t at = 0;
    for (size_t i = 0; i < a->bound->op->tensors[a->tensor].rank; i++) {
        if (tensor->shape[i] == 1)
            continue;
        while (at < a->walk->count && a->extents[a->walk->loops[at]] == 1)
            at++;
        if (at == a->walk->count || subscripts[i] != a->walk->loops[at])
            break;
        bytes /= (double)tensor->shape[i];
        at++;
    }
    return at == a->walk->count ? bytes * a->slices_at_once : bytes;
}

static bool follows(const struct access *a, const size_t *subscripts)
{
    return bytes_at_hand(a, subscripts) <= a->kept_bytes;
}

static void look_at_read(void *context, const struct expr *expr)
{
    struct access *a = context;
    size_t subscripts[OP_RANK_MAX];
    if (expr->op != EXPR_READ || expr->tensor != a->tensor)
        return;
    for (size_t i = 0; i < a->bound->op->tensors[a->tensor].rank; i++)
        subscripts[i] = expr->subs[i]->op == EXPR_INDEX ? expr->subs[i]->loop : OP_NONE;
    a->followed = follows(a, subscripts) && (a->followed || !a->found);
    a->found = true;
}

/* Do all reads of the region (or its write) go along the tensor as its blocks do? */
static bool region_follows(struct arena *arena, const struct plan_region *region, bool writes,
                           struct access a)
{
    const struct bound_op *bound = a.bound;
    for (size_t i = 0; i < region->stmt_count; i++) {
        const struct stmt *stmt = &bound->op->stmts[region->stmts[i]];
        struct walk walk;
        size_t subscripts[OP_RANK_MAX];
        a.extents = bound->extents[region->stmts[i]];
        a.walk = &walk;
        if (!walk_of(arena, bound->op, region, stmt, &walk))
            return false;
        for (size_t k = 0; k < OP_RANK_MAX; k++)
            subscripts[k] = k;
        if (writes && stmt->target == a.tensor)
            return follows(&a, subscripts);
        if (!writes)
            expr_walk(stmt->value, look_at_read, &a);
    }
    return a.found && a.followed;
}

/* ---- what is left ---- */

struct traffic {
    const struct bound_op *bound;
    double bytes;
};

static void add_read(void *context, const struct expr *expr)
{
    struct traffic *traffic = context;
    if (expr->op == EXPR_READ)
        traffic->bytes += (double)traffic->bound->tensors[expr->tensor].bytes;
}

struct first_read {
    size_t tensor;
    bool found;
};

static void find_first(void *context, const struct expr *expr)
{
    struct first_read *first = context;
    first->found |= expr->op == EXPR_READ && expr->tensor == first->tensor;
}

static bool has_stmt(const struct plan_region *region, size_t stmt)
{
    for (size_t i = 0; i < region->stmt_count; i++)
        if (region->stmts[i] == stmt)
            return true;
    return false;
}

/* What the statements between the writer and the first reader move, which evicts as much; those of
 * the two regions aside.  By the op's order, so that it depends on the two regions alone, however
 * the others are cut; regions that are runs of statements run in that order. */
static double bytes_between(const struct plan_region *from, const struct plan_region *to,
                            size_t tensor, const struct bound_op *bound, double enough)
{
    struct traffic traffic = {bound, 0};
    struct first_read first = {tensor, false};
    for (size_t s = bound->op->tensors[tensor].written_by + 1;
         s < bound->op->stmt_count && traffic.bytes < enough; s++) {
        const struct stmt *stmt = &bound->op->stmts[s];
        if (has_stmt(to, s))
            expr_walk(stmt->value, find_first, &first);
        if (first.found)
            break;
        if (has_stmt(from, s) || has_stmt(to, s))
            continue;
        traffic.bytes += (double)bound->tensors[stmt->target].bytes;
        expr_walk(stmt->value, add_read, &traffic);
    }
    return traffic.bytes;
}

size_t cost_signature(const struct plan_region *region)
{
    return region->reverse;
}

double cost_found_bytes(const struct plan *plan, const struct plan_edge *edge, size_t tensor,
                        const struct bound_op *bound, const struct machine *machine)
{
    const struct plan_region *from = &plan->regions[edge->from], *to = &plan->regions[edge->to];
    struct arena scratch;
    double kept = kept_share * (double)machine->l2_bytes;
    if (from->reverse == to->reverse)
        return 0;
    double left = kept - bytes_between(from, to, tensor, bound, kept);
    if (left <= 0)
        return 0;
    arena_init(&scratch, SCRATCH_BYTES);
    const struct access access = {.bound = bound,
                                  .tensor = tensor,
                                  .kept_bytes = left,
                                  .slices_at_once = blocks_at_once * (double)machine->sm_count};
    bool against =
        region_follows(&scratch, from, true, access) && region_follows(&scratch, to, false, access);
    arena_release(&scratch);
    return against ? fmin(left, (double)bound->tensors[tensor].bytes) : 0;
}
