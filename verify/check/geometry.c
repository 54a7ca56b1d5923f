/*
 * What a manifest asks for at a shape: grid, block, cluster and dynamic shared memory as numbers,
 * refused where no driver would launch them.
 *
 * A refusal is a finding about the candidate, never an error of the machine: the candidate wrote
 * the formulas.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "verify/check/check_int.h"

struct refusal {
    struct arena *arena;
    enum validity *validity;
    const char **why;
};

static bool refuse(const struct refusal *refusal, enum validity validity, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
static bool refuse(const struct refusal *refusal, enum validity validity, const char *fmt, ...)
{
    struct buf text;
    va_list args;

    buf_init(&text, refusal->arena, ERR_TEXT_BYTES);
    va_start(args, fmt);
    buf_vprintf(&text, fmt, args);
    va_end(args);
    *refusal->validity = validity;
    *refusal->why = str_copy(refusal->arena, buf_view(&text));
    return false;
}

static bool evaluate(const struct refusal *refusal, const struct formula *formula,
                     const struct bound_op *bound, const char *what, int64_t *out)
{
    struct err err;

    if (formula_eval(formula, &bound->env, out, &err))
        return true;
    return refuse(refusal, VALIDITY_LAUNCH_ERROR, "%s: %s", what, err.text);
}

static bool grid_and_block(const struct refusal *refusal, const struct manifest_kernel *kernel,
                           const struct bound_op *bound, struct geometry *out)
{
    static const int64_t grid_max[3] = {INT32_MAX, ARCH_GRID_YZ_MAX, ARCH_GRID_YZ_MAX};
    static const int64_t block_max[3] = {ARCH_THREADS_MAX, ARCH_THREADS_MAX, 64};
    static const char *const axis[3] = {"x", "y", "z"};
    int64_t threads = 1;

    for (int i = 0; i < 3; i++) {
        int64_t grid, block;

        if (!evaluate(refusal, kernel->grid[i], bound, "grid", &grid) ||
            !evaluate(refusal, kernel->block[i], bound, "block", &block))
            return false;
        if (grid < 1 || grid > grid_max[i])
            return refuse(refusal, VALIDITY_LAUNCH_ERROR,
                          "kernel %.*s: grid.%s is %" PRId64 ", must be 1 to %" PRId64,
                          STR_ARG(kernel->entry), axis[i], grid, grid_max[i]);
        if (block < 1 || block > block_max[i])
            return refuse(refusal, VALIDITY_LAUNCH_ERROR,
                          "kernel %.*s: block.%s is %" PRId64 ", must be 1 to %" PRId64,
                          STR_ARG(kernel->entry), axis[i], block, block_max[i]);
        if (kernel->cluster[i] > 1 && grid % kernel->cluster[i] != 0)
            return refuse(refusal, VALIDITY_LAUNCH_ERROR,
                          "kernel %.*s: grid.%s %" PRId64
                          " is no multiple of the cluster's %" PRId64,
                          STR_ARG(kernel->entry), axis[i], grid, kernel->cluster[i]);
        threads *= block;
        out->grid[i] = (uint32_t)grid;
        out->block[i] = (uint32_t)block;
        out->cluster[i] = (uint32_t)(kernel->cluster[i] > 0 ? kernel->cluster[i] : 1);
    }
    if (threads > ARCH_THREADS_MAX)
        return refuse(refusal, VALIDITY_LAUNCH_ERROR,
                      "kernel %.*s: %" PRId64 " threads a block, at most %d can be launched",
                      STR_ARG(kernel->entry), threads, ARCH_THREADS_MAX);
    return true;
}

bool geometry_at(struct arena *arena, const struct subject *subject,
                 const struct manifest_kernel *kernel, const struct bound_op *bound,
                 struct geometry *out, enum validity *validity, const char **why)
{
    const struct refusal refusal = {arena, validity, why};
    int64_t smem = 0;

    if (!grid_and_block(&refusal, kernel, bound, out) ||
        (kernel->smem != NULL && !evaluate(&refusal, kernel->smem, bound, "smem", &smem)))
        return false;
    if (smem < 0 || (uint64_t)smem > subject->smem_bytes_max)
        return refuse(&refusal, VALIDITY_RESOURCES,
                      "kernel %.*s asks for %" PRId64
                      " bytes of dynamic shared memory; a block of %s may have %zu",
                      STR_ARG(kernel->entry), smem, subject->arch, subject->smem_bytes_max);
    out->smem = (size_t)smem;
    return true;
}
