/*
 * Sets of positions along an axis: progressions while they stay such, else bit sets.
 *
 * Invariant: `count` is the number of members.  Axes over BITS_MAX positions never become bit
 * sets; what would need it becomes unknown, with a count that is too small rather than too large.
 */
#include "base/panic.h"

#include "solver/ir/count_int.h"

#define BITS_MAX        ((int64_t)1 << 28)
#define ARENA_BYTES_MAX ((size_t)1 << 30)

bool axis_fits(const struct arena *arena, int64_t size)
{
    return size <= BITS_MAX && arena->bytes_total < ARENA_BYTES_MAX;
}

struct axis_set axis_progression(int64_t first, int64_t step, int64_t count, int64_t size)
{
    return (struct axis_set){.known = true,
                             .count = count,
                             .first = count ? first : 0,
                             .step = count > 1 ? step : 1,
                             .size = size};
}

struct axis_set axis_unknown(int64_t count, int64_t size)
{
    return (struct axis_set){.count = count, .size = size};
}

struct axis_set axis_bits(struct arena *arena, uint64_t *bits, int64_t size)
{
    struct axis_set set = {.known = true, .bits = bits, .size = size};
    (void)arena;
    for (int64_t i = 0; i < (size + 63) / 64; i++)
        set.count += __builtin_popcountll(bits[i]);
    return set;
}

static uint64_t *to_bits(struct arena *arena, const struct axis_set *set)
{
    if (set->bits)
        return set->bits;
    uint64_t *bits = arena_array(arena, uint64_t, (size_t)((set->size + 63) / 64));
    for (int64_t i = 0; i < set->count; i++) {
        int64_t at = set->first + i * set->step;
        bits[at / 64] |= (uint64_t)1 << (at % 64);
    }
    return bits;
}

static bool is_run(const struct axis_set *set)
{
    return set->known && !set->bits && set->step == 1;
}

static int64_t last_of(const struct axis_set *set)
{
    return set->first + (set->count - 1) * set->step;
}

bool axis_contains(struct arena *arena, const struct axis_set *a, const struct axis_set *b)
{
    if (b->known && b->count == 0)
        return true;
    if (a->known && a->count == a->size)
        return true;
    if (!a->known || !b->known)
        return false;
    if (is_run(a) && !b->bits)
        return b->first >= a->first && last_of(b) <= last_of(a);
    if (!axis_fits(arena, a->size))
        return !a->bits && !b->bits && a->first == b->first && a->step == b->step &&
               a->count >= b->count;
    const uint64_t *have = to_bits(arena, a);
    const uint64_t *want = to_bits(arena, b);
    for (int64_t i = 0; i < (a->size + 63) / 64; i++)
        if (want[i] & ~have[i])
            return false;
    return true;
}

static struct axis_set combine(struct arena *arena, const struct axis_set *a,
                               const struct axis_set *b, bool both)
{
    int64_t words = (a->size + 63) / 64;
    const uint64_t *x = to_bits(arena, a);
    const uint64_t *y = to_bits(arena, b);
    uint64_t *bits = arena_array(arena, uint64_t, (size_t)words);
    for (int64_t i = 0; i < words; i++)
        bits[i] = both ? x[i] & y[i] : x[i] | y[i];
    return axis_bits(arena, bits, a->size);
}

struct axis_set axis_unite(struct arena *arena, const struct axis_set *a, const struct axis_set *b)
{
    if (axis_contains(arena, a, b))
        return *a;
    if (axis_contains(arena, b, a))
        return *b;
    if (is_run(a) && is_run(b) && a->first <= last_of(b) + 1 && b->first <= last_of(a) + 1) {
        int64_t first = a->first < b->first ? a->first : b->first;
        int64_t last = last_of(a) > last_of(b) ? last_of(a) : last_of(b);
        return axis_progression(first, 1, last - first + 1, a->size);
    }
    if (a->known && b->known && axis_fits(arena, a->size))
        return combine(arena, a, b, false);
    return axis_unknown(a->count > b->count ? a->count : b->count, a->size);
}

struct axis_set axis_intersect(struct arena *arena, const struct axis_set *a,
                               const struct axis_set *b)
{
    if (axis_contains(arena, a, b))
        return *b;
    if (axis_contains(arena, b, a))
        return *a;
    if (is_run(a) && is_run(b)) {
        int64_t first = a->first > b->first ? a->first : b->first;
        int64_t last = last_of(a) < last_of(b) ? last_of(a) : last_of(b);
        return axis_progression(first, 1, last < first ? 0 : last - first + 1, a->size);
    }
    if (a->known && b->known && axis_fits(arena, a->size))
        return combine(arena, a, b, true);
    return axis_unknown(0, a->size);
}
