/*
 * HW-WFC's defects in what it minimises, by the list of its review: each test shows that the native
 * cost, limits or machines have not that one.
 */
#include <math.h>
#include <string.h>

#include "solver/cost/cost.h"
#include "solver/legal/legal.h"
#include "solver/sched/sched.h"
#include "tests/unit/solver/ir/plans.h"

enum { ARENA_BYTES = 512 << 20, FILES_MAX = 64, OPS_MAX = 512 };

static const char two_regions[] =
    "{\"stmts\":[0,1],\"primitives\":[\"reduction-tree\",\"block-cooperative-summary\","
    "\"vector-access\"],\"tiles\":[{\"index\":\"m\",\"block\":1,\"thread\":1},"
    "{\"index\":\"n\",\"block\":4096,\"thread\":8}],\"stages\":[],"
    "\"threads\":[512,1,1],\"vector\":4,\"precision\":\"f32\"},"
    "{\"stmts\":[2],\"primitives\":[\"vector-access\"],\"tiles\":[],\"stages\":[],"
    "\"threads\":[256,1,1],\"vector\":4,\"precision\":\"f32\"}";

static const struct bound_op *op_at(struct arena *arena, const char *name, const int64_t *dims)
{
    struct err err = {0};
    const struct bound_op *first = plans_op(arena, name), *bound;
    assert_ok(op_bind_shape(arena, first->op, &(struct shape){dims}, &bound, &err));
    return bound;
}

static struct region_cost tile_cost(struct arena *arena, const struct bound_op *bound,
                                    const struct tile_numbers *tile, const struct machine *machine)
{
    struct region_cost cost;
    cost_region(arena, plans_plan(arena, bound, plans_tile(arena, tile), ""), 0, bound, machine,
                &cost);
    return cost;
}

static int64_t limit_value(struct arena *arena, const struct bound_op *bound,
                           const struct tile_numbers *tile, enum limit limit)
{
    struct limits limits;
    plan_limits(arena, plans_plan(arena, bound, plans_tile(arena, tile), ""), bound,
                plans_machine(arena, "h200-sxm"), &limits);
    for (size_t i = 0; i < limits.line_count; i++)
        if (limits.lines[i].limit == limit)
            return limits.lines[i].value;
    return -1;
}

static const struct tile_numbers tile = {128, 128, 16, 8, 8, 256};

/* "Score is an efficiency ratio, summed unweighted": a normalisation counted as much as a product.
 * Here each region counts with its seconds, and twice the rows are twice the time. */
static void test_score_is_time(void **state UNUSED)
{
    static const struct row_numbers rows = {512, 4, 8, false, false};
    struct arena arena;
    struct region_cost once, twice;
    arena_init(&arena, ARENA_BYTES);
    const struct machine *h200 = plans_machine(&arena, "h200-sxm");
    const struct bound_op *few = op_at(&arena, "layernorm", (const int64_t[]){4096, 4096});
    const struct bound_op *many = op_at(&arena, "layernorm", (const int64_t[]){8192, 4096});
    cost_region(&arena, plans_plan(&arena, few, plans_rows(&arena, few, &rows), ""), 0, few, h200,
                &once);
    cost_region(&arena, plans_plan(&arena, many, plans_rows(&arena, many, &rows), ""), 0, many,
                h200, &twice);
    assert_true(fabs(twice.bytes / once.bytes - 2) < 1e-3);
    assert_true(fabs(twice.memory_s / once.memory_s - 2) < 0.1);
    const struct region_cost product = tile_cost(&arena, plans_op(&arena, "matmul"), &tile, h200);
    assert_true(product.seconds > 10 * once.seconds);
    arena_release(&arena);
}

static struct edge_cost edge_of(struct arena *arena, int64_t rows, const char *residency,
                                const struct machine *machine)
{
    struct edge_cost cost;
    char edge[128];
    const struct bound_op *bound = op_at(arena, "rmsnorm", (const int64_t[]){rows, 4096});
    snprintf(edge, sizeof(edge), "{\"tensor\":\"r\",\"from\":0,\"to\":1,\"residency\":\"%s\"}",
             residency);
    cost_edge(plans_plan(arena, bound, two_regions, edge), 0, bound, machine, &cost);
    return cost;
}

/* "Transition cost is a dimensionless constant, independent of tensor size and bandwidth." */
static void test_transition_is_bytes_over_bandwidth(void **state UNUSED)
{
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    struct machine machine = *plans_machine(&arena, "h200-sxm");
    machine.l2_bytes = 0;
    const struct edge_cost few = edge_of(&arena, 8192, "global", &machine);
    const struct edge_cost many = edge_of(&arena, 3 * 8192, "global", &machine);
    assert_true(few.bytes == 2 * 8192 * 4); /* written and read */
    assert_true(fabs(many.seconds / few.seconds - 3) < 1e-9);
    machine.dram_bytes_per_s /= 2;
    assert_true(fabs(edge_of(&arena, 8192, "global", &machine).seconds / few.seconds - 2) < 1e-9);
    arena_release(&arena);
}

/* "SRAM to SRAM hand-over between kernels is free although shared memory does not survive a
 * launch": what the solver searches hands over through global memory, and pays for it. */
static void test_no_free_hand_over_between_kernels(void **state UNUSED)
{
    struct arena arena;
    struct err err = {0};
    const char *const *names;
    size_t count, edges = 0;
    arena_init(&arena, ARENA_BYTES);
    const struct machine *h200 = plans_machine(&arena, "h200-sxm");
    const struct skeleton_limits limits = {.arch = "sm_90a",
                                           .threads_max = h200->threads_per_block};
    assert_ok(file_list(&arena, "kernels/ops", ".json", OPS_MAX, &names, &count, &err));
    for (size_t i = 0; i < count; i++) {
        const struct bound_op *bound;
        const struct plan *plan;
        const struct op *op;
        struct str text;
        assert_ok(file_read(&arena, path_join(&arena, "kernels/ops", names[i]), OP_SPEC_BYTES_MAX,
                            &text, &err));
        /* not those made of other specs, nor those without a skeleton */
        if (!op_parse(&arena, text, names[i], NULL, &op, &err) ||
            !op_bind_shape(&arena, op, &op->targets[0], &bound, &err) ||
            !plan_skeleton(&arena, bound, NULL, &limits, &plan, &err))
            continue;
        for (size_t e = 0; e < plan->edge_count; e++) {
            struct edge_cost cost;
            assert_int_equal(plan->edges[e].residency, RESIDE_GLOBAL);
            cost_edge(plan, e, bound, h200, &cost);
            assert_true(cost.bytes > 0 && cost.seconds > 0);
            edges++;
        }
    }
    print_message("%zu edges between kernels\n", edges);
    assert_true(edges >= 5);
    arena_release(&arena);
}

/* "Working set ignores the operands' shapes, tile_k, stages, accumulators in registers." */
static void test_working_set_is_what_a_block_holds(void **state UNUSED)
{
    static const struct tile_numbers deep = {128, 128, 32, 8, 8, 256};
    static const struct tile_numbers narrow = {128, 64, 16, 8, 4, 256};
    static const struct tile_numbers busy = {128, 128, 16, 16, 16, 64};
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    const struct bound_op *bound = plans_op(&arena, "matmul");
    /* a step of A and one of B, a row padded by 4 floats each; never the 128 x 128 results */
    assert_int_equal(limit_value(&arena, bound, &tile, LIMIT_SHARED), 16 * (132 + 132) * 4);
    assert_int_equal(limit_value(&arena, bound, &deep, LIMIT_SHARED), 32 * (132 + 132) * 4);
    assert_int_equal(limit_value(&arena, bound, &narrow, LIMIT_SHARED), 16 * (132 + 68) * 4);
    assert_int_equal(limit_value(&arena, bound, &busy, LIMIT_SHARED), 16 * (132 + 132) * 4);
    /* those are in registers: 256 a thread where 64 were */
    assert_true(limit_value(&arena, bound, &busy, LIMIT_REGISTERS) >=
                limit_value(&arena, bound, &tile, LIMIT_REGISTERS) + 256 - 64);
    arena_release(&arena);
}

/* "No occupancy, wave quantisation, padding: a tile may exceed the matrix at no cost." */
static void test_occupancy_waves_padding_count(void **state UNUSED)
{
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    const struct bound_op *full = op_at(&arena, "matmul", (const int64_t[]){4096, 4096, 4096});
    const struct bound_op *over = op_at(&arena, "matmul", (const int64_t[]){4097, 4096, 4096});
    const struct bound_op *next = op_at(&arena, "matmul", (const int64_t[]){4224, 4096, 4096});
    const struct bound_op *tiny = op_at(&arena, "matmul", (const int64_t[]){8, 8, 4096});
    struct machine machine = *plans_machine(&arena, "h200-sxm");
    const struct region_cost whole = tile_cost(&arena, full, &tile, &machine);
    const struct region_cost padded = tile_cost(&arena, over, &tile, &machine);
    assert_int_equal(whole.blocks, 32 * 32);
    assert_int_equal(padded.blocks, 33 * 32);
    /* a row of 4,097 works as long as 33 * 128 do */
    const struct region_cost rounded = tile_cost(&arena, next, &tile, &machine);
    assert_true(fabs(padded.latency_s / rounded.latency_s - 1) < 1e-9);
    assert_true(fabs(padded.compute_s / rounded.compute_s - 1) < 1e-9);
    /* 1,024 and 1,056 blocks are eight waves both on 132 SMs; on 128 they are eight and nine */
    assert_true(fabs(padded.latency_s / whole.latency_s - 1) < 1e-9);
    struct machine fewer = machine;
    fewer.sm_count = 128;
    assert_true(fabs(tile_cost(&arena, over, &tile, &fewer).latency_s /
                         tile_cost(&arena, full, &tile, &fewer).latency_s -
                     9.0 / 8) < 1e-9);
    /* a block of 128 x 128 for 8 x 8 results takes as long as a full one */
    const struct bound_op *block = op_at(&arena, "matmul", (const int64_t[]){128, 128, 4096});
    const struct region_cost one = tile_cost(&arena, block, &tile, &machine);
    assert_true(tile_cost(&arena, tiny, &tile, &machine).latency_s >= 0.9 * one.latency_s);
    /* registers of one block an SM in place of two */
    static const struct tile_numbers light = {64, 64, 16, 4, 4, 256};
    const struct region_cost two = tile_cost(&arena, full, &light, &machine);
    machine.registers_per_sm /= 2;
    const struct region_cost half = tile_cost(&arena, full, &light, &machine);
    assert_true(half.blocks_per_sm < two.blocks_per_sm);
    assert_true(half.waves > two.waves);
    arena_release(&arena);
}

/* "Softmax is charged 257 reads of its matrix": passes are what the kernel makes, whatever the
 * chunk.
 */
static void test_passes_do_not_depend_on_the_chunk(void **state UNUSED)
{
    static const struct row_numbers chunks[] = {{512, 4, 4, false, true}, {128, 4, 4, false, true}};
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    const struct bound_op *bound = plans_op(&arena, "softmax");
    const double matrix = 4096.0 * 4096 * 4;
    for (size_t i = 0; i < COUNT_OF(chunks); i++) {
        struct region_cost cost;
        cost_region(&arena, plans_plan(&arena, bound, plans_rows(&arena, bound, &chunks[i]), ""), 0,
                    bound, plans_machine(&arena, "h200-sxm"), &cost);
        assert_true(cost.bytes == 4 * matrix); /* three reads, one write */
    }
    arena_release(&arena);
}

/* "Per-SM SRAM is mixed with whole-GPU bandwidth; L1 and shared totals stand for what a block may
 * use; an fp16 tensor peak for fp32." */
static void test_numbers_of_machines_belong_together(void **state UNUSED)
{
    static const struct {
        const char *name;
        int64_t shared; /* KiB that a block may have, CUDA C++ Programming Guide */
    } known[] = {{"a100-sxm-80", 163}, {"h100-sxm", 227}, {"h200-sxm", 227}, {"rtx-3060", 99},
                 {"rtx-4090", 99},     {"l40s", 99},      {"a6000", 99},     {"b200", 227}};
    struct arena arena;
    struct err err = {0};
    const char *const *names;
    size_t count;
    arena_init(&arena, ARENA_BYTES);
    for (size_t i = 0; i < COUNT_OF(known); i++)
        assert_int_equal(plans_machine(&arena, known[i].name)->shared_bytes_per_block_optin,
                         known[i].shared * 1024);
    assert_ok(file_list(&arena, "kernels/machines", ".json", FILES_MAX, &names, &count, &err));
    assert_true(count >= COUNT_OF(known));
    for (size_t i = 0; i < count; i++) {
        const char *name =
            str_copy(&arena, (struct str){names[i], strlen(names[i]) - strlen(".json")});
        const struct machine *m = plans_machine(&arena, name);
        assert_true(m->shared_bytes_per_block_optin + m->shared_bytes_reserved_per_block <=
                    m->shared_bytes_per_sm);
        /* of the whole GPU: 64 or 128 lanes on each SM, and no more than those */
        const double lanes = m->rates[MACHINE_RATE_F32] / (2 * m->clock_hz * (double)m->sm_count);
        assert_true(fabs(lanes - 64) < 1 || fabs(lanes - 128) < 1);
        assert_true(m->rates[MACHINE_RATE_F16] >= 1.9 * m->rates[MACHINE_RATE_F32]);
        /* bytes of DRAM a clock and SM: one SM's own would be below one, a sum over SMs above 64 */
        const double bytes = m->dram_bytes_per_s / m->clock_hz / (double)m->sm_count;
        assert_true(bytes > 1 && bytes < 64);
    }
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_score_is_time),
        cmocka_unit_test(test_transition_is_bytes_over_bandwidth),
        cmocka_unit_test(test_no_free_hand_over_between_kernels),
        cmocka_unit_test(test_working_set_is_what_a_block_holds),
        cmocka_unit_test(test_occupancy_waves_padding_count),
        cmocka_unit_test(test_passes_do_not_depend_on_the_chunk),
        cmocka_unit_test(test_numbers_of_machines_belong_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
