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

/* Numbers the items' ends of each tensor and asks cost_edge for all pairs. */
void cover_hands(struct arena *arena, struct cover_problem *problem, struct cover_item *items);

#endif
