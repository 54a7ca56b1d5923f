/*
 * The footprint of a chain: a block owns rows, keeps their factor and goes along the shared index.
 *
 * In shared memory at a time: the rows' factor, `depth` tiles of each of the other two factors, and
 * the tile of weights, unless tensor cores take them as they lie in their accumulators (16 bits).
 * In registers: a tile of scores, the second product's sums of the whole row, maximum and sum.
 *
 * On CUDA cores a thread has thread[M] x thread[N] scores, and as many columns of the second
 * product as the threads of a row leave it; the threads of a row lie in one warp.  On tensor cores
 * a warp has 16 rows.
 *
 * No kernel of ours is one yet: registers are counted, not measured.
 */
#include "base/num.h"

#include "solver/ir/footprint_int.h"
#include "solver/ir/region.h"

enum { WARP = 32 };

static int64_t extent_of(const struct bound_op *bound, const struct chain *chain,
                         enum chain_group group)
{
    const struct stmt *stmt = group == CHAIN_COLUMNS ? chain->second : chain->first;
    size_t s = (size_t)(stmt - bound->op->stmts);
    int64_t extent = 1;
    for (size_t i = 0; i < chain->loop_count[group]; i++)
        extent = footprint_times(extent, bound->extents[s][chain->loops[group][i]]);
    return extent;
}

/* All loops of the group are whole in a block. */
static bool is_whole(const struct plan_region *region, const struct bound_op *bound,
                     const struct chain *chain, enum chain_group group)
{
    const struct stmt *stmt = group == CHAIN_COLUMNS ? chain->second : chain->first;
    size_t s = (size_t)(stmt - bound->op->stmts);
    for (size_t i = 0; i < chain->loop_count[group]; i++) {
        size_t loop = chain->loops[group][i];
        const struct plan_tile *tile = region_tile(region, stmt->loops[loop].name);
        if (tile == NULL || tile->block < bound->extents[s][loop])
            return false;
    }
    return true;
}

static const struct plan_tile *side_tile(const struct plan_region *region,
                                         const struct chain *chain, enum chain_group group)
{
    size_t last = chain->loops[group][chain->loop_count[group] - 1];
    return region_tile(region, chain->first->loops[last].name);
}

static bool chain_sides(const struct plan_region *region, const struct bound_op *bound,
                        const struct chain *chain, struct footprint *out, const char **why)
{
    const struct plan_tile *rows = side_tile(region, chain, CHAIN_M);
    const struct plan_tile *steps = side_tile(region, chain, CHAIN_N);
    *why = "a side of the scores has no tile, or the shared index no step";
    if (rows == NULL || steps == NULL || steps->step < 1)
        return false;
    *why = "a block needs the first product's sum and the second's columns whole";
    if (!is_whole(region, bound, chain, CHAIN_K) || !is_whole(region, bound, chain, CHAIN_COLUMNS))
        return false;
    out->extent[SIDE_BATCH] = extent_of(bound, chain, CHAIN_BATCH);
    out->extent[SIDE_M] = extent_of(bound, chain, CHAIN_M);
    out->extent[SIDE_N] = extent_of(bound, chain, CHAIN_N);
    out->extent[SIDE_K] = extent_of(bound, chain, CHAIN_K);
    out->columns = extent_of(bound, chain, CHAIN_COLUMNS);
    out->block[SIDE_BATCH] = out->thread[SIDE_BATCH] = out->thread[SIDE_K] = 1;
    out->block[SIDE_M] = rows->block;
    out->block[SIDE_N] = steps->step;
    out->block[SIDE_K] = out->extent[SIDE_K];
    out->thread[SIDE_M] = out->mma ? CHAIN_MMA_ROWS : rows->thread;
    out->thread[SIDE_N] = out->mma ? CHAIN_MMA_COLUMNS : steps->thread;
    return true;
}

/* Threads, registers and what is left over. */
static void chain_threads(const struct plan_region *region, struct footprint *out)
{
    int64_t m = out->thread[SIDE_M], n = out->thread[SIDE_N];
    int64_t sharing = num_ceil_div(out->block[SIDE_N], n);
    out->rest = out->block[SIDE_M] % m + out->block[SIDE_N] % n;
    if (out->mma) {
        out->threads = WARP * num_ceil_div(out->block[SIDE_M], CHAIN_MMA_ROWS);
        out->rest += out->block[SIDE_K] % region->mma[2] + out->columns % CHAIN_MMA_COLUMNS +
                     out->block[SIDE_N] % region->mma[2];
        out->registers = CHAIN_REGISTERS + (out->block[SIDE_N] + out->columns) / 2 + 16;
        return;
    }
    int64_t own = num_ceil_div(out->columns, sharing);
    out->threads = num_ceil_div(out->block[SIDE_M], m) * sharing;
    out->rest += sharing > WARP ? sharing - WARP : WARP % sharing;
    out->registers = CHAIN_REGISTERS +
                     (m * (n + own) + m + (n > own ? n : own) + 3 * m) * out->element_bytes / 4;
}

static int64_t chain_shared(const struct plan_region *region, const struct footprint *out)
{
    int64_t word = out->element_bytes, pad = CHAIN_PAD_BYTES / word;
    int64_t rows = footprint_times(out->block[SIDE_M], out->block[SIDE_K] + pad);
    int64_t steps =
        footprint_times(out->block[SIDE_N], out->block[SIDE_K] + out->columns + 2 * pad);
    int64_t weights = footprint_times(out->block[SIDE_M], out->block[SIDE_N] + pad);
    int64_t words = footprint_times(steps, region->depth), all;
    if (out->mma && word == 2)
        weights = 0;
    if (!num_add(words, rows, &words) || !num_add(words, weights, &words))
        return INT64_MAX;
    return num_mul(words, word, &all) ? all : INT64_MAX;
}

/* Along the index, of the rows first .. last: terms that lie outside of all of them, at its start
 * and at its end. */
static void outside(struct row_reach reach, int64_t first, int64_t last, int64_t *before,
                    int64_t *end)
{
    switch (reach.bound) {
    case RANGE_FULL:
        return;
    case RANGE_LT:
        *end = last;
        return;
    case RANGE_LE:
        *end = last + 1;
        return;
    case RANGE_GT:
        *before = first + 1;
        return;
    case RANGE_GE:
        *before = first;
        return;
    }
}

int64_t chain_steps(const struct footprint *f, struct row_reach reach)
{
    int64_t n = f->extent[SIDE_N], step = f->block[SIDE_N], total = 0;
    int64_t down = num_ceil_div(f->extent[SIDE_M], f->block[SIDE_M]);
    if (reach.bound == RANGE_FULL)
        return footprint_times(down, num_ceil_div(n, step));
    for (int64_t b = 0; b < down; b++) {
        int64_t first = b * f->block[SIDE_M], last = first + f->block[SIDE_M] - 1;
        int64_t before = 0, end = n;
        outside(reach, first, last < f->extent[SIDE_M] ? last : f->extent[SIDE_M] - 1, &before,
                &end);
        end = end < n ? end : n;
        total += before < end ? num_ceil_div(end, step) - before / step : 0;
    }
    return total;
}

/* Blocks of rows one after the other are what the bound is of. */
static struct row_reach own_reach(const struct chain *chain)
{
    bool single = chain->loop_count[CHAIN_M] == 1 && chain->inner == 1;
    if (single && chain->loops[CHAIN_M][0] == chain->reach.row)
        return chain->reach;
    return (struct row_reach){RANGE_FULL, OP_NONE, OP_NONE};
}

int64_t chain_element_bytes(const struct stmt *product, const struct plan_region *region)
{
    return product->value->dtype == DTYPE_F64                           ? 8
           : region->mma[0] > 0 && compute_is_narrow(region->precision) ? 2
                                                                        : 4;
}

static bool tensor_cores_fit(const struct plan_region *region, const char **why)
{
    *why = "one product of tensor cores does not reach the accuracy of its track";
    return region->mma[0] == 0 || compute_is_narrow(region->precision) ||
           region->precision == COMPUTE_TF32;
}

bool chain_footprint(struct arena *arena, const struct plan_region *region,
                     const struct bound_op *bound, struct footprint *out, const char **why)
{
    struct chain chain;
    struct scores scores;
    const char *why_scores;
    bool is_chain =
        chain_recognise(arena, bound->op, region->stmts, region->stmt_count, &chain, why);
    if (!is_chain && !scores_recognise(arena, bound->op, region->stmts, region->stmt_count, &scores,
                                       chain.second == NULL ? why : &why_scores))
        return false;
    out->kind = FOOTPRINT_CHAIN;
    out->mma = region->mma[0] > 0;
    out->depth = region->depth;
    out->vector = out->items = out->passes = out->kernels = 1;
    if (!tensor_cores_fit(region, why))
        return false;
    if (!is_chain)
        return scores_footprint(&scores, region, bound, out, why);
    out->online = chain.online;
    if (!chain_sides(region, bound, &chain, out, why))
        return false;
    out->element_bytes = chain_element_bytes(chain.first, region);
    chain_threads(region, out);
    out->steps = chain_steps(out, own_reach(&chain));
    out->shared_bytes = chain_shared(region, out);
    out->blocks = footprint_times(out->extent[SIDE_BATCH],
                                  num_ceil_div(out->extent[SIDE_M], out->block[SIDE_M]));
    return true;
}
