/*
 * The footprint of scores: a block owns rows and goes along the shared index in steps; in each it
 * makes a tile of scores, from the rows' factor and a tile of the other one, and merges what they
 * add to the statistics of its rows.
 *
 * The rows' factor lies in shared memory when K is whole in a block; else both factors come in
 * stages along K, again in every step.  What is written along the index needs the finished row:
 *   the index whole in a block, one step    its scores are still in registers
 *   the index whole in a block, more steps  they are put down in shared memory
 *   else, with rematerialisation            a second pass makes them again
 *
 * The threads of a row lie in one warp, as in a chain.  No kernel of ours is one yet: registers are
 * counted, not measured.
 */
#include "base/num.h"

#include "solver/ir/footprint_int.h"
#include "solver/ir/region.h"

enum { WARP = 32 };

static size_t loop_at(const struct scores *scores, enum tile_group group, size_t i)
{
    return scores->loops[group][i];
}

static int64_t extent_of(const struct bound_op *bound, const struct scores *scores,
                         enum tile_group group)
{
    const size_t s = (size_t)(scores->product - bound->op->stmts);
    int64_t extent = 1;
    for (size_t i = 0; i < scores->loop_count[group]; i++)
        extent = footprint_times(extent, bound->extents[s][loop_at(scores, group, i)]);
    return extent;
}

static const struct plan_tile *tile_of(const struct plan_region *region,
                                       const struct scores *scores, size_t loop)
{
    return region_tile(region, scores->product->loops[loop].name);
}

/* NULL without a tile, or with one that has no step along a side that needs one. */
static const struct plan_tile *side_tile(const struct plan_region *region,
                                         const struct scores *scores, enum tile_group group)
{
    const size_t count = scores->loop_count[group];
    const struct plan_tile *tile =
        count == 0 ? NULL : tile_of(region, scores, loop_at(scores, group, count - 1));
    return tile != NULL && group != TILE_M && tile->step < 1 ? NULL : tile;
}

/* All loops of the group are whole in a block. */
static bool is_whole(const struct plan_region *region, const struct bound_op *bound,
                     const struct scores *scores, enum tile_group group)
{
    const size_t s = (size_t)(scores->product - bound->op->stmts);
    for (size_t i = 0; i < scores->loop_count[group]; i++) {
        const size_t loop = loop_at(scores, group, i);
        const struct plan_tile *tile = tile_of(region, scores, loop);
        if (tile == NULL || tile->block < bound->extents[s][loop])
            return false;
    }
    return true;
}

static bool set_sides(const struct plan_region *region, const struct bound_op *bound,
                      const struct scores *scores, struct footprint *out, const char **why)
{
    const struct plan_tile *rows = side_tile(region, scores, TILE_M);
    const struct plan_tile *steps = side_tile(region, scores, TILE_N);
    const struct plan_tile *stages = side_tile(region, scores, TILE_K);
    *why = "a side of the scores has no tile, or the shared or the summed index no step";
    if (rows == NULL || steps == NULL || stages == NULL)
        return false;
    for (int side = SIDE_BATCH; side < SIDE_COUNT; side++) {
        out->extent[side] = extent_of(bound, scores, (enum tile_group)side);
        out->thread[side] = 1;
    }
    out->block[SIDE_BATCH] = 1;
    out->block[SIDE_M] = rows->block;
    out->block[SIDE_N] = steps->step;
    out->block[SIDE_K] =
        is_whole(region, bound, scores, TILE_K) ? out->extent[SIDE_K] : stages->step;
    out->thread[SIDE_M] = out->mma ? CHAIN_MMA_ROWS : rows->thread;
    out->thread[SIDE_N] = out->mma ? CHAIN_MMA_COLUMNS : steps->thread;
    return true;
}

/* How what is written along the index comes by its scores. */
static bool set_passes(const struct plan_region *region, const struct bound_op *bound,
                       const struct scores *scores, struct footprint *out, const char **why)
{
    const int64_t word = scores->product->value->dtype == DTYPE_F64 ? 8 : 4;
    const int64_t row = out->extent[SIDE_N] + CHAIN_PAD_BYTES / word;
    *why = "its row is written along the shared index, but neither held in a block nor made again";
    if (!scores->again)
        return true;
    if (!is_whole(region, bound, scores, TILE_N)) {
        out->passes = 2;
        return region_uses(region, PRIMITIVE_REMATERIALISATION);
    }
    if (out->block[SIDE_N] < out->extent[SIDE_N])
        out->held = footprint_times(footprint_times(out->block[SIDE_M], row), word);
    return true;
}

/* Threads, registers and what is left over. */
static void set_threads(const struct plan_region *region, const struct scores *scores,
                        struct footprint *out)
{
    const int64_t m = out->thread[SIDE_M], n = out->thread[SIDE_N];
    const int64_t sharing = num_ceil_div(out->block[SIDE_N], n), states = (int64_t)scores->states;
    out->rest = out->block[SIDE_M] % m + out->block[SIDE_N] % n;
    if (out->mma) {
        out->threads = WARP * num_ceil_div(out->block[SIDE_M], CHAIN_MMA_ROWS);
        out->rest += out->block[SIDE_K] % region->mma[2];
        out->registers = CHAIN_REGISTERS + out->block[SIDE_N] / 2 + 2 * states + 16;
        return;
    }
    out->threads = num_ceil_div(out->block[SIDE_M], m) * sharing;
    out->rest += sharing > WARP ? sharing - WARP : WARP % sharing;
    out->registers = CHAIN_REGISTERS + (m * n + m + n + states * m) * out->element_bytes / 4;
}

static int64_t shared_bytes(const struct plan_region *region, const struct footprint *out)
{
    const int64_t word = out->element_bytes;
    const int64_t along = out->block[SIDE_K] + CHAIN_PAD_BYTES / word;
    const bool resident = out->block[SIDE_K] >= out->extent[SIDE_K];
    int64_t rows = footprint_times(out->block[SIDE_M], along);
    int64_t words = footprint_times(footprint_times(out->block[SIDE_N], along), region->depth), all;
    rows = footprint_times(rows, resident ? 1 : region->depth);
    if (!num_add(words, rows, &words) || !num_mul(words, word, &all))
        return INT64_MAX;
    return num_add(all, out->held, &all) ? all : INT64_MAX;
}

/* Blocks of rows one after the other are what the bound is of. */
static struct row_reach own_reach(const struct scores *scores)
{
    const bool single = scores->loop_count[TILE_M] == 1 && scores->loop_count[TILE_N] == 1;
    if (single && loop_at(scores, TILE_M, 0) == scores->reach.row)
        return scores->reach;
    return (struct row_reach){RANGE_FULL, OP_NONE, OP_NONE};
}

bool scores_footprint(const struct scores *scores, const struct plan_region *region,
                      const struct bound_op *bound, struct footprint *out, const char **why)
{
    out->online = scores->online;
    out->element_bytes = chain_element_bytes(scores->product, region);
    if (!set_sides(region, bound, scores, out, why) || !set_passes(region, bound, scores, out, why))
        return false;
    set_threads(region, scores, out);
    out->steps = chain_steps(out, own_reach(scores));
    out->shared_bytes = shared_bytes(region, out);
    out->blocks = footprint_times(out->extent[SIDE_BATCH],
                                  num_ceil_div(out->extent[SIDE_M], out->block[SIDE_M]));
    return true;
}
