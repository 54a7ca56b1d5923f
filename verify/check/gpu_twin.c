/*
 * What the emulator gives for the same data, in units of the bound.
 *
 * The emulator's word is what most verdicts rest on, so where hardware is at hand its outputs are
 * laid beside the hardware's: once a candidate, at one shape.  The largest difference is observed,
 * never judged: approximate functions and the order of tensor-core sums differ honestly.
 */
#include <math.h>
#include <string.h>

#include "base/num.h"

#include "verify/check/on_gpu_int.h"

enum {
    BUDGET_BASE = 4 << 20, /* warp instructions a launch, as in examine.c */
    BUDGET_FACTOR = 96,
    BUDGET_MAX = 1 << 25, /* TUNING: seconds; a kernel that takes longer has no twin */
};

void twin_begin(struct arena *arena, const struct gpu_job *job, struct twin *out)
{
    struct check_options *options = arena_new(arena, struct check_options);
    const struct manifest *manifest = job->candidate.manifest;
    const struct ptx_module *module;
    struct err err;

    *out = (struct twin){
        .subject = {.op = job->op,
                    .manifest = manifest,
                    .options = options,
                    .track = job->track,
                    .arch = str_copy(arena, manifest->arch),
                    .ptx = job->ptx},
    };
    out->subject.smem_bytes_max = check_smem_bytes_max(out->subject.arch);
    if (job->ptx.len == 0 || !ptx_load(arena, job->ptx, &module, &err))
        return;
    for (size_t i = 0; i < manifest->kernel_count + manifest->prepare_count; i++) {
        const struct manifest_kernel *kernel = i < manifest->kernel_count
                                                   ? &manifest->kernels[i]
                                                   : &manifest->prepare[i - manifest->kernel_count];
        const struct ptx_entry *entry = ptx_entry_find(module, str_copy(arena, kernel->entry));

        if (entry == NULL || entry->unsupported != NULL || entry->param_count != kernel->arg_count)
            return;
    }
    out->subject.module = module;
}

static void compare_one(struct twin *twin, double gpu, double emulated, double bound)
{
    const double distance = fabs(gpu - emulated);

    twin->elements++;
    if (gpu == emulated || (isnan(gpu) && isnan(emulated)))
        twin->same++;
    else if (!(distance <= twin->worst * bound))
        twin->worst = bound > 0 ? distance / bound : INFINITY;
}

static void compare_tensor(struct twin *twin, const struct dataset *set, size_t tensor,
                           const void *gpu, const void *emulated)
{
    const enum dtype dtype = set->bound->op->tensors[tensor].dtype;
    const struct values *want = &set->want[tensor];

    for (int64_t i = 0; i < want->count; i++) {
        const size_t at = (size_t)i;

        if (!dtype_is_float(dtype))
            compare_one(twin, (double)elem_to_int(dtype, gpu, at),
                        (double)elem_to_int(dtype, emulated, at), 0);
        else if (!set->undecided[tensor][at])
            compare_one(twin, elem_to_double(dtype, gpu, at), elem_to_double(dtype, emulated, at),
                        want->bounds[i]);
    }
}

bool twin_compare(struct arena *scratch, struct twin *twin, const struct dataset *set,
                  uint64_t salt, void *const *outputs, struct err *err)
{
    const struct op *op = set->bound->op;
    const int64_t price = shape_price(set->bound, twin->subject.manifest);
    const int64_t budget =
        price < BUDGET_MAX / BUDGET_FACTOR ? BUDGET_BASE + BUDGET_FACTOR * price : BUDGET_MAX;
    const struct run_options options = {
        .salt = salt, .weakest = true, .budget = (uint64_t)budget, .skip = SIZE_MAX};
    struct run run;

    if (twin->subject.module == NULL)
        return true;
    if (!emu_run(scratch, &twin->subject, set, &options, &run, err))
        return false;
    if (run.launch_refused || run.fault.kind != PTX_FAULT_NONE) {
        twin->subject.module = NULL;
        return true;
    }
    for (size_t t = 0; t < op->declared_count; t++)
        if (tensor_is_output(op, t))
            compare_tensor(twin, set, t, outputs[t], run.outputs[t]);
    return true;
}
