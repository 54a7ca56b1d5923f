/* Statistics of samples, and the floor below which no cold launch can be. */
#include <inttypes.h>

#include "base/attr.h"

#include "tests/unit/unit.h"
#include "verify/bench/bench.h"

static void medians_and_quartiles(void **state)
{
    static const struct {
        const char *name;
        int64_t times[8];
        size_t count;
        int64_t median, quartiles[2], least, most;
    } cases[] = {
        {"one", {7}, 1, 7, {7, 7}, 7, 7},
        {"two", {10, 20}, 2, 15, {13, 18}, 10, 20},
        {"five, unsorted", {50, 10, 40, 20, 30}, 5, 30, {20, 40}, 10, 50},
        {"an outlier", {100, 101, 102, 103, 9000}, 5, 102, {101, 103}, 100, 9000},
        {"equal", {5, 5, 5, 5}, 4, 5, {5, 5}, 5, 5},
    };
    struct arena arena;

    (void)state;
    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct bench_summary got;

        bench_summarise(&arena, cases[i].times, cases[i].count, &got);
        if (got.median_ns != cases[i].median || got.quartile_ns[0] != cases[i].quartiles[0] ||
            got.quartile_ns[1] != cases[i].quartiles[1] || got.least_ns != cases[i].least ||
            got.most_ns != cases[i].most)
            fail_msg("%s: median %" PRId64 ", quartiles %" PRId64 " %" PRId64, cases[i].name,
                     got.median_ns, got.quartile_ns[0], got.quartile_ns[1]);
    }
    arena_release(&arena);
}

static void spread_is_relative(void **state)
{
    static const int64_t times[] = {100, 110, 120, 130, 140};
    struct bench_summary got;
    struct arena arena;

    (void)state;
    arena_init(&arena, 1 << 20);
    bench_summarise(&arena, times, COUNT_OF(times), &got);
    assert_true(got.spread == 20.0 / 120.0);
    arena_release(&arena);
}

/* Reads at full rate; of the writes, what the cache can keep is free. */
static void floors(void **state)
{
    static const struct {
        const char *name;
        int64_t read, written;
        size_t l2;
        double rate;
        int64_t floor;
    } cases[] = {
        {"reads only", 4800, 0, 1000, 4.8e9, 1000},
        {"writes that stay in the cache", 4800, 1000, 1000, 4.8e9, 1000},
        {"writes that do not", 4800, 5800, 1000, 4.8e9, 2000},
        {"no rate known", 4800, 5800, 1000, 0, 0},
        {"nothing moves", 0, 0, 1000, 4.8e9, 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct op_count count = {.bytes_read = cases[i].read,
                                       .bytes_written = cases[i].written};
        const int64_t got = bench_floor_ns(&count, cases[i].l2, cases[i].rate);

        if (got != cases[i].floor)
            fail_msg("%s: %" PRId64, cases[i].name, got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(medians_and_quartiles),
        cmocka_unit_test(spread_is_relative),
        cmocka_unit_test(floors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
