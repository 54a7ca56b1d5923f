/*
 * Plans to try: the realiser's skeleton, varied inside the machine's limits, by predicted time.
 *
 * Besides them one for a model alone, where contractions may run on tensor cores: the realiser has
 * no such primitive and the cost model no such unit, so this plan is legal but not priced.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/campaign/campaign_int.h"

enum {
    PLANS_MAX = 1024,
    /* A common shape of hand-written kernels: 8 warps of 64 x 32 results, of m16n8 instructions. */
    MMA_TILE = 128,
    MMA_STEP = 32,
    MMA_THREADS = 256
};

static int by_seconds(const void *a, const void *b)
{
    const struct planned *const *x = a, *const *y = b;

    if ((*x)->cost.seconds != (*y)->cost.seconds)
        return (*x)->cost.seconds < (*y)->cost.seconds ? -1 : 1;
    return *x < *y ? -1 : 1; /* in the order of the space */
}

static const struct planned *sorted(struct arena *arena, const struct planned *plans, size_t count)
{
    const struct planned **order = arena_array(arena, const struct planned *, count + 1);
    struct planned *out = arena_array(arena, struct planned, count + 1);

    for (size_t i = 0; i < count; i++)
        order[i] = &plans[i];
    qsort(order, count, sizeof(order[0]), by_seconds);
    for (size_t i = 0; i < count; i++)
        out[i] = *order[i];
    return out;
}

static void price(struct arena *arena, const struct campaign_options *options,
                  const struct space *space, struct planning *out)
{
    struct planned *plans = arena_array(arena, struct planned, space->plan_count + 1);

    for (size_t i = 0; i < space->plan_count; i++) {
        plans[i].plan = space->plans[i];
        cost_plan(arena, plans[i].plan, options->target, options->machine, &plans[i].cost);
    }
    out->count = space->plan_count;
    out->plans = sorted(arena, plans, out->count);
}

/* ---- tensor cores ---- */

/* The depth of an mma instruction of m16n8; 0: the track's factors are too wide for one. */
static int64_t mma_depth(const struct track *track)
{
    switch (track->compute) {
    case COMPUTE_F16:
    case COMPUTE_BF16:
        return 16;
    case COMPUTE_TF32:
        return 8;
    case COMPUTE_F32:
    case COMPUTE_F64:
        break;
    }
    return 0;
}

static bool has_note(const struct structures *structures, const struct plan_region *region,
                     enum primitive word)
{
    for (size_t n = 0; n < structures->primitive_count; n++)
        for (size_t i = 0; i < region->stmt_count; i++)
            if (structures->primitives[n].word == word &&
                structures->primitives[n].stmt == region->stmts[i])
                return true;
    return false;
}

static void to_tensor_cores(struct arena *arena, const struct track *track,
                            struct plan_region *region)
{
    enum primitive *primitives = arena_array(arena, enum primitive, region->primitive_count + 1);
    struct plan_tile *tiles = arena_array(arena, struct plan_tile, region->tile_count + 1);

    memcpy(primitives, region->primitives, region->primitive_count * sizeof(primitives[0]));
    primitives[region->primitive_count++] = PRIMITIVE_TENSOR_CORE_TILE;
    for (size_t t = 0; t < region->tile_count; t++) {
        tiles[t] = region->tiles[t];
        if (tiles[t].step > 0) {
            tiles[t].block = tiles[t].step = MMA_STEP;
        } else if (tiles[t].block > 1) {
            tiles[t].block = MMA_TILE;
            tiles[t].thread = 8;
        }
    }
    region->primitives = primitives;
    region->tiles = tiles;
    region->threads[0] = MMA_THREADS;
    region->threads[1] = region->threads[2] = 1;
    region->mma[0] = 16;
    region->mma[1] = 8;
    region->mma[2] = mma_depth(track);
}

static const struct plan *with_tensor_cores(struct arena *arena,
                                            const struct campaign_options *options,
                                            const struct structures *structures,
                                            const struct plan *skeleton)
{
    struct plan *plan = arena_new(arena, struct plan);
    struct plan_region *regions = arena_array(arena, struct plan_region, skeleton->region_count);
    struct limits limits;
    bool changed = false;

    if (mma_depth(options->track) == 0)
        return NULL;
    *plan = *skeleton;
    for (size_t r = 0; r < plan->region_count; r++) {
        regions[r] = skeleton->regions[r];
        if (!region_uses(&regions[r], PRIMITIVE_REGISTER_TILE) ||
            !has_note(structures, &regions[r], PRIMITIVE_TENSOR_CORE_TILE))
            continue;
        to_tensor_cores(arena, options->track, &regions[r]);
        changed = true;
    }
    plan->regions = regions;
    plan_limits(arena, plan, options->target, options->machine, &limits);
    return changed && limits.legal ? plan : NULL;
}

bool plans_make(struct arena *arena, const struct campaign_options *options,
                const struct structures *structures, struct planning *out, struct err *err)
{
    const struct machine *machine = options->machine;
    const struct skeleton_limits limits = {options->arch, machine->threads_per_block};
    const struct plan *skeleton;
    struct space space;

    *out = (struct planning){.count = 0};
    if (!plan_skeleton(arena, options->target, options->track, &limits, &skeleton, err))
        return false;
    out->tensor_cores = with_tensor_cores(arena, options, structures, skeleton);
    if (plan_space(arena, skeleton, options->target, machine, PLANS_MAX, &space, err))
        price(arena, options, &space, out);
    else if (err->code != ERR_LIMIT) /* no legal plan: the naive kernel is left */
        return false;
    return true;
}
