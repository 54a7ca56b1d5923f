/*
 * The choices of scores: rows and steps of a block, stages along K, a thread's share, stages of the
 * pipeline, CUDA cores or tensor cores.  What a block has whole is the skeleton's matter, for the
 * guard follows from it; an index held whole is gone along in steps, or is one step, whose scores
 * stay in registers.
 */
#include <string.h>

#include "base/num.h"

#include "solver/legal/space_chain.h"

enum { PRIMITIVES_MAX = 8, MMA_COLUMNS = 8, ONE_STEP_OWN = 4, ONE_STEP_OWN_MAX = 64 };

static const int64_t row_sides[] = {16, 32, 64, 128};
static const int64_t index_steps[] = {16, 32, 64, 128};
static const int64_t sum_stages[] = {16, 32, 64};
static const int64_t own_sides[] = {1, 2, 4, 8};
static const int64_t one_step_sharing[] = {4, 8, 16, 32};
static const int64_t depths[] = {1, 2, 3};

struct scores_choice {
    struct chain_block block;
    int64_t stage, depth;
};

struct scores_offer {
    struct arena *arena;
    const struct plan_region *region;
    struct str rows, index, sum; /* loops that are tiled */
    int64_t index_extent, sum_extent;
    size_t index_loops;
    bool index_whole, sum_whole;
    chain_visitor *visit;
    void *context;
};

static void set_primitives(const struct scores_offer *o, struct plan_region *region,
                           const struct scores_choice *choice)
{
    enum primitive *list = arena_array(o->arena, enum primitive, PRIMITIVES_MAX);
    size_t count = 0;
    list[count++] = PRIMITIVE_TILE_STAGING;
    list[count++] = PRIMITIVE_SHARED_RESIDENCY;
    list[count++] = PRIMITIVE_STREAMING_ACCUMULATION;
    if (region_uses(o->region, PRIMITIVE_ONLINE_STATE))
        list[count++] = PRIMITIVE_ONLINE_STATE;
    if (region_uses(o->region, PRIMITIVE_REMATERIALISATION))
        list[count++] = PRIMITIVE_REMATERIALISATION;
    list[count++] = choice->block.mma ? PRIMITIVE_TENSOR_CORE_TILE : PRIMITIVE_REGISTER_TILE;
    if (choice->depth > 1)
        list[count++] = PRIMITIVE_ASYNC_PIPELINE;
    region->primitives = list;
    region->primitive_count = count;
}

static void set_tiles(const struct scores_offer *o, struct plan_region *region,
                      const struct scores_choice *choice)
{
    struct plan_tile *tiles = arena_array(o->arena, struct plan_tile, region->tile_count + 1);
    memcpy(tiles, region->tiles, region->tile_count * sizeof(*tiles));
    for (size_t i = 0; i < region->tile_count; i++) {
        if (str_equal(tiles[i].index, o->rows))
            tiles[i] = (struct plan_tile){o->rows, choice->block.rows, choice->block.own_rows, 0};
        if (str_equal(tiles[i].index, o->sum) && !o->sum_whole)
            tiles[i] = (struct plan_tile){o->sum, choice->stage, 1, choice->stage};
        if (!str_equal(tiles[i].index, o->index))
            continue;
        const bool more = o->index_whole && tiles[i].block > choice->block.step;
        tiles[i] = (struct plan_tile){o->index, more ? tiles[i].block : choice->block.step,
                                      choice->block.own_steps, choice->block.step};
    }
    region->tiles = tiles;
}

static void offer_scores(const struct scores_offer *o, const struct scores_choice *choice)
{
    struct plan_region region = *o->region;
    region.depth = choice->depth;
    if (!chain_set_block(&region, &choice->block))
        return;
    set_tiles(o, &region, choice);
    set_primitives(o, &region, choice);
    o->visit(o->context, &region);
}

static void vary_own(const struct scores_offer *o, struct scores_choice choice)
{
    if (choice.block.mma) {
        choice.block.own_rows = choice.block.own_steps = 1;
        offer_scores(o, &choice);
        return;
    }
    for (size_t i = 0; i < COUNT_OF(own_sides); i++)
        for (size_t k = 0; k < COUNT_OF(own_sides); k++) {
            choice.block.own_rows = own_sides[i];
            choice.block.own_steps = own_sides[k];
            offer_scores(o, &choice);
        }
}

/* The whole index as one step: its threads share it evenly, the last ones beyond its end. */
static void vary_one_step(const struct scores_offer *o, struct scores_choice choice)
{
    if (choice.block.mma) {
        choice.block.step = num_ceil_div(o->index_extent, MMA_COLUMNS) * MMA_COLUMNS;
        choice.block.own_rows = choice.block.own_steps = 1;
        offer_scores(o, &choice);
        return;
    }
    for (size_t i = 0; i < COUNT_OF(one_step_sharing); i++) {
        const int64_t sharing = one_step_sharing[i];
        choice.block.own_steps =
            num_ceil_div(num_ceil_div(o->index_extent, sharing), ONE_STEP_OWN) * ONE_STEP_OWN;
        choice.block.step = choice.block.own_steps * sharing;
        for (size_t k = 0; k < COUNT_OF(own_sides) && choice.block.own_steps <= ONE_STEP_OWN_MAX;
             k++) {
            choice.block.own_rows = own_sides[k];
            offer_scores(o, &choice);
        }
    }
}

/* A step that has all of the index is no plan of those that go along it, where a row is written:
 * then it is one that holds it. */
static void vary_steps(const struct scores_offer *o, struct scores_choice choice)
{
    const bool written = o->index_whole || region_uses(o->region, PRIMITIVE_REMATERIALISATION);
    for (size_t n = 0; n < COUNT_OF(index_steps); n++) {
        choice.block.step = index_steps[n];
        if (!written || choice.block.step < o->index_extent)
            vary_own(o, choice);
    }
    if (o->index_whole && o->index_loops == 1)
        vary_one_step(o, choice);
}

static void vary_stages(const struct scores_offer *o, struct scores_choice choice)
{
    for (size_t k = 0; k < (o->sum_whole ? 1 : COUNT_OF(sum_stages)); k++) {
        choice.stage = sum_stages[k];
        if (o->sum_whole || choice.stage < o->sum_extent)
            vary_steps(o, choice);
    }
}

static bool is_whole(const struct bound_op *bound, const struct plan_region *region,
                     const struct scores *scores, enum tile_group group, int64_t *extent)
{
    const size_t s = (size_t)(scores->product - bound->op->stmts);
    bool whole = true;
    *extent = 1;
    for (size_t i = 0; i < scores->loop_count[group]; i++) {
        const size_t loop = scores->loops[group][i];
        const struct plan_tile *tile = region_tile(region, scores->product->loops[loop].name);
        whole &= tile != NULL && tile->block >= bound->extents[s][loop];
        if (!num_mul(*extent, bound->extents[s][loop], extent))
            *extent = INT64_MAX;
    }
    return whole;
}

static struct str last_loop(const struct scores *scores, enum tile_group group)
{
    const size_t last = scores->loops[group][scores->loop_count[group] - 1];
    return scores->product->loops[last].name;
}

bool scores_choices(struct arena *arena, const struct bound_op *bound,
                    const struct plan_region *region, chain_visitor *visit, void *context)
{
    const bool wide = region->precision == COMPUTE_F32 || region->precision == COMPUTE_F64;
    struct scores scores;
    const char *why;
    if (!scores_recognise(arena, bound->op, region->stmts, region->stmt_count, &scores, &why))
        return false;
    struct scores_offer offer = {.arena = arena,
                                 .region = region,
                                 .rows = last_loop(&scores, TILE_M),
                                 .index = last_loop(&scores, TILE_N),
                                 .sum = last_loop(&scores, TILE_K),
                                 .index_loops = scores.loop_count[TILE_N],
                                 .visit = visit,
                                 .context = context};
    offer.index_whole =
        is_whole(bound, region, &scores, TILE_N, &offer.index_extent) && scores.again;
    offer.sum_whole = is_whole(bound, region, &scores, TILE_K, &offer.sum_extent);
    for (int mma = 0; mma < (wide ? 1 : 2); mma++)
        for (size_t d = 0; d < COUNT_OF(depths); d++)
            for (size_t m = 0; m < COUNT_OF(row_sides); m++)
                vary_stages(&offer,
                            (struct scores_choice){.block = {.rows = row_sides[m], .mma = mma == 1},
                                                   .depth = depths[d]});
    return true;
}
