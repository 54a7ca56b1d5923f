/* Which ops cannot tell a right kernel from a fake one. */
#include <string.h>

#include "base/attr.h"

#include "tests/unit/unit.h"
#include "verify/check/check.h"

struct admission_case {
    const char *name, *tensors, *body;
    const char *flags;
};

#define VECTORS                                                                                    \
    "{\"name\":\"x\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[\"n\"]},"                     \
    "{\"name\":\"y\",\"role\":\"output\",\"dtype\":\"f32\",\"shape\":[\"n\"]}"
#define TO_SCALAR                                                                                  \
    "{\"name\":\"x\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[\"n\"]},"                     \
    "{\"name\":\"y\",\"role\":\"output\",\"dtype\":\"f32\",\"shape\":[]}"
#define TO_INDEX                                                                                   \
    "{\"name\":\"x\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[\"n\",8]},"                   \
    "{\"name\":\"y\",\"role\":\"output\",\"dtype\":\"i64\",\"shape\":[\"n\"]}"

static const struct admission_case cases[] = {
    {"a map", VECTORS, "\"y[i] = x[i] * 2 + 1\"", ""},
    {"a sum", TO_SCALAR, "\"y[] = sum(i) x[i]\"", ""},
    {"an index", TO_INDEX, "\"y[i] = argmax(j) x[i,j]\"", ""},
    {"identity", VECTORS, "\"y[i] = x[i]\"", "degenerate: a copy of an input would pass"},
    {"nothing", VECTORS, "\"y[i] = x[i] * 0\"",
     "degenerate: zeros, a constant, another seed's output, a permuted output would pass"},
    {"clamped away", VECTORS, "\"y[i] = max(min(x[i], 0), 0)\"",
     "degenerate: zeros, a constant, another seed's output, a permuted output would pass"},
    {"position only", VECTORS, "\"y[i] = f32(i) + 0 * x[i]\"",
     "degenerate: another seed's output would pass"},
};

static void flags_of(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct check_options options = {.secret = 7};
        struct arena arena;
        struct str flags = {0};
        const struct op *op;
        struct buf spec;
        struct err err;

        arena_init(&arena, (size_t)1 << 30);
        buf_init(&spec, &arena, 1 << 16);
        buf_printf(&spec,
                   "{\"spec\":1,\"name\":\"t\",\"dims\":{\"n\":[1,4096]},\"tensors\":[%s],"
                   "\"body\":[%s],\"policy\":{\"finite_inputs\":true},\"tracks\":{\"f32\":{}},"
                   "\"shapes\":{\"target\":[{\"n\":4096}],\"verify\":[]}}",
                   cases[i].tensors, cases[i].body);
        if (!op_parse(&arena, buf_view(&spec), cases[i].name, NULL, &op, &err) ||
            !check_admission(&arena, op, &options, &flags, &err))
            fail_msg("%s: %s", cases[i].name, err.text);
        if (!str_equal(flags, str_from(cases[i].flags)))
            fail_msg("%s: \"%.*s\"", cases[i].name, STR_ARG(flags));
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(flags_of)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
