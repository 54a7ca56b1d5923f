#ifndef SOLVER_SCHED_HWWFC_OP_H
#define SOLVER_SCHED_HWWFC_OP_H

#include "solver/legal/legal.h"
#include "solver/sched/hwwfc.h"

/*
 * An op as HW-WFC's layers, as far as it has any for it:
 *
 *   LINEAR           a sum of products of two tensors without windows; M, N and K as products
 *   CONV2D           the same with one or two windows; H and W are those of the result
 *   DEPTHWISE_CONV   the same, each channel for itself
 *   SOFTMAX          the statements of a normalisation that rescales: M rows of N
 *   LAYERNORM        those of any other normalisation by a row's reduction
 *   RELU             any other statement with a value for each element: all elementwise work, as
 *                    in HW-WFC's own workloads
 *
 * A layer is named after the tensor that its last statement writes, and comes where that comes; a
 * normalisation where its reduction comes.
 * Layers of which each reads the one before and nothing else of the op are a chain; otherwise
 * neighbours are those that read one another.  Element types do not count: HW-WFC's are 4 bytes.
 *
 * ERR_SEMANTIC with the statement and the reason for what HW-WFC cannot say: batches (an extent
 * of 1 is none), scans, gathers, seq blocks, other reductions.
 */
bool hwwfc_of_op(struct arena *arena, const struct bound_op *bound, const struct hwwfc_spec *spec,
                 const struct hwwfc_tiles *tiles, struct hwwfc_problem *out,
                 struct err *err) MUST_USE;

#endif
