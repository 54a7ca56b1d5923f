/*
 * Covers whose regions read each other in a circle.
 *
 * Tables of a cover graph forbid circles of two regions.  Longer ones are many and the cheapest
 * covers rarely have one, so each is forbidden when a solver comes with it: a variable more says
 * which of the circle's regions is not taken, and each of its values is forbidden beside the region
 * that it names.  That costs nothing and forbids no other cover, so an optimum of the larger graph
 * that decodes is an optimum over all covers, and its bounds are bounds.
 */
#include <math.h>
#include <string.h>

#include "base/panic.h"

#include "solver/sched/cover_int.h"

struct ban {
    const struct cover_pick *values; /* of the unit at hand */
    size_t item, row;
};

static double banned(const void *context, size_t row, size_t column)
{
    const struct ban *ban = context;
    return row == ban->row && ban->values[column].item == ban->item ? INFINITY : 0;
}

/* Of the picks, the one that writes what `item` reads and that no order has; the first read. */
static size_t behind(const struct cover_problem *p, const size_t *pick_of, const bool *placed,
                     const struct cover_item *item)
{
    for (size_t r = 0; r < item->read_count; r++) {
        const size_t pick = pick_of[p->candidates->unit_of[item->reads[r].writer]];
        if (!placed[pick])
            return pick;
    }
    panic("an item that is not ready waits for nothing");
}

size_t cover_circle(struct arena *arena, const struct cover_problem *problem,
                    const struct cover_pick *picks, size_t count, const bool *placed,
                    size_t *circle)
{
    size_t *pick_of = arena_array(arena, size_t, problem->candidates->unit_count + 1);
    size_t *met = arena_array(arena, size_t, count + 1), *path = arena_array(arena, size_t, count);
    size_t at = 0, length = 0;
    for (size_t i = 0; i < count; i++) {
        const struct candidate_set *candidate = problem->items[picks[i].item].candidate;
        for (size_t k = 0; k < candidate->unit_count; k++)
            pick_of[candidate->units[k]] = i;
    }
    while (placed[at])
        at++;
    for (; met[at] == 0; at = behind(problem, pick_of, placed, &problem->items[picks[at].item])) {
        path[length++] = at;
        met[at] = length;
    }
    const size_t from = met[at] - 1;
    for (size_t i = from; i < length; i++)
        circle[i - from] = picks[path[i]].item;
    return length - from;
}

void cover_forbid(struct arena *arena, const struct cover_problem *problem, const size_t *circle,
                  size_t count, struct cover_graph *graph)
{
    const struct factor_graph *old = &graph->graph;
    const size_t n = old->variable_count, m = old->edge_count;
    struct factor_variable *variables = arena_array(arena, struct factor_variable, n + 1);
    struct factor_edge *edges = arena_array(arena, struct factor_edge, m + count);
    memcpy(variables, old->variables, n * sizeof(*variables));
    if (m > 0)
        memcpy(edges, old->edges, m * sizeof(*edges));
    variables[n] = (struct factor_variable){STR_LIT("circle"), factor_domain_whole(arena, count),
                                            arena_array(arena, double, count)};
    for (size_t i = 0; i < count; i++) {
        const size_t unit = problem->items[circle[i]].candidate->units[0];
        const struct ban ban = {graph->values[unit], circle[i], i};
        edges[m + i] = (struct factor_edge){
            n, unit, factor_table(arena, count, old->variables[unit].domain->count, banned, &ban)};
    }
    graph->graph = (struct factor_graph){variables, n + 1, edges, m + count};
}

bool cover_graph_solve(struct arena *arena, const struct cover_problem *problem,
                       const struct cover_graph *graph, cover_graph_solver *solve,
                       const struct factor_options *options, struct cover_graph_result *out)
{
    struct cover_graph own = *graph;
    size_t *circle = arena_array(arena, size_t, problem->candidates->unit_count + 1), length;
    *out = (struct cover_graph_result){.circles = 0};
    for (;; out->circles++) {
        solve(arena, &own.graph, options, &out->result);
        if (out->result.count == 0)
            return false;
        if (cover_decode_or_circle(arena, problem, &own, &out->result.best[0], &out->cover, circle,
                                   &length))
            return true;
        if (out->circles == COVER_CIRCLES_MAX || own.graph.variable_count == FACTOR_VARIABLES_MAX)
            break;
        cover_forbid(arena, problem, circle, length, &own);
    }
    out->result.claim = FACTOR_UNKNOWN;
    out->result.stopped = "more circles of regions than the limit";
    return false;
}
