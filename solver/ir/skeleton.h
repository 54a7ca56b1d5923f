#ifndef SOLVER_IR_SKELETON_H
#define SOLVER_IR_SKELETON_H

#include "solver/ir/plan.h"

/* What a first plan needs to know of the machine, and of who writes the kernels. */
struct skeleton_limits {
    const char *arch;    /* "sm_90a"; the plan's machine */
    int64_t threads_max; /* a block */
    bool realisable;     /* only kinds of regions that synth's realiser writes: no chains */
};

/*
 * A simple honest plan for fused maps, row reductions and normalisations, and SIMT contractions, at
 * a target shape; other statements get the one-thread-an-element region.  Decided from the
 * statements, never from names.  `track` NULL = the op's first.
 */
bool plan_skeleton(struct arena *arena, const struct bound_op *target, const struct track *track,
                   const struct skeleton_limits *limits, const struct plan **out,
                   struct err *err) MUST_USE;

/* A region that a set of statements can be, with the guard that its numbers ask for. */
struct region_skeleton {
    struct plan_region region;
    const struct formula *guard;
};
enum { REGION_SKELETONS_MAX = 4 };

/*
 * The regions that these statements (ascending) can be together, one of each kind that their loops
 * and accesses admit: chain (one product and its row statistics: one for each of what a block may
 * have whole), tile, rows or maps, elements.  0: none, *why says what the kind misses that the
 * set comes closest to.  Whether the set is convex, and what pays, is the caller's matter.
 */
size_t region_skeletons(struct arena *arena, const struct bound_op *target,
                        const struct track *track, const struct skeleton_limits *limits,
                        const size_t *stmts, size_t count,
                        struct region_skeleton out[REGION_SKELETONS_MAX], const char **why);
/* The plan of a cover: regions in the order they run, edges between them, all guards. */
const struct plan *plan_of_regions(struct arena *arena, const struct bound_op *target,
                                   const struct track *track, const struct skeleton_limits *limits,
                                   const struct region_skeleton *regions, size_t count);

#endif
