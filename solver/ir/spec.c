/*
 * The JSON document of a spec: dims, tensors, policy, tracks, shapes; the body is handed to body.c.
 *
 * Method: one function a member, complaints with the member's path.  `dims` and `tracks` may be an
 * object or an array of one-member objects or names: canonical JSON sorts the members of objects,
 * and the order of dims and tracks means something, so the canonical document uses the arrays.
 *
 * Invariant: a spec_doc has valid and distinct names, dtypes, roles, ranks, alignments and fills
 * that fit together, formulas whose names exist, and at least one target shape with all its
 * variables. Not here: values of formulas, and what the body means.
 */
#include <string.h>

#include "base/num.h"

#include "solver/ir/spec_int.h"

static bool spec_name(const struct json *json, const char *key, struct str *out, struct err *err)
{
    if (!json_need_str(json, key, out, err))
        return false;
    if (name_is_valid(*out))
        return true;
    return json_fail(json_get(json, key), err,
                     "'%.*s' is no name: letters, digits and _, at most 64, no digit first",
                     STR_ARG(*out));
}

/* ---- dims ---- */

/* Words that mean something else in a body. */
static bool is_reserved(struct str name)
{
    static const char *const words[] = {"inf", "nan", "true", "false", "ceildiv",
                                        "min", "max", "use",  "seq",   "with"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (str_equal(name, str_from(words[i])))
            return true;
    return false;
}

static bool formula_names_known(const struct json *at, const struct formula *formula,
                                const struct dim *dims, size_t count, struct err *err)
{
    struct str names[OP_DIMS_MAX];
    for (size_t i = 0; i < count; i++)
        names[i] = dims[i].name;
    struct str unknown = formula_unknown_name(formula, names, count);
    if (unknown.len == 0)
        return true;
    return json_fail(at, err, "unknown dim '%.*s'", STR_ARG(unknown));
}

bool spec_formula(struct arena *arena, const struct json *at, const struct dim *dims, size_t count,
                  const struct formula **out, struct err *err)
{
    if (at->kind == JSON_INT) {
        *out = formula_int(arena, at->integer);
        return true;
    }
    if (at->kind != JSON_STRING)
        return json_fail(at, err, "expected an integer or a formula over dims");
    if (formula_parse(arena, at->string, "formula", out, err))
        return formula_names_known(at, *out, dims, count, err);
    char text[ERR_TEXT_BYTES];
    memcpy(text, err->text, sizeof(text));
    return json_fail(at, err, "%.600s", text);
}

static bool load_range(const struct json *json, struct dim *dim, struct err *err)
{
    dim->kind = DIM_VAR;
    if (json->count != 2 || json->items[0].kind != JSON_INT || json->items[1].kind != JSON_INT)
        return json_fail(json, err, "a range is [min, max]");
    dim->min = json->items[0].integer;
    dim->max = json->items[1].integer;
    if (dim->min < 0 || dim->min > dim->max)
        return json_fail(json, err, "a range needs 0 <= min <= max");
    return true;
}

static bool load_dim(struct arena *arena, struct str name, const struct json *json,
                     struct dim *dims, size_t count, struct err *err)
{
    struct dim *dim = &dims[count];
    dim->name = name;
    if (!name_is_valid(name) || is_reserved(name))
        return json_fail(json, err, "'%.*s' cannot name a dim", STR_ARG(name));
    for (size_t i = 0; i < count; i++)
        if (str_equal(dims[i].name, name))
            return json_fail(json, err, "a second dim '%.*s'", STR_ARG(name));
    if (json->kind == JSON_ARRAY)
        return load_range(json, dim, err);
    if (json->kind == JSON_STRING) {
        dim->kind = DIM_FORMULA;
        return spec_formula(arena, json, dims, count, &dim->formula, err);
    }
    dim->kind = DIM_CONST;
    dim->value = json->integer;
    if (json->kind != JSON_INT || json->integer < 0)
        return json_fail(json, err, "a dim is [min, max], an integer from 0, or a formula");
    return true;
}

/* The name and value of entry `i` of an object, or of an array of one-member objects. */
static bool ordered_entry(const struct json *json, size_t i, struct str *name,
                          const struct json **value, struct err *err)
{
    const struct json *item = &json->items[i];
    if (json->kind == JSON_OBJECT) {
        *name = json->keys[i];
        *value = item;
        return true;
    }
    if (item->kind != JSON_OBJECT || item->count != 1)
        return json_fail(item, err, "expected an object with one member");
    *name = item->keys[0];
    *value = &item->items[0];
    return true;
}

static bool load_dims(struct arena *arena, const struct json *root, struct spec_doc *doc,
                      struct err *err)
{
    const struct json *json = json_get(root, "dims");
    struct dim *dims = arena_array(arena, struct dim, OP_DIMS_MAX);
    doc->dims = dims;
    if (!json)
        return true;
    if (json->kind != JSON_OBJECT && json->kind != JSON_ARRAY)
        return json_fail(json, err, "expected an object");
    if (json->count > OP_DIMS_MAX)
        return json_fail(json, err, "at most %d dims", OP_DIMS_MAX);
    for (size_t i = 0; i < json->count; i++) {
        struct str name;
        const struct json *value;
        if (!ordered_entry(json, i, &name, &value, err) ||
            !load_dim(arena, name, value, dims, doc->dim_count, err))
            return false;
        doc->dim_count++;
    }
    return true;
}

/* ---- policy and tracks ---- */

static bool load_policy(const struct json *root, struct policy *policy, struct err *err)
{
    static const char *const known[] = {"finite_inputs", "zero_dims", "deterministic", "summation",
                                        NULL};
    const struct json *json = json_get(root, "policy");
    if (!json)
        return true;
    struct str summation = STR_LIT("plain");
    if (!json_only(json, known, err) ||
        !json_opt_bool(json, "finite_inputs", &policy->finite_inputs, err) ||
        !json_opt_bool(json, "zero_dims", &policy->zero_dims, err) ||
        !json_opt_bool(json, "deterministic", &policy->deterministic, err) ||
        !json_opt_str(json, "summation", &summation, err))
        return false;
    if (str_equal(summation, STR_LIT("compensated")))
        policy->summation = SUMMATION_COMPENSATED;
    else if (!str_equal(summation, STR_LIT("plain")))
        return json_fail(json_get(json, "summation"), err, "expected \"plain\" or \"compensated\"");
    return true;
}

static bool load_track(const struct json *at, struct str name, struct track *tracks, size_t count,
                       struct err *err)
{
    for (size_t i = 0; i < count; i++)
        if (str_equal(tracks[i].name, name))
            return json_fail(at, err, "a second track '%.*s'", STR_ARG(name));
    for (int c = COMPUTE_F64; c <= COMPUTE_BF16; c++)
        if (str_equal(name, str_from(compute_name((enum compute)c)))) {
            tracks[count] = (struct track){name, (enum compute)c};
            return true;
        }
    return json_fail(at, err, "unknown track '%.*s': one of f64, f32, tf32, f16, bf16",
                     STR_ARG(name));
}

static bool load_tracks(struct arena *arena, const struct json *root, struct spec_doc *doc,
                        struct err *err)
{
    static const char *const no_members[] = {NULL};
    const struct json *json = json_get(root, "tracks");
    if (!json)
        return json_fail(root, err, "\"tracks\" is missing; at least one, as {\"f32\": {}}");
    if ((json->kind != JSON_OBJECT && json->kind != JSON_ARRAY) || json->count == 0)
        return json_fail(json, err, "at least one track, as {\"f32\": {}}");
    struct track *tracks = arena_array(arena, struct track, json->count);
    for (size_t i = 0; i < json->count; i++) {
        const struct json *item = &json->items[i];
        struct str name = json->kind == JSON_OBJECT ? json->keys[i] : item->string;
        if (json->kind == JSON_ARRAY && item->kind != JSON_STRING)
            return json_fail(item, err, "expected the name of a track");
        if (json->kind == JSON_OBJECT && item->kind != JSON_OBJECT)
            return json_fail(item, err, "expected {}");
        if ((json->kind == JSON_OBJECT && !json_only(item, no_members, err)) ||
            !load_track(item, name, tracks, i, err))
            return false;
    }
    doc->tracks = tracks;
    doc->track_count = json->count;
    return true;
}

/* ---- shapes ---- */

static size_t doc_dim(const struct spec_doc *doc, struct str name)
{
    for (size_t i = 0; i < doc->dim_count; i++)
        if (str_equal(doc->dims[i].name, name))
            return i;
    return OP_NONE;
}

static bool load_shape(const struct spec_doc *doc, const struct json *json, int64_t *given,
                       struct err *err)
{
    if (json->kind != JSON_OBJECT)
        return json_fail(json, err, "expected an object: dim to size");
    for (size_t i = 0; i < json->count; i++) {
        size_t dim = doc_dim(doc, json->keys[i]);
        if (dim == OP_NONE)
            return json_fail(&json->items[i], err, "unknown dim");
        if (doc->dims[dim].kind != DIM_VAR)
            return json_fail(&json->items[i], err,
                             "this dim is no variable: its value follows from the spec");
        if (json->items[i].kind != JSON_INT)
            return json_fail(&json->items[i], err, "expected an integer");
        given[dim] = json->items[i].integer;
        if (given[dim] < doc->dims[dim].min || given[dim] > doc->dims[dim].max)
            return json_fail(&json->items[i], err, "%lld is outside the dim's range %lld to %lld",
                             (long long)given[dim], (long long)doc->dims[dim].min,
                             (long long)doc->dims[dim].max);
    }
    for (size_t d = 0; d < doc->dim_count; d++)
        if (doc->dims[d].kind == DIM_VAR && given[d] < 0)
            return json_fail(json, err, "no size for dim '%.*s'", STR_ARG(doc->dims[d].name));
    return true;
}

static bool load_shape_list(struct arena *arena, const struct spec_doc *doc,
                            const struct json *json, const struct spec_shape **out, size_t *count,
                            struct err *err)
{
    if (!json)
        return true;
    if (json->kind != JSON_ARRAY)
        return json_fail(json, err, "expected an array of shapes");
    if (json->count > OP_SHAPES_MAX)
        return json_fail(json, err, "at most %d shapes", OP_SHAPES_MAX);
    struct spec_shape *shapes = arena_array(arena, struct spec_shape, json->count);
    for (size_t i = 0; i < json->count; i++) {
        int64_t *given = arena_array(arena, int64_t, doc->dim_count + 1);
        for (size_t d = 0; d < doc->dim_count; d++)
            given[d] = -1;
        if (!load_shape(doc, &json->items[i], given, err))
            return false;
        shapes[i] = (struct spec_shape){&json->items[i], given};
    }
    *out = shapes;
    *count = json->count;
    return true;
}

static bool load_shapes(struct arena *arena, const struct json *root, struct spec_doc *doc,
                        struct err *err)
{
    static const char *const known[] = {"target", "verify", NULL};
    const struct json *json = NULL;
    if (!json_get(root, "shapes"))
        return json_fail(root, err,
                         "\"shapes\" is missing; at least {\"target\": [{\"M\": 4096}]}, with a "
                         "size for each variable dim");
    if (!json_need(root, "shapes", JSON_OBJECT, &json, err) || !json_only(json, known, err) ||
        !load_shape_list(arena, doc, json_get(json, "target"), &doc->targets, &doc->target_count,
                         err) ||
        !load_shape_list(arena, doc, json_get(json, "verify"), &doc->verify, &doc->verify_count,
                         err))
        return false;
    if (doc->target_count == 0)
        return json_fail(json, err, "target: at least one shape");
    return true;
}

/* ---- the document ---- */

static bool load_body(struct arena *arena, const struct json *root, struct spec_doc *doc,
                      struct err *err)
{
    const struct json *json = NULL;
    if (!json_need(root, "body", JSON_ARRAY, &json, err))
        return false;
    struct str *lines = arena_array(arena, struct str, json->count + 1);
    for (size_t i = 0; i < json->count; i++) {
        lines[i] = json->items[i].string;
        if (json->items[i].kind != JSON_STRING)
            return json_fail(&json->items[i], err, "expected a line of text");
        if (memchr(lines[i].at, '\n', lines[i].len) || memchr(lines[i].at, '\0', lines[i].len))
            return json_fail(&json->items[i], err, "one line a string");
    }
    doc->text = (struct spec_text){json->source, lines, json->count};
    if (!body_parse(arena, &doc->text, doc->dims, doc->dim_count, &doc->body, &doc->body_count,
                    err))
        return false;
    return doc->body_count > 0 || json_fail(json, err, "a body without statements");
}

static bool check_version(const struct json *root, struct err *err)
{
    int64_t version = 0;
    if (root->kind != JSON_OBJECT)
        return json_fail(root, err, "a spec is a JSON object");
    if (!json_need_int(root, "spec", INT64_MIN, INT64_MAX, &version, err))
        return false;
    return version == 1 ||
           json_fail(json_get(root, "spec"), err,
                     "version %lld is unknown, this program reads version 1", (long long)version);
}

bool spec_load(struct arena *arena, struct str text, const char *source,
               const struct spec_doc **out, struct err *err)
{
    static const char *const known[] = {"spec", "name",   "doc",    "dims",   "tensors",
                                        "body", "policy", "tracks", "shapes", NULL};
    const struct json *root = NULL;
    if (text.len > OP_SPEC_BYTES_MAX)
        return err_raise(err, ERR_LIMIT, "%s: a spec of more than %d bytes", source,
                         OP_SPEC_BYTES_MAX);
    struct spec_doc *doc = arena_new(arena, struct spec_doc);
    if (!json_parse(arena, text, source, &root, err) || !check_version(root, err) ||
        !json_only(root, known, err) || !spec_name(root, "name", &doc->name, err) ||
        !json_opt_str(root, "doc", &doc->doc, err) || !load_dims(arena, root, doc, err) ||
        !spec_load_tensors(arena, root, doc, err) || !load_policy(root, &doc->policy, err) ||
        !load_tracks(arena, root, doc, err) || !load_shapes(arena, root, doc, err) ||
        !load_body(arena, root, doc, err))
        return false;
    *out = doc;
    return true;
}

const struct tensor *spec_tensor(const struct spec_doc *doc, struct str name)
{
    for (size_t i = 0; i < doc->tensor_count; i++)
        if (str_equal(doc->tensors[i].name, name))
            return &doc->tensors[i];
    return NULL;
}
