/*
 * Plans to try, by predicted time: the best covers by regions, and the plans around the best one.
 *
 * Besides them one for a model alone, where contractions may run on tensor cores: the realiser has
 * no such primitive and the cost model no such unit, so this plan is legal but not priced.
 */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

#include "agent/campaign/campaign_int.h"
#include "solver/sched/sched.h"

enum {
    PLANS_MAX = 1024,
    COVERS_MAX = 32, /* best plans over all covers */
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
    return *x < *y ? -1 : 1; /* covers first, then in the order of the space */
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

/* A list of plans, each once. */
struct listing {
    struct arena *arena;
    const struct campaign_options *options;
    struct planned *plans;
    size_t count;
    struct map known; /* hashes in hexadecimal */
};

static void add_plan(struct listing *list, const struct plan *plan)
{
    const struct hash hash = plan_hash(plan);
    bool is_new;

    (void)map_put(&list->known, hash_text(list->arena, &hash), &is_new);
    if (!is_new)
        return;
    list->plans[list->count].plan = plan;
    cost_plan(list->arena, plan, list->options->target, list->options->machine,
              &list->plans[list->count].cost);
    list->count++;
}

/* The best covers that the machine can hold as a whole. */
static void add_covers(struct listing *list, const struct cover_problem *problem,
                       const struct cover_result *covers)
{
    for (size_t i = 0; i < covers->count; i++) {
        const struct plan *plan =
            cover_plan(list->arena, problem, covers->best[i].picks, covers->best[i].count);
        struct limits limits;

        plan_limits(list->arena, plan, list->options->target, list->options->machine, &limits);
        if (limits.legal)
            add_plan(list, plan);
    }
}

/* The plans of a task; ERR_LIMIT: none is legal. */
static bool list_plans(struct arena *arena, const struct campaign_options *options,
                       const struct skeleton_limits *limits, const struct structures *structures,
                       struct planning *out, struct err *err)
{
    struct listing list = {.arena = arena, .options = options};
    struct candidates candidates;
    struct cover_problem problem;
    struct cover_result covers;
    struct cover_space around;
    struct space space;

    candidates_find(arena, options->target, options->track, limits, structures, &candidates);
    if (!cover_problem(arena, &candidates, options->machine, COVERS_MAX, &problem, err))
        return false;
    cover_solve(arena, &problem, 0, &covers);
    cover_space(arena, &problem, covers.best[0].picks, covers.best[0].count, &around);
    if (!plan_space(arena, around.skeleton, options->target, options->machine,
                    &(struct space_options){PLANS_MAX, limits->realisable}, &space, err))
        return false;
    list.plans = arena_array(arena, struct planned, COVERS_MAX + space.plan_count + 1);
    map_init(&list.known, arena);
    add_covers(&list, &problem, &covers);
    for (size_t i = 0; i < space.plan_count; i++)
        add_plan(&list, space.plans[i]);
    out->count = list.count;
    out->plans = sorted(arena, list.plans, list.count);
    return true;
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
    const struct skeleton_limits limits = {
        .arch = options->arch, .threads_max = machine->threads_per_block, .realisable = true};
    const struct plan *skeleton;

    *out = (struct planning){.count = 0};
    if (!plan_skeleton(arena, options->target, options->track, &limits, &skeleton, err))
        return false;
    out->tensor_cores = with_tensor_cores(arena, options, structures, skeleton);
    if (!list_plans(arena, options, &limits, structures, out, err) && err->code != ERR_LIMIT)
        return false; /* without a legal plan the naive kernel is left */
    return true;
}
