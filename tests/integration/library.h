#ifndef TESTS_INTEGRATION_LIBRARY_H
#define TESTS_INTEGRATION_LIBRARY_H

#include <string.h>

#include "solver/ir/ir.h"
#include "synth/synth.h"
#include "tests/unit/unit.h"

/* The specs of kernels/ops, for tests that go over all of them, and the limits they are planned
 * for: an H200's. */
static const struct skeleton_limits library_limits = {.arch = "sm_90a", .threads_max = 1024};

static inline bool library_find(void *context UNUSED, struct arena *arena, struct str name,
                                struct str *text)
{
    struct err err;
    char path[128];
    snprintf(path, sizeof(path), "kernels/ops/%.*s.json", STR_ARG(name));
    return file_read(arena, path, OP_SPEC_BYTES_MAX, text, &err);
}

/* A spec by name or file name ("softmax", "softmax.json"), at its first target. */
static inline const struct bound_op *library_load(struct arena *arena, const char *name)
{
    const struct op_library library = {library_find, NULL};
    const char *end = strstr(name, ".json");
    const struct str stem = {name, end ? (size_t)(end - name) : strlen(name)};
    const struct op *op;
    const struct bound_op *bound;
    struct str text;
    struct err err = {0};
    assert_true(library_find(NULL, arena, stem, &text));
    assert_ok(op_parse(arena, text, name, &library, &op, &err));
    assert_ok(op_bind_shape(arena, op, &op->targets[0], &bound, &err));
    return bound;
}

#endif
