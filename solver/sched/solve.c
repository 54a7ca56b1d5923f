/*
 * The exact solver that fits a graph.
 */
#include "solver/sched/factor_int.h"

void factor_solve(struct arena *arena, const struct factor_graph *graph,
                  const struct factor_options *options, struct factor_result *out)
{
    if (factor_is_chain(arena, graph)) {
        factor_chain(arena, graph, options, out);
        return;
    }
    factor_eliminate(arena, graph, options, out);
    if (out->stopped != NULL) {
        const int64_t states = out->counters.states;
        factor_bnb(arena, graph, options, out);
        out->counters.states = states;
    }
}
