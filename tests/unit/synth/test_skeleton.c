/*
 * Which realisation statements get, decided from loops and accesses; each plan is complete; plans
 * that cannot be realised are refused with the region and the reason.
 */
#include "base/num.h"

#include "synth/synth.h"
#include "tests/unit/synth/specs.h"

/* A letter a region: T tile, W rows by warps, B rows by blocks, S rows that stream, M maps, E else.
 */
static char kind_of(const struct plan_region *region)
{
    if (region_uses(region, PRIMITIVE_REGISTER_TILE))
        return 'T';
    if (region_uses(region, PRIMITIVE_STREAMING_ACCUMULATION))
        return 'S';
    if (region_uses(region, PRIMITIVE_BLOCK_SUMMARY))
        return 'B';
    if (region_uses(region, PRIMITIVE_WARP_SUMMARY))
        return 'W';
    return region_uses(region, PRIMITIVE_VECTOR_ACCESS) ? 'M' : 'E';
}

struct choice {
    const char *path, *regions;
};
static const struct choice choices[] = {
    {"kernels/ops/relu.json", "M"},
    {"kernels/ops/softmax.json", "B"},
    {"kernels/ops/layernorm.json", "B"},
    {"kernels/ops/add_rmsnorm.json", "B"},
    {"kernels/ops/rowsum.json", "B"},
    {"kernels/ops/argmax.json", "B"},
    {"kernels/ops/gemv.json", "S"},
    {"kernels/ops/cross_entropy.json", "BS"},
    {"kernels/ops/matmul.json", "T"},
    {"kernels/ops/conv2d.json", "T"},
    {"kernels/ops/matmul_bias_gelu_bf16.json", "T"},
    {"kernels/ops/causal_attention.json", "TBT"},
    {"kernels/ops/depthwise_conv.json", "E"},
    {"kernels/ops/cumsum.json", "E"},
    {"kernels/ops/scatter_add.json", "E"},
    {"kernels/ops/lstm.json", "TEM"},
    {"tests/cases/features/rows_short.json", "W"},
    {"tests/cases/features/rows_long.json", "S"},
};

static void test_choices(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(choices); i++) {
        struct arena arena;
        struct err err;
        char got[64] = "";
        arena_init(&arena, (size_t)1 << 28);
        const struct op *op = spec_load(&arena, choices[i].path);
        const struct plan *plan = spec_plan(&arena, op);
        assert_ok(plan_check(plan, op, &err));
        assert_true(plan->region_count < sizeof(got));
        for (size_t k = 0; k < plan->region_count; k++)
            got[k] = kind_of(&plan->regions[k]);
        if (strcmp(got, choices[i].regions) != 0)
            fail_msg("%s: got %s, want %s", choices[i].path, got, choices[i].regions);
        arena_release(&arena);
    }
}

/* Every index of a region has its tile, and a resident row its guard. */
static void test_plan_is_complete(void **state)
{
    struct arena arena;
    struct buf guard;
    (void)state;
    arena_init(&arena, (size_t)1 << 28);
    const struct op *op = spec_load(&arena, "kernels/ops/softmax.json");
    const struct plan *plan = spec_plan(&arena, op);
    const struct plan_region *region = &plan->regions[0];
    const struct plan_tile *n = region_tile(region, STR_LIT("n"));
    buf_init(&guard, &arena, 256);
    formula_print(&guard, plan->guard);
    assert_string_equal(guard.at, "N <= 4096");
    assert_int_equal(region->threads[0], 512);
    assert_int_equal(region->vector, 4);
    assert_non_null(n);
    assert_int_equal(n->block, 4096);
    assert_int_equal(n->thread, 8);
    assert_non_null(region_tile(region, STR_LIT("m")));
    arena_release(&arena);
}

static void test_edges_name_what_regions_hand_on(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena, (size_t)1 << 28);
    const struct op *op = spec_load(&arena, "kernels/ops/causal_attention.json");
    const struct plan *plan = spec_plan(&arena, op);
    assert_int_equal(plan->region_count, 3);
    bool scores = false;
    for (size_t i = 0; i < plan->edge_count; i++)
        scores |= str_equal(plan->edges[i].tensor, STR_LIT("ms")) && plan->edges[i].from == 0 &&
                  plan->edges[i].to == 1;
    assert_true(scores);
    arena_release(&arena);
}

/* ---- refusals ---- */

static void wrong_threads(struct plan_region *region)
{
    region->threads[0] = 100;
}

static void odd_vector(struct plan_region *region)
{
    region->vector = 3;
}

static void tensor_cores(struct plan_region *region)
{
    region->mma[0] = 64;
}

static void splits(struct plan_region *region)
{
    region->split = 2;
}

static void no_tiles(struct plan_region *region)
{
    region->tile_count = 0;
}

static void as_tile(struct plan_region *region)
{
    static const enum primitive tile[] = {PRIMITIVE_TILE_STAGING, PRIMITIVE_REGISTER_TILE};
    region->primitives = tile;
    region->primitive_count = COUNT_OF(tile);
    region->vector = 1;
}

struct refusal {
    const char *path;
    void (*spoil)(struct plan_region *region);
    const char *why;
};
static const struct refusal refusals[] = {
    {"kernels/ops/softmax.json", wrong_threads, "a row needs 32, 64, ... or 1024 threads"},
    {"kernels/ops/softmax.json", odd_vector, "in vectors of 3"},
    {"kernels/ops/softmax.json", tensor_cores, "tensor-core regions"},
    {"kernels/ops/softmax.json", splits, "split"},
    {"kernels/ops/softmax.json", as_tile, "no contraction: it is no float sum of products"},
    {"kernels/ops/matmul.json", wrong_threads, "the tile needs 256 threads, the plan says 100"},
    {"kernels/ops/matmul.json", no_tiles, "tiles no loop of the first factor's side"},
};

static void test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        struct arena arena;
        struct err err = {.code = ERR_NONE};
        struct emitted emitted;
        arena_init(&arena, (size_t)1 << 28);
        const struct op *op = spec_load(&arena, refusals[i].path);
        struct plan plan = *spec_plan(&arena, op);
        struct plan_region region = plan.regions[0];
        refusals[i].spoil(&region);
        plan.regions = &region;
        assert_false(realise(&arena, op, &plan, spec_limits.arch, &emitted, &err));
        assert_int_equal(err.code, ERR_UNSUPPORTED);
        assert_has(&arena, str_from(err.text), refusals[i].why);
        assert_has(&arena, str_from(err.text), "region 0");
        arena_release(&arena);
    }
}

/* A region that reads what a later one writes. */
static void test_order_is_checked(void **state)
{
    struct arena arena;
    struct err err;
    struct emitted emitted;
    (void)state;
    arena_init(&arena, (size_t)1 << 28);
    const struct op *op = spec_load(&arena, "kernels/ops/causal_attention.json");
    struct plan plan = *spec_plan(&arena, op);
    struct plan_region turned[3] = {plan.regions[1], plan.regions[0], plan.regions[2]};
    plan.regions = turned;
    assert_false(realise(&arena, op, &plan, spec_limits.arch, &emitted, &err));
    assert_has(&arena, str_from(err.text), "reads ms before it is written");
    arena_release(&arena);
}

/* A plan from elsewhere with a weaker guard: the manifest still asks for what the kernels need. */
static void test_manifest_keeps_the_guard(void **state)
{
    struct arena arena;
    struct err err;
    struct emitted emitted;
    struct buf guard;
    (void)state;
    arena_init(&arena, (size_t)1 << 28);
    const struct op *op = spec_load(&arena, "kernels/ops/softmax.json");
    struct plan plan = *spec_plan(&arena, op);
    plan.guard = formula_int(&arena, 1);
    assert_ok(realise(&arena, op, &plan, spec_limits.arch, &emitted, &err));
    buf_init(&guard, &arena, 256);
    formula_print(&guard, emitted.manifest->guard);
    assert_string_equal(guard.at, "N <= 4096");
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_plan_is_complete),
        cmocka_unit_test(test_edges_name_what_regions_hand_on),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_order_is_checked),
        cmocka_unit_test(test_manifest_keeps_the_guard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
