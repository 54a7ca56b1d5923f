/*
 * The choices of rows and maps: a row a warp or a block, threads, vector, held in registers or
 * streamed; for a model also held in shared memory, with a running state in place of a pass, and
 * shared by several blocks.
 */
#include "base/num.h"

#include "solver/legal/space_kinds.h"
enum { WARP = 32, ACCESS_BYTES = 16, PRIMITIVES_MAX = 8 };

static const int64_t row_threads[] = {32, 64, 128, 256, 512, 1024};

struct row_choice {
    bool warp, streaming, shared, online;
    int64_t threads, vector, items, split;
};

const struct stmt *space_leading_stmt(const struct bound_op *bound,
                                      const struct plan_region *region)
{
    for (size_t i = 0; i < region->stmt_count; i++)
        if (bound->op->stmts[region->stmts[i]].reduce != REDUCE_NONE)
            return &bound->op->stmts[region->stmts[i]];
    return &bound->op->stmts[region->stmts[0]];
}

size_t space_splits(const struct kind_space *kind, int64_t blocks, int64_t most,
                    int64_t splits[SPACE_SPLITS_MAX])
{
    size_t count = 0;
    splits[count++] = 1;
    while (!kind->realisable && count < SPACE_SPLITS_MAX && splits[count - 1] * 2 <= most &&
           blocks * splits[count - 1] < 2 * kind->machine->sm_count) {
        splits[count] = splits[count - 1] * 2;
        count++;
    }
    return count;
}

/* As plan_skeleton writes them, so that the same choice is the same plan. */
static void set_tiles(const struct kind_space *k, struct plan_region *region,
                      const struct row_choice *choice)
{
    const struct stmt *stmt = space_leading_stmt(k->bound, region);
    bool maps = k->footprint->kind == FOOTPRINT_MAPS;
    size_t outer = maps ? 0 : stmt->free_count;
    size_t all = maps ? stmt->free_count : stmt->loop_count;
    struct plan_tile *tiles = arena_array(k->arena, struct plan_tile, all + 1);
    int64_t sharing = choice->warp ? WARP : choice->threads;
    for (size_t i = 0; i < all; i++) {
        bool last = i + 1 == all;
        tiles[i].index = stmt->loops[i].name;
        tiles[i].block = last             ? sharing * choice->items
                         : i + 1 == outer ? choice->threads / sharing
                                          : 1;
        tiles[i].thread = last ? choice->items : 1;
        tiles[i].step = last && !maps ? tiles[i].block : 0;
    }
    region->tiles = tiles;
    region->tile_count = all;
}

static void set_primitives(const struct kind_space *k, struct plan_region *region,
                           const struct row_choice *choice)
{
    enum primitive *list = arena_array(k->arena, enum primitive, PRIMITIVES_MAX);
    size_t n = 0;
    bool maps = k->footprint->kind == FOOTPRINT_MAPS;
    if (!maps) {
        list[n++] = PRIMITIVE_REDUCTION_TREE;
        list[n++] = choice->warp ? PRIMITIVE_WARP_SUMMARY : PRIMITIVE_BLOCK_SUMMARY;
    }
    if (maps || choice->vector > 1)
        list[n++] = PRIMITIVE_VECTOR_ACCESS;
    if (!maps && choice->streaming) {
        list[n++] = PRIMITIVE_STREAMING_ACCUMULATION;
        list[n++] = choice->shared ? PRIMITIVE_SHARED_RESIDENCY : PRIMITIVE_REMATERIALISATION;
    }
    if (choice->online)
        list[n++] = PRIMITIVE_ONLINE_STATE;
    region->primitives = list;
    region->primitive_count = n;
}

static void offer_rows(const struct kind_space *k, struct row_choice choice)
{
    struct plan_region region = *k->region;
    int64_t sharing = choice.warp ? WARP : choice.threads;
    int64_t own = num_ceil_div(k->footprint->length, sharing);
    choice.items =
        choice.streaming ? choice.vector : num_ceil_div(own, choice.vector) * choice.vector;
    region.threads[0] = choice.threads;
    region.vector = choice.vector;
    region.split = choice.split;
    set_tiles(k, &region, &choice);
    set_primitives(k, &region, &choice);
    k->offer(k->context, &region);
}

static void offer_widths(const struct kind_space *k, struct row_choice choice)
{
    bool maps = k->footprint->kind == FOOTPRINT_MAPS;
    for (int warp = 0; warp < (maps ? 1 : 2); warp++)
        for (size_t t = 0; t < COUNT_OF(row_threads); t++)
            for (int64_t v = ACCESS_BYTES; v >= 1; v /= 2) {
                choice.warp = warp;
                choice.threads = row_threads[t];
                choice.vector = v;
                offer_rows(k, choice);
            }
}

/* ---- for a model ---- */

/* The footprint of streamed rows, a row a block; false: there is none. */
static bool streamed(const struct kind_space *k, struct footprint *out)
{
    struct plan_region region = *k->region;
    const char *why;
    region.threads[0] = WARP;
    region.vector = region.split = 1;
    set_primitives(k, &region, &(struct row_choice){.streaming = true, .vector = 1});
    return footprint_of(k->arena, &region, k->bound, out, &why);
}

static void offer_parts(const struct kind_space *k, const struct footprint *f,
                        struct row_choice choice)
{
    int64_t splits[SPACE_SPLITS_MAX];
    size_t count = space_splits(k, f->rows, num_ceil_div(f->length, WARP), splits);
    for (size_t i = 1; i < count; i++) {
        choice.split = splits[i];
        offer_widths(k, choice);
    }
}

static void offer_for_models(const struct kind_space *k)
{
    struct footprint f;
    struct row_choice choice = {.streaming = true, .split = 1};
    if (!streamed(k, &f))
        return;
    if (f.passes == 1) {
        offer_parts(k, &f, choice);
        return;
    }
    choice.shared = true;
    offer_widths(k, choice);
    if (!k->state)
        return;
    choice.online = true;
    offer_widths(k, choice);
    choice.shared = false;
    offer_widths(k, choice);
    if (f.passes == 2)
        offer_parts(k, &f, choice);
}

void row_choices(const struct kind_space *k)
{
    bool maps = k->footprint->kind == FOOTPRINT_MAPS;
    for (int streaming = maps; streaming < 2; streaming++)
        offer_widths(k, (struct row_choice){.streaming = streaming, .split = 1});
    if (!maps && !k->realisable)
        offer_for_models(k);
}
