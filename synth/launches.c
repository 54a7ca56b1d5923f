/*
 * Manifests in the making: kernels in launch order, their arguments, workspaces.
 *
 * Every number that depends on the shape is a formula over the spec's dims, so one manifest serves
 * all shapes of a spec.  Meeting a limit of the manifest is an error that names it.
 */
#include "synth/synth_int.h"

void launches_init(struct launches *launches, struct arena *arena)
{
    *launches = (struct launches){.arena = arena};
    launches->kernels = arena_array(arena, struct manifest_kernel, MANIFEST_KERNELS_MAX);
    launches->workspaces = arena_array(arena, struct manifest_workspace, MANIFEST_WORKSPACES_MAX);
}

bool launches_workspace(struct launches *launches, struct str name, const struct formula *bytes,
                        bool zero, struct err *err)
{
    for (size_t i = 0; i < launches->workspace_count; i++)
        if (str_equal(launches->workspaces[i].name, name))
            return true;
    if (launches->workspace_count == MANIFEST_WORKSPACES_MAX)
        return err_raise(err, ERR_LIMIT, "more than %d workspaces: %.*s is one too many",
                         MANIFEST_WORKSPACES_MAX, STR_ARG(name));
    launches->workspaces[launches->workspace_count++] =
        (struct manifest_workspace){.name = name, .bytes = bytes, .zero = zero};
    return true;
}

bool launches_kernel(struct launches *launches, const char *entry, const struct formula *grid,
                     int64_t threads, struct manifest_kernel **out, struct err *err)
{
    if (launches->kernel_count == MANIFEST_KERNELS_MAX)
        return err_raise(err, ERR_LIMIT, "more than %d kernels: %s is one too many",
                         MANIFEST_KERNELS_MAX, entry);
    const struct formula *one = formula_int(launches->arena, 1);
    struct manifest_kernel *kernel = &launches->kernels[launches->kernel_count++];
    *kernel = (struct manifest_kernel){
        .entry = str_from(entry),
        .grid = {grid, one, one},
        .block = {formula_int(launches->arena, threads), one, one},
        .smem = formula_int(launches->arena, 0),
        .cluster = {1, 1, 1},
        .args = arena_array(launches->arena, struct manifest_arg, MANIFEST_ARGS_MAX)};
    *out = kernel;
    return true;
}

void launches_arg(struct launches *launches, struct manifest_kernel *kernel,
                  struct manifest_arg arg)
{
    struct manifest_arg *args =
        arena_array(launches->arena, struct manifest_arg, kernel->arg_count + 1);
    for (size_t i = 0; i < kernel->arg_count; i++)
        args[i] = kernel->args[i];
    args[kernel->arg_count++] = arg;
    kernel->args = args;
}

const struct manifest *launches_finish(struct launches *launches, const struct op *op,
                                       const char *arch, const struct formula *guard,
                                       const char *strategy)
{
    struct manifest *manifest = arena_new(launches->arena, struct manifest);
    *manifest = (struct manifest){.op = op->name,
                                  .arch = str_from(arch),
                                  .guard = guard,
                                  .kernels = launches->kernels,
                                  .kernel_count = launches->kernel_count,
                                  .workspaces = launches->workspaces,
                                  .workspace_count = launches->workspace_count,
                                  .strategy = str_from(strategy)};
    return manifest;
}

const struct formula *formula_tensor_bytes(struct arena *arena, const struct tensor *tensor)
{
    const struct formula *count = formula_count(arena, tensor->shape, tensor->rank);
    return formula_mul(arena, count, formula_int(arena, (int64_t)dtype_bytes(tensor->dtype)));
}

const struct formula *formula_blocks(struct arena *arena, const struct op *op,
                                     const struct formula *work, int64_t per_block,
                                     int64_t blocks_max)
{
    if (work->op == FORMULA_INT && work->value <= per_block)
        return formula_int(arena, 1);
    const struct formula *blocks = work;
    if (per_block > 1)
        blocks = formula_binary(arena, FORMULA_CEILDIV, work, formula_int(arena, per_block));
    blocks = formula_binary(arena, FORMULA_MIN, blocks, formula_int(arena, blocks_max));
    if (op->policy.zero_dims)
        blocks = formula_binary(arena, FORMULA_MAX, formula_int(arena, 1), blocks);
    return blocks;
}
