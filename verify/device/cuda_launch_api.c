/*
 * The entry points of the CUDA driver that running kernels takes, by dlopen; and whose fault each
 * of its errors is.
 *
 * Invariant: a loaded table is complete, so no caller looks for NULL.  A driver that lacks one
 * (older than CUDA 12.4, for cuFuncGetParamInfo) cannot run candidates: without the sizes of a
 * kernel's parameters the driver would read beyond what a wrong manifest passes.
 */
#include <dlfcn.h>
#include <string.h>

#include "verify/device/gpu_int.h"

bool cuda_run_load(struct cuda_run *cuda, struct err *err)
{
    struct cuda_run loaded = {.handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)};
    void *at;

    if (loaded.handle == NULL)
        return err_raise(err, ERR_DEVICE, "no CUDA driver (libcuda.so.1) on this machine");
#define X(name, symbol, params)                                                                    \
    at = dlsym(loaded.handle, symbol);                                                             \
    memcpy(&loaded.name, &at, sizeof(at));                                                         \
    if (at == NULL) {                                                                              \
        dlclose(loaded.handle);                                                                    \
        return err_raise(err, ERR_DEVICE,                                                          \
                         "the CUDA driver has no %s; CUDA 12.4 or later is needed", symbol);       \
    }
    CUDA_RUN_FUNCTIONS(X)
#undef X
    *cuda = loaded;
    return true;
}

enum gpu_blame gpu_blame_of(int result)
{
    switch (result) {
    case CU_OK:
        return GPU_BLAME_NONE;
    case CU_ILLEGAL_ADDRESS:
        return GPU_BLAME_ADDRESS;
    case CU_ASSERT:
    case CU_STACK:
    case CU_ILLEGAL_INSTRUCTION:
    case CU_MISALIGNED:
    case CU_INVALID_SPACE:
    case CU_INVALID_PC:
    case CU_LAUNCH_FAILED:
    case CU_TENSOR_MEMORY_LEAK:
        return GPU_BLAME_CODE;
    case CU_INVALID_VALUE:
    case CU_COOPERATIVE_TOO_LARGE:
    case CU_INVALID_CLUSTER:
    case CU_NOT_SUPPORTED:
        return GPU_BLAME_LAUNCH;
    case CU_OUT_OF_MEMORY:
    case CU_OUT_OF_RESOURCES:
        return GPU_BLAME_RESOURCES;
    case CU_INVALID_IMAGE:
    case CU_NO_BINARY:
    case CU_INVALID_PTX:
    case CU_UNSUPPORTED_PTX:
    case CU_NOT_FOUND:
        return GPU_BLAME_IMAGE;
    }
    return GPU_BLAME_MACHINE;
}

bool gpu_did(struct gpu *gpu, int result, const char *what, struct err *err)
{
    const char *name = NULL;

    if (result == CU_OK)
        return true;
    if (gpu->cuda.error_name(result, &name) != CU_OK || name == NULL)
        name = "an unknown error";
    gpu->blame = gpu_blame_of(result);
    return err_raise(err, ERR_DEVICE, "%s: %s (%d)", what, name, result);
}
