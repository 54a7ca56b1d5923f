/*
 * Manifest: how CUDA is launched, from and to JSON.
 *
 * Method: reading looks at shapes and kinds of JSON members only; what their values must be is in
 * manifest_check.c, which serves manifests that a program built as well.
 *
 * Invariant: printing writes every member but an empty "op"; so parse(print(m)) = m and equal
 * manifests have equal bytes.
 */
#include "solver/ir/manifest.h"

#include "base/panic.h"

#include "solver/ir/doc_int.h"

enum { CLUSTER_BLOCKS_MAX = 16 };

static const char *const arg_keys[] = {
    [ARG_TENSOR] = "tensor",         [ARG_DIM] = "dim",
    [ARG_WORKSPACE] = "workspace",   [ARG_SCALAR] = "scalar",
    [ARG_TENSOR_MAP] = "tensor_map",
};

/* ---- reading ---- */

static bool read_dtype(const struct json *object, enum dtype *out, struct err *err)
{
    static const char *const words[] = {
#define DTYPE(id, name, bytes, kind) name,
#include "base/vocab.def"
    };
    size_t word;
    if (!json_need_word(object, "dtype", words, COUNT_OF(words), &word, err))
        return false;
    *out = (enum dtype)word;
    return true;
}

static bool read_arg_kind(const struct json *json, enum arg_kind *out, struct err *err)
{
    size_t found = 0;
    for (size_t i = 0; i < COUNT_OF(arg_keys); i++)
        if (json_get(json, arg_keys[i])) {
            *out = (enum arg_kind)i;
            found++;
        }
    if (found != 1)
        return json_fail(json, err,
                         "an argument has exactly one of \"tensor\", \"dim\", \"workspace\", "
                         "\"scalar\", \"tensor_map\"; this one has %s",
                         found ? "several" : "none");
    return true;
}

static bool read_dim(struct arena *arena, const struct json *json, struct manifest_arg *arg,
                     struct err *err)
{
    static const char *const known[] = {"dim", "dtype", NULL};
    return json_only(json, known, err) && read_dtype(json, &arg->dtype, err) &&
           doc_need_formula(arena, json, "dim", &arg->dim, err);
}

static bool read_scalar(const struct json *json, struct manifest_arg *arg, struct err *err)
{
    static const char *const known[] = {"scalar", "dtype", NULL};
    return json_only(json, known, err) && read_dtype(json, &arg->dtype, err) &&
           json_need_real(json, "scalar", &arg->scalar, err);
}

static bool read_tensor_map(const struct json *json, struct manifest_arg *arg, struct err *err)
{
    static const char *const known[] = {"tensor_map", "box", "swizzle", NULL};
    const struct json *box;
    if (!json_only(json, known, err) || !json_need_str(json, "tensor_map", &arg->name, err) ||
        !json_need_array(json, "box", 1, COUNT_OF(arg->box), &box, err) ||
        !json_opt_int(json, "swizzle", 0, 128, &arg->swizzle, err))
        return false;
    arg->box_rank = box->count;
    for (size_t i = 0; i < box->count; i++) {
        if (box->items[i].kind != JSON_INT)
            return json_fail(&box->items[i], err, "expected an integer");
        arg->box[i] = box->items[i].integer;
    }
    return true;
}

static bool read_named(const struct json *json, const char *key, struct str *out, struct err *err)
{
    const char *const known[] = {key, NULL};
    return json_only(json, known, err) && json_need_str(json, key, out, err);
}

static bool read_arg(struct arena *arena, const struct json *json, struct manifest_arg *arg,
                     struct err *err)
{
    if (json->kind != JSON_OBJECT)
        return json_fail(json, err, "expected an object such as {\"tensor\": \"x\"}");
    if (!read_arg_kind(json, &arg->kind, err))
        return false;
    switch (arg->kind) {
    case ARG_TENSOR:
    case ARG_WORKSPACE:
        return read_named(json, arg_keys[arg->kind], &arg->name, err);
    case ARG_DIM:
        return read_dim(arena, json, arg, err);
    case ARG_SCALAR:
        return read_scalar(json, arg, err);
    case ARG_TENSOR_MAP:
        return read_tensor_map(json, arg, err);
    }
    panic("argument kind %d", (int)arg->kind);
}

static bool read_args(struct arena *arena, const struct json *json, struct manifest_kernel *kernel,
                      struct err *err)
{
    const struct json *array;
    if (!json_need_array(json, "args", 0, MANIFEST_ARGS_MAX, &array, err))
        return false;
    struct manifest_arg *args = arena_array(arena, struct manifest_arg, array->count);
    for (size_t i = 0; i < array->count; i++)
        if (!read_arg(arena, &array->items[i], &args[i], err))
            return false;
    kernel->args = args;
    kernel->arg_count = array->count;
    return true;
}

static bool read_sizes(struct arena *arena, const struct json *json, const char *key,
                       const struct formula *out[3], struct err *err)
{
    const struct json *array;
    if (!json_need_array(json, key, 3, 3, &array, err))
        return false;
    for (size_t i = 0; i < 3; i++)
        if (!doc_formula(arena, &array->items[i], &out[i], err))
            return false;
    return true;
}

static bool read_kernel(struct arena *arena, const struct json *json,
                        struct manifest_kernel *kernel, struct err *err)
{
    static const char *const known[] = {"entry",       "grid",         "block", "smem", "cluster",
                                        "cooperative", "programmatic", "args",  NULL};
    *kernel = (struct manifest_kernel){.smem = formula_int(arena, 0), .cluster = {1, 1, 1}};
    const struct json *smem = json_get(json, "smem");
    return json_only(json, known, err) && json_need_str(json, "entry", &kernel->entry, err) &&
           read_sizes(arena, json, "grid", kernel->grid, err) &&
           read_sizes(arena, json, "block", kernel->block, err) &&
           (!smem || doc_formula(arena, smem, &kernel->smem, err)) &&
           (!json_get(json, "cluster") ||
            doc_need_triple(json, "cluster", 1, CLUSTER_BLOCKS_MAX, kernel->cluster, err)) &&
           json_opt_bool(json, "cooperative", &kernel->cooperative, err) &&
           json_opt_bool(json, "programmatic", &kernel->programmatic, err) &&
           read_args(arena, json, kernel, err);
}

static bool read_kernels(struct arena *arena, const struct json *json, const char *key, size_t min,
                         const struct manifest_kernel **out, size_t *count, struct err *err)
{
    const struct json *array;
    if (min == 0 && !json_get(json, key))
        return true;
    if (!json_need_array(json, key, min, MANIFEST_KERNELS_MAX, &array, err))
        return false;
    struct manifest_kernel *kernels = arena_array(arena, struct manifest_kernel, array->count);
    for (size_t i = 0; i < array->count; i++)
        if (!read_kernel(arena, &array->items[i], &kernels[i], err))
            return false;
    *out = kernels;
    *count = array->count;
    return true;
}

static bool read_workspace(struct arena *arena, const struct json *json,
                           struct manifest_workspace *workspace, struct err *err)
{
    static const char *const known[] = {"name", "bytes", "init", NULL};
    static const char *const inits[] = {"none", "zero"};
    size_t init = 0;
    if (!json_only(json, known, err) || !json_need_str(json, "name", &workspace->name, err) ||
        !doc_need_formula(arena, json, "bytes", &workspace->bytes, err) ||
        (json_get(json, "init") &&
         !json_need_word(json, "init", inits, COUNT_OF(inits), &init, err)))
        return false;
    workspace->zero = init == 1;
    return true;
}

static bool read_workspaces(struct arena *arena, const struct json *json, struct manifest *manifest,
                            struct err *err)
{
    const struct json *array;
    if (!json_get(json, "workspace"))
        return true;
    if (!json_need_array(json, "workspace", 0, MANIFEST_WORKSPACES_MAX, &array, err))
        return false;
    struct manifest_workspace *items = arena_array(arena, struct manifest_workspace, array->count);
    for (size_t i = 0; i < array->count; i++)
        if (!read_workspace(arena, &array->items[i], &items[i], err))
            return false;
    manifest->workspaces = items;
    manifest->workspace_count = array->count;
    return true;
}

/* ---- the document ---- */

bool manifest_parse(struct arena *arena, const struct json *json, const struct manifest **out,
                    struct err *err)
{
    static const char *const known[] = {"manifest",      "op",      "arch",      "guard",
                                        "kernels",       "prepare", "workspace", "strategy",
                                        "deterministic", NULL};
    int64_t version;
    struct manifest *m = arena_new(arena, struct manifest);
    m->op = m->strategy = (struct str){"", 0};
    if (!json_need_int(json, "manifest", 1, 1, &version, err) || !json_only(json, known, err) ||
        !json_opt_str(json, "op", &m->op, err) || !json_need_str(json, "arch", &m->arch, err) ||
        !doc_need_formula(arena, json, "guard", &m->guard, err) ||
        !read_kernels(arena, json, "kernels", 1, &m->kernels, &m->kernel_count, err) ||
        !read_kernels(arena, json, "prepare", 0, &m->prepare, &m->prepare_count, err) ||
        !read_workspaces(arena, json, m, err) ||
        !json_opt_str(json, "strategy", &m->strategy, err) ||
        !json_opt_bool(json, "deterministic", &m->deterministic, err))
        return false;
    if (!manifest_check_self(m, err))
        return json_fail(json, err, "%s", err->text);
    *out = m;
    return true;
}

/* ---- printing ---- */

static void print_tensor_map(struct json_writer *w, const struct manifest_arg *arg)
{
    json_put_str(w, arg->name);
    json_key(w, "box");
    json_open_array(w);
    for (size_t i = 0; i < arg->box_rank; i++)
        json_put_int(w, arg->box[i]);
    json_close_array(w);
    json_member_int(w, "swizzle", arg->swizzle);
}

static void print_arg(struct json_writer *w, const struct manifest_arg *arg)
{
    json_open_object(w);
    json_key(w, arg_keys[arg->kind]);
    switch (arg->kind) {
    case ARG_TENSOR:
    case ARG_WORKSPACE:
        json_put_str(w, arg->name);
        break;
    case ARG_DIM:
        doc_put_formula(w, arg->dim);
        break;
    case ARG_SCALAR:
        json_put_real(w, arg->scalar);
        break;
    case ARG_TENSOR_MAP:
        print_tensor_map(w, arg);
        break;
    }
    if (arg->kind == ARG_DIM || arg->kind == ARG_SCALAR) {
        json_member_text(w, "dtype", dtype_name(arg->dtype));
    }
    json_close_object(w);
}

static void print_sizes(struct json_writer *w, const char *key,
                        const struct formula *const sizes[3])
{
    json_key(w, key);
    json_open_array(w);
    for (size_t i = 0; i < 3; i++)
        doc_put_formula(w, sizes[i]);
    json_close_array(w);
}

static void print_kernel(struct json_writer *w, const struct manifest_kernel *kernel)
{
    json_open_object(w);
    json_member_str(w, "entry", kernel->entry);
    print_sizes(w, "grid", kernel->grid);
    print_sizes(w, "block", kernel->block);
    json_key(w, "smem");
    doc_put_formula(w, kernel->smem);
    json_key(w, "cluster");
    doc_put_triple(w, kernel->cluster);
    json_member_bool(w, "cooperative", kernel->cooperative);
    json_member_bool(w, "programmatic", kernel->programmatic);
    json_key(w, "args");
    json_open_array(w);
    for (size_t i = 0; i < kernel->arg_count; i++)
        print_arg(w, &kernel->args[i]);
    json_close_array(w);
    json_close_object(w);
}

static void print_kernels(struct json_writer *w, const char *key,
                          const struct manifest_kernel *kernels, size_t count)
{
    json_key(w, key);
    json_open_array(w);
    for (size_t i = 0; i < count; i++)
        print_kernel(w, &kernels[i]);
    json_close_array(w);
}

static void print_workspaces(struct json_writer *w, const struct manifest *manifest)
{
    json_key(w, "workspace");
    json_open_array(w);
    for (size_t i = 0; i < manifest->workspace_count; i++) {
        json_open_object(w);
        json_member_str(w, "name", manifest->workspaces[i].name);
        json_key(w, "bytes");
        doc_put_formula(w, manifest->workspaces[i].bytes);
        json_member_text(w, "init", manifest->workspaces[i].zero ? "zero" : "none");
        json_close_object(w);
    }
    json_close_array(w);
}

void manifest_print(struct json_writer *w, const struct manifest *manifest)
{
    json_open_object(w);
    json_member_int(w, "manifest", 1);
    if (manifest->op.len > 0) {
        json_member_str(w, "op", manifest->op);
    }
    json_member_str(w, "arch", manifest->arch);
    json_key(w, "guard");
    doc_put_formula(w, manifest->guard);
    print_kernels(w, "kernels", manifest->kernels, manifest->kernel_count);
    print_kernels(w, "prepare", manifest->prepare, manifest->prepare_count);
    print_workspaces(w, manifest);
    json_member_str(w, "strategy", manifest->strategy);
    json_member_bool(w, "deterministic", manifest->deterministic);
    json_close_object(w);
}

struct hash manifest_hash(const struct manifest *manifest)
{
    struct doc_hasher hasher;
    doc_hash_begin(&hasher);
    manifest_print(&hasher.writer, manifest);
    return doc_hash_end(&hasher);
}
