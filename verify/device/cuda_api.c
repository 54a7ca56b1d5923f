/*
 * The CUDA driver by dlopen: is there one, and which GPUs does it show.
 *
 * Only the few entry points that the probe needs are bound, and all of it happens in a child: once
 * initialised the driver keeps threads, memory and device files, and a process that has it cannot
 * fork users of it.  Not here: contexts, memory, launches.
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
enum {
    GPUS_MAX = 64,
    GPU_NAME_BYTES = 128,
    WHY_BYTES = 256,
    PROBE_ARENA_BYTES = 4 << 20,
    PROBE_MS = 60 * 1000,
};

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

/* What the probing child writes. */
struct gpu_report {
    char name[GPU_NAME_BYTES];
    int cc_major, cc_minor, sm_count;
    size_t memory_bytes, l2_bytes, smem_optin_bytes;
};
struct report {
    int found, version;
    int gpu_count;
    struct gpu_report gpus[GPUS_MAX];
    char why_not[WHY_BYTES];
};

static bool read_gpu(const struct cuda *cuda, int ordinal, struct gpu_report *out)
{
    int device;
    if (cuda->cuDeviceGet(&device, ordinal) != 0 ||
        cuda->cuDeviceGetName(out->name, GPU_NAME_BYTES - 1, device) != 0)
        return false;
    out->cc_major = (int)attribute(cuda, device, CU_CC_MAJOR);
    out->cc_minor = (int)attribute(cuda, device, CU_CC_MINOR);
    out->sm_count = (int)attribute(cuda, device, CU_SM_COUNT);
    out->l2_bytes = attribute(cuda, device, CU_L2_BYTES);
    out->smem_optin_bytes = attribute(cuda, device, CU_SMEM_OPTIN_BYTES);
    return cuda->cuDeviceTotalMem(&out->memory_bytes, device) == 0;
}

static void read_gpus(const struct cuda *cuda, struct report *out)
{
    int count = 0;
    int rc = cuda->cuInit(0);
    if (rc == 0)
        rc = cuda->cuDeviceGetCount(&count);
    if (rc != 0) {
        snprintf(out->why_not, sizeof(out->why_not),
                 "the driver is there but shows no GPU (cuInit: error %d)", rc);
        return;
    }
    for (int i = 0; i < count && i < GPUS_MAX; i++)
        if (read_gpu(cuda, i, &out->gpus[out->gpu_count]))
            out->gpu_count++;
    if (out->gpu_count == 0)
        snprintf(out->why_not, sizeof(out->why_not), "the driver is there but lists no GPU");
}

static int probe_child(void *context UNUSED, int out_fd)
{
    struct report report = {0};
    struct cuda cuda = {0};
    const char *why_not = NULL;
    if (cuda_load(&cuda, &why_not)) {
        report.found = cuda.cuDriverGetVersion(&report.version) == 0;
        read_gpus(&cuda, &report);
    } else {
        snprintf(report.why_not, sizeof(report.why_not), "%s", why_not);
    }
    return proc_write_all(out_fd, &report, sizeof(report)) ? 0 : 1;
}

static bool run_probe(struct arena *scratch, struct report *report, struct err *err)
{
    struct proc_result child;
    struct proc_limits limits = {.wall_ms = PROBE_MS, .output_bytes_max = sizeof(*report)};
    if (!proc_fork(scratch, probe_child, NULL, &limits, &child, err))
        return false;
    if (child.end != PROC_EXITED || child.out.len != sizeof(*report))
        return err_raise(err, ERR_CHILD, "a process that loads the CUDA driver dies or hangs");
    memcpy(report, child.out.at, sizeof(*report));
    return true;
}

static void fill(struct arena *arena, const struct report *report, struct driver_info *out)
{
    struct gpu_info *gpus = arena_array(arena, struct gpu_info, (size_t)report->gpu_count);
    for (int i = 0; i < report->gpu_count; i++) {
        const struct gpu_report *from = &report->gpus[i];
        gpus[i] = (struct gpu_info){
            .name = str_copy(arena, str_from(from->name)),
            .cc_major = from->cc_major,
            .cc_minor = from->cc_minor,
            .sm_count = from->sm_count,
            .memory_bytes = from->memory_bytes,
            .l2_bytes = from->l2_bytes,
            .smem_optin_bytes = from->smem_optin_bytes,
        };
    }
    *out = (struct driver_info){
        .found = report->found,
        .version = report->version,
        .gpus = gpus,
        .gpu_count = (size_t)report->gpu_count,
        .why_not = report->why_not[0] ? str_copy(arena, str_from(report->why_not)) : NULL,
    };
}

void device_probe_driver(struct arena *arena, struct driver_info *out)
{
    struct arena scratch;
    struct err err;
    arena_init(&scratch, PROBE_ARENA_BYTES);
    struct report *report = arena_new(&scratch, struct report);
    if (run_probe(&scratch, report, &err))
        fill(arena, report, out);
    else
        *out = (struct driver_info){.why_not = str_copy(arena, str_from(err.text))};
    arena_release(&scratch);
}
