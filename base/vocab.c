/*
 * The words of base/vocab.def as strings.  Each table is generated from the list that also made the
 * enum, so neither can miss a word; parsing is a linear search, the lists are short.
 */
#include "base/vocab.h"

#include <stdint.h>

#include "base/panic.h"

static const struct {
    const char *name;
    size_t bytes;
    enum dtype_kind kind;
} dtypes[] = {
#define DTYPE(id, name, bytes, kind) {name, bytes, KIND_##kind},
#include "base/vocab.def"
};

const char *dtype_name(enum dtype dtype)
{
    ASSERT((size_t)dtype < DTYPE_COUNT);
    return dtypes[dtype].name;
}

size_t dtype_bytes(enum dtype dtype)
{
    ASSERT((size_t)dtype < DTYPE_COUNT);
    return dtypes[dtype].bytes;
}

enum dtype_kind dtype_kind(enum dtype dtype)
{
    ASSERT((size_t)dtype < DTYPE_COUNT);
    return dtypes[dtype].kind;
}

bool dtype_is_float(enum dtype dtype)
{
    return dtype_kind(dtype) == KIND_FLOAT;
}

bool dtype_parse(struct str name, enum dtype *out)
{
    for (size_t i = 0; i < COUNT_OF(dtypes); i++)
        if (str_equal(name, str_from(dtypes[i].name))) {
            *out = (enum dtype)i;
            return true;
        }
    return false;
}

static const char *const role_names[] = {
#define ROLE(id, name) name,
#include "base/vocab.def"
};
static const char *const structure_names[] = {
#define STRUCTURE(id, name) name,
#include "base/vocab.def"
};
static const char *const preservation_names[] = {
#define PRESERVATION(id, name) name,
#include "base/vocab.def"
};
static const char *const primitive_names[] = {
#define PRIMITIVE(id, name) name,
#include "base/vocab.def"
};
static const char *const validity_names[] = {
#define VALIDITY(id, name) name,
#include "base/vocab.def"
};
static const char *const timing_names[] = {
#define TIMING(id, name) name,
#include "base/vocab.def"
};
static const char *const gate_names[] = {
#define GATE(id, name) name,
#include "base/vocab.def"
};
static const char *const stop_names[] = {
#define STOP(id, name) name,
#include "base/vocab.def"
};

#define NAMED_WORDS(X)                                                                             \
    X(role)                                                                                        \
    X(structure)                                                                                   \
    X(preservation)                                                                                \
    X(primitive)                                                                                   \
    X(validity)                                                                                    \
    X(timing)                                                                                      \
    X(gate)                                                                                        \
    X(stop)

#define X(word)                                                                                    \
    const char *word##_name(enum word value)                                                       \
    {                                                                                              \
        ASSERT((size_t)value < COUNT_OF(word##_names));                                            \
        return word##_names[value];                                                                \
    }                                                                                              \
    bool word##_parse(struct str name, enum word *out)                                             \
    {                                                                                              \
        for (size_t i = 0; i < COUNT_OF(word##_names); i++)                                        \
            if (str_equal(name, str_from(word##_names[i]))) {                                      \
                *out = (enum word)i;                                                               \
                return true;                                                                       \
            }                                                                                      \
        return false;                                                                              \
    }
NAMED_WORDS(X)
#undef X
