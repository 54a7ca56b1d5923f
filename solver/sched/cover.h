#ifndef SOLVER_SCHED_COVER_H
#define SOLVER_SCHED_COVER_H

#include "solver/cost/cost.h"
#include "solver/legal/legal.h"
#include "solver/sched/factor_graph.h"

/*
 * Covers of an op's statements by candidate regions, with the choices inside the regions.
 *
 *   cost(cover) = start + sum over regions of choice.seconds + sum over edges of cost_edge
 *
 * which is plan_cost.seconds of the cover's plan, but for the order of sums.  A class of candidates
 * has one domain: the legal choices of plan_space for all kinds of region that accept it, of which
 * the `best` cheapest are kept for each signature.  Two choices of one signature cost their
 * neighbours the same, so the k best covers are among what is kept for k <= best.
 */
enum {
    COVER_SIGNATURES = REGION_SKELETONS_MAX * COST_SIGNATURES,
    COVER_WIDTH_MAX = 1 << 12, /* states of one number of statements done; the rest is dropped */
    COVER_STATES_MAX = 1 << 18,
    COVER_PAIRS_MAX = 1 << 24, /* entries of a factor graph's tables */
    COVER_NARROW = 64,         /* the width past COVER_STATES_MAX */
    COVER_CIRCLES_MAX = 256    /* of regions, forbidden one by one */
};

struct cover_choice {
    struct plan_region region; /* of the class's part */
    const struct formula *guard;
    double seconds;   /* not as the first region of a plan */
    size_t signature; /* its kind and cost_signature; 0 where no edge varies */
    size_t kind;      /* of the class's */
};
struct cover_domain {
    const struct cover_choice *choices; /* by signature, then seconds */
    size_t count;
    size_t starts[COVER_SIGNATURES + 1]; /* by signature: where its choices begin */
    size_t generated, legal;             /* before limits, after them */
    size_t refused[LIMIT_COUNT];
    const char *why; /* no choice is legal: the first reason */
};
/* What a candidate takes from other regions, and what it gives them. */
struct cover_read {
    size_t tensor, writer; /* statement */
    size_t first, count;   /* of its statements that read it: the first, and how many */
    size_t column;         /* of hands[tensor], of signature 0 */
};
struct cover_write {
    size_t tensor;
    size_t first, count; /* of other statements that read it */
    size_t row;          /* of hands[tensor], of signature 0 */
};
/* What cost_edge says of a tensor, by item and signature at both ends.  Where edges of it do not
 * vary there is one row and one column. */
struct cover_hand {
    bool varies;
    size_t rows, columns;
    const double *seconds; /* [row][column][the receiver pays for the writing] */
    const size_t *same;    /* by row: the first row of equal seconds */
};
struct cover_item {
    const struct candidate_set *candidate;
    const struct cover_domain *domain; /* never empty */
    const struct cover_read *reads;
    size_t read_count;
    const struct cover_write *writes;
    size_t write_count;
    double least; /* choice, and reading what it takes */
};
struct cover_problem {
    const struct bound_op *bound;
    const struct track *track;
    const struct machine *machine;
    const struct skeleton_limits *limits;
    const struct candidates *candidates;
    const struct cover_domain *domains; /* by class */
    const struct cover_item *items;     /* in the candidates' order, without empty domains */
    size_t item_count;
    const size_t *starts;           /* by unit, as candidates.starts */
    double start_s;                 /* of any plan: what the first region costs more than others */
    const struct cover_hand *hands; /* by tensor */
    bool edges_ignored;             /* regions alone: for comparison */
    size_t best;
    size_t generated, legal, kept; /* choices of all domains */
    size_t reused;                 /* candidates whose domain an equal one had made */
};

/* `candidates` and its limits must outlive *out.  ERR_LIMIT when a statement is in no candidate
 * that has a legal choice, with the reason. */
bool cover_problem(struct arena *arena, const struct candidates *candidates,
                   const struct machine *machine, size_t best, struct cover_problem *out,
                   struct err *err) MUST_USE;
/* Seconds of handing over a tensor between choices of two signatures.  The receiver with the first
 * of the statements that read it pays for the writing. */
double cover_edge(const struct cover_problem *problem, const struct cover_write *from,
                  size_t from_signature, const struct cover_read *to, size_t to_signature);
/* What tells writers of a tensor apart: equal for equal seconds to any receiver. */
size_t cover_writer(const struct cover_problem *problem, const struct cover_write *from,
                    size_t signature);

/* ---- results ---- */

struct cover_pick {
    size_t item, choice; /* into items, and choices of its domain */
};
struct cover {
    double cost;
    const struct cover_pick *picks; /* in an order that runs */
    size_t count;
};
struct cover_result {
    enum factor_claim claim;  /* of best[0]; OPTIMAL holds for all of best[], up to rounding */
    double bound;             /* no cover of these candidates costs less, up to rounding */
    const struct cover *best; /* cheapest first, all different */
    size_t count;
    size_t states, transitions, widest; /* of dynamic programming */
    const char *stopped;                /* the limit that ended exactness; NULL = none did */
};

/*
 * Dynamic programming over cuts.  A state is what is done (closed under what it reads) and, for
 * each tensor that is still to be read, what tells its writer apart and whether its writing is
 * paid.  `width` 0 = COVER_WIDTH_MAX.
 */
void cover_solve(struct arena *arena, const struct cover_problem *problem, size_t width,
                 struct cover_result *out);
/* The cost of a cover from its terms; the picks cover each statement once. */
double cover_cost(struct arena *arena, const struct cover_problem *problem,
                  const struct cover_pick *picks, size_t count);
/* With edges and guard; passes plan_check.  Limits of the whole plan are the caller's to check. */
const struct plan *cover_plan(struct arena *arena, const struct cover_problem *problem,
                              const struct cover_pick *picks, size_t count);

/*
 * The plans around a cover: the same regions by the same kinds, `skeleton` with each kind's first
 * choice, `space` with all legal choices of each (but no whole plans), and their prices by region
 * and choice.
 */
struct cover_space {
    const struct plan *skeleton;
    struct space space;
    const double *const *seconds;
};
void cover_space(struct arena *arena, const struct cover_problem *problem,
                 const struct cover_pick *picks, size_t count, struct cover_space *out);

/* ---- the same problem for the solvers of factor graphs ---- */

/*
 * A variable is a unit; a value an item that has it, with a choice.  Unary costs stand at an item's
 * first unit; tables keep an item's units together, carry the edges' costs and forbid two items
 * that read each other.  A longer circle of items is left to cover_decode to find.
 */
struct cover_graph {
    struct factor_graph graph;
    const struct cover_pick *const *values; /* by variable, by value */
    size_t tables, tables_reused;
};
/* ERR_LIMIT past FACTOR_VALUES_MAX values of a variable or COVER_PAIRS_MAX. */
bool cover_graph(struct arena *arena, const struct cover_problem *problem, struct cover_graph *out,
                 struct err *err) MUST_USE;
/* The cover of an assignment, in an order that runs; false when there is none. */
bool cover_decode(struct arena *arena, const struct cover_problem *problem,
                  const struct cover_graph *graph, const struct factor_assignment *assignment,
                  struct cover *out);

/*
 * The best cover that a solver finds: while its assignment has a circle, that is forbidden and the
 * graph solved again.  Claim and bound hold over all covers of the items.  False: there is none, or
 * circles go on past COVER_CIRCLES_MAX.
 */
typedef void cover_graph_solver(struct arena *arena, const struct factor_graph *graph,
                                const struct factor_options *options, struct factor_result *out);
struct cover_graph_result {
    struct factor_result result; /* of the last graph */
    struct cover cover;
    size_t circles; /* that were forbidden */
};
bool cover_graph_solve(struct arena *arena, const struct cover_problem *problem,
                       const struct cover_graph *graph, cover_graph_solver *solve,
                       const struct factor_options *options, struct cover_graph_result *out);

#endif
