/*
 * HW-WFC's problem as a factor graph.
 */
#include "solver/sched/hwwfc_graph.h"

#include <math.h>
#include <string.h>

struct compiler {
    struct arena *arena;
    const struct hwwfc_problem *problem;
    const struct hwwfc_scores *scores;
    const double *penalties; /* of pairs of state ids */
    size_t state_count;
    double weight, threshold;
    struct factor_variable *variables;
    struct factor_edge *edges;
};

/* ---- variables ---- */

static const char *const limit_names[] = {"SRAM capacity", "alignment", "working memory"};

struct limits_of {
    const struct compiler *compiler;
    const struct hwwfc_layer *layer;
};

static double slack_of(const void *context, size_t limit, size_t value)
{
    const struct limits_of *of = context;
    const struct hwwfc_problem *problem = of->compiler->problem;
    struct hwwfc_state state = hwwfc_state(problem->tiles, of->layer->candidates[value]);
    return hwwfc_slack((enum hwwfc_limit)limit, of->layer->type, &state, problem->spec);
}

static bool same_domain(const struct hwwfc_layer *a, const struct hwwfc_layer *b)
{
    return hwwfc_multiplier(a->type) == hwwfc_multiplier(b->type) &&
           a->candidate_count == b->candidate_count &&
           memcmp(a->candidates, b->candidates, a->candidate_count * sizeof(*a->candidates)) == 0;
}

static const double *make_unary(struct compiler *c, size_t layer)
{
    const struct factor_domain *domain = c->variables[layer].domain;
    double *unary = arena_array(c->arena, double, domain->count + 1);
    for (size_t x = 0; x < domain->count; x++)
        unary[x] = -c->scores->of[layer][c->problem->layers[layer].candidates[domain->labels[x]]];
    return unary;
}

static void make_variable(struct compiler *c, size_t layer)
{
    const struct hwwfc_layer *own = &c->problem->layers[layer];
    struct factor_variable *variable = &c->variables[layer];
    const struct limits_of limits = {c, own};
    *variable = (struct factor_variable){.name = own->name};
    for (size_t i = 0; i < layer && variable->unary == NULL; i++) {
        if (!same_domain(&c->problem->layers[i], own))
            continue;
        variable->domain = c->variables[i].domain;
        if (c->scores->of[i] == c->scores->of[layer])
            variable->unary = c->variables[i].unary;
    }
    if (variable->domain == NULL)
        variable->domain = factor_domain(c->arena, own->candidate_count, limit_names,
                                         HWWFC_LIMIT_COUNT, slack_of, &limits);
    if (variable->unary == NULL)
        variable->unary = make_unary(c, layer);
}

/* ---- edges ---- */

struct ends {
    const struct compiler *compiler;
    const struct hwwfc_layer *a, *b;
    const struct factor_domain *a_domain, *b_domain;
};

static double edge_cost(const void *context, size_t row, size_t column)
{
    const struct ends *ends = context;
    const struct compiler *c = ends->compiler;
    const size_t a = ends->a->candidates[ends->a_domain->labels[row]];
    const size_t b = ends->b->candidates[ends->b_domain->labels[column]];
    const double penalty = c->penalties[a * c->state_count + b];
    return penalty > c->threshold ? (double)INFINITY : c->weight * penalty;
}

static const struct factor_table *table_for(struct compiler *c, size_t edge, size_t a, size_t b)
{
    const struct ends ends = {c, &c->problem->layers[a], &c->problem->layers[b],
                              c->variables[a].domain, c->variables[b].domain};
    for (size_t i = 0; i < edge; i++)
        if (c->variables[c->edges[i].a].domain == ends.a_domain &&
            c->variables[c->edges[i].b].domain == ends.b_domain)
            return c->edges[i].table;
    return factor_table(c->arena, ends.a_domain->count, ends.b_domain->count, edge_cost, &ends);
}

/* Tiles are compared once for all layouts and memories. */
static void make_penalties(struct compiler *c)
{
    enum { OF_TILE = HWWFC_LAYOUT_COUNT * HWWFC_MEMORY_COUNT };
    const struct hwwfc_tiles *tiles = c->problem->tiles;
    const size_t n = c->state_count = hwwfc_state_count(tiles);
    double *penalties = arena_array(c->arena, double, n *n);
    double kinds[OF_TILE][OF_TILE];
    for (size_t i = 0; i < OF_TILE * OF_TILE; i++) {
        struct hwwfc_state a = hwwfc_state(tiles, i / OF_TILE);
        struct hwwfc_state b = hwwfc_state(tiles, i % OF_TILE);
        kinds[i / OF_TILE][i % OF_TILE] = hwwfc_penalty(&a, &b);
    }
    for (size_t i = 0; i < tiles->count * tiles->count; i++) {
        const size_t first = i / tiles->count * OF_TILE, second = i % tiles->count * OF_TILE;
        struct hwwfc_state a = hwwfc_state(tiles, first), b = hwwfc_state(tiles, second);
        const double shape = hwwfc_penalty(&a, &b);
        for (size_t x = 0; x < OF_TILE; x++)
            for (size_t y = 0; y < OF_TILE; y++)
                penalties[(first + x) * n + second + y] = kinds[x][y] + shape;
    }
    c->penalties = penalties;
}

void hwwfc_graph(struct arena *arena, const struct hwwfc_problem *problem,
                 const struct hwwfc_scores *scores, double weight, double threshold,
                 struct factor_graph *out)
{
    struct compiler c = {.arena = arena,
                         .problem = problem,
                         .scores = scores,
                         .weight = weight,
                         .threshold = threshold};
    struct hwwfc_edges edges;
    size_t count = 0;
    make_penalties(&c);
    hwwfc_edges(arena, problem, &edges);
    c.variables = arena_array(arena, struct factor_variable, problem->layer_count + 1);
    c.edges = arena_array(arena, struct factor_edge, edges.count + 1);
    for (size_t i = 0; i < problem->layer_count; i++)
        make_variable(&c, i);
    for (size_t i = 0; i < edges.count; i++) {
        const size_t a = edges.pairs[i][0], b = edges.pairs[i][1];
        if (a == b) /* a layer that names itself costs nothing */
            continue;
        c.edges[count] = (struct factor_edge){a, b, table_for(&c, count, a, b)};
        count++;
    }
    *out = (struct factor_graph){c.variables, problem->layer_count, c.edges, count};
}

void hwwfc_graph_states(const struct hwwfc_problem *problem, const struct factor_graph *graph,
                        const uint16_t *values, size_t *states)
{
    for (size_t i = 0; i < graph->variable_count; i++)
        states[i] = problem->layers[i].candidates[graph->variables[i].domain->labels[values[i]]];
}
