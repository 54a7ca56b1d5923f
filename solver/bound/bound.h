#ifndef SOLVER_BOUND_BOUND_H
#define SOLVER_BOUND_BOUND_H

#include "solver/ir/ir.h"

/*
 * Speed of light: a lower bound of the time from the problem alone, whatever the plan.
 *
 *   memory_s   compulsory bytes (inputs once, outputs once) at the peak DRAM rate
 *   compute_s  the larger of: multiply-accumulates, each at the fastest dense rate that its
 * accuracy allows, and all other flops at the CUDA cores' rate seconds    the larger of both
 *
 * Accuracy: a factor needs the significand of its track, or that of its own storage type where that
 * is narrower (products of narrow numbers are exact).  A type with fewer bits makes it up with
 * several products, so f32 is the best of f32, tf32 / 3, f16 / 3 and bf16 / 6, while bf16 data run
 * at the bf16 rate on any track.  f64 is not made up: narrower units do not accumulate in it. Range
 * is not considered, which can only lower the bound.
 *
 * It bounds the program as written: algebra that saves flops (Strassen, a reordered chain, masked
 * terms left out) may beat compute_s, and a single cold launch may leave its last writes in L2.  So
 * it stops and flags, and never rejects; the floor that rejects is verify/bench's.
 */
enum sol_limiter { SOL_MEMORY, SOL_COMPUTE };

struct sol {
    double seconds, memory_s, compute_s;
    enum sol_limiter limiter;
    double bytes, flops;     /* compulsory bytes; flops that no sharing of partial sums saves */
    double rate;             /* flop/s: flops over compute_s; 0 without flops */
    enum machine_rate means; /* that most of compute_s runs at */
    int64_t products;        /* of that type for one of the op's; 1 = it is accurate enough */
    double core_s;           /* compute_s on the CUDA cores alone; infinite when they cannot */
};

/* `track` NULL = the op's first.  ERR_UNSUPPORTED when the machine has no rate for it. */
bool sol_of(const struct bound_op *bound, const struct track *track, const struct machine *machine,
            struct sol *out, struct err *err) MUST_USE;
const char *sol_limiter_name(enum sol_limiter limiter);
/* Members of an open object; all but `products`, `rate` and `core_s`. */
void sol_print(struct json_writer *w, const struct sol *sol);

#endif
