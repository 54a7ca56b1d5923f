/*
 * Binding to shapes: sizes and strides, dims as text, what is refused; and that the verify shapes
 * of all specs are small enough for interpreter and emulator.
 */
#include <string.h>

#include "solver/ir/count.h"
#include "solver/ir/op.h"
#include "tests/unit/unit.h"

enum { ARENA_BYTES_MAX = 256 << 20, DOC_BYTES_MAX = 1 << 20 };
enum { VERIFY_ITERATIONS_MAX = 1200000, VERIFY_OUTPUTS_MAX = 70000 };

#define SPEC(policy)                                                                               \
    "{\"spec\":1,\"name\":\"t\",\"dims\":{\"M\":[0,64],\"N\":[1,64],\"H\":2,\"D\":\"N / H\"},"     \
    "\"tensors\":["                                                                                \
    "{\"name\":\"x\",\"role\":\"input\",\"dtype\":\"f16\",\"shape\":[\"M\",\"N\",\"D + 1\"]},"     \
    "{\"name\":\"y\",\"role\":\"output\",\"dtype\":\"f32\",\"shape\":[\"M\",\"N\"]}],"             \
    "\"tracks\":{\"f32\":{}},\"policy\":{" policy "},"                                             \
    "\"shapes\":{\"target\":[{\"M\":4,\"N\":6}]},"                                                 \
    "\"body\":[\"y[m,n] = f32(x[m,n,n / H])\"]}"

static const struct op *parse(struct arena *arena, const char *text)
{
    struct err err;
    const struct op *op = NULL;
    assert_ok(op_parse(arena, str_from(text), "t.json", NULL, &op, &err));
    return op;
}

static void sizes_and_strides(void **state)
{
    struct arena arena;
    struct err err;
    const struct bound_op *bound = NULL;
    struct formula_env dims;
    (void)state;
    arena_init(&arena, ARENA_BYTES_MAX);
    const struct op *op = parse(&arena, SPEC(""));
    assert_ok(op_parse_dims(&arena, op, STR_LIT("M=3,N=8"), &dims, &err));
    assert_ok(op_bind(&arena, op, &dims, &bound, &err));
    assert_int_equal(bound->dims[3], 4);
    assert_int_equal(bound->tensors[0].shape[2], 5);
    assert_int_equal(bound->tensors[0].strides[0], 40);
    assert_int_equal(bound->tensors[0].strides[1], 5);
    assert_int_equal(bound->tensors[0].strides[2], 1);
    assert_int_equal(bound->tensors[0].count, 120);
    assert_int_equal(bound->tensors[0].bytes, 240);
    assert_int_equal(bound->extents[0][1], 8);
    struct buf text;
    buf_init(&text, &arena, DOC_BYTES_MAX);
    op_print_dims(&text, bound);
    assert_true(str_equal(buf_view(&text), STR_LIT("M=3 N=8")));
    arena_release(&arena);
}

struct refused {
    const char *dims, *want;
};
static const struct refused refusals[] = {
    {"M=3", "t: no size for dim 'N'"},
    {"M=3 N=65", "t: N=65 is outside the dim's range 1..64"},
    {"M=3 N=8 M=3", "t: dim 'M' is given twice"},
    {"M=3 N=8 H=3", "t: dim 'H' is 2, it cannot be 3"},
    {"M=0 N=8", "t: M=0: dims of size 0 need \"zero_dims\": true in the policy"},
    {"M=3 N=8 K=1", "'t' has no dim 'K'"},
    {"M=3 N=x", "'N=x' is no size of a dim; write M=4096,N=128"},
    {"M=3 N=-1", "'N=-1' is no size of a dim; write M=4096,N=128"},
    {"M=3 N", "'N' is no size of a dim; write M=4096,N=128"},
    {"M=99999999999999999999", "'M=99999999999999999999' is no size of a dim; write M=4096,N=128"},
};

static void shapes_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        struct arena arena;
        struct err err = {0};
        const struct bound_op *bound = NULL;
        struct formula_env dims;
        arena_init(&arena, ARENA_BYTES_MAX);
        const struct op *op = parse(&arena, SPEC(""));
        bool ok = op_parse_dims(&arena, op, str_from(refusals[i].dims), &dims, &err) &&
                  op_bind(&arena, op, &dims, &bound, &err);
        assert_false(ok);
        assert_string_equal(err.text, refusals[i].want);
        arena_release(&arena);
    }
}

/* H does not divide an odd N: the access that was inside at N=6 is checked again at N=7. */
static void bounds_are_checked_at_each_shape(void **state)
{
    struct arena arena;
    struct err err;
    const struct bound_op *bound = NULL;
    struct formula_env dims;
    (void)state;
    arena_init(&arena, ARENA_BYTES_MAX);
    char *text = str_copy(&arena, str_from(SPEC("")));
    memcpy(strstr(text, "\"D + 1\""), "    \"D\"", 7); /* as wide as D, no more */
    const struct op *op = parse(&arena, text);
    assert_ok(op_parse_dims(&arena, op, STR_LIT("M=3,N=8"), &dims, &err));
    assert_ok(op_bind(&arena, op, &dims, &bound, &err));
    assert_ok(op_parse_dims(&arena, op, STR_LIT("M=3,N=7"), &dims, &err));
    assert_false(op_bind(&arena, op, &dims, &bound, &err));
    assert_string_equal(
        err.text, "t: body line 1, column 22: subscript 2 of 'x' runs over 0..3, outside 0..2 at "
                  "M=3 N=7\n  y[m,n] = f32(x[m,n,n / H])\n                       ^\n"
                  "  if it may leave the tensor, write pad(...) for 0 or pad(..., value)");
    arena_release(&arena);
}

static void zero_dims_where_allowed(void **state)
{
    struct arena arena;
    struct err err;
    const struct bound_op *bound = NULL;
    struct formula_env dims;
    (void)state;
    arena_init(&arena, ARENA_BYTES_MAX);
    const struct op *op = parse(&arena, SPEC("\"zero_dims\":true"));
    assert_ok(op_parse_dims(&arena, op, STR_LIT("M=0,N=8"), &dims, &err));
    assert_ok(op_bind(&arena, op, &dims, &bound, &err));
    assert_int_equal(bound->tensors[0].count, 0);
    assert_int_equal(op_count(bound).bytes_read, 0);
    arena_release(&arena);
}

static bool find_spec(void *context, struct arena *arena, struct str name, struct str *text)
{
    char path[300];
    struct err err;
    snprintf(path, sizeof(path), "%s/%.*s.json", (const char *)context, STR_ARG(name));
    return file_read(arena, path, DOC_BYTES_MAX, text, &err);
}

static void verify_is_small(struct arena *arena, const struct op *op)
{
    struct err err;
    assert_true(op->verify_count >= 3);
    for (size_t v = 0; v < op->verify_count; v++) {
        const struct bound_op *bound = NULL;
        int64_t iterations = 0;
        int64_t outputs = 0;
        assert_ok(op_bind_shape(arena, op, &op->verify[v], &bound, &err));
        for (size_t s = 0; s < op->stmt_count; s++)
            iterations += op_iterations(bound, s);
        for (size_t t = 0; t < op->declared_count; t++)
            if (op->tensors[t].role == ROLE_OUTPUT)
                outputs += bound->tensors[t].count;
        if (iterations > VERIFY_ITERATIONS_MAX || outputs > VERIFY_OUTPUTS_MAX)
            fail_msg("%.*s: verify shape %zu has %lld iterations, %lld outputs", STR_ARG(op->name),
                     v, (long long)iterations, (long long)outputs);
    }
}

static void verify_shapes_are_small(void **state)
{
    static const char *const folders[] = {"kernels/ops", "tests/cases/ops"};
    (void)state;
    for (size_t f = 0; f < COUNT_OF(folders); f++) {
        struct arena arena;
        struct err err;
        const char *const *names = NULL;
        size_t count = 0;
        struct op_library library = {find_spec, (void *)folders[f]};
        arena_init(&arena, ARENA_BYTES_MAX);
        assert_ok(file_list(&arena, folders[f], ".json", 1000, &names, &count, &err));
        for (size_t i = 0; i < count; i++) {
            struct str text;
            const struct op *op = NULL;
            const char *path = path_join(&arena, folders[f], names[i]);
            assert_ok(file_read(&arena, path, DOC_BYTES_MAX, &text, &err));
            assert_ok(op_parse(&arena, text, names[i], &library, &op, &err));
            verify_is_small(&arena, op);
            /* a spec is found by its name */
            assert_int_equal(strlen(names[i]), op->name.len + strlen(".json"));
            assert_memory_equal(names[i], op->name.at, op->name.len);
        }
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_and_strides),
        cmocka_unit_test(shapes_are_refused),
        cmocka_unit_test(bounds_are_checked_at_each_shape),
        cmocka_unit_test(zero_dims_where_allowed),
        cmocka_unit_test(verify_shapes_are_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
