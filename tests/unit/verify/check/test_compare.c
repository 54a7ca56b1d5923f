/* Element by element: which value is right, and which is the worst. */
#include <math.h>

#include "base/attr.h"
#include "base/num.h"

#include "tests/unit/unit.h"
#include "verify/check/check_int.h"

struct element_case {
    const char *name;
    enum dtype dtype;
    double got, want, bound;
    bool right;
};

static const struct element_case elements[] = {
    {"equal", DTYPE_F32, 1.5, 1.5, 0, true},
    {"inside the bound", DTYPE_F32, 1.5, 1.25, 0.25, true},
    {"outside the bound", DTYPE_F32, 1.5, 1.25, 0.24, false},
    {"exact is demanded", DTYPE_F32, 1.0000001192092896, 1, 0, false},
    {"minus zero is zero", DTYPE_F32, -0.0, 0, 0, true},
    {"NaN for a number", DTYPE_F32, NAN, 1, 1e30, false},
    {"number for a NaN", DTYPE_F32, 1, NAN, 1e30, false},
    {"NaN for a NaN", DTYPE_F32, NAN, NAN, 0, true},
    {"infinity for infinity", DTYPE_F32, INFINITY, INFINITY, 0, true},
    {"the other infinity", DTYPE_F32, -INFINITY, INFINITY, 0, false},
    {"number for infinity", DTYPE_F32, 3e38, INFINITY, 0, false},
    {"NaN for infinity", DTYPE_F32, NAN, INFINITY, 0, false},
    {"infinity for a number", DTYPE_F32, INFINITY, 1, 1e30, false},
    {"f16 overflow out of reach", DTYPE_F16, INFINITY, 65500, 2, false},
    {"f16 overflow reached by the bound", DTYPE_F16, INFINITY, 65500, 8, true},
    {"f16 overflow on the wrong side", DTYPE_F16, -INFINITY, 65500, 64, false},
};

static void one_element(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(elements); i++) {
        const struct element_case *c = &elements[i];
        const struct expectation expected = {c->dtype, 1, &c->want, &c->bound, NULL};
        struct comparison found;
        uint64_t storage = 0;

        elem_from_double(c->dtype, &storage, 0, c->got);
        compare_floats(&expected, &storage, &found);
        if ((found.wrong == 0) != c->right)
            fail_msg("%s: found %s", c->name, c->right ? "wrong" : "right");
        assert_int_equal(found.compared, 1);
        assert_int_equal(found.worst_element, 0);
        assert_true((found.ratio <= 1) == c->right);
    }
}

static void worst_of_many(void **state)
{
    static const double want[] = {0, 1, 2, NAN, 4};
    static const double bound[] = {1, 1, 1, 0, 0.5};
    const struct expectation expected = {DTYPE_F32, 5, want, bound, NULL};
    const float got[] = {0.5F, 1.75F, 2, NAN, 4.25F};
    struct comparison found;

    (void)state;
    compare_floats(&expected, got, &found);
    assert_int_equal(found.wrong, 0);
    assert_int_equal(found.compared, 5);
    assert_int_equal(found.worst_element, 1);
    assert_true(found.ratio == 0.75 && found.got == 1.75 && found.want == 1);
}

/* A NaN is worse than any distance, and the first of equally bad ones is named. */
static void nan_is_worst(void **state)
{
    static const double want[] = {0, 0, 0, 0};
    static const double bound[] = {1, 1, 1, 1};
    const struct expectation expected = {DTYPE_F32, 4, want, bound, NULL};
    const float got[] = {1e30F, NAN, INFINITY, 0};
    struct comparison found;

    (void)state;
    compare_floats(&expected, got, &found);
    assert_int_equal(found.wrong, 3);
    assert_int_equal(found.worst_element, 1);
    assert_true(isinf(found.ratio));
}

static void undecided_is_skipped(void **state)
{
    static const double want[] = {1, 2, 3};
    static const double bound[] = {0, 0, 0};
    static const bool undecided[] = {false, true, false};
    const struct expectation expected = {DTYPE_F32, 3, want, bound, undecided};
    const float got[] = {1, 77, 3};
    struct comparison found;

    (void)state;
    compare_floats(&expected, got, &found);
    assert_int_equal(found.compared, 2);
    assert_int_equal(found.wrong, 0);
}

static void nothing_to_compare(void **state)
{
    const struct expectation expected = {DTYPE_F32, 0, NULL, NULL, NULL};
    struct comparison found;

    (void)state;
    compare_floats(&expected, NULL, &found);
    assert_int_equal(found.compared, 0);
    assert_int_equal(found.worst_element, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_element),        cmocka_unit_test(worst_of_many),
        cmocka_unit_test(nan_is_worst),       cmocka_unit_test(undecided_is_skipped),
        cmocka_unit_test(nothing_to_compare),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
