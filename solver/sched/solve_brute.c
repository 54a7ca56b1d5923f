/*
 * All assignments, the last variable fastest: the oracle of the other solvers.
 */
#include <math.h>

#include "solver/sched/factor_int.h"

static bool advance(const struct factor_graph *graph, uint16_t *values)
{
    size_t i = graph->variable_count;
    while (i > 0 && values[i - 1] + 1u == value_count(graph, i - 1))
        values[--i] = 0;
    if (i == 0)
        return false;
    values[i - 1]++;
    return true;
}

void factor_brute(struct arena *arena, const struct factor_graph *graph,
                  const struct factor_options *options, struct factor_result *out)
{
    const double steps_max =
        (double)(options->steps_max > 0 ? options->steps_max : FACTOR_BRUTE_STEPS);
    uint16_t *values = arena_array(arena, uint16_t, graph->variable_count + 1);
    struct factor_collector collector;
    double product = 1;
    *out = (struct factor_result){.claim = FACTOR_UNKNOWN, .bound = -INFINITY};
    for (size_t i = 0; i < graph->variable_count; i++)
        product *= (double)value_count(graph, i);
    if (product > steps_max) {
        out->stopped = "more assignments than the limit";
        return;
    }
    factor_collect_init(&collector, arena, graph, options);
    for (bool more = product > 0; more; more = advance(graph, values)) {
        out->counters.steps++;
        (void)factor_collect(&collector, values);
    }
    factor_collect_finish(&collector, out);
    out->claim = out->count > 0 ? FACTOR_OPTIMAL : FACTOR_IMPOSSIBLE;
    out->bound = out->count > 0 ? out->best[0].cost : INFINITY;
}
