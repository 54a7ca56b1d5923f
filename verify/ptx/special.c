/*
 * Special registers.  Clocks count executed instructions, so they are the same in every run; the
 * grid's workspace for cooperative launches is named by %envreg1 and 2.
 */
#include "verify/ptx/numeric_int.h"
#include "verify/ptx/warp_int.h"

enum { CLOCK_NS = 1, SM_COUNT = 132 };

/* Coordinates: of blocks, of the grid, of clusters. */
static uint64_t coordinate(const struct warp *w, enum sreg first, uint32_t axis)
{
    const struct run *run = w->run;
    switch (first) {
    case SREG_ntid_x:
        return run->launch->block[axis];
    case SREG_ctaid_x:
        return w->block->id[axis];
    case SREG_nctaid_x:
        return run->launch->grid[axis];
    case SREG_cluster_ctaid_x:
        return w->block->id[axis] % run->cluster_dims[axis];
    case SREG_cluster_nctaid_x:
        return run->cluster_dims[axis];
    case SREG_clusterid_x:
        return w->block->id[axis] / run->cluster_dims[axis];
    default:
        return run->grid_clusters[axis];
    }
}

/* What is the same for all lanes of a warp. */
static uint64_t uniform(const struct warp *w, enum sreg sreg)
{
    static const enum sreg vectors[] = {
        SREG_ntid_x,           SREG_ctaid_x,     SREG_nctaid_x,     SREG_cluster_ctaid_x,
        SREG_cluster_nctaid_x, SREG_clusterid_x, SREG_nclusterid_x,
    };
    const struct run *run = w->run;
    uint64_t clock = run->executed * CLOCK_NS;
    for (size_t i = 0; i < COUNT_OF(vectors); i++)
        if (sreg >= vectors[i] && sreg < vectors[i] + 3)
            return coordinate(w, vectors[i], sreg - vectors[i]);
    switch (sreg) {
    case SREG_warpid:
        return w->index;
    case SREG_nwarpid:
        return WARPS_MAX;
    case SREG_smid:
        return w->block->ordinal % SM_COUNT;
    case SREG_nsmid:
        return SM_COUNT;
    case SREG_clock:
    case SREG_clock64:
    case SREG_globaltimer:
    case SREG_globaltimer_lo:
        return clock;
    case SREG_clock_hi:
    case SREG_globaltimer_hi:
        return clock >> 32;
    case SREG_dynamic_smem_size:
        return run->launch->dynamic_shared;
    case SREG_total_smem_size:
    case SREG_aggr_smem_size:
        return run->shared_bytes;
    case SREG_envreg1:
        return run->grid_workspace >> 32;
    case SREG_envreg2:
        return run->grid_workspace & UINT32_MAX;
    case SREG_cluster_ctarank:
        return w->block->rank;
    case SREG_cluster_nctarank:
        return run->cluster_size;
    case SREG_is_explicit_cluster:
        return run->cluster_size > 1;
    default:
        return 0; /* by lane, or %gridid */
    }
}

static uint64_t by_lane(enum sreg sreg, uint32_t lane, uint64_t otherwise)
{
    uint32_t bit = 1U << lane;
    switch (sreg) {
    case SREG_laneid:
        return lane;
    case SREG_lanemask_eq:
        return bit;
    case SREG_lanemask_le:
        return bit | (bit - 1);
    case SREG_lanemask_lt:
        return bit - 1;
    case SREG_lanemask_ge:
        return ~(bit - 1);
    case SREG_lanemask_gt:
        return ~(bit | (bit - 1));
    default:
        return otherwise;
    }
}

void special_fill(struct warp *w, const struct insn *in)
{
    enum sreg sreg = (enum sreg)in->mode;
    void *to = operand(w, in->d);
    if (sreg <= SREG_tid_z) {
        const uint32_t *tid = w->tid[sreg - SREG_tid_x];
        for (int i = 0; i < LANES; i++)
            ((uint32_t *)to)[i] = w->mask >> i & 1 ? tid[i] : ((uint32_t *)to)[i];
        return;
    }
    uint64_t same = uniform(w, sreg);
    bool differs = sreg == SREG_laneid || (sreg >= SREG_lanemask_eq && sreg <= SREG_lanemask_gt);
    if (!differs && !in->wide) {
        for (int i = 0; i < LANES; i++)
            ((uint32_t *)to)[i] = w->mask >> i & 1 ? (uint32_t)same : ((uint32_t *)to)[i];
        return;
    }
    for (uint32_t m = w->mask; m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m);
        uint64_t value = by_lane(sreg, lane, same);
        if (in->wide)
            ((uint64_t *)to)[lane] = value;
        else
            ((uint32_t *)to)[lane] = (uint32_t)value;
    }
}
