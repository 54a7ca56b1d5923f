#ifndef SOLVER_SCHED_SCHED_H
#define SOLVER_SCHED_SCHED_H

/*
 * solver/sched: which of many plans.
 *
 *   factor_graph.h  the problem of all native solvers, and the solvers
 *   hwwfc.h         HW-WFC 2.9 bit for bit, and the check of its recorded results
 *   hwwfc_op.h      an op as the layers of the second
 *   hwwfc_graph.h   the problem of the second for the first
 *   plan_graph.h    the plans around a skeleton for the first
 *   cover.h         covers by candidate regions: dynamic programming over cuts, and for the first
 */
#include "solver/sched/cover.h"
#include "solver/sched/factor_graph.h"
#include "solver/sched/hwwfc.h"
#include "solver/sched/hwwfc_graph.h"
#include "solver/sched/hwwfc_op.h"
#include "solver/sched/plan_graph.h"

#endif
