/*
 * The CUDA driver by dlopen: is there one, and which GPUs does it show.
 *
 * Only the few entry points that the probe needs are bound, and the library is closed again.  The
 * driver keeps threads and device files open once initialised, which is why nothing but the probe
 * of `doctor` and a worker process may call this.  Not here: contexts, memory, launches.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "verify/device/device_int.h"

/* Values of CUdevice_attribute that the probe reads (cuda.h). */
enum {
    CU_SM_COUNT = 16,
    CU_L2_BYTES = 38,
    CU_CC_MAJOR = 75,
    CU_CC_MINOR = 76,
    CU_SMEM_OPTIN_BYTES = 97,
};
enum { GPUS_MAX = 64, GPU_NAME_BYTES = 128, WHY_BYTES = 256 };

#define CUDA_FUNCTIONS(X)                                                                          \
    X(cuInit, "cuInit", (unsigned))                                                                \
    X(cuDriverGetVersion, "cuDriverGetVersion", (int *))                                           \
    X(cuDeviceGetCount, "cuDeviceGetCount", (int *))                                               \
    X(cuDeviceGet, "cuDeviceGet", (int *, int))                                                    \
    X(cuDeviceGetName, "cuDeviceGetName", (char *, int, int))                                      \
    X(cuDeviceGetAttribute, "cuDeviceGetAttribute", (int *, int, int))                             \
    X(cuDeviceTotalMem, "cuDeviceTotalMem_v2", (size_t *, int))

struct cuda {
    void *handle;
#define X(name, symbol, params) int(*name) params;
    CUDA_FUNCTIONS(X)
#undef X
};

static bool cuda_load(struct cuda *cuda, const char **why_not)
{
    void *at;
    cuda->handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!cuda->handle) {
        *why_not = "no CUDA driver (libcuda.so.1) on this machine";
        return false;
    }
#define X(name, symbol, params)                                                                    \
    at = dlsym(cuda->handle, symbol);                                                              \
    memcpy(&cuda->name, &at, sizeof(at));                                                          \
    if (!at) {                                                                                     \
        *why_not = "libcuda.so.1 has no " symbol;                                                  \
        return false;                                                                              \
    }
    CUDA_FUNCTIONS(X)
#undef X
    return true;
}

static size_t attribute(const struct cuda *cuda, int device, int which)
{
    int value = 0;
    if (cuda->cuDeviceGetAttribute(&value, which, device) != 0 || value < 0)
        return 0;
    return (size_t)value;
}

static bool read_gpu(struct arena *arena, const struct cuda *cuda, int ordinal,
                     struct gpu_info *out)
{
    int device;
    char *name = arena_array(arena, char, GPU_NAME_BYTES);
    if (cuda->cuDeviceGet(&device, ordinal) != 0 ||
        cuda->cuDeviceGetName(name, GPU_NAME_BYTES - 1, device) != 0)
        return false;
    *out = (struct gpu_info){
        .name = name,
        .cc_major = (int)attribute(cuda, device, CU_CC_MAJOR),
        .cc_minor = (int)attribute(cuda, device, CU_CC_MINOR),
        .sm_count = (int)attribute(cuda, device, CU_SM_COUNT),
        .l2_bytes = attribute(cuda, device, CU_L2_BYTES),
        .smem_optin_bytes = attribute(cuda, device, CU_SMEM_OPTIN_BYTES),
    };
    return cuda->cuDeviceTotalMem(&out->memory_bytes, device) == 0;
}

static const char *read_gpus(struct arena *arena, const struct cuda *cuda, struct driver_info *out)
{
    int count = 0;
    int rc = cuda->cuInit(0);
    if (rc == 0)
        rc = cuda->cuDeviceGetCount(&count);
    if (rc != 0) {
        char why[WHY_BYTES];
        snprintf(why, sizeof(why), "the driver is there but shows no GPU (cuInit: error %d)", rc);
        return str_copy(arena, str_from(why));
    }
    if (count > GPUS_MAX)
        count = GPUS_MAX;
    struct gpu_info *gpus = arena_array(arena, struct gpu_info, (size_t)count);
    for (int i = 0; i < count; i++)
        if (read_gpu(arena, cuda, i, &gpus[out->gpu_count]))
            out->gpu_count++;
    out->gpus = gpus;
    return out->gpu_count ? NULL : "the driver is there but lists no GPU";
}

void device_probe_driver(struct arena *arena, struct driver_info *out)
{
    struct cuda cuda = {0};
    *out = (struct driver_info){0};
    if (cuda_load(&cuda, &out->why_not)) {
        out->found = cuda.cuDriverGetVersion(&out->version) == 0;
        out->why_not = read_gpus(arena, &cuda, out);
    }
    if (cuda.handle)
        dlclose(cuda.handle);
}
