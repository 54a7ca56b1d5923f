#ifndef SOLVER_COST_COST_INT_H
#define SOLVER_COST_COST_INT_H

#include "solver/cost/cost.h"

/* What accesses move, by tensor: the most of any read of the statements that were looked at. */
struct sectors {
    double *moved; /* bytes between L2 and SMs, in whole sectors; lone ones count for more */
    double *lines; /* turns of the L1: lines of 128 bytes, a warp's access each */
    double
        *again;   /* bytes from DRAM, where L2 has lost a sector before all of it is used; else 0 */
    double fresh; /* of any tensor: part of a thread's terms that go beyond the L1 */
};

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

double cost_dram_rate(const struct machine *machine);  /* bytes a second that kernels read */
double cost_write_rate(const struct machine *machine); /* and write */
double cost_l2_rate(const struct machine *machine);
bool cost_stays_in_l2(const struct machine *machine, double bytes);
/* Of a tensor between regions, as edges price it: one write or one read of all of it. */
double cost_carry_s(const struct machine *machine, double bytes, bool writes);

/* ---- cost_walk.c ---- */

/* Bytes of an edge's tensor, larger than L2, that its reader still finds there. */
double cost_found_bytes(const struct plan *plan, const struct plan_edge *edge, size_t tensor,
                        const struct bound_op *bound, const struct machine *machine);

/* ---- cost_sectors.c ---- */

void cost_sectors_init(const struct pricing *p, struct sectors *out);
void cost_sectors(const struct pricing *p, size_t stmt, struct sectors *out);

/* ---- cost_wait.c ---- */

/* What ties the warps of a block together: nothing; that its place is free for the next when the
 * last of them is done; barriers between passes. */
enum ties { TIES_NONE, TIES_MAPS, TIES_HELD, TIES_COUNT };
struct customers {
    int64_t blocks;        /* spread over all SMs */
    int64_t blocks_per_sm; /* at a time */
    int64_t threads;       /* of a block */
    enum ties ties;
    double delay_s;             /* what a customer waits for by itself */
    double memory_s, compute_s; /* of all of them, on the SMs that have some */
};
/* Seconds until the last is done. */
double cost_contended_s(const struct machine *machine, const struct customers *customers);

/* ---- cost_issue.c: instructions of all lanes ---- */

int64_t cost_registers(const struct pricing *p); /* the footprint's, with what guards need */
bool cost_runs_along(const struct stmt *stmt);   /* a scan that keeps a running sum */
double cost_terms(const struct pricing *p, size_t stmt); /* of an elements' kernel */
double cost_element_instructions(const struct pricing *p, size_t stmt);
double cost_row_instructions(const struct pricing *p);
double cost_double_adds_s(const struct pricing *p); /* streamed float sums add up in double */

/* ---- cost_kernels.c: fill memory_s and bytes; then what each kind adds ---- */

extern const double cost_load_clocks, cost_division_instructions;

double cost_lanes(const struct machine *machine); /* f32 cores of an SM */
/* What the region can read of a tensor at most: all of it, or an element an iteration. */
double cost_read_bytes(const struct pricing *p, size_t tensor);
int64_t cost_loads_of(const struct pricing *p, size_t tensor);
void cost_traffic(struct pricing *p);
void cost_elements(struct pricing *p);
void cost_rows(struct pricing *p);
void cost_tile(struct pricing *p);  /* cost_tile.c */
void cost_chain(struct pricing *p); /* cost_chain.c */
/* Flop/s of tensor cores that instructions of a warp reach, or of a warp group; parts included. */
double cost_mma_rate(const struct machine *machine, enum compute compute, bool group);

#endif
