#ifndef SOLVER_LEGAL_LIMITS_H
#define SOLVER_LEGAL_LIMITS_H

#include "solver/ir/ir.h"

/*
 * Hard limits of a plan at a shape on a machine, in real quantities.  A plan is legal when no value
 * is over its limit.  Shared memory is what the realiser allocates; registers are an estimate of
 * ours (the compiler's number is `observed`), meant to refuse what must spill.
 *
 * id, text.  value <= limit each.
 */
#define LIMITS(X)                                                                                  \
    X(THREADS, "threads a block")                                                                  \
    X(SHARED, "bytes of shared memory a block")                                                    \
    X(REGISTERS, "registers a thread (estimate)")                                                  \
    X(REGISTERS_BLOCK, "registers a block (estimate)")                                             \
    X(GRID, "blocks of the grid")                                                                  \
    X(VECTOR_BYTES, "bytes a vector access")                                                       \
    X(VECTOR_REST, "elements that the vector leaves over in a row")                                \
    X(VECTOR_ALIGN, "bytes that the vector access wants aligned")                                  \
    X(HELD, "elements of a row that do not fit the threads holding it")                            \
    X(TILE_REST, "iterations of a tile that its threads leave over")                               \
    X(TILE_THREADS, "threads that the tile and the plan differ by")                                \
    X(WORKSPACE, "bytes of tensors between kernels")                                               \
    X(CAPABILITY, "compute capability asked for")
enum limit {
#define X(id, text) LIMIT_##id,
    LIMITS(X)
#undef X
        LIMIT_COUNT
};

struct limit_line {
    size_t region;
    enum limit limit;
    int64_t value, most; /* slack = most - value */
};
struct limits {
    bool legal;
    struct str reason; /* of the first line over its limit: "region 1: shared ... 300000, ..." */
    struct limit_line over;         /* that line, when not legal */
    const struct limit_line *lines; /* all that were looked at, by region */
    size_t line_count;
};

/* The plan has passed plan_check.  Results live in `arena`. */
void plan_limits(struct arena *arena, const struct plan *plan, const struct bound_op *bound,
                 const struct machine *machine, struct limits *out);
/* The lines of a region by itself, which `region` only names; for the domains of a solver. */
void region_limits(struct arena *arena, const struct plan *plan, size_t region,
                   const struct bound_op *bound, const struct machine *machine, struct limits *out);
const char *limit_text(enum limit limit);

#endif
