#ifndef SOLVER_SCHED_COVER_INT_H
#define SOLVER_SCHED_COVER_INT_H

#include "solver/sched/cover.h"

/* The legal choices of a class by one kind of region, in its part, and their prices as the first
 * region of a plan or behind another; the plan of one region that they vary is *plan.  ERR_LIMIT:
 * none. */
struct cover_kind {
    struct plan plan;
    struct space space;
    double *seconds;
};
bool cover_kind(struct arena *arena, const struct cover_problem *problem,
                const struct candidate_class *class, size_t kind, bool first,
                struct cover_kind *out, struct err *err) MUST_USE;

#endif
