/*
 * The graph that the dual leaves: each cost is what is left after all that was moved, so that its
 * minima add up to the bound.  Assignments cost the same in both up to rounding; searches that look
 * at costs nearby see in it what the whole graph makes of them.
 */
#include <math.h>

#include "solver/sched/dual_int.h"

/* TUNING: 32 MB. */
static const double entries_max = 1 << 22;

struct reduced_edge {
    const struct dual *d;
    size_t edge;
};

static double reduced_entry(const void *context, size_t row, size_t column)
{
    const struct reduced_edge *own = context;
    const struct factor_edge *edge = &own->d->graph->edges[own->edge];
    return edge->table->cost[row * edge->table->columns + column] -
           own->d->moved[own->edge][0][row] - own->d->moved[own->edge][1][column];
}

static const double *reduced_unaries(struct arena *arena, const struct dual *d, size_t v)
{
    const size_t count = value_count(d->graph, v);
    double *unary = arena_array(arena, double, count + 1);
    for (size_t x = 0; x < count; x++)
        unary[x] = dual_unary(d, v, x);
    return unary;
}

static bool fits(const struct factor_graph *graph)
{
    double entries = 0;
    for (size_t i = 0; i < graph->edge_count; i++)
        entries += (double)graph->edges[i].table->rows * (double)graph->edges[i].table->columns;
    return entries <= entries_max;
}

bool dual_graph(struct arena *arena, const struct dual *d, struct factor_graph *out)
{
    const size_t n = d->graph->variable_count, m = d->graph->edge_count;
    if (!fits(d->graph))
        return false;
    struct factor_variable *variables = arena_array(arena, struct factor_variable, n + 1);
    struct factor_edge *edges = arena_array(arena, struct factor_edge, m + 1);
    for (size_t v = 0; v < n; v++) {
        variables[v] = d->graph->variables[v];
        variables[v].unary = reduced_unaries(arena, d, v);
    }
    for (size_t i = 0; i < m; i++) {
        const struct reduced_edge context = {d, i};
        edges[i] = d->graph->edges[i];
        edges[i].table = factor_table(arena, edges[i].table->rows, edges[i].table->columns,
                                      reduced_entry, &context);
    }
    *out = (struct factor_graph){variables, n, edges, m};
    return true;
}
