/*
 * The choices of a tile.
 *
 * The realiser's: block and thread tile of M and N, step of K.  For a model besides: how factors
 * come to shared memory and in how many stages, elements an access, blocks that share a sum, and
 * tensor cores: precision, instruction, tile of a warp, layout.  Those go over fewer sizes than the
 * realiser's, which kernels of that sort commonly have.
 */
#include <string.h>

#include "base/num.h"

#include "solver/legal/space_kinds.h"

enum { WARP = 32, ACCESS_BYTES = 16, PRIMITIVES_MAX = 8, THREADS_MAX = 1024 };

static const int64_t tile_sides[] = {16, 32, 64, 128, 256};
static const int64_t tile_own[] = {2, 4, 8, 16};
static const int64_t tile_steps[] = {8, 16, 32};
/* as above, for a model */
static const int64_t wide_own[] = {4, 8};
static const int64_t mma_steps[] = {16, 32, 64};
static const int64_t warp_sides[] = {16, 32, 64};

/* How factors come to shared memory, and stages under way. */
static const struct feed {
    enum staging staging;
    int64_t depth;
} feeds[] = {
    {STAGE_SHARED, 1}, {STAGE_REGISTER, 2}, {STAGE_ASYNC, 2}, {STAGE_ASYNC, 3}, {STAGE_ASYNC, 4}};

struct tile_choice {
    int64_t side[SIDE_COUNT], own[SIDE_COUNT];
    const struct feed *feed; /* NULL: the realiser's, which says nothing of it */
    int64_t vector, split;
    int64_t mma[3];
    enum compute precision;
    bool swizzled;
};
struct tile_space {
    const struct kind_space *kind;
    struct tile tile;
    int64_t vector; /* the widest access that all factors' types allow */
};

static const enum tile_group group_of[] = {
    [SIDE_BATCH] = TILE_BATCH, [SIDE_M] = TILE_M, [SIDE_N] = TILE_N, [SIDE_K] = TILE_K};

/* ---- one choice ---- */

static void set_tiles(const struct tile_space *t, struct plan_region *region,
                      const struct tile_choice *choice)
{
    const struct stmt *stmt = t->tile.contraction;
    struct plan_tile *tiles = arena_array(t->kind->arena, struct plan_tile, stmt->loop_count + 1);
    size_t count = 0;
    for (int side = 0; side < SIDE_COUNT; side++) {
        const enum tile_group group = group_of[side];
        for (size_t i = 0; i < t->tile.loop_count[group]; i++)
            tiles[count++] = (struct plan_tile){stmt->loops[t->tile.loops[group][i]].name, 1, 1, 0};
        if (side == SIDE_BATCH || count == 0)
            continue;
        tiles[count - 1].block = choice->side[side];
        tiles[count - 1].thread = choice->own[side];
        tiles[count - 1].step = side == SIDE_K ? choice->side[side] : 0;
    }
    region->tiles = tiles;
    region->tile_count = count;
}

static void set_primitives(const struct tile_space *t, struct plan_region *region,
                           const struct tile_choice *choice)
{
    enum primitive *list = arena_array(t->kind->arena, enum primitive, PRIMITIVES_MAX);
    size_t n = 0;
    list[n++] = PRIMITIVE_TILE_STAGING;
    list[n++] = PRIMITIVE_SHARED_RESIDENCY;
    list[n++] = choice->mma[0] > 0 ? PRIMITIVE_TENSOR_CORE_TILE : PRIMITIVE_REGISTER_TILE;
    if (choice->feed->depth > 1)
        list[n++] = PRIMITIVE_ASYNC_PIPELINE;
    if (choice->vector > 1)
        list[n++] = PRIMITIVE_VECTOR_ACCESS;
    region->primitives = list;
    region->primitive_count = n;
}

/* Factors that are a tensor's elements come as `feed` says, one tensor once.  A copy converts
 * nothing: a factor that must be converted comes through registers. */
static void set_stages(const struct tile_space *t, struct plan_region *region,
                       const struct tile_choice *choice)
{
    const struct footprint *f = t->kind->footprint;
    const struct op *op = t->kind->bound->op;
    const bool mma = choice->mma[0] > 0, twice = f->factor[0].tensor == f->factor[1].tensor;
    const bool copies[] = {footprint_copies(op, t->tile.a, mma, choice->precision),
                           footprint_copies(op, t->tile.b, mma, choice->precision)};
    struct plan_stage *stages = arena_array(t->kind->arena, struct plan_stage, 2);
    size_t count = 0;
    for (int i = 0; i < 2; i++) {
        const size_t tensor = f->factor[i].tensor;
        if (tensor == OP_NONE || (i == 1 && twice))
            continue;
        const bool same = twice ? copies[0] && copies[1] : copies[i];
        stages[count].tensor = op->tensors[tensor].name;
        stages[count++].staging =
            choice->feed->staging == STAGE_ASYNC && !same ? STAGE_REGISTER : choice->feed->staging;
    }
    region->stages = stages;
    region->stage_count = count;
}

static void offer_tile(const struct tile_space *t, const struct tile_choice *choice)
{
    struct plan_region region = *t->kind->region;
    const int64_t threads =
        choice->side[SIDE_M] / choice->own[SIDE_M] * (choice->side[SIDE_N] / choice->own[SIDE_N]);
    /* plan_check has no plans of more threads */
    if (threads < WARP || threads > THREADS_MAX)
        return;
    region.threads[0] = threads;
    set_tiles(t, &region, choice);
    if (choice->feed != NULL) {
        region.vector = choice->vector;
        region.depth = choice->feed->depth;
        region.split = choice->split;
        for (int i = 0; i < 3; i++)
            region.mma[i] = choice->mma[i];
        region.precision = choice->precision;
        if (choice->swizzled)
            region.layout = STR_LIT(LAYOUT_SWIZZLED);
        set_primitives(t, &region, choice);
        set_stages(t, &region, choice);
    }
    t->kind->offer(t->kind->context, &region);
}

/* ---- the realiser's ---- */

/* Tiles of more than twice the extent are padding for the most part. */
static bool side_pays(const struct tile_space *t, enum footprint_side side, int64_t block)
{
    return block == tile_sides[0] || block < 2 * t->kind->footprint->extent[side];
}

static void vary_threads(const struct tile_space *t, int64_t m, int64_t n)
{
    for (size_t i = 0; i < COUNT_OF(tile_own); i++)
        for (size_t k = 0; k < COUNT_OF(tile_own); k++)
            for (size_t s = 0; s < COUNT_OF(tile_steps); s++)
                offer_tile(t, &(struct tile_choice){.side = {1, m, n, tile_steps[s]},
                                                    .own = {1, tile_own[i], tile_own[k], 1}});
}

/* ---- for a model ---- */

static void offer_splits(const struct tile_space *t, struct tile_choice choice)
{
    const struct footprint *f = t->kind->footprint;
    const int64_t stages = num_ceil_div(f->extent[SIDE_K], choice.side[SIDE_K]);
    const int64_t across = num_ceil_div(f->extent[SIDE_M], choice.side[SIDE_M]) *
                           num_ceil_div(f->extent[SIDE_N], choice.side[SIDE_N]);
    int64_t splits[SPACE_SPLITS_MAX];
    const size_t count = space_splits(t->kind, across * f->extent[SIDE_BATCH], stages, splits);
    /* Alone and without any of it, it is the realiser's. */
    const bool plain =
        choice.mma[0] == 0 && choice.feed->staging == STAGE_SHARED && choice.vector == 1;
    for (size_t i = plain; i < count; i++) {
        choice.split = splits[i];
        offer_tile(t, &choice);
    }
}

/* All ways to feed it, by single elements and by the widest access. */
static void offer_feeds(const struct tile_space *t, struct tile_choice choice)
{
    for (size_t i = 0; i < COUNT_OF(feeds); i++)
        for (int64_t vector = t->vector; vector >= 1; vector = vector > 1 ? 1 : 0) {
            choice.feed = &feeds[i];
            choice.vector = vector;
            offer_splits(t, choice);
        }
}

static void vary_wide(const struct tile_space *t, int64_t m, int64_t n)
{
    for (size_t i = 0; i < COUNT_OF(wide_own); i++)
        for (size_t k = 0; k < COUNT_OF(wide_own); k++)
            for (size_t s = 0; s < COUNT_OF(tile_steps); s++)
                offer_feeds(t, (struct tile_choice){.side = {1, m, n, tile_steps[s]},
                                                    .own = {1, wide_own[i], wide_own[k], 1},
                                                    .precision = t->kind->region->precision});
}

/* Tiles of a warp, in its lanes' results, for one instruction. */
static void vary_warps(const struct tile_space *t, struct tile_choice choice,
                       const struct mma_shape *shape)
{
    for (size_t i = 0; i < COUNT_OF(warp_sides); i++)
        for (size_t k = 0; k < COUNT_OF(warp_sides); k++)
            for (int layout = 0; layout < 2; layout++) {
                choice.own[SIDE_M] = warp_sides[i] / mma_lanes_down(shape);
                choice.own[SIDE_N] = warp_sides[k] / MMA_LANES_ACROSS;
                choice.swizzled = layout == 1;
                if (warp_sides[i] <= choice.side[SIDE_M] && warp_sides[k] <= choice.side[SIDE_N])
                    offer_feeds(t, choice);
            }
}

/* A warp group takes 64 rows and all columns of the tile. */
static void vary_group(const struct tile_space *t, struct tile_choice choice,
                       const struct mma_shape *shape)
{
    if (choice.side[SIDE_M] % shape->m != 0 || choice.side[SIDE_N] < shape->m)
        return;
    choice.own[SIDE_M] = shape->m / mma_lanes_down(shape);
    choice.own[SIDE_N] = choice.side[SIDE_N] / MMA_LANES_ACROSS;
    choice.swizzled = true;
    choice.mma[1] = choice.side[SIDE_N];
    offer_feeds(t, choice);
}

/* Each instruction of a warp, and that of a warp group. */
static void vary_mma(const struct tile_space *t, struct tile_choice choice)
{
    for (size_t i = 0; mma_shape(i) != NULL; i++) {
        const struct mma_shape *shape = mma_shape(i);
        const int64_t mma[3] = {shape->m, shape->n_least, shape->k};
        if (mma_find(choice.precision, mma) != shape ||
            t->kind->machine->capability < shape->capability_least ||
            t->kind->machine->capability > shape->capability_most)
            continue;
        memcpy(choice.mma, mma, sizeof(mma));
        if (shape->threads == WARP)
            vary_warps(t, choice, shape);
        else
            vary_group(t, choice, shape);
    }
}

static bool is_exact(const struct tile_space *t, enum compute compute)
{
    return footprint_exact(t->tile.a, compute) && footprint_exact(t->tile.b, compute);
}

/* Precisions that are another choice than the track's: those that hold the factors, whose products
 * are exact on any track, and tf32 where the track allows less, which takes f32 data as they lie.
 */
static void vary_precision(const struct tile_space *t, int64_t m, int64_t n)
{
    static const enum compute narrow[] = {COMPUTE_F16, COMPUTE_BF16};
    const enum compute own = t->kind->region->precision;
    for (size_t s = 0; s < COUNT_OF(mma_steps); s++) {
        struct tile_choice choice = {
            .side = {1, m, n, mma_steps[s]}, .own = {1, 1, 1, 1}, .precision = own};
        vary_mma(t, choice);
        for (size_t i = 0; i < COUNT_OF(narrow); i++) {
            choice.precision = narrow[i];
            if (narrow[i] != own && is_exact(t, narrow[i]))
                vary_mma(t, choice);
        }
        choice.precision = COMPUTE_TF32;
        if ((compute_is_narrow(own) || (own == COMPUTE_F32 && is_exact(t, COMPUTE_TF32))) &&
            t->kind->footprint->element_bytes == 4)
            vary_mma(t, choice);
    }
}

/* ---- all ---- */

/* Elements of the widest access; 1 when no factor is a tensor's elements. */
static int64_t widest(const struct kind_space *k)
{
    int64_t bytes = 0;
    for (int i = 0; i < 2; i++) {
        const size_t tensor = k->footprint->factor[i].tensor;
        if (tensor == OP_NONE)
            continue;
        const int64_t own = (int64_t)dtype_bytes(k->bound->op->tensors[tensor].dtype);
        bytes = own > bytes ? own : bytes;
    }
    return bytes > 0 ? ACCESS_BYTES / bytes : 1;
}

void tile_choices(const struct kind_space *kind)
{
    struct tile_space t = {.kind = kind, .vector = widest(kind)};
    const char *why;
    if (!tile_recognise(kind->arena, kind->bound->op, kind->region->stmts, kind->region->stmt_count,
                        &t.tile, &why))
        return;
    for (size_t i = 0; i < COUNT_OF(tile_sides); i++)
        for (size_t k = 0; k < COUNT_OF(tile_sides); k++) {
            const int64_t m = tile_sides[i], n = tile_sides[k];
            if (!side_pays(&t, SIDE_M, m) || !side_pays(&t, SIDE_N, n))
                continue;
            vary_threads(&t, m, n);
            if (kind->realisable)
                continue;
            if (i > 0 && k > 0)
                vary_wide(&t, m, n);
            vary_precision(&t, m, n);
        }
}
