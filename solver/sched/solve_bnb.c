/*
 * Branch and bound: on forests here, with the exact bound of factor_tree.c; other graphs are
 * solve_dual.c's.
 *
 * Depth first starts from what WFC finds, takes the values of a variable by rising bound and drops
 * what cannot beat the worst kept assignment.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/sched/factor_int.h"

enum { INCUMBENT_STEPS = 1 << 14 };

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
        if (level->next == level->count || factor_reaches(level->branches[level->next].bound,
                                                          factor_collect_limit(&s->collector))) {
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

static void search_tree(struct arena *arena, struct search *s, int64_t nodes_max,
                        struct factor_bounded *out)
{
    const struct factor_graph *graph = s->graph;
    size_t depth = 0;
    s->levels = arena_array(arena, struct level, graph->variable_count + 1);
    s->values = arena_array(arena, uint16_t, graph->variable_count + 1);
    s->deltas = arena_array(arena, double, factor_values_most(graph));
    for (size_t i = 0; i < graph->variable_count; i++)
        s->levels[i].branches =
            arena_array(arena, struct branch, value_count(graph, s->tree.order[i]) + 1);
    out->complete = search_all(s, nodes_max, &depth);
    out->bound = out->complete ? 0 : open_bound(s, depth);
    out->nodes = s->nodes;
}

void factor_bnb(struct arena *arena, const struct factor_graph *graph,
                const struct factor_options *options, struct factor_result *out)
{
    const int64_t nodes_max = options->steps_max > 0 ? options->steps_max : FACTOR_BNB_STEPS;
    struct search s = {.graph = graph};
    struct factor_bounded bounded = {.complete = true};
    *out = (struct factor_result){.claim = FACTOR_UNKNOWN};
    factor_tree(arena, graph, &s.tree);
    factor_collect_init(&s.collector, arena, graph, options);
    if (graph->variable_count == 0)
        (void)factor_collect(&s.collector, &(uint16_t){0});
    else if (s.tree.bound < INFINITY && collect_incumbent(arena, &s) &&
             (factor_tree_is_graph(graph, &s.tree) ||
              !factor_dual_search(arena, graph, &s.collector, nodes_max, &bounded)))
        search_tree(arena, &s, nodes_max, &bounded);
    factor_collect_finish(&s.collector, out);
    out->counters.steps = bounded.nodes;
    out->counters.moves = s.tree.moves + bounded.entries;
    factor_claim_bound(out, bounded.bound, bounded.complete);
    if (!bounded.complete)
        out->stopped = "more nodes than the limit";
}
