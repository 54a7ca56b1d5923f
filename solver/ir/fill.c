/*
 * Test data, as a pure function of (secret, tensor, call, element).
 *
 * Philox gives four words for each (element, stream); everything after that is integer arithmetic
 * and at most one multiplication and one addition in double, in the order written here, followed by
 * one rounding to the tensor's type.  So another machine, or a GPU kernel, makes the same bits.
 *
 * A normal value is the sum of eight 16-bit uniforms, centred and scaled: sums reach 4.9 standard
 * deviations, moments agree with the normal's to within 10 % up to the fourth.
 *
 * A "row" is the tensor's last dimension.  Pairs of tensors that meet in a product want different
 * data (a signed choice of rows against odd integers, say): the class looks at the parity of the
 * tensor's ordinal.
 *
 * Left out: what an element means to the op.  Where a class leads out of an op's domain the
 * reference is not finite, its elements are open, and the checker has nothing to compare.
 */
#include <math.h>

#include "base/num.h"
#include "base/panic.h"

#include "solver/ir/interp.h"
#include "solver/ir/op.h"

const char *data_class_name(enum data_class class)
{
    static const char *const names[] = {
#define X(id, name) name,
        DATA_CLASSES(X)
#undef X
    };
    ASSERT((size_t) class < COUNT_OF(names));
    return names[class];
}

/* One tensor to fill. */
struct filler {
    struct rng_key key;
    enum dtype dtype;
    enum data_class class;
    const struct fill *spec;
    const int64_t *shape;
    size_t rank;
    int64_t row_len;
    int64_t sample_len; /* elements behind the first dimension */
    int64_t low, high;  /* FILL_INTS */
    int digits;         /* significand bits of the dtype, at most 24 */
    bool odd;           /* ordinal of the tensor */
    bool finite;        /* the policy promises finite inputs */
};

/* Streams: element values, and facts about rows, coordinates. */
enum { STREAM_ELEMENT, STREAM_ROW, STREAM_COORDINATE };

static struct rng_block draw(const struct filler *f, uint32_t stream, int64_t index)
{
    struct rng_block counter = {{(uint32_t)index, (uint32_t)((uint64_t)index >> 32), stream, 0}};
    return rng_philox(f->key, counter);
}

/* ---- distributions ---- */

static double normal(const struct rng_block *block)
{
    int64_t sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (int64_t)(block->word[i] & 0xffff) + (block->word[i] >> 16);
    const double scale = 9.344062430904407e-06; /* 1 / (2 * sqrt(8 * (2^32 - 1) / 12)) */
    return (double)(2 * sum - 8 * 65535) * scale;
}

/* Multiples of 2^-digits in [0, 1), so that rounding to the dtype cannot reach 1. */
static double unit(const struct filler *f, uint32_t word)
{
    return (double)(word >> (32 - f->digits)) * ldexp(1, -f->digits);
}

static double uniform(const struct filler *f, uint32_t word, double low, double high)
{
    double value = low + (high - low) * unit(f, word);
    return dtype_round(f->dtype, value) < high ? value : low;
}

/* Multiples of 2^-23 in [-1, 1). */
static double signed_unit(uint32_t word)
{
    return (double)((int64_t)(word >> 8) - (1 << 23)) * 0x1p-23;
}

static int64_t below(const struct rng_block *block, int64_t bound)
{
    if (bound <= INT64_C(1) << 32)
        return (int64_t)((uint64_t)block->word[0] * (uint64_t)bound >> 32);
    uint64_t word = block->word[0] | (uint64_t)block->word[1] << 32;
    return (int64_t)(word % (uint64_t)bound);
}

static bool chance(uint32_t word, double probability)
{
    return (double)word < probability * 0x1p32;
}

/* ---- classes ---- */

static double value_spec(const struct filler *f, const struct rng_block *block)
{
    switch (f->spec->kind) {
    case FILL_NORMAL:
        return f->spec->a + f->spec->b * normal(block);
    case FILL_UNIFORM:
        return uniform(f, block->word[0], f->spec->a, f->spec->b);
    case FILL_INTS:
        return (double)(f->low + below(block, f->high - f->low + 1));
    case FILL_ZEROS:
        return 0;
    case FILL_ONES:
        return 1;
    case FILL_MASK:
        return chance(block->word[0], f->spec->a) ? 1 : 0;
    }
    panic("fill %d", (int)f->spec->kind);
}

/* Each coordinate shifts the value by its own amount, with another weight in each dimension, and
 * rows have their own spread: means, deviations and neighbours all tell where an element is from.
 */
static double value_indexed(const struct filler *f, const struct rng_block *block, int64_t index)
{
    double value = 0;
    double spread = 0.25;
    int64_t rest = index;
    for (size_t d = f->rank; d-- > 0;) {
        int64_t at = rest % f->shape[d];
        rest /= f->shape[d];
        struct rng_block place = draw(f, STREAM_COORDINATE + (uint32_t)d, at);
        value += signed_unit(place.word[0]) * (1 - 0.125 * (double)d);
        if (d == 0 && f->rank > 1)
            spread = 0.125 + 0.25 * unit(f, place.word[1]);
    }
    return value + spread * normal(block);
}

/* Two entries a row, of 4 to 20 and either sign; tensors of odd ordinal are dense. */
static double value_one_hot(const struct filler *f, const struct rng_block *block, int64_t index)
{
    if (f->odd)
        return normal(block);
    struct rng_block row = draw(f, STREAM_ROW, index / f->row_len);
    int64_t at = index % f->row_len;
    for (int i = 0; i < 2; i++) {
        int64_t place = (int64_t)((uint64_t)row.word[i] * (uint64_t)f->row_len >> 32);
        double size = 4 + 16 * unit(f, row.word[2 + i]);
        if (at == place)
            return row.word[2 + i] & 1 ? -size : size;
    }
    return 0;
}

static double value_heavy(const struct filler *f, const struct rng_block *block)
{
    struct rng_block size = *block;
    int reach = dtype_max(f->dtype) < 1e3 ? 5 : 12;
    int binade = (int)(size.word[0] % (2 * (uint32_t)reach + 1)) - reach;
    return ldexp(1 + unit(f, size.word[1]), binade) * (size.word[2] & 1 ? -1 : 1);
}

/* 1000, or less where the type could not show a deviation of 1 there. */
static double value_offset(const struct filler *f, const struct rng_block *block)
{
    double mean = fmin(1000, ldexp(1, f->digits - 2));
    return mean + normal(block);
}

/* Rows: +-100; +-1e4; all equal; all near -1e4; all near 100.  Less in types that end sooner. */
static double value_large(const struct filler *f, const struct rng_block *block, int64_t index)
{
    double huge = fmin(1e4, dtype_max(f->dtype) / 64);
    double large = fmin(100, dtype_max(f->dtype) / 128);
    int64_t row = index / f->row_len;
    struct rng_block about = draw(f, STREAM_ROW, row / 5);
    bool negative = block->word[0] & 0x10000;
    switch ((row + about.word[0]) % 5) {
    case 0:
        return (negative ? -large : large) + normal(block);
    case 1:
        return (negative ? -huge : huge) + normal(block);
    case 2:
        return huge;
    case 3:
        return normal(block) - huge;
    }
    return large + normal(block);
}

/* {-1, 0, 1}, at most 2048 not 0 in what lies behind one index of the first dimension; odd integers
 * up to 8191 (or all that the type holds exactly) in tensors of odd ordinal.  A 0 has either sign,
 * and a quarter of the rows has no 1, another no -1: there zeros of both signs tie for the largest
 * or the smallest, which they must do as equals. */
static double value_integer(const struct filler *f, const struct rng_block *block, int64_t index)
{
    if (f->odd) {
        int64_t top = f->digits < 13 ? (INT64_C(1) << f->digits) - 1 : 8191;
        int64_t odd = 2 * below(block, top + 1) - top;
        return (double)odd;
    }
    int64_t group = num_ceil_div(f->sample_len, 2048);
    int64_t at = index % f->sample_len;
    struct rng_block about = draw(f, STREAM_ROW, index / f->sample_len * 2048 + at / group);
    bool chosen = group == 1 || below(&about, group) == at % group;
    int third = chosen ? (int)(block->word[1] % 3) - 1 : 0;
    int without = (int)(draw(f, STREAM_ROW, index / f->row_len).word[2] % 4) - 1;
    if (third != 0 && third != without)
        return third;
    return block->word[2] & 1 ? -0.0 : 0.0;
}

/*
 * A row is B, then numbers below half an ulp of B in f32, then -B.  A plain f32 sum in order loses
 * all that is in between; a compensated one does not.  Tensors of odd ordinal are ones.
 */
static double value_cancel(const struct filler *f, const struct rng_block *block, int64_t index)
{
    double big = fmin(0x1p27, ldexp(1, ilogb(dtype_max(f->dtype))));
    double least = fmax(big * 0x1p-26, ldexp(dtype_tiny(f->dtype), f->digits));
    int64_t at = index % f->row_len;
    if (f->odd)
        return 1;
    if (f->row_len > 2 && at == 0)
        return big;
    if (f->row_len > 2 && at == f->row_len - 1)
        return -big;
    return least * (1 + unit(f, block->word[0]));
}

/* Every other row has, in one of eight elements, a special value. */
static double value_special(const struct filler *f, const struct rng_block *block, int64_t index)
{
    struct rng_block row = draw(f, STREAM_ROW, index / f->row_len);
    double tiny = dtype_tiny(f->dtype);
    if (row.word[0] & 1 || block->word[0] % 8 != 0)
        return normal(block);
    switch (block->word[1] % (f->finite ? 3 : 6)) {
    case 0:
        return -0.0;
    case 1:
        return tiny * (double)(1 + block->word[2] % 3);
    case 2:
        return -tiny * (double)(1 + block->word[2] % 3);
    case 3:
        return NAN;
    case 4:
        return INFINITY;
    }
    return -INFINITY;
}

static double value_of(const struct filler *f, int64_t index)
{
    struct rng_block block = draw(f, STREAM_ELEMENT, index);
    switch (f->class) {
    case DATA_SPEC:
        return value_spec(f, &block);
    case DATA_ZERO_MEAN:
        return normal(&block);
    case DATA_POSITIVE:
        return unit(f, block.word[0]);
    case DATA_INDEXED:
        return value_indexed(f, &block, index);
    case DATA_ONE_HOT:
        return value_one_hot(f, &block, index);
    case DATA_HEAVY:
        return value_heavy(f, &block);
    case DATA_OFFSET:
        return value_offset(f, &block);
    case DATA_LARGE:
        return value_large(f, &block, index);
    case DATA_INTEGERS:
        return value_integer(f, &block, index);
    case DATA_CANCEL:
        return value_cancel(f, &block, index);
    case DATA_SPECIAL:
        return value_special(f, &block, index);
    case DATA_ZEROS:
        return 0;
    case DATA_CLASS_COUNT:
        break;
    }
    panic("data class %d", (int)f->class);
}

/* ---- filling ---- */

/* Masks stay masks, and a fill that is positive throughout is taken as a promise. */
static double in_domain(const struct filler *f, double value)
{
    if (f->class == DATA_SPEC || f->spec->kind != FILL_UNIFORM || !(f->spec->a > 0))
        return value;
    return f->spec->a + fabs(value);
}

static bool range_of_ints(const struct bound_op *bound, const struct tensor *tensor,
                          struct filler *f, struct err *err)
{
    if (tensor->fill.kind != FILL_INTS)
        return true;
    if (!formula_eval(tensor->fill.low, &bound->env, &f->low, err) ||
        !formula_eval(tensor->fill.high, &bound->env, &f->high, err))
        return err_context(err, "fill of %.*s", STR_ARG(tensor->name));
    const int64_t most = INT64_C(1) << 53;
    if (f->low > f->high || f->low < -most || f->high > most)
        return err_raise(err, ERR_SEMANTIC,
                         "fill of %.*s: no range of integers within 2^53: %lld to %lld",
                         STR_ARG(tensor->name), (long long)f->low, (long long)f->high);
    return true;
}

/* Position among the tensors that are filled. */
static size_t ordinal_of(const struct op *op, size_t tensor)
{
    size_t ordinal = 0;
    for (size_t t = 0; t < tensor; t++)
        ordinal += !op->tensors[t].temporary && op->tensors[t].role != ROLE_OUTPUT &&
                   dtype_is_float(op->tensors[t].dtype);
    return ordinal;
}

static int64_t at_least_one(int64_t x)
{
    return x > 0 ? x : 1;
}

bool fill_tensor(const struct bound_op *bound, size_t tensor, enum data_class class,
                 uint64_t secret, uint32_t call, void *out, struct err *err)
{
    const struct tensor *t = &bound->op->tensors[tensor];
    const struct bound_tensor *shape = &bound->tensors[tensor];
    bool is_float = dtype_is_float(t->dtype);
    struct filler f = {
        .key = rng_key_derive(secret, (uint32_t)tensor, call),
        .dtype = t->dtype,
        .class = is_float && t->fill.kind != FILL_MASK ? class : DATA_SPEC,
        .spec = &t->fill,
        .shape = shape->shape,
        .rank = t->rank,
        .row_len = t->rank ? at_least_one(shape->shape[t->rank - 1]) : 1,
        .sample_len = t->rank > 1 ? at_least_one(shape->strides[0]) : at_least_one(shape->count),
        .digits = 24,
        .odd = ordinal_of(bound->op, tensor) % 2,
        .finite = bound->op->policy.finite_inputs,
    };
    if (!range_of_ints(bound, t, &f, err))
        return false;
    if (is_float)
        f.digits = (int)fmin(24, -log2(dtype_unit_roundoff(t->dtype)));
    for (int64_t i = 0; i < shape->count; i++) {
        double value = in_domain(&f, value_of(&f, i));
        if (is_float)
            elem_from_double(t->dtype, out, (size_t)i, value);
        else
            elem_from_int(t->dtype, out, (size_t)i, (int64_t)value);
    }
    return true;
}
