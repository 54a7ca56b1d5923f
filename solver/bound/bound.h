#ifndef SOLVER_BOUND_BOUND_H
#define SOLVER_BOUND_BOUND_H

#include "solver/ir/ir.h"

/*
 * Speed of light: a lower bound of the time from the problem alone, whatever the plan.
 *
 *   memory_s   compulsory bytes (inputs once, outputs once) at the peak DRAM rate
 *   compute_s  the larger of: flops of multiply-accumulates at the fastest dense rate that the
 * track allows, and all other flops at the CUDA cores' rate seconds    the larger of both
 *
 * Fastest rate that a track allows: that of a compute type whose products are accurate enough, or
 * of a narrower one, divided by the products that it takes to make up the accuracy.  f32 thus is
 * max(f32, tf32 / 3, f16 / 3, bf16 / 6); products of narrow inputs are exact in their own type, so
 * those run at its rate on any track.
 *
 * It bounds the program as written: algebra that saves flops (Strassen, reordered chains) may beat
 * compute_s, and a single cold launch may leave its last writes in L2.  So it flags and stops, and
 * never rejects; the floor that rejects is verify/bench's.
 */
enum sol_limiter { SOL_MEMORY, SOL_COMPUTE };

struct sol {
    double seconds, memory_s, compute_s;
    enum sol_limiter limiter;
    double bytes, flops;
    double rate;       /* flop/s behind compute_s */
    const char *means; /* static: "tf32 x 3", "f32 cores" */
    double core_s;     /* compute_s on the CUDA cores alone; infinite when they cannot */
};

/* ERR_UNSUPPORTED when the machine has no rate for the track. */
bool sol_of(const struct bound_op *bound, const struct track *track, const struct machine *machine,
            struct sol *out, struct err *err) MUST_USE;
const char *sol_limiter_name(enum sol_limiter limiter);

#endif
