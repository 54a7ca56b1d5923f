/* Chains as regions: their skeleton, footprint, limits on several machines, and choices. */
#include <string.h>

#include "base/num.h"

#include "solver/legal/legal.h"
#include "tests/unit/solver/ir/plans.h"

enum { ARENA_BYTES = 512 << 20 };

static const struct skeleton_limits skeleton_limits = {.arch = "sm_90a", .threads_max = 1024};
static const size_t all[] = {0, 1, 2, 3, 4, 5, 6};

/* The plan of causal attention as one chain. */
static const struct plan *chain_plan(struct arena *arena, const struct bound_op *bound,
                                     const char *track)
{
    struct region_skeleton made[REGION_SKELETONS_MAX];
    const struct track *chosen;
    const char *why = "";
    struct err err = {0};
    assert_true(op_track_find(bound->op, str_from(track), &chosen));
    size_t count =
        region_skeletons(arena, bound, chosen, &skeleton_limits, all, COUNT_OF(all), made, &why);
    assert_int_equal(count, 1);
    const struct plan *plan = plan_of_regions(arena, bound, chosen, &skeleton_limits, made, 1);
    assert_ok(plan_check(plan, bound->op, &err));
    return plan;
}

static void test_skeleton(void **state UNUSED)
{
    struct arena arena;
    struct footprint f;
    struct buf guard;
    const char *why = "";
    arena_init(&arena, ARENA_BYTES);
    const struct bound_op *bound = plans_op(&arena, "causal_attention");
    const struct plan *plan = chain_plan(&arena, bound, "f32");
    const struct plan_region *region = &plan->regions[0];
    assert_true(region_uses(region, PRIMITIVE_ONLINE_STATE));
    assert_true(region_uses(region, PRIMITIVE_REGISTER_TILE));
    assert_true(footprint_of(&arena, region, bound, &f, &why));
    assert_int_equal(f.kind, FOOTPRINT_CHAIN);
    assert_int_equal(f.threads, 256);
    assert_int_equal(f.blocks, 8 * 16 * (2048 / 64));
    /* rows, two tiles, weights; 4 words beside each row */
    assert_int_equal(f.shared_bytes, 4 * (64 * 68 + 64 * 2 * 68 + 64 * 68));
    /* scores, sums of 4 rows and 4 columns, their operands, maximum, sum and factor */
    assert_int_equal(f.registers, 40 + 4 * (4 + 4) + 4 + 4 + 3 * 4);
    assert_int_equal(f.rest, 0);
    buf_init(&guard, &arena, 4096);
    formula_print(&guard, plan->guard);
    assert_string_equal(guard.at, "D <= 64");
    arena_release(&arena);
}

/* Without the second product they are scores, whose weights are stored; a product and its mask are
 * a tile. */
static void test_no_chain(void **state UNUSED)
{
    struct arena arena;
    struct region_skeleton made[REGION_SKELETONS_MAX];
    const char *why = "";
    arena_init(&arena, ARENA_BYTES);
    const struct bound_op *bound = plans_op(&arena, "causal_attention");
    size_t count = region_skeletons(&arena, bound, NULL, &skeleton_limits, all, 5, made, &why);
    assert_int_equal(count, 4);
    for (size_t i = 0; i < count; i++) {
        struct footprint f;
        assert_true(footprint_of(&arena, &made[i].region, bound, &f, &why));
        assert_int_equal(f.columns, 0);
    }
    count = region_skeletons(&arena, bound, NULL, &skeleton_limits, all, 2, made, &why);
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++)
        assert_false(region_uses(&made[i].region, PRIMITIVE_ONLINE_STATE));
    arena_release(&arena);
}

struct walk {
    size_t legal, seen, over[LIMIT_COUNT];
    bool mma, deep;
    int64_t shared_most;
};

static void look(void *context, const struct plan_region *choice, const struct limits *limits)
{
    struct walk *walk = context;
    walk->seen++;
    if (!limits->legal) {
        walk->over[limits->over.limit]++;
        return;
    }
    walk->legal++;
    walk->mma |= choice->mma[0] > 0;
    walk->deep |= choice->depth > 1;
    for (size_t i = 0; i < limits->line_count; i++)
        if (limits->lines[i].limit == LIMIT_SHARED && limits->lines[i].value > walk->shared_most)
            walk->shared_most = limits->lines[i].value;
}

static struct walk walk_on(struct arena *arena, const struct bound_op *bound, const char *track,
                           const struct machine *machine)
{
    struct walk walk = {.legal = 0};
    space_visit(arena, chain_plan(arena, bound, track), bound, machine, false, 0, look, &walk);
    return walk;
}

static void test_machines(void **state UNUSED)
{
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    const struct bound_op *bound = plans_op(&arena, "causal_attention");
    const struct machine *large = plans_machine(&arena, "h200-sxm");
    const struct machine *small = plans_machine(&arena, "rtx-3060");
    struct walk on_large = walk_on(&arena, bound, "f32", large);
    struct walk on_small = walk_on(&arena, bound, "f32", small);
    assert_int_equal(on_large.seen, on_small.seen);
    assert_true(on_small.legal > 0 && on_small.legal < on_large.legal);
    /* Threads of a row that no warp holds: 64 or 128 of them, of 10, 10 and 6 numbers of rows that
     * make at most 1,024 threads, at each of 3 depths. */
    assert_int_equal(on_large.over[LIMIT_TILE_REST], 3 * (10 + 10 + 6));
    assert_true(on_small.over[LIMIT_SHARED] > on_large.over[LIMIT_SHARED]);
    assert_true(on_large.shared_most <= large->shared_bytes_per_block_optin);
    assert_true(on_small.shared_most <= small->shared_bytes_per_block_optin);
    assert_true(on_large.deep &&
                !on_large.mma); /* f32: one product of tensor cores is too coarse */
    assert_true(walk_on(&arena, bound, "tf32", large).mma);
    struct machine old = *large;
    old.capability = 75;
    struct walk on_old = walk_on(&arena, bound, "tf32", &old);
    assert_true(on_old.legal > 0 && !on_old.mma && !on_old.deep);
    assert_true(on_old.over[LIMIT_CAPABILITY] > 0);
    arena_release(&arena);
}

/* Depth and instruction make choices that differ; the space has each once. */
static void test_space(void **state UNUSED)
{
    struct arena arena;
    struct space space;
    struct err err = {0};
    arena_init(&arena, (size_t)2 << 30);
    const struct bound_op *bound = plans_op(&arena, "causal_attention");
    const struct machine *machine = plans_machine(&arena, "h200-sxm");
    const struct plan *plan = chain_plan(&arena, bound, "tf32");
    assert_ok(plan_space(&arena, plan, bound, machine, &(struct space_options){4096, false}, &space,
                         &err));
    assert_int_equal(space.plan_count, space.domains[0].count);
    assert_int_equal(space.duplicates, 0);
    for (size_t i = 0; i < space.plan_count; i++)
        assert_ok(plan_check(space.plans[i], bound->op, &err));
    /* no kernel of the realiser's is one */
    assert_false(plan_space(&arena, plan, bound, machine, &(struct space_options){4096, true},
                            &space, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    arena_release(&arena);
}

/* What does not hold at another shape is no chain's footprint there. */
static void test_other_shape(void **state UNUSED)
{
    struct arena arena;
    struct formula_env dims;
    const struct bound_op *wider;
    struct footprint f;
    struct err err = {0};
    const char *why = "";
    arena_init(&arena, ARENA_BYTES);
    const struct bound_op *bound = plans_op(&arena, "causal_attention");
    const struct plan *plan = chain_plan(&arena, bound, "f32");
    assert_ok(op_parse_dims(&arena, bound->op, STR_LIT("B=1 H=1 T=2048 D=65"), &dims, &err));
    assert_ok(op_bind(&arena, bound->op, &dims, &wider, &err));
    assert_false(footprint_of(&arena, &plan->regions[0], wider, &f, &why));
    assert_string_equal(why,
                        "a block needs the first product's sum and the second's columns whole");
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_skeleton),    cmocka_unit_test(test_no_chain),
        cmocka_unit_test(test_machines),    cmocka_unit_test(test_space),
        cmocka_unit_test(test_other_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
