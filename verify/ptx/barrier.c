/*
 * Barriers of a block: bar.sync, bar.arrive, bar.red, sixteen of them; and those of a cluster.
 *
 * A barrier counts lanes by warp.  Without a thread count it is complete when every live lane of
 * the block has arrived, so threads that exited do not hold up the rest; with one, when warps for
 * that many threads have, a warp all of whose live lanes came counting as 32.  Aligned forms first
 * wait until the whole warp is at the instruction.
 *
 * Completion orders: whoever waits sees everything that those who arrived did before, and what they
 * had seen; an arrival alone orders nothing for the one who arrives.
 */
#include <string.h>

#include "verify/ptx/exec_int.h"
#include "verify/ptx/fault_int.h"
#include "verify/ptx/mem_int.h"
#include "verify/ptx/sync_int.h"
#include "verify/ptx/warp_int.h"

/* ---- counting ---- */

static bool is_complete(const struct block *block, const struct barrier *b)
{
    uint32_t total = 0;
    for (uint32_t i = 0; i < block->warp_count; i++) {
        const struct warp *w = &block->warps[i];
        bool whole = (w->live & ~b->arrived[i]) == 0;
        if (b->expected == 0 && !whole)
            return false;
        if (b->arrived[i])
            total += whole ? LANES : (uint32_t)__builtin_popcount(b->arrived[i]);
    }
    return b->expected == 0 || total >= b->expected;
}

/* What everyone who arrived knows, joined. */
static void join_clocks(struct block *block, const struct barrier *b)
{
    struct seen joined = {.parted = false};
    for (uint32_t i = 0; i < block->warp_count; i++) {
        if (!b->arrived[i])
            continue;
        seen_join(&joined, &block->warps[i].seen, block->warp_count);
        /* Who waits has done nothing since; who only arrived may have. */
        bool still = b->waiting[i] == b->arrived[i] && (block->warps[i].live & ~b->waiting[i]) == 0;
        seen_add(&joined, i, still ? block->run->time : b->released[i]);
    }
    for (uint32_t i = 0; i < block->warp_count; i++)
        if (b->waiting[i])
            seen_acquire(&block->warps[i], &joined);
    clock_tick(block->run);
}

static void complete(struct block *block, uint32_t id)
{
    struct barrier *b = &block->barriers[id];
    join_clocks(block, b);
    for (uint32_t i = 0; i < block->warp_count; i++) {
        struct warp *w = &block->warps[i];
        for (int g = 0; g < w->group_count; g++)
            if (w->groups[g].state == GROUP_BARRIER && w->groups[g].barrier == id)
                w->groups[g].state = GROUP_READY;
        if (b->red && b->waiting[i]) {
            w->red_lanes |= b->waiting[i];
            w->red_and = b->red_and;
            w->red_or = b->red_or;
            w->red_count = b->red_count;
        }
    }
    memset(b, 0, sizeof(*b));
    block->run->counts.barriers++;
}

void barrier_exit(struct block *block)
{
    for (uint32_t id = 0; id < BARRIERS; id++)
        if (block->barriers[id].active && is_complete(block, &block->barriers[id]))
            complete(block, id);
}

/* ---- arriving ---- */

/* The barrier a group names: lanes that name another one are split off to try again. */
static bool pick(struct warp *w, const struct insn *in, uint32_t *id, uint32_t *expected,
                 const struct insn **result)
{
    const uint32_t *ids = operand(w, in->a);
    const uint32_t *counts = operand(w, in->b);
    int lane = __builtin_ctz(w->mask);
    *id = ids[lane];
    *expected = in->extra ? counts[lane] : 0;
    uint32_t others = 0;
    for (uint32_t m = w->mask; m; m &= m - 1)
        if (ids[__builtin_ctz(m)] != *id)
            others |= 1U << __builtin_ctz(m);
    if (others)
        warp_split(w, others, in);
    const struct barrier *b = *id < BARRIERS ? &w->block->barriers[*id] : NULL;
    if (!b) {
        *result = fault_at(w, in, lane, PTX_FAULT_TRAP, NULL, "there is no barrier %u", *id);
    } else if (in->extra && (*expected == 0 || *expected % LANES)) {
        *result = fault_at(w, in, lane, PTX_FAULT_TRAP, NULL,
                           "barrier for %u threads, which is no multiple of 32", *expected);
    } else if (b->active && b->expected != *expected) {
        *result = fault_at(w, in, lane, PTX_FAULT_BARRIER_DIVERGENT, NULL,
                           "barrier %u for %u threads, which others use for %u", *id, *expected,
                           b->expected);
    } else {
        return true;
    }
    return false;
}

static void arrive(struct warp *w, uint32_t id, uint32_t expected, bool waits)
{
    struct barrier *b = &w->block->barriers[id];
    b->active = true;
    b->expected = expected;
    b->arrived[w->index] |= w->mask;
    b->released[w->index] = w->run->time;
    if (waits)
        b->waiting[w->index] |= w->mask;
    clock_tick(w->run);
}

/* An aligned barrier wants all live lanes of the warp. */
static bool is_aligned(struct warp *w, const struct insn *in, const struct insn **result)
{
    if (!in->flags || w->mask == w->live)
        return true;
    *result = warp_block(w, GROUP_ALIGN, in);
    return false;
}

const struct insn *exec_bar_sync(struct warp *w, const struct insn *in)
{
    const struct insn *result;
    uint32_t id, expected;
    if (!is_aligned(w, in, &result) || !pick(w, in, &id, &expected, &result))
        return result;
    arrive(w, id, expected, true);
    if (is_complete(w->block, &w->block->barriers[id])) {
        complete(w->block, id);
        return w->cur.mask == w->mask ? in + 1 : warp_moved(w, in + 1);
    }
    w->cur.barrier = (uint8_t)id;
    return warp_block(w, GROUP_BARRIER, in + 1);
}

const struct insn *exec_bar_arrive(struct warp *w, const struct insn *in)
{
    const struct insn *result;
    uint32_t id, expected;
    if (!is_aligned(w, in, &result) || !pick(w, in, &id, &expected, &result))
        return result;
    arrive(w, id, expected, false);
    if (is_complete(w->block, &w->block->barriers[id]))
        complete(w->block, id);
    return in + 1;
}

static const struct insn *red_result(struct warp *w, const struct insn *in)
{
    uint32_t *to = operand(w, in->d);
    w->red_lanes &= ~w->mask;
    if (in->mode == BAR_RED_POPC)
        for (uint32_t m = w->mask; m; m &= m - 1)
            to[__builtin_ctz(m)] = w->red_count;
    else
        pred_set(w, in->p, (in->mode == BAR_RED_AND ? w->red_and : w->red_or) ? UINT32_MAX : 0);
    return in + 1;
}

const struct insn *exec_bar_red(struct warp *w, const struct insn *in)
{
    const struct insn *result;
    uint32_t id, expected;
    if ((w->red_lanes & w->mask) == w->mask)
        return red_result(w, in);
    if (!is_aligned(w, in, &result) || !pick(w, in, &id, &expected, &result))
        return result;
    struct barrier *b = &w->block->barriers[id];
    uint32_t votes = pred_get(w, in->q) & w->mask;
    if (!b->red) {
        b->red = true;
        b->red_and = 1;
    }
    b->red_and &= votes == w->mask;
    b->red_or |= votes != 0;
    b->red_count += (uint32_t)__builtin_popcount(votes);
    arrive(w, id, expected, true);
    if (is_complete(w->block, b)) {
        complete(w->block, id);
        return red_result(w, in);
    }
    w->cur.barrier = (uint8_t)id;
    return warp_block(w, GROUP_BARRIER, in);
}

/* ---- bar.warp.sync, fences, sleep ---- */

const struct insn *exec_bar_warp(struct warp *w, const struct insn *in)
{
    const uint32_t *masks = operand(w, in->a);
    uint32_t needed = 0;
    for (uint32_t m = w->mask; m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        if (!(masks[lane] >> lane & 1))
            return fault_at(w, in, lane, PTX_FAULT_SHUFFLE_INACTIVE, NULL,
                            "a lane executes bar.warp.sync with mask 0x%08x, which leaves it out",
                            masks[lane]);
        w->member[lane] = masks[lane];
        needed |= masks[lane];
    }
    if ((needed & w->live & ~w->mask) == 0) {
        clock_warp_sync(w);
        return in + 1;
    }
    return warp_block(w, GROUP_WARP_SYNC, in + 1);
}

const struct insn *exec_fence(struct warp *w, const struct insn *in)
{
    if (in->flags)
        publish_fence(w);
    publish_near(w);
    clock_tick(w->run);
    return in + 1;
}

const struct insn *exec_nanosleep(struct warp *w, const struct insn *in)
{
    w->event = EVENT_YIELD;
    w->next = in + 1;
    w->block->polls++;
    return w->limit;
}

/* ---- deadlock ---- */

void barrier_deadlock(struct block *block)
{
    uint32_t waiting = 0, live = 0;
    struct warp *first = NULL;
    const struct group *found = NULL;
    for (uint32_t i = 0; i < block->warp_count; i++) {
        struct warp *w = &block->warps[i];
        live += (uint32_t)__builtin_popcount(w->live);
        for (int g = 0; g < w->group_count; g++) {
            if (w->groups[g].state != GROUP_BARRIER)
                continue;
            waiting += (uint32_t)__builtin_popcount(w->groups[g].mask);
            if (!found) {
                first = w;
                found = &w->groups[g];
            }
        }
    }
    if (!found)
        return;
    bool red = found->pc->inner == exec_bar_red;
    fault_at(first, red ? found->pc : found->pc - 1, __builtin_ctz(found->mask),
             PTX_FAULT_BARRIER_STUCK, NULL,
             "deadlock: %u of the block's %u live threads wait at barriers that the others never "
             "reach",
             waiting, live);
}

/* ---- clusters ---- */

void cluster_check(struct cluster *cluster)
{
    if (cluster->arrived < cluster->live || cluster->arrived == 0)
        return;
    cluster->phase++;
    cluster->arrived = 0;
    for (uint32_t k = 0; k < cluster->count; k++) {
        struct block *block = cluster->blocks[k];
        for (uint32_t i = 0; i < block->warp_count; i++) {
            struct warp *w = &block->warps[i];
            for (int g = 0; g < w->group_count; g++)
                if (w->groups[g].state == GROUP_CLUSTER) {
                    w->groups[g].state = GROUP_READY;
                    clock_acquire_all(w);
                }
        }
    }
}

const struct insn *exec_cluster_arrive(struct warp *w, const struct insn *in)
{
    const struct insn *result;
    if (!is_aligned(w, in, &result))
        return result;
    struct cluster *cluster = w->block->cluster;
    w->cluster_phase = cluster->phase;
    cluster->arrived += w->lanes;
    clock_tick(w->run);
    cluster_check(cluster);
    return in + 1;
}

const struct insn *exec_cluster_wait(struct warp *w, const struct insn *in)
{
    const struct insn *result;
    if (!is_aligned(w, in, &result))
        return result;
    if (w->block->cluster->phase == w->cluster_phase)
        return warp_block(w, GROUP_CLUSTER, in + 1);
    clock_acquire_all(w);
    return in + 1;
}
