/*
 * The exact solver that fits a graph: small tables first, then few nodes of branch and bound, then
 * large tables, then many nodes; where each stops at its limit, the best that was met on the
 * way, with branch and bound's proof of how far it may be from the optimum.
 */
#include "solver/sched/factor_int.h"

/* TUNING: some milliseconds each. */
enum { ELIMINATE_SMALL = 1 << 20, ELIMINATE_SMALL_EACH = 1 << 12, BNB_SMALL = 256 };

/* Both legal and by one bound: the cheaper one's assignments. */
static void take_cheaper(struct factor_result *own, const struct factor_result *other)
{
    if (other->count == 0 || (own->count > 0 && own->best[0].cost <= other->best[0].cost))
        return;
    own->best = other->best;
    own->count = other->count;
    own->claim = FACTOR_WITHIN;
}

static int64_t less(int64_t limit, int64_t other)
{
    return limit > 0 && limit < other ? limit : other;
}

/* Small tables, or few nodes, whichever proves it. */
static bool solve_small(struct arena *arena, const struct factor_graph *graph,
                        const struct factor_options *options, struct factor_result *out)
{
    struct factor_options small = *options;
    small.steps_max = less(options->steps_max,
                           ELIMINATE_SMALL + ELIMINATE_SMALL_EACH * (int64_t)graph->variable_count);
    factor_eliminate(arena, graph, &small, out);
    if (out->stopped == NULL)
        return true;
    const int64_t states = out->counters.states;
    small.steps_max = less(options->steps_max, BNB_SMALL);
    factor_bnb(arena, graph, &small, out);
    out->counters.states = states;
    return out->stopped == NULL;
}

void factor_solve(struct arena *arena, const struct factor_graph *graph,
                  const struct factor_options *options, struct factor_result *out)
{
    if (factor_is_chain(arena, graph)) {
        factor_chain(arena, graph, options, out);
        return;
    }
    if (solve_small(arena, graph, options, out))
        return;
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
