/*
 * Every solver against brute force, on thousands of random graphs.
 */
#include <string.h>

#include "tests/unit/solver/sched/random_graph.h"

enum { GRAPHS = 1500 };
static const size_t arena_bytes_max = (size_t)1 << 30;
static const double tolerance = 1e-9;

typedef void solver(struct arena *, const struct factor_graph *, const struct factor_options *,
                    struct factor_result *);

static const struct {
    const char *name;
    struct random_options options;
} shapes[] = {
    {"sparse", {7, 4, 30, 20, false, false}},      {"dense", {6, 4, 90, 30, false, false}},
    {"ties", {6, 4, 50, 25, false, true}},         {"soft", {7, 4, 40, 0, false, false}},
    {"tight", {8, 3, 40, 55, false, true}},        {"chain", {9, 4, 95, 20, true, false}},
    {"chain of ties", {9, 4, 85, 30, true, true}}, {"lonely", {6, 5, 5, 50, false, false}},
};

static bool near(double a, double b)
{
    return a == b || fabs(a - b) <= tolerance;
}

/* Each assignment is legal, costs what it says, differs from the others; they are in order. */
static void check_assignments(const char *what, const struct factor_graph *graph,
                              const struct factor_result *result)
{
    for (size_t i = 0; i < result->count; i++) {
        const struct factor_assignment *own = &result->best[i];
        for (size_t v = 0; v < graph->variable_count; v++)
            assert_true(own->values[v] < graph->variables[v].domain->count);
        if (factor_cost(graph, own->values) != own->cost || !(own->cost < INFINITY))
            fail_msg("%s: assignment %zu costs %g, not %g", what, i,
                     factor_cost(graph, own->values), own->cost);
        for (size_t k = 0; k < i; k++)
            assert_true(memcmp(own->values, result->best[k].values,
                               graph->variable_count * sizeof(*own->values)) != 0);
        assert_true(i == 0 || result->best[i - 1].cost <= own->cost);
    }
}

static void check_exact(const char *name, solver *solve, const struct factor_graph *graph,
                        const struct factor_options *options, const struct factor_result *oracle,
                        struct arena *arena)
{
    struct factor_result result;
    solve(arena, graph, options, &result);
    check_assignments(name, graph, &result);
    if (result.claim != oracle->claim || result.count != oracle->count)
        fail_msg("%s: %s with %zu, brute force %s with %zu", name, factor_claim_text(result.claim),
                 result.count, factor_claim_text(oracle->claim), oracle->count);
    for (size_t i = 0; i < result.count; i++)
        if (!near(result.best[i].cost, oracle->best[i].cost))
            fail_msg("%s: assignment %zu costs %.17g, brute force has %.17g", name, i,
                     result.best[i].cost, oracle->best[i].cost);
}

/* Legal, never better than the optimum, impossible exactly when it is so. */
static void check_heuristic(const char *name, solver *solve, const struct factor_graph *graph,
                            const struct factor_options *options,
                            const struct factor_result *oracle, struct arena *arena, bool complete)
{
    struct factor_result result;
    solve(arena, graph, options, &result);
    check_assignments(name, graph, &result);
    if (oracle->claim == FACTOR_IMPOSSIBLE) {
        assert_int_equal(result.count, 0);
        if (complete)
            assert_int_equal(result.claim, FACTOR_IMPOSSIBLE);
        return;
    }
    if (complete && result.count == 0)
        fail_msg("%s: %s, but there is an assignment", name, factor_claim_text(result.claim));
    if (result.count == 0)
        return;
    const double optimum = oracle->best[0].cost;
    assert_true(result.best[0].cost >= optimum - tolerance);
    assert_true(result.bound <= optimum + tolerance);
    if (result.claim == FACTOR_OPTIMAL)
        assert_true(near(result.best[0].cost, optimum));
}

static void check_graph(struct arena *arena, const struct factor_graph *graph, uint32_t number)
{
    const struct factor_options options = {.best_count = 1 + number % 6, .beam_width = 3};
    const struct factor_options few = {.best_count = 1, .steps_max = 5};
    const struct factor_options seeded = {.best_count = 2, .seed = number, .restarts = 2};
    struct factor_result oracle;
    factor_brute(arena, graph, &options, &oracle);
    check_exact("eliminate", factor_eliminate, graph, &options, &oracle, arena);
    check_exact("bnb", factor_bnb, graph, &options, &oracle, arena);
    check_exact("solve", factor_solve, graph, &options, &oracle, arena);
    if (factor_is_chain(arena, graph))
        check_exact("chain", factor_chain, graph, &options, &oracle, arena);
    check_heuristic("beam", factor_beam, graph, &options, &oracle, arena, false);
    check_heuristic("bnb, few", factor_bnb, graph, &few, &oracle, arena, false);
    check_heuristic("wfc", factor_wfc, graph, &options, &oracle, arena, true);
    check_heuristic("wfc, seed", factor_wfc, graph, &seeded, &oracle, arena, true);
}

static void test_against_brute_force(void **state UNUSED)
{
    size_t possible = 0, impossible = 0, chains = 0;
    for (size_t shape = 0; shape < COUNT_OF(shapes); shape++) {
        struct rng rng;
        rng_init(&rng, shape);
        for (uint32_t i = 0; i < GRAPHS; i++) {
            struct arena arena;
            struct factor_result oracle;
            arena_init(&arena, arena_bytes_max);
            struct factor_graph graph = random_graph(&arena, &rng, &shapes[shape].options);
            factor_brute(&arena, &graph, &(struct factor_options){0}, &oracle);
            possible += oracle.claim == FACTOR_OPTIMAL;
            impossible += oracle.claim == FACTOR_IMPOSSIBLE;
            chains += factor_is_chain(&arena, &graph);
            check_graph(&arena, &graph, i);
            arena_release(&arena);
        }
    }
    assert_true(possible > 4000 && impossible > 400 && chains > 2 * GRAPHS);
}

/* The beam is exact on trees at any width: its bound is. */
static void test_beam_is_exact_on_chains(void **state UNUSED)
{
    const struct random_options options = {40, 6, 100, 10, true, false};
    struct rng rng;
    rng_init(&rng, 5);
    for (int i = 0; i < 300; i++) {
        struct arena arena;
        struct factor_result chain, beam;
        arena_init(&arena, arena_bytes_max);
        struct factor_graph graph = random_graph(&arena, &rng, &options);
        factor_chain(&arena, &graph, &(struct factor_options){0}, &chain);
        factor_beam(&arena, &graph, &(struct factor_options){.beam_width = 1}, &beam);
        assert_int_equal(beam.count, chain.count);
        if (chain.count > 0)
            assert_true(near(beam.best[0].cost, chain.best[0].cost));
        arena_release(&arena);
    }
}

static void test_limits_are_named(void **state UNUSED)
{
    const struct random_options options = {14, 6, 100, 0, false, false};
    struct arena arena;
    struct rng rng;
    struct factor_graph graph;
    struct factor_result result, beam;
    const struct factor_options few = {.steps_max = 1000}, fewer = {.steps_max = 1};
    arena_init(&arena, arena_bytes_max);
    rng_init(&rng, 3);
    do
        graph = random_graph(&arena, &rng, &options);
    while (graph.variable_count < 12);
    factor_brute(&arena, &graph, &few, &result);
    assert_int_equal(result.claim, FACTOR_UNKNOWN);
    assert_non_null(strstr(result.stopped, "more assignments"));
    factor_eliminate(&arena, &graph, &few, &result);
    assert_int_equal(result.claim, FACTOR_UNKNOWN);
    assert_non_null(strstr(result.stopped, "more table entries"));
    assert_true(result.counters.states > 1000);
    factor_bnb(&arena, &graph, &fewer, &result);
    assert_int_equal(result.claim, FACTOR_WITHIN);
    assert_non_null(strstr(result.stopped, "more nodes"));
    assert_true(result.bound < result.best[0].cost);
    factor_solve(&arena, &graph, &fewer, &result);
    assert_int_equal(result.claim, FACTOR_WITHIN);
    factor_beam(&arena, &graph, &fewer, &beam);
    assert_true(result.best[0].cost <= beam.best[0].cost);
    assert_true(result.bound <= result.best[0].cost);
    arena_release(&arena);
}

/* Blocks of three that repeat: after a few, no step is made anew. */
static void test_repeated_blocks_are_solved_once(void **state UNUSED)
{
    enum { BLOCK = 3, BLOCKS = 400, VALUES = 8 };
    const struct random_options options = {1, 1, 0, 5, false, false};
    struct arena arena;
    struct rng rng;
    arena_init(&arena, arena_bytes_max);
    rng_init(&rng, 11);
    const struct random_table context = {&rng, &options};
    static struct factor_variable variables[BLOCK * BLOCKS];
    static struct factor_edge edges[BLOCK * BLOCKS];
    struct factor_result chain, tree;
    for (size_t i = 0; i < BLOCK; i++) {
        double *unary = arena_array(&arena, double, VALUES);
        for (size_t x = 0; x < VALUES; x++)
            unary[x] = random_cost(&rng, false);
        variables[i] =
            (struct factor_variable){.domain = factor_domain_whole(&arena, VALUES), .unary = unary};
        edges[i].table = factor_table(&arena, VALUES, VALUES, random_entry, &context);
    }
    for (size_t i = 0; i < BLOCK * BLOCKS; i++) {
        variables[i] = variables[i % BLOCK];
        edges[i] = (struct factor_edge){i, i + 1, edges[i % BLOCK].table};
    }
    const struct factor_graph graph = {variables, BLOCK * BLOCKS, edges, BLOCK * BLOCKS - 1};
    factor_chain(&arena, &graph, &(struct factor_options){0}, &chain);
    factor_eliminate(&arena, &graph, &(struct factor_options){0}, &tree);
    assert_true(near(chain.best[0].cost, tree.best[0].cost));
    assert_true(chain.counters.reused > BLOCK * BLOCKS - 100);
    arena_release(&arena);
}

/* Trees of 1,000 variables: three exact methods that share no code but the sums. */
static void test_a_thousand_variables(void **state UNUSED)
{
    enum { VARIABLES = 1000, VALUES = 12 };
    const struct random_options options = {1, 1, 0, 10, false, false};
    static struct factor_variable variables[VARIABLES];
    static struct factor_edge edges[VARIABLES];
    struct arena arena;
    struct rng rng;
    arena_init(&arena, arena_bytes_max);
    rng_init(&rng, 21);
    const struct random_table table = {&rng, &options};
    for (size_t v = 0; v < VARIABLES; v++) {
        double *unary = arena_array(&arena, double, VALUES);
        for (size_t x = 0; x < VALUES; x++)
            unary[x] = random_cost(&rng, false);
        variables[v] =
            (struct factor_variable){.domain = factor_domain_whole(&arena, VALUES), .unary = unary};
    }
    for (size_t v = 1; v < VARIABLES; v++)
        random_edge(&arena, &table, variables, &edges[v - 1],
                    v - 1 - rng_below(&rng, v < 6 ? 1 : 6), v);
    const struct factor_graph graph = {variables, VARIABLES, edges, VARIABLES - 1};
    const struct factor_options five = {.best_count = 5, .beam_width = 16};
    struct factor_result eliminated, bnb, beam, wfc;
    factor_eliminate(&arena, &graph, &five, &eliminated);
    factor_bnb(&arena, &graph, &five, &bnb);
    factor_beam(&arena, &graph, &five, &beam);
    factor_wfc(&arena, &graph, &(struct factor_options){0}, &wfc);
    assert_false(factor_is_chain(&arena, &graph));
    assert_int_equal(eliminated.count, 5);
    check_assignments("eliminate", &graph, &eliminated);
    for (size_t i = 0; i < 5; i++) {
        assert_true(near(eliminated.best[i].cost, bnb.best[i].cost));
        assert_true(near(eliminated.best[i].cost, beam.best[i].cost));
    }
    check_assignments("wfc", &graph, &wfc);
    assert_int_equal(wfc.count, 1);
    assert_true(wfc.best[0].cost >= eliminated.best[0].cost - tolerance);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_brute_force),
        cmocka_unit_test(test_beam_is_exact_on_chains),
        cmocka_unit_test(test_limits_are_named),
        cmocka_unit_test(test_repeated_blocks_are_solved_once),
        cmocka_unit_test(test_a_thousand_variables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
