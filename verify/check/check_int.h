#ifndef VERIFY_CHECK_CHECK_INT_H
#define VERIFY_CHECK_CHECK_INT_H

#include "verify/check/check.h"

/* What the files of verify/check share.  Everything below runs in the worker process. */

/* The candidate as the worker sees it. */
struct subject {
    const struct op *op;
    const struct manifest *manifest;
    const struct check_options *options;
    const struct track *track;
    const char *arch;
    size_t smem_bytes_max;
    struct str ptx, cubin, log;
    const struct ptx_module *module;
};

/* ---- limits.c: what an architecture allows ---- */

enum { ARCH_REGISTERS_MAX = 65536 }; /* of a block */
enum { ARCH_THREADS_MAX = 1024 };    /* of a block */
enum { ARCH_GRID_YZ_MAX = 65535 };

/* ---- literals.c ---- */

/* Values that the candidate's code holds: what a fingerprint of its data would be compared with. */
enum { LITERALS_MAX = 48, LIMITS_MAX = 16 };
struct literals {
    float values[LITERALS_MAX];
    size_t count;
    int64_t limits[LIMITS_MAX]; /* integers that others are compared with */
    size_t limit_count;
};
void literals_of(struct str ptx, struct literals *out);

/* ---- shapes.c ---- */

struct shape_hints {
    const struct plan *plan;         /* NULL = none */
    const struct manifest *manifest; /* NULL = none: its launch geometry prices a shape */
    const struct formula *guard;     /* NULL = true */
};
/* At most CHECK_SHAPES_MAX, the cheapest first; *count 0 when the guard leaves none that is cheap
 * enough. */
enum { CHECK_SHAPES_MAX = 20 };
bool shapes_derive(struct arena *arena, const struct op *op, const struct shape_hints *hints,
                   const struct shape **out, size_t *count, struct err *err) MUST_USE;
/* A few more, dearer ones, just beyond the limits that no shape so far goes beyond. */
enum { LIMIT_SHAPES_MAX = 4 };
void shapes_beyond(struct arena *arena, const struct op *op, const struct shape_hints *hints,
                   const struct literals *literals, const struct shape *known, size_t known_count,
                   const struct shape **out, size_t *count);
bool guard_admits(const struct formula *guard, const struct bound_op *bound);

/* ---- price.c ---- */

/* Estimated warp instructions of an emulation at `bound`; INT64_MAX when it cannot be launched. */
int64_t shape_price(const struct bound_op *bound, const struct manifest *manifest);
bool formula_mentions(const struct formula *formula, struct str name);
/* The largest constant that launch formulas divide the dim by; 1 = none. */
int64_t tile_of(const struct manifest *manifest, struct str dim);

/* ---- reference.c: data and what it should give ---- */

struct dataset {
    const struct bound_op *bound;
    const struct track *track;
    enum data_class class;
    uint64_t secret;
    uint32_t call;
    void **data;         /* by tensor: inputs, weights, states; NULL for others */
    struct values *want; /* by tensor: INTERP_BOUND */
    bool **undecided;    /* by tensor, float outputs: the reference decides nothing here */
    int64_t decided;     /* elements of all outputs that it decides */
    int64_t elements;    /* elements of all outputs */
};
/* The same inputs with some values put in the first places of each float tensor. */
bool dataset_with(struct arena *arena, const struct dataset *like, const float *values,
                  size_t count, struct dataset *out, struct err *err) MUST_USE;
/* Inputs only: no reference. */
bool dataset_fill(struct arena *arena, struct dataset *set, struct err *err) MUST_USE;
bool dataset_make(struct arena *arena, const struct bound_op *bound, const struct track *track,
                  enum data_class class, uint64_t secret, uint32_t call, struct dataset *out,
                  struct err *err) MUST_USE;
/* Does the class mean anything for this op (special values only where they may arrive)? */
bool class_applies(const struct op *op, enum data_class class);
bool tensor_is_fed(const struct op *op, size_t tensor); /* input, weight or state */
bool tensor_is_output(const struct op *op, size_t tensor);

/* ---- compare.c ---- */

/* What one float output should hold. */
struct expectation {
    enum dtype dtype;
    int64_t count;
    const double *want, *bound;
    const bool *undecided; /* NULL = all are decided */
};
struct comparison {
    int64_t compared, wrong;
    int64_t worst_element; /* -1 = none compared */
    double got, want, bound, ratio;
};
/* Right is |got - want| <= bound, and for a non-finite want the same NaN or infinity. */
void compare_floats(const struct expectation *expected, const void *got, struct comparison *out);
/* All outputs of a dataset; `outputs` by tensor.  True when none is wrong; `worst` of all. */
bool compare_outputs(struct arena *arena, const struct dataset *dataset, void *const *outputs,
                     int64_t *wrong, struct worst_element *worst);

/* ---- emu_run.c: all kernels of a manifest, once ---- */

enum block_order { ORDER_BLOCKS_FORWARD, ORDER_BLOCKS_REVERSED, ORDER_BLOCKS_INTERLEAVED };
struct run_options {
    enum block_order order;
    bool alias;      /* outputs that may share an input's storage do */
    uint64_t salt;   /* poison, addresses, red zones */
    bool weakest;    /* addresses aligned to what the spec promises and no better */
    uint64_t budget; /* warp instructions a launch */
    size_t skip;     /* kernel that is left out, SIZE_MAX = none */
    uint64_t
        blocks_max; /* run at most that many blocks, spread out, of the first kernel; 0 = all */
};
struct run {
    struct ptx_fault fault;
    bool launch_refused; /* the geometry or an argument is impossible; `reason` says so */
    enum validity refusal;
    const char *reason;
    size_t kernel;                        /* where it ended; index into the manifest's kernels */
    bool communicates;                    /* blocks of a launch may have seen each other's work */
    const char *broken_zone;              /* buffer whose red zone changed; NULL = none */
    const char *changed_input;            /* NULL = none */
    void **outputs;                       /* by tensor */
    struct ptx_counts *counts;            /* by kernel of the manifest */
    uint64_t *bytes_read, *bytes_written; /* by tensor */
};
bool emu_run(struct arena *arena, const struct subject *subject, const struct dataset *dataset,
             const struct run_options *options, struct run *out, struct err *err) MUST_USE;
enum validity fault_validity(enum ptx_fault_kind kind);

/* ---- geometry.c: what a manifest asks for at a shape ---- */

struct geometry {
    uint32_t grid[3], block[3], cluster[3];
    size_t smem;
};
/* false: *why says what is wrong and *validity what that means; not an error of the machine. */
bool geometry_at(struct arena *arena, const struct subject *subject,
                 const struct manifest_kernel *kernel, const struct bound_op *bound,
                 struct geometry *out, enum validity *validity, const char **why);

/* ---- conform.c ---- */

/* Facts into `observed`; false with validity and reason in *verdict when a rule is broken. */
bool observe(struct arena *arena, struct subject *subject, struct observed_builder *observed,
             struct verdict *verdict) MUST_USE;

/* ---- admit.c ---- */

#define PROBES(X)                                                                                  \
    X(ZEROS, "zeros")                                                                              \
    X(MEAN, "a constant")                                                                          \
    X(COPY, "a copy of an input")                                                                  \
    X(OTHER_SEED, "another seed's output")                                                         \
    X(PERMUTED, "a permuted output")

enum probe {
#define X(id, text) PROBE_##id,
    PROBES(X)
#undef X
        PROBE_COUNT
};
/* Over datasets: a probe is refused once some dataset refuses it. */
struct admission {
    int64_t dim_floor[OP_DIMS_MAX]; /* smaller shapes are too plain to judge by: a row of one */
    bool tried[PROBE_COUNT], refused[PROBE_COUNT];
};
void admission_begin(struct admission *admission, const struct op *op, const struct shape *shapes,
                     size_t count);
bool admission_add(struct arena *arena, const struct dataset *dataset, struct admission *admission,
                   struct err *err) MUST_USE;
bool admission_settled(const struct admission *admission); /* all are refused */
struct str admission_flags(struct arena *arena, const struct admission *admission);

/* ---- examine.c: the gates observe, emulate, compare, inside the worker ---- */

bool examine(struct arena *arena, struct subject *subject, struct verdict *verdict,
             struct err *err) MUST_USE;

/* ---- worker.c ---- */

/* The same in a forked child with limits; a child that dies is a verdict too. */
bool examine_in_worker(struct arena *arena, struct subject *subject, struct verdict *verdict,
                       struct err *err) MUST_USE;

#endif
