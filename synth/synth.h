#ifndef SYNTH_SYNTH_H
#define SYNTH_SYNTH_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include "solver/ir/ir.h"
#include "synth/prompt.h"

/*
 * synth: between op, plan and source text.  Pure: data and text in, text out.
 *
 * The reference shares no code with the candidates that both could get wrong: it has its own
 * printer of expressions, subscripts and loops, and takes every extent as an argument that the host
 * evaluates.  The two candidates (naive and realised) share one printer of expressions; what they
 * get wrong, interpreter and reference show.
 */
struct emitted {
    struct str cuda;                 /* device code with extern "C" entries */
    const struct manifest *manifest; /* how to launch it, at every shape that passes its guard */
};

/*
 * fp64 reference on the GPU or emulator: for each output tensor `y` the workspace "value:y" (f64,
 * one an element; i64 for integer outputs) and "bound:y" (f64), both laid out row-major like y.
 * Cooperative where outputs are few and reductions long; 64-bit indices.  Values and bounds mean
 * what INTERP_BOUND means; an infinite bound is its `open`: anything is accepted.  For integer and
 * bool outputs a bound above 0 says that other values are possible, not which.  Temporaries have
 * such workspaces too, where a negative bound means that the value may overflow.
 */
bool emit_reference(struct arena *arena, const struct op *op, const struct track *track,
                    const char *arch, struct emitted *out, struct err *err) MUST_USE;

/* One thread an output element a statement, temporaries in workspaces, each operation in its own
 * dtype. Sums of more than a few hundred terms are kept accurate (pairwise or compensated), so that
 * the first candidate passes the bounds on every op. */
bool emit_naive(struct arena *arena, const struct op *op, const char *arch, struct emitted *out,
                struct err *err) MUST_USE;

/* CUDA for a plan.  ERR_UNSUPPORTED names the region and reason. */
bool realise(struct arena *arena, const struct op *op, const struct plan *plan, const char *arch,
             struct emitted *out, struct err *err) MUST_USE;

/* ---- reading what a model wrote (extract.c) ---- */

enum { EXTRACT_BYTES_MAX = 8 << 20 };

/* The blocks of the contract, as they stand in the reply. */
struct extracted {
    struct str cuda;
    struct str manifest; /* JSON, an object with a member "manifest"; not checked further */
};

/*
 * The last complete CUDA block (```cuda, or C++ or no label with a __global__ in it) and the last
 * ```json block that has "manifest".  A failure is no error of ours: its text is written to be
 * shown to the model.  ERR_SYNTAX, or ERR_LIMIT for replies over EXTRACT_BYTES_MAX.
 */
bool extract_reply(struct arena *arena, struct str reply, struct extracted *out,
                   struct err *err) MUST_USE;

#endif
