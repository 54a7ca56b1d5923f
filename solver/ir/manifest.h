#ifndef SOLVER_IR_MANIFEST_H
#define SOLVER_IR_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/str.h"
#include "base/vocab.h"

#include "solver/ir/formula.h"

/*
 * Manifest, version 1: how CUDA is launched (DESIGN section 4).  Members: manifest, op (optional),
 * arch, guard, kernels[entry, grid, block, smem, cluster, cooperative, programmatic, args],
 * workspace[name, bytes, init], prepare[kernels as above], strategy, deterministic. init: "none"
 * (random poison), "zero" (a memset inside the timed window).
 *
 * Required: manifest, arch, guard, kernels; of a kernel entry, grid, block, args; of a dim or
 * scalar its dtype.  grid, block, smem, bytes and guard are integers or formulas.  A box of a
 * tensor map is in the order of the tensor's indices, the contiguous one last.
 */
enum {
    MANIFEST_KERNELS_MAX = 256,
    MANIFEST_ARGS_MAX = 128,
    MANIFEST_WORKSPACES_MAX = 256,
    MANIFEST_BYTES_MAX = 1 << 20
};

enum arg_kind { ARG_TENSOR, ARG_DIM, ARG_WORKSPACE, ARG_SCALAR, ARG_TENSOR_MAP };
struct manifest_arg {
    enum arg_kind kind;
    struct str name;           /* tensor, dim or workspace; a dim may be any formula */
    const struct formula *dim; /* ARG_DIM */
    enum dtype dtype;          /* ARG_DIM, ARG_SCALAR */
    double scalar;
    int64_t box[5]; /* ARG_TENSOR_MAP */
    size_t box_rank;
    int64_t swizzle; /* 0, 32, 64, 128 */
};

struct manifest_kernel {
    struct str entry;
    const struct formula *grid[3];
    const struct formula *block[3];
    const struct formula *smem; /* dynamic bytes */
    int64_t cluster[3];         /* 1 = none */
    bool cooperative, programmatic;
    const struct manifest_arg *args;
    size_t arg_count;
};

struct manifest_workspace {
    struct str name;
    const struct formula *bytes;
    bool zero;
};

struct manifest {
    struct str op;   /* may be empty */
    struct str arch; /* "sm_90a" */
    const struct formula *guard;
    const struct manifest_kernel *kernels;
    size_t kernel_count;
    const struct manifest_kernel *prepare;
    size_t prepare_count;
    const struct manifest_workspace *workspaces;
    size_t workspace_count;
    struct str strategy;
    bool deterministic;
};

bool manifest_parse(struct arena *arena, const struct json *json, const struct manifest **out,
                    struct err *err) MUST_USE;
void manifest_print(struct json_writer *w, const struct manifest *manifest);
struct hash manifest_hash(const struct manifest *manifest);

struct op;
/* Names of tensors, dims and workspaces exist in `op`; arg dtypes make sense; every output is
 * passed to a kernel; the prepare stage reads weights only.  Errors read "kernels[0].args[2]: ...".
 */
bool manifest_check(const struct manifest *manifest, const struct op *op, struct err *err) MUST_USE;

#endif
