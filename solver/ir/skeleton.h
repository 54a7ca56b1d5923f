#ifndef SOLVER_IR_SKELETON_H
#define SOLVER_IR_SKELETON_H

#include "solver/ir/plan.h"

/* What a first plan needs to know of the machine. */
struct skeleton_limits {
    const char *arch;    /* "sm_90a"; the plan's machine */
    int64_t threads_max; /* a block */
};

/*
 * A simple honest plan for fused maps, row reductions and normalisations, and SIMT contractions, at
 * a target shape; other statements get the one-thread-an-element region.  Decided from the
 * statements, never from names.  `track` NULL = the op's first.
 */
bool plan_skeleton(struct arena *arena, const struct bound_op *target, const struct track *track,
                   const struct skeleton_limits *limits, const struct plan **out,
                   struct err *err) MUST_USE;

#endif
