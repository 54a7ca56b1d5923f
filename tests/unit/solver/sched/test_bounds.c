/*
 * What branch and bound, the beam and factor_solve claim on graphs with cycles, against variable
 * elimination and brute force: proven optima are optima, bounds are not above them, "impossible" is
 * so, whatever the signs and sizes of costs.
 */
#include <string.h>

#include "tests/unit/solver/sched/random_graph.h"

static const size_t arena_bytes_max = (size_t)1 << 30;

typedef void solver(struct arena *, const struct factor_graph *, const struct factor_options *,
                    struct factor_result *);
static const struct {
    const char *name;
    solver *solve;
} solvers[] = {{"bnb", factor_bnb}, {"beam", factor_beam}, {"solve", factor_solve}};

/* Costs: uniform from `low` to `low + range`, times `large` with a chance of one in `large_one_in`.
 */
struct costs {
    struct rng *rng;
    double low, range, large;
    uint32_t large_one_in, forbidden_percent;
    bool whole;
};

static double draw(const struct costs *c)
{
    double cost = c->low + c->range * (rng_u32(c->rng) / 0x1p32);
    if (c->whole)
        cost = floor(cost);
    return rng_below(c->rng, c->large_one_in) == 0 ? cost * c->large : cost;
}

static double entry(const void *context, size_t row UNUSED, size_t column UNUSED)
{
    const struct costs *c = context;
    return rng_below(c->rng, 100) < c->forbidden_percent ? (double)INFINITY : draw(c);
}

static const struct {
    const char *name;
    struct costs costs;
} kinds[] = {
    {"positive", {.range = 1, .large = 1, .large_one_in = 1}},
    {"both signs", {.low = -1, .range = 2, .large = 1, .large_one_in = 1, .forbidden_percent = 15}},
    {"negative", {.low = -5, .range = 4, .large = 1, .large_one_in = 1, .forbidden_percent = 30}},
    {"ties", {.low = -2, .range = 5, .large = 1, .large_one_in = 1, .whole = true}},
    {"tight", {.low = -2, .range = 5, .large = 1, .large_one_in = 1, .forbidden_percent = 50}},
    {"penalties", {.low = -1, .range = 2, .large = 1e12, .large_one_in = 6}},
    {"zero", {.large = 1, .large_one_in = 1, .forbidden_percent = 35}},
    {"huge", {.low = -1, .range = 2, .large = 1e290, .large_one_in = 9}},
};

/* Two parts without an edge between them: a grid, and a random graph of `edge_percent`. */
static struct factor_graph make_graph(struct arena *arena, const struct costs *costs, size_t side,
                                      size_t loose, size_t values_max, uint32_t edge_percent)
{
    const size_t n = side * side + loose;
    struct factor_variable *variables = arena_array(arena, struct factor_variable, n + 1);
    struct factor_edge *edges = arena_array(arena, struct factor_edge, n * n + 1);
    size_t count = 0;
    for (size_t v = 0; v < n; v++) {
        const size_t values = 1 + rng_below(costs->rng, (uint32_t)values_max);
        double *unary = arena_array(arena, double, values);
        for (size_t x = 0; x < values; x++)
            unary[x] = draw(costs);
        variables[v] =
            (struct factor_variable){.domain = factor_domain_whole(arena, values), .unary = unary};
    }
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++) {
            const bool grid = b < side * side && ((b == a + 1 && b % side != 0) || b == a + side);
            const bool random = a >= side * side && rng_below(costs->rng, 100) < edge_percent;
            if (!grid && !random)
                continue;
            const bool turned = rng_below(costs->rng, 2) == 0;
            edges[count].a = turned ? b : a;
            edges[count].b = turned ? a : b;
            edges[count].table =
                factor_table(arena, variables[edges[count].a].domain->count,
                             variables[edges[count].b].domain->count, entry, costs);
            count++;
        }
    return (struct factor_graph){variables, n, edges, count};
}

static double size_of(const struct factor_graph *graph)
{
    double size = 0;
    for (size_t v = 0; v < graph->variable_count; v++)
        for (size_t x = 0; x < graph->variables[v].domain->count; x++)
            size = fmax(size, fabs(graph->variables[v].unary[x]));
    for (size_t i = 0; i < graph->edge_count; i++)
        size = fmax(size, fmax(fabs(graph->edges[i].table->least), graph->edges[i].table->most));
    return size;
}

struct seen {
    size_t graphs, impossible, proven;
};

static void check(const char *name, size_t number, const struct factor_graph *graph,
                  const struct factor_options *options, const struct factor_result *oracle,
                  struct arena *arena, struct seen *seen)
{
    /* of sums in another order */
    const double slack = 1e-11 * fabs(oracle->bound) + 1e-16 * size_of(graph);
    struct factor_result result;
    solvers[number].solve(arena, graph, options, &result);
    if (result.bound > oracle->bound + slack)
        fail_msg("%s, %s: bound %.17g is over the optimum %.17g", name, solvers[number].name,
                 result.bound, oracle->bound);
    if (result.claim == FACTOR_IMPOSSIBLE)
        assert_int_equal(oracle->claim, FACTOR_IMPOSSIBLE);
    if (oracle->claim == FACTOR_IMPOSSIBLE)
        assert_int_equal(result.count, 0);
    seen[number].graphs++;
    seen[number].impossible += result.claim == FACTOR_IMPOSSIBLE;
    /* the beam may stop anywhere, the others only at their limit */
    if (options->steps_max == 0 && solvers[number].solve != factor_beam)
        assert_int_equal(result.claim, oracle->claim);
    if (result.claim != FACTOR_OPTIMAL)
        return;
    seen[number].proven++;
    assert_int_equal(result.count, oracle->count);
    for (size_t i = 0; i < result.count; i++)
        if (fabs(result.best[i].cost - oracle->best[i].cost) > slack)
            fail_msg("%s, %s: assignment %zu costs %.17g, not %.17g", name, solvers[number].name, i,
                     result.best[i].cost, oracle->best[i].cost);
}

static void test_claims_are_true(void **state UNUSED)
{
    enum { GRAPHS = 500 };
    static const struct {
        size_t side, loose, values_max;
        uint32_t edge_percent;
    } shapes[] = {{3, 2, 4, 50}, {0, 8, 4, 60}, {2, 5, 5, 100}, {4, 0, 5, 0}, {0, 8, 5, 100}};
    struct seen seen[COUNT_OF(solvers)] = {0};
    size_t impossible = 0;
    for (size_t i = 0; i < GRAPHS * COUNT_OF(kinds); i++) {
        struct arena arena;
        struct rng rng;
        struct factor_result oracle;
        rng_init(&rng, i);
        arena_init(&arena, arena_bytes_max);
        struct costs costs = kinds[i % COUNT_OF(kinds)].costs;
        costs.rng = &rng;
        const size_t shape = i / COUNT_OF(kinds) % COUNT_OF(shapes);
        const struct factor_graph graph =
            make_graph(&arena, &costs, shapes[shape].side, shapes[shape].loose,
                       shapes[shape].values_max, shapes[shape].edge_percent);
        const struct factor_options options = {.best_count = i % 3 == 0 ? 3 : 1};
        const struct factor_options few = {.best_count = options.best_count, .steps_max = 2};
        factor_eliminate(&arena, &graph, &options, &oracle);
        assert_null(oracle.stopped);
        impossible += oracle.claim == FACTOR_IMPOSSIBLE;
        for (size_t k = 0; k < COUNT_OF(solvers); k++) {
            check(kinds[i % COUNT_OF(kinds)].name, k, &graph, &options, &oracle, &arena, seen);
            check(kinds[i % COUNT_OF(kinds)].name, k, &graph, &few, &oracle, &arena, seen);
        }
        arena_release(&arena);
    }
    for (size_t k = 0; k < COUNT_OF(solvers); k++)
        print_message("%s: %zu of %zu runs proven, %zu impossible of %zu\n", solvers[k].name,
                      seen[k].proven, seen[k].graphs, seen[k].impossible, 2 * impossible);
    assert_true(impossible > 100);
    assert_true(seen[0].proven > GRAPHS * COUNT_OF(kinds));
    assert_true(seen[0].proven + seen[0].impossible < seen[0].graphs); /* some were stopped */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claims_are_true),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
