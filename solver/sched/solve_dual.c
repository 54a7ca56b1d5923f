/*
 * Branch and bound with the dual bound (dual.c), for graphs with cycles.
 *
 * At each node the dual is raised a few passes around what changed, which removes values that
 * cannot be part of anything better than what is kept.  Then the decoded assignment is offered, and
 * the search splits where that is most above the bound: first the variable takes the decoded value,
 * then it loses it.  Undo restores what was moved, so a sibling starts from its parent's bound.
 *
 * Invariant: what is not in the collector and legal, and cheaper than its limit, has the values
 * that are left at the current node or at a level whose value was not removed yet.
 */
#include <math.h>

#include "solver/sched/dual_int.h"

/* TUNING: bench-solver's grids and random graphs. */
enum { PASSES_ROOT = 400, PASSES_NODE = 12, REGION_MAX = 256 };
static const double gain_root = 1e-4, gain_node = 0.1; /* of what is missing, by one more pass */

struct dual_level {
    struct dual_mark mark;
    double bound; /* of the node that was split */
    size_t variable;
    uint16_t value;
};
struct dual_search {
    struct dual d;
    struct factor_collector *collector;
    struct dual_level *levels;
    size_t depth;
    uint16_t *values, *polished;
    double *costs; /* by value */
    bool decoded;
    int64_t nodes;
};

/* The decoded assignment, and what it becomes by changing one value at a time. */
static void offer(struct dual_search *s)
{
    const size_t n = s->d.graph->variable_count;
    s->decoded = dual_decode(&s->d, s->values);
    if (!s->decoded)
        return;
    (void)factor_collect(s->collector, s->values);
    for (size_t v = 0; v < n; v++)
        s->polished[v] = s->values[v];
    factor_polish(s->d.graph, &s->d.incident, s->polished, s->costs);
    (void)factor_collect(s->collector, s->polished);
}

/* False when nothing below the limit is left. */
static bool tighten(struct dual_search *s, int passes_max, double gain_least)
{
    for (int pass = 0; pass < passes_max; pass++) {
        const double before = s->d.total;
        if (!dual_pass(&s->d, factor_collect_limit(s->collector)))
            return false;
        if (pass % 4 == 0 || pass + 1 == passes_max)
            offer(s);
        const double missing = factor_collect_limit(s->collector) - s->d.total;
        const double scale = missing < INFINITY ? missing : fabs(s->d.total);
        if (s->d.total - before <= gain_least * scale)
            break;
    }
    offer(s);
    return !factor_reaches(dual_bound(&s->d), factor_collect_limit(s->collector));
}

/* The variable at which the decoded values are most above the bound, or of fewest values where
 * nothing was decoded; SIZE_MAX when each has one. */
static size_t choose(const struct dual_search *s)
{
    size_t best = SIZE_MAX;
    double most = -INFINITY;
    for (size_t v = 0; v < s->d.graph->variable_count; v++) {
        if (s->d.count[v] == 1)
            continue;
        const double rank = s->decoded ? dual_excess(&s->d, s->values, v) : -(double)s->d.count[v];
        if (rank > most || best == SIZE_MAX) {
            most = rank;
            best = v;
        }
    }
    return best;
}

static uint16_t first_value(const struct dual_search *s, size_t v)
{
    if (s->decoded)
        return s->values[v];
    return dual_cheapest(&s->d, v);
}

static void split(struct dual_search *s, size_t v)
{
    const uint16_t value = first_value(s, v);
    struct dual_level *level = &s->levels[s->depth++];
    *level = (struct dual_level){.bound = dual_bound(&s->d), .variable = v, .value = value};
    level->mark = dual_mark(&s->d, ++s->nodes);
    for (size_t x = 0; x < value_count(s->d.graph, v); x++)
        if (x != value && s->d.own[v][x] < INFINITY)
            dual_remove(&s->d, v, x);
}

/* True when all was seen. */
static bool search(struct dual_search *s, int64_t nodes_max)
{
    bool open = tighten(s, PASSES_ROOT, gain_root);
    for (;;) {
        const size_t v = open ? choose(s) : SIZE_MAX;
        size_t changed = v;
        if (v != SIZE_MAX) {
            if (s->nodes >= nodes_max || s->d.entries > FACTOR_BNB_ENTRIES)
                return false;
            split(s, v);
        } else {
            if (s->depth == 0)
                return true;
            const struct dual_level *level = &s->levels[--s->depth];
            dual_undo(&s->d, &level->mark);
            dual_remove(&s->d, level->variable, level->value);
            changed = level->variable;
            if (s->d.count[changed] == 0) {
                open = false;
                continue;
            }
        }
        dual_region(&s->d, changed, REGION_MAX);
        open = tighten(s, PASSES_NODE, gain_node);
    }
}

bool factor_dual_search(struct arena *arena, const struct factor_graph *graph,
                        struct factor_collector *collector, int64_t nodes_max,
                        struct factor_bounded *out)
{
    const size_t n = graph->variable_count;
    struct dual_search s = {.collector = collector};
    if (!dual_init(arena, graph, &s.d))
        return false;
    s.levels = arena_array(arena, struct dual_level, n + 1);
    s.values = arena_array(arena, uint16_t, n + 1);
    s.polished = arena_array(arena, uint16_t, n + 1);
    s.costs = arena_array(arena, double, factor_values_most(graph));
    out->complete = search(&s, nodes_max);
    out->bound = dual_bound(&s.d);
    for (size_t i = 0; i < s.depth; i++)
        out->bound = fmin(out->bound, s.levels[i].bound);
    out->nodes = s.nodes;
    out->entries = s.d.entries;
    return true;
}
