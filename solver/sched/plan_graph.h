#ifndef SOLVER_SCHED_PLAN_GRAPH_H
#define SOLVER_SCHED_PLAN_GRAPH_H

#include "solver/cost/cost.h"
#include "solver/legal/legal.h"
#include "solver/sched/factor_graph.h"

/*
 * The plans around a skeleton as a factor graph, in seconds: a variable is a region, its values the
 * legal choices of plan_space, an edge the tensors that two regions hand over.  So factor_cost is
 * plan_cost.seconds of space_plan, but for the order of sums.
 */
enum { PLAN_GRAPH_PAIRS_MAX = 1 << 22 }; /* entries of all tables */

/* ERR_LIMIT past PLAN_GRAPH_PAIRS_MAX or FACTOR_VALUES_MAX. */
bool plan_graph(struct arena *arena, const struct plan *skeleton, const struct bound_op *bound,
                const struct machine *machine, const struct space *space, struct factor_graph *out,
                struct err *err) MUST_USE;

#endif
