#ifndef BASE_VOCAB_H
#define BASE_VOCAB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/str.h"

/*
 * The enumerations of base/vocab.def with their names.  `X_name` gives the stored string; `X_parse`
 * finds the value of a string and leaves *out untouched when there is none.
 */
enum dtype {
#define DTYPE(id, name, bytes, kind) DTYPE_##id,
#include "base/vocab.def"
    DTYPE_COUNT
};
enum dtype_kind { KIND_FLOAT, KIND_INT, KIND_UINT, KIND_BOOL };
enum role {
#define ROLE(id, name) ROLE_##id,
#include "base/vocab.def"
    ROLE_COUNT
};
enum structure {
#define STRUCTURE(id, name) STRUCTURE_##id,
#include "base/vocab.def"
    STRUCTURE_COUNT
};
enum preservation {
#define PRESERVATION(id, name) PRESERVATION_##id,
#include "base/vocab.def"
    PRESERVATION_COUNT
};
enum primitive {
#define PRIMITIVE(id, name) PRIMITIVE_##id,
#include "base/vocab.def"
    PRIMITIVE_COUNT
};
enum validity {
#define VALIDITY(id, name) VALIDITY_##id,
#include "base/vocab.def"
    VALIDITY_COUNT
};
enum timing {
#define TIMING(id, name) TIMING_##id,
#include "base/vocab.def"
    TIMING_COUNT
};
enum gate {
#define GATE(id, name) GATE_##id,
#include "base/vocab.def"
    GATE_COUNT
};
enum stop {
#define STOP(id, name) STOP_##id,
#include "base/vocab.def"
    STOP_COUNT
};

const char *dtype_name(enum dtype dtype);
size_t dtype_bytes(enum dtype dtype);
enum dtype_kind dtype_kind(enum dtype dtype);
bool dtype_is_float(enum dtype dtype);

#define VOCAB_WORDS(X)                                                                             \
    X(dtype)                                                                                       \
    X(role)                                                                                        \
    X(structure)                                                                                   \
    X(preservation)                                                                                \
    X(primitive)                                                                                   \
    X(validity)                                                                                    \
    X(timing)                                                                                      \
    X(gate)                                                                                        \
    X(stop)
#define X(word) bool word##_parse(struct str name, enum word *out) MUST_USE;
VOCAB_WORDS(X)
#undef X
const char *role_name(enum role value);
const char *structure_name(enum structure value);
const char *preservation_name(enum preservation value);
const char *primitive_name(enum primitive value);
const char *validity_name(enum validity value);
const char *timing_name(enum timing value);
const char *gate_name(enum gate value);
const char *stop_name(enum stop value);

#endif
