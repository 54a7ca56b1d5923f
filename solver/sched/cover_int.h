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

/* Items that read each other in a circle, of picks in no order: each of those that are not placed
 * waits for one of them.  circle[] has room for all; how many. */
size_t cover_circle(struct arena *arena, const struct cover_problem *problem,
                    const struct cover_pick *picks, size_t count, const bool *placed,
                    size_t *circle);
/* One variable more in *graph: not all items of the circle are taken. */
void cover_forbid(struct arena *arena, const struct cover_problem *problem, const size_t *circle,
                  size_t count, struct cover_graph *graph);
/* cover_decode, and the circle where there is none. */
bool cover_decode_or_circle(struct arena *arena, const struct cover_problem *problem,
                            const struct cover_graph *graph,
                            const struct factor_assignment *assignment, struct cover *out,
                            size_t *circle, size_t *length);

#endif
