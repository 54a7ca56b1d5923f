/* Where buffers lie in the pool, and what must stay unchanged around them. */
#include <string.h>

#include "base/attr.h"

#include "tests/unit/unit.h"
#include "verify/check/on_gpu_int.h"

enum { COUNT = 5, POOL = 1 << 20, ROUNDS = 200 };

static const struct place asked[COUNT] = {
    {.bytes = 1000, .align = 16},  {.bytes = 4096, .align = 4}, {.bytes = 1, .align = 256},
    {.bytes = 70000, .align = 16}, {.bytes = 0, .align = 1024},
};
static const bool writable[COUNT] = {false, true, true, false, true};

static bool overlap(const struct place *a, const struct place *b)
{
    return a->offset < b->offset + b->bytes + PLACE_ZONE_BYTES &&
           b->offset < a->offset + a->bytes + PLACE_ZONE_BYTES;
}

static void apart_and_aligned(void **state)
{
    struct arena arena;
    struct rng rng;

    (void)state;
    arena_init(&arena, 64 << 20);
    rng_init(&rng, 3);
    for (int round = 0; round < ROUNDS; round++) {
        const bool weakest = round % 2 == 0;
        struct place places[COUNT];

        memcpy(places, asked, sizeof(places));
        assert_true(place_all(&arena, &rng, POOL, weakest, places, COUNT));
        for (size_t i = 0; i < COUNT; i++) {
            assert_true(places[i].offset >= PLACE_ZONE_BYTES);
            assert_true(places[i].offset + places[i].bytes + PLACE_ZONE_BYTES <= POOL);
            assert_int_equal(places[i].offset % places[i].align, 0);
            if (weakest && places[i].align < PLACE_GRAIN_BYTES)
                assert_int_equal(places[i].offset / places[i].align % 2, 1);
            if (!weakest)
                assert_int_equal(places[i].offset % PLACE_GRAIN_BYTES, 0);
            for (size_t j = 0; j < i; j++)
                assert_false(overlap(&places[i], &places[j]));
        }
    }
    arena_release(&arena);
}

/* Each buffer comes to lie in many places, and before as well as behind each other one. */
static void addresses_change(void **state)
{
    size_t first = 0, moved = 0, last = 0;
    struct arena arena;
    struct rng rng;

    (void)state;
    arena_init(&arena, 64 << 20);
    rng_init(&rng, 4);
    for (int round = 0; round < ROUNDS; round++) {
        struct place places[COUNT];

        memcpy(places, asked, sizeof(places));
        assert_true(place_all(&arena, &rng, POOL, false, places, COUNT));
        first += places[0].offset < places[1].offset;
        moved += places[0].offset != last;
        last = places[0].offset;
    }
    assert_in_range(first, ROUNDS / 4, 3 * ROUNDS / 4);
    assert_true(moved > ROUNDS * 9 / 10);
    arena_release(&arena);
}

static void too_small(void **state)
{
    struct place places[COUNT];
    struct arena arena;
    struct rng rng;

    (void)state;
    arena_init(&arena, 1 << 20);
    rng_init(&rng, 5);
    memcpy(places, asked, sizeof(places));
    assert_true(place_all(&arena, &rng, place_bytes_min(places, COUNT), true, places, COUNT));
    assert_false(place_all(&arena, &rng, place_bytes_min(places, COUNT) - 1, true, places, COUNT));
    arena_release(&arena);
}

/* Kept ranges and writable buffers cover each byte of the pool once. */
static void keeps_are_a_partition(void **state)
{
    static uint8_t const once = 1;
    struct place places[COUNT];
    struct keep keeps[2 * COUNT + 1];
    struct arena arena;
    struct rng rng;
    uint8_t *seen;
    size_t count;

    (void)state;
    arena_init(&arena, 64 << 20);
    rng_init(&rng, 6);
    memcpy(places, asked, sizeof(places));
    assert_true(place_all(&arena, &rng, POOL, true, places, COUNT));
    count = place_keeps(&arena, POOL, places, writable, COUNT, keeps);
    seen = arena_array(&arena, uint8_t, POOL);
    for (size_t i = 0; i < count; i++) {
        if (keeps[i].place != SIZE_MAX)
            assert_false(writable[keeps[i].place]);
        for (int64_t at = keeps[i].begin; at < keeps[i].end; at++)
            seen[at]++;
    }
    for (size_t i = 0; i < COUNT; i++)
        for (size_t at = 0; writable[i] && at < places[i].bytes; at++)
            seen[places[i].offset + at]++;
    for (size_t at = 0; at < POOL; at++)
        assert_int_equal(seen[at], once);
    arena_release(&arena);
}

static void flush_sizes(void **state)
{
    (void)state;
    assert_int_equal(gpu_flush_bytes(60 << 20), 256 << 20);
    assert_int_equal(gpu_flush_bytes((size_t)200 << 20), (size_t)400 << 20);
    assert_int_equal(gpu_flush_bytes(0), 256 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(apart_and_aligned), cmocka_unit_test(addresses_change),
        cmocka_unit_test(too_small),         cmocka_unit_test(keeps_are_a_partition),
        cmocka_unit_test(flush_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
