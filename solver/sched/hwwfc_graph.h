#ifndef SOLVER_SCHED_HWWFC_GRAPH_H
#define SOLVER_SCHED_HWWFC_GRAPH_H

#include "solver/sched/factor_graph.h"
#include "solver/sched/hwwfc.h"

/*
 * HW-WFC's problem for the native solvers: cost = minus the objective.  Its hard limits make the
 * domains, in order of enum hwwfc_limit; labels are places in a layer's candidate list.  Layers of
 * one shape share domain, costs and tables.  Pairs whose penalty is above `threshold` are
 * forbidden; INFINITY leaves all, as the original's own dynamic programming does.
 */
void hwwfc_graph(struct arena *arena, const struct hwwfc_problem *problem,
                 const struct hwwfc_scores *scores, double weight, double threshold,
                 struct factor_graph *out);
/* The state ids of an assignment. */
void hwwfc_graph_states(const struct hwwfc_problem *problem, const struct factor_graph *graph,
                        const uint16_t *values, size_t *states);

#endif
