#ifndef TESTS_UNIT_SOLVER_SCHED_RANDOM_GRAPH_H
#define TESTS_UNIT_SOLVER_SCHED_RANDOM_GRAPH_H

#include <math.h>

#include "base/rng.h"

#include "solver/sched/sched.h"
#include "tests/unit/unit.h"

/* Random factor graphs; whole costs make many ties. */
struct random_options {
    size_t variables_max, values_max;
    uint32_t edge_percent;      /* of all pairs; chains: of all steps */
    uint32_t forbidden_percent; /* of a table's entries */
    bool chain, whole;
};

static inline double random_cost(struct rng *rng, bool whole)
{
    return whole ? (double)rng_below(rng, 7) - 3 : rng_u32(rng) / 0x1p32 - 0.25;
}

struct random_table {
    struct rng *rng;
    const struct random_options *options;
};

static inline double random_entry(const void *context, size_t row, size_t column)
{
    const struct random_table *t = context;
    (void)row;
    (void)column;
    if (rng_below(t->rng, 100) < t->options->forbidden_percent)
        return INFINITY;
    return random_cost(t->rng, t->options->whole);
}

static inline void random_edge(struct arena *arena, const struct random_table *t,
                               const struct factor_variable *variables, struct factor_edge *edge,
                               size_t a, size_t b)
{
    const bool turned = rng_below(t->rng, 2) == 0;
    edge->a = turned ? b : a;
    edge->b = turned ? a : b;
    edge->table = factor_table(arena, variables[edge->a].domain->count,
                               variables[edge->b].domain->count, random_entry, t);
}

static inline struct factor_graph random_graph(struct arena *arena, struct rng *rng,
                                               const struct random_options *options)
{
    const size_t n = 1 + rng_below(rng, (uint32_t)options->variables_max);
    struct factor_variable *variables = arena_array(arena, struct factor_variable, n);
    struct factor_edge *edges = arena_array(arena, struct factor_edge, n * n + 1);
    const struct random_table table = {rng, options};
    size_t count = 0;
    for (size_t v = 0; v < n; v++) {
        const size_t values = 1 + rng_below(rng, (uint32_t)options->values_max);
        double *unary = arena_array(arena, double, values);
        for (size_t x = 0; x < values; x++)
            unary[x] = random_cost(rng, options->whole);
        variables[v] =
            (struct factor_variable){.domain = factor_domain_whole(arena, values), .unary = unary};
    }
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++)
            if ((!options->chain || b == a + 1) && rng_below(rng, 100) < options->edge_percent)
                random_edge(arena, &table, variables, &edges[count++], a, b);
    return (struct factor_graph){variables, n, edges, count};
}

#endif
