#ifndef SOLVER_IR_FOOTPRINT_INT_H
#define SOLVER_IR_FOOTPRINT_INT_H

#include "solver/ir/footprint.h"

/* Shared by footprint*.c. */

int64_t footprint_times(int64_t a, int64_t b); /* INT64_MAX when it overflows */
/* Of loops whose flat position is taken apart: divisions by extents that are no constants. */
int64_t footprint_divisions(const struct loop *loops, size_t count);
bool tile_footprint(struct arena *arena, const struct plan_region *region,
                    const struct bound_op *bound, struct footprint *out, const char **why);
bool chain_footprint(struct arena *arena, const struct plan_region *region,
                     const struct bound_op *bound, struct footprint *out, const char **why);

#endif
