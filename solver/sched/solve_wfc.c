/*
 * Wave function collapse as a search that keeps its promises.
 *
 * The variable of least entropy takes its value of least score, all edges are made consistent, and
 * so on; a contradiction jumps back to the deepest decision that it rests on.  The result is legal
 * by construction, or the search has shown that nothing is.  Descents that run out of backtracks
 * begin anew with other noise and twice the budget, so in the end one of them is complete.  What is
 * found is improved by one value at a time while that helps.
 *
 * Costs are heuristic: the order looks one edge ahead.  Where most pairs are forbidden, as in
 * covers, one edge says little, and no single value can be changed in what is found.  There scores
 * are the min-marginals that a few passes of the dual (dual_int.h) leave, which cost the same in
 * sum, and some descents more, with noise, cost little beside these passes.
 */
#include <math.h>

#include "solver/sched/wave_int.h"

/* TUNING: enough for all feasible chains of test_defects at the first descent. */
enum { BACKTRACKS_FIRST = 256, SWEEPS_MAX = 16 };
/* TUNING: bench-solver --covers; twice the passes take twice the time and gain little. */
enum { TIGHT_PASSES = 4, TIGHT_RESTARTS = 16 };
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
    factor_polish(collector->graph, &w->incident, values, costs);
    (void)factor_collect(collector, values);
}

/* ---- which graph to look at ---- */

/* More than half of all pairs are forbidden. */
static bool is_tight(const struct factor_graph *graph)
{
    double pairs = 0, forbidden = 0;
    for (size_t i = 0; i < graph->edge_count; i++) {
        pairs += (double)(graph->edges[i].table->rows * graph->edges[i].table->columns);
        forbidden += (double)graph->edges[i].table->forbidden;
    }
    return 2 * forbidden > pairs;
}

static bool has_empty(const struct factor_graph *graph)
{
    for (size_t v = 0; v < graph->variable_count; v++)
        if (value_count(graph, v) == 0)
            return true;
    return false;
}

struct guide {
    const struct factor_graph *graph; /* costs the same as the one that is solved */
    int64_t restarts;
    struct factor_reduced reduced;
};

static void find_guide(struct arena *arena, const struct factor_graph *graph, int64_t restarts,
                       struct factor_counters *counters, struct guide *out)
{
    out->graph = graph;
    out->restarts = restarts;
    if (!is_tight(graph) || has_empty(graph))
        return;
    out->restarts = restarts > 0 ? restarts : TIGHT_RESTARTS;
    if (!factor_dual_reduce(arena, graph, TIGHT_PASSES, &out->reduced) || !out->reduced.possible)
        return;
    out->graph = &out->reduced.graph;
    counters->moves += out->reduced.entries;
}

/* ---- the search ---- */

void factor_wfc(struct arena *arena, const struct factor_graph *graph,
                const struct factor_options *options, struct factor_result *out)
{
    const int64_t steps_max = options->steps_max > 0 ? options->steps_max : FACTOR_WFC_STEPS;
    uint16_t *values = arena_array(arena, uint16_t, graph->variable_count + 1);
    double *costs = arena_array(arena, double, factor_values_most(graph));
    int64_t budget = BACKTRACKS_FIRST, tries = 0;
    struct factor_collector collector;
    struct guide guide;
    struct rng rng;
    struct wave w;
    *out = (struct factor_result){.claim = FACTOR_UNKNOWN, .bound = -INFINITY};
    factor_collect_init(&collector, arena, graph, options);
    find_guide(arena, graph, options->restarts, &out->counters, &guide);
    wave_init(&w, arena, guide.graph, &out->counters);
    w.by_count = options->by_count;
    rng_init(&rng, options->seed);
    for (double noise = options->seed == 0 ? 0 : restart_noise;; noise = restart_noise) {
        wave_reset(&w, &rng, noise);
        enum descent end = descend(&w, budget, steps_max);
        if (end == DESCENT_FOUND)
            keep(&w, &collector, values, costs);
        tries += end == DESCENT_FOUND || tries > 0;
        if (end == DESCENT_IMPOSSIBLE) {
            out->claim = FACTOR_IMPOSSIBLE;
            out->bound = INFINITY;
            break;
        }
        if (tries > guide.restarts)
            break;
        if (out->counters.steps >= steps_max) {
            out->stopped = "more decisions than the limit";
            break;
        }
        budget *= end == DESCENT_BUDGET ? 2 : 1;
        out->counters.restarts += tries == 0;
    }
    out->counters.moves += w.open.moves;
    factor_collect_finish(&collector, out);
    if (out->count > 0)
        out->claim = FACTOR_HEURISTIC;
}
