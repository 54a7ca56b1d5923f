/*
 * Blocks and clusters: their memory, and running one for a while.
 *
 * Everything of a cluster is allocated once and used again for later ones.  Within a block the
 * warps take turns; a turn ends when the warp waits or its slice is over.  A block ends its own
 * turn when no warp can go on, or when all that can are waiting for time to pass.
 */
#include <string.h>

#include "verify/ptx/async_int.h"
#include "verify/ptx/mem_int.h"
#include "verify/ptx/warp_int.h"

enum { POLLS_PER_TURN = 32, ALIGN_BYTES = 64 };

/* ---- memory ---- */

static void *aligned(struct arena *arena, size_t bytes)
{
    unsigned char *raw = arena_alloc(arena, bytes + ALIGN_BYTES, 1, 16);
    return raw + (ALIGN_BYTES - (uintptr_t)raw % ALIGN_BYTES) % ALIGN_BYTES;
}

static size_t shared_room(const struct run *run)
{
    return run->shared_bytes + LANES * 16;
}

size_t block_bytes(const struct run *run)
{
    size_t warp = sizeof(struct warp) + run->window_bytes + run->predicate_count * 4U +
                  (size_t)run->local_bytes * LANES * 2;
    if (run->calls)
        warp += sizeof(struct call_record) * LANES * CALL_DEPTH_MAX;
    size_t cells = run->check ? shared_room(run) >> run->shared_grain : 0;
    return sizeof(struct block) + warp * run->warps + shared_room(run) + cells * 20;
}

static void create_warp(struct run *run, struct warp *w, uint32_t index)
{
    struct arena *arena = run->arena;
    const uint32_t *dim = run->launch->block;
    w->run = run;
    for (uint32_t i = 0; i < LANES; i++) {
        uint32_t t = index * LANES + i;
        w->tid[0][i] = t % dim[0];
        w->tid[1][i] = t / dim[0] % dim[1];
        w->tid[2][i] = t / dim[0] / dim[1];
    }
    w->registers = aligned(arena, run->window_bytes + LANE64_BYTES);
    /* Windows of callees stay untouched, and cost nothing, until a call opens them. */
    for (size_t at = 0; at < run->entry->window_bytes; at += POISON_BYTES) {
        size_t left = run->entry->window_bytes - at;
        memcpy(w->registers + at, run->poison, left < POISON_BYTES ? left : POISON_BYTES);
    }
    w->predicates = arena_array(arena, uint32_t, run->predicate_count + 1);
    w->local_stride = run->local_bytes;
    if (run->local_bytes) {
        w->local = aligned(arena, (size_t)run->local_bytes * LANES);
        if (run->check)
            w->local_init = arena_array(arena, uint8_t, (size_t)run->local_bytes * LANES);
    }
    if (run->calls)
        w->calls = arena_array(arena, struct call_record, (size_t)LANES * CALL_DEPTH_MAX);
    if (run->taints && run->check) {
        w->taints = arena_array(arena, uint32_t, run->window_bytes / LANE32_BYTES + 2);
        w->pred_taints = arena_array(arena, uint32_t, run->predicate_count + 1);
    }
}

void cluster_create(struct run *run, struct cluster *cluster)
{
    cluster->count = run->cluster_size;
    cluster->blocks = arena_array(run->arena, struct block *, cluster->count);
    for (uint32_t k = 0; k < cluster->count; k++) {
        struct block *block = arena_new(run->arena, struct block);
        cluster->blocks[k] = block;
        block->run = run;
        block->cluster = cluster;
        block->rank = k;
        block->threads = run->threads;
        block->warp_count = run->warps;
        block->warps = aligned(run->arena, sizeof(struct warp) * run->warps);
        for (uint32_t i = 0; i < run->warps; i++)
            create_warp(run, &block->warps[i], i);
        block->shared = aligned(run->arena, shared_room(run));
        block->cells = shared_room(run) >> run->shared_grain;
        if (run->check && run->shared_bytes)
            shadow_alloc(run->arena, &block->shadow, block->cells, false);
    }
}

/* ---- starting ---- */

static void start_warp(struct warp *w, struct block *block, uint32_t index)
{
    struct run *run = block->run;
    const struct func *entry = run->entry;
    w->predicates[PRED_TRUE] = UINT32_MAX;
    warp_init(w, block, index, entry->start);
    async_reset(w);
    if (w->local_init)
        memset(w->local_init, 0, (size_t)w->local_stride * LANES);
    for (size_t at = 0; at < (size_t)w->local_stride * LANES; at += POISON_BYTES) {
        size_t left = (size_t)w->local_stride * LANES - at;
        memcpy(w->local + at, run->poison, left < POISON_BYTES ? left : POISON_BYTES);
    }
    if (w->taints) {
        memset(w->taints, 0, (run->window_bytes / LANE32_BYTES + 2) * sizeof(*w->taints));
        memset(w->pred_taints, 0, (run->predicate_count + 1) * sizeof(*w->pred_taints));
        for (uint32_t i = 0; i < entry->tainted_count; i++)
            w->taints[entry->tainted[i] / LANE32_BYTES] = UINT32_MAX;
        for (uint32_t i = 0; i < entry->tainted_pred_count; i++)
            w->pred_taints[entry->tainted_preds[i]] = UINT32_MAX;
    }
}

static void start_block(struct block *block, const uint32_t id[3])
{
    struct run *run = block->run;
    const uint32_t *grid = run->launch->grid;
    memcpy(block->id, id, sizeof(block->id));
    block->ordinal = id[0] + (uint64_t)grid[0] * (id[1] + (uint64_t)grid[1] * id[2]);
    block->live_warps = block->warp_count;
    block->seen_others = 0;
    block->fenced = block->announced = block->flagged = (struct seen){.parted = false};
    block->fences = block->flags = 0;
    block->polls = 0;
    bulk_reset(block);
    phase_reset(block);
    memset(block->barriers, 0, sizeof(block->barriers));
    for (size_t at = 0; at < run->shared_bytes; at += POISON_BYTES) {
        size_t left = run->shared_bytes - at;
        memcpy(block->shared + at, run->poison, left < POISON_BYTES ? left : POISON_BYTES);
    }
    if (block->shadow.write_time)
        shadow_clear(&block->shadow, block->cells);
    for (uint32_t i = 0; i < block->warp_count; i++)
        start_warp(&block->warps[i], block, i);
}

void cluster_start(struct run *run, struct cluster *cluster, uint64_t index)
{
    const uint32_t *dims = run->cluster_dims;
    const uint32_t *clusters = run->grid_clusters;
    uint32_t at[3] = {(uint32_t)(index % clusters[0]),
                      (uint32_t)(index / clusters[0] % clusters[1]),
                      (uint32_t)(index / clusters[0] / clusters[1])};
    cluster->index = index;
    cluster->arrived = 0;
    cluster->phase = 1;
    cluster->live = run->threads * cluster->count;
    for (uint32_t k = 0; k < cluster->count; k++) {
        uint32_t in[3] = {k % dims[0], k / dims[0] % dims[1], k / dims[0] / dims[1]};
        uint32_t id[3];
        for (int i = 0; i < 3; i++)
            id[i] = at[i] * dims[i] + in[i];
        start_block(cluster->blocks[k], id);
    }
}

/* ---- running ---- */

struct turn {
    bool progressed; /* some warp ran and may run on */
    bool waits_cluster;
};

static bool waits_for_cluster(const struct warp *w)
{
    for (int i = 0; i < w->group_count; i++)
        if (w->groups[i].state == GROUP_CLUSTER)
            return true;
    return false;
}

static bool take_turn(struct block *block, struct turn *turn)
{
    struct run *run = block->run;
    *turn = (struct turn){0};
    for (uint32_t k = 0; k < block->warp_count; k++) {
        uint32_t i = run->launch->reverse_order ? block->warp_count - 1 - k : k;
        struct warp *w = &block->warps[i];
        if (w->live == 0)
            continue;
        if (warp_has_ready(w)) {
            enum warp_end end = warp_run(w, run->quantum);
            if (end == WARP_FAULT)
                return false;
            turn->progressed |= end != WARP_YIELDED;
        }
        if (w->live && !warp_has_ready(w)) {
            if (warp_stuck(w))
                return false;
            turn->waits_cluster |= waits_for_cluster(w);
        }
    }
    return true;
}

static bool any_ready(const struct block *block)
{
    for (uint32_t i = 0; i < block->warp_count; i++)
        if (block->warps[i].live && warp_has_ready(&block->warps[i]))
            return true;
    return false;
}

enum block_end block_run(struct block *block, uint64_t slice)
{
    struct run *run = block->run;
    uint64_t end = run->executed + slice;
    bool idle = true;
    while (block->live_warps > 0) {
        struct turn turn;
        if (!take_turn(block, &turn))
            return BLOCK_FAULT;
        if (block->live_warps == 0)
            break;
        if (!any_ready(block)) {
            if (turn.waits_cluster)
                return BLOCK_WAITS;
            barrier_deadlock(block);
            return BLOCK_FAULT;
        }
        idle &= !turn.progressed;
        if (!turn.progressed || run->executed >= end || block->polls > POLLS_PER_TURN)
            return idle ? BLOCK_IDLE : BLOCK_SLICE;
    }
    return BLOCK_DONE;
}
