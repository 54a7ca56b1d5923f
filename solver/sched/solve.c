/*
 * The exact solver that fits a graph; where each stops at its limit, the best that was met on the
 * way, with branch and bound's proof of how far it may be from the optimum.
 */
#include "solver/sched/factor_int.h"

/* Both legal and by one bound: the cheaper one's assignments. */
static void take_cheaper(struct factor_result *own, const struct factor_result *other)
{
    if (other->count == 0 || (own->count > 0 && own->best[0].cost <= other->best[0].cost))
        return;
    own->best = other->best;
    own->count = other->count;
    own->claim = FACTOR_WITHIN;
}

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
        if (out->stopped != NULL) {
            struct factor_result beam;
            factor_beam(arena, graph, options, &beam);
            take_cheaper(out, &beam);
        }
    }
}
