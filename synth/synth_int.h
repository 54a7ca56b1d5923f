#ifndef SYNTH_SYNTH_INT_H
#define SYNTH_SYNTH_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/num.h"
#include "base/str.h"

#include "solver/ir/ir.h"
#include "synth/synth.h"

/*
 * What the writers of CUDA share: text with indentation, identifiers, launches (cuda_text.c,
 * launches.c).  The candidates (naive and realised) also share one expression printer
 * (candidate_expr.c); the reference has its own.
 */

enum { CUDA_TEXT_BYTES_MAX = 4 << 20 };

/* ---- text ---- */

const char *text_fmt(struct arena *arena, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The statement as the spec writes it, without line breaks. */
const char *text_stmt(struct arena *arena, const struct op *op, const struct stmt *stmt);

struct cuda {
    struct buf out;
    int depth;
};
void cuda_init(struct cuda *cuda, struct arena *arena);
void cuda_line(struct cuda *cuda, const char *fmt, ...) PRINTF_LIKE(2, 3);
void cuda_open(struct cuda *cuda, const char *fmt, ...) PRINTF_LIKE(2, 3); /* line and " {" */
void cuda_close(struct cuda *cuda);

/* ---- identifiers ---- */

/* C++ identifiers in use: of the file, then of a kernel inside it. */
struct names {
    struct arena *arena;
    const struct names *outer;
    struct map taken;
    const char *const *tensors; /* by tensor of the op */
    const char *const *dims;
};
void names_init(struct names *names, struct arena *arena, const struct op *op);
void names_scope(struct names *names, const struct names *outer);
/* `wanted` made an identifier that nothing visible has, not a word of C++ or CUDA. */
const char *names_take(struct names *names, struct str wanted);

/* ---- launches ---- */

struct launches {
    struct arena *arena;
    struct manifest_kernel *kernels;
    size_t kernel_count;
    struct manifest_workspace *workspaces;
    size_t workspace_count;
};
void launches_init(struct launches *launches, struct arena *arena);
/* The workspace of that name, made at the first call. */
bool launches_workspace(struct launches *launches, struct str name, const struct formula *bytes,
                        bool zero, struct err *err) MUST_USE;
/* A kernel of one-dimensional blocks; its args are added by the calls below. */
bool launches_kernel(struct launches *launches, const char *entry, const struct formula *grid,
                     int64_t threads, struct manifest_kernel **out, struct err *err) MUST_USE;
void launches_arg(struct launches *launches, struct manifest_kernel *kernel,
                  struct manifest_arg arg);
const struct manifest *launches_finish(struct launches *launches, const struct op *op,
                                       const char *arch, const struct formula *guard,
                                       const char *strategy);

const struct formula *formula_tensor_bytes(struct arena *arena, const struct tensor *tensor);
/* max(1, min(ceildiv(work, per_block), blocks_max)) without what cannot matter. */
const struct formula *formula_blocks(struct arena *arena, const struct op *op,
                                     const struct formula *work, int64_t per_block,
                                     int64_t blocks_max);

#endif
