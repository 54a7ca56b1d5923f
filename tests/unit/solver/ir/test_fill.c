/*
 * Fills: the same bits for ever (golden hashes), other bits for another secret, tensor or call, and
 * what each class promises.
 */
#include "tests/unit/solver/ir/interp_case.h"

enum { FILL_ROWS = 40, FILL_COLUMNS = 3000 };

/* Two matrices of one type: a of even ordinal, b of odd. */
static void fill_open(struct interp_case *c, const char *dtype, const char *policy)
{
    char dims[64], tensors[160];
    snprintf(dims, sizeof(dims), "R=%d C=%d", FILL_ROWS, FILL_COLUMNS);
    snprintf(
        tensors, sizeof(tensors),
        "a input %s R,C; b input %s R,C; i input i32 C -5..C; m input bool C; y output f32 R,C",
        dtype, dtype);
    case_open(c, dims, tensors, "y[r,c] = m[c] ? f32(a[r,c]) + f32(b[r,c]) + i[c] : 0", policy,
              NULL);
}

static size_t bytes_of(const struct interp_case *c, const char *name)
{
    return (size_t)c->bound->tensors[case_tensor(c, name)].bytes;
}

/* FNV-1a over all inputs. */
static uint64_t hash_inputs(const struct interp_case *c)
{
    static const char *const names[] = {"a", "b", "i", "m"};
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t n = 0; n < COUNT_OF(names); n++) {
        const unsigned char *at = c->data[case_tensor(c, names[n])];
        for (size_t i = 0; i < bytes_of(c, names[n]); i++)
            hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static const uint64_t golden[DATA_CLASS_COUNT][2] = {
    [DATA_SPEC] = {UINT64_C(0x6c0e5d691a2fe21e), UINT64_C(0x5debc84b08e243f3)},
    [DATA_ZERO_MEAN] = {UINT64_C(0x6c0e5d691a2fe21e), UINT64_C(0x5debc84b08e243f3)},
    [DATA_POSITIVE] = {UINT64_C(0xa7e02c7bedcd44d5), UINT64_C(0xcd6976658d673a85)},
    [DATA_INDEXED] = {UINT64_C(0x697cfa48bb657d89), UINT64_C(0xd4121a477c52937e)},
    [DATA_ONE_HOT] = {UINT64_C(0x204e3a89f8773ba6), UINT64_C(0x4819ee4bfa450e06)},
    [DATA_HEAVY] = {UINT64_C(0x5f124d0399cf92b2), UINT64_C(0x5d4687f42a15a705)},
    [DATA_OFFSET] = {UINT64_C(0xdff1a6e1981c64d9), UINT64_C(0x4b551bace12d69c4)},
    [DATA_LARGE] = {UINT64_C(0xbf82a8b466f16e0b), UINT64_C(0x59f05cbccc1e518b)},
    [DATA_INTEGERS] = {UINT64_C(0x9f2297ba3b0cf7ee), UINT64_C(0x975420b4890b90bc)},
    [DATA_CANCEL] = {UINT64_C(0x9e80d91a3074ae08), UINT64_C(0x6d008e5d80f4470c)},
    [DATA_SPECIAL] = {UINT64_C(0xc2adec837bcc13d4), UINT64_C(0x8ea5a74ab9db05dc)},
    [DATA_ZEROS] = {UINT64_C(0x4e3073bcceb98838), UINT64_C(0x76e978aed8440c38)},
};

static void bits_never_change(void **state)
{
    (void)state;
    static const char *const dtypes[] = {"f32", "bf16"};
    for (size_t d = 0; d < COUNT_OF(dtypes); d++)
        for (int class = 0; class < DATA_CLASS_COUNT; class ++) {
            struct interp_case c;
            fill_open(&c, dtypes[d], NULL);
            case_fill(&c, (enum data_class) class, 1234);
            uint64_t hash = hash_inputs(&c);
            if (hash != golden[class][d])
                fail_msg("%s %s: 0x%016llx", dtypes[d], data_class_name((enum data_class) class),
                         (unsigned long long)hash);
            case_close(&c);
        }
}

static void every_key_gives_other_data(void **state)
{
    (void)state;
    struct interp_case c;
    struct err err = {0};
    fill_open(&c, "f32", NULL);
    size_t a = case_tensor(&c, "a");
    size_t b = case_tensor(&c, "b");
    const struct {
        size_t tensor;
        uint64_t secret;
        uint32_t call;
    } keys[] = {{a, 1, 0}, {b, 1, 0}, {a, 2, 0}, {a, 1, 1}, {a, UINT64_C(1) << 32, 0}};
    const void *filled[COUNT_OF(keys)];
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        void *room = case_room(&c, keys[i].tensor);
        assert_ok(fill_tensor(c.bound, keys[i].tensor, DATA_ZERO_MEAN, keys[i].secret, keys[i].call,
                              room, &err));
        filled[i] = room;
        for (size_t j = 0; j < i; j++)
            assert_memory_not_equal(filled[i], filled[j], 64);
    }
    void *again = case_room(&c, a);
    assert_ok(fill_tensor(c.bound, a, DATA_ZERO_MEAN, 1, 0, again, &err));
    assert_memory_equal(again, filled[0], bytes_of(&c, "a"));
    case_close(&c);
}

/* ---- moments ---- */

struct moments {
    double mean, deviation, kurtosis, least, most, zeros;
};

static struct moments moments_of(const struct interp_case *c, const char *name)
{
    int64_t n = case_count(c, name);
    struct moments m = {.least = INFINITY, .most = -INFINITY};
    for (int64_t i = 0; i < n; i++) {
        double v = case_in(c, name, i);
        m.mean += v / (double)n;
        m.least = fmin(m.least, v);
        m.most = fmax(m.most, v);
        m.zeros += v == 0 ? 1 / (double)n : 0;
    }
    double second = 0;
    double fourth = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = case_in(c, name, i) - m.mean;
        second += d * d / (double)n;
        fourth += d * d * d * d / (double)n;
    }
    m.deviation = sqrt(second);
    m.kurtosis = second > 0 ? fourth / (second * second) : 0;
    return m;
}

struct moment_case {
    const char *name;
    enum data_class class;
    const char *dtype, *tensor;
    double mean, deviation, least, most; /* mean and deviation within 2 % of a deviation */
};

static const struct moment_case moment_cases[] = {
    {"normal", DATA_ZERO_MEAN, "f32", "a", 0, 1, -5, 5},
    {"normal in f16", DATA_ZERO_MEAN, "f16", "b", 0, 1, -5, 5},
    {"normal in e5m2", DATA_ZERO_MEAN, "e5m2", "a", 0, 1, -5, 5},
    {"uniform", DATA_POSITIVE, "f32", "a", 0.5, 0.2887, 0, 0.99999994},
    {"uniform stays below 1 in bf16", DATA_POSITIVE, "bf16", "a", 0.498, 0.2887, 0, 0.998},
    {"offset", DATA_OFFSET, "f32", "a", 1000, 1, 995, 1005},
    {"offset in f16", DATA_OFFSET, "f16", "a", 512, 1, 507, 517},
    {"offset in bf16", DATA_OFFSET, "bf16", "a", 64, 1, 59, 69},
    {"odd integers", DATA_INTEGERS, "f32", "b", 0, 4729, -8191, 8191},
    {"odd integers of bf16", DATA_INTEGERS, "bf16", "b", 0, 147.8, -255, 255},
    {"odd integers of e4m3", DATA_INTEGERS, "e4m3", "b", 0, 9.2, -15, 15},
    {"ones", DATA_CANCEL, "f32", "b", 1, 0, 1, 1},
    {"zeros", DATA_ZEROS, "f64", "a", 0, 0, 0, 0},
};

static void classes_have_their_moments(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(moment_cases); i++) {
        const struct moment_case *k = &moment_cases[i];
        struct interp_case c;
        fill_open(&c, k->dtype, NULL);
        case_fill(&c, k->class, 77);
        struct moments m = moments_of(&c, k->tensor);
        double slack = 0.02 * k->deviation + 1e-9;
        bool near = fabs(m.mean - k->mean) <= slack && fabs(m.deviation - k->deviation) <= slack;
        if (!near || m.least < k->least || m.most > k->most)
            fail_msg("%s: mean %g, deviation %g, %g to %g", k->name, m.mean, m.deviation, m.least,
                     m.most);
        case_close(&c);
    }
}

static void normals_are_near_normal(void **state)
{
    (void)state;
    struct interp_case c;
    fill_open(&c, "f32", NULL);
    case_fill(&c, DATA_ZERO_MEAN, 3);
    double kurtosis = moments_of(&c, "a").kurtosis;
    assert_true(kurtosis > 2.7 && kurtosis < 3.1);
    case_close(&c);
}

/* ---- what classes promise ---- */

static void integers_and_masks_keep_their_fill(void **state)
{
    (void)state;
    struct interp_case c;
    fill_open(&c, "f32", NULL);
    for (int class = 0; class < DATA_CLASS_COUNT; class ++) {
        case_fill(&c, (enum data_class) class, 9);
        struct moments i = moments_of(&c, "i");
        struct moments m = moments_of(&c, "m");
        assert_true(i.least >= -5 && i.least < 50 && i.most <= FILL_COLUMNS &&
                    i.most > FILL_COLUMNS - 60);
        assert_true(m.least == 0 && m.most == 1 && fabs(m.mean - 0.5) < 0.05);
    }
    case_close(&c);
}

static void one_hot_rows_have_two_entries(void **state)
{
    (void)state;
    struct interp_case c;
    fill_open(&c, "f32", NULL);
    case_fill(&c, DATA_ONE_HOT, 9);
    int64_t places = 0;
    for (int64_t r = 0; r < FILL_ROWS; r++) {
        int64_t entries = 0;
        for (int64_t i = 0; i < FILL_COLUMNS; i++) {
            double size = fabs(case_in(&c, "a", r * FILL_COLUMNS + i));
            assert_true(size == 0 || (size >= 4 && size < 20));
            entries += size != 0;
            places += size != 0 ? i : 0;
        }
        assert_true(entries == 1 || entries == 2);
    }
    double middle = (double)places / (2 * FILL_ROWS);
    assert_true(middle > 0.35 * FILL_COLUMNS && middle < 0.65 * FILL_COLUMNS);
    assert_true(fabs(moments_of(&c, "b").deviation - 1) < 0.02);
    case_close(&c);
}

static void integers_are_few_and_odd(void **state)
{
    (void)state;
    struct interp_case c;
    fill_open(&c, "f32", NULL);
    case_fill(&c, DATA_INTEGERS, 9);
    for (int64_t r = 0; r < FILL_ROWS; r++) {
        int64_t entries = 0;
        for (int64_t i = 0; i < FILL_COLUMNS; i++) {
            double v = case_in(&c, "a", r * FILL_COLUMNS + i);
            double odd = case_in(&c, "b", r * FILL_COLUMNS + i);
            assert_true(v == 0 || v == 1 || v == -1);
            assert_true(fmod(fabs(odd), 2) == 1);
            entries += v != 0;
        }
        assert_true(entries > 400 && entries <= 2048);
    }
    case_close(&c);
}

/* Zeros of both signs, in every row; some rows have nothing above them, some nothing below. */
static void integers_have_signed_zeros(void **state)
{
    (void)state;
    struct interp_case c;
    int no_one = 0;
    int no_minus_one = 0;
    fill_open(&c, "f32", NULL);
    case_fill(&c, DATA_INTEGERS, 9);
    for (int64_t r = 0; r < FILL_ROWS; r++) {
        int64_t negative = 0, positive = 0, ones = 0, minus_ones = 0;
        for (int64_t i = 0; i < FILL_COLUMNS; i++) {
            double v = case_in(&c, "a", r * FILL_COLUMNS + i);
            negative += v == 0 && signbit(v);
            positive += v == 0 && !signbit(v);
            ones += v == 1;
            minus_ones += v == -1;
        }
        assert_true(negative > FILL_COLUMNS / 8 && positive > FILL_COLUMNS / 8);
        assert_true(ones + minus_ones > 0);
        no_one += ones == 0;
        no_minus_one += minus_ones == 0;
    }
    assert_true(no_one > FILL_ROWS / 8 && no_minus_one > FILL_ROWS / 8);
    case_close(&c);
}

static double mean_of(const struct interp_case *c, int64_t first, int64_t step, int64_t count)
{
    double mean = 0;
    for (int64_t i = 0; i < count; i++)
        mean += case_in(c, "a", first + i * step) / (double)count;
    return mean;
}

/* Means of rows, and of columns, differ by much more than their own spread would make them. */
static void indexed_rows_and_columns_differ(void **state)
{
    (void)state;
    struct interp_case c;
    fill_open(&c, "f32", NULL);
    case_fill(&c, DATA_INDEXED, 9);
    int near = 0;
    for (int64_t i = 0; i + 1 < FILL_ROWS; i++) {
        double here = mean_of(&c, i * FILL_COLUMNS, 1, FILL_COLUMNS);
        double next = mean_of(&c, (i + 1) * FILL_COLUMNS, 1, FILL_COLUMNS);
        near += fabs(here - next) < 0.02;
        here = mean_of(&c, i, FILL_COLUMNS, FILL_ROWS);
        next = mean_of(&c, i + 1, FILL_COLUMNS, FILL_ROWS);
        near += fabs(here - next) < 0.02;
    }
    assert_true(near < FILL_ROWS / 8);
    case_close(&c);
}

static void large_rows_are_of_five_kinds(void **state)
{
    (void)state;
    struct interp_case c;
    fill_open(&c, "f32", NULL);
    case_fill(&c, DATA_LARGE, 9);
    int kinds[5] = {0};
    for (int64_t r = 0; r < FILL_ROWS; r++) {
        double least = INFINITY;
        double most = -INFINITY;
        for (int64_t i = 0; i < FILL_COLUMNS; i++) {
            least = fmin(least, case_in(&c, "a", r * FILL_COLUMNS + i));
            most = fmax(most, case_in(&c, "a", r * FILL_COLUMNS + i));
        }
        kinds[0] += least < -90 && least > -110 && most > 90;
        kinds[1] += least < -9000 && most > 9000;
        kinds[2] += least == 1e4 && most == 1e4;
        kinds[3] += most < -9000;
        kinds[4] += least > 90 && most < 110;
    }
    for (int i = 0; i < 5; i++)
        assert_int_equal(kinds[i], FILL_ROWS / 5);
    case_close(&c);
}

static void cancelling_rows_cancel(void **state)
{
    (void)state;
    struct interp_case c;
    fill_open(&c, "f32", NULL);
    case_fill(&c, DATA_CANCEL, 9);
    const float *row = c.data[case_tensor(&c, "a")];
    float sum = 0;
    double real = 0;
    for (int i = 0; i < FILL_COLUMNS; i++) {
        sum += row[i];
        real += (double)row[i];
    }
    assert_true(sum == 0 && real > FILL_COLUMNS);
    case_close(&c);
}

static void special_values_follow_the_policy(void **state)
{
    (void)state;
    for (int finite = 0; finite < 2; finite++) {
        struct interp_case c;
        int nans = 0, infinities = 0, zeros = 0, subnormals = 0;
        fill_open(&c, "f32", finite ? "'finite_inputs': true" : "'finite_inputs': false");
        case_fill(&c, DATA_SPECIAL, 9);
        for (int64_t i = 0; i < case_count(&c, "a"); i++) {
            double v = case_in(&c, "a", i);
            nans += isnan(v);
            infinities += isinf(v) != 0;
            zeros += v == 0 && signbit(v);
            subnormals += v != 0 && fabs(v) < 0x1p-126;
        }
        assert_true(zeros > 500 && subnormals > 1000);
        assert_true(finite ? nans + infinities == 0 : nans > 500 && infinities > 1000);
        case_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_never_change),
        cmocka_unit_test(every_key_gives_other_data),
        cmocka_unit_test(classes_have_their_moments),
        cmocka_unit_test(normals_are_near_normal),
        cmocka_unit_test(integers_and_masks_keep_their_fill),
        cmocka_unit_test(one_hot_rows_have_two_entries),
        cmocka_unit_test(integers_have_signed_zeros),
        cmocka_unit_test(integers_are_few_and_odd),
        cmocka_unit_test(indexed_rows_and_columns_differ),
        cmocka_unit_test(large_rows_are_of_five_kinds),
        cmocka_unit_test(cancelling_rows_cancel),
        cmocka_unit_test(special_values_follow_the_policy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
