/*
 * What must hold of a manifest: by itself (manifest_check_self), and for a given op.
 *
 * Places are named the way base/json names them ("kernels[0].args[2]: ..."), so a manifest that was
 * read and one that a program built get the same complaint.
 *
 * Not here: values of formulas.  They need a shape; the launcher evaluates them and checks the
 * device's limits.
 */
#include <math.h>
#include <stdio.h>

#include "base/num.h"
#include "base/panic.h"

#include "solver/ir/doc_int.h"
#include "solver/ir/manifest.h"
#include "solver/ir/op.h"

enum {
    NAME_BYTES_MAX = DOC_NAME_BYTES_MAX,
    STRATEGY_BYTES_MAX = 256,
    GRID_X_MAX = INT32_MAX,
    GRID_YZ_MAX = 65535,
    BLOCK_THREADS_MAX = 1024,
    BLOCK_Z_MAX = 64,
    CLUSTER_BLOCKS_MAX = 16, /* 8 portable, 16 where the device allows it */
    BOX_SIDE_MAX = 256,
    BOX_ROW_ALIGN = 16,
    LISTED_NAMES_MAX = 64,
    PATH_BYTES = DOC_PATH_BYTES
};
#define EXACT_INTEGER_MAX 9007199254740992.0 /* 2^53 */

/* ---- without the op ---- */

/* sm_ with two or three digits and perhaps a or f. */
static bool is_arch(struct str arch)
{
    if (!str_has_prefix(arch, STR_LIT("sm_")))
        return false;
    size_t at = 3;
    while (at < arch.len && arch.at[at] >= '0' && arch.at[at] <= '9')
        at++;
    size_t digits = at - 3;
    if (at < arch.len && (arch.at[at] == 'a' || arch.at[at] == 'f'))
        at++;
    return at == arch.len && (digits == 2 || digits == 3);
}

static bool is_constant(const struct formula *formula, int64_t *value)
{
    *value = formula->value;
    return formula->op == FORMULA_INT;
}

static bool check_sizes(const struct formula *const sizes[3], const int64_t max[3],
                        const char *path, const char *member, struct err *err)
{
    int64_t value;
    for (size_t i = 0; i < 3; i++)
        if (is_constant(sizes[i], &value) && (value < 1 || value > max[i])) {
            char place[2 * PATH_BYTES];
            snprintf(place, sizeof(place), "%s.%s[%zu]", path, member, i);
            return doc_refuse(err, place, "%lld is out of range; it must be from 1 to %lld",
                              (long long)value, (long long)max[i]);
        }
    return true;
}

static bool check_geometry(const struct manifest_kernel *kernel, const char *path, struct err *err)
{
    static const int64_t grid_max[] = {GRID_X_MAX, GRID_YZ_MAX, GRID_YZ_MAX};
    static const int64_t block_max[] = {BLOCK_THREADS_MAX, BLOCK_THREADS_MAX, BLOCK_Z_MAX};
    if (!check_sizes(kernel->grid, grid_max, path, "grid", err) ||
        !check_sizes(kernel->block, block_max, path, "block", err))
        return false;

    int64_t value, threads = 1, blocks = 1;
    for (size_t i = 0; i < 3; i++) {
        threads *= is_constant(kernel->block[i], &value) ? value : 1;
        if (kernel->cluster[i] >= 1 && kernel->cluster[i] <= CLUSTER_BLOCKS_MAX)
            blocks *= kernel->cluster[i];
        else
            blocks = CLUSTER_BLOCKS_MAX + 1;
    }
    if (blocks > CLUSTER_BLOCKS_MAX)
        return doc_refuse(err, path, "a cluster has from 1 to %d blocks", CLUSTER_BLOCKS_MAX);
    for (size_t i = 0; i < 3; i++)
        if (is_constant(kernel->grid[i], &value) && value % kernel->cluster[i] != 0)
            return doc_refuse(err, path, "grid[%zu] is %lld, no multiple of cluster[%zu] = %lld", i,
                              (long long)value, i, (long long)kernel->cluster[i]);
    if (threads > BLOCK_THREADS_MAX)
        return doc_refuse(err, path, "a block of %lld threads; the limit is %d", (long long)threads,
                          BLOCK_THREADS_MAX);
    if (is_constant(kernel->smem, &value) && value < 0)
        return doc_refuse(err, path, "smem is %lld bytes; it cannot be negative", (long long)value);
    return true;
}

static void integer_range(enum dtype dtype, int64_t *low, int64_t *high)
{
    int bits = dtype == DTYPE_BOOL ? 1 : (int)dtype_bytes(dtype) * 8;
    bool is_signed = dtype_kind(dtype) == KIND_INT;
    *high = (int64_t)(UINT64_MAX >> (64 - bits + is_signed));
    *low = is_signed ? -*high - 1 : 0;
}

static bool check_scalar(const struct manifest_arg *arg, const char *path, struct err *err)
{
    if (dtype_is_float(arg->dtype)) {
        if (isfinite(arg->scalar) && fabs(arg->scalar) > dtype_max(arg->dtype))
            return doc_refuse(err, path, "%g does not fit %s", arg->scalar, dtype_name(arg->dtype));
        return true;
    }
    if (!(fabs(arg->scalar) <= EXACT_INTEGER_MAX) || trunc(arg->scalar) != arg->scalar)
        return doc_refuse(err, path,
                          "%g is no %s; write an integer, at most 2^53, or a float dtype",
                          arg->scalar, dtype_name(arg->dtype));
    int64_t value = (int64_t)arg->scalar;
    int64_t low, high;
    integer_range(arg->dtype, &low, &high);
    if (value < low || value > high)
        return doc_refuse(err, path, "%lld does not fit %s", (long long)value,
                          dtype_name(arg->dtype));
    return true;
}

static bool check_tensor_map(const struct manifest_arg *arg, const char *path, struct err *err)
{
    if (arg->box_rank < 1 || arg->box_rank > COUNT_OF(arg->box))
        return doc_refuse(err, path, "a box has from 1 to 5 sides");
    for (size_t i = 0; i < arg->box_rank; i++)
        if (arg->box[i] < 1 || arg->box[i] > BOX_SIDE_MAX)
            return doc_refuse(err, path, "box[%zu] is %lld; a side is from 1 to %d", i,
                              (long long)arg->box[i], BOX_SIDE_MAX);
    if (arg->swizzle != 0 && arg->swizzle != 32 && arg->swizzle != 64 && arg->swizzle != 128)
        return doc_refuse(err, path, "swizzle is %lld; it is 0, 32, 64 or 128",
                          (long long)arg->swizzle);
    return true;
}

static const struct manifest_workspace *find_workspace(const struct manifest *manifest,
                                                       struct str name)
{
    for (size_t i = 0; i < manifest->workspace_count; i++)
        if (str_equal(manifest->workspaces[i].name, name))
            return &manifest->workspaces[i];
    return NULL;
}

static bool check_workspace_arg(const struct manifest *manifest, struct str name, const char *path,
                                struct err *err)
{
    struct str names[MANIFEST_WORKSPACES_MAX];
    char list[DOC_NAMES_BYTES];
    if (find_workspace(manifest, name))
        return true;
    for (size_t i = 0; i < manifest->workspace_count; i++)
        names[i] = manifest->workspaces[i].name;
    doc_join_names(names, manifest->workspace_count, list);
    return doc_refuse(err, path, "there is no workspace \"%.*s\"; \"workspace\" declares %s",
                      doc_shown(name), name.at, list[0] ? list : "none");
}

static bool check_arg(const struct manifest *manifest, const struct manifest_arg *arg,
                      const char *path, struct err *err)
{
    switch (arg->kind) {
    case ARG_TENSOR:
        return true;
    case ARG_WORKSPACE:
        return check_workspace_arg(manifest, arg->name, path, err);
    case ARG_DIM:
        if (arg->dtype != DTYPE_I32 && arg->dtype != DTYPE_I64)
            return doc_refuse(err, path, "a dim is passed as i32 or i64, not as %s",
                              dtype_name(arg->dtype));
        return true;
    case ARG_SCALAR:
        return check_scalar(arg, path, err);
    case ARG_TENSOR_MAP:
        return check_tensor_map(arg, path, err);
    }
    panic("argument kind %d", (int)arg->kind);
}

static bool check_kernels(const struct manifest *manifest, const struct manifest_kernel *kernels,
                          size_t count, const char *list, struct err *err)
{
    char path[PATH_BYTES];
    if (count > MANIFEST_KERNELS_MAX)
        return doc_refuse(err, list, "%zu kernels; the limit is %d", count, MANIFEST_KERNELS_MAX);
    for (size_t i = 0; i < count; i++) {
        const struct manifest_kernel *kernel = &kernels[i];
        snprintf(path, sizeof(path), "%s[%zu]", list, i);
        if (!doc_is_identifier(kernel->entry))
            return doc_refuse(err, path, "entry \"%.*s\" is no C identifier",
                              doc_shown(kernel->entry), kernel->entry.at);
        if (!check_geometry(kernel, path, err))
            return false;
        if (kernel->arg_count > MANIFEST_ARGS_MAX)
            return doc_refuse(err, path, "%zu arguments; the limit is %d", kernel->arg_count,
                              MANIFEST_ARGS_MAX);
        for (size_t j = 0; j < kernel->arg_count; j++) {
            snprintf(path, sizeof(path), "%s[%zu].args[%zu]", list, i, j);
            if (!check_arg(manifest, &kernel->args[j], path, err))
                return false;
        }
    }
    return true;
}

/* Letters, digits and _ : . - only: names appear in reports and file names. */
static bool is_workspace_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!word && c != '_' && c != ':' && c != '.' && c != '-')
            return false;
    }
    return name.len > 0 && name.len <= NAME_BYTES_MAX;
}

static bool check_workspaces(const struct manifest *manifest, struct err *err)
{
    int64_t bytes;
    char path[PATH_BYTES];
    if (manifest->workspace_count > MANIFEST_WORKSPACES_MAX)
        return doc_refuse(err, "workspace", "%zu workspaces; the limit is %d",
                          manifest->workspace_count, MANIFEST_WORKSPACES_MAX);
    for (size_t i = 0; i < manifest->workspace_count; i++) {
        const struct manifest_workspace *workspace = &manifest->workspaces[i];
        snprintf(path, sizeof(path), "workspace[%zu]", i);
        if (!is_workspace_name(workspace->name))
            return doc_refuse(err, path, "a name has 1 to %d letters, digits, or any of _ : . -",
                              NAME_BYTES_MAX);
        if (find_workspace(manifest, workspace->name) != workspace)
            return doc_refuse(err, path, "the name \"%.*s\" is taken", STR_ARG(workspace->name));
        if (is_constant(workspace->bytes, &bytes) && bytes < 1)
            return doc_refuse(err, path, "%lld bytes; it must be at least 1", (long long)bytes);
    }
    return true;
}

bool manifest_check_self(const struct manifest *manifest, struct err *err)
{
    if (!is_arch(manifest->arch))
        return doc_refuse(err, "arch",
                          "\"%.*s\" is no architecture; write sm_90a, sm_90, sm_80 ...",
                          doc_shown(manifest->arch), manifest->arch.at);
    if (manifest->kernel_count < 1)
        return doc_refuse(err, "kernels", "there must be at least one");
    if (manifest->strategy.len > STRATEGY_BYTES_MAX)
        return doc_refuse(err, "strategy", "%zu bytes; the limit is %d", manifest->strategy.len,
                          STRATEGY_BYTES_MAX);
    return check_workspaces(manifest, err) &&
           check_kernels(manifest, manifest->kernels, manifest->kernel_count, "kernels", err) &&
           check_kernels(manifest, manifest->prepare, manifest->prepare_count, "prepare", err);
}

/* ---- with the op ---- */

struct checker {
    const struct manifest *manifest;
    const struct op *op;
    struct str dims[OP_DIMS_MAX];
    struct err *err;
};

static bool check_formula(const struct checker *c, const struct formula *formula, const char *path)
{
    char list[DOC_NAMES_BYTES];
    struct str unknown = formula_unknown_name(formula, c->dims, c->op->dim_count);
    if (unknown.len == 0)
        return true;
    doc_join_names(c->dims, c->op->dim_count, list);
    return doc_refuse(c->err, path, "there is no dim \"%.*s\"; the spec has %s", doc_shown(unknown),
                      unknown.at, list[0] ? list : "none");
}

static bool check_formulas(const struct checker *c, const struct formula *const formulas[3],
                           const char *path, const char *member)
{
    for (size_t i = 0; i < 3; i++) {
        char place[2 * PATH_BYTES];
        snprintf(place, sizeof(place), "%s.%s[%zu]", path, member, i);
        if (!check_formula(c, formulas[i], place))
            return false;
    }
    return true;
}

/* Declared tensors only: temporaries exist in the spec's text, not in memory. */
static bool find_tensor(const struct checker *c, struct str name, const char *path,
                        const struct tensor **out)
{
    char list[DOC_NAMES_BYTES];
    struct str names[LISTED_NAMES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < c->op->declared_count; i++) {
        const struct tensor *tensor = &c->op->tensors[i];
        if (str_equal(tensor->name, name)) {
            *out = tensor;
            return true;
        }
        if (count < LISTED_NAMES_MAX)
            names[count++] = tensor->name;
    }
    doc_join_names(names, count, list);
    return doc_refuse(c->err, path, "there is no tensor \"%.*s\"; the spec declares %s",
                      doc_shown(name), name.at, list);
}

static bool check_map_fits(const struct checker *c, const struct manifest_arg *arg,
                           const struct tensor *tensor, const char *path)
{
    int64_t row_bytes = arg->box[arg->box_rank - 1] * (int64_t)dtype_bytes(tensor->dtype);
    if (tensor->rank != arg->box_rank)
        return doc_refuse(c->err, path, "the box has %zu sides, but \"%.*s\" has %zu indices",
                          arg->box_rank, doc_shown(tensor->name), tensor->name.at, tensor->rank);
    if (row_bytes % BOX_ROW_ALIGN != 0)
        return doc_refuse(c->err, path, "the box's last side is %lld bytes, no multiple of %d",
                          (long long)row_bytes, BOX_ROW_ALIGN);
    if (arg->swizzle > 0 && row_bytes > arg->swizzle)
        return doc_refuse(c->err, path,
                          "the box's last side is %lld bytes, over the swizzle of %lld",
                          (long long)row_bytes, (long long)arg->swizzle);
    return true;
}

static bool check_op_arg(const struct checker *c, const struct manifest_arg *arg, const char *path)
{
    const struct tensor *tensor;
    switch (arg->kind) {
    case ARG_TENSOR:
        return find_tensor(c, arg->name, path, &tensor);
    case ARG_DIM:
        return check_formula(c, arg->dim, path);
    case ARG_TENSOR_MAP:
        return find_tensor(c, arg->name, path, &tensor) && check_map_fits(c, arg, tensor, path);
    case ARG_WORKSPACE:
    case ARG_SCALAR:
        return true;
    }
    panic("argument kind %d", (int)arg->kind);
}

static bool check_op_kernels(const struct checker *c, const struct manifest_kernel *kernels,
                             size_t count, const char *list)
{
    char path[PATH_BYTES];
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%s[%zu]", list, i);
        if (!check_formulas(c, kernels[i].grid, path, "grid") ||
            !check_formulas(c, kernels[i].block, path, "block"))
            return false;
        snprintf(path, sizeof(path), "%s[%zu].smem", list, i);
        if (!check_formula(c, kernels[i].smem, path))
            return false;
        for (size_t j = 0; j < kernels[i].arg_count; j++) {
            snprintf(path, sizeof(path), "%s[%zu].args[%zu]", list, i, j);
            if (!check_op_arg(c, &kernels[i].args[j], path))
                return false;
        }
    }
    return true;
}

/* The prepare stage packs weights ahead of time, so it may depend on nothing else, and what it
 * leaves behind must not be zeroed before the launch. */
static bool check_prepare_arg(const struct checker *c, const struct manifest_arg *arg,
                              const char *path)
{
    const struct tensor *tensor;
    if (arg->kind == ARG_WORKSPACE && find_workspace(c->manifest, arg->name)->zero)
        return doc_refuse(c->err, path,
                          "\"%.*s\" is prepared ahead of the launch; its init must be \"none\"",
                          doc_shown(arg->name), arg->name.at);
    if (arg->kind != ARG_TENSOR && arg->kind != ARG_TENSOR_MAP)
        return true;
    if (!find_tensor(c, arg->name, path, &tensor))
        return false;
    if (tensor->role != ROLE_WEIGHT)
        return doc_refuse(c->err, path, "the role of \"%.*s\" is %s; prepare may read weights only",
                          doc_shown(arg->name), arg->name.at, role_name(tensor->role));
    return true;
}

static bool check_prepare(const struct checker *c)
{
    const struct manifest *m = c->manifest;
    char path[PATH_BYTES];
    for (size_t i = 0; i < m->prepare_count; i++)
        for (size_t j = 0; j < m->prepare[i].arg_count; j++) {
            snprintf(path, sizeof(path), "prepare[%zu].args[%zu]", i, j);
            if (!check_prepare_arg(c, &m->prepare[i].args[j], path))
                return false;
        }
    return true;
}

static bool is_passed(const struct manifest *m, struct str name)
{
    for (size_t i = 0; i < m->kernel_count; i++)
        for (size_t j = 0; j < m->kernels[i].arg_count; j++) {
            const struct manifest_arg *arg = &m->kernels[i].args[j];
            bool is_tensor = arg->kind == ARG_TENSOR || arg->kind == ARG_TENSOR_MAP;
            if (is_tensor && str_equal(arg->name, name))
                return true;
        }
    return false;
}

static bool check_outputs(const struct checker *c)
{
    for (size_t i = 0; i < c->op->declared_count; i++) {
        const struct tensor *tensor = &c->op->tensors[i];
        if (tensor->role == ROLE_OUTPUT && !is_passed(c->manifest, tensor->name))
            return doc_refuse(
                c->err, "kernels",
                "no kernel gets the output \"%.*s\"; add {\"tensor\": \"%.*s\"} to args",
                doc_shown(tensor->name), tensor->name.at, doc_shown(tensor->name), tensor->name.at);
    }
    return true;
}

bool manifest_check(const struct manifest *m, const struct op *op, struct err *err)
{
    struct checker c = {.manifest = m, .op = op, .err = err};
    ASSERT(op->dim_count <= OP_DIMS_MAX);
    for (size_t i = 0; i < op->dim_count; i++)
        c.dims[i] = op->dims[i].name;

    if (!manifest_check_self(m, err))
        return false;
    if (m->op.len > 0 && !str_equal(m->op, op->name))
        return doc_refuse(err, "op", "the manifest is for \"%.*s\", the spec is \"%.*s\"",
                          doc_shown(m->op), m->op.at, doc_shown(op->name), op->name.at);
    for (size_t i = 0; i < m->workspace_count; i++) {
        char path[PATH_BYTES];
        snprintf(path, sizeof(path), "workspace[%zu].bytes", i);
        if (!check_formula(&c, m->workspaces[i].bytes, path))
            return false;
    }
    return check_formula(&c, m->guard, "guard") &&
           check_op_kernels(&c, m->kernels, m->kernel_count, "kernels") &&
           check_op_kernels(&c, m->prepare, m->prepare_count, "prepare") && check_prepare(&c) &&
           check_outputs(&c);
}
