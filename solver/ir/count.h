#ifndef SOLVER_IR_COUNT_H
#define SOLVER_IR_COUNT_H

#include <stdint.h>

#include "solver/ir/op.h"

/*
 * Exact counts at a bound shape, from the statements as written (no rewrites).
 *   macs      multiply-accumulates: iterations of sums whose body is a product
 *   flops     2 a MAC; else one for each arithmetic operation or math function on floats an
 * iteration, one for each combine of a reduction; casts, selects, comparisons and index arithmetic
 * are free specials  math functions among them (exp, erf, sqrt, div, ...) bytes     per declared
 * tensor: distinct elements read or written times the element's size.  For affine accesses exact;
 *             for gathers the least number that any data allows.
 */
struct op_count {
    int64_t macs, flops, specials;
    int64_t bytes_read, bytes_written; /* compulsory: inputs once, outputs once */
    int64_t bytes_unfused;             /* each statement reads its operands, writes its result */
};
struct op_count op_count(const struct bound_op *bound);
struct op_count op_count_stmt(const struct bound_op *bound, size_t stmt);
/* Distinct elements of tensor that any statement reads. */
int64_t op_elements_read(const struct bound_op *bound, size_t tensor);

#endif
