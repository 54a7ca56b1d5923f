#ifndef TESTS_INTEGRATION_EMULATE_H
#define TESTS_INTEGRATION_EMULATE_H

#include <string.h>

#include "solver/ir/ir.h"
#include "synth/synth.h"
#include "tests/unit/unit.h"
#include "verify/ptx/ptx.h"

/*
 * An emitted manifest on the emulator, all checks on.  Buffers lie at the weakest alignment that
 * the spec promises; outputs and workspaces begin uninitialised.
 */
enum { EMULATE_PARAM_BYTES_MAX = 4096, EMULATE_SHARED_BYTES_MAX = 227 * 1024 };

struct emulated {
    void **tensors;    /* by tensor of the op; declared ones */
    void **workspaces; /* by workspace of the manifest */
    const char *why;   /* not NULL: what went wrong */
};

/* Where an argument's address is among the buffers: tensors first, then workspaces. */
static inline size_t emulate_buffer(const struct op *op, const struct manifest *manifest,
                                    const struct manifest_arg *arg)
{
    if (arg->kind == ARG_TENSOR)
        return op_tensor_find(op, arg->name);
    for (size_t i = 0; i < manifest->workspace_count; i++)
        if (str_equal(manifest->workspaces[i].name, arg->name))
            return op->declared_count + i;
    fail_msg("no workspace %.*s", STR_ARG(arg->name));
    return 0;
}

static inline int64_t emulate_number(const struct formula *formula, const struct bound_op *bound)
{
    int64_t value = 0;
    struct err err;
    assert_ok(formula_eval(formula, &bound->env, &value, &err));
    return value;
}

static inline struct ptx_buffer *emulate_buffers(struct arena *arena, const struct bound_op *bound,
                                                 const struct manifest *manifest,
                                                 const void *const *inputs, struct emulated *out)
{
    const struct op *op = bound->op;
    size_t count = op->declared_count + manifest->workspace_count;
    struct ptx_buffer *buffers = arena_array(arena, struct ptx_buffer, count + 1);
    out->tensors = arena_array(arena, void *, op->tensor_count + 1);
    out->workspaces = arena_array(arena, void *, manifest->workspace_count + 1);
    for (size_t i = 0; i < op->declared_count; i++) {
        size_t bytes = (size_t)bound->tensors[i].bytes;
        out->tensors[i] = arena_alloc(arena, bytes + 1, 1, 64);
        if (inputs[i] != NULL)
            memcpy(out->tensors[i], inputs[i], bytes);
        buffers[i] = (struct ptx_buffer){.name = str_copy(arena, op->tensors[i].name),
                                         .data = out->tensors[i],
                                         .bytes = bytes,
                                         .address_offset = (size_t)op->tensors[i].align % 4096,
                                         .initialised = inputs[i] != NULL,
                                         .writable = inputs[i] == NULL};
    }
    for (size_t i = 0; i < manifest->workspace_count; i++) {
        size_t bytes = (size_t)emulate_number(manifest->workspaces[i].bytes, bound);
        out->workspaces[i] = arena_alloc(arena, bytes + 1, 1, 64);
        buffers[op->declared_count + i] =
            (struct ptx_buffer){.name = str_copy(arena, manifest->workspaces[i].name),
                                .data = out->workspaces[i],
                                .bytes = bytes,
                                .address_offset = 256,
                                .initialised = manifest->workspaces[i].zero,
                                .writable = true};
    }
    return buffers;
}

static inline bool emulate_kernel(struct arena *arena, const struct bound_op *bound,
                                  const struct manifest *manifest,
                                  const struct manifest_kernel *kernel,
                                  const struct ptx_module *module, struct ptx_memory *memory,
                                  const struct ptx_buffer *buffers, struct emulated *out)
{
    uint8_t params[EMULATE_PARAM_BYTES_MAX];
    const char *name = str_copy(arena, kernel->entry);
    const struct ptx_entry *entry = ptx_entry_find(module, name);
    struct ptx_report report;
    struct err err;
    if (entry == NULL)
        fail_msg("no entry %s", name);
    if (entry->unsupported != NULL) {
        out->why = entry->unsupported;
        return false;
    }
    assert_int_equal(entry->param_count, kernel->arg_count);
    for (size_t i = 0; i < kernel->arg_count; i++) {
        const struct manifest_arg *arg = &kernel->args[i];
        uint64_t value = arg->kind == ARG_DIM
                             ? (uint64_t)emulate_number(arg->dim, bound)
                             : buffers[emulate_buffer(bound->op, manifest, arg)].address;
        assert_int_equal(entry->params[i].bytes, 8);
        memcpy(params + entry->params[i].offset, &value, 8);
    }
    struct ptx_launch launch = {.entry = name,
                                .dynamic_shared = (size_t)emulate_number(kernel->smem, bound),
                                .params = params,
                                .param_bytes = entry->param_bytes,
                                .budget_warp_insns = UINT64_C(1) << 32,
                                .shared_bytes_max = EMULATE_SHARED_BYTES_MAX,
                                .check = true,
                                .poison_seed = 0x9e3779b97f4a7c15};
    for (int i = 0; i < 3; i++) {
        launch.grid[i] = (uint32_t)emulate_number(kernel->grid[i], bound);
        launch.block[i] = (uint32_t)emulate_number(kernel->block[i], bound);
    }
    assert_ok(ptx_launch(arena, module, memory, &launch, &report, &err));
    if (report.fault.kind == PTX_FAULT_NONE)
        return true;
    out->why = str_copy(arena, str_from(report.fault.text));
    return false;
}

/* False: out->why says what went wrong. */
static inline bool emulate(struct arena *arena, const struct bound_op *bound,
                           const struct manifest *manifest, const struct ptx_module *module,
                           const void *const *inputs, struct emulated *out)
{
    *out = (struct emulated){0};
    struct ptx_buffer *buffers = emulate_buffers(arena, bound, manifest, inputs, out);
    struct ptx_memory *memory = ptx_memory_new(
        arena, module, buffers, bound->op->declared_count + manifest->workspace_count);
    for (size_t i = 0; i < manifest->kernel_count; i++)
        if (!emulate_kernel(arena, bound, manifest, &manifest->kernels[i], module, memory, buffers,
                            out))
            return false;
    return true;
}

#endif
