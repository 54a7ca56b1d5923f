#ifndef VERIFY_CHECK_ON_GPU_INT_H
#define VERIFY_CHECK_ON_GPU_INT_H

#include "base/rng.h"

#include "verify/check/check_int.h"
#include "verify/check/on_gpu.h"

/* What the GPU side of verify/check shares.  Sizes in bytes, times in ns. */

/* ---- gpu_place.c: where buffers lie in the pool ---- */

enum { PLACE_ZONE_BYTES = 512, PLACE_GRAIN_BYTES = 512 };

struct place {
    size_t bytes, align; /* align: a power of two */
    size_t offset;       /* out: in the pool */
};
/* Room that some placement of these needs. */
size_t place_bytes_min(const struct place *places, size_t count);
/* Random order and gaps; between any two, and at both ends, at least a zone.  `weakest`: aligned to
 * `align` and no better, else to the grain.  False when the pool is too small. */
bool place_all(struct arena *arena, struct rng *rng, size_t pool_bytes, bool weakest,
               struct place *places, size_t count) MUST_USE;

/* A part of the pool that a launch must leave alone. */
struct keep {
    int64_t begin, end;
    size_t place; /* the buffer, SIZE_MAX: a zone */
};
/* The whole pool without the writable buffers; `out` has room for 2 * count + 1. */
size_t place_keeps(struct arena *arena, size_t pool_bytes, const struct place *places,
                   const bool *writable, size_t count, struct keep *out);

/* ---- gpu_tools.c: our own kernels ---- */

#define GPU_TOOLS(X)                                                                               \
    X(poison)                                                                                      \
    X(checksum)                                                                                    \
    X(flush_write)                                                                                 \
    X(flush_read)                                                                                  \
    X(scrub)                                                                                       \
    X(fill)                                                                                        \
    X(compare)

struct gpu_tools {
    struct gpu *gpu;
#define X(name) struct gpu_function *name;
    GPU_TOOLS(X)
#undef X
    uint64_t ranges, sums, parts; /* device memory */
    uint64_t flush;
    size_t flush_bytes;
};
/* What is written and read to empty the cache: at least twice its size, and 256 MiB as in the
 * recorded baselines. */
size_t gpu_flush_bytes(size_t l2_bytes);
bool gpu_tools_open(struct arena *arena, struct gpu *gpu, struct str image, struct gpu_tools *out,
                    struct err *err) MUST_USE;
/* All queue their work. */
bool gpu_poison(const struct gpu_tools *tools, uint64_t at, size_t bytes, uint64_t seed,
                struct err *err) MUST_USE;
bool gpu_flush(const struct gpu_tools *tools, uint64_t seed, struct err *err) MUST_USE;
bool gpu_scrub(const struct gpu_tools *tools, uint64_t seed, struct err *err) MUST_USE;

/* Layouts and numbers of gpu_tools.cuh: struct part, struct fill, enum element. */
struct gpu_part {
    int64_t compared, wrong, worst;
    double got, want, bound, ratio;
};
struct gpu_fill_params {
    int32_t type, kind, digits, domain;
    uint32_t key[2];
    double a, b;
    int64_t low, span;
};
enum { GPU_ELEMENT_NONE = -1 };
int gpu_element_of(enum dtype dtype);

struct gpu_filling {
    const struct bound_op *bound;
    enum data_class class;
    uint64_t secret;
    uint32_t call;
};
/* A tensor's data in device memory, by kernel where the kernel knows the class, else from the host.
 */
bool gpu_fill(const struct gpu_tools *tools, struct arena *scratch,
              const struct gpu_filling *filling, size_t tensor, uint64_t at,
              struct err *err) MUST_USE;
bool gpu_fill_params_of(const struct gpu_filling *filling, size_t tensor,
                        struct gpu_fill_params *out, struct err *err) MUST_USE;
bool gpu_fills_itself(const struct op *op, size_t tensor, enum data_class class);

/* These wait. */
bool gpu_checksum(const struct gpu_tools *tools, struct arena *scratch, uint64_t base,
                  const struct keep *keeps, size_t count, uint64_t seed, uint64_t *sums,
                  struct err *err) MUST_USE;
struct gpu_comparison {
    uint64_t got, value, bounds; /* addresses */
    enum dtype dtype;
    int64_t count;
    bool skip_nonfinite;
};
bool gpu_compare(const struct gpu_tools *tools, const struct gpu_comparison *what,
                 struct comparison *out, struct err *err) MUST_USE;

/* ---- gpu_program.c: code with its manifest ---- */

struct gpu_program {
    struct gpu *gpu;
    const struct manifest *manifest;
    struct subject limits;           /* arch and shared memory, for geometry_at */
    struct gpu_function **functions; /* kernels, then prepare */
    enum validity validity;          /* of the last failure; ACCEPTED = ask gpu_blame */
};
struct gpu_addresses {
    const uint64_t *tensors, *workspaces;
};
bool gpu_program_load(struct arena *arena, struct gpu *gpu, const struct gpu_code *code,
                      const struct op *op, struct gpu_program *out, struct err *err) MUST_USE;
/* Bytes of each workspace at a shape. */
bool gpu_workspaces(struct gpu_program *program, const struct bound_op *bound, size_t *bytes,
                    struct err *err) MUST_USE;
enum gpu_stage { GPU_STAGE_PREPARE, GPU_STAGE_RUN };
bool gpu_program_queue(struct arena *scratch, struct gpu_program *program,
                       const struct bound_op *bound, const struct gpu_addresses *addresses,
                       enum gpu_stage stage, struct err *err) MUST_USE;
/* What the last failure of a call here means for the candidate. */
enum validity gpu_program_validity(const struct gpu_program *program);

/* ---- gpu_run.c: one execution of the candidate ---- */

struct gpu_bed {
    struct gpu *gpu;
    struct gpu_tools tools;
    struct gpu_program program;
    uint64_t pool;
    size_t pool_bytes;
    int64_t launch_ms;
};
struct gpu_run {
    struct gpu_filling data;
    uint64_t salt; /* poison, addresses */
    bool weakest, alias;
    /* out */
    int64_t time_ns;
    const char *broken_zone, *changed_input;
    uint64_t *outputs; /* addresses by tensor */
};
/* Pool bytes for a shape; false with the program's validity when a workspace has no size. */
bool gpu_pool_bytes(struct gpu_program *program, const struct bound_op *bound, size_t *out,
                    struct err *err) MUST_USE;
bool gpu_execute(struct gpu_bed *bed, struct arena *scratch, struct gpu_run *run,
                 struct err *err) MUST_USE;

/* ---- gpu_twin.c: the emulator's outputs beside the GPU's ---- */

struct twin {
    struct subject subject; /* module NULL: the emulator cannot run the candidate */
    int64_t elements, same; /* compared; with equal bits */
    double worst;           /* largest |GPU - emulator| in units of the bound */
};
void twin_begin(struct arena *arena, const struct gpu_job *job, struct twin *out);
/* Runs the data set on the emulator too.  A fault there, or a difference, decides nothing here. */
bool twin_compare(struct arena *scratch, struct twin *twin, const struct dataset *set,
                  uint64_t salt, void *const *outputs, struct err *err) MUST_USE;

/* ---- gpu_reference.c: the process that knows what is right ---- */

struct reference {
    int pid, fd; /* pid 0 = none */
    uint8_t *shared;
    size_t shared_bytes;
    size_t *offsets; /* of each output tensor in `shared` */
};
struct reference_answer {
    int32_t code;              /* enum err_code: ERR_NONE, or why there is no answer ... */
    char text[ERR_TEXT_BYTES]; /* ... in words */
    int64_t compared, wrong, elements;
    int64_t confirmed; /* reference elements held against the interpreter, at the first request */
    size_t tensor;     /* of the worst element */
    int64_t element;
    double got, want, bound, ratio;
    int64_t wall_ns; /* data, reference kernels, comparison */
};
/* Forks; before this process touches the driver. */
bool reference_start(struct arena *arena, const struct gpu_job *job, struct reference *out,
                     struct err *err) MUST_USE;
/* The outputs, in `shared`, of a launch on this data.  ERR_SEMANTIC: reference and interpreter
 * disagree; other errors: this machine cannot run the reference at this shape. */
bool reference_ask(struct reference *reference, enum data_class class, uint32_t call,
                   struct reference_answer *out, struct err *err) MUST_USE;
void reference_stop(struct reference *reference);

/* ---- gpu_confirm.c: the interpreter's word on the reference ---- */

/* Part of an op along dims that only choose which outputs there are. */
struct slice {
    const struct bound_op *part; /* NULL: no dim can be sliced and the whole is too large */
    int64_t *first;              /* by dim: where the part begins in the whole */
};
bool slice_choose(struct arena *arena, const struct bound_op *whole, int64_t iterations_max,
                  struct rng *rng, struct slice *out, struct err *err) MUST_USE;
/* Dims that may be cut: each tensor that has one is indexed there plainly by one free loop. */
void slice_dims(const struct op *op, bool *may);
/* Element of the whole tensor at element `i` of the part's. */
int64_t slice_element(const struct slice *slice, const struct bound_op *whole, size_t tensor,
                      int64_t i);

#endif
