#ifndef SOLVER_IR_MMA_H
#define SOLVER_IR_MMA_H

#include "solver/ir/machine.h"
#include "solver/ir/op.h"

/*
 * Shapes of tensor-core instructions: m x n x k products by the threads of a warp (mma.sync) or of
 * a warp group (wgmma, which takes its operands from shared memory, 128 bytes of a row swizzled).
 *
 * From the PTX ISA, sections on mma and wgmma.mma_async.  Not here: tcgen05 of 10.0 and later,
 * sparse and integer instructions.
 */
struct mma_shape {
    enum compute compute;
    int64_t m, n_least, n_most, n_step, k;
    int64_t threads;                           /* that run it together: 32 or 128 */
    int64_t capability_least, capability_most; /* compute capability, ten times major plus minor */
};

/* By index; NULL behind the last. */
const struct mma_shape *mma_shape(size_t index);
/* The shape of these m, n, k for factors of this type, on any machine; NULL = no instruction has
 * it.  F32: factors as sums of three bf16 parts, which a warp makes in registers (the rewrite
 * PARTS), so the shapes are a warp's of bf16. */
const struct mma_shape *mma_find(enum compute compute, const int64_t mma[3]);
/* Instructions for a product of factors of this type: for f32 the 6 products of parts that matter,
 * else 1. */
int64_t mma_products(enum compute compute);
/* Bytes of a factor's element in registers, with all its parts. */
int64_t mma_fragment_bytes(enum compute compute);
/* Peak flop/s of the machine's tensor cores for such factors, parts included; 0 = it has none. */
double mma_rate(const struct machine *machine, enum compute compute);
/*
 * Of the results of one instruction a thread has m x n / threads: in each 8 x 8 (8 x n) of a warp
 * its lanes are 8 down and 4 across.  Lanes down and across of the threads of a shape.
 */
int64_t mma_lanes_down(const struct mma_shape *shape);
enum { MMA_LANES_ACROSS = 4 };

#endif
