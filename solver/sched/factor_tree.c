/*
 * The bound of a spanning tree, for searches that fix one variable after the other.
 *
 * The tree takes the edges whose costs spread most (Prim), since an edge off the tree counts with
 * less than it costs: while its earlier end is open, with its least entry for the later end's
 * value. Once both ends are fixed it counts in full, so the bound only rises.
 */
#include <math.h>

#include "solver/sched/factor_int.h"

struct builder {
    struct arena *arena;
    const struct factor_graph *graph;
    struct factor_incident incident;
    size_t *order, *parent_edge, *place;
    double **rest;
    double **edge_least;
    int64_t moves;
};

static size_t other_end(const struct factor_edge *edge, size_t end)
{
    return edge->a == end ? edge->b : edge->a;
}

/* Forbidden pairs weigh most, then the spread of the finite costs. */
static double edge_weight(const struct factor_edge *edge)
{
    const struct factor_table *table = edge->table;
    return table->most - table->least + (table->forbidden > 0 ? 1e300 : 0);
}

/* Raises what the neighbours of v gain by being linked to it. */
static void offer_links(struct builder *b, size_t v, struct factor_queue *open)
{
    for (size_t i = b->incident.start[v]; i < b->incident.start[v + 1]; i++) {
        const struct factor_edge *edge = &b->graph->edges[b->incident.list[i]];
        const size_t other = other_end(edge, v);
        open->moves++;
        if (open->place[other] == SIZE_MAX || -edge_weight(edge) >= open->keys[other].first)
            continue;
        factor_queue_set(open, other, (struct factor_key){-edge_weight(edge), 0});
        b->parent_edge[other] = b->incident.list[i];
    }
}

static void grow_tree(struct builder *b)
{
    const size_t n = b->graph->variable_count;
    struct factor_queue open; /* by gain, the most first */
    factor_queue_init(&open, b->arena, n);
    for (size_t v = 0; v < n; v++) {
        b->parent_edge[v] = SIZE_MAX;
        factor_queue_set(&open, v, (struct factor_key){1, 0});
    }
    for (size_t i = 0; i < n; i++) {
        const size_t best = factor_queue_first(&open);
        factor_queue_remove(&open, best);
        b->place[best] = i;
        b->order[i] = best;
        offer_links(b, best, &open);
    }
    b->moves = open.moves;
}

static bool is_later_end(const struct builder *b, const struct factor_edge *edge, size_t v)
{
    return b->place[v] > b->place[other_end(edge, v)];
}

/* Of an edge off the tree: by value of its later end, the least entry. */
static const double *least_of_edge(struct builder *b, size_t number)
{
    const struct factor_edge *edge = &b->graph->edges[number];
    const size_t later = is_later_end(b, edge, edge->a) ? edge->a : edge->b;
    const size_t count = value_count(b->graph, later);
    const size_t others = value_count(b->graph, other_end(edge, later));
    double *least = arena_array(b->arena, double, count + 1);
    for (size_t x = 0; x < count; x++) {
        least[x] = INFINITY;
        for (size_t y = 0; y < others; y++)
            least[x] = fmin(least[x], pair_cost(edge, later, x, y));
    }
    b->edge_least[number] = least;
    return least;
}

/* Adds to a parent what its subtree at v costs at least, by value of the parent. */
static void add_to_parent(struct builder *b, size_t v)
{
    const struct factor_edge *edge = &b->graph->edges[b->parent_edge[v]];
    const size_t parent = other_end(edge, v);
    for (size_t y = 0; y < value_count(b->graph, parent); y++) {
        double least = INFINITY;
        for (size_t x = 0; x < value_count(b->graph, v); x++)
            least = fmin(least, pair_cost(edge, v, x, y) + b->rest[v][x]);
        b->rest[parent][y] += least;
    }
}

static void fill_rest(struct builder *b, double *bound)
{
    const size_t n = b->graph->variable_count;
    for (size_t v = 0; v < n; v++) {
        b->rest[v] = arena_array(b->arena, double, value_count(b->graph, v) + 1);
        for (size_t x = 0; x < value_count(b->graph, v); x++)
            b->rest[v][x] = b->graph->variables[v].unary[x];
    }
    for (size_t i = n; i-- > 0;) {
        const size_t v = b->order[i];
        for (size_t k = b->incident.start[v]; k < b->incident.start[v + 1]; k++) {
            const size_t number = b->incident.list[k];
            if (number == b->parent_edge[v] || !is_later_end(b, &b->graph->edges[number], v))
                continue;
            const double *least = least_of_edge(b, number);
            for (size_t x = 0; x < value_count(b->graph, v); x++)
                b->rest[v][x] += least[x];
        }
        if (b->parent_edge[v] != SIZE_MAX) {
            add_to_parent(b, v);
            continue;
        }
        double least = INFINITY;
        for (size_t x = 0; x < value_count(b->graph, v); x++)
            least = fmin(least, b->rest[v][x]);
        *bound += least;
    }
}

void factor_tree(struct arena *arena, const struct factor_graph *graph, struct factor_tree *out)
{
    const size_t n = graph->variable_count;
    struct builder b = {.arena = arena,
                        .graph = graph,
                        .order = arena_array(arena, size_t, n + 1),
                        .parent_edge = arena_array(arena, size_t, n + 1),
                        .place = arena_array(arena, size_t, n + 1),
                        .rest = arena_array(arena, double *, n + 1),
                        .edge_least = arena_array(arena, double *, graph->edge_count + 1)};
    double bound = 0;
    factor_incident(arena, graph, &b.incident);
    grow_tree(&b);
    fill_rest(&b, &bound);
    *out = (struct factor_tree){.order = b.order,
                                .parent_edge = b.parent_edge,
                                .rest = (const double *const *)b.rest,
                                .bound = bound,
                                .incident = b.incident,
                                .place = b.place,
                                .edge_least = (const double *const *)b.edge_least,
                                .moves = b.moves};
}

void factor_tree_deltas(const struct factor_graph *graph, const struct factor_tree *tree, size_t at,
                        const uint16_t *values, double *out)
{
    const size_t v = tree->order[at], count = value_count(graph, v);
    const struct factor_edge *up =
        tree->parent_edge[v] == SIZE_MAX ? NULL : &graph->edges[tree->parent_edge[v]];
    double least = INFINITY;
    for (size_t x = 0; x < count; x++) {
        out[x] = tree->rest[v][x];
        if (up != NULL)
            out[x] = pair_cost(up, v, x, values[other_end(up, v)]) + out[x];
        least = fmin(least, out[x]);
    }
    for (size_t x = 0; x < count; x++)
        out[x] = out[x] == INFINITY ? out[x] : out[x] - least;
    for (size_t k = tree->incident.start[v]; k < tree->incident.start[v + 1]; k++) {
        const size_t number = tree->incident.list[k];
        const struct factor_edge *edge = &graph->edges[number];
        const size_t other = other_end(edge, v);
        if (number == tree->parent_edge[v] || tree->place[other] > at)
            continue;
        for (size_t x = 0; x < count; x++)
            if (out[x] != INFINITY)
                out[x] += pair_cost(edge, v, x, values[other]) - tree->edge_least[number][x];
    }
}

bool factor_tree_is_graph(const struct factor_graph *graph, const struct factor_tree *tree)
{
    size_t links = 0;
    for (size_t v = 0; v < graph->variable_count; v++)
        links += tree->parent_edge[v] != SIZE_MAX;
    return links == graph->edge_count;
}
