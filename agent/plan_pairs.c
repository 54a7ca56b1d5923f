/*
 * The k cheapest plans where an edge's term depends on what its two regions choose.
 *
 * Edges see of a choice its signature alone (cost_signature), so of the choices with one signature
 * only a region's k cheapest can be in the k cheapest plans.  What is left is a small factor graph.
 *
 * Invariant: of choices that take the same time, those first in the space are kept.  Not here: the
 * case that no edge's term depends on choices, which plan_explore.c does without a graph.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/plan_view.h"
#include "solver/sched/sched.h"

struct kept {
    double seconds;
    size_t choice; /* position in the space's domain */
    size_t signature;
};

struct pairs {
    const struct plan_view *view;
    struct plan trial;
    struct plan_region *regions; /* of the trial */
    const struct kept **kept;    /* by region */
    size_t *counts;
};

/* ---- edges by signatures ---- */

/* The first choice of a region with a signature; false: none has it. */
static bool choice_of_signature(const struct plan_view *view, size_t region, size_t signature,
                                struct plan_region *out)
{
    const struct space_domain *domain = &view->space.domains[region];

    for (size_t i = 0; i < domain->count; i++)
        if (cost_signature(&domain->choices[i]) == signature) {
            *out = domain->choices[i];
            return true;
        }
    return false;
}

static bool edge_seconds(struct pairs *p, size_t edge, size_t from, size_t to, double *seconds)
{
    const struct plan_task *task = &p->view->task;
    const struct plan_edge *e = &p->trial.edges[edge];
    const struct plan_region before[] = {p->regions[e->from], p->regions[e->to]};
    struct edge_cost cost;
    const bool known = choice_of_signature(p->view, e->from, from, &p->regions[e->from]) &&
                       choice_of_signature(p->view, e->to, to, &p->regions[e->to]);

    if (known) {
        cost_edge(&p->trial, edge, task->bound, task->machine, &cost);
        *seconds = cost.seconds;
    }
    p->regions[e->from] = before[0];
    p->regions[e->to] = before[1];
    return known;
}

static bool edge_varies(struct pairs *p, size_t edge)
{
    double first = 0, other;
    bool any = false;

    for (size_t from = 0; from < COST_SIGNATURES; from++)
        for (size_t to = 0; to < COST_SIGNATURES; to++) {
            if (!edge_seconds(p, edge, from, to, &other))
                continue;
            if (any && other != first)
                return true;
            first = other;
            any = true;
        }
    return false;
}

static struct pairs pairs_of(const struct plan_view *view)
{
    struct arena *arena = view->task.arena;
    const size_t count = view->skeleton->region_count;
    struct pairs p = {.view = view,
                      .trial = *view->skeleton,
                      .regions = arena_array(arena, struct plan_region, count),
                      .kept = arena_array(arena, const struct kept *, count),
                      .counts = arena_array(arena, size_t, count)};

    memcpy(p.regions, view->skeleton->regions, count * sizeof(p.regions[0]));
    p.trial.regions = p.regions;
    return p;
}

bool plan_has_pairs(const struct plan_view *view)
{
    struct pairs p = pairs_of(view);

    for (size_t e = 0; e < p.trial.edge_count; e++)
        if (edge_varies(&p, e))
            return true;
    return false;
}

/* ---- the graph ---- */

static int by_seconds(const void *a, const void *b)
{
    const struct kept *x = a, *y = b;

    if (x->seconds != y->seconds)
        return x->seconds < y->seconds ? -1 : 1;
    return x->choice < y->choice ? -1 : x->choice > y->choice;
}

/* The `most` cheapest choices of each signature, cheapest first. */
static void keep_choices(struct pairs *p, size_t region, size_t most)
{
    const struct space_domain *domain = &p->view->space.domains[region];
    struct kept *list = arena_array(p->view->task.arena, struct kept, domain->count);
    size_t seen[COST_SIGNATURES] = {0}, n = 0;

    for (size_t i = 0; i < domain->count; i++)
        list[i] =
            (struct kept){p->view->seconds[region][i], i, cost_signature(&domain->choices[i])};
    qsort(list, domain->count, sizeof(list[0]), by_seconds);
    for (size_t i = 0; i < domain->count; i++)
        if (seen[list[i].signature]++ < most)
            list[n++] = list[i];
    p->kept[region] = list;
    p->counts[region] = n;
}

static struct factor_variable variable_of(const struct pairs *p, size_t region)
{
    struct arena *arena = p->view->task.arena;
    double *unary = arena_array(arena, double, p->counts[region]);

    for (size_t i = 0; i < p->counts[region]; i++)
        unary[i] = p->kept[region][i].seconds;
    return (struct factor_variable){.name = STR_LIT("region"),
                                    .domain = factor_domain_whole(arena, p->counts[region]),
                                    .unary = unary};
}

struct pair_table {
    const struct pairs *pairs;
    size_t from, to;
    double seconds[COST_SIGNATURES][COST_SIGNATURES];
};

static double pair_seconds(const void *context, size_t row, size_t column)
{
    const struct pair_table *t = context;

    return t
        ->seconds[t->pairs->kept[t->from][row].signature][t->pairs->kept[t->to][column].signature];
}

static struct factor_edge edge_of(struct pairs *p, size_t edge)
{
    const struct plan_edge *e = &p->trial.edges[edge];
    struct pair_table table = {.pairs = p, .from = e->from, .to = e->to};

    for (size_t from = 0; from < COST_SIGNATURES; from++)
        for (size_t to = 0; to < COST_SIGNATURES; to++)
            (void)edge_seconds(p, edge, from, to, &table.seconds[from][to]);
    return (struct factor_edge){e->from, e->to,
                                factor_table(p->view->task.arena, p->counts[e->from],
                                             p->counts[e->to], pair_seconds, &table)};
}

size_t plan_pairs_best(const struct plan_view *view, size_t most, const size_t **choices)
{
    struct arena *arena = view->task.arena;
    const size_t count = view->skeleton->region_count;
    const struct factor_options options = {.best_count = most};
    struct factor_variable *variables = arena_array(arena, struct factor_variable, count);
    struct factor_edge *edges = arena_array(arena, struct factor_edge, view->skeleton->edge_count);
    struct pairs p = pairs_of(view);
    struct factor_result result;

    for (size_t r = 0; r < count; r++) {
        keep_choices(&p, r, most);
        variables[r] = variable_of(&p, r);
    }
    for (size_t e = 0; e < p.trial.edge_count; e++)
        edges[e] = edge_of(&p, e);
    const struct factor_graph graph = {variables, count, edges, p.trial.edge_count};
    factor_solve(arena, &graph, &options, &result);
    for (size_t i = 0; i < result.count; i++) {
        size_t *own = arena_array(arena, size_t, count);

        for (size_t r = 0; r < count; r++)
            own[r] = p.kept[r][result.best[i].values[r]].choice;
        choices[i] = own;
    }
    return result.count;
}
