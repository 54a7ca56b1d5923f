/*
 * The choices of a chain: rows and steps of a block, a thread's share of the scores, stages of the
 * pipeline, CUDA cores or tensor cores.  Which of them are legal is limits.c's matter.
 */
#include "solver/legal/space_chain.h"

#include <string.h>

#include "base/num.h"

enum {
    PRIMITIVES_MAX = 8,
    THREADS_MAX = 1024,
    THREADS_MIN = 32,
    WARP = 32,
    MMA_ROWS = 16,
    MMA_COLUMNS = 8
};

static const int64_t chain_rows[] = {16, 32, 64, 128};
static const int64_t chain_steps[] = {16, 32, 64, 128};
static const int64_t chain_own[] = {1, 2, 4, 8};
static const int64_t chain_depths[] = {1, 2, 3};

struct chain_choice {
    struct chain_block block;
    int64_t depth;
};

struct chain_offer {
    struct arena *arena;
    const struct plan_region *region;
    struct str rows, steps; /* indices that are tiled */
    chain_visitor *visit;
    void *context;
};

bool chain_set_block(struct plan_region *region, const struct chain_block *block)
{
    region->threads[0] = block->mma
                             ? WARP * num_ceil_div(block->rows, MMA_ROWS)
                             : block->rows / block->own_rows * (block->step / block->own_steps);
    if (block->mma) {
        region->mma[0] = MMA_ROWS;
        region->mma[1] = MMA_COLUMNS;
        region->mma[2] = region->precision == COMPUTE_TF32 ? 8 : 16;
    }
    return region->threads[0] >= THREADS_MIN && region->threads[0] <= THREADS_MAX;
}

static void set_primitives(const struct chain_offer *o, struct plan_region *region,
                           const struct chain_choice *choice)
{
    enum primitive *list = arena_array(o->arena, enum primitive, PRIMITIVES_MAX);
    size_t count = 0;
    list[count++] = PRIMITIVE_TILE_STAGING;
    list[count++] = PRIMITIVE_SHARED_RESIDENCY;
    list[count++] = PRIMITIVE_STREAMING_ACCUMULATION;
    if (region_uses(o->region, PRIMITIVE_ONLINE_STATE))
        list[count++] = PRIMITIVE_ONLINE_STATE;
    if (choice->block.mma)
        list[count++] = PRIMITIVE_TENSOR_CORE_TILE;
    if (choice->depth > 1)
        list[count++] = PRIMITIVE_ASYNC_PIPELINE;
    if (!choice->block.mma)
        list[count++] = PRIMITIVE_REGISTER_TILE;
    region->primitives = list;
    region->primitive_count = count;
}

static void offer_chain(const struct chain_offer *o, const struct chain_choice *choice)
{
    struct plan_region region = *o->region;
    struct plan_tile *tiles = arena_array(o->arena, struct plan_tile, region.tile_count + 1);
    memcpy(tiles, region.tiles, region.tile_count * sizeof(*tiles));
    for (size_t i = 0; i < region.tile_count; i++) {
        if (str_equal(tiles[i].index, o->rows))
            tiles[i] = (struct plan_tile){o->rows, choice->block.rows, choice->block.own_rows, 0};
        if (str_equal(tiles[i].index, o->steps))
            tiles[i] = (struct plan_tile){o->steps, choice->block.step, choice->block.own_steps,
                                          choice->block.step};
    }
    region.tiles = tiles;
    region.depth = choice->depth;
    if (!chain_set_block(&region, &choice->block))
        return;
    set_primitives(o, &region, choice);
    o->visit(o->context, &region);
}

static void vary_own(const struct chain_offer *o, struct chain_choice choice)
{
    if (choice.block.mma) {
        choice.block.own_rows = choice.block.own_steps = 1;
        offer_chain(o, &choice);
        return;
    }
    for (size_t i = 0; i < COUNT_OF(chain_own); i++)
        for (size_t k = 0; k < COUNT_OF(chain_own); k++) {
            choice.block.own_rows = chain_own[i];
            choice.block.own_steps = chain_own[k];
            offer_chain(o, &choice);
        }
}

bool chain_choices(struct arena *arena, const struct bound_op *bound,
                   const struct plan_region *region, chain_visitor *visit, void *context)
{
    struct chain chain;
    const char *why;
    bool wide = region->precision == COMPUTE_F32 || region->precision == COMPUTE_F64;
    if (!chain_recognise(arena, bound->op, region->stmts, region->stmt_count, &chain, &why))
        return scores_choices(arena, bound, region, visit, context);
    const struct loop *loops = chain.first->loops;
    struct chain_offer offer = {
        .arena = arena,
        .region = region,
        .rows = loops[chain.loops[CHAIN_M][chain.loop_count[CHAIN_M] - 1]].name,
        .steps = loops[chain.loops[CHAIN_N][chain.loop_count[CHAIN_N] - 1]].name,
        .visit = visit,
        .context = context};
    for (int mma = 0; mma < (wide ? 1 : 2); mma++)
        for (size_t d = 0; d < COUNT_OF(chain_depths); d++)
            for (size_t m = 0; m < COUNT_OF(chain_rows); m++)
                for (size_t n = 0; n < COUNT_OF(chain_steps); n++)
                    vary_own(&offer, (struct chain_choice){.block = {.rows = chain_rows[m],
                                                                     .step = chain_steps[n],
                                                                     .mma = mma == 1},
                                                           .depth = chain_depths[d]});
    return true;
}
