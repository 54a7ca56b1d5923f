#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/*
 * JSON in and out.  Reading gives an immutable tree in the arena whose nodes know their place, so
 * each complaint reads "softmax.json: tensors[1].dtype: ...".  Writing is canonical: keys sorted by
 * bytes, no spaces, integers in decimal, other numbers the shortest text that reads back as the
 * same double; equal documents therefore have equal bytes and equal hashes.
 *
 * Duplicate keys, NaN, trailing bytes, nesting over JSON_DEPTH_MAX and invalid UTF-8 are errors.
 */
enum { JSON_DEPTH_MAX = 64, JSON_BYTES_MAX = 64 << 20 };

enum json_kind { JSON_NULL, JSON_BOOL, JSON_INT, JSON_REAL, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
    enum json_kind kind;
    bool boolean;
    int64_t integer;
    double real;       /* also set for JSON_INT */
    struct str string; /* NUL-terminated behind len */
    size_t count;      /* of an array or object */
    const struct json *items;
    const struct str *keys; /* of an object, in document order */
    const struct json *parent;
    const char *source; /* name of the document, on every node */
    struct str key;     /* in an object parent */
    size_t index;       /* in the parent */
};

bool json_parse(struct arena *arena, struct str text, const char *source, const struct json **out,
                struct err *err) MUST_USE;

/* Raise "SOURCE: PATH: message"; false. */
#define json_fail(at, err, ...) err_failed(json_fail_at((at), (err), __VA_ARGS__))

bool json_fail_at(const struct json *at, struct err *err, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Member of an object, NULL if absent (or if `object` is no object). */
const struct json *json_get(const struct json *object, const char *key);

/* Required members; the error names the place, what was expected and what was found. */
bool json_need(const struct json *object, const char *key, enum json_kind kind,
               const struct json **out, struct err *err) MUST_USE;
bool json_need_str(const struct json *object, const char *key, struct str *out,
                   struct err *err) MUST_USE;
bool json_need_int(const struct json *object, const char *key, int64_t min, int64_t max,
                   int64_t *out, struct err *err) MUST_USE;
/* Optional members keep *out when absent. */
bool json_opt_str(const struct json *object, const char *key, struct str *out,
                  struct err *err) MUST_USE;
bool json_opt_int(const struct json *object, const char *key, int64_t min, int64_t max,
                  int64_t *out, struct err *err) MUST_USE;
bool json_opt_bool(const struct json *object, const char *key, bool *out, struct err *err) MUST_USE;
bool json_opt_real(const struct json *object, const char *key, double *out,
                   struct err *err) MUST_USE;
/* A number, or one of the strings "nan", "inf", "-inf" that json_put_real writes. */
bool json_number(const struct json *value, double *out, struct err *err) MUST_USE;
bool json_need_real(const struct json *object, const char *key, double *out,
                    struct err *err) MUST_USE;
/* A required array of min to max items. */
bool json_need_array(const struct json *object, const char *key, size_t min, size_t max,
                     const struct json **out, struct err *err) MUST_USE;
/* A string that is one of `words`; *out is its position. */
bool json_word(const struct json *value, const char *const *words, size_t count, size_t *out,
               struct err *err) MUST_USE;
bool json_need_word(const struct json *object, const char *key, const char *const *words,
                    size_t count, size_t *out, struct err *err) MUST_USE;
/* Every key of `object` must be in the NULL-ended list; the error names the nearest known key. */
bool json_only(const struct json *object, const char *const *known, struct err *err) MUST_USE;

/* Canonical text of a tree. */
void json_write(struct buf *out, const struct json *value);

/*
 * A writer for documents built by hand.  Members may be given in any order: an object is sorted
 * when it closes.  Misuse (value without key, unclosed container) is a bug and aborts.
 */
struct json_writer {
    struct buf *out;
    struct json_frame *top;
};
void json_writer_init(struct json_writer *w, struct buf *out);
void json_open_object(struct json_writer *w);
void json_close_object(struct json_writer *w);
void json_open_array(struct json_writer *w);
void json_close_array(struct json_writer *w);
void json_key(struct json_writer *w, const char *key);
void json_put_str(struct json_writer *w, struct str s); /* invalid UTF-8 becomes U+FFFD */
void json_put_text(struct json_writer *w, const char *text);
void json_put_int(struct json_writer *w, int64_t value);
void json_put_real(struct json_writer *w,
                   double value); /* non-finite: the string "nan", "inf", "-inf" */
void json_put_bool(struct json_writer *w, bool value);
void json_put_null(struct json_writer *w);
void json_put_tree(struct json_writer *w, const struct json *value);
/* A key and its value. */
void json_member_str(struct json_writer *w, const char *key, struct str s);
void json_member_text(struct json_writer *w, const char *key, const char *text);
void json_member_int(struct json_writer *w, const char *key, int64_t value);
void json_member_real(struct json_writer *w, const char *key, double value);
void json_member_bool(struct json_writer *w, const char *key, bool value);

/* ---- bytes, documents, 64 bits without sign (json_bytes.c) ---- */

/* Valid UTF-8 without NUL: a JSON string holds it unchanged. */
bool json_is_text(struct str s);
/* Member KEY if the bytes are text, else KEY_base64. */
/* `s` itself when it is such a text; else a copy with U+FFFD for each byte that is in the way. */
struct str json_text_clean(struct arena *arena, struct str s);
void json_member_bytes(struct json_writer *w, const char *key, struct str bytes);
bool json_need_bytes(struct arena *arena, const struct json *object, const char *key,
                     struct str *out, struct err *err) MUST_USE;
/* A document kept as its canonical text: nested when written, text again when read.  A text that is
 * no JSON is written as a string, so that printing cannot fail. */
bool json_is_canonical(struct str text);
void json_member_document(struct json_writer *w, const char *key, struct str text);
bool json_need_document(struct arena *arena, const struct json *object, const char *key,
                        struct str *out, struct err *err) MUST_USE;
/* 16 lower-case hexadecimal digits. */
void json_member_u64(struct json_writer *w, const char *key, uint64_t value);
bool json_need_u64(const struct json *object, const char *key, uint64_t *out,
                   struct err *err) MUST_USE;

#endif
