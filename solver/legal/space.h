#ifndef SOLVER_LEGAL_SPACE_H
#define SOLVER_LEGAL_SPACE_H

#include "solver/legal/limits.h"

/*
 * The plans that vary a skeleton (plan_skeleton's, given as data): threads, vector width, items a
 * thread, a row to a warp or to a block, held or streamed, tile sizes, the direction in which
 * blocks walk; for a model also staging, pipelines, split sums, tensor cores, precision and layout
 * of tiles, rows in shared memory and running states.  Regions and edges stay as they are.  Each
 * region has a domain of choices that keep the machine's limits by themselves, the skeleton's own
 * first if it is legal; the order is fixed by the numbers alone, so equal inputs give equal spaces.
 */
struct space_domain {
    const struct plan_region *choices; /* differ from each other */
    size_t count;
    size_t generated;            /* before limits, without duplicates */
    size_t refused[LIMIT_COUNT]; /* by the first limit that each was over */
};
struct space {
    const struct space_domain *domains; /* by region */
    size_t domain_count;
    /* Whole plans, each once by plan_hash: the product of the domains, or, where that is more than
     * plans_max, the skeleton's choices with one region changed at a time (`complete` false). */
    const struct plan *const *plans;
    size_t plan_count;
    bool complete;
    size_t duplicates;     /* plans left out because their hash was there */
    double plans_possible; /* the product */
    size_t generated;      /* over all domains */
    size_t refused[LIMIT_COUNT];
    const struct str *reasons; /* the first refusal of each limit, empty = none; by limit */
};

enum { SPACE_PLANS_MAX = 4096 }; /* each takes memory for all regions */
struct space_options {
    size_t plans_max; /* 1 .. SPACE_PLANS_MAX */
    bool realisable;  /* only choices that synth's realiser writes (region_realisable) */
};

/* ERR_LIMIT when a region has no legal choice, with the reason
 * of the skeleton's own. */
bool plan_space(struct arena *arena, const struct plan *skeleton, const struct bound_op *bound,
                const struct machine *machine, const struct space_options *options,
                struct space *out, struct err *err) MUST_USE;
/* Each choice that plan_space tries for a region, legal or not, in its order, with what
 * region_limits says of it; `limits` lives during the call.  Choices live in `arena`. */
typedef void space_visitor(void *context, const struct plan_region *choice,
                           const struct limits *limits);
void space_visit(struct arena *arena, const struct plan *skeleton, const struct bound_op *bound,
                 const struct machine *machine, bool realisable, size_t region,
                 space_visitor *visit, void *context);
/* A plan of one choice per region, with edges and guard to match; for a solver's assignment. */
const struct plan *space_plan(struct arena *arena, const struct plan *skeleton,
                              const struct bound_op *bound, const struct space *space,
                              const size_t *choices);

#endif
