/* Which dims may be cut, and that a part of an op means what the whole means there. */
#include <math.h>
#include <string.h>

#include "base/attr.h"
#include "base/num.h"

#include "tests/unit/unit.h"
#include "verify/check/on_gpu_int.h"

#define SPEC(dims, tensors, body, target)                                                          \
    "{\"spec\":1,\"name\":\"t\",\"dims\":{" dims "},\"tensors\":[" tensors "],\"body\":[" body     \
    "],\"tracks\":{\"f32\":{}},\"shapes\":{\"target\":[{" target "}],\"verify\":[]}}"
#define F32(name, role, shape)                                                                     \
    "{\"name\":\"" name "\",\"role\":\"" role "\",\"dtype\":\"f32\",\"shape\":[" shape "]}"

static const struct {
    const char *name, *spec, *cut; /* names of the dims that may be cut */
} cases[] = {
    {"softmax cuts rows",
     SPEC("\"M\":[1,999],\"N\":[1,999]",
          F32("x", "input", "\"M\",\"N\"") "," F32("y", "output", "\"M\",\"N\""),
          "\"mx[m] = max(n) x[m,n]\",\"y[m,n] = exp(x[m,n] - mx[m])\"", "\"M\":40,\"N\":30"),
     "M"},
    {"a product cuts rows and columns",
     SPEC("\"M\":[1,999],\"N\":[1,999],\"K\":[1,999]",
          F32("a", "input", "\"M\",\"K\"") "," F32("b", "input", "\"K\",\"N\"") "," F32(
              "c", "output", "\"M\",\"N\""),
          "\"c[m,n] = sum(k) a[m,k] * b[k,n]\"", "\"M\":30,\"N\":40,\"K\":50"),
     "MN"},
    {"an index in arithmetic",
     SPEC("\"M\":[1,999],\"N\":[1,999]",
          F32("x", "input", "\"M\",\"N\"") "," F32("y", "output", "\"M\",\"N\""),
          "\"y[m,n] = x[m,n] + m\"", "\"M\":40,\"N\":30"),
     "N"},
    {"a dim in arithmetic",
     SPEC("\"M\":[1,999],\"N\":[1,999]",
          F32("x", "input", "\"M\",\"N\"") "," F32("y", "output", "\"M\",\"N\""),
          "\"y[m,n] = x[m,n] / N\"", "\"M\":40,\"N\":30"),
     "M"},
    {"a neighbour",
     SPEC("\"M\":[1,999],\"N\":[1,999]",
          F32("x", "input", "\"M\",\"N\"") "," F32("y", "output", "\"M\",\"N\""),
          "\"y[m,n] = x[m,n] + pad(x[m, n - 1])\"", "\"M\":40,\"N\":30"),
     "M"},
    {"a running sum",
     SPEC("\"M\":[1,999],\"N\":[1,999]",
          F32("x", "input", "\"M\",\"N\"") "," F32("y", "output", "\"M\",\"N\""),
          "\"y[m,n] = sum(j <= n) x[m,j]\"", "\"M\":40,\"N\":30"),
     "M"},
    {"a dim that another is made of",
     SPEC("\"M\":[1,999],\"N\":[1,999],\"L\":\"N - 1\"",
          F32("x", "input", "\"M\",\"N\"") "," F32("y", "output", "\"M\",\"L\""),
          "\"y[m,n] = x[m, n + 1]\"", "\"M\":40,\"N\":30"),
     "M"},
    {"a sum over all",
     SPEC("\"M\":[1,999]", F32("x", "input", "\"M\"") "," F32("y", "output", ""),
          "\"y[] = sum(m) x[m]\"", "\"M\":40"),
     ""},
    {"transposed",
     SPEC("\"M\":[1,999],\"N\":[1,999]",
          F32("x", "input", "\"M\",\"N\"") "," F32("y", "output", "\"N\",\"M\""),
          "\"y[n,m] = x[m,n]\"", "\"M\":40,\"N\":30"),
     "MN"},
};

static const struct bound_op *target_of(struct arena *arena, const char *spec)
{
    const struct bound_op *bound;
    const struct op *op;
    struct err err;

    assert_ok(op_parse(arena, str_from(spec), "spec", NULL, &op, &err));
    assert_ok(op_bind_shape(arena, op, &op->targets[0], &bound, &err));
    return bound;
}

static void dims_that_may_be_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct bound_op *bound;
        bool may[OP_DIMS_MAX];
        struct arena arena;

        arena_init(&arena, 64 << 20);
        bound = target_of(&arena, cases[i].spec);
        slice_dims(bound->op, may);
        for (size_t d = 0; d < bound->op->dim_count; d++)
            if (may[d] != (strchr(cases[i].cut, bound->op->dims[d].name.at[0]) != NULL))
                fail_msg("%s: %.*s", cases[i].name, STR_ARG(bound->op->dims[d].name));
        arena_release(&arena);
    }
}

static void fill(struct arena *arena, const struct bound_op *bound, void **data)
{
    struct err err;

    for (size_t t = 0; t < bound->op->declared_count; t++) {
        if (!tensor_is_fed(bound->op, t))
            continue;
        data[t] = arena_alloc(arena, (size_t)bound->tensors[t].bytes + 16, 1, 16);
        assert_ok(fill_tensor(bound, t, DATA_SPEC, 12, 1, data[t], &err));
    }
}

static void interpret(struct arena *arena, const struct bound_op *bound, void *const *data,
                      struct values *out)
{
    const struct interp_options options = {.mode = INTERP_BOUND};
    const struct interp_inputs inputs = {(const void *const *)data};
    struct err err;

    assert_ok(interp_run(arena, bound, &inputs, &options, out, &err));
}

/* The part's inputs cut out of the whole's give the whole's outputs there, bits and bounds. */
static void parts_mean_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct values whole[64] = {{0}}, part[64] = {{0}};
        void *all[64] = {NULL}, *cut[64] = {NULL};
        const struct bound_op *bound;
        struct slice slice;
        struct arena arena;
        struct rng rng;
        struct err err;

        arena_init(&arena, 64 << 20);
        rng_init(&rng, i);
        bound = target_of(&arena, cases[i].spec);
        assert_ok(slice_choose(&arena, bound, 600, &rng, &slice, &err));
        assert_true((slice.part != NULL) == (cases[i].cut[0] != '\0' || bound->dims[0] <= 600));
        fill(&arena, bound, all);
        for (size_t t = 0; t < bound->op->declared_count && slice.part != NULL; t++) {
            if (all[t] == NULL)
                continue;
            cut[t] = arena_alloc(&arena, (size_t)slice.part->tensors[t].bytes + 16, 1, 16);
            for (int64_t e = 0; e < slice.part->tensors[t].count; e++)
                ((float *)cut[t])[e] = ((float *)all[t])[slice_element(&slice, bound, t, e)];
        }
        interpret(&arena, bound, all, whole);
        interpret(&arena, slice.part, cut, part);
        for (size_t t = 0; t < bound->op->declared_count; t++)
            for (int64_t e = 0; tensor_is_output(bound->op, t) && e < part[t].count; e++) {
                const int64_t at = slice_element(&slice, bound, t, e);

                if (part[t].reals[e] != whole[t].reals[at] ||
                    fabs(part[t].bounds[e] - whole[t].bounds[at]) >
                        1e-12 * fabs(whole[t].bounds[at]))
                    fail_msg("%s: element %lld", cases[i].name, (long long)e);
            }
        arena_release(&arena);
    }
}

/* Parts lie at random places: their first element is where they say. */
static void parts_lie_anywhere(void **state)
{
    const struct bound_op *bound;
    struct arena arena;
    struct rng rng;
    int elsewhere = 0;

    (void)state;
    arena_init(&arena, 64 << 20);
    rng_init(&rng, 2);
    bound = target_of(&arena, cases[1].spec);
    for (int i = 0; i < 20; i++) {
        const size_t c = op_tensor_find(bound->op, STR_LIT("c"));
        struct slice slice;
        struct err err;

        assert_ok(slice_choose(&arena, bound, 5000, &rng, &slice, &err));
        assert_int_equal(slice_element(&slice, bound, c, 0), slice.first[0] * 40 + slice.first[1]);
        assert_in_range(slice.first[0] + slice.part->dims[0], 1, 30);
        assert_in_range(slice.first[1] + slice.part->dims[1], 1, 40);
        elsewhere += slice.first[0] > 0 && slice.first[1] > 0;
    }
    assert_true(elsewhere > 5);
    arena_release(&arena);
}

/* What cannot be cut and is too large is not confirmed. */
static void too_large_to_confirm(void **state)
{
    const struct bound_op *bound;
    struct slice slice;
    struct arena arena;
    struct rng rng;
    struct err err;

    (void)state;
    arena_init(&arena, 64 << 20);
    rng_init(&rng, 1);
    bound = target_of(&arena, cases[7].spec);
    assert_ok(slice_choose(&arena, bound, 39, &rng, &slice, &err));
    assert_null(slice.part);
    assert_ok(slice_choose(&arena, bound, 40, &rng, &slice, &err));
    assert_non_null(slice.part);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dims_that_may_be_cut),
        cmocka_unit_test(parts_mean_the_same),
        cmocka_unit_test(parts_lie_anywhere),
        cmocka_unit_test(too_large_to_confirm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
