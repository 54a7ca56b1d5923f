#ifndef VERIFY_CHECK_CHECK_H
#define VERIFY_CHECK_CHECK_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/cache.h"
#include "base/err.h"

#include "solver/ir/ir.h"
#include "verify/check/contracts.h"
#include "verify/check/on_gpu.h"
#include "verify/device/device.h"
#include "verify/ptx/ptx.h"

/*
 * verify/check: is this candidate right?  Gates in order, each may end the attempt:
 * screen, compile, observe (PTX and cubin against manifest, plan and limits), emulate (small
 * shapes, every access checked), compare (against INTERP_BOUND, element by element, several data
 * classes and seeds).
 *
 * The candidate is hostile: it is emulated in a worker process, outputs and workspaces are poisoned
 * with random finite values, inputs are hashed, buffers lie between red zones, addresses have the
 * weakest alignment that the spec promises, and acceptance needs a minimum number of executed
 * checks.
 */
enum candidate_form { CANDIDATE_CUDA, CANDIDATE_PTX, CANDIDATE_CUBIN };
struct candidate {
    enum candidate_form form;
    struct str text; /* CUDA source, PTX text or cubin bytes */
    const struct manifest *manifest;
};

struct check_options {
    const struct track *track;  /* NULL = the op's first */
    const char *arch;           /* NULL = the manifest's */
    uint64_t secret;            /* all seeds derive from it */
    int seeds;                  /* data sets a class and shape; 0 = 2 */
    uint64_t budget_warp_insns; /* a launch; 0 = default */
    int64_t wall_ms;            /* of the worker; 0 = default */
    size_t smem_bytes_max;      /* 0 = of the arch */
    const struct plan *plan;    /* conformance is checked when given */
    const struct shape *shapes; /* NULL = derived from op and plan */
    size_t shape_count;
    const struct cache *cache; /* of emulations; NULL = none */
};

/* What a finished check leaves behind besides the verdict. */
struct check_products {
    struct str ptx, cubin, log;
};

/* false only when the machine failed before a verdict was possible (`infrastructure` is a verdict
 * too). */
bool check_candidate(struct arena *arena, const struct op *op, const struct candidate *candidate,
                     const struct check_options *options, struct compiler *compiler,
                     struct check_products *products, struct verdict *verdict,
                     struct err *err) MUST_USE;

/*
 * Admission: can the bounds of this op tell right from wrong at all?  Zeros, a constant, a copy of
 * an input, another seed's output and a permuted output must each be refused by the comparison.
 * *flags is "" or "unverifiable: ..." / "degenerate: ...".
 */
bool check_admission(struct arena *arena, const struct op *op, const struct check_options *options,
                     struct str *flags, struct err *err) MUST_USE;

/* Opt-in shared memory of a block of "sm_90a" and the like; 48 KiB for an unknown name. */
size_t check_smem_bytes_max(const char *arch);

/* The derived verify shapes of DESIGN section 2, as dims by name. */
bool check_shapes(struct arena *arena, const struct op *op, const struct plan *plan,
                  const struct formula *guard, const struct shape **out, size_t *count,
                  struct err *err) MUST_USE;

#endif
