/*
 * Beam search: the variables in the order of factor_tree.c, of all partial assignments the ones of
 * least bound.  As the bound is exact on trees, there it finds the optimum at width 1.  On other
 * graphs the costs are those that the dual leaves (dual_graph.c): what is off the tree then counts
 * for most of what it costs.
 *
 * Partial assignments share their beginnings: each holds one value and the one that it extends.
 * What a variable's neighbours took is found by jumps: a node's jump leads so far up that any
 * ancestor is a logarithmic number of steps away (Myers, "An applicative random-access stack",
 * 1983).
 */
#include <math.h>

#include "solver/sched/factor_int.h"

enum { BEAM_WIDTH = 64, BEAM_WIDTH_MAX = 1 << 16 };
enum { PASSES_REDUCE = 64 }; /* TUNING: bench-solver's grids and random graphs */
static const double rounding_share = 1e-9;

struct partial {
    double bound;
    const struct partial *parent, *jump; /* of the empty one: itself */
    uint32_t depth;
    uint16_t value; /* of order[depth - 1] */
};
struct offer {
    double bound;
    size_t age;
    const struct partial *parent;
    uint16_t value;
};
struct beam {
    struct arena *arena;
    const struct factor_graph *graph;
    struct factor_tree tree;
    const struct partial **now;
    size_t now_count;
    struct offer *offers; /* a heap, the worst first */
    size_t offer_count;
    double dropped; /* the least bound that was dropped */
    uint16_t *values;
    double *deltas;
    int64_t steps, moves;
};

static const struct partial *extend_by(struct arena *arena, const struct partial *parent,
                                       double bound, uint16_t value)
{
    struct partial *own = arena_new(arena, struct partial);
    const struct partial *jump = parent->jump;
    const bool equal = parent->depth - jump->depth == jump->depth - jump->jump->depth;
    *own = (struct partial){bound, parent, equal ? jump->jump : parent, parent->depth + 1, value};
    return own;
}

static const struct partial *ancestor(struct beam *b, const struct partial *partial, size_t depth)
{
    for (; partial->depth > depth; b->moves++)
        partial = partial->jump->depth >= depth ? partial->jump : partial->parent;
    return partial;
}

/* The values that a partial assignment gives the neighbours of order[at]. */
static void restore_around(struct beam *b, const struct partial *partial, size_t at)
{
    const struct factor_tree *tree = &b->tree;
    const size_t v = tree->order[at];
    for (size_t i = tree->incident.start[v]; i < tree->incident.start[v + 1]; i++) {
        const struct factor_edge *edge = &b->graph->edges[tree->incident.list[i]];
        const size_t other = edge->a == v ? edge->b : edge->a;
        if (tree->place[other] < at)
            b->values[other] = ancestor(b, partial, tree->place[other] + 1)->value;
    }
}

static void restore_all(struct beam *b, const struct partial *partial)
{
    for (; partial->depth > 0; partial = partial->parent)
        b->values[b->tree.order[partial->depth - 1]] = partial->value;
}

/* a is kept rather than b: by bound, then by age. */
static bool is_before(const struct offer *a, const struct offer *b)
{
    return a->bound < b->bound || (a->bound == b->bound && a->age < b->age);
}

/* Puts an offer into the heap, whose top is the worst of the kept. */
static void sift_up(struct offer *heap, size_t at, struct offer offer)
{
    while (at > 0 && is_before(&heap[(at - 1) / 2], &offer)) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = offer;
}

static void replace_top(struct offer *heap, size_t count, struct offer offer)
{
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count)
            break;
        if (child + 1 < count && is_before(&heap[child], &heap[child + 1]))
            child++;
        if (!is_before(&offer, &heap[child]))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = offer;
}

static void offer_value(struct beam *b, struct offer offer, size_t width)
{
    if (b->offer_count < width) {
        sift_up(b->offers, b->offer_count++, offer);
        return;
    }
    const struct offer worst = b->offers[0];
    b->dropped = fmin(b->dropped, is_before(&offer, &worst) ? worst.bound : offer.bound);
    if (is_before(&offer, &worst))
        replace_top(b->offers, width, offer);
}

static void extend(struct beam *b, size_t at, size_t width)
{
    const size_t count = value_count(b->graph, b->tree.order[at]);
    size_t age = 0;
    b->offer_count = 0;
    for (size_t i = 0; i < b->now_count; i++) {
        restore_around(b, b->now[i], at);
        factor_tree_deltas(b->graph, &b->tree, at, b->values, b->deltas);
        for (size_t x = 0; x < count; x++) {
            const double bound = b->now[i]->bound + b->deltas[x];
            if (bound < INFINITY)
                offer_value(b, (struct offer){bound, age++, b->now[i], (uint16_t)x}, width);
        }
        b->steps += (int64_t)count;
    }
    b->now_count = b->offer_count;
    for (size_t i = 0; i < b->now_count; i++)
        b->now[i] =
            extend_by(b->arena, b->offers[i].parent, b->offers[i].bound, b->offers[i].value);
}

void factor_beam_tree(struct arena *arena, const struct factor_graph *graph,
                      const struct factor_tree *tree, const struct factor_options *options,
                      struct factor_result *out)
{
    const size_t n = graph->variable_count;
    size_t width = options->beam_width == 0 ? BEAM_WIDTH : options->beam_width;
    struct beam b = {.arena = arena, .graph = graph, .tree = *tree, .dropped = INFINITY};
    struct factor_collector collector;
    width = width > BEAM_WIDTH_MAX ? BEAM_WIDTH_MAX : width;
    *out = (struct factor_result){.claim = FACTOR_UNKNOWN};
    factor_collect_init(&collector, arena, graph, options);
    b.values = arena_array(arena, uint16_t, n + 1);
    b.deltas = arena_array(arena, double, factor_values_most(graph));
    b.now = arena_array(arena, const struct partial *, width);
    b.offers = arena_array(arena, struct offer, width);
    struct partial *empty = arena_new(arena, struct partial);
    *empty = (struct partial){.bound = b.tree.bound, .parent = empty, .jump = empty};
    b.now[0] = empty;
    b.now_count = b.tree.bound < INFINITY;
    for (size_t i = 0; i < n; i++)
        extend(&b, i, width);
    for (size_t i = 0; i < b.now_count; i++) {
        restore_all(&b, b.now[i]);
        (void)factor_collect(&collector, b.values);
    }
    factor_collect_finish(&collector, out);
    out->counters.steps = b.steps;
    out->counters.moves = b.tree.moves + b.moves;
    /* all of best[] must beat what was dropped, or it proves the first one only */
    bool complete =
        b.dropped == INFINITY ||
        (out->count == collector.room && factor_reaches(b.dropped, out->best[out->count - 1].cost));
    factor_claim_bound(out, fmin(b.dropped, out->count > 0 ? out->best[0].cost : INFINITY),
                       complete);
    if (!complete)
        out->stopped = "more partial assignments than the beam is wide";
}

/* The same assignments at the costs of the graph itself.  What the reduced one proves holds up to
 * the rounding of its costs: a tiny share of the cost, or it is no proof. */
static void take_reduced(struct arena *arena, const struct factor_graph *graph,
                         const struct factor_options *options, const struct factor_result *found,
                         double rounding, struct factor_result *out)
{
    struct factor_collector collector;
    *out = *found;
    factor_collect_init(&collector, arena, graph, options);
    for (size_t i = 0; i < found->count; i++)
        (void)factor_collect(&collector, found->best[i].values);
    factor_collect_finish(&collector, out);
    const double cost = out->count > 0 ? out->best[0].cost : (double)INFINITY;
    const bool proven =
        found->stopped == NULL && (out->count == 0 || rounding <= rounding_share * fabs(cost));
    factor_claim_bound(out, found->bound - rounding, proven);
    if (!proven && out->stopped == NULL)
        out->stopped = "the rounding of large costs";
}

void factor_beam(struct arena *arena, const struct factor_graph *graph,
                 const struct factor_options *options, struct factor_result *out)
{
    struct factor_reduced reduced;
    struct factor_tree tree;
    factor_tree(arena, graph, &tree);
    if (factor_tree_is_graph(graph, &tree) || tree.bound == INFINITY ||
        !factor_dual_reduce(arena, graph, PASSES_REDUCE, &reduced)) {
        factor_beam_tree(arena, graph, &tree, options, out);
        return;
    }
    if (!reduced.possible) {
        *out = (struct factor_result){.claim = FACTOR_IMPOSSIBLE, .bound = INFINITY};
        return;
    }
    struct factor_result found;
    factor_tree(arena, &reduced.graph, &tree);
    factor_beam_tree(arena, &reduced.graph, &tree, options, &found);
    take_reduced(arena, graph, options, &found, reduced.rounding, out);
    out->counters.moves += reduced.entries;
}
