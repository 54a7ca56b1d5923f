/*
 * Wave function collapse as a search that keeps its promises.
 *
 * The variable of least entropy takes its value of least score, all edges are made consistent, and
 * so on; a contradiction jumps back to the deepest decision that it rests on.  The result is legal
 * by construction, or the search has shown that nothing is.  Descents that run out of backtracks
 * begin anew with other noise and twice the budget, so in the end one of them is complete.  What is
 * found is improved by one value at a time while that helps.
 *
 * Costs are heuristic: the order looks one edge ahead.
 */
#include <math.h>

#include "solver/sched/wave_int.h"

/* TUNING: enough for all feasible chains of test_defects at the first descent. */
enum { BACKTRACKS_FIRST = 256, SWEEPS_MAX = 16 };
static const double restart_noise = 1; /* temperatures */

enum descent { DESCENT_FOUND, DESCENT_IMPOSSIBLE, DESCENT_BUDGET };

static enum descent descend(struct wave *w, int64_t backtracks_max, int64_t steps_max)
{
    size_t empty = 0;
    w->counters->backtracks = 0;
    for (size_t v = 0; v < w->graph->variable_count; v++)
        if (w->cells[v].count == 0)
            return DESCENT_IMPOSSIBLE;
    if (w->hard)
        wave_enqueue_all(w);
    for (;;) {
        while (!wave_propagate(w, &empty)) {
            if (!wave_backjump(w, &empty))
                return DESCENT_IMPOSSIBLE;
            if (++w->counters->backtracks > backtracks_max)
                return DESCENT_BUDGET;
        }
        size_t v = wave_least(w);
        if (v == SIZE_MAX)
            return DESCENT_FOUND;
        if (w->counters->steps++ >= steps_max)
            return DESCENT_BUDGET;
        wave_collapse(w, v, wave_best_value(w, v));
    }
}

/* ---- improvement ---- */

/* The best value beside all neighbours; true when it is another one. */
static bool improve(const struct factor_graph *graph, const struct factor_incident *incident,
                    size_t v, uint16_t *values, double *costs)
{
    const size_t count = value_count(graph, v);
    size_t best = values[v];
    for (size_t x = 0; x < count; x++)
        costs[x] = graph->variables[v].unary[x];
    for (size_t i = incident->start[v]; i < incident->start[v + 1]; i++) {
        const struct factor_edge *edge = &graph->edges[incident->list[i]];
        const size_t other = values[edge->a == v ? edge->b : edge->a];
        for (size_t x = 0; x < count; x++)
            costs[x] += pair_cost(edge, v, x, other);
    }
    for (size_t x = 0; x < count; x++)
        best = costs[x] < costs[best] ? x : best;
    if (!(costs[best] < costs[values[v]]))
        return false;
    values[v] = (uint16_t)best;
    return true;
}

void factor_polish(const struct factor_graph *graph, const struct factor_incident *incident,
                   uint16_t *values, double *costs)
{
    bool better = true;
    for (int sweep = 0; better && sweep < SWEEPS_MAX; sweep++) {
        better = false;
        for (size_t v = 0; v < graph->variable_count; v++)
            better = improve(graph, incident, v, values, costs) || better;
    }
}

static void keep(struct wave *w, struct factor_collector *collector, uint16_t *values,
                 double *costs)
{
    for (size_t i = 0; i < w->depth; i++)
        values[w->levels[i].variable] = w->levels[i].value;
    (void)factor_collect(collector, values);
    factor_polish(w->graph, &w->incident, values, costs);
    (void)factor_collect(collector, values);
}

void factor_wfc(struct arena *arena, const struct factor_graph *graph,
                const struct factor_options *options, struct factor_result *out)
{
    const int64_t steps_max = options->steps_max > 0 ? options->steps_max : FACTOR_WFC_STEPS;
    uint16_t *values = arena_array(arena, uint16_t, graph->variable_count + 1);
    int64_t budget = BACKTRACKS_FIRST, found = 0;
    struct factor_collector collector;
    struct rng rng;
    struct wave w;
    size_t most = 1;
    *out = (struct factor_result){.claim = FACTOR_UNKNOWN, .bound = -INFINITY};
    for (size_t v = 0; v < graph->variable_count; v++)
        most = value_count(graph, v) > most ? value_count(graph, v) : most;
    double *costs = arena_array(arena, double, most);
    factor_collect_init(&collector, arena, graph, options);
    wave_init(&w, arena, graph, &out->counters);
    w.by_count = options->by_count;
    rng_init(&rng, options->seed);
    for (double noise = options->seed == 0 ? 0 : restart_noise;; noise = restart_noise) {
        wave_reset(&w, &rng, noise);
        enum descent end = descend(&w, budget, steps_max);
        if (end == DESCENT_FOUND) {
            keep(&w, &collector, values, costs);
            found++;
        }
        if (end == DESCENT_IMPOSSIBLE || out->counters.steps >= steps_max ||
            (end == DESCENT_FOUND && found > options->restarts)) {
            out->claim = end == DESCENT_IMPOSSIBLE ? FACTOR_IMPOSSIBLE : out->claim;
            out->bound = end == DESCENT_IMPOSSIBLE ? INFINITY : out->bound;
            out->stopped = end == DESCENT_BUDGET ? "more decisions than the limit" : NULL;
            break;
        }
        budget *= end == DESCENT_BUDGET ? 2 : 1;
        out->counters.restarts++;
    }
    out->counters.moves = w.open.moves;
    factor_collect_finish(&collector, out);
    if (out->count > 0)
        out->claim = FACTOR_HEURISTIC;
}
