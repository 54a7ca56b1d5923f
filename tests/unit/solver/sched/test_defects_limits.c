/*
 * HW-WFC's dead checks, by the list of its review: one hard limit implied another, and a penalty
 * could never be reached after them.  Here each limit has a plan that it alone refuses, so none is
 * implied by the rest (that of threads on a machine of fewer than plans can name); and the preset's
 * own dead check is shown dead, so that the test can tell.
 */
#include "solver/legal/legal.h"
#include "solver/sched/sched.h"
#include "tests/unit/solver/ir/wide.h"

enum { ARENA_BYTES = 512 << 20 };

static const struct bound_op *product_of(struct arena *arena, int64_t side)
{
    struct err err = {0};
    const struct bound_op *first = plans_op(arena, "matmul"), *bound;
    const int64_t dims[] = {side, side, 16};
    assert_ok(op_bind_shape(arena, first->op, &(struct shape){dims}, &bound, &err));
    return bound;
}

/* All lines but those of `limit` have room; that one has not. */
static void assert_alone(struct arena *arena, const struct plan *plan, const struct bound_op *bound,
                         const struct machine *machine, enum limit limit)
{
    struct limits limits;
    plan_limits(arena, plan, bound, machine, &limits);
    if (limits.legal || limits.over.limit != limit)
        fail_msg("%s: %s", limit_text(limit), limits.legal ? "legal" : limits.reason.at);
    for (size_t i = 0; i < limits.line_count; i++)
        if (limits.lines[i].limit != limit && limits.lines[i].value > limits.lines[i].most)
            fail_msg("%s: over it is %s too", limit_text(limit), limit_text(limits.lines[i].limit));
}

static void tiles_alone(struct arena *arena, bool *seen)
{
    static const struct {
        enum limit limit;
        struct tile_numbers tile;
        int64_t side;
    } cases[] = {
        {LIMIT_TILE_THREADS, {128, 128, 16, 8, 8, 128}, 4096},
        {LIMIT_TILE_SIDE, {512, 16, 16, 8, 4, 256}, 4096},
        {LIMIT_TILE_OWN, {256, 16, 16, 32, 1, 128}, 4096},
        {LIMIT_TILE_REST, {32, 36, 16, 4, 6, 48}, 4096},
        {LIMIT_SHARED_STATIC, {128, 128, 64, 8, 8, 256}, 4096},
        {LIMIT_REGISTERS, {64, 128, 16, 16, 16, 32}, 4096},
        {LIMIT_REGISTERS_BLOCK, {256, 128, 16, 8, 8, 512}, 4096},
        {LIMIT_GRID, {1, 1, 16, 1, 1, 1}, 65536},
    };
    const struct machine *machine = plans_machine(arena, "h200-sxm");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct bound_op *bound = product_of(arena, cases[i].side);
        assert_alone(arena, plans_plan(arena, bound, plans_tile(arena, &cases[i].tile), ""), bound,
                     machine, cases[i].limit);
        seen[cases[i].limit] = true;
    }
}

/* The product of matmul_bias_gelu_bf16, for a model. */
static void wide_alone(struct arena *arena, bool *seen)
{
    static const struct {
        enum limit limit;
        struct wide wide;
    } cases[] = {
        {LIMIT_MMA_SHAPE,
         {128, 128, 32, 8, 8, 256, 8, 3, 1, {16, 16, 16}, "bf16", "async", "row-major"}},
        {LIMIT_MMA_REST,
         {128, 128, 8, 8, 8, 256, 8, 3, 1, {16, 8, 16}, "bf16", "async", "row-major"}},
        {LIMIT_MMA_LAYOUT,
         {128, 256, 64, 2, 64, 256, 8, 2, 1, {64, 256, 16}, "bf16", "async", "row-major"}},
        {LIMIT_PRECISION,
         {128, 128, 32, 8, 8, 256, 8, 2, 1, {16, 8, 16}, "f16", "register", "row-major"}},
        {LIMIT_DEPTH,
         {128, 128, 32, 8, 8, 256, 8, 3, 64, {16, 8, 16}, "bf16", "async", "row-major"}},
        {LIMIT_SPLIT,
         {128, 128, 32, 8, 8, 256, 8, 1, 256, {16, 8, 16}, "bf16", "async", "row-major"}},
        {LIMIT_STAGING,
         {128, 128, 32, 8, 8, 256, 8, 3, 1, {16, 8, 16}, "bf16", "register", "row-major"}},
        {LIMIT_COPY_BYTES,
         {128, 128, 32, 8, 8, 256, 1, 3, 1, {16, 8, 16}, "bf16", "async", "row-major"}},
        {LIMIT_SHARED,
         {256, 128, 128, 8, 8, 512, 8, 3, 1, {16, 8, 16}, "bf16", "async", "row-major"}},
    };
    const struct machine *machine = plans_machine(arena, "h200-sxm");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct bound_op *bound;
        const struct plan *plan = wide_plan(arena, &cases[i].wide, true, &bound);
        assert_alone(arena, plan, bound, machine, cases[i].limit);
        seen[cases[i].limit] = true;
    }
}

static void rows_alone(struct arena *arena, bool *seen)
{
    static const struct {
        enum limit limit;
        struct row_numbers rows;
        int columns, align;
    } cases[] = {
        {LIMIT_TREE_REST, {96, 4, 4, false, true}, 4096, 16},
        {LIMIT_VECTOR_BYTES, {128, 8, 8, false, false}, 1024, 32},
        {LIMIT_VECTOR_REST, {128, 4, 12, false, false}, 1026, 16},
        {LIMIT_VECTOR_ALIGN, {128, 4, 12, false, false}, 1024, 8},
        {LIMIT_ITEMS, {64, 4, 68, false, false}, 4096, 16},
        {LIMIT_ITEMS_REST, {512, 4, 10, false, false}, 4096, 16},
        {LIMIT_HELD, {512, 4, 4, false, false}, 4096, 16},
    };
    const struct machine *machine = plans_machine(arena, "h200-sxm");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct bound_op *bound = plans_sums(arena, cases[i].columns, cases[i].align);
        assert_alone(arena, plans_plan(arena, bound, plans_rows(arena, bound, &cases[i].rows), ""),
                     bound, machine, cases[i].limit);
        seen[cases[i].limit] = true;
    }
}

/* A running state that l2norm's one sum has no need of; a tile that its threads do not have; a
 * tensor that stays in shared memory from one kernel to the next. */
static void norms_alone(struct arena *arena, bool *seen)
{
    static const char rows[] =
        "{\"stmts\":[%s],\"primitives\":[\"reduction-tree\",\"block-cooperative-summary\","
        "\"streaming-accumulation\"%s],\"tiles\":[{\"index\":\"m\",\"block\":1,\"thread\":1},"
        "{\"index\":\"n\",\"block\":%d,\"thread\":4,\"step\":%d}],\"stages\":[],"
        "\"threads\":[128,1,1],\"vector\":4,\"precision\":\"f32\"}";
    static const char two[] =
        "{\"stmts\":[0,1],\"primitives\":[],\"tiles\":[],\"stages\":[],\"threads\":[256,1,1],"
        "\"precision\":\"f32\"},{\"stmts\":[2],\"primitives\":[],\"tiles\":[],\"stages\":[],"
        "\"threads\":[256,1,1],\"precision\":\"f32\"}";
    const struct bound_op *norm = plans_op(arena, "l2norm"), *rms = plans_op(arena, "rmsnorm");
    const struct machine *machine = plans_machine(arena, "h200-sxm");
    struct buf text;
    buf_init(&text, arena, PLANS_TEXT_BYTES);
    buf_printf(&text, rows, "0,1", ",\"online-state-update\"", 512, 512);
    assert_alone(arena, plans_plan(arena, norm, text.at, ""), norm, machine, LIMIT_STATE);
    buf_init(&text, arena, PLANS_TEXT_BYTES);
    buf_printf(&text, rows, "0,1", "", 500, 500);
    assert_alone(arena, plans_plan(arena, norm, text.at, ""), norm, machine, LIMIT_ROW_SPAN);
    assert_alone(arena,
                 plans_plan(arena, rms, two,
                            "{\"tensor\":\"r\",\"from\":0,\"to\":1,\"residency\":\"shared\"}"),
                 rms, machine, LIMIT_RESIDENCY);
    seen[LIMIT_STATE] = seen[LIMIT_ROW_SPAN] = seen[LIMIT_RESIDENCY] = true;
}

static void others_alone(struct arena *arena, bool *seen)
{
    static const char mma[] =
        "{\"stmts\":[0],\"primitives\":[\"register-tile\",\"tensor-core-tile\"],\"tiles\":["
        "{\"index\":\"m\",\"block\":64,\"thread\":4},{\"index\":\"n\",\"block\":64,\"thread\":4},"
        "{\"index\":\"k\",\"block\":16,\"thread\":1,\"step\":16}],\"stages\":[],"
        "\"threads\":[256,1,1],\"mma\":[16,8,16],\"precision\":\"f32\"}";
    static const char unfit[] =
        "{\"stmts\":[0],\"primitives\":[\"register-tile\"],\"tiles\":[],\"stages\":[],"
        "\"threads\":[256,1,1],\"precision\":\"f32\"}";
    static const struct tile_numbers tile = {128, 128, 16, 8, 8, 256};
    const struct bound_op *product = product_of(arena, 4096), *rows = plans_sums(arena, 64, 16);
    struct machine old = *plans_machine(arena, "a6000"), small = old, narrow = old;
    old.capability = 75;
    small.dram_bytes = 1 << 20;
    narrow.threads_per_block = 128;
    assert_alone(arena, plans_plan(arena, product, mma, ""), product, &old, LIMIT_CAPABILITY);
    assert_alone(arena, plans_plan(arena, product, plans_tile(arena, &tile), ""), product, &small,
                 LIMIT_WORKSPACE);
    assert_alone(arena, plans_plan(arena, product, plans_tile(arena, &tile), ""), product, &narrow,
                 LIMIT_THREADS);
    assert_alone(arena, plans_plan(arena, rows, unfit, ""), rows, &old, LIMIT_KERNEL);
    norms_alone(arena, seen);
    seen[LIMIT_CAPABILITY] = seen[LIMIT_WORKSPACE] = seen[LIMIT_KERNEL] = seen[LIMIT_THREADS] =
        true;
}

static void test_no_limit_is_dead(void **state UNUSED)
{
    bool seen[LIMIT_COUNT] = {false};
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    tiles_alone(&arena, seen);
    wide_alone(&arena, seen);
    rows_alone(&arena, seen);
    others_alone(&arena, seen);
    for (int i = 0; i < LIMIT_COUNT; i++)
        if (!seen[i])
            fail_msg("nothing shows that \"%s\" refuses a plan", limit_text((enum limit)i));
    arena_release(&arena);
}

/* In the preset no state is over the capacity and within the working memory, whatever the type. */
static void test_the_presets_capacity_is_dead(void **state UNUSED)
{
    static const struct hwwfc_spec specs[] = {{65536, 900, 19000, 312000, 128},
                                              {12288, 900, 19000, 312000, 64},
                                              {262144, 3352, 33000, 990000, 256}};
    const struct hwwfc_tiles *tiles = hwwfc_tiles_named(STR_LIT("large"));
    size_t both = 0;
    for (size_t s = 0; s < COUNT_OF(specs); s++)
        for (size_t id = 0; id < hwwfc_state_count(tiles); id++)
            for (int type = 0; type < HWWFC_TYPE_COUNT; type++) {
                const struct hwwfc_state at = hwwfc_state(tiles, id);
                const enum hwwfc_type own = (enum hwwfc_type)type;
                if (hwwfc_slack(HWWFC_CAPACITY, own, &at, &specs[s]) >= 0)
                    continue;
                both++;
                assert_true(hwwfc_slack(HWWFC_WORKING_MEMORY, own, &at, &specs[s]) < 0);
            }
    assert_true(both > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_limit_is_dead),
        cmocka_unit_test(test_the_presets_capacity_is_dead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
