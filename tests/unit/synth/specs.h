#ifndef TESTS_UNIT_SYNTH_SPECS_H
#define TESTS_UNIT_SYNTH_SPECS_H

#include <string.h>

#include "synth/synth.h"
#include "tests/unit/unit.h"

/* Specs for the tests of synth. */
static const struct skeleton_limits spec_limits = {.arch = "sm_90a", .threads_max = 1024};

static inline bool spec_find(void *context, struct arena *arena, struct str name, struct str *text)
{
    char path[256];
    struct err err;
    (void)context;
    snprintf(path, sizeof(path), "kernels/ops/%.*s.json", STR_ARG(name));
    return file_exists(path) && file_read(arena, path, 1 << 20, text, &err);
}

static inline const struct op *spec_parse(struct arena *arena, struct str text, const char *source)
{
    const struct op_library library = {spec_find, NULL};
    const struct op *op = NULL;
    struct err err;
    assert_ok(op_parse(arena, text, source, &library, &op, &err));
    return op;
}

static inline const struct op *spec_load(struct arena *arena, const char *path)
{
    struct str text = {"", 0};
    struct err err;
    assert_ok(file_read(arena, path, 1 << 20, &text, &err));
    return spec_parse(arena, text, path);
}

static inline const struct plan *spec_plan(struct arena *arena, const struct op *op)
{
    const struct bound_op *target;
    const struct plan *plan = NULL;
    struct err err;
    assert_ok(op_bind_shape(arena, op, &op->targets[0], &target, &err));
    assert_ok(plan_skeleton(arena, target, NULL, &spec_limits, &plan, &err));
    return plan;
}

/* Whether the text has the needle; shows the text when it has not. */
static inline void assert_has(struct arena *arena, struct str text, const char *needle)
{
    if (strstr(str_copy(arena, text), needle) == NULL)
        fail_msg("no \"%s\" in\n%.*s", needle, STR_ARG(text));
}

#endif
