#ifndef SOLVER_SCHED_SCHED_H
#define SOLVER_SCHED_SCHED_H

/*
 * solver/sched: which of many plans.
 *
 *   hwwfc.h         HW-WFC 2.9 bit for bit, and the check of its recorded results
 */
#include "solver/sched/hwwfc.h"

#endif
