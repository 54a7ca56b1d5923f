#ifndef SOLVER_IR_FOOTPRINT_H
#define SOLVER_IR_FOOTPRINT_H

#include "solver/ir/mma.h"
#include "solver/ir/plan.h"

/*
 * What the kernel of a planned region is at a shape: the quantities that limits compare and costs
 * add up.  It says of plans what synth's realiser does with them, without the text:
 *
 *   tile-staging and streaming          chain: two products, row statistics between them, or one
 *                                       product and its row statistics; no kernel of the realiser's
 *   register- or tensor-core tile      tile: a float sum of products and what follows on it
 *   warp- or block-cooperative summary  rows: reductions over inner loops, shared by threads
 *   vector-access alone                 maps over the same elements
 *   none                                elements: one thread an element, a kernel a statement
 */
#define FOOTPRINT_KINDS(X)                                                                         \
    X(ELEMENTS, "elements")                                                                        \
    X(MAPS, "maps")                                                                                \
    X(ROWS, "rows")                                                                                \
    X(TILE, "tile")                                                                                \
    X(CHAIN, "chain")
enum footprint_kind {
#define X(id, name) FOOTPRINT_##id,
    FOOTPRINT_KINDS(X)
#undef X
};
enum footprint_side { SIDE_BATCH, SIDE_M, SIDE_N, SIDE_K, SIDE_COUNT };

struct footprint {
    enum footprint_kind kind;
    int64_t threads, blocks; /* of the kernel; of elements: the statement with most blocks */
    int64_t kernels;
    int64_t shared_bytes;  /* static, a block */
    int64_t registers;     /* a thread; an estimate */
    int64_t element_bytes; /* widest element that runs along the vector; else of any */
    /* Divisions that take a flat position apart, by extents that are no constants: an element of
     * rows or maps, an element of each factor of a tile. */
    int64_t divisions[2];

    /* rows, maps (one row: rows = 1) */
    bool warp, streaming;
    int64_t rows, length;  /* and elements of each */
    int64_t sharing;       /* threads that share a row */
    int64_t vector, items; /* elements an access, elements a thread holds of each tensor */
    int64_t passes;        /* over the row; 1 when held */
    const bool *arrays;    /* by tensor: it lies along the row, a thread holds its elements */
    const int64_t *loads;  /* by tensor: how often the kernel reads it from memory */
    int64_t apart;         /* what the row's tile says otherwise than threads and vector */
    int64_t held_bytes;    /* of shared_bytes, what rows take that are held there */

    /* rows, tile */
    int64_t split;           /* blocks that share a row or a sum; parts go through a workspace */
    int64_t workspace_bytes; /* of those parts */

    /* tile; extents, and what a block and a thread cover (of K: a stage).  With mma a thread's part
     * is spread over the lanes of a warp or warp group (mma.h). */
    int64_t extent[SIDE_COUNT], block[SIDE_COUNT], thread[SIDE_COUNT];
    int64_t factor_bytes;          /* an element of a factor in shared memory */
    const struct mma_shape *shape; /* NULL = no instruction has those sizes, or no mma */
    struct footprint_factor {
        size_t tensor; /* OP_NONE: the factor is computed, not a tensor's element as it lies */
        enum staging staging;
        bool exact;         /* the region's precision holds all its values */
        bool along_k;       /* what lies side by side in memory goes along K, else along M or N */
        int64_t line;       /* elements that lie side by side in the tile */
        int64_t contiguous; /* in memory, of the tile's own index; 1 when another one runs there */
        int64_t copy_bytes; /* an access to it; of an asynchronous copy what it copies */
        int64_t align;      /* bytes */
    } factor[2];            /* over M and K, over N and K */

    /* chain; as of a tile over rows and the shared index (with mma: 16 x 8 a warp).  Two products:
     * K whole.  One: K whole, or a block goes along it in every step; passes: of the scores. */
    int64_t columns; /* of the second product, whole in a block; 0: there is none */
    int64_t held;    /* bytes of a block's scores that lie in shared memory until their row ends */
    int64_t steps;   /* along the shared index, of all blocks down the rows, in one pass */
    int64_t rest;    /* iterations that threads, warps or instructions leave over */
    bool online;

    /* tile, chain */
    int64_t depth; /* stages of its pipeline, 1 = none */
    bool mma;
};

/* Does an asynchronous copy of that factor's tensor leave what products of `precision` take?  CUDA
 * cores convert what they read from shared memory, tensor cores take it as it lies there.  A factor
 * that is computed has none. */
bool footprint_copies(const struct op *op, const struct expr *factor, bool mma,
                      enum compute precision);
/* Does `precision` hold all values of the factor, so that its products lose nothing? */
bool footprint_exact(const struct expr *factor, enum compute precision);

/* False with the reason when the statements are not what the primitives say; then *out is
 * untouched.  The plan has passed plan_check.  Text and arrays live in `arena`. */
bool footprint_of(struct arena *arena, const struct plan_region *region,
                  const struct bound_op *bound, struct footprint *out, const char **why);
/* Does synth's realiser write it?  False: it is for a model alone; *why says what the realiser does
 * not write. */
bool region_realisable(const struct plan_region *region, const char **why);
bool plan_realisable(const struct plan *plan);
const char *footprint_kind_name(enum footprint_kind kind);

/* By tensor, for one region: read by its statements; written by them; written and needed outside
 * (read by others, or an output). */
struct region_tensors {
    const bool *read, *written, *stored;
};
struct region_tensors region_tensors(struct arena *arena, const struct op *op,
                                     const struct plan_region *region);

#endif
