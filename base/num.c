/*
 * Checked integers, and conversion between double and the narrow float formats.
 *
 * Each format is described by its exponent range and significand width; one routine rounds a double
 * to any of them on the integer level, so the result depends on neither the rounding mode nor the
 * compiler.  The significand is shifted right by as many bits as the format (or its subnormal
 * range) lacks, and the bits shifted out decide.
 *
 * Invariant: a rounded significand that carries into the next binade also gives the right encoding,
 * because exponent and fraction are neighbours; so overflow is one comparison at the end.
 */
#include "base/num.h"

#include <math.h>
#include <string.h>

#include "base/panic.h"

/* ---- integers ---- */

int64_t num_floor_div(int64_t a, int64_t b)
{
    ASSERT(b != 0 && !(a == INT64_MIN && b == -1));
    int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

int64_t num_ceil_div(int64_t a, int64_t b)
{
    ASSERT(b != 0 && !(a == INT64_MIN && b == -1));
    int64_t q = a / b;
    return a % b != 0 && (a < 0) == (b < 0) ? q + 1 : q;
}

int64_t num_floor_mod(int64_t a, int64_t b)
{
    ASSERT(b != 0);
    if (b == -1)
        return 0;
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

bool num_add(int64_t a, int64_t b, int64_t *out)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *out = sum;
    return true;
}

bool num_mul(int64_t a, int64_t b, int64_t *out)
{
    int64_t product;
    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *out = product;
    return true;
}

bool num_product(const int64_t *values, size_t count, int64_t *out)
{
    int64_t product = 1;
    for (size_t i = 0; i < count; i++)
        if (!num_mul(product, values[i], &product))
            return false;
    *out = product;
    return true;
}

int64_t num_gcd(int64_t a, int64_t b)
{
    ASSERT(a != INT64_MIN && b != INT64_MIN);
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* ---- narrow floats ---- */

struct format {
    int fraction_bits;
    int exponent_min; /* of the smallest normal number */
    uint32_t sign;
    uint32_t finite_max; /* encodings, without sign */
    uint32_t overflow;
    uint32_t nan;
    bool has_infinity;
};

static const struct format f16 = {10, -14, 0x8000, 0x7bff, 0x7c00, 0x7fff, true};
static const struct format bf16 = {7, -126, 0x8000, 0x7f7f, 0x7f80, 0x7fff, true};
static const struct format e4m3 = {3, -6, 0x80, 0x7e, 0x7f, 0x7f, false};
static const struct format e5m2 = {2, -14, 0x80, 0x7b, 0x7c, 0x7f, true};
static const struct format tf32 = {10, -126, 0x40000, 0x3fbff, 0x3fc00, 0x3ffff, true};

enum ties { TIES_EVEN, TIES_AWAY };

static uint64_t double_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static double bits_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* significand / 2^drop, rounded to nearest; 0 < drop < 64. */
static uint64_t shift_round(uint64_t significand, int drop, enum ties ties)
{
    uint64_t kept = significand >> drop;
    uint64_t rest = significand & ((UINT64_C(1) << drop) - 1);
    uint64_t half = UINT64_C(1) << (drop - 1);
    if (rest > half || (rest == half && (ties == TIES_AWAY || (kept & 1))))
        kept++;
    return kept;
}

static uint32_t narrow(const struct format *f, double value, enum ties ties)
{
    uint64_t bits = double_bits(value);
    uint32_t sign = bits >> 63 ? f->sign : 0;
    int field = (int)(bits >> 52 & 0x7ff);
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);

    if (field == 0x7ff)
        return fraction ? f->nan : sign | f->overflow;
    if (field == 0)
        return sign; /* below half the smallest subnormal of every format here */

    int exponent = field - 1023;
    int drop = 52 - f->fraction_bits;
    int below = exponent < f->exponent_min ? f->exponent_min - exponent : 0;
    if (drop + below > 54)
        return sign;
    uint64_t kept = shift_round(fraction | UINT64_C(1) << 52, drop + below, ties);
    if (!below)
        kept += (uint64_t)(exponent - f->exponent_min) << f->fraction_bits;
    return sign | (kept > f->finite_max ? f->overflow : (uint32_t)kept);
}

static double widen(const struct format *f, uint32_t bits)
{
    uint64_t sign = bits & f->sign ? UINT64_C(1) << 63 : 0;
    uint32_t magnitude = bits & (f->sign - 1);
    if (magnitude > f->finite_max) {
        bool infinite = f->has_infinity && magnitude == f->overflow;
        return bits_double(sign | (infinite ? UINT64_C(0x7ff) << 52 : UINT64_C(0x7ff8) << 48));
    }
    uint32_t field = magnitude >> f->fraction_bits;
    uint64_t fraction = magnitude & ((1U << f->fraction_bits) - 1);
    if (field == 0) {
        double unit = bits_double((uint64_t)(f->exponent_min - f->fraction_bits + 1023) << 52);
        double value = (double)fraction * unit;
        return sign ? -value : value;
    }
    uint64_t exponent = (uint64_t)((int)field - 1 + f->exponent_min + 1023);
    return bits_double(sign | exponent << 52 | fraction << (52 - f->fraction_bits));
}

uint16_t f16_from_double(double value)
{
    return (uint16_t)narrow(&f16, value, TIES_EVEN);
}

double f16_to_double(uint16_t bits)
{
    return widen(&f16, bits);
}

uint16_t bf16_from_double(double value)
{
    return (uint16_t)narrow(&bf16, value, TIES_EVEN);
}

double bf16_to_double(uint16_t bits)
{
    return widen(&bf16, bits);
}

uint8_t e4m3_from_double(double value)
{
    return (uint8_t)narrow(&e4m3, value, TIES_EVEN);
}

double e4m3_to_double(uint8_t bits)
{
    return widen(&e4m3, bits);
}

uint8_t e5m2_from_double(double value)
{
    return (uint8_t)narrow(&e5m2, value, TIES_EVEN);
}

double e5m2_to_double(uint8_t bits)
{
    return widen(&e5m2, bits);
}

double tf32_round(double value)
{
    return widen(&tf32, narrow(&tf32, value, TIES_AWAY));
}

/* ---- dtypes ---- */

/* Toward zero, saturating; NaN gives 0. */
static int64_t to_int(double value)
{
    if (isnan(value))
        return 0;
    if (value >= 0x1p63)
        return INT64_MAX;
    if (value <= -0x1p63)
        return INT64_MIN;
    return (int64_t)value;
}

/* The integer as a double rounded to odd, so that a later rounding to any narrower format is the
 * only one that shows. */
static double to_double_odd(int64_t value)
{
    uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
    int excess = magnitude >> 53 ? 11 - __builtin_clzll(magnitude) : 0;
    uint64_t kept = magnitude >> excess;
    if (kept << excess != magnitude)
        kept |= 1;
    double result = (double)kept * (double)(UINT64_C(1) << excess);
    return value < 0 ? -result : result;
}

double dtype_round(enum dtype dtype, double value)
{
    switch (dtype) {
    case DTYPE_F64:
        return value;
    case DTYPE_F32:
        return (double)(float)value;
    case DTYPE_F16:
        return f16_to_double(f16_from_double(value));
    case DTYPE_BF16:
        return bf16_to_double(bf16_from_double(value));
    case DTYPE_E4M3:
        return e4m3_to_double(e4m3_from_double(value));
    case DTYPE_E5M2:
        return e5m2_to_double(e5m2_from_double(value));
    case DTYPE_BOOL:
        return value != 0;
    case DTYPE_I64:
    case DTYPE_I32:
    case DTYPE_I16:
    case DTYPE_I8:
    case DTYPE_U8:
        return (double)dtype_wrap(dtype, to_int(value));
    case DTYPE_COUNT:
        break;
    }
    panic("dtype %d", (int)dtype);
}

int64_t dtype_wrap(enum dtype dtype, int64_t value)
{
    switch (dtype) {
    case DTYPE_I32:
        return (int32_t)value;
    case DTYPE_I16:
        return (int16_t)value;
    case DTYPE_I8:
        return (int8_t)value;
    case DTYPE_U8:
        return (uint8_t)value;
    case DTYPE_BOOL:
        return value != 0;
    case DTYPE_I64:
    case DTYPE_F64:
    case DTYPE_F32:
    case DTYPE_F16:
    case DTYPE_BF16:
    case DTYPE_E4M3:
    case DTYPE_E5M2:
        return value;
    case DTYPE_COUNT:
        break;
    }
    panic("dtype %d", (int)dtype);
}

/* Zero for integers. */
static const struct {
    double unit_roundoff, tiny, max;
} float_limits[DTYPE_COUNT] = {
    [DTYPE_F64] = {0x1p-53, 0x1p-1074, 0x1.fffffffffffffp1023},
    [DTYPE_F32] = {0x1p-24, 0x1p-149, 0x1.fffffep127},
    [DTYPE_F16] = {0x1p-11, 0x1p-24, 65504},
    [DTYPE_BF16] = {0x1p-8, 0x1p-133, 0x1.fep127},
    [DTYPE_E4M3] = {0x1p-4, 0x1p-9, 448},
    [DTYPE_E5M2] = {0x1p-3, 0x1p-16, 57344},
};

double dtype_unit_roundoff(enum dtype dtype)
{
    ASSERT((size_t)dtype < DTYPE_COUNT);
    return float_limits[dtype].unit_roundoff;
}

double dtype_tiny(enum dtype dtype)
{
    ASSERT((size_t)dtype < DTYPE_COUNT);
    return float_limits[dtype].tiny;
}

double dtype_max(enum dtype dtype)
{
    ASSERT((size_t)dtype < DTYPE_COUNT);
    return float_limits[dtype].max;
}

/* ---- elements of typed arrays ---- */

#define LOAD(type, data, index)                                                                    \
    type value;                                                                                    \
    memcpy(&value, (const char *)(data) + (index) * sizeof(type), sizeof(type))

#define STORE(type, data, index, from)                                                             \
    do {                                                                                           \
        type value_ = (type)(from);                                                                \
        memcpy((char *)(data) + (index) * sizeof(type), &value_, sizeof(type));                    \
    } while (0)

static double load_double(const void *data, size_t index)
{
    LOAD(double, data, index);
    return value;
}

static double load_float(const void *data, size_t index)
{
    LOAD(float, data, index);
    return (double)value;
}

static int64_t load_i64(const void *data, size_t index)
{
    LOAD(int64_t, data, index);
    return value;
}

static int64_t load_i32(const void *data, size_t index)
{
    LOAD(int32_t, data, index);
    return value;
}

static int64_t load_i16(const void *data, size_t index)
{
    LOAD(int16_t, data, index);
    return value;
}

double elem_to_double(enum dtype dtype, const void *data, size_t index)
{
    switch (dtype) {
    case DTYPE_F64:
        return load_double(data, index);
    case DTYPE_F32:
        return load_float(data, index);
    case DTYPE_F16:
        return f16_to_double((uint16_t)load_i16(data, index));
    case DTYPE_BF16:
        return bf16_to_double((uint16_t)load_i16(data, index));
    case DTYPE_E4M3:
        return e4m3_to_double(((const uint8_t *)data)[index]);
    case DTYPE_E5M2:
        return e5m2_to_double(((const uint8_t *)data)[index]);
    case DTYPE_I64:
    case DTYPE_I32:
    case DTYPE_I16:
    case DTYPE_I8:
    case DTYPE_U8:
    case DTYPE_BOOL:
        return (double)elem_to_int(dtype, data, index);
    case DTYPE_COUNT:
        break;
    }
    panic("dtype %d", (int)dtype);
}

int64_t elem_to_int(enum dtype dtype, const void *data, size_t index)
{
    switch (dtype) {
    case DTYPE_I64:
        return load_i64(data, index);
    case DTYPE_I32:
        return load_i32(data, index);
    case DTYPE_I16:
        return load_i16(data, index);
    case DTYPE_I8:
        return ((const int8_t *)data)[index];
    case DTYPE_U8:
        return ((const uint8_t *)data)[index];
    case DTYPE_BOOL:
        return ((const uint8_t *)data)[index] != 0;
    case DTYPE_F64:
    case DTYPE_F32:
    case DTYPE_F16:
    case DTYPE_BF16:
    case DTYPE_E4M3:
    case DTYPE_E5M2:
        return to_int(elem_to_double(dtype, data, index));
    case DTYPE_COUNT:
        break;
    }
    panic("dtype %d", (int)dtype);
}

void elem_from_double(enum dtype dtype, void *data, size_t index, double value)
{
    switch (dtype) {
    case DTYPE_F64:
        STORE(double, data, index, value);
        return;
    case DTYPE_F32:
        STORE(float, data, index, value);
        return;
    case DTYPE_F16:
        STORE(uint16_t, data, index, f16_from_double(value));
        return;
    case DTYPE_BF16:
        STORE(uint16_t, data, index, bf16_from_double(value));
        return;
    case DTYPE_E4M3:
        ((uint8_t *)data)[index] = e4m3_from_double(value);
        return;
    case DTYPE_E5M2:
        ((uint8_t *)data)[index] = e5m2_from_double(value);
        return;
    case DTYPE_BOOL:
        ((uint8_t *)data)[index] = value != 0;
        return;
    case DTYPE_I64:
    case DTYPE_I32:
    case DTYPE_I16:
    case DTYPE_I8:
    case DTYPE_U8:
        elem_from_int(dtype, data, index, to_int(value));
        return;
    case DTYPE_COUNT:
        break;
    }
    panic("dtype %d", (int)dtype);
}

void elem_from_int(enum dtype dtype, void *data, size_t index, int64_t value)
{
    switch (dtype) {
    case DTYPE_I64:
        STORE(int64_t, data, index, value);
        return;
    case DTYPE_I32:
        STORE(int32_t, data, index, value);
        return;
    case DTYPE_I16:
        STORE(int16_t, data, index, value);
        return;
    case DTYPE_I8:
    case DTYPE_U8:
        ((uint8_t *)data)[index] = (uint8_t)value;
        return;
    case DTYPE_BOOL:
        ((uint8_t *)data)[index] = value != 0;
        return;
    case DTYPE_F64:
        STORE(double, data, index, value);
        return;
    case DTYPE_F32:
    case DTYPE_F16:
    case DTYPE_BF16:
    case DTYPE_E4M3:
    case DTYPE_E5M2:
        elem_from_double(dtype, data, index, to_double_odd(value));
        return;
    case DTYPE_COUNT:
        break;
    }
    panic("dtype %d", (int)dtype);
}
