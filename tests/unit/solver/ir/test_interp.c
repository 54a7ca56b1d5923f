/*
 * The interpreter's values: operations, reductions, scans, padding, gather, scatter, sequences by
 * hand-made values; types and their rounding; errors; independence of the number of threads.
 */
#include "tests/unit/solver/ir/interp_case.h"

#define LIST(...)                                                                                  \
    (const double[])                                                                               \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* ---- values ---- */

struct value_case {
    const char *name, *dims, *tensors, *body;
    const double *a, *b; /* inputs "a" and "b"; NULL = none */
    const double *want;  /* output "y" */
};

static const struct value_case value_cases[] = {
    {"integer division floors; by 0 it is 0", "N=6", "a input i32 N; b input i32 N; y output i32 N",
     "y[n] = a[n] / b[n]", LIST(7, -7, 7, -7, 5, -2147483648.0), LIST(2, 2, -2, -2, 0, -1),
     LIST(3, -4, -4, 3, 0, -2147483648.0)},
    {"remainder has the divisor's sign; by 0 it is 0", "N=5",
     "a input i32 N; b input i32 N; y output i32 N", "y[n] = a[n] % b[n]", LIST(7, -7, 7, -7, 5),
     LIST(3, 3, -3, -3, 0), LIST(1, 2, -2, -1, 0)},
    {"integers wrap at their width", "N=3", "a input i8 N; b input i8 N; y output i8 N",
     "y[n] = a[n] * b[n]", LIST(16, 100, -128), LIST(16, 2, -1), LIST(0, -56, -128)},
    {"unsigned bytes wrap", "N=2", "a input u8 N; b input u8 N; y output u8 N",
     "y[n] = a[n] - b[n]", LIST(3, 200), LIST(5, 100), LIST(254, 100)},
    {"shifts out of range", "N=6", "a input i32 N; b input i32 N; y output i32 N",
     "y[n] = (a[n] << b[n]) + (a[n] >> b[n])", LIST(1, 1, -8, -8, 5, -8),
     LIST(2, 32, 1, 40, -1, 31), LIST(4, 0, -20, -1, 0, -1)},
    {"bit operations", "N=2", "a input i32 N; b input i32 N; y output i32 N",
     "y[n] = ((a[n] & b[n]) | 16) ^ ~b[n]", LIST(12, -1), LIST(10, 3), LIST(-19, -17)},
    {"casts to integers truncate and saturate", "N=6", "a input f32 N; y output i32 N",
     "y[n] = i32(a[n])", LIST(1.9, -1.9, 3e9, -3e9, NAN, INFINITY), NULL,
     LIST(1, -1, 2147483647, -2147483648.0, 0, 2147483647)},
    {"casts to bytes", "N=4", "a input f32 N; y output u8 N", "y[n] = u8(a[n])",
     LIST(300, -3, 7.7, NAN), NULL, LIST(255, 0, 7, 0)},
    {"integer index in float arithmetic", "N=4", "a input f32 N; y output f32 N",
     "y[n] = a[n] * n + N", LIST(1, 2, 3, 4), NULL, LIST(4, 6, 10, 16)},
    {"min and max propagate NaN", "N=3", "a input f32 N; b input f32 N; y output f32 N",
     "y[n] = max(a[n], b[n]) + min(a[n], b[n])", LIST(NAN, 1, 2), LIST(1, NAN, -3),
     LIST(NAN, NAN, -1)},
    {"max reduction propagates NaN", "M=2 N=3", "a input f32 M,N; y output f32 M",
     "y[m] = max(n) a[m,n]", LIST(1, NAN, 3, 1, 5, 3), NULL, LIST(NAN, 5)},
    {"argmax takes the first", "M=2 N=4", "a input f32 M,N; y output i64 M",
     "y[m] = argmax(n) a[m,n]", LIST(1, 7, 7, 2, -3, -5, -1, -1), NULL, LIST(1, 2)},
    {"argmax: NaN wins", "M=1 N=4", "a input f32 M,N; y output i64 M", "y[m] = argmax(n) a[m,n]",
     LIST(1, NAN, INFINITY, NAN), NULL, LIST(1)},
    {"argmin over two loops is row-major", "M=2 N=3", "a input i32 M,N; y output i64 -",
     "y[] = argmin(m,n) a[m,n]", LIST(5, 4, 3, 2, 9, 2), NULL, LIST(3)},
    {"product, any, all", "N=3", "a input i32 N; y output i32 -",
     "p[] = prod(n) a[n]\nq[] = any(n) a[n] > 4\nr[] = all(n) a[n] > 1\n"
     "y[] = p[] + where(q[], 100, 0) + where(r[], 1000, 0)",
     LIST(2, 3, 5), NULL, LIST(1130)},
    {"padding is 0 unless said", "N=4", "a input f32 N; y output f32 N",
     "y[n] = pad(a[n - 1]) + pad(a[n + 1], 100)", LIST(1, 2, 3, 4), NULL, LIST(2, 4, 6, 103)},
    {"stride-2 window with padding", "N=5 P=3", "a input f32 N; b input f32 3; y output f32 P",
     "y[p] = sum(r:3) pad(a[2*p + r - 1]) * b[r]", LIST(1, 2, 3, 4, 5), LIST(1, 10, 100),
     LIST(210, 432, 54)},
    {"reversed and strided subscripts", "N=3", "a input f32 6; y output f32 N", "y[n] = a[5 - 2*n]",
     LIST(0, 1, 2, 3, 4, 5), NULL, LIST(5, 3, 1)},
    {"quotient and remainder subscripts", "N=6", "a input f32 2,3; y output f32 N",
     "y[n] = a[n / 3, n % 3] - n", LIST(0, 1, 2, 3, 4, 5), NULL, LIST(0, 0, 0, 0, 0, 0)},
    {"inclusive scan", "N=4", "a input f32 N; y output f32 N", "y[n] = sum(j <= n) a[j]",
     LIST(1, 2, 3, 4), NULL, LIST(1, 3, 6, 10)},
    {"exclusive scan begins with the identity", "N=4", "a input f32 N; y output f32 N",
     "y[n] = max(j < n) a[j]", LIST(1, 5, 3, 4), NULL, LIST(-INFINITY, 1, 5, 5)},
    {"reverse scan", "N=4", "a input f32 N; y output f32 N", "y[n] = prod(j >= n) a[j]",
     LIST(1, 2, 3, 4), NULL, LIST(24, 24, 12, 4)},
    {"reverse exclusive scan", "N=4", "a input i32 N; y output i32 N", "y[n] = sum(j > n) a[j]",
     LIST(1, 2, 3, 4), NULL, LIST(9, 7, 4, 0)},
    {"scan whose body needs the bounding loop", "N=3", "a input f32 N; y output f32 N",
     "y[n] = sum(j <= n) a[j] * (n - j)", LIST(1, 2, 3), NULL, LIST(0, 1, 4)},
    {"scan along an outer dimension", "M=3 N=2", "a input f32 M,N; y output f32 M,N",
     "y[m,n] = sum(j <= m) a[j,n]", LIST(1, 10, 2, 20, 3, 30), NULL, LIST(1, 10, 3, 30, 6, 60)},
    {"gather", "N=3", "a input i64 N 0..3; b input f32 4; y output f32 N", "y[n] = b[a[n]]",
     LIST(3, 0, 3), LIST(1, 2, 4, 8), LIST(8, 1, 8)},
    {"padded gather", "N=3", "a input i64 N; b input f32 2; y output f32 N",
     "y[n] = pad(b[a[n]], -7)", LIST(-1, 1, 1000000), LIST(1, 2), LIST(-7, 2, -7)},
    {"scatter-add", "N=5 V=3", "a input i64 N 0..V-1; b input f32 N; y output f32 V",
     "y[a[n]] += (n) b[n]", LIST(2, 0, 2, 2, 0), LIST(1, 2, 4, 8, 16), LIST(18, 0, 13)},
    {"recurrence with a start", "T=4", "a input f32 T; b input f32 -; y output f32 T",
     "seq t: T {\n  y[t] = pad(y[t - 1], b[]) / 2 + a[t]\n}", LIST(1, 1, 1, 1), LIST(8),
     LIST(5, 3.5, 2.75, 2.375)},
    {"two tensors of a sequence", "T=3 K=2", "a input f32 T,K; y output f32 T,K",
     "seq t: T {\n  s[t] = sum(k) a[t,k] + pad(y[t - 1, k])\n  y[t,k] = s[t] * (k + 1)\n}",
     LIST(1, 0, 0, 1, 1, 1), NULL, LIST(1, 2, 4, 8, 14, 28)},
    {"where, comparison, logic", "N=4", "a input f32 N; y output f32 N",
     "y[n] = a[n] > 1 && !(a[n] >= 4) || n == 0 ? a[n] : -1", LIST(0, 1, 2, 4), NULL,
     LIST(0, -1, 2, -1)},
    {"functions", "N=2", "a input f64 N; y output f64 N",
     "y[n] = sqrt(a[n]) + rsqrt(a[n]) + abs(-a[n]) + sign(a[n]) + floor(-1.5) + ceil(1.2) + "
     "trunc(-1.7) + rint(2.5) + fma(a[n], 2, 1)",
     LIST(4, 16), NULL, LIST(2 + 0.5 + 4 + 1 - 2 + 2 - 1 + 2 + 9, 4 + 0.25 + 16 + 1 + 1 + 33)},
    {"only casts round in the real meaning", "N=1", "a input f32 N; y output f64 N",
     "y[n] = f64(a[n]) / 3 - f64(f32(f64(a[n]) / 3))", LIST(1), NULL,
     LIST(1.0 / 3 - (double)(float)(1.0 / 3))},
};

static void check_value(const struct value_case *v)
{
    struct interp_case c;
    case_open(&c, v->dims, v->tensors, v->body, NULL, NULL);
    if (v->a)
        case_set(&c, "a", v->a);
    if (v->b)
        case_set(&c, "b", v->b);
    const struct values *y = case_output(&c, INTERP_REAL, NULL, "y");
    for (int64_t i = 0; i < y->count; i++) {
        double got = y->reals ? y->reals[i] : (double)y->ints[i];
        bool same = isnan(v->want[i]) ? isnan(got) : got == v->want[i];
        if (!same)
            fail_msg("%s: element %lld is %g, not %g", v->name, (long long)i, got, v->want[i]);
    }
    case_close(&c);
}

static void values_are_those_made_by_hand(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(value_cases); i++)
        check_value(&value_cases[i]);
}

/* ---- types ---- */

struct typed_case {
    const char *name, *tensors, *body;
    double a, b, real, typed;
};

static const struct typed_case typed_cases[] = {
    {"f32 addition", "a input f32 -; b input f32 -; y output f32 -", "y[] = a[] + b[]", 1, 0x1p-30,
     1 + 0x1p-30, 1},
    {"bf16 addition ties to even", "a input bf16 -; b input bf16 -; y output bf16 -",
     "y[] = a[] + b[]", 256, 1, 257, 256},
    {"f16 multiplication", "a input f16 -; b input f16 -; y output f16 -", "y[] = a[] * b[]",
     1.0009765625, 1.0009765625, 1.0009765625 * 1.0009765625, 1.001953125},
    {"f16 overflows", "a input f16 -; b input f16 -; y output f16 -", "y[] = a[] * b[]", 256, 256,
     65536, (double)INFINITY},
    {"f16 subnormals", "a input f16 -; b input f16 -; y output f16 -", "y[] = a[] * b[]", 0x1p-14,
     0x1.8p-11, 0x1.8p-25, 0x1p-24},
    {"e4m3 cast", "a input f32 -; b input f32 -; y output f32 -", "y[] = f32(e4m3(a[])) + b[]",
     1.07, 0, 1.125, 1.125},
    {"tf32 cast keeps f32", "a input f32 -; b input f32 -; y output f32 -", "y[] = tf32(a[]) + b[]",
     1 + 0x1p-11, 0, 1 + 0x1p-10, 1 + 0x1p-10},
    /* The double sum of fma is a tie of f32; what is behind it decides. */
    {"fma rounds once", "a input f32 -; b input f32 -; y output f32 -", "y[] = fma(a[], a[], b[])",
     1 + 0x1p-12, 0x1p-80, (1 + 0x1p-12) * (1 + 0x1p-12), 1 + 0x1p-11 + 0x1p-23},
    {"a narrower output", "a input f32 -; b input f32 -; y output bf16 -", "y[] = bf16(a[] + b[])",
     1, 0x1p-9, 1, 1},
};

static void types_round_each_operation_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(typed_cases); i++) {
        const struct typed_case *t = &typed_cases[i];
        struct interp_case c;
        case_open(&c, "N=1", t->tensors, t->body, NULL, NULL);
        case_set(&c, "a", &t->a);
        case_set(&c, "b", &t->b);
        double real = case_output(&c, INTERP_REAL, NULL, "y")->reals[0];
        double typed = case_output(&c, INTERP_TYPED, NULL, "y")->reals[0];
        if (real != t->real || typed != t->typed)
            fail_msg("%s: real %.17g not %.17g, or typed %.17g not %.17g", t->name, real, t->real,
                     typed, t->typed);
        case_close(&c);
    }
}

static double ordered_sum(struct interp_case *c, enum interp_order order)
{
    struct interp_options options = {.mode = INTERP_TYPED, .order = order};
    return case_values(c, case_run(c, &options), "y")->reals[0];
}

static void sums_follow_the_order(void **state)
{
    (void)state;
    struct interp_case c;
    case_open(&c, "N=4096", "x input f16 N; y output f16 -", "y[] = sum(n) x[n]", NULL, NULL);
    double *ones = arena_array(&c.arena, double, 4096);
    for (size_t i = 0; i < 4096; i++)
        ones[i] = 1;
    case_set(&c, "x", ones);
    assert_true(case_output(&c, INTERP_REAL, NULL, "y")->reals[0] == 4096);
    assert_true(ordered_sum(&c, ORDER_SEQUENTIAL) == 2048); /* 2048 + 1 is a tie of f16 */
    assert_true(ordered_sum(&c, ORDER_PAIRWISE) == 4096);
    assert_true(ordered_sum(&c, ORDER_STRIDED) == 4096);
    ones[0] = 0x1p-11;
    case_set(&c, "x", ones);
    assert_true(ordered_sum(&c, ORDER_REVERSED) == 2048);
    case_close(&c);
}

/* ---- what does not matter ---- */

static const char *const shared_body = "s[m,n] = sum(k) a[m,k] * b[k,n]\n"
                                       "mx[m] = max(n) s[m,n]\n"
                                       "e[m,n] = exp(s[m,n] - mx[m])\n"
                                       "z[m] = sum(n) e[m,n]\n"
                                       "p[m] = argmax(n) s[m,n]\n"
                                       "c[m,n:N] = sum(j <= n) e[m,j]\n"
                                       "g[m,k] = b[k, p[m]]\n"
                                       "y[m,n] = e[m,n] / z[m] + c[m,n] + g[m,0]";

static void threads_do_not_change_bits(void **state)
{
    (void)state;
    struct interp_case c;
    case_open(&c, "M=67 N=301 K=45",
              "a input f32 M,K; b input f32 K,N; y output f32 M,N; p output i64 M", shared_body,
              NULL, NULL);
    case_fill(&c, DATA_ZERO_MEAN, 5);
    for (enum interp_mode mode = INTERP_REAL; mode <= INTERP_BOUND; mode++) {
        struct interp_options one = {.mode = mode, .threads = 1};
        const struct values *want = case_run(&c, &one);
        size_t y = case_tensor(&c, "y");
        size_t bytes = (size_t)want[y].count * sizeof(double);
        for (int threads = 2; threads < 9; threads++) {
            struct interp_options many = {.mode = mode, .threads = threads};
            const struct values *got = case_run(&c, &many);
            assert_memory_equal(got[y].reals, want[y].reals, bytes);
            if (mode == INTERP_BOUND)
                assert_memory_equal(got[y].bounds, want[y].bounds, bytes);
        }
    }
    case_close(&c);
}

/* Lanes may run along any loop: the same sums by other layouts, in the same order. */
static void layouts_do_not_change_bits(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "y[m,n] = sum(k) a[m,k] * b[n,k]",
        "at[k,m] = a[m,k]\nbt[k,n] = b[n,k]\ny[m,n] = sum(k) at[k,m] * bt[k,n]",
        "yt[n,m] = sum(k) a[m,k] * b[n,k]\ny[m,n] = yt[n,m]",
    };
    double first[33 * 21];
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        struct interp_case c;
        case_open(&c, "M=33 N=21 K=300", "a input f32 M,K; b input f32 N,K; y output f32 M,N",
                  bodies[i], NULL, NULL);
        case_fill(&c, DATA_ZERO_MEAN, 5);
        const struct values *y = case_output(&c, INTERP_TYPED, NULL, "y");
        if (i == 0)
            memcpy(first, y->reals, sizeof(first));
        assert_memory_equal(first, y->reals, sizeof(first));
        case_close(&c);
    }
}

static void kept_temporaries_come_back(void **state)
{
    (void)state;
    struct interp_case c;
    case_open(&c, "M=2 N=3", "x input f32 M,N; y output f32 M",
              "s[m] = sum(n) x[m,n]\ny[m] = 2 * s[m]", NULL, NULL);
    case_set(&c, "x", LIST(1, 2, 3, 4, 5, 6));
    size_t keep[] = {case_tensor(&c, "s")};
    struct interp_options options = {.mode = INTERP_REAL, .keep = keep, .keep_count = 1};
    const struct values *values = case_run(&c, &options);
    assert_true(values[keep[0]].reals[0] == 6 && values[keep[0]].reals[1] == 15);
    assert_null(values[case_tensor(&c, "y")].reals);
    case_close(&c);
}

/* ---- errors ---- */

struct error_case {
    const char *name, *dims, *tensors, *body;
    const double *a;
    const char *text;
};

static const struct error_case error_cases[] = {
    {"gather outside", "N=3", "a input i64 N 0..N-1; b input f32 N; y output f32 N",
     "y[n] = b[a[n]]", LIST(0, 3, 1), "at n=1, subscript 1 of b is 3, outside 0 .. 2"},
    {"negative gather", "N=2 E=2", "a input i64 N 0..N-1; b input f32 N,E; y output f32 N,E",
     "y[n,e] = b[a[n], e]", LIST(0, -1), "at n=1 e=0, subscript 1 of b is -1"},
    {"scatter outside", "N=2 E=2", "a input i64 N 0..N-1; b input f32 N; y output f32 N",
     "y[a[n]] += (n) b[n]", LIST(0, 2), "at n=1, subscript 1 of y is 2"},
};

static void bad_indices_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(error_cases); i++) {
        const struct error_case *e = &error_cases[i];
        struct interp_case c;
        struct err err = {0};
        struct values *values;
        struct interp_options options = {.mode = INTERP_REAL};
        case_open(&c, e->dims, e->tensors, e->body, NULL, NULL);
        case_set(&c, "a", e->a);
        case_set(&c, "b", LIST(1, 2, 3, 4));
        assert_false(case_try(&c, &options, &values, &err));
        if (!strstr(err.text, e->text) || !strstr(err.text, "body line 1"))
            fail_msg("%s: %s", e->name, err.text);
        case_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_made_by_hand),
        cmocka_unit_test(types_round_each_operation_once),
        cmocka_unit_test(sums_follow_the_order),
        cmocka_unit_test(threads_do_not_change_bits),
        cmocka_unit_test(layouts_do_not_change_bits),
        cmocka_unit_test(kept_temporaries_come_back),
        cmocka_unit_test(bad_indices_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
