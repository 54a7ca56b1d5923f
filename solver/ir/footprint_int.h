#ifndef SOLVER_IR_FOOTPRINT_INT_H
#define SOLVER_IR_FOOTPRINT_INT_H

#include "solver/ir/footprint.h"

/* Shared by footprint*.c. */

struct scores; /* region.h */
struct row_reach;

enum {
    CHAIN_PAD_BYTES = 16, /* beside each row of a tile */
    CHAIN_MMA_ROWS = 16,
    CHAIN_MMA_COLUMNS = 8,
    /* TUNING: guessed: addresses, indices and loop state beside what is named. */
    CHAIN_REGISTERS = 40
};

int64_t footprint_times(int64_t a, int64_t b); /* INT64_MAX when it overflows */
/* Of loops whose flat position is taken apart: divisions by extents that are no constants. */
int64_t footprint_divisions(const struct loop *loops, size_t count);
bool tile_footprint(struct arena *arena, const struct plan_region *region,
                    const struct bound_op *bound, struct footprint *out, const char **why);
bool chain_footprint(struct arena *arena, const struct plan_region *region,
                     const struct bound_op *bound, struct footprint *out, const char **why);
/* Of all blocks down the rows, in one pass; a block leaves out steps that none of its rows reaches.
 */
int64_t chain_steps(const struct footprint *f, struct row_reach reach);
/* Of a factor in shared memory. */
int64_t chain_element_bytes(const struct stmt *product, const struct plan_region *region);
bool scores_footprint(const struct scores *scores, const struct plan_region *region,
                      const struct bound_op *bound, struct footprint *out, const char **why);

#endif
