#ifndef SOLVER_LEGAL_SPACE_CHAIN_H
#define SOLVER_LEGAL_SPACE_CHAIN_H

#include "solver/ir/ir.h"

/* The choices of a chain region, legal or not, in a fixed order; each lives in `arena`.  False when
 * the statements are no chain, nor scores (space_scores.c). */
typedef void chain_visitor(void *context, const struct plan_region *choice);

/* A block of chains and scores: its rows, a step, and what a thread has of both. */
struct chain_block {
    int64_t rows, step, own_rows, own_steps;
    bool mma; /* 16 rows a warp, whatever a thread has */
};
/* Threads and instruction of such a block; false: plan_check has no plans of that many threads. */
bool chain_set_block(struct plan_region *region, const struct chain_block *block);

bool chain_choices(struct arena *arena, const struct bound_op *bound,
                   const struct plan_region *region, chain_visitor *visit, void *context);
bool scores_choices(struct arena *arena, const struct bound_op *bound,
                    const struct plan_region *region, chain_visitor *visit, void *context);

#endif
