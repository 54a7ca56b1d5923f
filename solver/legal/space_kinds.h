#ifndef SOLVER_LEGAL_SPACE_KINDS_H
#define SOLVER_LEGAL_SPACE_KINDS_H

#include "solver/legal/limits.h"

/*
 * The choices of one region by its kind, legal or not, in a fixed order; one may come twice.  Each
 * lives in `arena`.
 */
struct kind_space {
    struct arena *arena;
    const struct bound_op *bound;
    const struct machine *machine;
    const struct plan_region *region;  /* the skeleton's */
    const struct footprint *footprint; /* of that */
    bool realisable;                   /* no choices that the realiser does not write */
    bool state;                        /* state_exists, when rows are for a model */
    void (*offer)(void *context, const struct plan_region *choice);
    void *context;
};
void row_choices(const struct kind_space *kind); /* rows and maps */
void tile_choices(const struct kind_space *kind);
/* The statement whose loops the rows have: the first reduction, else the first of all. */
const struct stmt *space_leading_stmt(const struct bound_op *bound,
                                      const struct plan_region *region);
/* Twice as many blocks a sum or a row, again and again, while SMs are left without one: as many as
 * space_splits says, 1 the first. */
enum { SPACE_SPLITS_MAX = 12 };
size_t space_splits(const struct kind_space *kind, int64_t blocks, int64_t most,
                    int64_t splits[SPACE_SPLITS_MAX]);

#endif
