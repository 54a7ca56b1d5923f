/*
 * Code on the GPU with its manifest: the candidate, or the reference.
 *
 * The manifest is the candidate's word, so nothing in it is believed: sizes of arguments are held
 * against the kernel's own parameters, geometry against limits, threads against the registers that
 * a block then needs.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/panic.h"

#include "verify/check/on_gpu_int.h"

static bool refuse(struct gpu_program *program, enum validity validity, struct err *err,
                   const char *fmt, ...) PRINTF_LIKE(4, 5);
static bool refuse(struct gpu_program *program, enum validity validity, struct err *err,
                   const char *fmt, ...)
{
    char text[ERR_TEXT_BYTES];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    program->validity = validity;
    return err_raise(err, ERR_SEMANTIC, "%s", text);
}

/* ---- loading ---- */

static bool find_all(struct arena *arena, struct gpu_program *program,
                     const struct gpu_module *module, struct err *err)
{
    const struct manifest *m = program->manifest;

    program->functions =
        arena_array(arena, struct gpu_function *, m->kernel_count + m->prepare_count + 1);
    for (size_t i = 0; i < m->kernel_count + m->prepare_count; i++) {
        const struct manifest_kernel *kernel =
            i < m->kernel_count ? &m->kernels[i] : &m->prepare[i - m->kernel_count];

        if (!gpu_find(arena, program->gpu, module, str_copy(arena, kernel->entry),
                      &program->functions[i], err))
            return false;
        if (program->functions[i]->param_count != kernel->arg_count)
            return refuse(program, VALIDITY_LAUNCH_ERROR, err,
                          "kernel %.*s has %zu parameters, the manifest passes %zu",
                          STR_ARG(kernel->entry), program->functions[i]->param_count,
                          kernel->arg_count);
    }
    return true;
}

bool gpu_program_load(struct arena *arena, struct gpu *gpu, const struct gpu_code *code,
                      const struct op *op, struct gpu_program *out, struct err *err)
{
    struct gpu_module *module;

    *out = (struct gpu_program){
        .gpu = gpu,
        .manifest = code->manifest,
        .limits = {.op = op,
                   .manifest = code->manifest,
                   .arch = str_copy(arena, code->manifest->arch),
                   .smem_bytes_max = gpu_facts(gpu)->smem_optin_bytes},
    };
    return gpu_load(arena, gpu, code->image, &module, err) && find_all(arena, out, module, err);
}

enum validity gpu_program_validity(const struct gpu_program *program)
{
    if (program->validity != VALIDITY_ACCEPTED)
        return program->validity;
    switch (gpu_blame(program->gpu)) {
    case GPU_BLAME_ADDRESS:
        return VALIDITY_OUT_OF_BOUNDS;
    case GPU_BLAME_CODE:
    case GPU_BLAME_LAUNCH:
        return VALIDITY_LAUNCH_ERROR;
    case GPU_BLAME_RESOURCES:
        return VALIDITY_RESOURCES;
    case GPU_BLAME_IMAGE:
        return VALIDITY_UNSUPPORTED;
    case GPU_BLAME_HUNG:
        return VALIDITY_TIMEOUT;
    case GPU_BLAME_NONE:
    case GPU_BLAME_MACHINE:
        return VALIDITY_INFRASTRUCTURE;
    }
    return VALIDITY_INFRASTRUCTURE;
}

/* ---- workspaces ---- */

bool gpu_workspaces(struct gpu_program *program, const struct bound_op *bound, size_t *bytes,
                    struct err *err)
{
    const struct manifest *m = program->manifest;
    const size_t most = gpu_facts(program->gpu)->memory_bytes / 2;

    for (size_t w = 0; w < m->workspace_count; w++) {
        int64_t size;

        if (!formula_eval(m->workspaces[w].bytes, &bound->env, &size, err))
            return refuse(program, VALIDITY_LAUNCH_ERROR, err, "workspace %.*s: %s",
                          STR_ARG(m->workspaces[w].name), err->text);
        if (size < 0 || (uint64_t)size > most)
            return refuse(program, VALIDITY_RESOURCES, err,
                          "workspace %.*s: %" PRId64 " bytes; this GPU can give %zu",
                          STR_ARG(m->workspaces[w].name), size, most);
        bytes[w] = (size_t)size;
    }
    return true;
}

/* ---- arguments ---- */

static enum gpu_element element_of(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_F64:
        return GPU_ELEMENT_F64;
    case DTYPE_F32:
        return GPU_ELEMENT_F32;
    case DTYPE_F16:
        return GPU_ELEMENT_F16;
    case DTYPE_BF16:
        return GPU_ELEMENT_BF16;
    case DTYPE_I64:
        return GPU_ELEMENT_I64;
    case DTYPE_I32:
        return GPU_ELEMENT_I32;
    case DTYPE_I16:
        return GPU_ELEMENT_U16;
    case DTYPE_E4M3:
    case DTYPE_E5M2:
    case DTYPE_I8:
    case DTYPE_U8:
    case DTYPE_BOOL:
    case DTYPE_COUNT:
        return GPU_ELEMENT_U8;
    }
    return GPU_ELEMENT_U8;
}

struct packing {
    struct arena *scratch;
    struct gpu_program *program;
    const struct bound_op *bound;
    const struct gpu_addresses *addresses;
};

static bool pack_tensor_map(const struct packing *p, const struct manifest_arg *arg, size_t tensor,
                            uint8_t *out, struct err *err)
{
    const struct tensor *t = &p->bound->op->tensors[tensor];
    const struct gpu_tensor_map map = {
        .address = p->addresses->tensors[tensor],
        .rank = t->rank,
        .shape = p->bound->tensors[tensor].shape,
        .box = arg->box,
        .element = element_of(t->dtype),
        .element_bytes = dtype_bytes(t->dtype),
        .swizzle = arg->swizzle,
    };

    if (t->rank < 1 || t->rank > 5 || arg->box_rank != t->rank)
        return refuse(p->program, VALIDITY_LAUNCH_ERROR, err,
                      "the tensor map of %.*s has %zu box sizes, the tensor has rank %zu (1 to 5)",
                      STR_ARG(t->name), arg->box_rank, t->rank);
    for (size_t i = 0; i < t->rank; i++)
        if (arg->box[i] < 1 || arg->box[i] > 256)
            return refuse(p->program, VALIDITY_LAUNCH_ERROR, err,
                          "the tensor map of %.*s has a box of %" PRId64 "; 1 to 256 are allowed",
                          STR_ARG(t->name), arg->box[i]);
    return gpu_tensor_map(p->program->gpu, &map, out, err);
}

static void put_number(enum dtype dtype, uint8_t *out, double real, int64_t integer)
{
    if (dtype_is_float(dtype))
        elem_from_double(dtype, out, 0, real);
    else
        elem_from_int(dtype, out, 0, integer);
}

/* *bytes of one argument, in `out`. */
static bool pack_one(const struct packing *p, const struct manifest_arg *arg,
                     uint8_t out[GPU_TENSOR_MAP_BYTES], size_t *bytes, struct err *err)
{
    const struct manifest *m = p->program->manifest;
    int64_t value = (int64_t)arg->scalar;
    size_t at = 0;

    switch (arg->kind) {
    case ARG_TENSOR:
        *bytes = sizeof(uint64_t);
        memcpy(out, &p->addresses->tensors[op_tensor_find(p->bound->op, arg->name)], *bytes);
        return true;
    case ARG_WORKSPACE:
        while (!str_equal(m->workspaces[at].name, arg->name))
            at++;
        *bytes = sizeof(uint64_t);
        memcpy(out, &p->addresses->workspaces[at], *bytes);
        return true;
    case ARG_DIM:
        if (!formula_eval(arg->dim, &p->bound->env, &value, err))
            return refuse(p->program, VALIDITY_LAUNCH_ERROR, err, "an argument: %s", err->text);
        *bytes = dtype_bytes(arg->dtype);
        put_number(arg->dtype, out, (double)value, value);
        return true;
    case ARG_SCALAR:
        *bytes = dtype_bytes(arg->dtype);
        put_number(arg->dtype, out, arg->scalar, value);
        return true;
    case ARG_TENSOR_MAP:
        *bytes = GPU_TENSOR_MAP_BYTES;
        return pack_tensor_map(p, arg, op_tensor_find(p->bound->op, arg->name), out, err);
    }
    panic("argument kind %d", (int)arg->kind);
}

static bool pack_all(const struct packing *p, const struct manifest_kernel *kernel,
                     const struct gpu_function *function, uint8_t *block, struct err *err)
{
    for (size_t a = 0; a < kernel->arg_count; a++) {
        uint8_t bytes[GPU_TENSOR_MAP_BYTES];
        size_t count;

        if (!pack_one(p, &kernel->args[a], bytes, &count, err))
            return false;
        if (count != function->param_size[a])
            return refuse(p->program, VALIDITY_LAUNCH_ERROR, err,
                          "kernel %.*s: parameter %zu has %zu bytes, the manifest passes %zu",
                          STR_ARG(kernel->entry), a, function->param_size[a], count);
        memcpy(block + function->param_offset[a], bytes, count);
    }
    return true;
}

/* ---- launching ---- */

static bool fits(struct gpu_program *program, const struct gpu_function *function,
                 const struct geometry *geometry, struct err *err)
{
    const uint32_t threads = geometry->block[0] * geometry->block[1] * geometry->block[2];
    const size_t shared = geometry->smem + function->shared_bytes;

    if (threads > (uint32_t)function->threads_max)
        return refuse(program, VALIDITY_RESOURCES, err,
                      "kernel %s: %u threads a block; with its %d registers at most %d fit",
                      function->entry, threads, function->registers, function->threads_max);
    if (shared > program->limits.smem_bytes_max)
        return refuse(program, VALIDITY_RESOURCES, err,
                      "kernel %s: %zu bytes of shared memory a block; this GPU has %zu",
                      function->entry, shared, program->limits.smem_bytes_max);
    return true;
}

static bool queue_one(const struct packing *p, const struct manifest_kernel *kernel,
                      const struct gpu_function *function, struct err *err)
{
    struct gpu_program *program = p->program;
    uint8_t *block = arena_alloc(p->scratch, function->param_bytes + 64, 1, 64);
    struct gpu_launch launch = {.function = function,
                                .cooperative = kernel->cooperative,
                                .programmatic = kernel->programmatic,
                                .params = block};
    struct geometry geometry;
    enum validity validity;
    const char *why;

    if (!geometry_at(p->scratch, &program->limits, kernel, p->bound, &geometry, &validity, &why))
        return refuse(program, validity, err, "%s", why);
    if (!fits(program, function, &geometry, err) || !pack_all(p, kernel, function, block, err))
        return false;
    memcpy(launch.grid, geometry.grid, sizeof(launch.grid));
    memcpy(launch.block, geometry.block, sizeof(launch.block));
    memcpy(launch.cluster, geometry.cluster, sizeof(launch.cluster));
    launch.smem = geometry.smem;
    return gpu_launch(program->gpu, &launch, err);
}

/* Does a prepare kernel get it?  Then it is zeroed before that, not before each run. */
static bool is_prepared(const struct manifest *m, size_t workspace)
{
    for (size_t k = 0; k < m->prepare_count; k++)
        for (size_t a = 0; a < m->prepare[k].arg_count; a++)
            if (m->prepare[k].args[a].kind == ARG_WORKSPACE &&
                str_equal(m->prepare[k].args[a].name, m->workspaces[workspace].name))
                return true;
    return false;
}

static bool zero_workspaces(const struct packing *p, enum gpu_stage stage, struct err *err)
{
    const struct manifest *m = p->program->manifest;
    size_t *bytes = arena_array(p->scratch, size_t, m->workspace_count + 1);

    if (!gpu_workspaces(p->program, p->bound, bytes, err))
        return false;
    for (size_t w = 0; w < m->workspace_count; w++)
        if (m->workspaces[w].zero && is_prepared(m, w) == (stage == GPU_STAGE_PREPARE) &&
            !gpu_zero(p->program->gpu, p->addresses->workspaces[w], bytes[w], err))
            return false;
    return true;
}

bool gpu_program_queue(struct arena *scratch, struct gpu_program *program,
                       const struct bound_op *bound, const struct gpu_addresses *addresses,
                       enum gpu_stage stage, struct err *err)
{
    const struct packing p = {scratch, program, bound, addresses};
    const struct manifest *m = program->manifest;

    program->validity = VALIDITY_ACCEPTED;
    if (!zero_workspaces(&p, stage, err))
        return false;
    switch (stage) {
    case GPU_STAGE_PREPARE:
        for (size_t k = 0; k < m->prepare_count; k++)
            if (!queue_one(&p, &m->prepare[k], program->functions[m->kernel_count + k], err))
                return false;
        return true;
    case GPU_STAGE_RUN:
        for (size_t k = 0; k < m->kernel_count; k++)
            if (!queue_one(&p, &m->kernels[k], program->functions[k], err))
                return false;
        return true;
    }
    return true;
}
