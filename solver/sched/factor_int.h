#ifndef SOLVER_SCHED_FACTOR_INT_H
#define SOLVER_SCHED_FACTOR_INT_H

#include "solver/sched/factor_graph.h"

static inline size_t value_count(const struct factor_graph *graph, size_t variable)
{
    return graph->variables[variable].domain->count;
}

/* Cost of an edge seen from one of its ends. */
static inline double pair_cost(const struct factor_edge *edge, size_t end, size_t value,
                               size_t other)
{
    return end == edge->a ? edge->table->cost[value * edge->table->columns + other]
                          : edge->table->cost[other * edge->table->columns + value];
}

/* Of any variable; 1 at least. */
size_t factor_values_most(const struct factor_graph *graph);

/* Edges by variable: those of v are list[start[v]] .. list[start[v + 1] - 1]. */
struct factor_incident {
    const size_t *start;
    const size_t *list; /* edge numbers, ascending */
};
void factor_incident(struct arena *arena, const struct factor_graph *graph,
                     struct factor_incident *out);

/*
 * Items by key: least `first`, of equals least `second`, of equals the lower item.  Each is in the
 * queue at most once.
 */
struct factor_key {
    double first, second;
};
struct factor_queue {
    size_t *heap, *place; /* place by item; SIZE_MAX = not in the queue */
    struct factor_key *keys;
    size_t count;
    int64_t moves; /* items put somewhere, ever */
};
void factor_queue_init(struct factor_queue *queue, struct arena *arena, size_t items);
void factor_queue_clear(struct factor_queue *queue, size_t items);
/* Adds the item, or moves it to where its new key belongs. */
void factor_queue_set(struct factor_queue *queue, size_t item, struct factor_key key);
/* The item is in the queue. */
void factor_queue_remove(struct factor_queue *queue, size_t item);
/* SIZE_MAX = empty. */
size_t factor_queue_first(const struct factor_queue *queue);

/* The cheapest assignments that were offered, without doubles. */
struct factor_collector {
    struct arena *arena;
    const struct factor_graph *graph;
    size_t room, count;
    struct factor_assignment items[FACTOR_BEST_MAX];
};
void factor_collect_init(struct factor_collector *c, struct arena *arena,
                         const struct factor_graph *graph, const struct factor_options *options);
/* False when it is forbidden or dearer than `room` others. */
bool factor_collect(struct factor_collector *c, const uint16_t *values);
/* What an assignment must stay below to be kept. */
double factor_collect_limit(const struct factor_collector *c);
/* Fills best and count; the rest is the solver's. */
void factor_collect_finish(const struct factor_collector *c, struct factor_result *out);

/* What is under the bound does not beat the limit.  Bounds are sums in another order than costs,
 * and ties are many: what would win by less than a 1e-12th is not looked for. */
bool factor_reaches(double bound, double limit);
/* Claim and bound of what was collected: by a complete search, or by one that left nothing open
 * below `bound`. */
void factor_claim_bound(struct factor_result *out, double bound, bool complete);

/* Takes one variable's best value after the other while that helps; `costs` has room for the values
 * of any variable. */
void factor_polish(const struct factor_graph *graph, const struct factor_incident *incident,
                   uint16_t *values, double *costs);

/* Branch and bound with the dual bound, adding to what was collected; where it is not complete,
 * nothing that was left out costs less than `bound`.  False, having done nothing, when the numbers
 * are too large.  No domain is empty. */
struct factor_bounded {
    bool complete;
    double bound;
    int64_t nodes, entries;
};
bool factor_dual_search(struct arena *arena, const struct factor_graph *graph,
                        struct factor_collector *collector, int64_t nodes_max,
                        struct factor_bounded *out) MUST_USE;

/*
 * The k best from finished dynamic programming: variables are fixed in an order, and the solver
 * says what each value of the next one adds to the least cost that is still possible.
 */
struct factor_deltas {
    const size_t *order;
    size_t count;
    const void *context;
    /* out[value] of order[at], >= 0, given the values of the variables before it in `order`. */
    void (*fill)(const void *context, size_t at, const uint16_t *values, double *out);
};
void factor_best_first(struct factor_collector *c, const struct factor_deltas *deltas);

/*
 * A lower bound that is exact on trees.  Variables in an order with each one's tree parent before
 * it; `rest[v][x]` is the least cost of v's subtree when v takes x, in which an edge off the tree
 * counts with its least entry for the later end's value.  Assigning order[at] = x after all before
 * it raises the bound by tree_delta(), never below.
 */
struct factor_tree {
    const size_t *order;
    const size_t *parent_edge; /* by variable; SIZE_MAX at roots */
    const double *const *rest;
    double bound; /* of the empty assignment */
    struct factor_incident incident;
    const size_t *place;             /* of each variable in order */
    const double *const *edge_least; /* by edge off the tree: by value of the later end */
    int64_t moves;
};
void factor_tree(struct arena *arena, const struct factor_graph *graph, struct factor_tree *out);
/* By value of order[at]; INFINITY = forbidden. */
void factor_tree_deltas(const struct factor_graph *graph, const struct factor_tree *tree, size_t at,
                        const uint16_t *values, double *out);

/* True when the tree has all edges: the bound is exact. */
bool factor_tree_is_graph(const struct factor_graph *graph, const struct factor_tree *tree);
/* Beam search along a tree of the graph. */
void factor_beam_tree(struct arena *arena, const struct factor_graph *graph,
                      const struct factor_tree *tree, const struct factor_options *options,
                      struct factor_result *out);

/* The graph that at most so many passes of the dual leave.  False where numbers or tables are too
 * large; no domain is empty. */
struct factor_reduced {
    struct factor_graph graph;
    bool possible;   /* else propagation left a variable without a value, and there is no graph */
    double rounding; /* how far a bound in it may be over one in the original */
    int64_t entries; /* of tables, read on the way */
};
bool factor_dual_reduce(struct arena *arena, const struct factor_graph *graph, int passes_max,
                        struct factor_reduced *out) MUST_USE;

#endif
