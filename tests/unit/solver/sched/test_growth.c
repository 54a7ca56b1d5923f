/*
 * Work and memory grow as the graph does: what a solver counts (table entries, nodes, decisions,
 * moves in queues, walks) and what it allocates, per variable, are the same for 500 and for 4,000
 * variables up to the logarithm of a queue.  A scan of all variables for each would be 8 times
 * more.
 */
#include "tests/unit/solver/sched/random_graph.h"

static const size_t arena_bytes_max = (size_t)4 << 30;
enum { SHORT = 500, LONG = 4000, VALUES = 8 };
static const double growth_most = 1.6; /* log 4000 / log 500 = 1.33 */

enum growth { REPEATED, OWN_COSTS, FORBIDDEN, TREE, SKIPS, HUB, SHAPE_COUNT };
static const char *const shape_names[] = {
    "repeated chain",   "chain",           "chain with forbidden pairs", "tree",
    "chain with skips", "chain with a hub"};

static struct factor_graph make_graph(struct arena *arena, enum growth shape, size_t n)
{
    const struct random_options options = {.forbidden_percent = shape == FORBIDDEN ? 25 : 0};
    struct factor_variable *variables = arena_array(arena, struct factor_variable, n);
    struct factor_edge *edges = arena_array(arena, struct factor_edge, 2 * n);
    const struct factor_domain *domain = factor_domain_whole(arena, VALUES);
    struct rng rng;
    rng_init(&rng, 17);
    const struct random_table context = {&rng, &options};
    size_t count = 0;
    for (size_t v = 0; v < n; v++) {
        double *unary = arena_array(arena, double, VALUES);
        for (size_t x = 0; x < VALUES; x++)
            unary[x] = random_cost(&rng, false);
        variables[v] = (struct factor_variable){.domain = domain, .unary = unary};
        if (shape == REPEATED && v >= 2)
            variables[v] = variables[v - 2];
        if (v == 0)
            continue;
        const size_t up = shape == TREE ? rng_below(&rng, (uint32_t)(v < 10 ? v : 10)) + 1 : 1;
        const struct factor_table *table =
            shape == REPEATED && v > 2
                ? edges[v - 3].table
                : factor_table(arena, VALUES, VALUES, random_entry, &context);
        edges[count++] = (struct factor_edge){v - up, v, table};
        if (shape == SKIPS && v >= 3 && v % 4 == 3)
            edges[count++] = (struct factor_edge){
                v - 3, v, factor_table(arena, VALUES, VALUES, random_entry, &context)};
        if (shape == HUB && v >= 4 && v % 4 == 0)
            edges[count++] = (struct factor_edge){
                0, v, factor_table(arena, VALUES, VALUES, random_entry, &context)};
    }
    return (struct factor_graph){variables, n, edges, count};
}

static const struct {
    const char *name;
    void (*solve)(struct arena *, const struct factor_graph *, const struct factor_options *,
                  struct factor_result *);
    bool chains_only;
    bool forests_only; /* else it works up to its limit */
} solvers[] = {
    {"chain", factor_chain, true, true}, {"eliminate", factor_eliminate, false, false},
    {"bnb", factor_bnb, false, true},    {"beam", factor_beam, false, false},
    {"wfc", factor_wfc, false, false},   {"solve", factor_solve, false, false},
};

struct work {
    double counted, bytes; /* per variable */
};

static struct work measure(size_t solver, enum growth shape, size_t n)
{
    struct arena arena, own;
    struct factor_result result;
    arena_init(&arena, arena_bytes_max);
    arena_init(&own, arena_bytes_max);
    const struct factor_graph graph = make_graph(&arena, shape, n);
    solvers[solver].solve(&own, &graph, &(struct factor_options){0}, &result);
    assert_int_equal(result.count, 1);
    const struct work work = {(double)(result.counters.steps + result.counters.moves) / (double)n,
                              (double)own.bytes_total / (double)n};
    arena_release(&own);
    arena_release(&arena);
    return work;
}

static void test_work_and_memory_are_linear(void **state UNUSED)
{
    for (size_t i = 0; i < COUNT_OF(solvers); i++)
        for (int shape = 0; shape < SHAPE_COUNT; shape++) {
            if ((solvers[i].chains_only && shape >= TREE) ||
                (solvers[i].forests_only && shape >= SKIPS))
                continue;
            const struct work few = measure(i, (enum growth)shape, SHORT);
            const struct work many = measure(i, (enum growth)shape, LONG);
            print_message("%-10s %-27s %8.1f %8.1f counted, %8.0f %8.0f bytes a variable\n",
                          solvers[i].name, shape_names[shape], few.counted, many.counted, few.bytes,
                          many.bytes);
            if (many.counted > growth_most * few.counted || many.bytes > growth_most * few.bytes)
                fail_msg("%s, %s: work or memory a variable grows with the number of variables",
                         solvers[i].name, shape_names[shape]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_work_and_memory_are_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
