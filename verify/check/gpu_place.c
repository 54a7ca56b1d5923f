/*
 * Where buffers lie in the pool of device memory.
 *
 * Problem: an allocator puts buffers where they were last time, aligned to more than was promised,
 * with memory beside them that nobody looks at.  So all of a launch lies in one block that is ours:
 * in a random order with random gaps, and everything that is not a writable buffer must be
 * unchanged afterwards.
 *
 * Method: the slack (what the pool has beyond the buffers) is shared out as gaps.  Each buffer
 * starts on a grain; at the weakest alignment an odd multiple of what is promised behind one.
 *
 * Invariant: kept ranges and writable buffers are a partition of the pool.
 */
#include <string.h>

#include "base/panic.h"

#include "verify/check/on_gpu_int.h"

static size_t round_up(size_t x, size_t grain)
{
    return (x + grain - 1) / grain * grain;
}

static size_t grain_of(const struct place *place)
{
    return place->align > PLACE_GRAIN_BYTES ? place->align : PLACE_GRAIN_BYTES;
}

/* With its zone, rounding of its start, and an odd start. */
static size_t room_of(const struct place *place)
{
    return place->bytes + PLACE_ZONE_BYTES + 2 * grain_of(place);
}

size_t place_bytes_min(const struct place *places, size_t count)
{
    size_t bytes = PLACE_ZONE_BYTES;

    for (size_t i = 0; i < count; i++)
        bytes += room_of(&places[i]);
    return round_up(bytes, PLACE_GRAIN_BYTES);
}

static size_t random_below(struct rng *rng, size_t bound)
{
    const uint64_t high = rng_u32(rng), low = rng_u32(rng);

    return bound == 0 ? 0 : (size_t)((high << 32 | low) % bound);
}

static size_t *shuffled(struct arena *arena, struct rng *rng, size_t count)
{
    size_t *order = arena_array(arena, size_t, count + 1);

    for (size_t i = 0; i < count; i++) {
        const size_t j = random_below(rng, i + 1);

        order[i] = order[j];
        order[j] = i;
    }
    return order;
}

static size_t odd_start(struct rng *rng, const struct place *place)
{
    const size_t steps = PLACE_GRAIN_BYTES / place->align;

    return steps < 2 ? 0 : (random_below(rng, steps) | 1) * place->align;
}

bool place_all(struct arena *arena, struct rng *rng, size_t pool_bytes, bool weakest,
               struct place *places, size_t count)
{
    const size_t least = place_bytes_min(places, count);
    const size_t *order;
    size_t slack, at = 0;

    if (least > pool_bytes)
        return false;
    slack = pool_bytes - least;
    order = shuffled(arena, rng, count);
    for (size_t i = 0; i < count; i++) {
        struct place *place = &places[order[i]];
        size_t gap = random_below(rng, 2 * (slack / (count - i)) + 1);

        gap = gap < slack ? gap : slack;
        slack -= gap;
        at = round_up(at + PLACE_ZONE_BYTES + gap, grain_of(place));
        place->offset = at + (weakest ? odd_start(rng, place) : 0);
        at = place->offset + place->bytes;
    }
    ASSERT(at + PLACE_ZONE_BYTES <= pool_bytes);
    return true;
}

size_t place_keeps(struct arena *arena, size_t pool_bytes, const struct place *places,
                   const bool *writable, size_t count, struct keep *out)
{
    bool *done = arena_array(arena, bool, count + 1);
    int64_t at = 0;
    size_t kept = 0;

    for (size_t n = 0; n < count; n++) {
        size_t next = SIZE_MAX;

        for (size_t i = 0; i < count; i++)
            if (!done[i] && (next == SIZE_MAX || places[i].offset < places[next].offset))
                next = i;
        done[next] = true;
        out[kept++] = (struct keep){at, (int64_t)places[next].offset, SIZE_MAX};
        at = (int64_t)(places[next].offset + places[next].bytes);
        if (!writable[next])
            out[kept++] = (struct keep){(int64_t)places[next].offset, at, next};
    }
    out[kept++] = (struct keep){at, (int64_t)pool_bytes, SIZE_MAX};
    return kept;
}
