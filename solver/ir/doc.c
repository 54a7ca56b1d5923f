/*
 * Small readers and writers that manifest, plan and task have in common.  Each complaint is located
 * by base/json; a formula's own complaint, with its caret, is put behind the place.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/panic.h"

#include "solver/ir/doc_int.h"

/* A document that was parsed has at most JSON_BYTES_MAX; canonical formulas can be 3 times as long
 * as what was read, and the writer keeps old copies while it sorts. */
enum { HASH_TEXT_MAX = 4 * JSON_BYTES_MAX };
#define HASH_ARENA_MAX ((size_t)JSON_DEPTH_MAX * HASH_TEXT_MAX)

bool doc_formula(struct arena *arena, const struct json *value, const struct formula **out,
                 struct err *err)
{
    if (value->kind == JSON_INT) {
        *out = formula_int(arena, value->integer);
        return true;
    }
    if (value->kind != JSON_STRING)
        return json_fail(value, err,
                         "expected an integer or a formula such as \"ceildiv(N, 128)\"");
    if (!formula_parse(arena, value->string, "", out, err))
        return json_fail(value, err, "%s", err->text);
    return true;
}

bool doc_need_formula(struct arena *arena, const struct json *object, const char *key,
                      const struct formula **out, struct err *err)
{
    const struct json *value = json_get(object, key);
    if (!value)
        return json_fail(object, err, "\"%s\" is missing; it must be an integer or a formula", key);
    return doc_formula(arena, value, out, err);
}

void doc_put_formula(struct json_writer *w, const struct formula *formula)
{
    struct arena scratch;
    struct buf text;
    if (formula->op == FORMULA_INT) {
        json_put_int(w, formula->value);
        return;
    }
    arena_init(&scratch, JSON_BYTES_MAX);
    buf_init(&text, &scratch, JSON_BYTES_MAX / 4);
    formula_print(&text, formula);
    ASSERT(!text.overflow);
    json_put_str(w, buf_view(&text));
    arena_release(&scratch);
}

bool doc_need_triple(const struct json *object, const char *key, int64_t min, int64_t max,
                     int64_t out[3], struct err *err)
{
    const struct json *array;
    int64_t values[3];
    if (!json_need_array(object, key, 3, 3, &array, err))
        return false;
    for (size_t i = 0; i < 3; i++) {
        const struct json *item = &array->items[i];
        if (item->kind != JSON_INT || item->integer < min || item->integer > max)
            return json_fail(item, err, "expected an integer from %lld to %lld", (long long)min,
                             (long long)max);
        values[i] = item->integer;
    }
    for (size_t i = 0; i < 3; i++)
        out[i] = values[i];
    return true;
}

void doc_put_triple(struct json_writer *w, const int64_t values[3])
{
    json_open_array(w);
    for (size_t i = 0; i < 3; i++)
        json_put_int(w, values[i]);
    json_close_array(w);
}

bool doc_need_hash(const struct json *object, const char *key, struct hash *out, struct err *err)
{
    const struct json *value;
    if (!json_need(object, key, JSON_STRING, &value, err))
        return false;
    if (!hash_parse(value->string, out))
        return json_fail(value, err, "expected a SHA-256 in 64 lower-case hexadecimal digits");
    return true;
}

bool doc_need_name(const struct json *json, const char *key, struct str *out, struct err *err)
{
    if (!json_need_str(json, key, out, err))
        return false;
    if (out->len == 0 || out->len > DOC_NAME_BYTES_MAX)
        return json_fail(json_get(json, key), err, "a name has from 1 to %d bytes",
                         DOC_NAME_BYTES_MAX);
    return true;
}

void doc_put_hash(struct json_writer *w, const struct hash *hash)
{
    char hex[HASH_HEX_BYTES];
    hash_hex(hash, hex);
    json_put_text(w, hex);
}

void doc_hash_begin(struct doc_hasher *hasher)
{
    arena_init(&hasher->arena, HASH_ARENA_MAX);
    buf_init(&hasher->text, &hasher->arena, HASH_TEXT_MAX);
    json_writer_init(&hasher->writer, &hasher->text);
}

struct hash doc_hash_end(struct doc_hasher *hasher)
{
    ASSERT(!hasher->text.overflow);
    struct hash hash = hash_bytes(hasher->text.at, hasher->text.len);
    arena_release(&hasher->arena);
    return hash;
}

void doc_join_names(const struct str *names, size_t count, char out[DOC_NAMES_BYTES])
{
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < count; i++)
        if (used + names[i].len + 3 < DOC_NAMES_BYTES)
            used += (size_t)snprintf(out + used, DOC_NAMES_BYTES - used, "%s%.*s", used ? ", " : "",
                                     STR_ARG(names[i]));
}

bool doc_is_identifier(struct str s)
{
    if (s.len == 0 || s.len > 255)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return true;
}

bool doc_refuse(struct err *err, const char *path, const char *fmt, ...)
{
    char message[ERR_TEXT_BYTES / 2];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    return err_raise(err, ERR_SEMANTIC, "%s: %s", path, message);
}

int doc_shown(struct str name)
{
    return name.len > DOC_NAME_BYTES_MAX ? DOC_NAME_BYTES_MAX : (int)name.len;
}
