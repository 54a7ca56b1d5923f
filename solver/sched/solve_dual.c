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
#include <string.h>

#include "solver/sched/dual_int.h"

/* TUNING: bench-solver's grids and random graphs. */
enum {
    FOUND_STEPS = 1 << 14,
    PASSES_ROOT = 400,
    PASSES_NODE = 12,
    OFFER_PASSES = 16,
    REGION_MAX = 256
};
enum { AROUND_LEAST = 24, AROUND_NODES = 64, AROUND_ENTRIES = 1 << 22 };
enum { NODES_FIRST = 4096, ENTRIES_FIRST = 1 << 26, ENTRIES_IMPROVE = 1 << 28, OFFER_READS = 4 };
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
    int64_t nodes, serial; /* of levels */
    int64_t offer_entries; /* that an offer reads, about */
};

/* The decoded assignment, and what it becomes by changing one value at a time. */
static void offer(struct dual_search *s)
{
    const size_t n = s->d.graph->variable_count;
    s->decoded = dual_decode(&s->d, s->values);
    s->d.entries += s->offer_entries;
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
        if (pass % OFFER_PASSES == OFFER_PASSES - 1)
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
    level->mark = dual_mark(&s->d, ++s->serial);
    s->nodes++;
    for (size_t x = 0; x < value_count(s->d.graph, v); x++)
        if (x != value && s->d.own[v][x] < INFINITY)
            dual_remove(&s->d, v, x);
}

/* To the node that was split last, which loses the value that was tried: its variable. */
static size_t take_back(struct dual_search *s)
{
    const struct dual_level *level = &s->levels[--s->depth];
    dual_undo(&s->d, &level->mark);
    dual_remove(&s->d, level->variable, level->value);
    return level->variable;
}

static void to_root(struct dual_search *s)
{
    if (s->depth > 0)
        dual_undo(&s->d, &s->levels[0].mark);
    s->depth = 0;
    dual_region_all(&s->d);
}

/* From the current node down, which may be closed already; true when all of it was seen. */
static bool search(struct dual_search *s, bool open, int64_t nodes_max, int64_t entries_max)
{
    for (;;) {
        const size_t v = open ? choose(s) : SIZE_MAX;
        size_t changed = v;
        if (v != SIZE_MAX) {
            if (s->nodes >= nodes_max || s->d.entries > entries_max)
                return false;
            split(s, v);
        } else {
            if (s->depth == 0)
                return true;
            changed = take_back(s);
            open = false;
            if (s->d.count[changed] == 0)
                continue;
        }
        dual_region(&s->d, changed, REGION_MAX);
        open = tighten(s, PASSES_NODE, gain_node);
    }
}

/* ---- better assignments ---- */

static void offer_found(struct dual_search *s, const struct factor_result *found)
{
    for (size_t i = 0; i < found->count; i++)
        (void)factor_collect(s->collector, found->best[i].values);
}

/* What WFC and the beam find where each cost already counts what the rest must pay. */
static void offer_heuristics(struct dual_search *s)
{
    const struct factor_options options = {.steps_max = FOUND_STEPS};
    struct factor_graph graph;
    struct factor_tree tree;
    struct factor_result found;
    if (!dual_graph(s->d.arena, &s->d, &graph))
        return;
    factor_wfc(s->d.arena, &graph, &options, &found);
    offer_found(s, &found);
    factor_tree(s->d.arena, &graph, &tree);
    factor_beam_tree(s->d.arena, &graph, &tree, &options, &found);
    offer_found(s, &found);
}

/* All but the variables around one keep their values of the best assignment; those are searched.
 * True when that found a better one. */
static bool search_around(struct dual_search *s, size_t variable, size_t most, const uint16_t *best)
{
    const size_t n = s->d.graph->variable_count;
    const double before = factor_collect_limit(s->collector);
    const struct dual_mark mark = dual_mark(&s->d, ++s->serial);
    dual_region(&s->d, variable, most);
    for (size_t v = 0; v < n; v++)
        for (size_t x = 0; !s->d.in_region[v] && x < value_count(s->d.graph, v); x++)
            if (x != best[v] && s->d.own[v][x] < INFINITY)
                dual_remove(&s->d, v, x);
    dual_region_all(&s->d);
    const bool open = tighten(s, PASSES_NODE, gain_node);
    (void)search(s, open, s->nodes + AROUND_NODES, s->d.entries + AROUND_ENTRIES);
    s->depth = 0;
    dual_undo(&s->d, &mark);
    dual_region_all(&s->d);
    return factor_collect_limit(s->collector) < before;
}

/* Around each variable in turn, until nothing helps; then around more at a time. */
static void improve(struct dual_search *s, int64_t entries_max)
{
    const size_t n = s->d.graph->variable_count;
    uint16_t *best = arena_array(s->d.arena, uint16_t, n + 1);
    for (size_t most = AROUND_LEAST; most < 2 * n; most *= 2) {
        size_t idle = 0;
        for (size_t at = 0; idle < n && s->d.entries < entries_max; at = (at + 1) % n) {
            memcpy(best, s->collector->items[0].values, n * sizeof(*best));
            idle = search_around(s, at, most, best) ? 0 : idle + 1;
        }
    }
}

static bool search_all(struct dual_search *s, int64_t nodes_max)
{
    const int64_t nodes_first = nodes_max < NODES_FIRST ? nodes_max : NODES_FIRST;
    bool open = tighten(s, PASSES_ROOT, gain_root);
    if (open) {
        offer_heuristics(s);
        open = tighten(s, PASSES_NODE, gain_root);
    }
    if (search(s, open, nodes_first, ENTRIES_FIRST))
        return true;
    if (nodes_first == nodes_max)
        return false;
    to_root(s);
    if (s->collector->count > 0)
        improve(s, ENTRIES_IMPROVE);
    open = tighten(s, PASSES_NODE, gain_root);
    return search(s, open, nodes_max, FACTOR_BNB_ENTRIES);
}

bool factor_dual_search(struct arena *arena, const struct factor_graph *graph,
                        struct factor_collector *collector, int64_t nodes_max,
                        struct factor_bounded *out)
{
    const size_t n = graph->variable_count;
    struct dual_search s = {.collector = collector};
    if (!dual_init(arena, graph, &s.d))
        return false;
    for (size_t i = 0; i < graph->edge_count; i++)
        s.offer_entries +=
            OFFER_READS * (int64_t)(graph->edges[i].table->rows + graph->edges[i].table->columns);
    s.levels = arena_array(arena, struct dual_level, n + 1);
    s.values = arena_array(arena, uint16_t, n + 1);
    s.polished = arena_array(arena, uint16_t, n + 1);
    s.costs = arena_array(arena, double, factor_values_most(graph));
    out->complete = search_all(&s, nodes_max);
    out->bound = dual_bound(&s.d);
    for (size_t i = 0; i < s.depth; i++)
        out->bound = fmin(out->bound, s.levels[i].bound);
    out->nodes = s.nodes;
    out->entries = s.d.entries;
    return true;
}

bool factor_dual_reduce(struct arena *arena, const struct factor_graph *graph, int passes_max,
                        struct factor_reduced *out)
{
    struct dual d;
    *out = (struct factor_reduced){0};
    if (!dual_init(arena, graph, &d))
        return false;
    for (int pass = 0; pass < passes_max; pass++) {
        const double before = d.total;
        if (!dual_pass(&d, INFINITY))
            return true;
        if (d.total - before <= gain_root * fabs(d.total))
            break;
    }
    out->possible = true;
    out->entries = d.entries;
    out->rounding = d.total - dual_bound(&d);
    return dual_graph(arena, &d, &out->graph);
}
