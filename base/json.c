/*
 * JSON reading: jansson checks the text, then its tree is copied into the arena as immutable nodes
 * that know their parent, so that every later complaint can say where.
 *
 * Invariant: jansson's types do not leave this file, and its tree is released before json_parse
 * returns.  A NUL inside a string is an error, since strings are also used as C strings.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* jansson's enumerators have our names; its json_is_* macros must not be used below. */
#define JSON_OBJECT JANSSON_OBJECT
#define JSON_ARRAY  JANSSON_ARRAY
#define JSON_STRING JANSSON_STRING
#define JSON_REAL   JANSSON_REAL
#define JSON_NULL   JANSSON_NULL
#include <jansson.h>
#undef JSON_OBJECT
#undef JSON_ARRAY
#undef JSON_STRING
#undef JSON_REAL
#undef JSON_NULL

#include "base/json.h"
#include "base/opt.h"

enum { PATH_TEXT_BYTES = 400 };

static const char *const kind_text[] = {
    [JSON_NULL] = "null",        [JSON_BOOL] = "true or false", [JSON_INT] = "an integer",
    [JSON_REAL] = "a number",    [JSON_STRING] = "a string",    [JSON_ARRAY] = "an array",
    [JSON_OBJECT] = "an object",
};

/* ---- the tree ---- */

static bool copy_value(struct arena *arena, const json_t *from, struct json *to, int depth,
                       struct err *err);

static struct str copy_str(struct arena *arena, const char *at, size_t len)
{
    return (struct str){str_copy(arena, (struct str){at, len}), len};
}

static bool copy_array(struct arena *arena, const json_t *from, struct json *to, int depth,
                       struct err *err)
{
    struct json *items = arena_array(arena, struct json, json_array_size(from));
    to->kind = JSON_ARRAY;
    to->items = items;
    to->count = json_array_size(from);
    for (size_t i = 0; i < to->count; i++) {
        items[i] = (struct json){.parent = to, .source = to->source, .index = i};
        if (!copy_value(arena, json_array_get(from, i), &items[i], depth + 1, err))
            return false;
    }
    return true;
}

static bool copy_object(struct arena *arena, const json_t *from, struct json *to, int depth,
                        struct err *err)
{
    json_t *object = (json_t *)from; /* iterators take it without const, and change nothing */
    struct json *items = arena_array(arena, struct json, json_object_size(from));
    struct str *keys = arena_array(arena, struct str, json_object_size(from));
    to->kind = JSON_OBJECT;
    to->items = items;
    to->keys = keys;
    to->count = json_object_size(from);

    size_t i = 0;
    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at), i++) {
        const char *key = json_object_iter_key(at);
        keys[i] = copy_str(arena, key, strlen(key));
        items[i] = (struct json){.parent = to, .source = to->source, .index = i, .key = keys[i]};
        if (!copy_value(arena, json_object_iter_value(at), &items[i], depth + 1, err))
            return false;
    }
    return true;
}

static bool copy_value(struct arena *arena, const json_t *from, struct json *to, int depth,
                       struct err *err)
{
    if (depth > JSON_DEPTH_MAX)
        return json_fail(to, err, "nested deeper than %d", JSON_DEPTH_MAX);
    switch (json_typeof(from)) {
    case JANSSON_ARRAY:
        return copy_array(arena, from, to, depth, err);
    case JANSSON_OBJECT:
        return copy_object(arena, from, to, depth, err);
    case JANSSON_STRING:
        to->kind = JSON_STRING;
        to->string = copy_str(arena, json_string_value(from), json_string_length(from));
        break;
    case JSON_INTEGER:
        to->kind = JSON_INT;
        to->integer = json_integer_value(from);
        to->real = (double)to->integer;
        break;
    case JANSSON_REAL:
        to->kind = JSON_REAL;
        to->real = json_real_value(from);
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        to->kind = JSON_BOOL;
        to->boolean = json_typeof(from) == JSON_TRUE;
        break;
    case JANSSON_NULL:
        to->kind = JSON_NULL;
        break;
    }
    return true;
}

bool json_parse(struct arena *arena, struct str text, const char *source, const struct json **out,
                struct err *err)
{
    json_error_t error;
    if (text.len > JSON_BYTES_MAX)
        return err_raise(err, ERR_LIMIT, "%s: JSON of %zu bytes; at most %d are read", source,
                         text.len, JSON_BYTES_MAX);
    json_t *tree = json_loadb(text.at ? text.at : "", text.len,
                              JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (!tree)
        return err_raise(err, ERR_SYNTAX, "%s: line %d, column %d: %s", source, error.line,
                         error.column, error.text);

    struct json *root = arena_new(arena, struct json);
    root->source = str_copy(arena, str_from(source));
    bool ok = copy_value(arena, tree, root, 1, err);
    json_decref(tree);
    if (ok)
        *out = root;
    return ok;
}

/* ---- complaints ---- */

/* Appends to text[0..used), cutting at the end; returns the new length. */
static size_t write_path(const struct json *at, char *text, size_t used)
{
    if (!at->parent)
        return used;
    used = write_path(at->parent, text, used);
    size_t room = PATH_TEXT_BYTES - used;
    int len = at->parent->kind == JSON_ARRAY
                  ? snprintf(text + used, room, "[%zu]", at->index)
                  : snprintf(text + used, room, "%s%.*s", at->parent->parent ? "." : "",
                             STR_ARG(at->key));
    return (size_t)len < room ? used + (size_t)len : PATH_TEXT_BYTES - 1;
}

bool json_fail_at(const struct json *at, struct err *err, const char *fmt, ...)
{
    char message[ERR_TEXT_BYTES];
    char path[PATH_TEXT_BYTES] = "";
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    write_path(at, path, 0);
    return err_raise(err, ERR_SYNTAX, "%s: %s%s%s", at->source, path, *path ? ": " : "", message);
}

static bool wrong_kind(const struct json *at, const char *expected, struct err *err)
{
    return json_fail(at, err, "expected %s, found %s", expected, kind_text[at->kind]);
}

/* ---- members ---- */

const struct json *json_get(const struct json *object, const char *key)
{
    if (object->kind != JSON_OBJECT)
        return NULL;
    for (size_t i = 0; i < object->count; i++)
        if (str_equal(object->keys[i], str_from(key)))
            return &object->items[i];
    return NULL;
}

static bool is_kind(const struct json *value, enum json_kind kind)
{
    return value->kind == kind || (kind == JSON_REAL && value->kind == JSON_INT);
}

/* The member if it is there and of its kind; *out = NULL when absent. */
static bool member(const struct json *object, const char *key, enum json_kind kind,
                   const struct json **out, struct err *err)
{
    if (object->kind != JSON_OBJECT)
        return wrong_kind(object, kind_text[JSON_OBJECT], err);
    const struct json *value = json_get(object, key);
    if (value && !is_kind(value, kind))
        return wrong_kind(value, kind_text[kind], err);
    *out = value;
    return true;
}

bool json_need(const struct json *object, const char *key, enum json_kind kind,
               const struct json **out, struct err *err)
{
    const struct json *value;
    if (!member(object, key, kind, &value, err))
        return false;
    if (!value)
        return json_fail(object, err, "\"%s\" is missing; it must be %s", key, kind_text[kind]);
    *out = value;
    return true;
}

static bool in_range(const struct json *value, int64_t min, int64_t max, int64_t *out,
                     struct err *err)
{
    if (value->integer < min || value->integer > max)
        return json_fail(value, err,
                         "%" PRId64 " is out of range; it must be from %" PRId64 " to %" PRId64,
                         value->integer, min, max);
    *out = value->integer;
    return true;
}

bool json_need_str(const struct json *object, const char *key, struct str *out, struct err *err)
{
    const struct json *value;
    if (!json_need(object, key, JSON_STRING, &value, err))
        return false;
    *out = value->string;
    return true;
}

bool json_need_int(const struct json *object, const char *key, int64_t min, int64_t max,
                   int64_t *out, struct err *err)
{
    const struct json *value;
    return json_need(object, key, JSON_INT, &value, err) && in_range(value, min, max, out, err);
}

bool json_opt_str(const struct json *object, const char *key, struct str *out, struct err *err)
{
    const struct json *value;
    if (!member(object, key, JSON_STRING, &value, err))
        return false;
    if (value)
        *out = value->string;
    return true;
}

bool json_opt_int(const struct json *object, const char *key, int64_t min, int64_t max,
                  int64_t *out, struct err *err)
{
    const struct json *value;
    if (!member(object, key, JSON_INT, &value, err))
        return false;
    return !value || in_range(value, min, max, out, err);
}

bool json_opt_bool(const struct json *object, const char *key, bool *out, struct err *err)
{
    const struct json *value;
    if (!member(object, key, JSON_BOOL, &value, err))
        return false;
    if (value)
        *out = value->boolean;
    return true;
}

bool json_opt_real(const struct json *object, const char *key, double *out, struct err *err)
{
    const struct json *value;
    if (!member(object, key, JSON_REAL, &value, err))
        return false;
    if (value)
        *out = value->real;
    return true;
}

bool json_number(const struct json *value, double *out, struct err *err)
{
    static const struct {
        const char *text;
        double value;
    } named[] = {{"nan", NAN}, {"inf", INFINITY}, {"-inf", -INFINITY}};
    if (is_kind(value, JSON_REAL)) {
        *out = value->real;
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(named) && value->kind == JSON_STRING; i++)
        if (str_equal(value->string, str_from(named[i].text))) {
            *out = named[i].value;
            return true;
        }
    return wrong_kind(value, "a number, \"nan\", \"inf\" or \"-inf\"", err);
}

bool json_need_real(const struct json *object, const char *key, double *out, struct err *err)
{
    if (object->kind != JSON_OBJECT)
        return wrong_kind(object, kind_text[JSON_OBJECT], err);
    const struct json *value = json_get(object, key);
    if (!value)
        return json_fail(object, err, "\"%s\" is missing; it must be a number", key);
    return json_number(value, out, err);
}

bool json_need_array(const struct json *object, const char *key, size_t min, size_t max,
                     const struct json **out, struct err *err)
{
    const struct json *value;
    if (!json_need(object, key, JSON_ARRAY, &value, err))
        return false;
    if (value->count < min || value->count > max)
        return json_fail(value, err, "%zu items; it must have from %zu to %zu", value->count, min,
                         max);
    *out = value;
    return true;
}

bool json_word(const struct json *value, const char *const *words, size_t count, size_t *out,
               struct err *err)
{
    enum { LIST_BYTES = 480 };
    if (value->kind != JSON_STRING)
        return wrong_kind(value, kind_text[JSON_STRING], err);
    char list[LIST_BYTES] = "";
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (str_equal(value->string, str_from(words[i]))) {
            *out = i;
            return true;
        }
        if (used + strlen(words[i]) + 5 < LIST_BYTES)
            used += (size_t)snprintf(list + used, LIST_BYTES - used, "%s\"%s\"", used ? ", " : "",
                                     words[i]);
    }
    return json_fail(value, err, "\"%.*s\" is not known; it is one of %s",
                     value->string.len > 64 ? 64 : (int)value->string.len, value->string.at, list);
}

bool json_need_word(const struct json *object, const char *key, const char *const *words,
                    size_t count, size_t *out, struct err *err)
{
    const struct json *value;
    return json_need(object, key, JSON_STRING, &value, err) &&
           json_word(value, words, count, out, err);
}

static bool is_known(struct str key, const char *const *known, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_equal(key, str_from(known[i])))
            return true;
    return false;
}

bool json_only(const struct json *object, const char *const *known, struct err *err)
{
    size_t count = 0;
    while (known[count])
        count++;
    if (object->kind != JSON_OBJECT)
        return wrong_kind(object, kind_text[JSON_OBJECT], err);
    for (size_t i = 0; i < object->count; i++) {
        if (is_known(object->keys[i], known, count))
            continue;
        const char *near = opt_nearest(object->keys[i].at, known, count);
        return json_fail(&object->items[i], err, "unknown key%s%s%s",
                         near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    }
    return true;
}
