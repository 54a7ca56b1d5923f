#ifndef SOLVER_LEGAL_LIMITS_H
#define SOLVER_LEGAL_LIMITS_H

#include "solver/ir/ir.h"

/*
 * Hard limits of a plan at a shape on a machine, in real quantities.  A plan is legal when no value
 * is over its limit.  Shared memory is what the realiser allocates; registers are an estimate of
 * ours (the compiler's number is `observed`), meant to refuse what must spill.
 *
 * id, text.  value <= most, each.  The order is that in which a region is looked at.
 */
#define LIMITS(X)                                                                                  \
    X(KERNEL, "parts that fit no kernel")                                                          \
    X(THREADS, "threads a block")                                                                  \
    X(TREE_REST, "warps beyond a power of two")                                                    \
    X(TILE_THREADS, "threads that tile and plan differ by")                                        \
    X(TILE_SIDE, "iterations of a tile along one side")                                            \
    X(TILE_OWN, "results of a thread along one side")                                              \
    X(TILE_REST, "iterations of a tile that its threads leave over")                               \
    X(MMA_SHAPE, "tensor-core shapes that the machine has no instruction for")                     \
    X(MMA_REST, "iterations of a tile that tensor-core instructions leave over")                   \
    X(MMA_LAYOUT, "layouts that the instruction does not read")                                    \
    X(PRECISION, "bits of a factor below what the track allows")                                   \
    X(SPLIT, "blocks a sum, against its stages")                                                   \
    X(DEPTH, "stages of a pipeline, against those of the sum")                                     \
    X(STAGING, "stages that this staging has under way")                                           \
    X(COPY_BYTES, "asynchronous copies of neither 4, 8 nor 16 bytes")                              \
    X(STATE, "running states of reductions that have none")                                        \
    X(VECTOR_BYTES, "bytes a vector access")                                                       \
    X(VECTOR_REST, "elements of a row that the vector leaves over")                                \
    X(VECTOR_ALIGN, "bytes that the vector access wants aligned")                                  \
    X(ROW_SPAN, "elements that a row's tile and threads differ by")                                \
    X(ITEMS, "elements of a tensor that a thread holds")                                           \
    X(ITEMS_REST, "elements of a thread that the vector leaves over")                              \
    X(HELD, "elements of a row against what its threads hold")                                     \
    X(SHARED, "bytes of shared memory a block")                                                    \
    X(SHARED_STATIC, "bytes of static shared memory a block")                                      \
    X(REGISTERS, "registers a thread (estimate)")                                                  \
    X(REGISTERS_BLOCK, "registers a block (estimate)")                                             \
    X(GRID, "blocks of the grid")                                                                  \
    X(CAPABILITY, "compute capability asked for")                                                  \
    X(RESIDENCY, "tensors between regions that no launch keeps")                                   \
    X(WORKSPACE, "bytes of tensors in global memory")
enum limit {
#define X(id, text) LIMIT_##id,
    LIMITS(X)
#undef X
        LIMIT_COUNT
};

struct limit_line {
    size_t region; /* OP_NONE: of the whole plan */
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
/* The lines of one region, whatever the others are; for the domains of a solver.  `state`: what
 * state_exists says of its statements, for one who asks often; NULL = not known. */
void region_limits(struct arena *arena, const struct plan *plan, size_t region,
                   const struct bound_op *bound, const struct machine *machine, const bool *state,
                   struct limits *out);
const char *limit_text(enum limit limit);

#endif
