/*
 * HW-WFC's defects in its cost model and its numbers of machines: absent in what the native solvers
 * minimise (solver/cost in seconds, within solver/legal's limits).
 */
#include <math.h>
#include <string.h>

#include "solver/sched/sched.h"
#include "tests/unit/solver/ir/plans.h"

static const size_t arena_bytes_max = (size_t)1 << 30;
static const struct tile_numbers tile = {128, 128, 16, 8, 8, 256};

static const struct bound_op *op_at(struct arena *arena, const char *name, const char *dims)
{
    const struct op *op = plans_op(arena, name)->op;
    const struct bound_op *bound;
    struct formula_env env;
    struct err err = {0};
    assert_ok(op_parse_dims(arena, op, str_from(dims), &env, &err));
    assert_ok(op_bind(arena, op, &env, &bound, &err));
    return bound;
}

static struct region_cost tile_cost(struct arena *arena, const char *dims,
                                    const struct machine *machine, const struct tile_numbers *t)
{
    struct region_cost cost;
    const struct bound_op *bound = op_at(arena, "matmul", dims);
    const struct plan *plan = plans_plan(arena, bound, plans_tile(arena, t), "");
    cost_region(arena, plan, 0, bound, machine, &cost);
    return cost;
}

/* Its score is a ratio that counts a layer norm as much as a product; here work is time. */
static void test_costs_are_seconds(void **state UNUSED)
{
    struct arena arena;
    arena_init(&arena, arena_bytes_max);
    const struct machine *machine = plans_machine(&arena, "h200-sxm");
    const double once = tile_cost(&arena, "M=4096,N=4096,K=4096", machine, &tile).compute_s;
    const double twice = tile_cost(&arena, "M=4096,N=4096,K=8192", machine, &tile).compute_s;
    assert_true(fabs(twice - 2 * once) < 1e-9 * once);
    assert_true(once > 1e-4); /* 1.4e11 flops */
    arena_release(&arena);
}

/* Its hand-over is a constant; here bytes over a rate, and never free between kernels. */
static void test_hand_over_takes_bytes(void **state UNUSED)
{
    const struct plan_edge edge = {STR_LIT("s"), 0, 1, RESIDE_GLOBAL};
    const struct plan plan = {.edges = &edge, .edge_count = 1};
    struct edge_cost one, two, slow;
    struct arena arena;
    arena_init(&arena, arena_bytes_max);
    const struct machine *machine = plans_machine(&arena, "h200-sxm");
    struct machine half = *machine;
    half.dram_bytes_per_s /= 2;
    half.l2_bytes = 0;
    struct machine whole = *machine;
    whole.l2_bytes = 0;
    cost_edge(&plan, 0, op_at(&arena, "softmax", "M=8192,N=64"), &whole, &one);
    cost_edge(&plan, 0, op_at(&arena, "softmax", "M=16384,N=64"), &whole, &two);
    cost_edge(&plan, 0, op_at(&arena, "softmax", "M=8192,N=64"), &half, &slow);
    assert_true(one.seconds > 0 && one.bytes == 2 * 4 * 8192);
    assert_true(fabs(two.seconds - 2 * one.seconds) < 1e-12);
    assert_true(fabs(slow.seconds - 2 * one.seconds) < 1e-12);
    arena_release(&arena);
}

/* Its working set is tile_m * tile_n; a kernel's is a step of both operands. */
static void test_working_set_is_of_operands(void **state UNUSED)
{
    struct arena arena;
    struct footprint shallow, deep;
    const char *why;
    arena_init(&arena, arena_bytes_max);
    const struct bound_op *bound = op_at(&arena, "matmul", "M=4096,N=4096,K=4096");
    struct tile_numbers twice = tile;
    twice.k = 2 * tile.k;
    const struct plan *a = plans_plan(&arena, bound, plans_tile(&arena, &tile), "");
    const struct plan *b = plans_plan(&arena, bound, plans_tile(&arena, &twice), "");
    assert_true(footprint_of(&arena, &a->regions[0], bound, &shallow, &why));
    assert_true(footprint_of(&arena, &b->regions[0], bound, &deep, &why));
    assert_true(shallow.shared_bytes >= (128 + 128) * 16 * 4);
    assert_true(shallow.shared_bytes < 128 * 128 * 4);
    assert_int_equal(deep.shared_bytes, 2 * shallow.shared_bytes);
    arena_release(&arena);
}

/* There a partial tile costs nothing; here one row more is one row of tiles more. */
static void test_padding_costs(void **state UNUSED)
{
    struct arena arena;
    arena_init(&arena, arena_bytes_max);
    const struct machine *machine = plans_machine(&arena, "rtx-3060");
    const struct region_cost even = tile_cost(&arena, "M=4096,N=4096,K=512", machine, &tile);
    const struct region_cost odd = tile_cost(&arena, "M=4097,N=4096,K=512", machine, &tile);
    assert_int_equal(odd.blocks, even.blocks + 4096 / 128);
    assert_true(odd.compute_s > even.compute_s * 1.01);
    arena_release(&arena);
}

/* Nor does it know processors: there are whole waves of blocks, and as many at once as fit. */
static void test_waves_and_occupancy_count(void **state UNUSED)
{
    struct arena arena;
    arena_init(&arena, arena_bytes_max);
    const struct machine *machine = plans_machine(&arena, "h200-sxm");
    struct machine fewer = *machine;
    fewer.sm_count /= 2;
    const struct region_cost all = tile_cost(&arena, "M=1024,N=1024,K=4096", machine, &tile);
    const struct region_cost half = tile_cost(&arena, "M=1024,N=1024,K=4096", &fewer, &tile);
    assert_true(all.blocks_per_sm >= 1 && half.waves > 1.9 * all.waves);
    const struct tile_numbers small = {64, 64, 16, 4, 4, 256};
    struct machine crowded = *machine;
    crowded.registers_per_sm /= 4;
    assert_true(tile_cost(&arena, "M=1024,N=1024,K=4096", &crowded, &small).blocks_per_sm <
                tile_cost(&arena, "M=1024,N=1024,K=4096", machine, &small).blocks_per_sm);
    arena_release(&arena);
}

/* It charges a softmax of chunks 257 readings of its matrix; a row is read once a pass. */
static void test_rows_are_read_once_a_pass(void **state UNUSED)
{
    struct arena arena;
    struct region_cost cost;
    arena_init(&arena, arena_bytes_max);
    const struct bound_op *bound = op_at(&arena, "softmax", "M=2048,N=2048");
    const struct row_numbers streamed = {128, 4, 4, false, true};
    const struct plan *plan = plans_plan(&arena, bound, plans_rows(&arena, bound, &streamed), "");
    const double matrix = 2048.0 * 2048 * 4;
    cost_region(&arena, plan, 0, bound, plans_machine(&arena, "h200-sxm"), &cost);
    assert_true(cost.bytes >= 2 * matrix && cost.bytes <= 5 * matrix);
    arena_release(&arena);
}

/* Its specs take L1 and shared memory for one, 312 TFLOPS for f32 and another card's bandwidth. */
static void test_machines_have_their_own_numbers(void **state UNUSED)
{
    static const struct {
        const char *name;
        int64_t shared_bytes;
    } cases[] = {{"a100-sxm-80", 166912}, {"h100-sxm", 232448}, {"rtx-3060", 101376}};
    struct arena arena;
    arena_init(&arena, arena_bytes_max);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(plans_machine(&arena, cases[i].name)->shared_bytes_per_block_optin,
                         cases[i].shared_bytes);
    const struct machine *a100 = plans_machine(&arena, "a100-sxm-80");
    assert_true(a100->rates[MACHINE_RATE_F32] < 20e12);
    assert_true(a100->dram_bytes_per_s > 1.5e12);
    arena_release(&arena);
}

/* A search that may miss the optimum says so: it never claims to have proved one. */
static void test_collapse_claims_no_proof(void **state UNUSED)
{
    struct arena arena;
    struct factor_result result;
    double costs[] = {0, 1};
    arena_init(&arena, arena_bytes_max);
    const struct factor_variable variable = {STR_LIT("one"), factor_domain_whole(&arena, 2), costs};
    const struct factor_graph graph = {&variable, 1, NULL, 0};
    factor_wfc(&arena, &graph, &(struct factor_options){0}, &result);
    assert_int_equal(result.claim, FACTOR_HEURISTIC);
    assert_true(result.best[0].cost == 0 && result.bound == -INFINITY);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_costs_are_seconds),
        cmocka_unit_test(test_hand_over_takes_bytes),
        cmocka_unit_test(test_working_set_is_of_operands),
        cmocka_unit_test(test_padding_costs),
        cmocka_unit_test(test_waves_and_occupancy_count),
        cmocka_unit_test(test_rows_are_read_once_a_pass),
        cmocka_unit_test(test_machines_have_their_own_numbers),
        cmocka_unit_test(test_collapse_claims_no_proof),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
