/* `plan`: the k best against the whole product, why-not against the limits, flips of a sweep. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/plan_view.h"
#include "tests/unit/solver/ir/plans.h"

enum { ARENA_BYTES = 1 << 30, BEST = 40 };

static struct plan_task task_named(struct arena *arena, const char *op, const char *machine)
{
    struct plan_task task = {.arena = arena, .bound = plans_op(arena, op)};

    task.op = task.bound->op;
    task.track = &task.op->tracks[0];
    task.machine = plans_machine(arena, machine);
    task.arch = str_copy(arena, task.machine->arch);
    return task;
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* Each plan around the best cover, built and priced as a whole; other covers may be among the best
 * too (tests/integration/test_covers.c has all of them). */
static void test_best_is_exact(void **state UNUSED)
{
    static const char *const ops[] = {"l2norm", "rmsnorm", "layernorm", "softmax"};
    struct arena arena;
    struct err err;

    arena_init(&arena, ARENA_BYTES);
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        const struct plan_task task = task_named(&arena, ops[i], "h200-sxm");
        struct plan_view view;
        struct space space;
        double *all;

        assert_ok(plan_explore(&task, BEST, &view, &err));
        space = view.space;
        assert_int_equal(space.domain_count, 1);
        all = arena_array(&arena, double, space.domains[0].count);
        assert_true(space.domains[0].count >= BEST);
        for (size_t k = 0; k < space.domains[0].count; k++) {
            const struct plan *plan = space_plan(&arena, view.skeleton, task.bound, &space, &k);
            struct plan_cost cost;

            cost_plan(&arena, plan, task.bound, task.machine, &cost);
            all[k] = cost.seconds;
        }
        space.plan_count = space.domains[0].count;
        qsort(all, space.plan_count, sizeof(all[0]), by_value);
        assert_int_equal(view.best_count, BEST);
        for (size_t k = 0; k < BEST; k++) {
            assert_true(view.best[k].limits.legal);
            assert_true(view.best[k].cost.seconds <= all[k] * (1 + 1e-12));
            assert_true(k > 0 || view.best[k].cost.seconds >= all[k] * (1 - 1e-12));
            assert_true(k == 0 || !plans_equal(view.best[k - 1].plan, view.best[k].plan));
        }
    }
    arena_release(&arena);
}

/* Terms add up to the cost, every limit that was looked at has its slack, and what is proven of
 * each of the k is said. */
static void assert_ranked_says_all(const struct json *plan, const char *statement)
{
    const struct json *regions = json_get(plan, "regions"), *edges = json_get(plan, "edges");
    const struct json *slack = json_get(plan, "slack");
    double sum = 0;

    for (size_t r = 0; r < regions->count; r++) {
        const struct json *region = &regions->items[r];
        double most = 0;
        static const char *const terms[] = {"memory_s", "compute_s", "shared_s", "latency_s"};

        for (size_t i = 0; i < COUNT_OF(terms); i++)
            most = fmax(most, json_get(region, terms[i])->real);
        assert_true(json_get(region, "busy_s")->real >= most);
        assert_true(fabs(json_get(region, "launch_s")->real + json_get(region, "busy_s")->real -
                         json_get(region, "carried_s")->real - json_get(region, "seconds")->real) <
                    1e-12);
        sum += json_get(region, "seconds")->real;
    }
    for (size_t e = 0; e < edges->count; e++)
        sum += edges->items[e].real;
    assert_true(fabs(sum - json_get(plan, "seconds")->real) < 1e-12);
    assert_true(slack->count >= regions->count * 6 + 1);
    for (size_t i = 0; i < slack->count; i++) {
        const struct json *line = &slack->items[i];

        assert_true(json_get(line, "left")->integer >= 0);
        assert_true(json_get(line, "left")->integer ==
                    json_get(line, "most")->integer - json_get(line, "value")->integer);
    }
    assert_string_equal(json_get(plan, "statement")->string.at, statement);
}

static void test_each_plan_says_all(void **state UNUSED)
{
    static const char *const statements[] = {"proven optimal", "proven number 2",
                                             "proven number 3"};
    struct arena arena;
    struct plan_view view;
    struct plan_rewrites rewrites;
    struct plan_report report = {.view = &view, .rewrites = &rewrites};
    struct json_writer w;
    const struct json *json;
    struct buf text;
    struct err err;

    arena_init(&arena, ARENA_BYTES);
    const struct plan_task task = task_named(&arena, "layernorm", "h200-sxm");
    assert_ok(plan_explore(&task, COUNT_OF(statements), &view, &err));
    assert_ok(plan_find_rewrites(&task, &rewrites, &err));
    buf_init(&text, &arena, PLAN_REPORT_BYTES_MAX);
    json_writer_init(&w, &text);
    plan_report_json(&w, &report);
    assert_ok(json_parse(&arena, buf_view(&text), "report", &json, &err));
    const struct json *best = json_get(json, "best");
    assert_int_equal(best->count, COUNT_OF(statements));
    for (size_t i = 0; i < best->count; i++)
        assert_ranked_says_all(&best->items[i], statements[i]);
    arena_release(&arena);
}

/* Where the solver stopped, or candidates did, no optimum is claimed. */
static void test_statements_are_honest(void **state UNUSED)
{
    struct arena arena;
    struct plan_view view;
    struct err err;

    arena_init(&arena, ARENA_BYTES);
    const struct plan_task task = task_named(&arena, "softmax", "h200-sxm");
    assert_ok(plan_explore(&task, 2, &view, &err));
    view.covers.candidates.stopped = "enough";
    assert_string_equal(plan_statement(&arena, &view, 0).at,
                        "proven optimal, among the regions that were generated");
    view.covers.candidates.stopped = NULL;
    view.covers.result.claim = FACTOR_WITHIN;
    view.covers.result.bound = view.best[0].cost.seconds / 1.25;
    assert_string_equal(plan_statement(&arena, &view, 0).at,
                        "within 25.00 % of the optimum, proven");
    view.covers.result.claim = FACTOR_HEURISTIC;
    assert_string_equal(plan_statement(&arena, &view, 1).at, "heuristic");
    arena_release(&arena);
}

static void test_why_not(void **state UNUSED)
{
    static const struct {
        const char *op, *sketch, *reason; /* empty = legal */
        bool outside;
    } cases[] = {
        {"matmul", "{\"tile\":{\"m\":64,\"n\":64}}", "", false},
        {"matmul", "{\"tile\":{\"m\":256,\"n\":256}}", "registers a block (estimate)", false},
        {"matmul", "{\"tile\":{\"m\":48,\"n\":64}}", "", true},
        {"matmul", "{\"tile\":{\"m\":2048}}", "along one side", true},
        {"matmul", "{\"tiles\":[{\"index\":\"k\",\"block\":512}]}", "along one side", true},
        {"matmul", "{\"vector\":3}", "power of two", true},
        {"matmul", "{\"primitives\":[\"tensor-core-tile\"]}", "", false},
        {"matmul", "{\"mma\":[16,8,12]}", "no instruction for", true},
        {"matmul", "{\"mma\":[16,8,16],\"depth\":40,\"staging\":\"async\"}", "has under way", true},
        {"matmul", "{\"depth\":4,\"staging\":\"shared\"}", "has under way", true},
        {"matmul", "{\"split\":1024}", "against its stages", true},
        {"matmul", "{\"staging\":\"async\",\"vector\":8}", "neither 4, 8 nor 16", true},
        {"gemv", "{\"staging\":\"async\"}", "uses staging", true},
        {"softmax", "{\"primitives\":[\"online-state-update\"]}", "", false},
        {"matmul", "{\"precision\":\"bf16\"}", "below what the track allows", true},
        {"softmax", "{\"threads\":96}", "warps beyond a power of two", true},
        {"softmax", "{\"threads\":[32,1,1],\"vector\":8}", "bytes a vector access", false},
        {"softmax", "{\"primitives\":[\"warp-cooperative-summary\",\"streaming-accumulation\"]}",
         "", false},
        {"cross_entropy", "{\"region\":1,\"threads\":64}", "", false},
    };
    struct arena arena;
    struct err err;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        arena_init(&arena, ARENA_BYTES);
        const struct plan_task task = task_named(&arena, cases[i].op, "h200-sxm");
        struct plan_view view;
        struct plan_why why;

        assert_ok(plan_explore(&task, 1, &view, &err));
        assert_ok(plan_why_not(&view, cases[i].sketch, &why, &err));
        if (why.outside != cases[i].outside ||
            (why.reason.len == 0) != (cases[i].reason[0] == '\0'))
            fail_msg("%s: outside %d, %.*s", cases[i].sketch, why.outside, STR_ARG(why.reason));
        if (why.reason.len > 0 &&
            memmem(why.reason.at, why.reason.len, cases[i].reason, strlen(cases[i].reason)) == NULL)
            fail_msg("%s: %.*s", cases[i].sketch, STR_ARG(why.reason));
        if (why.reason.len == 0)
            assert_true(why.seconds >= view.best[0].cost.seconds * (1 - 1e-12) && why.rank >= 1);
        arena_release(&arena);
    }
}

/* A plan's region as a document has it. */
static const char *region_text(struct arena *arena, const struct plan *plan)
{
    struct json_writer w;
    const struct json *json, *regions;
    struct buf whole, text;
    struct err err;

    buf_init(&whole, arena, PLANS_TEXT_BYTES);
    json_writer_init(&w, &whole);
    plan_print(&w, plan);
    assert_ok(json_parse(arena, buf_view(&whole), "plan", &json, &err));
    regions = json_get(json, "regions");
    buf_init(&text, arena, PLANS_TEXT_BYTES);
    json_writer_init(&w, &text);
    json_put_tree(&w, &regions->items[0]);
    return text.at;
}

/* The best choice, spelled out, is legal and first. */
static void test_best_ranks_first(void **state UNUSED)
{
    struct arena arena;
    struct plan_view view;
    struct plan_why why;
    struct err err;

    arena_init(&arena, ARENA_BYTES);
    const struct plan_task task = task_named(&arena, "softmax", "h200-sxm");
    assert_ok(plan_explore(&task, 1, &view, &err));
    assert_ok(plan_why_not(&view, region_text(&arena, view.best[0].plan), &why, &err));
    assert_int_equal(why.matching, 1);
    assert_int_equal(why.rank, 1);
    assert_int_equal(why.of, view.space.domains[0].count);
    assert_true(fabs(why.seconds - view.best[0].cost.seconds) < 1e-15);
    arena_release(&arena);
}

static const char too_many[] =
    "{\"tile\":{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,"
    "\"j\":1,\"k\":1,\"l\":1,\"m\":1}}";

static void test_bad_sketches(void **state UNUSED)
{
    static const char *const sketches[] = {
        "",
        "[]",
        "{}",
        "{\"tile\":{\"q\":3}}",
        "{\"tile\":{\"m\":0}}",
        "{\"tile\":{\"m\":{\"blok\":3}}}",
        "{\"tiles\":[{\"block\":3}]}",
        "{\"tile\":3}",
        "{\"threads\":[1,2]}",
        "{\"threads\":\"many\"}",
        "{\"region\":7}",
        "{\"primitives\":[\"tree\"]}",
        "{\"vector\":1e99}",
        "{\"deep\":2}",
        "{\"depth\":0}",
        "{\"mma\":[16,8]}",
        "{\"mma\":16}",
        "{\"staging\":\"fast\"}",
        "{\"stages\":[{\"tensor\":\"a\"}]}",
        "{\"precision\":\"f8\"}",
        "{\"layout\":\"\"}",
        "{\"reverse\":1}",
        too_many,
    };
    struct arena arena;
    struct plan_view view;
    struct plan_why why;
    struct err err;

    arena_init(&arena, ARENA_BYTES);
    const struct plan_task task = task_named(&arena, "matmul", "h200-sxm");
    assert_ok(plan_explore(&task, 1, &view, &err));
    for (size_t i = 0; i < COUNT_OF(sketches); i++)
        if (plan_why_not(&view, sketches[i], &why, &err))
            fail_msg("accepted: %s", sketches[i]);
    arena_release(&arena);
}

/* At a flip the plan is new, and one less byte would not have had it. */
static void test_flips_are_tight(void **state UNUSED)
{
    struct arena arena;
    struct plan_points points;
    struct err err;
    size_t flips = 0;

    arena_init(&arena, ARENA_BYTES);
    const struct plan_task task = task_named(&arena, "matmul", "h200-sxm");
    assert_ok(plan_vary(&task, "smem=8K..64K", &points, &err));
    for (size_t i = 1; i < points.count; i++) {
        struct plan_points before;
        char text[64];

        assert_true(points.items[i].value > points.items[i - 1].value);
        assert_int_equal(points.items[i].flips,
                         !plans_equal(points.items[i].plan, points.items[i - 1].plan));
        if (!points.items[i].flips)
            continue;
        flips++;
        snprintf(text, sizeof(text), "smem=%lld..%lld", (long long)points.items[i].value - 1,
                 (long long)points.items[i].value);
        assert_ok(plan_vary(&task, text, &before, &err));
        assert_false(plans_equal(before.items[0].plan, points.items[i].plan));
    }
    assert_true(flips > 0);
    arena_release(&arena);
}

static void test_ranges(void **state UNUSED)
{
    static const char *const bad[] = {"smem",
                                      "smem=",
                                      "smem=8K",
                                      "smem=8K..",
                                      "smem=8K...9K",
                                      "smem=9K..8K",
                                      "smem=1..8K",
                                      "l1=1K..2K",
                                      "smem=-1..8K",
                                      "smem=1K..99999999999999T",
                                      "dram=1..2",
                                      "smem=8X..16K",
                                      "smem=8K..9KK",
                                      "sm-share=10..50%",
                                      "sm-share=50%..10%",
                                      "sm-share=0..50%",
                                      "sm-share=0.5%..50%" /* of 132 SMs: none */,
                                      "sm-share=50%..101%"};
    struct arena arena;
    struct plan_points points;
    struct err err;

    arena_init(&arena, ARENA_BYTES);
    const struct plan_task task = task_named(&arena, "relu", "h200-sxm");
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        if (plan_vary(&task, bad[i], &points, &err))
            fail_msg("accepted: %s", bad[i]);
    assert_ok(plan_vary(&task, "sm_count=100..132", &points, &err));
    assert_int_equal(points.items[0].value, 100);
    assert_int_equal(points.items[points.count - 1].value, 132);
    arena_release(&arena);
}

/* A share has its SMs' part of the arithmetic, and the memory whole. */
static void test_share(void **state UNUSED)
{
    struct arena arena;
    struct plan_view whole, half;
    struct plan_points points;
    struct err err;
    const char *const ops[] = {"matmul", "softmax"};

    arena_init(&arena, ARENA_BYTES);
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        struct plan_task task = task_named(&arena, ops[i], "h200-sxm");
        struct region_cost before, after;

        assert_ok(plan_explore(&task, 1, &whole, &err));
        assert_ok(plan_vary(&task, "sm-share=0.5..50%", &points, &err));
        assert_ok(
            machine_with_share(&arena, task.machine, MACHINE_SHARE_WHOLE / 2, &task.machine, &err));
        assert_int_equal(task.machine->sm_count, 66);
        assert_ok(plan_explore(&task, 1, &half, &err));
        assert_true(fabs(half.sol.compute_s / whole.sol.compute_s - 2) < 1e-9);
        assert_true(half.sol.memory_s == whole.sol.memory_s);
        assert_true(half.sol.seconds <= half.best[0].cost.seconds);
        assert_true(half.best[0].cost.seconds > whole.best[0].cost.seconds);
        assert_int_equal(points.count, 1);
        assert_true(points.items[0].seconds == half.best[0].cost.seconds);
        cost_region(&arena, whole.best[0].plan, 0, task.bound, whole.task.machine, &before);
        cost_region(&arena, whole.best[0].plan, 0, task.bound, task.machine, &after);
        assert_true(fabs(after.waves / before.waves - 2) < 1e-9);
        assert_true(fabs(after.compute_s / before.compute_s - 2) < 0.1);
    }
    arena_release(&arena);
}

static void test_share_texts(void **state UNUSED)
{
    static const struct {
        const char *text, *rest, *printed;
    } cases[] = {{"0.5", "", "50%"},
                 {"50%", "", "50%"},
                 {"12.5%..x", "..x", "12.5%"},
                 {"0.0101..1", "..1", "1.01%"},
                 {"1", "", "100%"},
                 {"1..1", "..1", "100%"},
                 {"0.01%", "", "0.01%"},
                 {"100%", "", "100%"},
                 {"33.33%x", "x", "33.33%"}};
    struct arena arena;

    arena_init(&arena, ARENA_BYTES);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *at = cases[i].text;
        struct buf printed;
        int64_t share = 0;

        buf_init(&printed, &arena, ERR_TEXT_BYTES);
        assert_true(machine_share_read(&at, &share));
        assert_string_equal(at, cases[i].rest);
        machine_share_print(&printed, share);
        assert_string_equal(printed.at, cases[i].printed);
    }
    arena_release(&arena);
}

static void test_no_plan(void **state UNUSED)
{
    struct arena arena;
    struct plan_view view;
    struct plan_why why;
    struct err err;

    arena_init(&arena, ARENA_BYTES);
    struct plan_task task = task_named(&arena, "matmul", "h200-sxm");
    struct machine small = *task.machine;
    small.dram_bytes = 1 << 20; /* the tensors take more, whatever the regions are */
    task.machine = &small;
    assert_ok(plan_explore(&task, 5, &view, &err));
    assert_int_equal(view.best_count, 0);
    assert_true(view.why_none.len > 0);
    assert_ok(plan_why_not(&view, "{\"tile\":{\"m\":64}}", &why, &err));
    assert_true(why.reason.len > 0);
    arena_release(&arena);
}

/* What means nothing changes no plan: x * 1, x + 0 and -(-x) around a product and its factors. */
static void test_noise(void **state UNUSED)
{
    static const char spec[] =
        "{\"spec\":1,\"name\":\"p\",\"tracks\":{\"f32\":{}},\"dims\":{},\"shapes\":{\"target\":"
        "[{}]},\"tensors\":[{\"name\":\"a\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":"
        "[512,256]},{\"name\":\"b\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[256,512]},"
        "{\"name\":\"c\",\"role\":\"output\",\"dtype\":\"f32\",\"shape\":[512,512]}],"
        "\"body\":[\"c[m,n] = sum(k) %s\"]}";
    static const char *const values[] = {
        "a[m,k] * b[k,n]", "a[m,k] * b[k,n] * 1.0", "1 * (a[m,k] * b[k,n]) + 0",
        "(a[m,k] / 1 - 0) * (0 + b[k,n])", "-(-((1.0 * a[m,k]) * -(-b[k,n])))"};
    struct arena arena;
    struct plan_view first, view;
    struct err err;

    arena_init(&arena, ARENA_BYTES);
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        struct plan_task task = {.arena = &arena, .arch = "sm_90a"};
        struct buf text;

        buf_init(&text, &arena, PLANS_TEXT_BYTES);
        buf_printf(&text, spec, values[i]);
        assert_ok(op_parse(&arena, buf_view(&text), "spec", NULL, &task.op, &err));
        assert_ok(op_bind_shape(&arena, task.op, &task.op->targets[0], &task.bound, &err));
        task.track = &task.op->tracks[0];
        task.machine = plans_machine(&arena, "h200-sxm");
        assert_ok(plan_explore(&task, 1, &view, &err));
        if (i == 0)
            first = view;
        assert_int_equal(view.covers.problem.legal, first.covers.problem.legal);
        assert_true(view.best[0].cost.seconds == first.best[0].cost.seconds);
        assert_true(view.sol.seconds == first.sol.seconds);
        assert_true(view.sol.flops == first.sol.flops);
    }
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_best_is_exact),
        cmocka_unit_test(test_each_plan_says_all),
        cmocka_unit_test(test_statements_are_honest),
        cmocka_unit_test(test_why_not),
        cmocka_unit_test(test_best_ranks_first),
        cmocka_unit_test(test_bad_sketches),
        cmocka_unit_test(test_flips_are_tight),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_no_plan),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_share),
        cmocka_unit_test(test_share_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
