/*
 * Numbers.  The narrow formats are checked over all their encodings against their definition
 * (sign, 2^exponent, fraction, in long double), and rounding against a search for the nearest
 * encoding, which knows nothing of bits.
 */
#include <math.h>
#include <string.h>

#include "base/attr.h"
#include "base/num.h"
#include "base/rng.h"

#include "tests/unit/unit.h"

struct narrow_format {
    const char *name;
    int exponent_bits, fraction_bits;
    bool ieee; /* top exponent is infinity and NaN; else only all ones is NaN */
    enum dtype dtype;
};

static const struct narrow_format formats[] = {
    {"f16", 5, 10, true, DTYPE_F16},
    {"bf16", 8, 7, true, DTYPE_BF16},
    {"e4m3", 4, 3, false, DTYPE_E4M3},
    {"e5m2", 5, 2, true, DTYPE_E5M2},
};

static uint32_t encode(enum dtype dtype, double value)
{
    uint16_t bits = 0;
    elem_from_double(dtype, &bits, 0, value);
    return bits;
}

static double decode(enum dtype dtype, uint32_t encoding)
{
    uint16_t bits = (uint16_t)encoding;
    return elem_to_double(dtype, &bits, 0);
}

static uint32_t positive_count(const struct narrow_format *f)
{
    return 1U << (f->exponent_bits + f->fraction_bits);
}

/* The value of a non-negative encoding, by definition. */
static double defined_value(const struct narrow_format *f, uint32_t encoding)
{
    int bias = (1 << (f->exponent_bits - 1)) - 1;
    int exponent = (int)(encoding >> f->fraction_bits);
    int fraction = (int)(encoding & ((1U << f->fraction_bits) - 1));
    int top = (1 << f->exponent_bits) - 1;
    if (f->ieee && exponent == top)
        return fraction ? NAN : INFINITY;
    if (!f->ieee && encoding == positive_count(f) - 1)
        return NAN;
    double significand = fraction / pow(2, f->fraction_bits) + (exponent ? 1 : 0);
    return significand * pow(2, (exponent ? exponent : 1) - bias);
}

static void every_encoding_has_its_value(void **state UNUSED)
{
    for (size_t i = 0; i < COUNT_OF(formats); i++)
        for (uint32_t e = 0; e < positive_count(&formats[i]); e++) {
            const struct narrow_format *f = &formats[i];
            double expected = defined_value(f, e);
            double got = decode(f->dtype, e);
            double negative = decode(f->dtype, e + positive_count(f));
            if (isnan(expected)) {
                assert_true(isnan(got) && isnan(negative));
                assert_true(isnan(decode(f->dtype, encode(f->dtype, got))));
                continue;
            }
            if (got != expected || negative != -expected || !signbit(negative))
                fail_msg("%s %x: %a, want %a", f->name, e, got, expected);
            assert_int_equal(encode(f->dtype, expected), e);
            assert_int_equal(encode(f->dtype, -expected), e + positive_count(f));
        }
}

/* What lies halfway between neighbours goes to the even one, what lies beside it to the nearer. */
static void rounding_is_to_nearest_even(void **state UNUSED)
{
    for (size_t i = 0; i < COUNT_OF(formats); i++)
        for (uint32_t e = 0; e + 1 < positive_count(&formats[i]); e++) {
            const struct narrow_format *f = &formats[i];
            double low = defined_value(f, e);
            double high = defined_value(f, e + 1);
            if (!isfinite(low))
                break;
            if (!isfinite(high)) /* as if the range went on: halfway rounds away from the range */
                high = low + (low - defined_value(f, e - 1));
            double middle = low + (high - low) / 2;
            uint32_t even = e & 1 ? e + 1 : e;
            assert_int_equal(encode(f->dtype, middle), even);
            assert_int_equal(encode(f->dtype, nextafter(middle, 0)), e);
            assert_int_equal(encode(f->dtype, nextafter(middle, INFINITY)), e + 1);
            assert_int_equal(encode(f->dtype, -middle), even + positive_count(f));
        }
}

static void rounding_happens_once(void **state UNUSED)
{
    /* Just above halfway by less than f32 can hold: through f32 it would tie down to even. */
    assert_true(dtype_round(DTYPE_F16, 1 + 0x1p-11 + 0x1p-40) == 1 + 0x1p-10);
    assert_true(dtype_round(DTYPE_BF16, 1 + 0x1p-8 + 0x1p-40) == 1 + 0x1p-7);
    int64_t above_halfway = (INT64_C(1) << 62) + (INT64_C(1) << 54) + 1;
    uint16_t bits;
    elem_from_int(DTYPE_BF16, &bits, 0, above_halfway);
    assert_true(bf16_to_double(bits) == 0x1p62 + 0x1p55);
    elem_from_int(DTYPE_BF16, &bits, 0, -above_halfway);
    assert_true(bf16_to_double(bits) == -0x1p62 - 0x1p55);
    float single;
    int64_t tie = (INT64_C(1) << 60) + (INT64_C(1) << 36);
    elem_from_int(DTYPE_F32, &single, 0, tie + 1);
    assert_true(single == 0x1p60f + 0x1p37f);
    elem_from_int(DTYPE_F32, &single, 0, tie);
    assert_true(single == 0x1p60f);
    elem_from_int(DTYPE_F32, &single, 0, INT64_MIN);
    assert_true(single == -0x1p63f);
}

static void overflow_and_specials(void **state UNUSED)
{
    assert_int_equal(f16_from_double(65519.999), 0x7bff);
    assert_int_equal(f16_from_double(65520), 0x7c00);
    assert_int_equal(e4m3_from_double(463.999), 0x7e);
    assert_int_equal(e4m3_from_double(464), 0x7e); /* halfway to 480, and 448 is even */
    assert_int_equal(e4m3_from_double(464.001), 0x7f);
    assert_int_equal(e4m3_from_double(-INFINITY), 0xff);
    assert_int_equal(e5m2_from_double(61439), 0x7b);
    assert_int_equal(e5m2_from_double(-61440), 0xfc);
    assert_int_equal(bf16_from_double(1e300), 0x7f80);
    assert_int_equal(bf16_from_double(INFINITY), 0x7f80);
    assert_int_equal(f16_from_double(-NAN), 0x7fff);
    assert_int_equal(f16_from_double(-1e-300), 0x8000);
    assert_int_equal(f16_from_double(5e-324), 0);
    assert_int_equal(f16_from_double(0x1p-25), 0);
    assert_int_equal(f16_from_double(nextafter(0x1p-25, 1)), 1);
}

static void tf32_ties_go_away(void **state UNUSED)
{
    static const struct {
        double in, out;
    } cases[] = {
        {1 + 0x1p-11, 1 + 0x1p-10}, {-1 - 0x1p-11, -1 - 0x1p-10},
        {1 + 0x1.8p-12, 1},         {1 + 0x1p-10, 1 + 0x1p-10},
        {0x1.fffffep127, INFINITY}, {0x1.ffcp127, 0x1.ffcp127},
        {0x1p-137, 0x1p-136},       {0x1p-138, 0},
        {0x1p-126, 0x1p-126},       {-0.0, -0.0},
        {INFINITY, INFINITY},       {0x1.ffep0, 2},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        double got = tf32_round(cases[i].in);
        if (memcmp(&got, &cases[i].out, sizeof(got)) != 0)
            fail_msg("%a: %a, want %a", cases[i].in, got, cases[i].out);
    }
    assert_true(isnan(tf32_round(NAN)));
}

static void tf32_equals_the_bit_trick(void **state UNUSED)
{
    struct rng rng;
    rng_init(&rng, 3);
    for (int i = 0; i < 200000; i++) {
        uint32_t bits = rng_u32(&rng);
        uint32_t rounded = (bits + 0x1000) & ~0x1fffU;
        float in, out;
        memcpy(&in, &bits, sizeof(in));
        memcpy(&out, &rounded, sizeof(out));
        if (isnan(in))
            continue;
        double got = tf32_round((double)in);
        double want = (double)out;
        assert_memory_equal(&got, &want, sizeof(got));
    }
}

static void integer_division(void **state UNUSED)
{
    for (int64_t a = -13; a <= 13; a++)
        for (int64_t b = -5; b <= 5; b++) {
            if (b == 0)
                continue;
            double exact = (double)a / (double)b;
            assert_int_equal(num_floor_div(a, b), (int64_t)floor(exact));
            assert_int_equal(num_ceil_div(a, b), (int64_t)ceil(exact));
            assert_int_equal(num_floor_mod(a, b), a - b * (int64_t)floor(exact));
        }
    assert_int_equal(num_floor_mod(INT64_MIN, -1), 0);
    assert_int_equal(num_gcd(-12, 18), 6);
    assert_int_equal(num_gcd(0, 0), 0);
    assert_int_equal(num_gcd(0, -7), 7);
}

static void overflow_is_told(void **state UNUSED)
{
    int64_t out = 5;
    const int64_t fits[] = {1 << 20, 1 << 20, 1 << 20, 4};
    const int64_t over[] = {1 << 20, 1 << 20, 1 << 20, 8};
    assert_false(num_add(INT64_MAX, 1, &out));
    assert_false(num_mul(INT64_MIN, -1, &out));
    assert_false(num_product(over, COUNT_OF(over), &out));
    assert_int_equal(out, 5);
    assert_true(num_product(fits, COUNT_OF(fits), &out));
    assert_int_equal(out, INT64_C(1) << 62);
    assert_true(num_product(NULL, 0, &out));
    assert_int_equal(out, 1);
}

static void integers_wrap(void **state UNUSED)
{
    static const struct {
        enum dtype dtype;
        int64_t in, out;
    } cases[] = {
        {DTYPE_I8, 128, -128},      {DTYPE_I8, -129, 127},
        {DTYPE_U8, -1, 255},        {DTYPE_U8, 256, 0},
        {DTYPE_I16, 32768, -32768}, {DTYPE_I32, INT64_C(1) << 31, INT32_MIN},
        {DTYPE_BOOL, 256, 1},       {DTYPE_I64, INT64_MIN, INT64_MIN},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint64_t storage = 0;
        assert_int_equal(dtype_wrap(cases[i].dtype, cases[i].in), cases[i].out);
        elem_from_int(cases[i].dtype, &storage, 0, cases[i].in);
        assert_int_equal(elem_to_int(cases[i].dtype, &storage, 0), cases[i].out);
    }
    assert_true(dtype_round(DTYPE_I8, 3.9) == 3 && dtype_round(DTYPE_I8, -3.9) == -3);
    assert_true(dtype_round(DTYPE_I32, NAN) == 0);
    assert_true(dtype_round(DTYPE_I64, 1e300) == 0x1p63);
    assert_true(dtype_round(DTYPE_BOOL, -0.5) == 1);
}

static void limits_are_those_of_the_format(void **state UNUSED)
{
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        const struct narrow_format *f = &formats[i];
        uint32_t top = positive_count(f) - 1;
        while (!isfinite(defined_value(f, top)))
            top--;
        assert_true(dtype_max(f->dtype) == defined_value(f, top));
        assert_true(dtype_tiny(f->dtype) == defined_value(f, 1));
        assert_true(dtype_unit_roundoff(f->dtype) == pow(2, -f->fraction_bits - 1));
    }
    assert_true(dtype_max(DTYPE_F32) == 0x1.fffffep127 && dtype_tiny(DTYPE_F64) == 0x1p-1074);
    assert_true(dtype_unit_roundoff(DTYPE_I32) == 0);
}

static void arrays_are_indexed_by_element(void **state UNUSED)
{
    for (int d = 0; d < DTYPE_COUNT; d++) {
        enum dtype dtype = (enum dtype)d;
        uint64_t storage[4] = {0};
        for (size_t i = 0; i < 4; i++)
            elem_from_double(dtype, storage, i, (double)(i % 2));
        for (size_t i = 0; i < 4; i++) {
            assert_true(elem_to_double(dtype, storage, i) == (double)(i % 2));
            assert_int_equal(elem_to_int(dtype, storage, i), i % 2);
        }
        for (size_t i = 4 * dtype_bytes(dtype); i < sizeof(storage); i++)
            assert_int_equal(((char *)storage)[i], 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_encoding_has_its_value),
        cmocka_unit_test(rounding_is_to_nearest_even),
        cmocka_unit_test(rounding_happens_once),
        cmocka_unit_test(overflow_and_specials),
        cmocka_unit_test(tf32_ties_go_away),
        cmocka_unit_test(tf32_equals_the_bit_trick),
        cmocka_unit_test(integer_division),
        cmocka_unit_test(overflow_is_told),
        cmocka_unit_test(integers_wrap),
        cmocka_unit_test(limits_are_those_of_the_format),
        cmocka_unit_test(arrays_are_indexed_by_element),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
