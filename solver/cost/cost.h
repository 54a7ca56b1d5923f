#ifndef SOLVER_COST_COST_H
#define SOLVER_COST_COST_H

#include "solver/ir/ir.h"

/*
 * What a plan will take at a shape on a machine, in seconds.
 *
 * Invariant: plan_cost.seconds = sum of regions[].seconds + sum of edges[].seconds, where a
 * region's term depends on that region alone and an edge's on that edge and its two regions.  Never
 * below the speed of light (solver/bound) of the same op.
 */
#define COST_LIMITERS(X)                                                                           \
    X(MEMORY, "memory")                                                                            \
    X(COMPUTE, "compute")                                                                          \
    X(SHARED, "shared memory")                                                                     \
    X(LATENCY, "latency")
enum cost_limiter {
#define X(id, text) COST_##id,
    COST_LIMITERS(X)
#undef X
};

struct region_cost {
    double seconds;  /* launch_s + busy_s - carried_s */
    double launch_s; /* of its kernels; of region 0 the start of the whole plan too */
    double busy_s;   /* with what overlaps badly; at least the largest of the next four */
    double memory_s, compute_s, shared_s, latency_s;
    double carried_s;          /* of memory_s: what edges already pay for */
    enum cost_limiter limiter; /* the largest of the four */
    double bytes;              /* between SMs and L2 or DRAM, without what edges carry */
    double flops;              /* with recomputation */
    int64_t blocks, blocks_per_sm;
    double waves; /* blocks over what all SMs hold at a time */
};
struct edge_cost {
    double seconds;
    double bytes; /* through global memory, the only way between regions */
};
struct plan_cost {
    double seconds;
    const struct region_cost *regions;
    size_t region_count;
    const struct edge_cost *edges;
    size_t edge_count;
};

/* The unary and the pair terms.  The plan has passed plan_check and plan_limits. */
void cost_region(struct arena *arena, const struct plan *plan, size_t region,
                 const struct bound_op *bound, const struct machine *machine,
                 struct region_cost *out);
void cost_edge(const struct plan *plan, size_t edge, const struct bound_op *bound,
               const struct machine *machine, struct edge_cost *out);
/* False: an edge of the tensor costs the same whatever its two regions are. */
bool cost_edge_varies(const struct bound_op *bound, size_t tensor, const struct machine *machine);
/* All that an edge's term depends on of what its regions choose: plans that differ in other choices
 * than this have the same edge terms. */
enum { COST_SIGNATURES = 2 };
size_t cost_signature(const struct plan_region *region); /* below COST_SIGNATURES */
void cost_plan(struct arena *arena, const struct plan *plan, const struct bound_op *bound,
               const struct machine *machine, struct plan_cost *out);
const char *cost_limiter_name(enum cost_limiter limiter);

#endif
