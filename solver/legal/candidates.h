#ifndef SOLVER_LEGAL_CANDIDATES_H
#define SOLVER_LEGAL_CANDIDATES_H

#include "solver/legal/structure.h"

/*
 * Candidate regions of a bound op: which sets of statements may be realised together.
 *
 * Units are what a region takes whole: a statement, or all of a seq block.  A candidate is a convex
 * connected set of units that some kind of region accepts (region_skeletons).  Two units are
 * connected when one reads the other's result, or when both read one tensor under the same loops.
 * Sets grow by one unit at a time from their first unit; a pair that may not share a region by the
 * composition notes ends growth, and is counted with its reason.
 *
 * Candidates that are equal but for the names of loops and tensors are of one class.  A class has
 * an op of its own, `part`: its statements, and one more at the end that stands for all others (it
 * writes what they read from kernels before, and reads what they store for kernels behind).  So
 * what a class costs does not depend on the size of the op.
 *
 * All of it lives in `arena` and borrows from the bound op.
 */
enum {
    CANDIDATE_STMTS_MAX = 16,      /* of a region; a seq block may have more */
    CANDIDATE_UNIT_SETS_MAX = 512, /* sets looked at that begin with one unit */
    CANDIDATE_SETS_MAX = 1 << 17,  /* sets looked at */
    CANDIDATE_CO_READERS_MAX = 4,  /* a reader is connected with so many later ones of a tensor */
    CANDIDATE_CO_SPAN_MAX = 16,    /* statements between two readers of a tensor that connect */
    CANDIDATE_REFUSALS_MAX = 64,   /* different reasons */
};

struct candidate_unit {
    size_t first, count; /* statements */
};
struct candidate_class {
    const struct bound_op *part;
    const size_t *stmts; /* of the op: the first candidate of the class; 0.. in part */
    size_t stmt_count;
    struct region_skeleton kinds[REGION_SKELETONS_MAX]; /* of part */
    size_t kind_count;
    const char *why; /* without a kind: what the last one misses */
    size_t members;  /* candidates; 0 without a kind */
};
struct candidate_set {
    const size_t *units; /* ascending */
    size_t unit_count;
    const size_t *stmts; /* ascending */
    size_t stmt_count;
    size_t class; /* into classes */
};
struct candidate_refusal {
    struct str reason;  /* "read at other elements too: ..." */
    bool composition;   /* of a pair; else no kind of region accepts the set */
    size_t sets;        /* refused for it */
    struct str example; /* the first: its statements, one a line */
};
struct candidates {
    const struct bound_op *bound;
    const struct track *track;
    const struct skeleton_limits *limits;
    const struct candidate_unit *units;
    size_t unit_count;
    const size_t *unit_of;             /* by statement */
    const struct candidate_set *items; /* by first unit; a unit alone is the first of its own */
    size_t count;
    const size_t *starts; /* by unit: items[starts[u]] .. items[starts[u + 1] - 1] begin with u */
    const struct candidate_class *classes;
    size_t class_count;
    const struct candidate_refusal *refusals; /* in the order they were met */
    size_t refusal_count;
    size_t generated;              /* sets: count + refused */
    size_t refused, refused_pairs; /* the second: by composition */
    const char *stopped;           /* the limit that cut generation short; NULL = none */
};

/* `track` NULL = the op's first; `limits` must outlive *out. */
void candidates_find(struct arena *arena, const struct bound_op *bound, const struct track *track,
                     const struct skeleton_limits *limits, const struct structures *structures,
                     struct candidates *out);
/* A region of the class's part as one of the candidate: its statements, loops and tensors. */
struct plan_region candidate_region(struct arena *arena, const struct candidates *candidates,
                                    const struct candidate_set *candidate,
                                    const struct plan_region *of_part);

#endif
