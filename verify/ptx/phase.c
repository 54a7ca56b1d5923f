/*
 * What a wait at an mbarrier orders: everything that those who arrived there did before, and what
 * they had seen.
 *
 * Each mbarrier of the block that was initialised has a clock: what its arrivals ordered; a wait
 * joins it.  A lane arrives for itself, and for the others up to where the warp last synchronised.
 *
 * Invariant: honest kernels are never rejected.  The clock is of all phases so far, so an arrival
 * for the next phase counts for this one, and copies that complete at the barrier arrive for their
 * thread.  In clusters, and beyond the list's room, waits order everything (clock_acquire_all).
 */
#include "verify/ptx/async_int.h"
#include "verify/ptx/mem_int.h"

enum { PHASE_BARRIERS_MAX = 64 };

struct phase_clock {
    uint32_t barrier; /* offset in shared memory */
    struct seen seen;
};

struct phase_list {
    struct phase_clock clocks[PHASE_BARRIERS_MAX];
    uint32_t count;
};

void phase_reset(struct block *block)
{
    if (block->phases)
        block->phases->count = 0;
}

static struct phase_clock *find(const struct block *block, uint32_t barrier)
{
    struct phase_list *list = block->phases;
    for (uint32_t i = 0; list && i < list->count; i++)
        if (list->clocks[i].barrier == barrier)
            return &list->clocks[i];
    return NULL;
}

bool phase_is_known(const struct block *block, uint32_t barrier)
{
    return find(block, barrier) != NULL;
}

void phase_init(struct block *block, uint32_t barrier)
{
    if (!block->phases)
        block->phases = arena_new(block->run->arena, struct phase_list);
    struct phase_list *list = block->phases;
    if (block->cluster->count == 1 && !find(block, barrier) && list->count < PHASE_BARRIERS_MAX)
        list->clocks[list->count++] = (struct phase_clock){.barrier = barrier};
}

void phase_arrive(struct warp *w, int lane, uint32_t barrier)
{
    struct phase_clock *clock = find(w->block, barrier);
    if (clock)
        seen_release(&clock->seen, w, 1U << lane);
}

void phase_wait(struct warp *w, uint32_t barrier)
{
    const struct phase_clock *clock = find(w->block, barrier);
    if (!clock) {
        clock_acquire_all(w);
        return;
    }
    seen_acquire(w, &clock->seen);
    clock_tick(w->run);
}
