/* Hard limits of plans: what is refused, by which quantity, and how much is left. */
#include <string.h>

#include "solver/legal/legal.h"
#include "tests/unit/solver/ir/plans.h"

enum { ARENA_BYTES = 256 << 20 };

static int64_t slack_of(const struct limits *limits, enum limit limit)
{
    for (size_t i = 0; i < limits->line_count; i++)
        if (limits->lines[i].limit == limit)
            return limits->lines[i].most - limits->lines[i].value;
    return -1;
}

static void test_tiles(void **state UNUSED)
{
    static const struct {
        struct tile_numbers tile;
        const char *machine;
        const char *reason; /* empty = legal */
    } cases[] = {
        {{128, 128, 16, 8, 8, 256}, "h200-sxm", ""},
        {{64, 64, 16, 4, 4, 256}, "rtx-3060", ""},
        {{128, 64, 32, 8, 4, 256}, "a100-sxm-80", ""},
        {{128, 128, 16, 8, 8, 128},
         "h200-sxm",
         "region 0: 128 threads that tile and plan differ by; the limit on h200-sxm is 0"},
        {{256, 256, 16, 4, 4, 1024},
         "h200-sxm",
         "region 0: 4096 threads a block; the limit on h200-sxm is 1024"},
        {{512, 64, 16, 16, 16, 128},
         "h200-sxm",
         "region 0: 512 iterations of a tile along one side; the limit on h200-sxm is 256"},
        {{256, 64, 16, 32, 8, 64},
         "h200-sxm",
         "region 0: 32 results of a thread along one side; the limit on h200-sxm is 16"},
        {{128, 128, 16, 8, 12, 176},
         "h200-sxm",
         "region 0: 8 iterations of a tile that its threads leave over; the limit on h200-sxm is "
         "0"},
        {{120, 120, 16, 6, 6, 400},
         "h200-sxm",
         "region 0: 4 iterations of a tile that its threads leave over; the limit on h200-sxm is "
         "0"},
        {{128, 128, 256, 8, 8, 256},
         "h200-sxm",
         "region 0: 270336 bytes of shared memory a block; the limit on h200-sxm is 232448"},
        {{128, 128, 46, 8, 8, 256}, "rtx-3060", ""}, /* 46 * 264 * 4 = 48576 just fit */
        {{128, 128, 47, 8, 8, 256},
         "rtx-3060",
         "region 0: 49632 bytes of static shared memory a block; the limit on rtx-3060 is 49152"},
        {{128, 128, 97, 8, 8, 256},
         "rtx-3060",
         "region 0: 102432 bytes of shared memory a block; the limit on rtx-3060 is 101376"},
        {{256, 256, 16, 16, 16, 256},
         "h200-sxm",
         "region 0: 689 registers a thread (estimate); the limit on h200-sxm is 255"},
        {{256, 128, 16, 8, 8, 512},
         "h200-sxm",
         "region 0: 106496 registers a block (estimate); the limit on h200-sxm is 65536"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct limits limits;
        arena_init(&arena, ARENA_BYTES);
        const struct bound_op *bound = plans_op(&arena, "matmul");
        const struct plan *plan = plans_plan(&arena, bound, plans_tile(&arena, &cases[i].tile), "");
        plan_limits(&arena, plan, bound, plans_machine(&arena, cases[i].machine), &limits);
        const char *reason = limits.legal ? "" : limits.reason.at;
        if (strcmp(reason, cases[i].reason) != 0)
            fail_msg("case %zu: %s", i, reason);
        arena_release(&arena);
    }
}

static void test_rows(void **state UNUSED)
{
    static const struct {
        const char *op;
        struct row_numbers rows;
        const char *reason;
    } cases[] = {
        {"softmax", {512, 4, 8, false, false}, ""},
        {"softmax", {128, 4, 4, false, true}, ""},
        {"softmax", {1024, 4, 4, false, false}, ""},
        {"softmax", {128, 1, 1, true, true}, ""},
        {"softmax",
         {512, 4, 4, false, false},
         "region 0: 4096 elements of a row against what its threads hold; the limit on h200-sxm is "
         "2048"},
        {"softmax",
         {96, 4, 4, false, true},
         "region 0: 2 warps beyond a power of two; the limit on h200-sxm is 0"},
        {"softmax",
         {512, 8, 8, false, false},
         "region 0: 32 bytes a vector access; the limit on h200-sxm is 16"},
        {"softmax",
         {512, 4, 10, false, false},
         "region 0: 2 elements of a thread that the vector leaves over; the limit on h200-sxm is "
         "0"},
        {"softmax",
         {32, 4, 128, false, false},
         "region 0: 128 elements of a tensor that a thread holds; the limit on h200-sxm is 64"},
        {"layernorm",
         {1024, 4, 16, false, false},
         "region 0: 73728 registers a block (estimate); the limit on h200-sxm is 65536"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct limits limits;
        arena_init(&arena, ARENA_BYTES);
        const struct bound_op *bound = plans_op(&arena, cases[i].op);
        const struct plan *plan =
            plans_plan(&arena, bound, plans_rows(&arena, bound, &cases[i].rows), "");
        plan_limits(&arena, plan, bound, plans_machine(&arena, "h200-sxm"), &limits);
        const char *reason = limits.legal ? "" : limits.reason.at;
        if (strcmp(reason, cases[i].reason) != 0)
            fail_msg("case %zu: %s", i, reason);
        arena_release(&arena);
    }
}

static void test_vectors(void **state UNUSED)
{
    static const struct {
        int columns, align;
        const char *reason;
    } cases[] = {
        {1024, 16, ""},
        {1026, 16,
         "region 0: 2 elements of a row that the vector leaves over; the limit on h200-sxm is 0"},
        {1024, 8,
         "region 0: 16 bytes that the vector access wants aligned; the limit on h200-sxm "
         "is 8"},
    };
    static const struct row_numbers rows = {128, 4, 12, false, false};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct limits limits;
        arena_init(&arena, ARENA_BYTES);
        const struct bound_op *bound = plans_sums(&arena, cases[i].columns, cases[i].align);
        const struct plan *plan = plans_plan(&arena, bound, plans_rows(&arena, bound, &rows), "");
        plan_limits(&arena, plan, bound, plans_machine(&arena, "h200-sxm"), &limits);
        assert_string_equal(limits.legal ? "" : limits.reason.at, cases[i].reason);
        arena_release(&arena);
    }
}

static void test_slack(void **state UNUSED)
{
    static const struct tile_numbers tile = {128, 128, 16, 8, 8, 256};
    struct arena arena;
    struct limits limits;
    arena_init(&arena, ARENA_BYTES);
    const struct bound_op *bound = plans_op(&arena, "matmul");
    const struct plan *plan = plans_plan(&arena, bound, plans_tile(&arena, &tile), "");
    plan_limits(&arena, plan, bound, plans_machine(&arena, "h200-sxm"), &limits);
    assert_true(limits.legal);
    assert_int_equal(slack_of(&limits, LIMIT_SHARED), 232448 - 16896);
    assert_int_equal(slack_of(&limits, LIMIT_THREADS), 1024 - 256);
    assert_int_equal(slack_of(&limits, LIMIT_GRID), INT32_MAX - 32 * 32);
    assert_int_equal(slack_of(&limits, LIMIT_WORKSPACE),
                     141 * INT64_C(1000000000) - 3 * 4096 * INT64_C(4096) * 4);
    arena_release(&arena);
}

static void test_capability_and_kernel(void **state UNUSED)
{
    static const char mma[] =
        "{\"stmts\":[0],\"primitives\":[\"register-tile\",\"tensor-core-tile\"],\"tiles\":["
        "{\"index\":\"m\",\"block\":64,\"thread\":4},{\"index\":\"n\",\"block\":64,\"thread\":4},"
        "{\"index\":\"k\",\"block\":16,\"thread\":1,\"step\":16}],\"stages\":[],"
        "\"threads\":[256,1,1],\"mma\":[16,8,16],\"precision\":\"f32\"}";
    static const char rows[] =
        "{\"stmts\":[0],\"primitives\":[\"register-tile\"],\"tiles\":[],\"stages\":[],"
        "\"threads\":[256,1,1],\"precision\":\"f32\"}";
    struct arena arena;
    struct limits limits;
    arena_init(&arena, ARENA_BYTES);
    const struct bound_op *bound = plans_op(&arena, "matmul");
    struct machine old = *plans_machine(&arena, "a6000");
    plan_limits(&arena, plans_plan(&arena, bound, mma, ""), bound, &old, &limits);
    assert_true(limits.legal);
    old.capability = 75;
    plan_limits(&arena, plans_plan(&arena, bound, mma, ""), bound, &old, &limits);
    assert_false(limits.legal);
    assert_int_equal(limits.over.limit, LIMIT_CAPABILITY);
    bound = plans_op(&arena, "rowsum");
    plan_limits(&arena, plans_plan(&arena, bound, rows, ""), bound, &old, &limits);
    assert_false(limits.legal);
    assert_string_equal(limits.reason.at, "region 0: no kernel fits it: it is no "
                                          "float sum of products");
    arena_release(&arena);
}

static void test_workspace(void **state UNUSED)
{
    static const struct tile_numbers tile = {128, 128, 16, 8, 8, 256};
    struct arena arena;
    struct limits limits;
    arena_init(&arena, ARENA_BYTES);
    const struct bound_op *bound = plans_op(&arena, "matmul");
    struct machine small = *plans_machine(&arena, "h200-sxm");
    small.dram_bytes = 200 << 20;
    plan_limits(&arena, plans_plan(&arena, bound, plans_tile(&arena, &tile), ""), bound, &small,
                &limits);
    assert_true(limits.legal);
    small.dram_bytes = 190 << 20;
    plan_limits(&arena, plans_plan(&arena, bound, plans_tile(&arena, &tile), ""), bound, &small,
                &limits);
    assert_false(limits.legal);
    assert_string_equal(limits.reason.at, "201326592 bytes of tensors in global memory; the limit "
                                          "on h200-sxm is 199229440");
    arena_release(&arena);
}

/* Between two regions, which are two launches, only global memory lasts. */
static void test_residency(void **state UNUSED)
{
    static const char regions[] =
        "{\"stmts\":[0,1],\"primitives\":[\"reduction-tree\",\"block-cooperative-summary\"],"
        "\"tiles\":["
        "{\"index\":\"m\",\"block\":1,\"thread\":1},{\"index\":\"n\",\"block\":4096,\"thread\":16}]"
        ","
        "\"stages\":[],\"threads\":[256,1,1],\"vector\":4,\"precision\":\"f32\"},"
        "{\"stmts\":[2],\"primitives\":[\"vector-access\"],\"tiles\":[],\"stages\":[],"
        "\"threads\":[256,1,1],\"vector\":4,\"precision\":\"f32\"}";
    static const struct {
        const char *residency, *reason;
    } cases[] = {
        {"global", ""},
        {"shared",
         "edges[0]: \"r\" cannot go from region 0 to region 1 by shared: shared memory ends with "
         "the "
         "kernel that has it; write \"global\", or put writer and reader into one region"},
        {"register",
         "edges[0]: \"r\" cannot go from region 0 to region 1 by register: registers end with the "
         "kernel that has them; write \"global\", or put writer and reader into one region"},
        {"recompute",
         "edges[0]: \"r\" cannot go from region 0 to region 1 by recompute: the reader's region "
         "has "
         "no statement that computes it; write \"global\", or give the reader a copy of the "
         "statement (the rewrite \"again\")"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct limits limits;
        struct buf edge;
        arena_init(&arena, ARENA_BYTES);
        buf_init(&edge, &arena, PLANS_TEXT_BYTES);
        buf_printf(&edge, "{\"tensor\":\"r\",\"from\":0,\"to\":1,\"residency\":\"%s\"}",
                   cases[i].residency);
        const struct bound_op *bound = plans_op(&arena, "rmsnorm");
        plan_limits(&arena, plans_plan(&arena, bound, regions, edge.at), bound,
                    plans_machine(&arena, "h200-sxm"), &limits);
        assert_string_equal(limits.legal ? "" : limits.reason.at, cases[i].reason);
        assert_int_equal(slack_of(&limits, LIMIT_RESIDENCY), limits.legal ? 0 : -1);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_slack),
        cmocka_unit_test(test_capability_and_kernel),
        cmocka_unit_test(test_workspace),
        cmocka_unit_test(test_residency),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
