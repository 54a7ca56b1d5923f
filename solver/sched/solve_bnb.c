/*
 * Branch and bound, and beam search: one order, one bound (factor_tree.c), two ways through.
 *
 * Depth first starts from what WFC finds, takes the values of a variable by rising bound and drops
 * what cannot beat the worst kept assignment.  The beam fixes the variables in the same order and
 * keeps the partial assignments of least bound; as the bound is exact on trees, there it finds the
 * optimum at width 1.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/sched/factor_int.h"

enum { BEAM_WIDTH = 64, BEAM_WIDTH_MAX = 1 << 16, INCUMBENT_STEPS = 1 << 14 };

/* Bounds are sums in another order than costs, and ties are many: what would win by less than this
 * share is not looked for. */
static const double bound_slack = 1e-12;

static bool reaches(double bound, double limit)
{
    return bound + fabs(bound) * bound_slack >= limit;
}

/* ---- depth first ---- */

struct branch {
    double bound;
    uint16_t value;
};
struct level {
    struct branch *branches; /* by rising bound */
    size_t count, next;
};
struct search {
    const struct factor_graph *graph;
    struct factor_tree tree;
    struct factor_collector collector;
    struct level *levels;
    uint16_t *values;
    double *deltas;
    int64_t nodes;
};

static int branch_order(const void *a, const void *b)
{
    const struct branch *x = a, *y = b;
    if (x->bound != y->bound)
        return x->bound < y->bound ? -1 : 1;
    return (int)x->value - (int)y->value;
}

static void open_level(struct search *s, size_t at, double bound)
{
    struct level *level = &s->levels[at];
    const size_t count = value_count(s->graph, s->tree.order[at]);
    factor_tree_deltas(s->graph, &s->tree, at, s->values, s->deltas);
    level->count = level->next = 0;
    for (size_t x = 0; x < count; x++)
        if (s->deltas[x] < INFINITY)
            level->branches[level->count++] = (struct branch){bound + s->deltas[x], (uint16_t)x};
    qsort(level->branches, level->count, sizeof(*level->branches), branch_order);
}

/* True when all was seen; else what is open starts at the level that is returned in *depth. */
static bool search_all(struct search *s, int64_t nodes_max, size_t *depth)
{
    const size_t n = s->graph->variable_count;
    size_t at = 0;
    open_level(s, 0, s->tree.bound);
    for (;;) {
        struct level *level = &s->levels[at];
        *depth = at;
        if (level->next == level->count ||
            reaches(level->branches[level->next].bound, factor_collect_limit(&s->collector))) {
            if (at == 0)
                return true;
            at--;
            continue;
        }
        if (s->nodes++ >= nodes_max)
            return false;
        const struct branch branch = level->branches[level->next++];
        s->values[s->tree.order[at]] = branch.value;
        if (at + 1 == n)
            (void)factor_collect(&s->collector, s->values);
        else
            open_level(s, ++at, branch.bound);
    }
}

/* The least bound of what is still open. */
static double open_bound(const struct search *s, size_t depth)
{
    double bound = INFINITY;
    for (size_t i = 0; i <= depth; i++)
        if (s->levels[i].next < s->levels[i].count)
            bound = fmin(bound, s->levels[i].branches[s->levels[i].next].bound);
    return bound;
}

static size_t most_values(const struct factor_graph *graph)
{
    size_t most = 1;
    for (size_t v = 0; v < graph->variable_count; v++)
        most = value_count(graph, v) > most ? value_count(graph, v) : most;
    return most;
}

/* False when WFC has shown that there is none. */
static bool collect_incumbent(struct arena *arena, struct search *s)
{
    const struct factor_options options = {.steps_max = INCUMBENT_STEPS};
    struct factor_result found;
    factor_wfc(arena, s->graph, &options, &found);
    for (size_t i = 0; i < found.count; i++)
        (void)factor_collect(&s->collector, found.best[i].values);
    return found.claim != FACTOR_IMPOSSIBLE;
}

static void claim(struct factor_result *out, double bound, bool complete)
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

void factor_bnb(struct arena *arena, const struct factor_graph *graph,
                const struct factor_options *options, struct factor_result *out)
{
    const size_t n = graph->variable_count;
    const int64_t nodes_max = options->steps_max > 0 ? options->steps_max : FACTOR_BNB_STEPS;
    struct search s = {.graph = graph};
    size_t depth = 0;
    bool complete = true;
    *out = (struct factor_result){.claim = FACTOR_UNKNOWN};
    factor_tree(arena, graph, &s.tree);
    factor_collect_init(&s.collector, arena, graph, options);
    s.levels = arena_array(arena, struct level, n + 1);
    s.values = arena_array(arena, uint16_t, n + 1);
    s.deltas = arena_array(arena, double, most_values(graph));
    for (size_t i = 0; i < n; i++)
        s.levels[i].branches =
            arena_array(arena, struct branch, value_count(graph, s.tree.order[i]) + 1);
    if (n == 0)
        (void)factor_collect(&s.collector, s.values);
    else if (s.tree.bound < INFINITY && collect_incumbent(arena, &s))
        complete = search_all(&s, nodes_max, &depth);
    factor_collect_finish(&s.collector, out);
    out->counters.steps = s.nodes;
    claim(out, complete ? 0 : open_bound(&s, depth), complete);
    if (!complete)
        out->stopped = "more nodes than the limit";
}

/* ---- beam ---- */

struct partial {
    double bound;
    const struct partial *parent;
    uint16_t value;
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
    struct partial **now;
    size_t now_count;
    struct offer *offers; /* a heap, the worst first */
    size_t offer_count;
    double dropped; /* the least bound that was dropped */
    uint16_t *values;
    double *deltas;
    int64_t steps;
};

/* The values at places from .. depth - 1. */
static void restore(struct beam *b, const struct partial *partial, size_t depth, size_t from)
{
    for (; depth > from; partial = partial->parent)
        b->values[b->tree.order[--depth]] = partial->value;
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

/* The first place that what a variable adds depends on; its own when there is none. */
static size_t first_needed(const struct beam *b, size_t at)
{
    const size_t v = b->tree.order[at];
    size_t first = at;
    for (size_t i = b->tree.incident.start[v]; i < b->tree.incident.start[v + 1]; i++) {
        const struct factor_edge *edge = &b->graph->edges[b->tree.incident.list[i]];
        const size_t place = b->tree.place[edge->a == v ? edge->b : edge->a];
        first = place < first ? place : first;
    }
    return first;
}

static void extend(struct beam *b, size_t at, size_t width)
{
    const size_t count = value_count(b->graph, b->tree.order[at]);
    const size_t from = first_needed(b, at);
    size_t age = 0;
    b->offer_count = 0;
    for (size_t i = 0; i < b->now_count; i++) {
        restore(b, b->now[i], at, from);
        factor_tree_deltas(b->graph, &b->tree, at, b->values, b->deltas);
        for (size_t x = 0; x < count; x++) {
            const double bound = b->now[i]->bound + b->deltas[x];
            if (bound < INFINITY)
                offer_value(b, (struct offer){bound, age++, b->now[i], (uint16_t)x}, width);
        }
        b->steps += (int64_t)count;
    }
    b->now_count = b->offer_count;
    for (size_t i = 0; i < b->now_count; i++) {
        struct partial *partial = arena_new(b->arena, struct partial);
        *partial = (struct partial){b->offers[i].bound, b->offers[i].parent, b->offers[i].value};
        b->now[i] = partial;
    }
}

void factor_beam(struct arena *arena, const struct factor_graph *graph,
                 const struct factor_options *options, struct factor_result *out)
{
    const size_t n = graph->variable_count;
    size_t width = options->beam_width == 0 ? BEAM_WIDTH : options->beam_width;
    struct beam b = {.arena = arena, .graph = graph, .dropped = INFINITY};
    struct factor_collector collector;
    width = width > BEAM_WIDTH_MAX ? BEAM_WIDTH_MAX : width;
    *out = (struct factor_result){.claim = FACTOR_UNKNOWN};
    factor_tree(arena, graph, &b.tree);
    factor_collect_init(&collector, arena, graph, options);
    b.values = arena_array(arena, uint16_t, n + 1);
    b.deltas = arena_array(arena, double, most_values(graph));
    b.now = arena_array(arena, struct partial *, width);
    b.offers = arena_array(arena, struct offer, width);
    b.now[0] = arena_new(arena, struct partial);
    b.now[0]->bound = b.tree.bound;
    b.now_count = b.tree.bound < INFINITY;
    for (size_t i = 0; i < n; i++)
        extend(&b, i, width);
    for (size_t i = 0; i < b.now_count; i++) {
        restore(&b, b.now[i], n, 0);
        (void)factor_collect(&collector, b.values);
    }
    factor_collect_finish(&collector, out);
    out->counters.steps = b.steps;
    /* all of best[] must beat what was dropped, or it proves the first one only */
    bool complete = b.dropped == INFINITY || (out->count == collector.room &&
                                              reaches(b.dropped, out->best[out->count - 1].cost));
    claim(out, fmin(b.dropped, out->count > 0 ? out->best[0].cost : INFINITY), complete);
    if (!complete)
        out->stopped = "more partial assignments than the beam is wide";
}
