/*
 * A GPU in use: context, memory, time stamps, waiting with a deadline.
 *
 * The primary context and one stream; everything is queued there, so the order of calls is the
 * order of execution.  Waiting polls, because a synchronising call would wait for a kernel that
 * never ends; past the deadline the process can only end.
 *
 * Memory is not given back piece by piece: the process ends with its candidate, and the driver then
 * takes all.  Not here: kernels (device_cuda_launch.c).
 */
#include <string.h>
#include <time.h>

#include "base/clock.h"

#include "verify/device/gpu_int.h"

enum {
    CU_SM_COUNT = 16,
    CU_MEMORY_CLOCK_KHZ = 36,
    CU_BUS_BITS = 37,
    CU_L2_BYTES = 38,
    CU_CC_MAJOR = 75,
    CU_CC_MINOR = 76,
    CU_SMEM_OPTIN_BYTES = 97,
    STREAM_NON_BLOCKING = 1,
    NAME_BYTES = 128,
    SPIN_NS = 2000000, /* poll without sleeping this long: most work is done by then */
    NAP_NS = 50000,
};

static size_t attribute(const struct gpu *gpu, int which)
{
    int value = 0;

    if (gpu->cuda.device_attribute(&value, which, gpu->device) != CU_OK || value < 0)
        return 0;
    return (size_t)value;
}

static bool read_facts(struct arena *arena, struct gpu *gpu, struct err *err)
{
    struct gpu_facts *facts = &gpu->facts;
    char *name = arena_array(arena, char, NAME_BYTES);

    if (!gpu_did(gpu, gpu->cuda.device_name(name, NAME_BYTES - 1, gpu->device), "GPU name", err) ||
        !gpu_did(gpu, gpu->cuda.device_memory(&facts->memory_bytes, gpu->device), "GPU memory",
                 err) ||
        !gpu_did(gpu, gpu->cuda.driver_version(&facts->driver), "driver version", err))
        return false;
    facts->name = name;
    facts->cc_major = (int)attribute(gpu, CU_CC_MAJOR);
    facts->cc_minor = (int)attribute(gpu, CU_CC_MINOR);
    facts->sm_count = (int)attribute(gpu, CU_SM_COUNT);
    facts->l2_bytes = attribute(gpu, CU_L2_BYTES);
    facts->smem_optin_bytes = attribute(gpu, CU_SMEM_OPTIN_BYTES);
    /* Two transfers a clock, on every line of the bus. */
    facts->bytes_per_s =
        2e3 * (double)attribute(gpu, CU_MEMORY_CLOCK_KHZ) * (double)attribute(gpu, CU_BUS_BITS) / 8;
    return true;
}

bool gpu_open(struct arena *arena, int ordinal, struct gpu **out, struct err *err)
{
    struct gpu *gpu = arena_new(arena, struct gpu);
    struct cuda_run *cuda = &gpu->cuda;

    if (!cuda_run_load(cuda, err))
        return false;
    if (!gpu_did(gpu, cuda->init(0), "cuInit", err) ||
        !gpu_did(gpu, cuda->device_get(&gpu->device, ordinal), "GPU", err) ||
        !read_facts(arena, gpu, err) ||
        !gpu_did(gpu, cuda->context_retain(&gpu->context, gpu->device), "context", err))
        return false;
    if (!gpu_did(gpu, cuda->context_set(gpu->context), "context", err) ||
        !gpu_did(gpu, cuda->stream_create(&gpu->stream, STREAM_NON_BLOCKING), "stream", err) ||
        !gpu_did(gpu, cuda->event_create(&gpu->marks[0], 0), "event", err) ||
        !gpu_did(gpu, cuda->event_create(&gpu->marks[1], 0), "event", err)) {
        gpu_close(gpu);
        return false;
    }
    *out = gpu;
    return true;
}

void gpu_close(struct gpu *gpu)
{
    /* Behind a kernel that never ends, releasing would wait for ever; the process ends instead. */
    if (gpu->context != NULL && gpu->blame != GPU_BLAME_HUNG)
        (void)gpu->cuda.context_release(gpu->device);
    gpu->context = NULL;
}

const struct gpu_facts *gpu_facts(const struct gpu *gpu)
{
    return &gpu->facts;
}

enum gpu_blame gpu_blame(const struct gpu *gpu)
{
    return gpu->blame;
}

/* ---- memory ---- */

bool gpu_alloc(struct gpu *gpu, size_t bytes, uint64_t *address, struct err *err)
{
    return gpu_did(gpu, gpu->cuda.memory_alloc(address, bytes > 0 ? bytes : 1), "device memory",
                   err);
}

enum { COPY_DEADLINE_MS = 600 * 1000 };

/* In the stream: a copy outside of it may return when the last bytes have left `from` but not yet
 * arrived, and a kernel behind it would not see them (CUDA driver API, "API synchronization
 * behavior").  Seen on an H200 with a dozen processes: the last 2 MiB were stale. */
bool gpu_upload(struct gpu *gpu, uint64_t to, const void *from, size_t bytes, struct err *err)
{
    return bytes == 0 ||
           (gpu_did(gpu, gpu->cuda.copy_to(to, from, bytes, gpu->stream), "copy to GPU", err) &&
            gpu_wait(gpu, COPY_DEADLINE_MS, err));
}

bool gpu_download(struct gpu *gpu, void *to, uint64_t from, size_t bytes, struct err *err)
{
    return gpu_wait(gpu, COPY_DEADLINE_MS, err) &&
           (bytes == 0 || gpu_did(gpu, gpu->cuda.copy_from(to, from, bytes), "copy from GPU", err));
}

bool gpu_zero(struct gpu *gpu, uint64_t at, size_t bytes, struct err *err)
{
    return bytes == 0 ||
           gpu_did(gpu, gpu->cuda.memset_queued(at, 0, bytes, gpu->stream), "memset", err);
}

/* ---- order and time ---- */

bool gpu_mark(struct gpu *gpu, int which, struct err *err)
{
    return gpu_did(gpu, gpu->cuda.event_record(gpu->marks[which], gpu->stream), "event", err);
}

bool gpu_wait(struct gpu *gpu, int64_t deadline_ms, struct err *err)
{
    const int64_t start = clock_mono_ns();

    for (;;) {
        const int result = gpu->cuda.stream_query(gpu->stream);
        const int64_t waited = clock_mono_ns() - start;

        if (result != CU_NOT_READY)
            return gpu_did(gpu, result, "the kernel", err);
        if (waited > deadline_ms * 1000000) {
            gpu->blame = GPU_BLAME_HUNG;
            return err_raise(err, ERR_DEVICE, "the kernel ran longer than %lld ms",
                             (long long)deadline_ms);
        }
        if (waited > SPIN_NS)
            nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
}

bool gpu_elapsed(struct gpu *gpu, int64_t *ns, struct err *err)
{
    float ms;

    if (!gpu_did(gpu, gpu->cuda.event_elapsed(&ms, gpu->marks[0], gpu->marks[1]), "time", err))
        return false;
    *ns = (int64_t)((double)ms * 1e6 + 0.5);
    return true;
}

bool gpu_reset_l2(struct gpu *gpu, struct err *err)
{
    const int result = gpu->cuda.context_reset_l2();

    return result == CU_NOT_SUPPORTED || gpu_did(gpu, result, "L2 reset", err);
}
