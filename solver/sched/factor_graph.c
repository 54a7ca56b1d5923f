/*
 * Factor graphs: what is shared by those who build them and those who solve them.
 */
#include "solver/sched/factor_graph.h"

#include <math.h>
#include <string.h>

#include "base/panic.h"

#include "solver/sched/factor_int.h"

/* ---- building ---- */

/* The first limit that the value is over, else limit_count; notes what is left of the others. */
static size_t first_over(size_t value, size_t limit_count,
                         double (*slack)(const void *, size_t, size_t), const void *context,
                         double *slacks)
{
    for (size_t i = 0; i < limit_count; i++) {
        slacks[i] = slack(context, i, value);
        if (slacks[i] < 0)
            return i;
    }
    return limit_count;
}

const struct factor_domain *factor_domain(struct arena *arena, size_t offered,
                                          const char *const *limits, size_t limit_count,
                                          double (*slack)(const void *, size_t, size_t),
                                          const void *context)
{
    struct factor_domain *domain = arena_new(arena, struct factor_domain);
    struct factor_removal *removals = arena_array(arena, struct factor_removal, limit_count + 1);
    uint16_t *labels = arena_array(arena, uint16_t, offered + 1);
    double *slacks = arena_array(arena, double, limit_count + 1);
    size_t count = 0;
    ASSERT(offered <= FACTOR_VALUES_MAX);
    for (size_t i = 0; i < limit_count; i++)
        removals[i] = (struct factor_removal){0, INFINITY, INFINITY};
    for (size_t value = 0; value < offered; value++) {
        size_t over = first_over(value, limit_count, slack, context, slacks);
        if (over < limit_count) {
            removals[over].removed++;
            removals[over].over_least = fmin(removals[over].over_least, -slacks[over]);
            continue;
        }
        labels[count++] = (uint16_t)value;
        for (size_t i = 0; i < limit_count; i++)
            removals[i].slack_least = fmin(removals[i].slack_least, slacks[i]);
    }
    *domain = (struct factor_domain){count, labels, offered, removals, limits, limit_count};
    return domain;
}

const struct factor_domain *factor_domain_whole(struct arena *arena, size_t count)
{
    return factor_domain(arena, count, NULL, 0, NULL, NULL);
}

const struct factor_table *factor_table(struct arena *arena, size_t rows, size_t columns,
                                        double (*cost)(const void *, size_t, size_t),
                                        const void *context)
{
    struct factor_table *table = arena_new(arena, struct factor_table);
    double *costs = arena_array(arena, double, rows *columns + 1);
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < columns; k++) {
            double c = costs[i * columns + k] = cost(context, i, k);
            table->forbidden += c == INFINITY;
            least = c < least ? c : least;
            most = c > most && c < INFINITY ? c : most;
        }
    table->rows = rows;
    table->columns = columns;
    table->cost = costs;
    table->least = most < least ? 0 : least;
    table->most = most < least ? 0 : most;
    return table;
}

/* ---- cost ---- */

void factor_terms(const struct factor_graph *graph, const uint16_t *values, double *unary,
                  double *pair)
{
    for (size_t i = 0; i < graph->variable_count; i++)
        unary[i] = graph->variables[i].unary[values[i]];
    for (size_t i = 0; i < graph->edge_count; i++) {
        const struct factor_edge *edge = &graph->edges[i];
        pair[i] = pair_cost(edge, edge->a, values[edge->a], values[edge->b]);
    }
}

double factor_cost(const struct factor_graph *graph, const uint16_t *values)
{
    double cost = 0;
    for (size_t i = 0; i < graph->variable_count; i++)
        cost += graph->variables[i].unary[values[i]];
    for (size_t i = 0; i < graph->edge_count; i++) {
        const struct factor_edge *edge = &graph->edges[i];
        cost += pair_cost(edge, edge->a, values[edge->a], values[edge->b]);
    }
    return cost;
}

void factor_incident(struct arena *arena, const struct factor_graph *graph,
                     struct factor_incident *out)
{
    size_t *start = arena_array(arena, size_t, graph->variable_count + 2);
    size_t *list = arena_array(arena, size_t, 2 * graph->edge_count + 1);
    for (size_t i = 0; i < graph->edge_count; i++) {
        start[graph->edges[i].a + 2]++;
        start[graph->edges[i].b + 2]++;
    }
    for (size_t v = 0; v < graph->variable_count; v++)
        start[v + 2] += start[v + 1];
    for (size_t i = 0; i < graph->edge_count; i++) {
        list[start[graph->edges[i].a + 1]++] = i;
        list[start[graph->edges[i].b + 1]++] = i;
    }
    *out = (struct factor_incident){start, list};
}

size_t factor_values_most(const struct factor_graph *graph)
{
    size_t most = 1;
    for (size_t v = 0; v < graph->variable_count; v++)
        most = value_count(graph, v) > most ? value_count(graph, v) : most;
    return most;
}

/* ---- results ---- */

static const double bound_slack = 1e-12;

bool factor_reaches(double bound, double limit)
{
    return bound + fabs(bound) * bound_slack >= limit;
}

void factor_claim_bound(struct factor_result *out, double bound, bool complete)
{
    const bool found = out->count > 0;
    if (complete) {
        out->claim = found ? FACTOR_OPTIMAL : FACTOR_IMPOSSIBLE;
        out->bound = found ? out->best[0].cost : INFINITY;
        return;
    }
    out->bound = found ? fmin(bound, out->best[0].cost) : bound;
    out->claim = found ? FACTOR_WITHIN : FACTOR_UNKNOWN;
}

const char *factor_claim_text(enum factor_claim claim)
{
    static const char *const texts[] = {
#define X(id, text) text,
        FACTOR_CLAIMS(X)
#undef X
    };
    return texts[claim];
}

void factor_collect_init(struct factor_collector *c, struct arena *arena,
                         const struct factor_graph *graph, const struct factor_options *options)
{
    c->arena = arena;
    c->graph = graph;
    c->room = options->best_count == 0 ? 1 : options->best_count;
    c->count = 0;
    ASSERT(c->room <= FACTOR_BEST_MAX);
}

double factor_collect_limit(const struct factor_collector *c)
{
    return c->count < c->room ? INFINITY : c->items[c->count - 1].cost;
}

bool factor_collect(struct factor_collector *c, const uint16_t *values)
{
    const size_t bytes = c->graph->variable_count * sizeof(*values);
    double cost = factor_cost(c->graph, values);
    if (!(cost < factor_collect_limit(c)))
        return false;
    for (size_t i = 0; i < c->count; i++)
        if (c->items[i].cost == cost && memcmp(c->items[i].values, values, bytes) == 0)
            return false;
    uint16_t *copy = c->count < c->room
                         ? arena_array(c->arena, uint16_t, c->graph->variable_count + 1)
                         : (uint16_t *)c->items[c->count - 1].values;
    memcpy(copy, values, bytes);
    size_t at = c->count < c->room ? c->count++ : c->count - 1;
    while (at > 0 && c->items[at - 1].cost > cost) {
        c->items[at] = c->items[at - 1];
        at--;
    }
    c->items[at] = (struct factor_assignment){cost, copy};
    return true;
}

void factor_collect_finish(const struct factor_collector *c, struct factor_result *out)
{
    struct factor_assignment *best = arena_array(c->arena, struct factor_assignment, c->count + 1);
    memcpy(best, c->items, c->count * sizeof(*best));
    out->best = best;
    out->count = c->count;
}
