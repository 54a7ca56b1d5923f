/* Costs of plans: sums of their terms, and what each number of a machine or plan does to them. */
#include <math.h>
#include <string.h>

#include "solver/cost/cost.h"
#include "tests/unit/solver/ir/plans.h"

enum { ARENA_BYTES = 256 << 20 };

static const char two_regions[] =
    "{\"stmts\":[0,1],\"primitives\":[\"reduction-tree\",\"block-cooperative-summary\","
    "\"vector-access\"],\"tiles\":[{\"index\":\"m\",\"block\":1,\"thread\":1},"
    "{\"index\":\"n\",\"block\":4096,\"thread\":8}],\"stages\":[],"
    "\"threads\":[512,1,1],\"vector\":4,\"precision\":\"f32\"},"
    "{\"stmts\":[2],\"primitives\":[\"vector-access\"],\"tiles\":[],\"stages\":[],"
    "\"threads\":[256,1,1],\"vector\":4,\"precision\":\"f32\"}";

static void assert_near(const char *what, double got, double want, double relative)
{
    if (!(fabs(got - want) <= relative * fabs(want)))
        fail_msg("%s: %.10g, expected %.10g", what, got, want);
}

static const char *edge_text(struct arena *arena, const char *residency)
{
    struct buf text;
    buf_init(&text, arena, PLANS_TEXT_BYTES);
    buf_printf(&text, "{\"tensor\":\"r\",\"from\":0,\"to\":1,\"residency\":\"%s\"}", residency);
    return text.at;
}

static const struct plan *rmsnorm_plan(struct arena *arena, const struct bound_op **bound,
                                       const char *residency)
{
    *bound = plans_op(arena, "rmsnorm");
    return plans_plan(arena, *bound, two_regions, edge_text(arena, residency));
}

/* DESIGN section 3: regions alone and pairs of regions, nothing else. */
static void test_sum_of_terms(void **state UNUSED)
{
    struct arena arena;
    struct plan_cost cost;
    const struct bound_op *bound;
    arena_init(&arena, ARENA_BYTES);
    const struct plan *plan = rmsnorm_plan(&arena, &bound, "global");
    const struct machine *h200 = plans_machine(&arena, "h200-sxm");
    cost_plan(&arena, plan, bound, h200, &cost);
    assert_int_equal(cost.region_count, 2);
    assert_int_equal(cost.edge_count, 1);
    double sum = 0;
    for (size_t i = 0; i < cost.region_count; i++) {
        const struct region_cost *r = &cost.regions[i];
        struct region_cost alone;
        cost_region(&arena, plan, i, bound, h200, &alone);
        assert_near("region alone", alone.seconds, r->seconds, 0);
        double most = fmax(fmax(r->memory_s, r->compute_s), fmax(r->shared_s, r->latency_s));
        assert_true(r->busy_s >= most);
        assert_true(r->carried_s >= 0 && r->carried_s <= r->memory_s);
        assert_near("what it is busy for", r->seconds, r->launch_s + r->busy_s - r->carried_s,
                    1e-12);
        sum += r->seconds;
    }
    struct edge_cost edge;
    cost_edge(plan, 0, bound, h200, &edge);
    assert_true(edge.seconds > 0);
    assert_near("sum", cost.seconds, sum + edge.seconds, 1e-12);
    /* Regions leave to edges what edges take. */
    double carried = cost.regions[0].carried_s + cost.regions[1].carried_s;
    assert_near("carried", carried, edge.seconds, 1e-12);
    arena_release(&arena);
}

/* Two maps of a matrix, each in either direction. */
static const struct plan *handing_plan(struct arena *arena, const char *dims,
                                       const struct bound_op **bound, bool first, bool second)
{
    static const char path[] = "tests/cases/joint/walk_pair.json";
    static const char region[] = "{\"stmts\":[%d],\"primitives\":[\"vector-access\"],\"tiles\":[],"
                                 "\"stages\":[],\"threads\":[256,1,1],\"vector\":4,"
                                 "\"precision\":\"f32\",\"reverse\":%s}";
    struct err err = {0};
    struct str text;
    struct formula_env shape;
    struct buf regions;
    const struct op *op;
    assert_ok(file_read(arena, path, OP_SPEC_BYTES_MAX, &text, &err));
    assert_ok(op_parse(arena, text, path, NULL, &op, &err));
    assert_ok(op_parse_dims(arena, op, str_from(dims), &shape, &err));
    assert_ok(op_bind(arena, op, &shape, bound, &err));
    buf_init(&regions, arena, PLANS_TEXT_BYTES);
    buf_printf(&regions, region, 0, first ? "true" : "false");
    buf_char(&regions, ',');
    buf_printf(&regions, region, 1, second ? "true" : "false");
    return plans_plan(arena, *bound, regions.at,
                      "{\"tensor\":\"t\",\"from\":0,\"to\":1,\"residency\":\"global\"}");
}

/* The directions are a matter of the edge alone; only whether they differ counts, and to differ is
 * never dearer: cheaper when L2 holds a part of the tensor, as dear when it holds all. */
static void test_directions(void **state UNUSED)
{
    static const struct {
        const char *dims;
        bool gains;
    } cases[] = {{"M=1024,N=4096", false}, {"M=4096,N=4096", true}, {"M=16384,N=4096", true}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct plan_cost cost[4];
        arena_init(&arena, ARENA_BYTES);
        for (size_t k = 0; k < 4; k++) {
            const struct bound_op *bound;
            const struct plan *plan = handing_plan(&arena, cases[i].dims, &bound, k & 1, k & 2);
            cost_plan(&arena, plan, bound, plans_machine(&arena, "h200-sxm"), &cost[k]);
            double sum = cost[k].edges[0].seconds;
            for (size_t r = 0; r < 2; r++) {
                sum += cost[k].regions[r].seconds;
                assert_near("region", cost[k].regions[r].seconds, cost[0].regions[r].seconds, 0);
            }
            assert_near("sum", cost[k].seconds, sum, 1e-12);
        }
        assert_near("both from the end", cost[3].seconds, cost[0].seconds, 0);
        assert_near("either from the end", cost[1].seconds, cost[2].seconds, 0);
        assert_true(cost[1].seconds <= cost[0].seconds);
        assert_int_equal(cost[1].seconds < cost[0].seconds, cases[i].gains);
        arena_release(&arena);
    }
}

/* A region's term does not depend on how the other one is realised. */
static void test_terms_are_local(void **state UNUSED)
{
    struct arena arena;
    const struct bound_op *bound;
    struct region_cost before, after;
    arena_init(&arena, ARENA_BYTES);
    const struct plan *plan = rmsnorm_plan(&arena, &bound, "global");
    const struct machine *h200 = plans_machine(&arena, "h200-sxm");
    struct plan changed = *plan;
    struct plan_region regions[2] = {plan->regions[0], plan->regions[1]};
    regions[0].threads[0] = 1024;
    changed.regions = regions;
    cost_region(&arena, plan, 1, bound, h200, &before);
    cost_region(&arena, &changed, 1, bound, h200, &after);
    assert_near("second region", after.seconds, before.seconds, 0);
    cost_region(&arena, plan, 0, bound, h200, &before);
    cost_region(&arena, &changed, 0, bound, h200, &after);
    assert_true(after.blocks_per_sm != before.blocks_per_sm);
    arena_release(&arena);
}

/* An edge that plan_limits refuses is no cheaper. */
static void test_edges(void **state UNUSED)
{
    static const struct {
        const char *residency;
        double bytes;
    } cases[] = {{"global", 2 * 8192 * 4},
                 {"shared", 2 * 8192 * 4},
                 {"register", 2 * 8192 * 4},
                 {"recompute", 2 * 8192 * 4}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct edge_cost edge;
        const struct bound_op *bound;
        arena_init(&arena, ARENA_BYTES);
        const struct plan *plan = rmsnorm_plan(&arena, &bound, cases[i].residency);
        cost_edge(plan, 0, bound, plans_machine(&arena, "h200-sxm"), &edge);
        assert_near(cases[i].residency, edge.bytes, cases[i].bytes, 0);
        assert_int_equal(edge.seconds > 0, edge.bytes > 0);
        arena_release(&arena);
    }
}

static struct region_cost tile_cost(struct arena *arena, const struct tile_numbers *tile,
                                    const struct machine *machine)
{
    struct region_cost cost;
    const struct bound_op *bound = plans_op(arena, "matmul");
    cost_region(arena, plans_plan(arena, bound, plans_tile(arena, tile), ""), 0, bound, machine,
                &cost);
    return cost;
}

/* The same machine with more or fewer SMs of the same kind. */
static struct machine with_sms(const struct machine *machine, int64_t sms)
{
    struct machine other = *machine;
    for (size_t i = 0; i < MACHINE_RATE_COUNT; i++)
        other.rates[i] *= (double)sms / (double)machine->sm_count;
    other.sm_count = sms;
    return other;
}

/* 1024 blocks of 128 x 128 on 132 SMs, one at a time: eight waves; a block more is a wave more. */
static void test_waves(void **state UNUSED)
{
    static const struct tile_numbers tile = {128, 128, 16, 8, 8, 256};
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    const struct machine *h200 = plans_machine(&arena, "h200-sxm");
    struct region_cost eight = tile_cost(&arena, &tile, h200);
    assert_int_equal(eight.blocks, 1024);
    assert_int_equal(eight.blocks_per_sm, 1);
    assert_near("waves", eight.waves, 1024.0 / 132, 1e-12);
    struct machine exact = with_sms(h200, 128), short_of_one = with_sms(h200, 127);
    assert_near("as long", tile_cost(&arena, &tile, &exact).latency_s, eight.latency_s, 1e-9);
    assert_near("a wave more", tile_cost(&arena, &tile, &short_of_one).latency_s,
                eight.latency_s * 9 / 8, 1e-9);
    arena_release(&arena);
}

/* Rows that stream draw all that memory gives as long as the SMs at work can; a few cannot, and
 * take as long as fewer of them there are. */
static void test_few_sms_do_not_fill_memory(void **state UNUSED)
{
    struct arena arena;
    const struct bound_op *bound;
    struct region_cost cost[4];
    static const int64_t sms[] = {132, 100, 16, 8};
    arena_init(&arena, ARENA_BYTES);
    const struct plan *plan = rmsnorm_plan(&arena, &bound, "global");
    const struct machine *h200 = plans_machine(&arena, "h200-sxm");
    for (size_t i = 0; i < COUNT_OF(sms); i++) {
        struct machine some = with_sms(h200, sms[i]);
        cost_region(&arena, plan, 1, bound, &some, &cost[i]);
    }
    assert_near("100 SMs", cost[1].memory_s, cost[0].memory_s, 1e-2);
    assert_near("8 of 16 SMs", cost[3].memory_s, 2 * cost[2].memory_s, 1e-9);
    assert_true(cost[2].memory_s > 2 * cost[0].memory_s);
    arena_release(&arena);
}

/* Small tiles read more, long steps wait less. */
static void test_tiles(void **state UNUSED)
{
    static const struct tile_numbers large = {128, 128, 16, 8, 8, 256};
    static const struct tile_numbers small = {32, 32, 16, 2, 2, 256};
    static const struct tile_numbers deep = {128, 128, 32, 8, 8, 256};
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    const struct machine *h200 = plans_machine(&arena, "h200-sxm");
    struct region_cost of_large = tile_cost(&arena, &large, h200);
    struct region_cost of_small = tile_cost(&arena, &small, h200);
    assert_true(of_small.memory_s > 3 * of_large.memory_s);
    assert_true(of_small.shared_s > of_large.shared_s);
    assert_true(of_small.blocks_per_sm > of_large.blocks_per_sm);
    assert_true(tile_cost(&arena, &deep, h200).seconds <= of_large.seconds);
    double flops = 2 * pow(4096, 3);
    assert_near("flops", of_large.flops, flops, 0);
    assert_true(of_large.compute_s > flops / h200->rates[MACHINE_RATE_F32]);
    arena_release(&arena);
}

static struct region_cost row_cost(struct arena *arena, const char *op,
                                   const struct row_numbers *rows, const struct machine *machine)
{
    struct region_cost cost;
    const struct bound_op *bound = plans_op(arena, op);
    cost_region(arena, plans_plan(arena, bound, plans_rows(arena, bound, rows), ""), 0, bound,
                machine, &cost);
    return cost;
}

static void test_rows(void **state UNUSED)
{
    static const struct row_numbers held = {512, 4, 8, false, false};
    static const struct row_numbers streamed = {512, 4, 4, false, true};
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    struct machine machine = *plans_machine(&arena, "h200-sxm");
    struct region_cost once = row_cost(&arena, "softmax", &held, &machine);
    struct region_cost again = row_cost(&arena, "softmax", &streamed, &machine);
    double matrix = 4096.0 * 4096 * 4;
    assert_near("read and written once", once.bytes, 2 * matrix, 0);
    assert_near("three passes", again.bytes, 4 * matrix, 0);
    assert_true(again.seconds > once.seconds);
    assert_int_equal(once.limiter, COST_MEMORY);
    machine.dram_bytes_per_s /= 2;
    struct region_cost half = row_cost(&arena, "softmax", &held, &machine);
    assert_near("half the bandwidth", half.memory_s, 2 * once.memory_s, 1e-12);
    assert_near("launch", half.launch_s, once.launch_s, 0);
    arena_release(&arena);
}

/* Streamed float sums are double: dear where f64 is a 64th. */
static void test_double_sums(void **state UNUSED)
{
    static const struct row_numbers streamed = {512, 4, 4, false, true};
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    struct region_cost ada = row_cost(&arena, "rowsum", &streamed, plans_machine(&arena, "l40s"));
    assert_true(ada.compute_s > 4096.0 * 4096 / (91.6e12 / 64 / 2));
    arena_release(&arena);
}

static void test_elements(void **state UNUSED)
{
    static const char elements[] =
        "{\"stmts\":[0],\"primitives\":[],\"tiles\":[],\"stages\":[],\"threads\":[256,1,1],"
        "\"precision\":\"f32\"}";
    struct arena arena;
    struct region_cost cost;
    static const struct tile_numbers tile = {128, 128, 16, 8, 8, 256};
    arena_init(&arena, ARENA_BYTES);
    const struct machine *h200 = plans_machine(&arena, "h200-sxm");
    const struct bound_op *bound = plans_op(&arena, "matmul");
    cost_region(&arena, plans_plan(&arena, bound, elements, ""), 0, bound, h200, &cost);
    assert_int_equal(cost.limiter, COST_COMPUTE);
    assert_true(cost.seconds > 3 * tile_cost(&arena, &tile, h200).seconds);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sum_of_terms),    cmocka_unit_test(test_directions),
        cmocka_unit_test(test_terms_are_local), cmocka_unit_test(test_edges),
        cmocka_unit_test(test_waves),           cmocka_unit_test(test_few_sms_do_not_fill_memory),
        cmocka_unit_test(test_tiles),           cmocka_unit_test(test_rows),
        cmocka_unit_test(test_double_sums),     cmocka_unit_test(test_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
