#ifndef SOLVER_IR_FOOTPRINT_INT_H
#define SOLVER_IR_FOOTPRINT_INT_H

#include "solver/ir/footprint.h"

/* Shared by footprint.c and footprint_chain.c. */

int64_t footprint_times(int64_t a, int64_t b); /* INT64_MAX when it overflows */
bool chain_footprint(struct arena *arena, const struct plan_region *region,
                     const struct bound_op *bound, struct footprint *out, const char **why);

#endif
