/* What kernels move and wait for: sectors, directions of the bus, bytes in flight. */
#include <math.h>
#include <string.h>

#include "solver/cost/cost.h"
#include "tests/unit/solver/ir/plans.h"

enum { ARENA_BYTES = 256 << 20 };

static const struct bound_op *op_of(struct arena *arena, const char *shapes, const char *body,
                                    const char *dims)
{
    struct err err = {0};
    struct buf text;
    struct formula_env shape;
    const struct op *op;
    const struct bound_op *bound;
    buf_init(&text, arena, PLANS_TEXT_BYTES);
    buf_printf(&text,
               "{\"spec\":1,\"name\":\"t\",\"doc\":\"t\",\"dims\":{\"M\":[1,1048576],"
               "\"N\":[1,1048576]},\"tensors\":[%s],\"body\":[%s],\"tracks\":{\"f32\":{}},"
               "\"shapes\":{\"target\":[{\"M\":8,\"N\":8}],\"verify\":[{\"M\":1,\"N\":1}]}}",
               shapes, body);
    assert_ok(op_parse(arena, buf_view(&text), "t", NULL, &op, &err));
    assert_ok(op_parse_dims(arena, op, str_from(dims), &shape, &err));
    assert_ok(op_bind(arena, op, &shape, &bound, &err));
    return bound;
}

static const char *tensor(struct arena *arena, const char *name, const char *role,
                          const char *shape)
{
    struct buf text;
    buf_init(&text, arena, 256);
    buf_printf(&text, "{\"name\":\"%s\",\"role\":\"%s\",\"dtype\":\"f32\",\"shape\":[%s]}", name,
               role, shape);
    return text.at;
}

/* Of the op's only statement, x to y; as maps or with a thread a result. */
static struct region_cost cost_of(struct arena *arena, const char *x, const char *y,
                                  const char *body, const char *dims, bool maps)
{
    struct region_cost cost;
    struct buf shapes, region;
    buf_init(&shapes, arena, PLANS_TEXT_BYTES);
    buf_printf(&shapes, "%s,%s", tensor(arena, "x", "input", x), tensor(arena, "y", "output", y));
    buf_init(&region, arena, PLANS_TEXT_BYTES);
    buf_printf(&region,
               "{\"stmts\":[0],\"primitives\":[%s],\"tiles\":[],\"stages\":[],"
               "\"threads\":[256,1,1],\"vector\":%d,\"precision\":\"f32\"}",
               maps ? "\"vector-access\"" : "", maps ? 4 : 1);
    const struct bound_op *bound = op_of(arena, shapes.at, body, dims);
    cost_region(arena, plans_plan(arena, bound, region.at, ""), 0, bound,
                plans_machine(arena, "h200-sxm"), &cost);
    return cost;
}

/* Sums over the outer index: as many bytes, but one thread a column.  Few columns are few loads
 * under way, whatever the rate of the DRAM. */
static void test_bytes_in_flight(void **state UNUSED)
{
    static const char body[] = "\"y[n] = sum(m) x[m,n]\"";
    static const char *const dims[] = {"M=8192,N=4096", "M=2048,N=16384", "M=64,N=524288"};
    struct region_cost cost[COUNT_OF(dims)];
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    for (size_t i = 0; i < COUNT_OF(dims); i++)
        cost[i] = cost_of(&arena, "\"M\",\"N\"", "\"N\"", body, dims[i], false);
    assert_int_equal(cost[0].limiter, COST_LATENCY);
    assert_true(cost[0].seconds > 3 * cost[1].seconds);
    assert_true(cost[1].seconds > 2 * cost[2].seconds);
    assert_true(cost[2].seconds < 3 * cost[2].memory_s);
    arena_release(&arena);
}

/* As many elements, but each lane in a sector of its own: eight times the bytes where nobody comes
 * back for the rest. */
static void test_sectors(void **state UNUSED)
{
    struct arena arena;
    const char *const matrix = "\"M\",\"N\"", *const turned = "\"N\",\"M\"";
    arena_init(&arena, ARENA_BYTES);
    for (int maps = 0; maps < 2; maps++) {
        struct region_cost straight =
            cost_of(&arena, matrix, matrix, "\"y[m,n] = x[m,n]\"", "M=8192,N=8192", maps);
        struct region_cost across =
            cost_of(&arena, turned, matrix, "\"y[m,n] = x[n,m]\"", "M=8192,N=8192", maps);
        struct region_cost lost =
            cost_of(&arena, turned, matrix, "\"y[m,n] = x[n,m]\"", "M=64,N=1048576", maps);
        double bytes = 8192.0 * 8192 * 4;
        assert_true(straight.bytes == 2 * bytes);
        assert_true(across.bytes == 2 * bytes); /* from DRAM; L2 has the other lanes' parts */
        assert_true(lost.bytes == 9 * bytes);
        assert_true(across.memory_s > 1.3 * straight.memory_s);
        assert_true(lost.memory_s > 4 * straight.memory_s);
        assert_true(fabs(across.shared_s / straight.shared_s - 32) < 1e-6);
    }
    arena_release(&arena);
}

/* A thread that goes along a row of its own finds the rest of its sectors in L1. */
static void test_own_rows(void **state UNUSED)
{
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    struct region_cost own =
        cost_of(&arena, "\"M\",\"N\"", "\"M\"", "\"y[m] = sum(n) x[m,n]\"", "M=524288,N=64", false);
    struct region_cost columns =
        cost_of(&arena, "\"M\",\"N\"", "\"N\"", "\"y[n] = sum(m) x[m,n]\"", "M=64,N=524288", false);
    assert_true(own.bytes == columns.bytes);
    assert_true(fabs(own.memory_s / columns.memory_s - 1) < 1e-6);
    assert_true(own.shared_s > 8 * columns.shared_s);
    arena_release(&arena);
}

/* Bytes that are written take longer than bytes that are read. */
static void test_reads_and_writes(void **state UNUSED)
{
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    struct region_cost reads =
        cost_of(&arena, "\"M\",\"N\"", "\"N\"", "\"y[n] = sum(m) x[m,n]\"", "M=64,N=524288", false);
    struct region_cost writes =
        cost_of(&arena, "\"N\"", "\"M\",\"N\"", "\"y[m,n] = x[n]\"", "M=64,N=524288", true);
    assert_true(reads.bytes == writes.bytes);
    assert_true(writes.memory_s > 1.05 * reads.memory_s);
    assert_true(writes.memory_s < 1.2 * reads.memory_s);
    arena_release(&arena);
}

/* A block that waits alone adds its wait to what its SM is busy for; many hide each other's. */
static void test_waits_overlap(void **state UNUSED)
{
    static const char body[] = "\"y[m,n] = x[m,n] + 1.0\"";
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    struct region_cost one =
        cost_of(&arena, "\"M\",\"N\"", "\"M\",\"N\"", body, "M=1,N=1024", true);
    struct region_cost many =
        cost_of(&arena, "\"M\",\"N\"", "\"M\",\"N\"", body, "M=65536,N=4096", true);
    double memory = fmax(one.memory_s, one.compute_s);
    assert_true(one.busy_s >= one.latency_s + memory);
    assert_true(many.busy_s >= many.memory_s);
    assert_true(many.busy_s < 1.1 * many.memory_s);
    assert_true(many.busy_s < many.memory_s + many.latency_s);
    arena_release(&arena);
}

/* Two warps keep two of four schedulers busy, and those not all the time. */
static void test_few_warps(void **state UNUSED)
{
    static const struct row_numbers wide = {512, 4, 8, false, false};
    static const struct row_numbers narrow = {64, 4, 64, false, false};
    struct region_cost cost[2];
    struct arena arena;
    struct buf shapes;
    arena_init(&arena, ARENA_BYTES);
    buf_init(&shapes, &arena, PLANS_TEXT_BYTES);
    buf_printf(&shapes, "%s,%s", tensor(&arena, "x", "input", "\"M\",\"N\""),
               tensor(&arena, "y", "output", "\"M\""));
    const struct bound_op *bound =
        op_of(&arena, shapes.at, "\"y[m] = sum(n) x[m,n]\"", "M=132,N=4096");
    for (size_t i = 0; i < 2; i++)
        cost_region(&arena,
                    plans_plan(&arena, bound, plans_rows(&arena, bound, i ? &narrow : &wide), ""),
                    0, bound, plans_machine(&arena, "h200-sxm"), &cost[i]);
    assert_true(cost[1].compute_s < cost[0].compute_s); /* each thread has some of its own */
    assert_true(cost[1].busy_s > cost[0].busy_s + cost[0].compute_s);
    arena_release(&arena);
}

/* A machine starts one block after the other: small blocks are no faster than that. */
static void test_dispatch(void **state UNUSED)
{
    struct arena arena;
    double busy[3];
    static const int threads[] = {32, 64, 256};
    arena_init(&arena, ARENA_BYTES);
    const char *copy[] = {tensor(&arena, "x", "input", "\"M\",\"N\""),
                          tensor(&arena, "y", "output", "\"M\",\"N\"")};
    struct buf shapes;
    buf_init(&shapes, &arena, PLANS_TEXT_BYTES);
    buf_printf(&shapes, "%s,%s", copy[0], copy[1]);
    const struct bound_op *bound =
        op_of(&arena, shapes.at, "\"y[m,n] = x[m,n]\"", "M=16384,N=4096");
    for (size_t i = 0; i < 3; i++) {
        struct region_cost cost;
        struct buf region;
        buf_init(&region, &arena, PLANS_TEXT_BYTES);
        buf_printf(&region,
                   "{\"stmts\":[0],\"primitives\":[\"vector-access\"],\"tiles\":[],"
                   "\"stages\":[],\"threads\":[%d,1,1],\"vector\":4,\"precision\":\"f32\"}",
                   threads[i]);
        cost_region(&arena, plans_plan(&arena, bound, region.at, ""), 0, bound,
                    plans_machine(&arena, "h200-sxm"), &cost);
        busy[i] = cost.busy_s;
    }
    assert_true(busy[0] > 300e-6 && busy[0] < 330e-6); /* 319 us were measured, as 162 and 132 */
    assert_true(fabs(busy[0] / busy[1] - 2) < 1e-6);
    assert_true(busy[2] < 0.9 * busy[1]);
    arena_release(&arena);
}

/* Each slot of a row is guarded; around a maximum that takes registers for its position. */
static void test_guards(void **state UNUSED)
{
    static const struct row_numbers held = {64, 4, 64, false, false};
    static const char *const bodies[] = {"\"y[m] = sum(n) x[m,n]\"", "\"y[m] = max(n) x[m,n]\""};
    struct region_cost cost[2];
    struct arena arena;
    struct buf shapes;
    arena_init(&arena, ARENA_BYTES);
    buf_init(&shapes, &arena, PLANS_TEXT_BYTES);
    buf_printf(&shapes, "%s,%s", tensor(&arena, "x", "input", "\"M\",\"N\""),
               tensor(&arena, "y", "output", "\"M\""));
    for (size_t i = 0; i < 2; i++) {
        const struct bound_op *bound = op_of(&arena, shapes.at, bodies[i], "M=4096,N=4096");
        cost_region(&arena, plans_plan(&arena, bound, plans_rows(&arena, bound, &held), ""), 0,
                    bound, plans_machine(&arena, "h200-sxm"), &cost[i]);
    }
    assert_true(cost[0].blocks_per_sm >= 8);
    assert_int_equal(cost[1].blocks_per_sm, 4); /* 203 registers a thread */
    assert_true(cost[1].busy_s > 1.2 * cost[0].busy_s);
    arena_release(&arena);
}

/* A sum over what comes before is kept running: twice the length takes twice as long. */
static void test_running_sums(void **state UNUSED)
{
    struct arena arena;
    const char *const matrix = "\"M\",\"N\"";
    arena_init(&arena, ARENA_BYTES);
    struct region_cost one =
        cost_of(&arena, matrix, matrix, "\"y[m,n] = sum(j <= n) x[m,j]\"", "M=16384,N=4096", false);
    struct region_cost two =
        cost_of(&arena, matrix, matrix, "\"y[m,n] = sum(j <= n) x[m,j]\"", "M=16384,N=8192", false);
    assert_true(two.busy_s > 1.9 * one.busy_s);
    assert_true(two.busy_s < 2.1 * one.busy_s);
    arena_release(&arena);
}

/* Subscripts that divide cost what divisions cost. */
static void test_subscripts(void **state UNUSED)
{
    struct arena arena;
    const char *const matrix = "\"M\",\"N\"";
    arena_init(&arena, ARENA_BYTES);
    for (int maps = 0; maps < 2; maps++) {
        struct region_cost plain =
            cost_of(&arena, matrix, matrix, "\"y[m,n] = x[m,n]\"", "M=8192,N=8192", maps);
        struct region_cost turned =
            cost_of(&arena, matrix, matrix, "\"y[m,n] = x[m,(n + M) % N]\"", "M=8192,N=8192", maps);
        assert_true(turned.compute_s > 1.1 * plain.compute_s);
    }
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_in_flight), cmocka_unit_test(test_sectors),
        cmocka_unit_test(test_own_rows),        cmocka_unit_test(test_reads_and_writes),
        cmocka_unit_test(test_waits_overlap),   cmocka_unit_test(test_few_warps),
        cmocka_unit_test(test_dispatch),        cmocka_unit_test(test_guards),
        cmocka_unit_test(test_running_sums),    cmocka_unit_test(test_subscripts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
