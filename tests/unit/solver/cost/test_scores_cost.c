/* The terms of one product and its row statistics: factors go through memory, scores do not. */
#include <math.h>
#include <string.h>

#include "solver/cost/cost.h"
#include "tests/unit/solver/ir/scores_zoo.h"

enum { ARENA_BYTES = 256 << 20, SIDE = 64 };

static const struct skeleton_limits skeleton_limits = {.arch = "sm_90a", .threads_max = 1024};
static const size_t all[] = {0, 1, 2, 3, 4, 5};

static void assert_near(double got, double want, double relative)
{
    if (!(fabs(got - want) <= relative * fabs(want)))
        fail_msg("%.17g, expected %.17g", got, want);
}

/* In the order of region_skeletons: what a block has whole. */
enum mode { STEPS, WHOLE_SUM, WHOLE_INDEX, WHOLE_BOTH };

struct sample {
    struct arena *arena;
    const struct bound_op *bound;
    struct region_skeleton made[REGION_SKELETONS_MAX];
};

static void sample_of(struct sample *out, struct arena *arena, const char *name, const char *shape)
{
    struct formula_env dims;
    struct err err = {0};
    const char *why = "";
    out->arena = arena;
    for (size_t i = 0; i < COUNT_OF(scores_zoo); i++) {
        if (strcmp(scores_zoo[i].name, name) != 0)
            continue;
        const struct op *op = scores_op(arena, &scores_zoo[i]);
        assert_ok(op_parse_dims(arena, op, str_from(shape), &dims, &err));
        assert_ok(op_bind(arena, op, &dims, &out->bound, &err));
        assert_true(region_skeletons(arena, out->bound, NULL, &skeleton_limits, all, op->stmt_count,
                                     out->made, &why) >= 2);
        return;
    }
    fail_msg("no %s in the zoo", name);
}

static struct region_cost cost_of(const struct sample *s, const struct region_skeleton *skeleton,
                                  const struct machine *machine)
{
    struct region_cost cost;
    const struct plan *plan =
        plan_of_regions(s->arena, s->bound, NULL, &skeleton_limits, skeleton, 1);
    cost_region(s->arena, plan, 0, s->bound, machine, &cost);
    return cost;
}

static void test_traffic(void **state UNUSED)
{
    const double m = 8192, n = 512, k = 64, blocks = m / SIDE, steps = n / SIDE;
    struct arena arena;
    struct sample s;
    arena_init(&arena, ARENA_BYTES);
    const struct machine *h200 = plans_machine(&arena, "h200-sxm");
    sample_of(&s, &arena, "log of the sum of exponentials", "Z=1 M=8192 N=512 K=64");
    const double factors = m * k + n * k;
    /* factors and statistics once, then what blocks read through L2 */
    assert_near(cost_of(&s, &s.made[WHOLE_SUM], h200).bytes, 4 * (factors + m + blocks * n * k), 0);
    assert_near(cost_of(&s, &s.made[STEPS], h200).bytes,
                4 * (factors + m + blocks * (n * k + steps * SIDE * k)), 0);
    sample_of(&s, &arena, "softmax", "Z=1 M=8192 N=512 K=64");
    assert_near(cost_of(&s, &s.made[WHOLE_SUM], h200).bytes,
                4 * (factors + m * n + 2 * blocks * n * k), 0);
    assert_near(cost_of(&s, &s.made[WHOLE_BOTH], h200).bytes,
                4 * (factors + m * n + blocks * n * k), 0);
    arena_release(&arena);
}

/* A second pass takes all steps again; a held row goes through shared memory. */
static void test_passes(void **state UNUSED)
{
    struct arena arena;
    struct sample s;
    arena_init(&arena, ARENA_BYTES);
    struct machine wide = *plans_machine(&arena, "h200-sxm");
    sample_of(&s, &arena, "softmax", "Z=1 M=8192 N=512 K=64");
    const struct region_cost twice = cost_of(&s, &s.made[WHOLE_SUM], &wide);
    const struct region_cost held = cost_of(&s, &s.made[WHOLE_BOTH], &wide);
    const double steps = 512 / SIDE, bytes = 2.0 * SIDE * SIDE * 4, clocks = steps * bytes / 128;
    /* as many blocks as SMs have room for, so a turn each */
    assert_true(twice.blocks <= wide.sm_count);
    assert_near((held.shared_s - twice.shared_s / 2) * wide.clock_hz, clocks, 1e-9);
    assert_near(twice.compute_s - twice.shared_s, 2 * (held.compute_s - held.shared_s), 1e-9);
    arena_release(&arena);
}

/* What L2 does not hold comes from DRAM again: the factor along the index for each set of blocks,
 * staged rows in each step. */
static void test_rereads(void **state UNUSED)
{
    const double m = 65536, n = 65536, k = 1024, once = m * k + n * k + m, steps = n / SIDE;
    struct arena arena;
    struct sample s;
    arena_init(&arena, ARENA_BYTES);
    struct machine small = *plans_machine(&arena, "h200-sxm"), large;
    small.dram_bytes_per_s = 1e9; /* so that L2's own rate is not what counts */
    large = small;
    large.l2_bytes = INT64_C(1) << 40;
    sample_of(&s, &arena, "log of the sum of exponentials", "Z=1 M=65536 N=65536 K=1024");
    for (int mode = STEPS; mode <= WHOLE_SUM; mode++) {
        const struct region_cost far = cost_of(&s, &s.made[mode], &small);
        const struct region_cost near = cost_of(&s, &s.made[mode], &large);
        const double sets = m / SIDE / (double)(small.sm_count * far.blocks_per_sm);
        const double rows = mode == STEPS ? m * k * (steps - 1) : 0;
        assert_true(sets > 1); /* what is read once is counted in whole sectors, hence the width */
        assert_near(far.memory_s / near.memory_s, 1 + (n * k * (sets - 1) + rows) / once, 1e-3);
    }
    arena_release(&arena);
}

/* Where K is not whole, each step brings the rows' factor too, and waits for each stage. */
static void test_stages(void **state UNUSED)
{
    struct arena arena;
    struct sample s;
    arena_init(&arena, ARENA_BYTES);
    const struct machine *h200 = plans_machine(&arena, "h200-sxm");
    const double lanes =
        h200->rates[MACHINE_RATE_F32] / (2 * (double)h200->sm_count * h200->clock_hz);
    const double steps = 512 / SIDE, clock = h200->clock_hz, moved = SIDE * 64 * 20;
    sample_of(&s, &arena, "log of the sum of exponentials", "Z=1 M=8192 N=512 K=64");
    const struct region_cost staged = cost_of(&s, &s.made[STEPS], h200);
    const struct region_cost whole = cost_of(&s, &s.made[WHOLE_SUM], h200);
    assert_true(staged.waves <= 1 && whole.waves <= 1);
    assert_near((staged.compute_s - whole.compute_s) * clock, steps * moved / lanes, 1e-9);
    const double wait = staged.latency_s - (staged.compute_s - staged.shared_s);
    assert_near(wait, 2 * (whole.latency_s - (whole.compute_s - whole.shared_s)), 1e-9);
    arena_release(&arena);
}

/* Each warp of tensor cores reads the tile of the step, and its own 16 rows. */
static void test_tensor_cores(void **state UNUSED)
{
    struct arena arena;
    struct sample s;
    arena_init(&arena, ARENA_BYTES);
    const struct machine *h200 = plans_machine(&arena, "h200-sxm");
    sample_of(&s, &arena, "log of the sum of exponentials", "Z=1 M=8192 N=512 K=64");
    struct region_skeleton cores = s.made[WHOLE_SUM];
    cores.region.precision = COMPUTE_TF32;
    cores.region.mma[0] = 16;
    cores.region.mma[1] = cores.region.mma[2] = 8;
    cores.region.threads[0] = 128;
    const double words = 4 * (SIDE * 64 + 16 * 64);
    assert_near(cost_of(&s, &cores, h200).shared_s * h200->clock_hz, 512 / SIDE * words * 4 / 128,
                1e-9);
    arena_release(&arena);
}

/* Two warps on an SM begin half as many instructions as its four schedulers, whose rate
 * in its file is a round number. */
static void test_few_warps(void **state UNUSED)
{
    struct arena arena;
    struct sample s;
    arena_init(&arena, ARENA_BYTES);
    const struct machine *h200 = plans_machine(&arena, "h200-sxm");
    sample_of(&s, &arena, "softmax", "Z=1 M=8192 N=512 K=64");
    struct region_skeleton few = s.made[WHOLE_BOTH], more = few;
    struct plan_tile tiles[2][8];
    for (int i = 0; i < 2; i++) {
        memcpy(tiles[i], few.region.tiles, few.region.tile_count * sizeof(tiles[i][0]));
        for (size_t t = 0; t < few.region.tile_count; t++)
            if (str_equal(tiles[i][t].index, STR_LIT("m")) ||
                str_equal(tiles[i][t].index, STR_LIT("n")))
                tiles[i][t].thread = 8;
        tiles[i][0].thread = i == 0 ? 8 : 4; /* m: the first axis */
    }
    few.region.tiles = tiles[0];
    more.region.tiles = tiles[1];
    few.region.threads[0] = 64;
    more.region.threads[0] = 128;
    const struct region_cost slow = cost_of(&s, &few, h200), fast = cost_of(&s, &more, h200);
    assert_int_equal(slow.blocks_per_sm, 1);
    assert_near(slow.compute_s - slow.shared_s, 2 * (fast.compute_s - fast.shared_s), 1e-3);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_traffic),      cmocka_unit_test(test_passes),
        cmocka_unit_test(test_rereads),      cmocka_unit_test(test_stages),
        cmocka_unit_test(test_tensor_cores), cmocka_unit_test(test_few_warps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
