/*
 * Values that JSON has no type for: bytes, documents kept as text, and integers of 64 bits without
 * sign.
 *
 * Bytes that are text (UTF-8 without NUL) stay readable: member "source" holds them as they are.
 * Others go into "source_base64" (RFC 4648, padded).  Reading is strict, so that equal bytes have
 * one encoding.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/panic.h"

enum { KEY_BYTES_MAX = 64, U64_DIGITS = 16 };

/* The writer keeps an old copy at each of JSON_DEPTH_MAX levels, and the tree is larger than text.
 */
#define SCRATCH_BYTES_MAX ((size_t)128 * JSON_BYTES_MAX)

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* ---- base64 ---- */

static void encode(struct buf *out, struct str bytes)
{
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t group = 0;
        for (size_t j = 0; j < 3; j++)
            group = group << 8 | (j < left ? (unsigned char)bytes.at[i + j] : 0);
        for (size_t j = 0; j < 4; j++)
            buf_char(out, j <= left ? alphabet[group >> (18 - 6 * j) & 63] : '=');
    }
}

/* The value of a digit, -1 for another character. */
static int digit_value(char c)
{
    const char *at = c ? strchr(alphabet, c) : NULL;
    return at ? (int)(at - alphabet) : -1;
}

static bool decode(struct arena *arena, struct str text, struct str *out)
{
    if (text.len % 4 != 0)
        return false;
    size_t padding = 0;
    while (padding < 2 && padding < text.len && text.at[text.len - 1 - padding] == '=')
        padding++;
    size_t len = text.len / 4 * 3 - padding;
    char *bytes = arena_array(arena, char, len + 1);
    for (size_t i = 0; i < text.len; i += 4) {
        size_t digits = i + 4 < text.len ? 4 : 4 - padding;
        uint32_t group = 0;
        for (size_t j = 0; j < 4; j++) {
            int value = j < digits ? digit_value(text.at[i + j]) : 0;
            if (value < 0)
                return false;
            group = group << 6 | (uint32_t)value;
        }
        for (size_t j = 0; j < 3; j++) {
            unsigned char byte = group >> (16 - 8 * j) & 255;
            if (j + 1 < digits)
                bytes[i / 4 * 3 + j] = (char)byte;
            else if (byte != 0)
                return false;
        }
    }
    *out = (struct str){bytes, len};
    return true;
}

/* ---- members ---- */

static const char *base64_key(const char *key, char out[KEY_BYTES_MAX])
{
    int len = snprintf(out, KEY_BYTES_MAX, "%s_base64", key);
    ASSERT(len > 0 && len < KEY_BYTES_MAX);
    return out;
}

void json_member_bytes(struct json_writer *w, const char *key, struct str bytes)
{
    char other[KEY_BYTES_MAX];
    if (json_is_text(bytes)) {
        json_member_str(w, key, bytes);
        return;
    }
    struct buf text;
    buf_init(&text, w->out->arena, bytes.len / 3 * 4 + 4);
    encode(&text, bytes);
    json_member_str(w, base64_key(key, other), buf_view(&text));
}

bool json_need_bytes(struct arena *arena, const struct json *object, const char *key,
                     struct str *out, struct err *err)
{
    char other[KEY_BYTES_MAX];
    const struct json *text = json_get(object, key);
    const struct json *encoded = json_get(object, base64_key(key, other));
    if (text && encoded)
        return json_fail(object, err, "\"%s\" and \"%s\" are both there; one is enough", key,
                         other);
    if (!encoded)
        return json_need_str(object, key, out, err);
    if (encoded->kind != JSON_STRING || !decode(arena, encoded->string, out))
        return json_fail(encoded, err, "expected base64 with padding and without spaces");
    return true;
}

/* ---- documents ---- */

bool json_is_canonical(struct str text)
{
    struct arena scratch;
    struct buf out;
    const struct json *json;
    struct err err;
    arena_init(&scratch, SCRATCH_BYTES_MAX);
    buf_init(&out, &scratch, JSON_BYTES_MAX);
    bool ok = json_parse(&scratch, text, "", &json, &err);
    if (ok) {
        json_write(&out, json);
        ok = !out.overflow && str_equal(buf_view(&out), text);
    }
    arena_release(&scratch);
    return ok;
}

void json_member_document(struct json_writer *w, const char *key, struct str text)
{
    const struct json *json;
    struct err err;
    json_key(w, key);
    if (json_parse(w->out->arena, text, "", &json, &err))
        json_put_tree(w, json);
    else
        json_put_str(w, text);
}

bool json_need_document(struct arena *arena, const struct json *object, const char *key,
                        struct str *out, struct err *err)
{
    struct buf text;
    const struct json *value = json_get(object, key);
    if (!value)
        return json_fail(object, err, "\"%s\" is missing; it must be a document", key);
    buf_init(&text, arena, JSON_BYTES_MAX);
    json_write(&text, value);
    return buf_finish(&text, key, out, err);
}

/* ---- 64 bits ---- */

void json_member_u64(struct json_writer *w, const char *key, uint64_t value)
{
    char digits[U64_DIGITS + 1];
    snprintf(digits, sizeof(digits), "%016" PRIx64, value);
    json_member_text(w, key, digits);
}

bool json_need_u64(const struct json *object, const char *key, uint64_t *out, struct err *err)
{
    const struct json *value;
    uint64_t number = 0;
    if (!json_need(object, key, JSON_STRING, &value, err))
        return false;
    for (size_t i = 0; i < value->string.len && value->string.len == U64_DIGITS; i++) {
        char c = value->string.at[i];
        bool decimal = c >= '0' && c <= '9';
        if (!decimal && (c < 'a' || c > 'f'))
            break;
        number = number << 4 | (uint64_t)(decimal ? c - '0' : c - 'a' + 10);
        if (i + 1 == U64_DIGITS) {
            *out = number;
            return true;
        }
    }
    return json_fail(value, err, "expected %d lower-case hexadecimal digits", U64_DIGITS);
}
