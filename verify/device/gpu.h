#ifndef VERIFY_DEVICE_GPU_H
#define VERIFY_DEVICE_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

/*
 * One GPU through the CUDA driver, loaded with dlopen.
 *
 * Only for a process that exists for one candidate: a fault in device code makes every later call
 * fail until the process ends, and a process that has the driver must not fork.  Calls that queue
 * work return at once; gpu_wait shows what came of it.
 *
 * After a failure gpu_blame says whose it was; the error's text has the driver's own name for it.
 */
struct gpu;

enum gpu_blame {
    GPU_BLAME_NONE,
    GPU_BLAME_ADDRESS,   /* device code used an address that is not mapped */
    GPU_BLAME_CODE,      /* misaligned, trap, assert, illegal instruction, stack */
    GPU_BLAME_LAUNCH,    /* the driver refused the launch */
    GPU_BLAME_RESOURCES, /* too many registers, too much shared or device memory */
    GPU_BLAME_IMAGE,     /* cubin or PTX that this GPU cannot run */
    GPU_BLAME_HUNG,      /* over its deadline; the process must end now */
    GPU_BLAME_MACHINE,   /* driver or GPU: nothing that a candidate could be blamed for */
};

struct gpu_facts {
    const char *name;
    int cc_major, cc_minor, driver; /* driver 13000 = 13.0 */
    int sm_count;
    size_t memory_bytes, l2_bytes, smem_optin_bytes;
    double bytes_per_s; /* of device memory, from clock and bus width; 0 = the driver says none */
};

/* The GPU and all that is made from it live until gpu_close; `arena` must too. */
bool gpu_open(struct arena *arena, int ordinal, struct gpu **out, struct err *err) MUST_USE;
void gpu_close(struct gpu *gpu);
const struct gpu_facts *gpu_facts(const struct gpu *gpu);
enum gpu_blame gpu_blame(const struct gpu *gpu);

/* Device memory, as plain addresses.  Copies wait for all queued work. */
bool gpu_alloc(struct gpu *gpu, size_t bytes, uint64_t *address, struct err *err) MUST_USE;
bool gpu_upload(struct gpu *gpu, uint64_t to, const void *from, size_t bytes,
                struct err *err) MUST_USE;
bool gpu_download(struct gpu *gpu, void *to, uint64_t from, size_t bytes, struct err *err) MUST_USE;
/* Queued. */
bool gpu_zero(struct gpu *gpu, uint64_t at, size_t bytes, struct err *err) MUST_USE;

/* ---- kernels ---- */

enum { GPU_PARAMS_MAX = 256, GPU_PARAM_BYTES_MAX = 32768, GPU_TENSOR_MAP_BYTES = 128 };

struct gpu_module;
struct gpu_function {
    const char *entry;
    void *handle;
    int registers, threads_max;       /* of a block with these registers */
    size_t shared_bytes, local_bytes; /* static; local a thread */
    size_t param_count, param_bytes;  /* bytes of the packed block */
    size_t param_offset[GPU_PARAMS_MAX], param_size[GPU_PARAMS_MAX];
};

/* `image`: cubin, or PTX which the driver compiles. */
bool gpu_load(struct arena *arena, struct gpu *gpu, struct str image, struct gpu_module **out,
              struct err *err) MUST_USE;
bool gpu_find(struct arena *arena, struct gpu *gpu, const struct gpu_module *module,
              const char *entry, struct gpu_function **out, struct err *err) MUST_USE;

struct gpu_launch {
    const struct gpu_function *function;
    uint32_t grid[3], block[3], cluster[3]; /* cluster 1 1 1 = none */
    size_t smem;                            /* dynamic bytes */
    bool cooperative, programmatic;
    const void *params; /* packed: param_bytes, each at its offset; read before this returns */
};
bool gpu_launch(struct gpu *gpu, const struct gpu_launch *launch, struct err *err) MUST_USE;

/* Rows of a tensor in device memory for the copy engine; dims in the tensor's order. */
struct gpu_tensor_map {
    uint64_t address;
    size_t rank; /* 1 to 5 */
    const int64_t *shape;
    const int64_t *box;
    enum gpu_element {
        GPU_ELEMENT_U8,
        GPU_ELEMENT_U16,
        GPU_ELEMENT_I32,
        GPU_ELEMENT_I64,
        GPU_ELEMENT_F16,
        GPU_ELEMENT_BF16,
        GPU_ELEMENT_F32,
        GPU_ELEMENT_F64
    } element;
    size_t element_bytes;
    int64_t swizzle; /* 0 32 64 128 */
};
bool gpu_tensor_map(struct gpu *gpu, const struct gpu_tensor_map *map,
                    uint8_t out[GPU_TENSOR_MAP_BYTES], struct err *err) MUST_USE;

/* ---- order and time ---- */

/* Queue a time stamp: 0 before, 1 behind what is timed. */
bool gpu_mark(struct gpu *gpu, int which, struct err *err) MUST_USE;
/* Until all queued work is done.  Past the deadline: GPU_BLAME_HUNG. */
bool gpu_wait(struct gpu *gpu, int64_t deadline_ms, struct err *err) MUST_USE;
/* From mark 0 to mark 1, after gpu_wait. */
bool gpu_elapsed(struct gpu *gpu, int64_t *ns, struct err *err) MUST_USE;
/* Cache lines that a kernel made persistent become ordinary again. */
bool gpu_reset_l2(struct gpu *gpu, struct err *err) MUST_USE;

#endif
