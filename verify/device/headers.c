/*
 * Which headers a candidate may include.
 *
 * Toolkit headers are listed by name, or by folder where NVRTC accepts each public header of the
 * folder (all were compiled; facts in the tests).  Standard headers are served from memory and hold
 * nothing, since the prelude that precedes every candidate declares what of them makes sense on a
 * device.  Everything else is refused, with advice where one can guess what was wanted.
 *
 * Invariant: an allowed name has only [A-Za-z0-9_.-] between single slashes, so it can neither
 * climb out of the include folders nor name a host file.
 */
#include <string.h>

#include "verify/device/device_int.h"

static const char *const memory_names[] = {
    "stdint.h",   "inttypes.h",  "math.h",           "float.h",  "limits.h",
    "stddef.h",   "stdio.h",     "stdlib.h",         "string.h", "assert.h",
    "time.h",     "stdbool.h",   "sys/types.h",      "cstdint",  "cinttypes",
    "cmath",      "cfloat",      "climits",          "cstddef",  "cstdio",
    "cstdlib",    "cstring",     "cassert",          "ctime",    "algorithm",
    "utility",    "type_traits", "initializer_list", "limits",   "numeric",
    "functional", "new",
};

static const char *const toolkit_names[] = {
    "cuda_fp16.h",
    "cuda_bf16.h",
    "cuda_fp8.h",
    "cuda_fp6.h",
    "cuda_fp4.h",
    "mma.h",
    "cuda_pipeline.h",
    "cuda_pipeline_primitives.h",
    "cuda_pipeline_helpers.h",
    "cuda_awbarrier.h",
    "cuda_awbarrier_primitives.h",
    "cuda_awbarrier_helpers.h",
    "cooperative_groups.h",
    "cuda_runtime.h",
    "cuda_runtime_api.h",
    "device_launch_parameters.h",
    "device_functions.h",
    "device_atomic_functions.h",
    "math_functions.h",
    "math_constants.h",
    "sm_20_intrinsics.h",
    "sm_30_intrinsics.h",
    "sm_32_intrinsics.h",
    "sm_60_atomic_functions.h",
    "host_defines.h",
    "device_types.h",
    "driver_types.h",
    "builtin_types.h",
    "texture_types.h",
    "surface_types.h",
    "library_types.h",
    "vector_types.h",
    "vector_functions.h",
    "cuComplex.h",
    "crt/mma.h",
    "curand_kernel.h",
    "curand_philox4x32_x.h",
    "thrust/functional.h",
    "thrust/pair.h",
    "thrust/tuple.h",
    "cuda/annotated_ptr",
    "cuda/atomic",
    "cuda/barrier",
    "cuda/bit",
    "cuda/cmath",
    "cuda/discard_memory",
    "cuda/functional",
    "cuda/latch",
    "cuda/mdspan",
    "cuda/numeric",
    "cuda/pipeline",
    "cuda/ptx",
    "cuda/semaphore",
    "cuda/type_traits",
    "cuda/version",
    "cuda/warp",
    "cuda/work_stealing",
    "cub/util_type.cuh",
    "cub/util_ptx.cuh",
    "cub/version.cuh",
};

static const struct {
    const char *folder, *suffix;
} toolkit_folders[] = {
    {"cooperative_groups/", ".h"}, {"cuda/std/", ""},       {"cub/block/", ".cuh"},
    {"cub/warp/", ".cuh"},         {"cub/thread/", ".cuh"},
};

static const char *const late_names[] = {"cuda.h"};

static const struct {
    const char *prefix, *advice;
} remedies[] = {
    {"torch/", "give device code only: no torch extension, no binding"},
    {"ATen/", "give device code only: no torch extension, no binding"},
    {"c10/", "give device code only: no torch extension, no binding"},
    {"pybind11/", "give device code only: no torch extension, no binding"},
    {"Python.h", "give device code only: no torch extension, no binding"},
    {"cub/cub.cuh", "include the block or warp header: <cub/block/block_reduce.cuh>"},
    {"cub/device/", "device-wide algorithms are host code: write the kernels, or use cub/block/*"},
    {"thrust/", "thrust algorithms are host code; <thrust/functional.h> is there"},
    {"cute/", "CuTe and CUTLASS are not installed: write the inline PTX or use mma.h"},
    {"cutlass/", "CuTe and CUTLASS are not installed: write the inline PTX or use mma.h"},
    {"cublas", "no library can be called from a kernel: write the computation"},
    {"cudnn", "no library can be called from a kernel: write the computation"},
    {"nvrtc", "the harness compiles: remove this include"},
    {"cuda_profiler_api.h", "host header: remove this include"},
    {"helper_", "a header of the CUDA samples: remove this include"},
    {"iostream", "host header: remove it; printf works on the device"},
    {"vector", "host container: use arrays or shared memory"},
    {"string", "host container: use arrays"},
    {"memory", "host header: remove this include"},
    {"array", "use a plain array, or <cuda/std/array>"},
    {"tuple", "use a struct, or <cuda/std/tuple>"},
    {"complex", "use <cuda/std/complex> or cuComplex.h"},
    {"bit", "use <cuda/std/bit>"},
    {"atomic", "use <cuda/atomic>"},
};

static bool plain_name(struct str name)
{
    bool slash = true; /* as at the start of a part */
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && c != '_' && c != '-' && (slash || (c != '.' && c != '/')))
            return false;
        slash = c == '/';
    }
    return name.len > 0 && !slash;
}

static bool is_listed(struct str name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_equal(name, str_from(names[i])))
            return true;
    return false;
}

static bool in_folder(struct str name, struct str folder, struct str suffix)
{
    if (!str_has_prefix(name, folder) || name.len <= folder.len + suffix.len)
        return false;
    struct str tail = {name.at + name.len - suffix.len, suffix.len};
    struct str rest = {name.at + folder.len, name.len - folder.len};
    return str_equal(tail, suffix) && !memchr(rest.at, '/', rest.len);
}

enum header_kind header_kind(struct str name)
{
    if (!plain_name(name))
        return HEADER_REFUSED;
    if (is_listed(name, memory_names, COUNT_OF(memory_names)))
        return HEADER_MEMORY;
    if (is_listed(name, late_names, COUNT_OF(late_names)))
        return HEADER_LATE;
    if (is_listed(name, toolkit_names, COUNT_OF(toolkit_names)))
        return HEADER_TOOLKIT;
    for (size_t i = 0; i < COUNT_OF(toolkit_folders); i++)
        if (in_folder(name, str_from(toolkit_folders[i].folder),
                      str_from(toolkit_folders[i].suffix)))
            return HEADER_TOOLKIT;
    return HEADER_REFUSED;
}

const char *header_remedy(struct str name)
{
    for (size_t i = 0; i < COUNT_OF(remedies); i++)
        if (str_has_prefix(name, str_from(remedies[i].prefix)))
            return remedies[i].advice;
    return NULL;
}

const char *const *header_memory_names(size_t *count)
{
    *count = COUNT_OF(memory_names);
    return memory_names;
}
