#ifndef VERIFY_DEVICE_GPU_INT_H
#define VERIFY_DEVICE_GPU_INT_H

#include "verify/device/gpu.h"

/* The driver's entry points for running kernels, and what device_cuda*.c share. */

/* As in cuda.h; the layout is the driver's. */
struct cu_launch_attribute {
    int id;
    char pad[4];
    union {
        char bytes[64];
        int number;
        uint32_t dims[3];
    } value;
};
struct cu_launch_config {
    unsigned grid[3], block[3], shared_bytes;
    void *stream;
    struct cu_launch_attribute *attributes;
    unsigned attribute_count;
};
enum { CU_ATTRIBUTE_COOPERATIVE = 2, CU_ATTRIBUTE_CLUSTER = 4, CU_ATTRIBUTE_PROGRAMMATIC = 6 };
enum {
    CU_FUNCTION_THREADS_MAX = 0,
    CU_FUNCTION_SHARED_BYTES = 1,
    CU_FUNCTION_LOCAL_BYTES = 3,
    CU_FUNCTION_REGISTERS = 4,
    CU_FUNCTION_DYNAMIC_SHARED_MAX = 8,
    CU_FUNCTION_BIG_CLUSTERS = 14,
};
enum cu_result {
    CU_OK = 0,
    CU_INVALID_VALUE = 1,
    CU_OUT_OF_MEMORY = 2,
    CU_INVALID_IMAGE = 200,
    CU_NO_BINARY = 209,
    CU_INVALID_PTX = 218,
    CU_UNSUPPORTED_PTX = 222,
    CU_NOT_FOUND = 500,
    CU_NOT_READY = 600,
    CU_ILLEGAL_ADDRESS = 700,
    CU_OUT_OF_RESOURCES = 701,
    CU_ASSERT = 710,
    CU_STACK = 714,
    CU_ILLEGAL_INSTRUCTION = 715,
    CU_MISALIGNED = 716,
    CU_INVALID_SPACE = 717,
    CU_INVALID_PC = 718,
    CU_LAUNCH_FAILED = 719,
    CU_COOPERATIVE_TOO_LARGE = 720,
    CU_TENSOR_MEMORY_LEAK = 721,
    CU_NOT_SUPPORTED = 801,
    CU_INVALID_CLUSTER = 912,
};

/* Name here, symbol in the library, parameters. */
#define CUDA_RUN_FUNCTIONS(X)                                                                      \
    X(init, "cuInit", (unsigned))                                                                  \
    X(driver_version, "cuDriverGetVersion", (int *))                                               \
    X(device_get, "cuDeviceGet", (int *, int))                                                     \
    X(device_name, "cuDeviceGetName", (char *, int, int))                                          \
    X(device_attribute, "cuDeviceGetAttribute", (int *, int, int))                                 \
    X(device_memory, "cuDeviceTotalMem_v2", (size_t *, int))                                       \
    X(context_retain, "cuDevicePrimaryCtxRetain", (void **, int))                                  \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", (int))                                      \
    X(context_set, "cuCtxSetCurrent", (void *))                                                    \
    X(context_reset_l2, "cuCtxResetPersistingL2Cache", (void))                                     \
    X(memory_alloc, "cuMemAlloc_v2", (uint64_t *, size_t))                                         \
    X(copy_to, "cuMemcpyHtoDAsync_v2", (uint64_t, const void *, size_t, void *))                   \
    X(copy_from, "cuMemcpyDtoH_v2", (void *, uint64_t, size_t))                                    \
    X(memset_queued, "cuMemsetD8Async", (uint64_t, unsigned char, size_t, void *))                 \
    X(module_load, "cuModuleLoadDataEx", (void **, const void *, unsigned, int *, void **))        \
    X(module_function, "cuModuleGetFunction", (void **, void *, const char *))                     \
    X(function_attribute, "cuFuncGetAttribute", (int *, int, void *))                              \
    X(function_set, "cuFuncSetAttribute", (void *, int, int))                                      \
    X(function_param, "cuFuncGetParamInfo", (void *, size_t, size_t *, size_t *))                  \
    X(launch, "cuLaunchKernelEx", (const struct cu_launch_config *, void *, void **, void **))     \
    X(tensor_map, "cuTensorMapEncodeTiled",                                                        \
      (void *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *,        \
       const uint32_t *, int, int, int, int))                                                      \
    X(stream_create, "cuStreamCreate", (void **, unsigned))                                        \
    X(stream_query, "cuStreamQuery", (void *))                                                     \
    X(event_create, "cuEventCreate", (void **, unsigned))                                          \
    X(event_record, "cuEventRecord", (void *, void *))                                             \
    X(event_elapsed, "cuEventElapsedTime", (float *, void *, void *))                              \
    X(error_name, "cuGetErrorName", (int, const char **))

struct cuda_run {
    void *handle; /* NULL = not loaded */
#define X(name, symbol, params) int(*name) params;
    CUDA_RUN_FUNCTIONS(X)
#undef X
};
bool cuda_run_load(struct cuda_run *cuda, struct err *err) MUST_USE;

struct gpu {
    struct cuda_run cuda;
    struct gpu_facts facts;
    int device;
    void *context, *stream, *marks[2];
    enum gpu_blame blame;
};
struct gpu_module {
    void *handle;
};

/* True when `result` is CU_OK; else fills *err ("what: CUDA_ERROR_...") and the blame. */
bool gpu_did(struct gpu *gpu, int result, const char *what, struct err *err) MUST_USE;
enum gpu_blame gpu_blame_of(int result);

#endif
