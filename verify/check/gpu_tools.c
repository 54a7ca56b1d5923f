/*
 * Our own kernels on the GPU: poison, data, flushing, checksums, comparison (gpu_tools.cuh).
 *
 * Invariant: the numbers and layouts here are those of gpu_tools.cuh; parameters are packed by the
 * sizes that the driver reports, so a kernel whose parameters changed cannot be called wrongly.
 */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "base/panic.h"

#include "verify/check/on_gpu_int.h"

enum { BLOCK = 256, BLOCKS = 4096, RANGES_MAX = 1024, FLUSH_BYTES_MIN = 256 << 20 };

/* ---- calling ---- */

struct call {
    struct gpu_launch launch;
    _Alignas(16) uint8_t block[512];
    size_t count;
};

static void call_begin(struct call *call, const struct gpu_function *function, uint32_t blocks)
{
    *call = (struct call){.launch = {.function = function,
                                     .grid = {blocks, 1, 1},
                                     .block = {BLOCK, 1, 1},
                                     .cluster = {1, 1, 1}}};
    ASSERT(function->param_bytes <= sizeof(call->block));
}

static void call_bytes(struct call *call, const void *value, size_t bytes)
{
    const struct gpu_function *function = call->launch.function;

    ASSERT(call->count < function->param_count && function->param_size[call->count] == bytes);
    memcpy(call->block + function->param_offset[call->count++], value, bytes);
}

static void call_u64(struct call *call, uint64_t value)
{
    call_bytes(call, &value, sizeof(value));
}

static void call_int(struct call *call, int32_t value)
{
    call_bytes(call, &value, sizeof(value));
}

static bool call_queue(const struct gpu_tools *tools, struct call *call, struct err *err)
{
    ASSERT(call->count == call->launch.function->param_count);
    call->launch.params = call->block;
    return gpu_launch(tools->gpu, &call->launch, err);
}

static uint32_t blocks_for(int64_t items)
{
    const int64_t blocks = num_ceil_div(items, BLOCK);

    return (uint32_t)(blocks < 1 ? 1 : blocks < BLOCKS ? blocks : BLOCKS);
}

/* ---- opening ---- */

size_t gpu_flush_bytes(size_t l2_bytes)
{
    const size_t twice = 2 * l2_bytes;

    return twice > FLUSH_BYTES_MIN ? (twice + 7) / 8 * 8 : FLUSH_BYTES_MIN;
}

bool gpu_tools_open(struct arena *arena, struct gpu *gpu, struct str image, struct gpu_tools *out,
                    struct err *err)
{
    struct gpu_tools tools = {.gpu = gpu, .flush_bytes = gpu_flush_bytes(gpu_facts(gpu)->l2_bytes)};
    struct gpu_module *module;

    if (!gpu_load(arena, gpu, image, &module, err))
        return err_context(err, "the checker's kernels");
#define X(name)                                                                                    \
    if (!gpu_find(arena, gpu, module, "ww_" #name, &tools.name, err))                              \
        return err_context(err, "the checker's kernels");
    GPU_TOOLS(X)
#undef X
    if (!gpu_alloc(gpu, RANGES_MAX * 2 * sizeof(int64_t), &tools.ranges, err) ||
        !gpu_alloc(gpu, RANGES_MAX * sizeof(uint64_t), &tools.sums, err) ||
        !gpu_alloc(gpu, BLOCKS * sizeof(struct gpu_part), &tools.parts, err) ||
        !gpu_alloc(gpu, tools.flush_bytes, &tools.flush, err))
        return false;
    *out = tools;
    return true;
}

/* ---- memory ---- */

bool gpu_poison(const struct gpu_tools *tools, uint64_t at, size_t bytes, uint64_t seed,
                struct err *err)
{
    struct call call;

    ASSERT(at % 8 == 0 && bytes % 8 == 0);
    call_begin(&call, tools->poison, blocks_for((int64_t)bytes / 8));
    call_u64(&call, at);
    call_u64(&call, bytes / 8);
    call_u64(&call, seed);
    return call_queue(tools, &call, err);
}

bool gpu_flush(const struct gpu_tools *tools, uint64_t seed, struct err *err)
{
    const uint64_t words = tools->flush_bytes / 8;
    struct call call;

    if (!gpu_reset_l2(tools->gpu, err))
        return false;
    call_begin(&call, tools->flush_write, BLOCKS);
    call_u64(&call, tools->flush);
    call_u64(&call, words);
    call_u64(&call, seed);
    if (!call_queue(tools, &call, err))
        return false;
    call_begin(&call, tools->flush_read, BLOCKS);
    call_u64(&call, tools->flush);
    call_u64(&call, words);
    call_u64(&call, tools->sums);
    return call_queue(tools, &call, err);
}

bool gpu_scrub(const struct gpu_tools *tools, uint64_t seed, struct err *err)
{
    const struct gpu_facts *facts = gpu_facts(tools->gpu);
    struct call call;

    call_begin(&call, tools->scrub, (uint32_t)(2 * facts->sm_count));
    call.launch.smem = facts->smem_optin_bytes;
    call_int(&call, (int32_t)(facts->smem_optin_bytes / 4));
    call_int(&call, (int32_t)(uint32_t)seed);
    return call_queue(tools, &call, err);
}

bool gpu_checksum(const struct gpu_tools *tools, struct arena *scratch, uint64_t base,
                  const struct keep *keeps, size_t count, uint64_t seed, uint64_t *sums,
                  struct err *err)
{
    int64_t *ranges = arena_array(scratch, int64_t, 2 * count + 1);
    struct call call;

    if (count > RANGES_MAX)
        return err_raise(err, ERR_LIMIT, "more than %d ranges of memory to watch", RANGES_MAX);
    for (size_t i = 0; i < count; i++) {
        ranges[2 * i] = keeps[i].begin;
        ranges[2 * i + 1] = keeps[i].end;
    }
    call_begin(&call, tools->checksum, 1024);
    call.launch.grid[1] = (uint32_t)count;
    call_u64(&call, base);
    call_u64(&call, tools->ranges);
    call_u64(&call, tools->sums);
    call_u64(&call, seed);
    return gpu_upload(tools->gpu, tools->ranges, ranges, 2 * count * sizeof(int64_t), err) &&
           gpu_zero(tools->gpu, tools->sums, count * sizeof(uint64_t), err) &&
           call_queue(tools, &call, err) &&
           gpu_download(tools->gpu, sums, tools->sums, count * sizeof(uint64_t), err);
}

/* ---- data ---- */

/* gpu_tools.cuh: enum element */
int gpu_element_of(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_F64:
        return 0;
    case DTYPE_F32:
        return 1;
    case DTYPE_F16:
        return 2;
    case DTYPE_BF16:
        return 3;
    case DTYPE_I64:
        return 4;
    case DTYPE_I32:
        return 5;
    case DTYPE_I16:
        return 6;
    case DTYPE_I8:
        return 7;
    case DTYPE_U8:
    case DTYPE_BOOL:
        return 8;
    case DTYPE_E4M3:
    case DTYPE_E5M2:
    case DTYPE_COUNT:
        return GPU_ELEMENT_NONE;
    }
    return GPU_ELEMENT_NONE;
}

bool gpu_fills_itself(const struct op *op, size_t tensor, enum data_class class)
{
    const struct tensor *t = &op->tensors[tensor];
    const bool is_float = dtype_is_float(t->dtype);

    if (gpu_element_of(t->dtype) == GPU_ELEMENT_NONE)
        return false;
    if (!is_float && (t->fill.kind == FILL_NORMAL || t->fill.kind == FILL_UNIFORM))
        return false;
    return class == DATA_SPEC || class == DATA_ZERO_MEAN || !is_float || t->fill.kind == FILL_MASK;
}

bool gpu_fill_params_of(const struct gpu_filling *filling, size_t tensor,
                        struct gpu_fill_params *out, struct err *err)
{
    const struct tensor *t = &filling->bound->op->tensors[tensor];
    const struct rng_key key = rng_key_derive(filling->secret, (uint32_t)tensor, filling->call);
    const bool by_class =
        dtype_is_float(t->dtype) && t->fill.kind != FILL_MASK && filling->class != DATA_SPEC;
    const bool positive = t->fill.kind == FILL_UNIFORM && t->fill.a > 0;
    int64_t high = 0;

    *out = (struct gpu_fill_params){
        .type = gpu_element_of(t->dtype),
        .kind = (int32_t)t->fill.kind,
        .digits =
            dtype_is_float(t->dtype) ? (int32_t)fmin(24, -log2(dtype_unit_roundoff(t->dtype))) : 24,
        .domain = !by_class  ? 0
                  : positive ? 1
                             : 2,
        .key = {key.word[0], key.word[1]},
        .a = t->fill.a,
        .b = t->fill.b,
    };
    if (t->fill.kind != FILL_INTS)
        return true;
    if (!formula_eval(t->fill.low, &filling->bound->env, &out->low, err) ||
        !formula_eval(t->fill.high, &filling->bound->env, &high, err))
        return err_context(err, "fill of %.*s", STR_ARG(t->name));
    out->span = high - out->low + 1;
    return true;
}

_Static_assert(FILL_NORMAL == 0 && FILL_UNIFORM == 1 && FILL_INTS == 2 && FILL_ZEROS == 3 &&
                   FILL_ONES == 4 && FILL_MASK == 5,
               "gpu_tools.cuh numbers fills the same way");

bool gpu_fill(const struct gpu_tools *tools, struct arena *scratch,
              const struct gpu_filling *filling, size_t tensor, uint64_t at, struct err *err)
{
    const struct bound_tensor *shape = &filling->bound->tensors[tensor];
    struct gpu_fill_params params;
    struct call call;
    void *host;

    if (gpu_fills_itself(filling->bound->op, tensor, filling->class)) {
        if (!gpu_fill_params_of(filling, tensor, &params, err))
            return false;
        call_begin(&call, tools->fill, blocks_for(shape->count));
        call_u64(&call, at);
        call_u64(&call, (uint64_t)shape->count);
        call_bytes(&call, &params, sizeof(params));
        return call_queue(tools, &call, err);
    }
    host = arena_alloc(scratch, (size_t)shape->bytes + 16, 1, 16);
    return fill_tensor(filling->bound, tensor, filling->class, filling->secret, filling->call, host,
                       err) &&
           gpu_upload(tools->gpu, at, host, (size_t)shape->bytes, err);
}

/* ---- comparison ---- */

static void take(struct comparison *into, const struct gpu_part *part)
{
    into->compared += part->compared;
    into->wrong += part->wrong;
    if (part->worst < 0 || (into->worst_element >= 0 && !(part->ratio > into->ratio)))
        return;
    into->worst_element = part->worst;
    into->got = part->got;
    into->want = part->want;
    into->bound = part->bound;
    into->ratio = part->ratio;
}

bool gpu_compare(const struct gpu_tools *tools, const struct gpu_comparison *what,
                 struct comparison *out, struct err *err)
{
    const uint32_t blocks = blocks_for(what->count) < 1024 ? blocks_for(what->count) : 1024;
    const double largest = dtype_is_float(what->dtype) ? dtype_max(what->dtype) : 0;
    struct gpu_part parts[1024];
    struct call call;

    if (gpu_element_of(what->dtype) == GPU_ELEMENT_NONE)
        return err_raise(err, ERR_UNSUPPORTED, "%s outputs cannot be compared on the GPU",
                         dtype_name(what->dtype));
    call_begin(&call, tools->compare, blocks);
    call_u64(&call, what->got);
    call_int(&call, gpu_element_of(what->dtype));
    call_u64(&call, what->value);
    call_u64(&call, what->bounds);
    call_u64(&call, (uint64_t)what->count);
    call_bytes(&call, &largest, sizeof(largest));
    call_int(&call, what->skip_nonfinite);
    call_u64(&call, tools->parts);
    if (!call_queue(tools, &call, err) ||
        !gpu_download(tools->gpu, parts, tools->parts, blocks * sizeof(parts[0]), err))
        return false;
    *out = (struct comparison){.worst_element = -1};
    for (uint32_t i = 0; i < blocks; i++)
        take(out, &parts[i]);
    return true;
}
