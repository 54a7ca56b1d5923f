/*
 * Observe: what the compiled candidate is, whatever its source or manifest says.
 *
 * A lint over source text can be evaded (macros, token pasting, inline PTX); the final PTX cannot.
 * So every rule of the contract that can be decided without running is decided here, on PTX and
 * cubin: no writable module state, no clock, no device heap, no external calls, nothing that is
 * reserved to plans, entries and parameters as the manifest says, resources inside the machine.
 *
 * Tensor-core use on an f32 track is not against the rules: three products of split inputs are as
 * accurate as f32.  It is recorded, and the bounds decide.  A trap is legal until it is executed.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/panic.h"

#include "verify/check/check_int.h"

/* Fills the verdict; false, so that a rule is one statement. */
static bool reject(struct arena *arena, struct verdict *verdict, enum validity validity, int line,
                   const char *fmt, ...) PRINTF_LIKE(5, 6);
static bool reject(struct arena *arena, struct verdict *verdict, enum validity validity, int line,
                   const char *fmt, ...)
{
    struct buf text;
    va_list args;

    buf_init(&text, arena, VERDICT_REASON_BYTES_MAX);
    va_start(args, fmt);
    buf_vprintf(&text, fmt, args);
    va_end(args);
    if (line > 0)
        buf_printf(&text, " (line %d)", line);
    verdict->validity = validity;
    verdict->reason = str_from(str_copy(arena, buf_view(&text)));
    verdict->source_line = line;
    return false;
}

static void observe_ptx(struct observed_builder *observed, const char *entry,
                        const struct ptx_facts *facts)
{
    const struct {
        const char *name;
        uint32_t count;
    } counts[] = {
        {"instructions", facts->instructions},
        {"mma_f16", facts->mma_f16},
        {"mma_bf16", facts->mma_bf16},
        {"mma_tf32", facts->mma_tf32},
        {"mma_f64", facts->mma_f64},
        {"mma_int", facts->mma_int},
        {"mma_fp8", facts->mma_fp8},
        {"cvt_tf32", facts->cvt_tf32},
        {"cp_async", facts->cp_async},
        {"bulk_copies", facts->bulk_copies},
        {"wgmma", facts->wgmma},
        {"ldmatrix", facts->ldmatrix},
        {"barriers", facts->barriers},
        {"atomics", facts->atomics},
        {"f64_ops", facts->f64_ops},
        {"f16_arithmetic", facts->f16_arithmetic},
        {"shuffles", facts->shuffles},
        {"vector_accesses", facts->vector_accesses},
    };

    for (size_t i = 0; i < COUNT_OF(counts); i++)
        observed_add(observed, counts[i].count, "ptx.%s.%s", entry, counts[i].name);
    observed_add(observed, facts->traps, "ptx.%s.traps", entry);
}

/* What no candidate may hold. */
static bool rules_always(struct arena *arena, const struct ptx_facts *facts,
                         struct verdict *verdict)
{
    if (facts->device_heap)
        return reject(
            arena, verdict, VALIDITY_SOURCE_REJECTED, facts->line_heap,
            "the kernel calls the device heap (malloc or free); declare a workspace in the "
            "manifest instead");
    if (facts->reads_clock)
        return reject(
            arena, verdict, VALIDITY_SOURCE_REJECTED, facts->line_clock,
            "the kernel reads a clock (%%clock or %%globaltimer); a result may not depend "
            "on time");
    if (facts->writable_global)
        return reject(
            arena, verdict, VALIDITY_SOURCE_REJECTED, facts->line_global,
            "module variable %s is writable, so launches could leave state for each other; "
            "pass a workspace in the manifest instead",
            facts->global_name == NULL ? "(unnamed)" : facts->global_name);
    if (facts->calls_external)
        return reject(arena, verdict, VALIDITY_SOURCE_REJECTED, 0,
                      "the kernel calls %s, which is not part of it",
                      facts->external_name == NULL ? "an external function" : facts->external_name);
    return true;
}

/* What only a plan may ask for. */
static bool rules_of_plan(struct arena *arena, const struct subject *subject,
                          const struct manifest_kernel *kernel, const struct ptx_entry *entry,
                          const struct ptx_facts *facts, struct verdict *verdict)
{
    const struct plan *plan = subject->options->plan;
    const bool clusters =
        kernel->cluster[0] > 1 || kernel->cluster[1] > 1 || kernel->cluster[2] > 1;
    const bool grid_plan = plan == NULL || plan_uses(plan, PRIMITIVE_GRID_SUMMARY);

    if (facts->griddep || kernel->programmatic)
        return reject(
            arena, verdict, VALIDITY_OFF_PLAN, 0,
            "kernel %s uses programmatic dependent launch (griddepcontrol), which no plan "
            "asks for",
            entry->name);
    if (facts->evict_last)
        return reject(arena, verdict, VALIDITY_OFF_PLAN, 0,
                      "kernel %s pins lines in the L2 cache (evict_last), which no plan asks for",
                      entry->name);
    if (kernel->cooperative && !grid_plan)
        return reject(arena, verdict, VALIDITY_OFF_PLAN, 0,
                      "kernel %s is launched cooperatively; the plan has no %s", entry->name,
                      primitive_name(PRIMITIVE_GRID_SUMMARY));
    if (clusters && !grid_plan)
        return reject(arena, verdict, VALIDITY_OFF_PLAN, 0,
                      "kernel %s uses thread block clusters; the plan has no %s", entry->name,
                      primitive_name(PRIMITIVE_GRID_SUMMARY));
    for (int i = 0; i < 3; i++)
        if (entry->cluster[i] > 1 && entry->cluster[i] != (uint32_t)kernel->cluster[i])
            return reject(arena, verdict, VALIDITY_OFF_PLAN, 0,
                          "kernel %s requires clusters of %" PRIu32 "x%" PRIu32 "x%" PRIu32
                          ", the manifest does not say so",
                          entry->name, entry->cluster[0], entry->cluster[1], entry->cluster[2]);
    return true;
}

/* What the plan demands of the candidate as a whole. */
static bool plan_is_followed(struct arena *arena, const struct subject *subject,
                             const struct ptx_facts *sum, struct verdict *verdict)
{
    const struct plan *plan = subject->options->plan;
    const uint32_t mma = sum->mma_f16 + sum->mma_bf16 + sum->mma_tf32 + sum->mma_f64 +
                         sum->mma_int + sum->mma_fp8 + sum->wgmma;

    if (plan_uses(plan, PRIMITIVE_TENSOR_CORE_TILE) && mma == 0)
        return reject(arena, verdict, VALIDITY_OFF_PLAN, 0,
                      "the plan asks for a %s, but the code has no mma instruction",
                      primitive_name(PRIMITIVE_TENSOR_CORE_TILE));
    if (plan_uses(plan, PRIMITIVE_ASYNC_PIPELINE) && sum->cp_async + sum->bulk_copies == 0)
        return reject(arena, verdict, VALIDITY_OFF_PLAN, 0,
                      "the plan asks for an %s, but the code has no asynchronous copy",
                      primitive_name(PRIMITIVE_ASYNC_PIPELINE));
    return true;
}

static bool entry_matches(struct arena *arena, const struct manifest_kernel *kernel,
                          const struct ptx_entry *entry, struct verdict *verdict)
{
    if (entry == NULL)
        return reject(arena, verdict, VALIDITY_LAUNCH_ERROR, 0,
                      "the manifest launches %.*s, which the code does not define; is it declared "
                      "extern \"C\" __global__?",
                      STR_ARG(kernel->entry));
    if (entry->param_count != kernel->arg_count)
        return reject(arena, verdict, VALIDITY_LAUNCH_ERROR, 0,
                      "kernel %s has %zu parameters, the manifest passes %zu", entry->name,
                      entry->param_count, kernel->arg_count);
    if (entry->unsupported != NULL) {
        verdict->instruction = str_from(str_copy(arena, str_from(entry->unsupported)));
        return reject(arena, verdict, VALIDITY_UNSUPPORTED, 0,
                      "the emulator does not run %s (PTX line %d); verify this kernel on a GPU",
                      entry->unsupported, entry->unsupported_line);
    }
    return true;
}

static void facts_sum(struct ptx_facts *sum, const struct ptx_facts *facts)
{
    sum->mma_f16 += facts->mma_f16;
    sum->mma_bf16 += facts->mma_bf16;
    sum->mma_tf32 += facts->mma_tf32;
    sum->mma_f64 += facts->mma_f64;
    sum->mma_int += facts->mma_int;
    sum->mma_fp8 += facts->mma_fp8;
    sum->wgmma += facts->wgmma;
    sum->cp_async += facts->cp_async;
    sum->bulk_copies += facts->bulk_copies;
    sum->stores_global = sum->stores_global || facts->stores_global;
}

static bool observe_kernel(struct arena *arena, const struct subject *subject,
                           const struct manifest_kernel *kernel, struct ptx_facts *sum,
                           struct observed_builder *observed, struct verdict *verdict)
{
    const char *name = str_copy(arena, kernel->entry);
    const struct ptx_entry *entry = ptx_entry_find(subject->module, name);
    struct ptx_facts facts = {0};

    if (entry == NULL)
        return entry_matches(arena, kernel, entry, verdict);
    ptx_module_facts(subject->module, name, &facts);
    observe_ptx(observed, name, &facts);
    facts_sum(sum, &facts);
    return rules_always(arena, &facts, verdict) &&
           rules_of_plan(arena, subject, kernel, entry, &facts, verdict) &&
           entry_matches(arena, kernel, entry, verdict);
}

/* ---- resources ---- */

static void observe_cubin(struct observed_builder *observed, const struct cubin_kernel *kernel)
{
    observed_add(observed, kernel->registers, "cubin.%s.registers", kernel->name);
    observed_add(observed, kernel->shared_bytes, "cubin.%s.shared_bytes", kernel->name);
    observed_add(observed, kernel->spill_store_bytes + (double)kernel->spill_load_bytes,
                 "cubin.%s.spill_bytes", kernel->name);
    observed_add(observed, kernel->barriers, "cubin.%s.barriers", kernel->name);
    observed_add(observed, kernel->stack_bytes, "cubin.%s.stack_bytes", kernel->name);
    observed_add(observed, kernel->code_bytes, "cubin.%s.code_bytes", kernel->name);
}

static const struct cubin_kernel *cubin_kernel_find(const struct cubin *cubin, const char *name)
{
    for (size_t i = 0; i < cubin->kernel_count; i++)
        if (strcmp(cubin->kernels[i].name, name) == 0)
            return &cubin->kernels[i];
    return NULL;
}

/* Static shared memory and launch bounds of a kernel, from whichever of cubin and PTX there is. */
struct needs {
    size_t shared_bytes;
    uint32_t registers; /* 0 = not known */
    uint64_t threads_max;
};

static struct needs needs_of(const struct subject *subject, const struct cubin *cubin,
                             const char *name)
{
    const struct cubin_kernel *found = cubin_kernel_find(cubin, name);
    const struct ptx_entry *entry =
        subject->module == NULL ? NULL : ptx_entry_find(subject->module, name);
    struct needs needs = {.threads_max = ARCH_THREADS_MAX};

    if (entry != NULL) {
        needs.shared_bytes = entry->shared_bytes;
        if (entry->max_threads[0] > 0)
            needs.threads_max = (uint64_t)entry->max_threads[0] *
                                (entry->max_threads[1] > 0 ? entry->max_threads[1] : 1) *
                                (entry->max_threads[2] > 0 ? entry->max_threads[2] : 1);
    }
    if (found != NULL) {
        needs.registers = found->registers;
        if (found->shared_bytes > needs.shared_bytes)
            needs.shared_bytes = found->shared_bytes;
        if (found->max_threads > 0)
            needs.threads_max = found->max_threads;
    }
    return needs;
}

static bool resources_fit(struct arena *arena, const struct subject *subject,
                          const struct manifest_kernel *kernel, const struct needs *needs,
                          const struct bound_op *bound, struct verdict *verdict)
{
    const char *name = str_copy(arena, kernel->entry);
    struct geometry geometry;
    enum validity validity;
    const char *why;
    uint64_t threads, registers;

    if (!geometry_at(arena, subject, kernel, bound, &geometry, &validity, &why))
        return reject(arena, verdict, validity, 0, "%s", why);
    threads = (uint64_t)geometry.block[0] * geometry.block[1] * geometry.block[2];
    if (needs->shared_bytes + geometry.smem > subject->smem_bytes_max)
        return reject(
            arena, verdict, VALIDITY_RESOURCES, 0,
            "kernel %s needs %zu bytes of static and %zu of dynamic shared memory; a block "
            "of %s may have %zu",
            name, needs->shared_bytes, geometry.smem, subject->arch, subject->smem_bytes_max);
    if (threads > needs->threads_max)
        return reject(arena, verdict, VALIDITY_LAUNCH_ERROR, 0,
                      "kernel %s is launched with %" PRIu64
                      " threads a block, its launch bounds allow %" PRIu64,
                      name, threads, needs->threads_max);
    /* Registers are handed out to whole warps in units of 256, so 8 a thread. */
    registers = (needs->registers + 7) / 8 * 8 * ((threads + 31) / 32 * 32);
    if (registers > ARCH_REGISTERS_MAX)
        return reject(arena, verdict, VALIDITY_RESOURCES, 0,
                      "kernel %s: %" PRIu64 " threads of %" PRIu32
                      " registers do not fit into the %d registers of a block",
                      name, threads, needs->registers, ARCH_REGISTERS_MAX);
    return true;
}

/* At each target shape that the guard admits: that is where the plan is to be legal. */
static bool targets_fit(struct arena *arena, const struct subject *subject,
                        const struct cubin *cubin, struct verdict *verdict)
{
    const struct op *op = subject->op;

    for (size_t i = 0; i < op->target_count; i++) {
        const struct bound_op *bound;
        struct err err;

        if (!op_bind_shape(arena, op, &op->targets[i], &bound, &err) ||
            !guard_admits(subject->manifest->guard, bound))
            continue;
        for (size_t k = 0; k < subject->manifest->kernel_count; k++) {
            const struct manifest_kernel *kernel = &subject->manifest->kernels[k];
            const struct needs needs = needs_of(subject, cubin, str_copy(arena, kernel->entry));

            if (!resources_fit(arena, subject, kernel, &needs, bound, verdict))
                return false;
        }
    }
    return true;
}

static bool read_cubin(struct arena *arena, const struct subject *subject,
                       struct observed_builder *observed, struct cubin *cubin, struct err *err)
{
    if (subject->cubin.len == 0)
        return true;
    if (!cubin_read(arena, subject->cubin, subject->log, cubin, err))
        return false;
    for (size_t i = 0; i < cubin->kernel_count; i++)
        observe_cubin(observed, &cubin->kernels[i]);
    return true;
}

/* A foreign cubin: numbers and resources only. */
static bool observe_only_cubin(struct arena *arena, const struct subject *subject,
                               const struct cubin *cubin, struct verdict *verdict)
{
    for (size_t k = 0; k < subject->manifest->kernel_count; k++) {
        const struct manifest_kernel *kernel = &subject->manifest->kernels[k];

        if (cubin_kernel_find(cubin, str_copy(arena, kernel->entry)) == NULL)
            return reject(arena, verdict, VALIDITY_LAUNCH_ERROR, 0,
                          "the manifest launches %.*s, which the cubin does not hold",
                          STR_ARG(kernel->entry));
    }
    if (!targets_fit(arena, subject, cubin, verdict))
        return false;
    verdict->instruction = STR_LIT("machine code");
    return reject(
        arena, verdict, VALIDITY_UNSUPPORTED, 0,
        "a cubin holds machine code, which cannot be emulated; give the PTX, or verify it "
        "on a GPU");
}

bool observe(struct arena *arena, struct subject *subject, struct observed_builder *observed,
             struct verdict *verdict)
{
    const struct manifest *manifest = subject->manifest;
    struct cubin cubin = {0};
    struct ptx_facts sum = {0};
    struct err why;

    if (!read_cubin(arena, subject, observed, &cubin, &why))
        return reject(arena, verdict, VALIDITY_SOURCE_REJECTED, 0, "cubin: %s", why.text);
    if (subject->ptx.len == 0)
        return observe_only_cubin(arena, subject, &cubin, verdict);
    if (!ptx_load(arena, subject->ptx, &subject->module, &why))
        return reject(arena, verdict, VALIDITY_SOURCE_REJECTED, 0, "PTX: %s", why.text);
    for (size_t k = 0; k < manifest->prepare_count; k++)
        if (!observe_kernel(arena, subject, &manifest->prepare[k], &sum, observed, verdict))
            return false;
    for (size_t k = 0; k < manifest->kernel_count; k++)
        if (!observe_kernel(arena, subject, &manifest->kernels[k], &sum, observed, verdict))
            return false;
    if (!sum.stores_global)
        return reject(arena, verdict, VALIDITY_WRONG, 0,
                      "no kernel stores anything to global memory, so no output is computed");
    return plan_is_followed(arena, subject, &sum, verdict) &&
           targets_fit(arena, subject, &cubin, verdict);
}
