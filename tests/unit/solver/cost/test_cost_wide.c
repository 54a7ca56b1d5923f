/* Prices of what plans for a model have besides the realiser's. */
#include <math.h>

#include "solver/cost/cost.h"
#include "tests/unit/solver/ir/wide.h"

enum { ARENA_BYTES = 1 << 30 };

static struct region_cost price(struct arena *arena, const struct wide *w, bool bf16)
{
    struct region_cost cost;
    const struct bound_op *bound;
    const struct plan *plan = wide_plan(arena, w, bf16, &bound);
    cost_region(arena, plan, 0, bound, plans_machine(arena, "h200-sxm"), &cost);
    return cost;
}

/* More under way never costs more; tensor cores beat CUDA cores; a group beats warps. */
static void test_prices(void **state UNUSED)
{
    struct arena arena;
    struct wide w = WIDE_PLAIN;
    double last = INFINITY;
    arena_init(&arena, ARENA_BYTES);
    for (w.depth = 1; w.depth <= 4; w.depth++) {
        const struct region_cost cost = price(&arena, &w, true);
        assert_true(cost.latency_s <= last);
        last = cost.latency_s;
    }
    w.depth = 3;
    const double warps = price(&arena, &w, true).compute_s;
    const struct wide group = {128, 256,           64,     2,       64,        256, 8, 3,
                               1,   {64, 256, 16}, "bf16", "async", "swizzled"};
    assert_true(price(&arena, &group, true).compute_s < warps);
    const struct wide cores = {128, 128, 32,        8,      8,        256,        8,
                               1,   1,   {0, 0, 0}, "bf16", "shared", "row-major"};
    assert_true(price(&arena, &cores, true).compute_s > 3 * warps);
    /* as the realiser writes it, said with other words: the same price but for accesses */
    struct wide own = {128, 128, 32, 8, 8, 256, 1, 1, 1, {0, 0, 0}, "f32", "", "row-major"};
    const double silent = price(&arena, &own, false).seconds;
    own.staging = "shared";
    assert_true(fabs(price(&arena, &own, false).seconds - silent) < 1e-12);
    own.vector = 4;
    assert_true(price(&arena, &own, false).seconds < silent);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_prices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
