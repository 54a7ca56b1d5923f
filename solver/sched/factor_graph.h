#ifndef SOLVER_SCHED_FACTOR_GRAPH_H
#define SOLVER_SCHED_FACTOR_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/str.h"

/*
 * The one problem of all native solvers: variables with finite domains, a cost for each value, a
 * cost for each pair of values along an edge; the least sum is sought.
 *
 *   cost(x) = sum over variables of unary[x] + sum over edges of table[x_a][x_b]
 *
 * Costs are doubles in any one unit (seconds of a plan; minus the score of HW-WFC), so negative
 * ones are fine; NaN and -INFINITY are not.  INFINITY forbids: a pair is forbidden by its table, a
 * value by leaving its domain (factor_domain), and each removal has a reason by name.  Graphs are
 * immutable once built and own nothing; domains, unary costs and tables may be shared, and solvers
 * see that repeated parts are the same by their pointers.
 *
 * A solver keeps nothing between calls: the same graph and options give the same result.
 */
enum {
    FACTOR_VARIABLES_MAX = 20000,
    FACTOR_VALUES_MAX = 4096,
    FACTOR_BEST_MAX = 64 /* assignments of one result */
};

/* What a hard limit did to a domain. */
struct factor_removal {
    size_t removed;     /* values that no earlier limit had removed */
    double over_least;  /* by how much the nearest of them is over; INFINITY = not known */
    double slack_least; /* what the kept value that is nearest to the limit has left; likewise */
};
struct factor_domain {
    size_t count;
    const uint16_t *labels;                /* the owner's number of each value, ascending */
    size_t offered;                        /* before limits */
    const struct factor_removal *removals; /* by limit */
    const char *const *limits;             /* their names: the reasons of removals */
    size_t limit_count;
};
struct factor_variable {
    struct str name;
    const struct factor_domain *domain;
    const double *unary;
};
struct factor_table {
    size_t rows, columns;
    const double *cost; /* [row * columns + column] */
    size_t forbidden;   /* INFINITY entries */
    double least, most; /* of the finite entries; 0 without */
};
struct factor_edge {
    size_t a, b; /* different; rows of the table are a's values */
    const struct factor_table *table;
};
struct factor_graph {
    const struct factor_variable *variables;
    size_t variable_count;
    const struct factor_edge *edges; /* two of the same variables add up */
    size_t edge_count;
};

/* Those of 0 .. offered - 1 whose slack is not negative for any limit; limits are tried in order.
 */
const struct factor_domain *
factor_domain(struct arena *arena, size_t offered, const char *const *limits, size_t limit_count,
              double (*slack)(const void *context, size_t limit, size_t value),
              const void *context);
/* All of them, without limits. */
const struct factor_domain *factor_domain_whole(struct arena *arena, size_t count);
/* cost(context, row, column) for positions in the two domains. */
const struct factor_table *
factor_table(struct arena *arena, size_t rows, size_t columns,
             double (*cost)(const void *context, size_t row, size_t column), const void *context);

/* The sum above, variables first, each in order.  `values` are positions in domains. */
double factor_cost(const struct factor_graph *graph, const uint16_t *values);
/* The same, part by part: unary[variable], pair[edge]. */
void factor_terms(const struct factor_graph *graph, const uint16_t *values, double *unary,
                  double *pair);

/* ---- results ---- */

#define FACTOR_CLAIMS(X)                                                                           \
    X(OPTIMAL, "proven optimal")                                                                   \
    X(WITHIN, "within a proven distance of the optimum")                                           \
    X(HEURISTIC, "heuristic")                                                                      \
    X(IMPOSSIBLE, "proven to have no legal assignment")                                            \
    X(UNKNOWN, "nothing found within the limits")
enum factor_claim {
#define X(id, text) FACTOR_##id,
    FACTOR_CLAIMS(X)
#undef X
};
struct factor_assignment {
    double cost; /* factor_cost */
    const uint16_t *values;
};
struct factor_counters {
    int64_t steps;      /* assignments tried, table entries, nodes, or decisions */
    int64_t removals;   /* of values, by propagation */
    int64_t backtracks; /* of the last descent */
    int64_t restarts;   /* descents that ran out of backtracks before one found something */
    int64_t reused;     /* columns of a chain that an equal earlier one answered */
    int64_t moves;  /* beside the steps: of entries in queues and lists, and walks between nodes */
    int64_t states; /* largest table that was needed, also when it was over the limit */
};
struct factor_result {
    enum factor_claim claim; /* of best[0]; OPTIMAL holds for all of best[], up to rounding */
    double bound;            /* nothing legal costs less, up to rounding; -INFINITY = not known */
    const struct factor_assignment *best; /* cheapest first, all different */
    size_t count;
    struct factor_counters counters;
    const char *stopped; /* the limit that ended the search early; NULL = none did */
};
const char *factor_claim_text(enum factor_claim claim);

/* ---- solvers ---- */

struct factor_options {
    size_t best_count; /* 1 to FACTOR_BEST_MAX; 0 = 1 */
    int64_t steps_max; /* 0 = the solver's own limit, below */
    size_t beam_width; /* 0 = 64 */
    uint64_t seed;     /* of wfc: 0 = no noise in the first descent */
    int64_t restarts;  /* of wfc: descents beyond the first that finds something */
    bool by_count;     /* of wfc: the variable of fewest values next, not of least entropy */
};
/* TUNING: about a second each on the machine of README's table. */
enum {
    FACTOR_BRUTE_STEPS = 1 << 24,     /* assignments */
    FACTOR_ELIMINATE_STEPS = 1 << 26, /* table entries times values; tables hold a tenth at most */
    FACTOR_BNB_STEPS = 1 << 23,       /* nodes */
    FACTOR_BNB_ENTRIES = 1 << 29,     /* table entries that its dual bound reads */
    FACTOR_WFC_STEPS = 1 << 18        /* decisions */
};

/* All assignments: the oracle.  UNKNOWN when there are more than the limit. */
void factor_brute(struct arena *arena, const struct factor_graph *graph,
                  const struct factor_options *options, struct factor_result *out);
/* True when the graph is paths: each variable has at most two neighbours, none twice, no cycle. */
bool factor_is_chain(struct arena *arena, const struct factor_graph *graph);
/* Dynamic programming along paths (Viterbi), each distinct step once.  The graph is a chain. */
void factor_chain(struct arena *arena, const struct factor_graph *graph,
                  const struct factor_options *options, struct factor_result *out);
/* Variable elimination in min-fill order on any graph.  UNKNOWN past the limit of states. */
void factor_eliminate(struct arena *arena, const struct factor_graph *graph,
                      const struct factor_options *options, struct factor_result *out);
/* Depth first: on forests with the exact bound of the trees, else with the dual bound of the linear
 * relaxation (dual_int.h has the source).  WITHIN when a limit ended it. */
void factor_bnb(struct arena *arena, const struct factor_graph *graph,
                const struct factor_options *options, struct factor_result *out);
/* The same order and bound, the best `beam_width` partial assignments at a time. */
void factor_beam(struct arena *arena, const struct factor_graph *graph,
                 const struct factor_options *options, struct factor_result *out);
/* Wave function collapse: least entropy first, arc consistency, conflict-directed backtracking;
 * where most pairs are forbidden, with scores from the dual and some restarts without being asked.
 */
void factor_wfc(struct arena *arena, const struct factor_graph *graph,
                const struct factor_options *options, struct factor_result *out);
/* The exact solver that fits: chain, elimination, or branch and bound where tables grow too large;
 * WITHIN when that stops too. */
void factor_solve(struct arena *arena, const struct factor_graph *graph,
                  const struct factor_options *options, struct factor_result *out);

#endif
