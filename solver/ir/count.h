#ifndef SOLVER_IR_COUNT_H
#define SOLVER_IR_COUNT_H

#include <stdint.h>

#include "solver/ir/op.h"

/*
 * Exact counts at a bound shape, from the statements as written (no rewrites): the iterations of a
 * nest are those of its loops, padding and branches that a condition does not take included; a scan
 * j <= n has its triangle.  Counts beyond 64 bits are INT64_MAX.
 *
 *   macs      multiply-accumulates: iterations of sums whose body is a product of floats
 *   flops     2 a MAC; else one for each arithmetic operation or math function on floats an
 *             iteration (fma 2) and one for each combine of a reduction of floats, N for N terms;
 *             casts, selects, comparisons, index arithmetic and operations on constants are free
 *   specials  those of the flops that are divisions or math functions (exp, erf, sqrt, ...)
 *   bytes     distinct elements read or written times the element's size.  Exact where subscripts
 *             are integer expressions of loops; a subscript that reads data counts as one value,
 *             the least that any data allows.  Where exactness would take more than 2^26 steps
 *             (several loops mixed in one subscript), a lower bound.
 */
struct op_count {
    int64_t macs, flops, specials;
    int64_t bytes_read, bytes_written; /* compulsory: inputs once, outputs once */
    int64_t bytes_unfused;             /* each statement reads its operands, writes its result */
};
struct op_count op_count(const struct bound_op *bound);
/* The same of one statement; its compulsory bytes are those of inputs and outputs it touches. */
struct op_count op_count_stmt(const struct bound_op *bound, size_t stmt);
/* Its macs, flops and specials alone, without counting bytes; those are 0. */
struct op_count op_count_work(const struct bound_op *bound, size_t stmt);
/* Iterations of a statement's nest. */
int64_t op_iterations(const struct bound_op *bound, size_t stmt);
/* Distinct elements of tensor that any statement reads. */
int64_t op_elements_read(const struct bound_op *bound, size_t tensor);

#endif
