#ifndef SOLVER_COST_COST_INT_H
#define SOLVER_COST_COST_INT_H

#include "solver/cost/cost.h"

/* One region being priced. */
struct pricing {
    struct arena *arena;
    const struct bound_op *bound;
    const struct machine *machine;
    const struct plan_region *region;
    struct footprint footprint;
    struct region_tensors tensors;
    struct region_cost *cost;
};

double cost_dram_rate(const struct machine *machine); /* bytes a second that kernels see */
double cost_l2_rate(const struct machine *machine);
bool cost_stays_in_l2(const struct machine *machine, double bytes);

/* ---- cost_walk.c ---- */

/* Bytes of an edge's tensor, larger than L2, that its reader still finds there. */
double cost_found_bytes(const struct plan *plan, const struct plan_edge *edge, size_t tensor,
                        const struct bound_op *bound, const struct machine *machine);

/* ---- cost_kernels.c: fill memory_s and bytes; then what each kind adds ---- */

extern const double cost_load_clocks, cost_division_instructions;

double cost_lanes(const struct machine *machine); /* f32 cores of an SM */
void cost_traffic(struct pricing *p);
void cost_elements(struct pricing *p);
void cost_rows(struct pricing *p);
void cost_tile(struct pricing *p);  /* cost_tile.c */
void cost_chain(struct pricing *p); /* cost_chain.c */

#endif
