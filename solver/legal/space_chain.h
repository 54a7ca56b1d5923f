#ifndef SOLVER_LEGAL_SPACE_CHAIN_H
#define SOLVER_LEGAL_SPACE_CHAIN_H

#include "solver/ir/ir.h"

/* The choices of a chain region, legal or not, in a fixed order; each lives in `arena`.  False when
 * the statements are no chain, nor scores (space_scores.c). */
typedef void chain_visitor(void *context, const struct plan_region *choice);
bool chain_choices(struct arena *arena, const struct bound_op *bound,
                   const struct plan_region *region, chain_visitor *visit, void *context);
bool scores_choices(struct arena *arena, const struct bound_op *bound,
                    const struct plan_region *region, chain_visitor *visit, void *context);

#endif
