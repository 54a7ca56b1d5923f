/*
 * A warp's lanes: groups that share a program counter, and which of them runs.
 *
 * The group that is deepest in calls and, there, lowest in the text runs until it meets the next
 * lowest one; groups at the same place in the same frame become one.  This reconverges structured
 * code at the first instruction both sides reach, without knowing its structure.  So that a lane
 * may wait for what another lane of its warp does, the group that ran longest ago gets a turn when
 * one has run for long.  Instructions that name lanes (shfl, vote, bar.warp.sync, aligned barriers)
 * wait until all lanes that still live and are named have come.
 *
 * Invariant: groups are disjoint; together with the running one they are exactly the live lanes.
 */
#include "verify/ptx/fault_int.h"
#include "verify/ptx/mem_int.h"
#include "verify/ptx/warp_int.h"

enum { FAIR_AFTER = 30000, FAIR_SLICE = 2000 };

static const struct insn *code_end(const struct warp *w)
{
    return w->run->module->code + w->run->module->code_count;
}

void warp_set_mask(struct warp *w, uint32_t mask)
{
    w->mask = mask;
    w->cur.mask = mask;
    w->lanes = (uint32_t)__builtin_popcount(mask);
}

static bool may_merge(const struct group *a, const struct group *b)
{
    bool same =
        a->pc == b->pc && a->window == b->window && a->frame == b->frame && a->depth == b->depth;
    bool before = a->state <= GROUP_ALIGN && b->state <= GROUP_ALIGN &&
                  a->state != GROUP_WARP_SYNC && b->state != GROUP_WARP_SYNC;
    return same && (before || (a->state == b->state && a->barrier == b->barrier));
}

/* Adds a group to those that wait, merging it with one at the same place. */
static void park(struct warp *w, struct group group)
{
    if (group.mask == 0)
        return;
    for (int i = 0; i < w->group_count; i++) {
        struct group *g = &w->groups[i];
        if (!may_merge(g, &group))
            continue;
        g->mask |= group.mask;
        if (g->state == GROUP_CONVERGE || g->state == GROUP_ALIGN || g->state != group.state)
            g->state = GROUP_READY;
        return;
    }
    w->groups[w->group_count++] = group;
}

void warp_split(struct warp *w, uint32_t mask, const struct insn *pc)
{
    struct group group = w->cur;
    group.mask = mask;
    group.pc = pc;
    group.state = GROUP_READY;
    warp_set_mask(w, w->mask & ~mask);
    park(w, group);
}

const struct insn *warp_moved(struct warp *w, const struct insn *next)
{
    w->event = EVENT_MOVED;
    w->next = next;
    return w->limit;
}

const struct insn *warp_block(struct warp *w, enum group_state state, const struct insn *next)
{
    w->event = EVENT_BLOCKED;
    w->next = next;
    w->cur.state = (uint8_t)state;
    return w->limit;
}

/*
 * Who asks again and sees the same is in no hurry: another group of the warp may be the one to wait
 * for, and when all of them ask in vain, another warp or block.
 */
bool warp_polled(struct warp *w, const struct insn *in, uint64_t saw)
{
    struct poll *poll = &w->polls[(size_t)(in - w->run->module->code) % POLLS];
    const bool same = poll->in == in && poll->saw == saw;
    w->streak += FAIR_AFTER / 4;
    *poll = (struct poll){in, saw};
    if (!same)
        return true;
    w->waits_at = in;
    w->waits_lane = (uint32_t)__builtin_ctz(w->mask);
    w->next = in + 1;
    w->event = EVENT_YIELD;
    if (w->idle_groups++ < w->group_count) {
        w->event = EVENT_MOVED;
        w->streak = FAIR_AFTER + 1;
    }
    return false;
}

/* ---- waiting for lanes ---- */

/* Groups at an instruction that lacks lanes look again: some lanes exited or joined. */
static void wake_waiting(struct warp *w)
{
    for (int i = 0; i < w->group_count; i++)
        if (w->groups[i].state == GROUP_CONVERGE || w->groups[i].state == GROUP_ALIGN)
            w->groups[i].state = GROUP_READY;
}

/* Lets lanes go whose bar.warp.sync has all its live members waiting. */
static void release_warp_syncs(struct warp *w)
{
    uint32_t waiting = 0;
    for (int i = 0; i < w->group_count; i++)
        if (w->groups[i].state == GROUP_WARP_SYNC)
            waiting |= w->groups[i].mask;
    int count = w->group_count;
    for (int i = 0; i < count && waiting; i++) {
        struct group *g = &w->groups[i];
        uint32_t go = 0;
        for (uint32_t left = g->state == GROUP_WARP_SYNC ? g->mask : 0; left; left &= left - 1) {
            uint32_t lane = (uint32_t)__builtin_ctz(left);
            if ((w->member[lane] & w->live & ~waiting) == 0)
                go |= 1U << lane;
        }
        if (go == 0)
            continue;
        struct group freed = *g;
        freed.mask = go;
        freed.state = GROUP_READY;
        g->mask &= ~go;
        if (g->mask == 0)
            *g = freed;
        else
            w->groups[w->group_count++] = freed;
        clock_warp_sync(w);
    }
}

static void remove_empty(struct warp *w)
{
    int kept = 0;
    for (int i = 0; i < w->group_count; i++)
        if (w->groups[i].mask)
            w->groups[kept++] = w->groups[i];
    w->group_count = kept;
}

const struct insn *warp_exit(struct warp *w, uint32_t mask)
{
    w->live &= ~mask;
    warp_set_mask(w, w->mask & ~mask);
    w->event = EVENT_EXITED;
    wake_waiting(w);
    if (w->live == 0 && --w->block->live_warps == 0 && async_leaks(w->block))
        return w->limit;
    barrier_exit(w->block);
    return w->limit;
}

bool warp_converged(struct warp *w, const struct insn *in, uint32_t members,
                    const struct insn **result)
{
    const uint32_t *at = operand(w, members);
    bool whole = (members & 1) && at[0] == UINT32_MAX; /* the usual constant */
    uint32_t needed = whole ? UINT32_MAX : 0;
    for (uint32_t left = whole ? 0 : w->mask; left; left &= left - 1) {
        int lane = __builtin_ctz(left);
        needed |= at[lane];
        if (!(at[lane] >> lane & 1)) {
            *result = fault_at(w, in, lane, PTX_FAULT_SHUFFLE_INACTIVE, NULL,
                               "a lane executes a warp primitive whose mask 0x%08x leaves it out",
                               at[lane]);
            return false;
        }
    }
    if ((needed & w->live & ~w->mask) == 0) {
        clock_warp_sync(w);
        return true;
    }
    *result = warp_block(w, GROUP_CONVERGE, in);
    return false;
}

/* ---- choosing ---- */

bool warp_has_ready(const struct warp *w)
{
    for (int i = 0; i < w->group_count; i++)
        if (w->groups[i].state == GROUP_READY)
            return true;
    return false;
}

static bool runs_before(const struct group *a, const struct group *b)
{
    return a->depth != b->depth ? a->depth > b->depth : a->pc < b->pc;
}

static int lowest_ready(const struct warp *w, int *ready)
{
    int best = -1;
    *ready = 0;
    for (int i = 0; i < w->group_count; i++) {
        if (w->groups[i].state != GROUP_READY)
            continue;
        ++*ready;
        if (best < 0 || runs_before(&w->groups[i], &w->groups[best]))
            best = i;
    }
    return best;
}

static int oldest_ready(const struct warp *w)
{
    int best = -1;
    for (int i = 0; i < w->group_count; i++)
        if (w->groups[i].state == GROUP_READY &&
            (best < 0 || w->groups[i].last_run < w->groups[best].last_run))
            best = i;
    return best;
}

/* Where the running group must stop because another one waits there. */
static const struct insn *find_limit(const struct warp *w)
{
    const struct insn *limit = code_end(w);
    for (int i = 0; i < w->group_count; i++) {
        const struct group *g = &w->groups[i];
        bool joins =
            g->state == GROUP_READY || g->state == GROUP_CONVERGE || g->state == GROUP_ALIGN;
        if (joins && g->depth == w->cur.depth && g->pc > w->cur.pc && g->pc < limit)
            limit = g->pc;
    }
    return limit;
}

static void resume(struct warp *w, int index)
{
    w->cur = w->groups[index];
    w->groups[index] = w->groups[--w->group_count];
    w->cur.state = GROUP_READY;
    w->base[0] = w->registers + w->cur.window;
    w->pred = w->predicates + w->cur.pred_window;
    warp_set_mask(w, w->cur.mask);
}

/* False when no group can run. */
static bool choose(struct warp *w, uint64_t *quota)
{
    int ready;
    remove_empty(w);
    int best = lowest_ready(w, &ready);
    if (best < 0)
        return false;
    bool fair = ready > 1 && w->streak > FAIR_AFTER;
    if (ready == 1 || fair)
        w->streak = 0;
    if (fair) {
        best = oldest_ready(w);
        *quota = *quota < FAIR_SLICE ? *quota : FAIR_SLICE;
    }
    resume(w, best);
    w->limit = fair ? code_end(w) : find_limit(w);
    return true;
}

/* ---- running ---- */

static void execute(struct warp *w, uint64_t quota)
{
    const struct insn *in = w->cur.pc;
    const struct insn *const limit = w->limit;
    uint64_t left = quota;
    w->event = EVENT_NONE;
    uint64_t lanes = w->lanes;
    do
        in = in->fn(w, in);
    while (in != limit && --left);
    uint64_t done = quota - left + (left > 0);
    w->run->executed += done;
    w->run->counts.lane_insns += done * lanes;
    w->run->counts.flops += w->flops;
    w->flops = 0;
    w->streak += done;
    w->cur.pc = w->event == EVENT_NONE ? in : w->next;
    w->cur.last_run = w->run->executed;
}

enum warp_end warp_run(struct warp *w, uint64_t quota)
{
    uint64_t end = w->run->executed + quota;
    w->idle_groups = 0;
    while (w->run->executed < end) {
        uint64_t slice = end - w->run->executed;
        if (!choose(w, &slice))
            return w->live ? WARP_WAITS : WARP_DONE;
        execute(w, slice);
        if (w->run->faulted)
            return WARP_FAULT;
        park(w, w->cur);
        warp_set_mask(w, 0);
        if (w->event == EVENT_BLOCKED || w->event == EVENT_EXITED)
            release_warp_syncs(w);
        if (w->event == EVENT_YIELD)
            return WARP_YIELDED;
    }
    return WARP_SLICE;
}

bool warp_stuck(struct warp *w)
{
    const struct group *found = NULL;
    for (int i = 0; i < w->group_count; i++) {
        const struct group *g = &w->groups[i];
        if (g->state == GROUP_READY || g->state == GROUP_BARRIER || g->state == GROUP_CLUSTER)
            return false;
        if (g->mask)
            found = g;
    }
    if (!found)
        return false;
    int lane = __builtin_ctz(found->mask);
    const struct insn *in = found->state == GROUP_WARP_SYNC ? found->pc - 1 : found->pc;
    if (found->state == GROUP_ALIGN)
        fault_at(
            w, in, lane, PTX_FAULT_BARRIER_DIVERGENT, NULL,
            "divergent barrier: lanes 0x%08x of the warp are here, lanes 0x%08x wait elsewhere",
            found->mask, w->live & ~found->mask);
    else
        fault_at(w, in, lane, PTX_FAULT_SHUFFLE_INACTIVE, NULL,
                 "a warp primitive names lanes that never come: only lanes 0x%08x are here",
                 found->mask);
    return true;
}

void warp_init(struct warp *w, struct block *block, uint32_t index, const struct insn *start)
{
    w->block = block;
    w->run = block->run;
    w->index = index;
    uint32_t first = index * LANES;
    uint32_t count = block->threads - first < LANES ? block->threads - first : LANES;
    w->exists = count == LANES ? UINT32_MAX : (1U << count) - 1;
    w->live = w->exists;
    w->group_count = 1;
    w->groups[0] = (struct group){.pc = start, .mask = w->live};
    w->base[0] = w->registers;
    w->base[1] = (unsigned char *)w->run->module->constants;
    w->pred = w->predicates;
    w->carry = 0;
    w->streak = 0;
    w->waits_at = NULL;
    for (int i = 0; i < POLLS; i++)
        w->polls[i].in = NULL;
    w->cluster_phase = 0;
    w->red_lanes = 0;
    w->seen = (struct seen){.parted = false};
    w->fences_seen = w->flags_seen = 0;
    w->seen_min = 0;
    warp_set_mask(w, 0);
}
