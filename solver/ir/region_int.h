#ifndef SOLVER_IR_REGION_INT_H
#define SOLVER_IR_REGION_INT_H

#include "solver/ir/region.h"

/* Shared by region.c and chain.c. */

/* "what: " and the statement as the spec writes it, on one line. */
const char *why_stmt(struct arena *arena, const char *what, const struct op *op,
                     const struct stmt *stmt);
bool same_extents(const struct loop *a, const struct loop *b, size_t count);
/* Every term of the reduction for every result; no scatter. */
bool plain_reduction(const struct stmt *stmt);

/* As tile_recognise, but its sum may end where a free loop says. */
bool product_recognise(struct arena *arena, const struct op *op, const size_t *stmts, size_t count,
                       struct tile *tile, const char **why);
bool reach_equal(struct row_reach a, struct row_reach b);

#endif
