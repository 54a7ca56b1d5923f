#ifndef SOLVER_IR_DOC_INT_H
#define SOLVER_IR_DOC_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"

#include "solver/ir/formula.h"

/* What the JSON documents of solver/ir share. */

/* An integer or the text of a formula. */
bool doc_formula(struct arena *arena, const struct json *value, const struct formula **out,
                 struct err *err) MUST_USE;
bool doc_need_formula(struct arena *arena, const struct json *object, const char *key,
                      const struct formula **out, struct err *err) MUST_USE;
/* Constants as integers, all else as text. */
void doc_put_formula(struct json_writer *w, const struct formula *formula);

/* A required array of exactly three integers from min to max. */
bool doc_need_triple(const struct json *object, const char *key, int64_t min, int64_t max,
                     int64_t out[3], struct err *err) MUST_USE;
void doc_put_triple(struct json_writer *w, const int64_t values[3]);

/* A required string of 1 to DOC_NAME_BYTES_MAX bytes. */
bool doc_need_name(const struct json *object, const char *key, struct str *out,
                   struct err *err) MUST_USE;

bool doc_need_hash(const struct json *object, const char *key, struct hash *out,
                   struct err *err) MUST_USE;
void doc_put_hash(struct json_writer *w, const struct hash *hash);

/* Hash of a document: print to &hasher->writer between the two calls. */
struct doc_hasher {
    struct arena arena;
    struct buf text;
    struct json_writer writer;
};
void doc_hash_begin(struct doc_hasher *hasher);
struct hash doc_hash_end(struct doc_hasher *hasher);

/* "a, b, c" of as many names as fit. */
enum { DOC_NAMES_BYTES = 240 };
void doc_join_names(const struct str *names, size_t count, char out[DOC_NAMES_BYTES]);

/* Raise "PATH: message" for a document that may not have come from JSON; false. */
enum { DOC_PATH_BYTES = 64, DOC_NAME_BYTES_MAX = 64 };
bool doc_refuse(struct err *err, const char *path, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Bytes of a foreign name to show in an error: "%.*s", doc_shown(name), name.at. */
int doc_shown(struct str name);

struct manifest;
/* What must hold of a manifest whatever the op is. */
bool manifest_check_self(const struct manifest *manifest, struct err *err) MUST_USE;

struct plan;
bool plan_check_self(const struct plan *plan, struct err *err) MUST_USE;

/* A C identifier of 1 to 255 bytes. */
bool doc_is_identifier(struct str s);

#endif
