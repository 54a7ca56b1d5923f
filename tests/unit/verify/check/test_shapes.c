/* Which shapes a candidate is verified at. */
#include <inttypes.h>
#include <string.h>

#include "base/attr.h"

#include "tests/unit/unit.h"
#include "verify/check/check_int.h"

static const char vector_spec[] =
    "{\"spec\":1,\"name\":\"double\",\"dims\":{\"n\":[1,1048576]},\"tensors\":["
    "{\"name\":\"x\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[\"n\"]},"
    "{\"name\":\"y\",\"role\":\"output\",\"dtype\":\"f32\",\"shape\":[\"n\"]}],"
    "\"body\":[\"y[i] = x[i] + x[i]\"],\"tracks\":{\"f32\":{}},"
    "\"shapes\":{\"target\":[{\"n\":1048576}],\"verify\":[{\"n\":5}]}}";

static const char matmul_spec[] =
    "{\"spec\":1,\"name\":\"mm\",\"dims\":{\"M\":[1,8192],\"N\":[1,8192],\"K\":[1,8192]},"
    "\"tensors\":["
    "{\"name\":\"a\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[\"M\",\"K\"]},"
    "{\"name\":\"b\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[\"K\",\"N\"]},"
    "{\"name\":\"c\",\"role\":\"output\",\"dtype\":\"f32\",\"shape\":[\"M\",\"N\"]}],"
    "\"body\":[\"c[m,n] = sum(k) a[m,k] * b[k,n]\"],\"tracks\":{\"f32\":{}},"
    "\"shapes\":{\"target\":[{\"M\":4096,\"N\":4096,\"K\":4096}],\"verify\":[]}}";

struct fixture {
    struct arena arena;
    const struct op *op;
    const struct shape *shapes;
    size_t count;
};

static void derive(struct fixture *f, const char *spec, const char *guard)
{
    const struct formula *parsed = NULL;
    struct err err;

    arena_init(&f->arena, (size_t)1 << 30);
    assert_ok(op_parse(&f->arena, str_from(spec), "spec", NULL, &f->op, &err));
    if (guard != NULL)
        assert_ok(formula_parse(&f->arena, str_from(guard), "guard", &parsed, &err));
    assert_ok(check_shapes(&f->arena, f->op, NULL, parsed, &f->shapes, &f->count, &err));
}

static int64_t value(const struct fixture *f, size_t shape, const char *dim)
{
    return f->shapes[shape].values[op_dim_find(f->op, str_from(dim))];
}

static bool some(const struct fixture *f, const char *dim, int64_t at_least, int64_t at_most)
{
    for (size_t i = 0; i < f->count; i++)
        if (value(f, i, dim) >= at_least && value(f, i, dim) <= at_most)
            return true;
    return false;
}

static void edges_and_large(void **state)
{
    struct fixture f;

    (void)state;
    derive(&f, vector_spec, NULL);
    assert_true(some(&f, "n", 5, 5));
    assert_true(some(&f, "n", 1, 1));
    assert_true(some(&f, "n", 33, 33));
    assert_true(some(&f, "n", 31, 31));
    assert_true(some(&f, "n", 70000, 1048576));
    arena_release(&f.arena);
}

static void each_dim_has_edges(void **state)
{
    static const char *const dims[] = {"M", "N", "K"};
    struct fixture f;

    (void)state;
    derive(&f, matmul_spec, NULL);
    for (size_t i = 0; i < COUNT_OF(dims); i++) {
        assert_true(some(&f, dims[i], 1, 1));
        assert_true(some(&f, dims[i], 33, 33));
        assert_true(some(&f, dims[i], 1024, 8192));
    }
    for (size_t i = 1; i < f.count; i++) {
        const struct bound_op *a, *b;
        struct err err;

        assert_ok(op_bind_shape(&f.arena, f.op, &f.shapes[i - 1], &a, &err));
        assert_ok(op_bind_shape(&f.arena, f.op, &f.shapes[i], &b, &err));
        assert_true(shape_price(a, NULL) <= shape_price(b, NULL));
    }
    arena_release(&f.arena);
}

static void guard_is_kept(void **state)
{
    static const char *const guards[] = {
        "N % 128 == 0 && K % 32 == 0",
        "K == 1024",
        "M * N <= 4096 && M > 7",
        "N == 2 * M",
        "M <= 3 || N <= 3",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(guards); i++) {
        struct fixture f;
        struct err err;

        derive(&f, matmul_spec, guards[i]);
        if (f.count < 3)
            fail_msg("%s: %zu shapes", guards[i], f.count);
        for (size_t s = 0; s < f.count; s++) {
            const struct formula *guard;
            const struct bound_op *bound;

            assert_ok(formula_parse(&f.arena, str_from(guards[i]), "guard", &guard, &err));
            assert_ok(op_bind_shape(&f.arena, f.op, &f.shapes[s], &bound, &err));
            assert_true(guard_admits(guard, bound));
        }
        arena_release(&f.arena);
    }
}

/* Dearer than SHAPE_PRICE_MAX, and yet checked. */
static void guard_that_leaves_dear_ones(void **state)
{
    struct fixture f;

    (void)state;
    derive(&f, matmul_spec, "M >= 96 && N >= 96 && K >= 256");
    assert_int_equal(f.count, 1);
    assert_true(some(&f, "K", 256, 2048));
    arena_release(&f.arena);
}

static void guard_that_leaves_nothing(void **state)
{
    static const char *const guards[] = {"false", "M * N * K == 68719476736", "N > 8192"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(guards); i++) {
        struct fixture f;

        derive(&f, matmul_spec, guards[i]);
        assert_int_equal(f.count, 0);
        arena_release(&f.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_and_large),
        cmocka_unit_test(each_dim_has_edges),
        cmocka_unit_test(guard_is_kept),
        cmocka_unit_test(guard_that_leaves_dear_ones),
        cmocka_unit_test(guard_that_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
