#ifndef SOLVER_LEGAL_STATE_H
#define SOLVER_LEGAL_STATE_H

#include "solver/ir/ir.h"

/*
 * Can two of the region's reductions, the second of terms that need the first's result, be made in
 * one pass by a running state?  A maximum and sums of exponentials against it, or a mean and
 * squared deviations: what the rewrites ONLINE and WELFORD admit (rewrite.h).
 */
bool state_exists(struct arena *arena, const struct bound_op *bound,
                  const struct plan_region *region);

#endif
