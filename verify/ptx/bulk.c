/*
 * Bulk copies that nobody has waited for yet.
 *
 * The bytes of a bulk copy are moved at once (async.c); what is kept here is what a kernel may not
 * rely on before it has waited.  A copy into shared memory is in flight until some thread finds the
 * phase of its mbarrier complete; a copy out of it still reads until its thread has waited for the
 * copy's group.  And it reads through the asynchronous proxy, so what threads wrote into its source
 * must have a fence.proxy.async behind it.
 *
 * A block must not end before its copies: its shared memory is then given to another one.
 *
 * Invariant: honest kernels are never rejected.  Any complete phase of the mbarrier lands all its
 * copies, any proxy fence of the block covers what was written before, and copies beyond the
 * list's room, or under way to other blocks, are not watched.
 */
#include <string.h>

#include "verify/ptx/async_int.h"
#include "verify/ptx/exec_int.h"
#include "verify/ptx/fault_int.h"
#include "verify/ptx/mem_int.h"

enum { BULK_COPIES_MAX = 4096 };

struct bulk_copy {
    uint32_t first, cells; /* in the shadow of the block's shared memory */
    uint32_t time, who;    /* of the issue */
    uint32_t barrier;      /* offset of its mbarrier; NO_BARRIER = a copy out of shared memory */
    uint32_t group;        /* of those of its thread */
};
#define NO_BARRIER UINT32_MAX

struct bulk_list {
    struct bulk_copy copies[BULK_COPIES_MAX];
    uint32_t committed[WARPS_MAX * LANES]; /* groups, by thread */
    uint32_t count;
};

void bulk_reset(struct block *block)
{
    block->proxy_fenced = 0;
    if (!block->bulk)
        return;
    block->bulk->count = 0;
    memset(block->bulk->committed, 0, sizeof(block->bulk->committed));
}

static struct bulk_list *list_of(struct block *block)
{
    if (!block->bulk)
        block->bulk = arena_new(block->run->arena, struct bulk_list);
    return block->bulk;
}

static bool add(struct warp *w, const struct bulk_copy *copy)
{
    struct bulk_list *list = list_of(w->block);
    if (list->count == BULK_COPIES_MAX)
        return false;
    list->copies[list->count++] = *copy;
    return true;
}

static struct bulk_copy issued(struct warp *w, const struct insn *in, int lane, uint32_t offset,
                               uint32_t bytes)
{
    const uint32_t grain = w->run->shared_grain;
    return (struct bulk_copy){.first = offset >> grain,
                              .cells = bytes >> grain,
                              .time = w->run->time,
                              .who = shadow_who(w, in, lane) | SHADOW_BULK};
}

/* ---- into shared memory ---- */

void bulk_fills(struct warp *w, const struct insn *in, int lane, uint32_t offset, uint32_t bytes,
                uint32_t barrier)
{
    struct shadow *s = &w->block->shadow;
    struct bulk_copy copy = issued(w, in, lane, offset, bytes);
    copy.barrier = barrier;
    if (!s->write_time || !add(w, &copy))
        return;
    for (uint32_t cell = copy.first; cell < copy.first + copy.cells; cell++) {
        s->write_time[cell] = SHADOW_IN_FLIGHT;
        s->write_who[cell] = copy.who;
    }
}

static void land(struct shadow *s, const struct bulk_copy *copy)
{
    for (uint32_t cell = copy->first; cell < copy->first + copy->cells; cell++)
        s->write_time[cell] = copy->time;
}

void bulk_phase_over(struct block *block, uint32_t barrier)
{
    struct bulk_list *list = block->bulk;
    uint32_t kept = 0;
    for (uint32_t i = 0; list && i < list->count; i++) {
        if (list->copies[i].barrier == barrier)
            land(&block->shadow, &list->copies[i]);
        else
            list->copies[kept++] = list->copies[i];
    }
    if (list)
        list->count = kept;
}

/* ---- out of shared memory ---- */

bool bulk_drains(struct warp *w, const struct insn *in, int lane, uint32_t offset, uint32_t bytes)
{
    struct shadow *s = &w->block->shadow;
    struct bulk_copy copy = issued(w, in, lane, offset, bytes);
    copy.barrier = NO_BARRIER;
    copy.group = list_of(w->block)->committed[w->index * LANES + (uint32_t)lane];
    if (!s->write_time)
        return true;
    for (uint32_t cell = copy.first; cell < copy.first + copy.cells; cell++) {
        if (s->write_who[cell] & SHADOW_BULK || s->write_time[cell] <= w->block->proxy_fenced)
            continue;
        struct fault_place place = {.space = "shared",
                                    .offset = (uint64_t)cell << w->run->shared_grain,
                                    .bytes = w->run->shared_bytes};
        fault_race(w, in, lane, PTX_FAULT_RACE, &place, s->write_who[cell], 0,
                   "race: a bulk copy reads what a thread wrote without a fence.proxy.async "
                   "between");
        return false;
    }
    if (!add(w, &copy))
        return true;
    for (uint32_t cell = copy.first; cell < copy.first + copy.cells; cell++) {
        s->read_time[cell] = SHADOW_IN_FLIGHT;
        s->read_who[cell] = copy.who | SHADOW_MANY;
        s->readers[cell] = 1U << w->index;
    }
    return true;
}

/* From now on they are reads of the thread that waited; what others read since is forgotten. */
static void drained(struct warp *w, const struct bulk_copy *copy)
{
    struct shadow *s = &w->block->shadow;
    for (uint32_t cell = copy->first; cell < copy->first + copy->cells; cell++) {
        if (s->read_time[cell] != SHADOW_IN_FLIGHT)
            continue;
        s->read_time[cell] = w->run->time;
        s->read_who[cell] = copy->who & ~SHADOW_MANY;
        s->readers[cell] = 1U << w->index;
    }
}

const struct insn *exec_cp_bulk_commit(struct warp *w, const struct insn *in)
{
    struct bulk_list *list = list_of(w->block);
    for (uint32_t m = w->mask; m; m &= m - 1)
        list->committed[w->index * LANES + (uint32_t)__builtin_ctz(m)]++;
    return in + 1;
}

static bool is_waited_for(const struct warp *w, const struct bulk_copy *copy, uint32_t left)
{
    const uint32_t thread = SHADOW_THREAD(copy->who);
    const uint32_t committed = w->block->bulk->committed[thread];
    return copy->barrier == NO_BARRIER && thread / LANES == w->index &&
           (w->mask >> thread % LANES & 1) && committed > left && copy->group < committed - left;
}

const struct insn *exec_cp_bulk_wait(struct warp *w, const struct insn *in)
{
    struct bulk_list *list = w->block->bulk;
    uint32_t kept = 0;
    for (uint32_t i = 0; list && i < list->count; i++) {
        if (is_waited_for(w, &list->copies[i], (uint32_t)in->imm))
            drained(w, &list->copies[i]);
        else
            list->copies[kept++] = list->copies[i];
    }
    if (list)
        list->count = kept;
    return in + 1;
}

/* ---- the end ---- */

bool bulk_leaks(struct block *block)
{
    const struct bulk_list *list = block->bulk;
    for (uint32_t i = 0; list && i < list->count; i++) {
        const struct bulk_copy *copy = &list->copies[i];
        const uint32_t thread = SHADOW_THREAD(copy->who);
        const struct fault_place place = {.space = "shared",
                                          .offset = (uint64_t)copy->first
                                                    << block->run->shared_grain,
                                          .bytes = block->run->shared_bytes};
        if (copy->cells == 0)
            continue;
        fault_at(&block->warps[thread / LANES], block->run->module->code + SHADOW_INSN(copy->who),
                 (int)(thread % LANES), PTX_FAULT_LEAKED_WAIT, &place,
                 copy->barrier == NO_BARRIER
                     ? "a bulk copy may still read when its block has ended: its thread does not "
                       "wait for it (cp.async.bulk.wait_group.read)"
                     : "a bulk copy may still write when its block has ended: no thread waits for "
                       "its mbarrier");
        return true;
    }
    return false;
}

/* ---- the proxy ---- */

const struct insn *exec_fence_proxy(struct warp *w, const struct insn *in)
{
    w->block->proxy_fenced = w->run->time;
    return exec_fence(w, in);
}
