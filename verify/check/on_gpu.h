#ifndef VERIFY_CHECK_ON_GPU_H
#define VERIFY_CHECK_ON_GPU_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include "solver/ir/ir.h"
#include "verify/check/contracts.h"
#include "verify/device/device.h"

/*
 * The candidate on a GPU: right there too, and how long a launch takes.
 *
 * gpu_job_prepare runs where the compiler is; everything else in a process that exists for this
 * candidate, from which it forks a second one that holds the reference: what an output should be is
 * never in the address space of the candidate, and is computed after its launch.
 *
 * Small shapes are compared with the interpreter.  The target shape is compared with the reference
 * kernel (fp64 value and bound per element, on the GPU), which is itself held against the
 * interpreter on samples of its outputs.  Every launch, checked or timed, gets fresh data, random
 * poison, other addresses, flushed caches, scrubbed shared memory; and each of its output elements
 * is compared.
 */
struct gpu_code {
    struct str image; /* cubin, or PTX that the driver compiles */
    const struct manifest *manifest;
};

struct gpu_job {
    const struct op *op;
    const struct track *track;
    const struct bound_op *target; /* NULL = small shapes only */
    const struct plan *plan;       /* NULL = none */
    struct gpu_code candidate, reference;
    struct str tools; /* cubin of our own kernels */
    struct str ptx;   /* of the candidate, for the emulator's word; may be empty */
    uint64_t secret;
    int seeds;         /* 0 = 2 */
    int64_t launch_ms; /* deadline of a launch; 0 = 20 s */
};

struct gpu_question {
    const struct op *op;
    const struct track *track;
    const struct bound_op *target;
    const struct plan *plan;
    const struct manifest *manifest;
    struct str ptx, cubin; /* of the candidate; either may be empty */
    uint64_t secret;
    int seeds;
    const struct gpu_info *gpu; /* that will run it */
};
/* Compiles reference and tools for the GPU and chooses the candidate's image.  ERR_UNSUPPORTED: the
 * candidate has no code for this GPU. */
bool gpu_job_prepare(struct arena *arena, const struct gpu_question *question,
                     struct compiler *compiler, struct gpu_job *job, struct err *err) MUST_USE;

/*
 * A trial fills `verdict` as it goes: validity, gate, reason, worst element, checks, executor.
 * False with *err is `infrastructure`; what the candidate did wrong is *passed false.
 */
struct gpu_trial;
bool gpu_trial_begin(struct arena *arena, const struct gpu_job *job, struct verdict *verdict,
                     struct gpu_trial **out, bool *passed, struct err *err) MUST_USE;
/* Gate "gpu". */
bool gpu_trial_check(struct gpu_trial *trial, bool *passed, struct err *err) MUST_USE;
/* One cold launch at the target shape on fresh data, compared: from first start to last end. */
bool gpu_trial_launch(struct gpu_trial *trial, int64_t *time_ns, bool *passed,
                      struct err *err) MUST_USE;
const struct gpu_facts *gpu_trial_facts(const struct gpu_trial *trial);
/* Named numbers of the kernels, as the driver has them: gpu.KERNEL.registers ... */
void gpu_trial_observe(const struct gpu_trial *trial, struct observed_builder *observed);
void gpu_trial_end(struct gpu_trial *trial);

#endif
