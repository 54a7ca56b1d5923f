/*
 * The `tensors` of a spec: role, dtype, shape, fill, alignment, aliasing.
 *
 * A missing fill is normal for floats, ints 0..7 for integers, mask for bool; a missing alignment
 * is 16 bytes.
 */
#include <math.h>
#include <string.h>

#include "base/num.h"

#include "solver/ir/spec_int.h"

enum { ALIGN_DEFAULT = 16, ALIGN_MAX = 4096 };

static const char *const fill_names[] = {"normal", "uniform", "ints", "zeros", "ones", "mask"};

const char *fill_name(enum fill_kind kind)
{
    return fill_names[kind];
}

static bool fill_find(const struct json *at, struct str name, enum fill_kind *out, struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(fill_names); i++)
        if (str_equal(name, str_from(fill_names[i]))) {
            *out = (enum fill_kind)i;
            return true;
        }
    return json_fail(at, err,
                     "unknown fill '%.*s': one of normal, uniform, ints, zeros, ones, mask",
                     STR_ARG(name));
}

static void fill_defaults(struct arena *arena, enum fill_kind kind, struct fill *fill)
{
    *fill = (struct fill){.kind = kind};
    switch (kind) {
    case FILL_NORMAL:
    case FILL_UNIFORM:
        fill->b = 1;
        break;
    case FILL_MASK:
        fill->a = 0.5;
        break;
    case FILL_INTS:
        fill->low = formula_int(arena, 0);
        fill->high = formula_int(arena, 7);
        break;
    case FILL_ZEROS:
    case FILL_ONES:
        break;
    }
}

static bool fill_fits(const struct json *at, const struct tensor *tensor, struct err *err)
{
    enum fill_kind kind = tensor->fill.kind;
    bool is_float = dtype_is_float(tensor->dtype);
    bool is_bool = tensor->dtype == DTYPE_BOOL;
    bool wrong = ((kind == FILL_NORMAL || kind == FILL_UNIFORM) && !is_float) ||
                 (kind == FILL_INTS && is_bool);
    if (!wrong)
        return true;
    return json_fail(at, err, "%s cannot be filled with '%s'; use %s", dtype_name(tensor->dtype),
                     fill_name(kind), is_bool ? "mask" : "ints");
}

static bool load_ints(struct arena *arena, const struct json *json, const struct spec_doc *doc,
                      struct fill *fill, struct err *err)
{
    const struct json *low = json_get(json, "low");
    const struct json *high = json_get(json, "high");
    return (!low || spec_formula(arena, low, doc->dims, doc->dim_count, &fill->low, err)) &&
           (!high || spec_formula(arena, high, doc->dims, doc->dim_count, &fill->high, err));
}

static bool check_fill_numbers(const struct json *json, const struct fill *fill, struct err *err)
{
    if (!isfinite(fill->a) || !isfinite(fill->b))
        return json_fail(json, err, "the numbers of a fill are finite");
    if (fill->kind == FILL_NORMAL && fill->b < 0)
        return json_fail(json, err, "std is not negative");
    if (fill->kind == FILL_UNIFORM && fill->a > fill->b)
        return json_fail(json, err, "low is above high");
    if (fill->kind == FILL_MASK && (fill->a < 0 || fill->a > 1))
        return json_fail(json, err, "p is a probability");
    return true;
}

static bool load_fill_object(struct arena *arena, const struct json *json,
                             const struct spec_doc *doc, struct fill *fill, struct err *err)
{
    static const char *const normal[] = {"kind", "mean", "std", NULL};
    static const char *const range[] = {"kind", "low", "high", NULL};
    static const char *const mask[] = {"kind", "p", NULL};
    static const char *const plain[] = {"kind", NULL};
    struct str kind = {0};
    if (!json_need_str(json, "kind", &kind, err) ||
        !fill_find(json_get(json, "kind"), kind, &fill->kind, err))
        return false;
    fill_defaults(arena, fill->kind, fill);
    switch (fill->kind) {
    case FILL_NORMAL:
        return json_only(json, normal, err) && json_opt_real(json, "mean", &fill->a, err) &&
               json_opt_real(json, "std", &fill->b, err) && check_fill_numbers(json, fill, err);
    case FILL_UNIFORM:
        return json_only(json, range, err) && json_opt_real(json, "low", &fill->a, err) &&
               json_opt_real(json, "high", &fill->b, err) && check_fill_numbers(json, fill, err);
    case FILL_INTS:
        return json_only(json, range, err) && load_ints(arena, json, doc, fill, err);
    case FILL_MASK:
        return json_only(json, mask, err) && json_opt_real(json, "p", &fill->a, err) &&
               check_fill_numbers(json, fill, err);
    case FILL_ZEROS:
    case FILL_ONES:
        return json_only(json, plain, err);
    }
    return false;
}

static bool load_fill(struct arena *arena, const struct json *json, const struct spec_doc *doc,
                      struct tensor *tensor, struct err *err)
{
    const struct json *at = json_get(json, "fill");
    if (at && tensor->role == ROLE_OUTPUT)
        return json_fail(at, err, "an output has no fill");
    enum fill_kind kind = dtype_is_float(tensor->dtype) ? FILL_NORMAL
                          : tensor->dtype == DTYPE_BOOL ? FILL_MASK
                                                        : FILL_INTS;
    fill_defaults(arena, kind, &tensor->fill);
    if (!at)
        return true;
    if (at->kind == JSON_STRING) {
        if (!fill_find(at, at->string, &kind, err))
            return false;
        fill_defaults(arena, kind, &tensor->fill);
    } else if (at->kind != JSON_OBJECT) {
        return json_fail(at, err, "expected a fill's name, or an object with kind");
    } else if (!load_fill_object(arena, at, doc, &tensor->fill, err)) {
        return false;
    }
    return fill_fits(at, tensor, err);
}

static bool load_tensor_shape(struct arena *arena, const struct json *json,
                              const struct spec_doc *doc, struct tensor *tensor, struct err *err)
{
    const struct json *shape = NULL;
    if (!json_need(json, "shape", JSON_ARRAY, &shape, err))
        return false;
    if (shape->count > OP_RANK_MAX)
        return json_fail(shape, err, "at most %d dimensions", OP_RANK_MAX);
    tensor->rank = shape->count;
    for (size_t i = 0; i < shape->count; i++)
        if (!spec_formula(arena, &shape->items[i], doc->dims, doc->dim_count, &tensor->shape[i],
                          err))
            return false;
    return true;
}

static bool load_align(const struct json *json, struct tensor *tensor, struct err *err)
{
    int64_t least = (int64_t)dtype_bytes(tensor->dtype);
    tensor->align = ALIGN_DEFAULT;
    if (!json_opt_int(json, "align", 1, ALIGN_MAX, &tensor->align, err))
        return false;
    if ((tensor->align & (tensor->align - 1)) == 0 && tensor->align >= least)
        return true;
    return json_fail(json_get(json, "align"), err,
                     "an alignment is a power of two from the element's %lld bytes",
                     (long long)least);
}

static bool load_dtype(const struct json *json, enum dtype *out, struct err *err)
{
    static const char *const sub_byte[] = {"e2m1", "e2m3", "e3m2", "i4", "u4", "i1", "u1", "fp4"};
    struct str name = {0};
    if (!json_need_str(json, "dtype", &name, err))
        return false;
    if (dtype_parse(name, out))
        return true;
    const struct json *at = json_get(json, "dtype");
    for (size_t i = 0; i < COUNT_OF(sub_byte); i++)
        if (str_equal(name, str_from(sub_byte[i])))
            return json_fail(at, err,
                             "'%.*s' has no whole byte an element: packed types are not supported",
                             STR_ARG(name));
    if (str_equal(name, STR_LIT("tf32")))
        return json_fail(at, err, "tf32 is no storage type: use f32 and a tf32 track");
    return json_fail(at, err,
                     "unknown dtype '%.*s': one of f64 f32 f16 bf16 e4m3 e5m2 i64 i32 i16 i8 u8 "
                     "bool",
                     STR_ARG(name));
}

static bool load_tensor(struct arena *arena, const struct json *json, const struct spec_doc *doc,
                        struct tensor *tensor, struct err *err)
{
    static const char *const known[] = {"name", "role",  "dtype",     "shape",
                                        "fill", "align", "may_alias", NULL};
    struct str role = {0};
    if (json->kind != JSON_OBJECT)
        return json_fail(json, err, "a tensor is an object");
    if (!json_only(json, known, err) || !json_need_str(json, "name", &tensor->name, err))
        return false;
    if (!name_is_valid(tensor->name))
        return json_fail(json_get(json, "name"), err, "'%.*s' cannot name a tensor",
                         STR_ARG(tensor->name));
    for (size_t i = 0; i < doc->tensor_count; i++)
        if (str_equal(doc->tensors[i].name, tensor->name))
            return json_fail(json_get(json, "name"), err, "a second tensor '%.*s'",
                             STR_ARG(tensor->name));
    if (!json_need_str(json, "role", &role, err))
        return false;
    if (!role_parse(role, &tensor->role))
        return json_fail(json_get(json, "role"), err,
                         "unknown role '%.*s': one of input, weight, state, output", STR_ARG(role));
    tensor->may_alias = tensor->written_by = OP_NONE;
    return load_dtype(json, &tensor->dtype, err) &&
           load_tensor_shape(arena, json, doc, tensor, err) && load_align(json, tensor, err) &&
           load_fill(arena, json, doc, tensor, err);
}

static bool load_alias(const struct json *json, const struct spec_doc *doc, struct tensor *tensor,
                       struct err *err)
{
    struct str name = {0};
    const struct json *at = json_get(json, "may_alias");
    if (!at)
        return true;
    if (!json_opt_str(json, "may_alias", &name, err))
        return false;
    if (tensor->role != ROLE_OUTPUT)
        return json_fail(at, err, "only an output may alias another tensor");
    for (size_t i = 0; i < doc->tensor_count; i++)
        if (str_equal(doc->tensors[i].name, name))
            tensor->may_alias = i;
    if (tensor->may_alias == OP_NONE)
        return json_fail(at, err, "unknown tensor '%.*s'", STR_ARG(name));
    const struct tensor *other = &doc->tensors[tensor->may_alias];
    bool same =
        other->role != ROLE_OUTPUT && other->dtype == tensor->dtype && other->rank == tensor->rank;
    for (size_t i = 0; same && i < tensor->rank; i++)
        same = formula_equal(other->shape[i], tensor->shape[i]);
    return same ||
           json_fail(at, err, "'%.*s' is no input of the same dtype and shape", STR_ARG(name));
}

bool spec_load_tensors(struct arena *arena, const struct json *root, struct spec_doc *doc,
                       struct err *err)
{
    const struct json *json = NULL;
    bool has_output = false;
    if (!json_need(root, "tensors", JSON_ARRAY, &json, err))
        return false;
    if (json->count > OP_TENSORS_MAX / 2)
        return json_fail(json, err, "at most %d tensors", OP_TENSORS_MAX / 2);
    struct tensor *tensors = arena_array(arena, struct tensor, json->count + 1);
    doc->tensors = tensors;
    doc->tensors_json = json;
    for (size_t i = 0; i < json->count; i++) {
        if (!load_tensor(arena, &json->items[i], doc, &tensors[i], err))
            return false;
        has_output = has_output || tensors[i].role == ROLE_OUTPUT;
        doc->tensor_count++;
    }
    for (size_t i = 0; i < json->count; i++)
        if (!load_alias(&json->items[i], doc, &tensors[i], err))
            return false;
    return has_output || json_fail(json, err, "no tensor has the role output");
}
