/*
 * What is ordered before something, by warp and, where lanes part, by lane.
 *
 * Between two points at which a warp synchronises its lanes, a lane that releases (arrives at an
 * mbarrier, fences) speaks for itself alone.  A clock for each lane would be exact; kept is one
 * time a warp for all lanes and one more for some.
 *
 * Invariant: at least what is ordered is in it.  Lanes that release at different times are taken
 * together, at the latest of them, until the warp synchronises.
 */
#include "verify/ptx/run_int.h"
#include "verify/ptx/seen_int.h"

static uint32_t later(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

void seen_add(struct seen *s, uint32_t warp, uint32_t time)
{
    s->all[warp] = later(s->all[warp], time);
}

static void add_some(struct seen *s, uint32_t warp, uint32_t time, uint32_t lanes)
{
    if (time <= s->all[warp])
        return;
    const bool over = s->some[warp] <= s->all[warp];
    s->lanes[warp] = lanes | (over ? 0 : s->lanes[warp]);
    s->some[warp] = over ? time : later(s->some[warp], time);
    s->parted = true;
}

void seen_join(struct seen *to, const struct seen *from, uint32_t warps)
{
    for (uint32_t i = 0; i < warps; i++)
        to->all[i] = later(to->all[i], from->all[i]);
    for (uint32_t i = 0; i < warps && from->parted; i++)
        add_some(to, i, from->some[i], from->lanes[i]);
}

void seen_release(struct seen *to, const struct warp *w, uint32_t lanes)
{
    seen_join(to, &w->seen, w->block->warp_count);
    if (lanes == w->exists)
        seen_add(to, w->index, w->run->time);
    else
        add_some(to, w->index, w->run->time, lanes);
    if (to->lanes[w->index] == w->exists) /* one by one, all have */
        seen_add(to, w->index, to->some[w->index]);
}

void seen_acquire(struct warp *w, const struct seen *from)
{
    seen_join(&w->seen, from, w->block->warp_count);
    w->seen_min = UINT32_MAX;
    for (uint32_t i = 0; i < w->block->warp_count; i++)
        w->seen_min = w->seen.all[i] < w->seen_min ? w->seen.all[i] : w->seen_min;
}

uint32_t seen_lanes(const struct seen *s, uint32_t warp, uint32_t time)
{
    if (time <= s->all[warp])
        return UINT32_MAX;
    return time <= s->some[warp] ? s->lanes[warp] : 0;
}

uint32_t seen_latest(const struct seen *s, uint32_t warp)
{
    return later(s->all[warp], s->some[warp]);
}
