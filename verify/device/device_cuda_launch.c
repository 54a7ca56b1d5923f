/*
 * Modules, functions, launches and tensor maps.
 *
 * The driver reads as many parameters as the kernel has, so their offsets and sizes are asked for
 * when a function is found, and the caller packs exactly that block.
 *
 * Dynamic shared memory and large clusters must be allowed on the function before a launch may use
 * them; that is done at each launch, since geometry depends on the shape.
 */
#include <string.h>

#include "base/panic.h"
#include "base/str.h"

#include "verify/device/gpu_int.h"

enum { CLUSTER_PORTABLE_MAX = 8, SMEM_WITHOUT_ASKING = 48 << 10, ATTRIBUTES_MAX = 3 };

bool gpu_load(struct arena *arena, struct gpu *gpu, struct str image, struct gpu_module **out,
              struct err *err)
{
    struct gpu_module *module = arena_new(arena, struct gpu_module);
    /* The driver reads PTX up to a NUL. */
    const char *bytes = str_copy(arena, image);

    if (!gpu_did(gpu, gpu->cuda.module_load(&module->handle, bytes, 0, NULL, NULL), "load the code",
                 err))
        return false;
    *out = module;
    return true;
}

static bool read_attribute(struct gpu *gpu, const struct gpu_function *function, int which,
                           int *out, struct err *err)
{
    return gpu_did(gpu, gpu->cuda.function_attribute(out, which, function->handle),
                   "function attribute", err);
}

static bool read_params(struct gpu *gpu, struct gpu_function *function, struct err *err)
{
    for (size_t i = 0;; i++) {
        size_t offset, size;
        const int result = gpu->cuda.function_param(function->handle, i, &offset, &size);

        if (result == CU_INVALID_VALUE)
            return true;
        if (!gpu_did(gpu, result, "parameter", err))
            return false;
        if (i == GPU_PARAMS_MAX || offset + size > GPU_PARAM_BYTES_MAX)
            return err_raise(err, ERR_LIMIT, "kernel %s has more than %d parameters",
                             function->entry, GPU_PARAMS_MAX);
        function->param_offset[i] = offset;
        function->param_size[i] = size;
        function->param_count = i + 1;
        function->param_bytes = offset + size;
    }
}

bool gpu_find(struct arena *arena, struct gpu *gpu, const struct gpu_module *module,
              const char *entry, struct gpu_function **out, struct err *err)
{
    struct gpu_function *function = arena_new(arena, struct gpu_function);
    int shared, local;

    function->entry = str_copy(arena, str_from(entry));
    if (!gpu_did(gpu, gpu->cuda.module_function(&function->handle, module->handle, entry), entry,
                 err) ||
        !read_attribute(gpu, function, CU_FUNCTION_THREADS_MAX, &function->threads_max, err) ||
        !read_attribute(gpu, function, CU_FUNCTION_REGISTERS, &function->registers, err) ||
        !read_attribute(gpu, function, CU_FUNCTION_SHARED_BYTES, &shared, err) ||
        !read_attribute(gpu, function, CU_FUNCTION_LOCAL_BYTES, &local, err) ||
        !read_params(gpu, function, err))
        return false;
    function->shared_bytes = (size_t)shared;
    function->local_bytes = (size_t)local;
    *out = function;
    return true;
}

/* ---- launching ---- */

static bool allow(struct gpu *gpu, const struct gpu_launch *launch, struct err *err)
{
    void *handle = launch->function->handle;
    const uint32_t blocks = launch->cluster[0] * launch->cluster[1] * launch->cluster[2];

    if (launch->smem + launch->function->shared_bytes > SMEM_WITHOUT_ASKING &&
        !gpu_did(gpu,
                 gpu->cuda.function_set(handle, CU_FUNCTION_DYNAMIC_SHARED_MAX, (int)launch->smem),
                 "dynamic shared memory", err))
        return false;
    return blocks <= CLUSTER_PORTABLE_MAX ||
           gpu_did(gpu, gpu->cuda.function_set(handle, CU_FUNCTION_BIG_CLUSTERS, 1),
                   "clusters of more than 8 blocks", err);
}

static unsigned attributes_of(const struct gpu_launch *launch,
                              struct cu_launch_attribute out[ATTRIBUTES_MAX])
{
    unsigned count = 0;

    memset(out, 0, ATTRIBUTES_MAX * sizeof(out[0]));
    if (launch->cooperative) {
        out[count].id = CU_ATTRIBUTE_COOPERATIVE;
        out[count++].value.number = 1;
    }
    if (launch->cluster[0] * launch->cluster[1] * launch->cluster[2] > 1) {
        out[count].id = CU_ATTRIBUTE_CLUSTER;
        memcpy(out[count++].value.dims, launch->cluster, sizeof(launch->cluster));
    }
    if (launch->programmatic) {
        out[count].id = CU_ATTRIBUTE_PROGRAMMATIC;
        out[count++].value.number = 1;
    }
    return count;
}

bool gpu_launch(struct gpu *gpu, const struct gpu_launch *launch, struct err *err)
{
    const struct gpu_function *function = launch->function;
    struct cu_launch_attribute attributes[ATTRIBUTES_MAX];
    struct cu_launch_config config = {
        .grid = {launch->grid[0], launch->grid[1], launch->grid[2]},
        .block = {launch->block[0], launch->block[1], launch->block[2]},
        .shared_bytes = (unsigned)launch->smem,
        .stream = gpu->stream,
        .attributes = attributes,
        .attribute_count = attributes_of(launch, attributes),
    };
    void *params[GPU_PARAMS_MAX + 1] = {NULL};

    if (!allow(gpu, launch, err))
        return false;
    for (size_t i = 0; i < function->param_count; i++)
        params[i] = (char *)launch->params + function->param_offset[i];
    return gpu_did(gpu, gpu->cuda.launch(&config, function->handle, params, NULL), function->entry,
                   err);
}

/* ---- tensor maps ---- */

static int element_code(enum gpu_element element)
{
    switch (element) {
    case GPU_ELEMENT_U8:
        return 0;
    case GPU_ELEMENT_U16:
        return 1;
    case GPU_ELEMENT_I32:
        return 3;
    case GPU_ELEMENT_I64:
        return 5;
    case GPU_ELEMENT_F16:
        return 6;
    case GPU_ELEMENT_F32:
        return 7;
    case GPU_ELEMENT_F64:
        return 8;
    case GPU_ELEMENT_BF16:
        return 9;
    }
    panic("element %d", (int)element);
}

static int swizzle_code(int64_t bytes)
{
    return bytes == 32 ? 1 : bytes == 64 ? 2 : bytes == 128 ? 3 : 0;
}

bool gpu_tensor_map(struct gpu *gpu, const struct gpu_tensor_map *map,
                    uint8_t out[GPU_TENSOR_MAP_BYTES], struct err *err)
{
    enum { RANK_MAX = 5, L2_PROMOTION_128 = 2 };
    _Alignas(64) uint8_t encoded[GPU_TENSOR_MAP_BYTES];
    uint64_t dims[RANK_MAX], strides[RANK_MAX];
    uint32_t box[RANK_MAX], steps[RANK_MAX];
    uint64_t stride = map->element_bytes;
    void *address;

    ASSERT(map->rank >= 1 && map->rank <= RANK_MAX);
    for (size_t i = 0; i < map->rank; i++) { /* the driver wants the contiguous dimension first */
        const size_t from = map->rank - 1 - i;

        dims[i] = (uint64_t)map->shape[from];
        box[i] = (uint32_t)map->box[from];
        steps[i] = 1;
        stride *= dims[i];
        strides[i] = stride;
    }
    memcpy(&address, &map->address, sizeof(address));
    if (!gpu_did(gpu,
                 gpu->cuda.tensor_map(encoded, element_code(map->element), (uint32_t)map->rank,
                                      address, dims, strides, box, steps, 0,
                                      swizzle_code(map->swizzle), L2_PROMOTION_128, 0),
                 "tensor map", err))
        return false;
    memcpy(out, encoded, sizeof(encoded));
    return true;
}
