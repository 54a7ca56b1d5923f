/*
 * Accumulators of reductions.
 *
 * Either each lane is another output and has its own accumulator, or all lanes are terms of one
 * output and are combined in order into the first.  Both are the same loops with a different step,
 * so sums are in index order whichever loop the lanes run along.  In INTERP_BOUND the accumulators
 * also collect what bound_sum needs: sum of |terms|, of the terms' bounds, the largest partial sum,
 * and for rounded factors what the rounding does.
 *
 * A row (fold_row) has all terms at hand: for argmax, which must see every bound before it can say
 * which positions are possible, and for sums in another than index order.
 */
#include <math.h>
#include <string.h>

#include "base/panic.h"

#include "solver/ir/interp_int.h"

/* ---- beginning ---- */

static union cell identity(const struct kernel *k)
{
    union cell cell = {.i = 0};
    switch (k->stmt->reduce) {
    case REDUCE_NONE:
    case REDUCE_SUM:
    case REDUCE_ARGMAX:
    case REDUCE_ARGMIN:
    case REDUCE_ANY:
        break;
    case REDUCE_PROD:
        if (k->is_float)
            cell.f = 1;
        else
            cell.i = 1;
        break;
    case REDUCE_MAX:
        if (k->is_float)
            cell.f = -INFINITY;
        else
            cell.i = k->dtype == DTYPE_U8 ? 0 : INT64_MIN >> (64 - 8 * dtype_bytes(k->dtype));
        break;
    case REDUCE_MIN:
        if (k->is_float)
            cell.f = INFINITY;
        else
            cell.i = k->dtype == DTYPE_U8 ? 255 : INT64_MAX >> (64 - 8 * dtype_bytes(k->dtype));
        break;
    case REDUCE_ALL:
        cell.i = 1;
        break;
    }
    return cell;
}

void fold_begin(const struct worker *w, size_t lanes)
{
    const struct kernel *k = w->kernel;
    union cell start = identity(k);
    for (size_t i = 0; i < lanes; i++)
        w->acc.value[i] = start;
    if (w->interp->mode != INTERP_BOUND)
        return;
    for (size_t f = 0; f < ACC_FIELDS; f++)
        memset(w->acc.field[f], 0, lanes * sizeof(double));
    bool extremum = k->stmt->reduce == REDUCE_MAX || k->stmt->reduce == REDUCE_MIN;
    double empty = k->is_float ? start.f : (double)start.i;
    for (size_t i = 0; extremum && i < lanes; i++)
        w->acc.field[ACC_ABS][i] = w->acc.field[ACC_BOUND][i] = empty;
}

/* ---- values ---- */

static double max_nan(double x, double y)
{
    return isnan(x) || x > y ? x : y;
}

static double min_nan(double x, double y)
{
    return isnan(x) || x < y ? x : y;
}

/* Combine with `value`, an expression of accumulator p and term t. */
#define FOLD(member, value)                                                                        \
    do {                                                                                           \
        if (!along && terms->step) {                                                               \
            for (size_t i = 0; i < n; i++) {                                                       \
                __typeof__(acc->member) p = acc[i].member, t = terms->at[i].member;                \
                acc[i].member = (value);                                                           \
            }                                                                                      \
        } else {                                                                                   \
            for (size_t i = 0; i < n; i++) {                                                       \
                union cell *a = acc + (along ? 0 : i);                                             \
                __typeof__(acc->member) p = a->member, t = terms->at[i * terms->step].member;      \
                a->member = (value);                                                               \
            }                                                                                      \
        }                                                                                          \
    } while (0)

static void fold_float(const struct kernel *k, union cell *restrict acc, const struct reg *terms,
                       size_t n, bool along)
{
    switch (k->stmt->reduce) {
    case REDUCE_SUM:
        FOLD(f, p + t);
        return;
    case REDUCE_PROD:
        FOLD(f, p * t);
        return;
    case REDUCE_MAX:
        FOLD(f, max_nan(p, t));
        return;
    case REDUCE_MIN:
        FOLD(f, min_nan(p, t));
        return;
    case REDUCE_NONE:
    case REDUCE_ARGMAX:
    case REDUCE_ARGMIN:
    case REDUCE_ANY:
    case REDUCE_ALL:
        break;
    }
    panic("reduction %d of floats", (int)k->stmt->reduce);
}

static void fold_int(const struct kernel *k, union cell *restrict acc, const struct reg *terms,
                     size_t n, bool along)
{
    switch (k->stmt->reduce) {
    case REDUCE_SUM:
        FOLD(i, (int64_t)((uint64_t)p + (uint64_t)t));
        return;
    case REDUCE_PROD:
        FOLD(i, (int64_t)((uint64_t)p * (uint64_t)t));
        return;
    case REDUCE_MAX:
        FOLD(i, p > t ? p : t);
        return;
    case REDUCE_MIN:
        FOLD(i, p < t ? p : t);
        return;
    case REDUCE_ANY:
        FOLD(i, p | t);
        return;
    case REDUCE_ALL:
        FOLD(i, p & t);
        return;
    case REDUCE_NONE:
    case REDUCE_ARGMAX:
    case REDUCE_ARGMIN:
        break;
    }
    panic("reduction %d of integers", (int)k->stmt->reduce);
}

/* Each partial result rounded to the type; bounds of products need the step-by-step values too. */
static void fold_rounded(const struct kernel *k, union cell *acc, const struct reg *terms, size_t n,
                         bool along)
{
    if (!along) {
        fold_float(k, acc, terms, n, false);
        round_lanes(k->dtype, acc, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct reg one = {.at = terms->at + i * terms->step};
        fold_float(k, acc, &one, 1, true);
        round_lanes(k->dtype, acc, 1);
    }
}

/* ---- bounds ---- */

/* Does this term's addition round as the two before it did?  Then it may lose what they lost. */
static void collect_alike(const struct acc *acc, size_t at, double size, double unit)
{
    double sum = acc->value[at].f;
    double loss = unit * fabs(sum);
    acc->field[ACC_COHERENT][at] += size < loss ? size : loss;
    acc->field[ACC_ALIKE][at] += 1;
    acc->field[ACC_ALIKE_ABS][at] += size;
    acc->field[ACC_ALIKE_AT][at] += sum;
    acc->field[ACC_ALIKE_SQUARE][at] += sum * sum;
}

/* A term that dwarfs all before it: had it been the first, each of them could be lost. */
static void collect_dwarfed(const struct acc *acc, size_t at, double size, double unit)
{
    double lost = fmin(acc->field[ACC_ABS][at], acc->field[ACC_TERMS][at] * unit * size);
    acc->field[ACC_DWARFED][at] = fmax(acc->field[ACC_DWARFED][at], lost);
}

static void collect_coherent(const struct acc *acc, size_t at, double x, double unit)
{
    double size = fabs(x);
    if (x == 0)
        return;
    if (4 * unit * size > acc->field[ACC_MOST][at])
        collect_dwarfed(acc, at, size, unit);
    bool alike = fabs(x - acc->field[ACC_LAST][at]) <= 2 * unit * fabs(acc->value[at].f);
    if (alike && acc->field[ACC_RUN][at] >= 1)
        collect_alike(acc, at, size, unit);
    acc->field[ACC_RUN][at] = alike ? 1 : 0;
    acc->field[ACC_LAST][at] = x;
    acc->field[ACC_TERMS][at] += 1;
    if (size > acc->field[ACC_MOST][at])
        acc->field[ACC_MOST][at] = size;
}

static void collect_sum(const struct worker *w, const struct reg *terms, size_t n, bool along)
{
    const struct acc *acc = &w->acc;
    double unit = w->kernel->limits.unit;
    for (size_t i = 0; i < n; i++) {
        size_t at = along ? 0 : i;
        double x = terms->at[i * terms->step].f;
        double b = terms->bound[i * terms->bound_step];
        double size = fabs(x);
        collect_coherent(acc, at, x, unit);
        double v = acc->value[at].f + x;
        acc->value[at].f = v;
        acc->field[ACC_ABS][at] += size;
        acc->field[ACC_BOUND][at] += b < 0 ? INFINITY : b;
        if (fabs(v) > acc->field[ACC_PEAK][at])
            acc->field[ACC_PEAK][at] = fabs(v);
        bool whole = size < 0x1p51 && (x + 0x1.8p52) - 0x1.8p52 == x;
        if (b != 0 || !whole)
            acc->field[ACC_INEXACT][at] = 1;
    }
}

static double round_factor(enum compute compute, double x)
{
    if (compute == COMPUTE_TF32)
        return tf32_round(x);
    return dtype_round(compute == COMPUTE_BF16 ? DTYPE_BF16 : DTYPE_F16, x);
}

/* What rounding the factors of the products does to the sum. */
static void collect_rounding(const struct worker *w, size_t n, bool along)
{
    const struct kernel *k = w->kernel;
    const struct reg *a = &w->regs[k->factors[0]];
    const struct reg *b = &w->regs[k->factors[1]];
    double weight = (k->exact_factor[0] ? 0 : 0.5) + (k->exact_factor[1] ? 0 : 0.5);
    for (size_t i = 0; i < n; i++) {
        size_t at = along ? 0 : i;
        double x = a->at[i * a->step].f;
        double y = b->at[i * b->step].f;
        double rx = k->exact_factor[0] ? x : round_factor(w->interp->compute, x);
        double ry = k->exact_factor[1] ? y : round_factor(w->interp->compute, y);
        w->acc.field[ACC_SQUARE][at] += weight * (x * y) * (x * y);
        w->acc.field[ACC_ROUND_A][at] += (rx - x) * y;
        w->acc.field[ACC_ROUND_B][at] += rx * (ry - y);
    }
}

/* Binades that the factors go up, and down. */
static void collect_binades(const struct acc *acc, size_t at, double x)
{
    double binades = log2(fabs(x));
    if (isfinite(binades))
        acc->field[binades > 0 ? ACC_ABS : ACC_PEAK][at] += binades;
}

static void collect_product(const struct worker *w, const struct reg *terms, size_t n, bool along)
{
    const struct acc *acc = &w->acc;
    for (size_t i = 0; i < n; i++) {
        size_t at = along ? 0 : i;
        double x = terms->at[i * terms->step].f;
        double p = acc->value[at].f;
        acc->value[at].f = p * x;
        collect_binades(acc, at, x);
        acc->field[ACC_BOUND][at] = bound_product(&w->kernel->limits, p, acc->field[ACC_BOUND][at],
                                                  x, terms->bound[i * terms->bound_step], p * x);
    }
}

/* least and greatest value that the extremum may have. */
static void collect_extremum(const struct worker *w, const struct reg *terms, size_t n, bool along)
{
    const struct acc *acc = &w->acc;
    bool max = w->kernel->stmt->reduce == REDUCE_MAX;
    for (size_t i = 0; i < n; i++) {
        size_t at = along ? 0 : i;
        union cell cell = terms->at[i * terms->step];
        double x = w->kernel->is_float ? cell.f : (double)cell.i;
        double b = terms->bound[i * terms->bound_step];
        double *least = &acc->field[ACC_ABS][at];
        double *most = &acc->field[ACC_BOUND][at];
        *least = max ? fmax(*least, x - b) : fmin(*least, x - b);
        *most = max ? fmax(*most, x + b) : fmin(*most, x + b);
        if (b < 0 || !(b < INFINITY))
            acc->field[ACC_INEXACT][at] = 1;
    }
}

/* Integers: bounds add up; a product of undecided ones is open.  Bools: does a term decide? */
static void collect_int(const struct worker *w, const struct reg *terms, size_t n, bool along)
{
    const struct acc *acc = &w->acc;
    enum reduce_op reduce = w->kernel->stmt->reduce;
    for (size_t i = 0; i < n; i++) {
        size_t at = along ? 0 : i;
        double b = terms->bound[i * terms->bound_step];
        bool value = terms->at[i * terms->step].i != 0;
        acc->field[ACC_BOUND][at] += reduce == REDUCE_PROD && b > 0 ? INFINITY : b;
        if (b == 0 && value == (reduce == REDUCE_ANY))
            acc->field[ACC_ABS][at] = 1;
    }
}

static void collect(const struct worker *w, const struct reg *terms, size_t n, bool along)
{
    const struct kernel *k = w->kernel;
    enum reduce_op reduce = k->stmt->reduce;
    bool extremum = reduce == REDUCE_MAX || reduce == REDUCE_MIN;
    if (extremum)
        collect_extremum(w, terms, n, along);
    else if (!k->is_float)
        collect_int(w, terms, n, along);
    if (k->is_float && reduce == REDUCE_SUM)
        collect_sum(w, terms, n, along);
    else if (k->is_float && reduce == REDUCE_PROD)
        collect_product(w, terms, n, along);
    else if (k->is_float)
        fold_float(k, w->acc.value, terms, n, along);
    else
        fold_int(k, w->acc.value, terms, n, along);
    if (k->is_contraction)
        collect_rounding(w, n, along);
}

void fold_terms(const struct worker *w, const struct reg *terms, size_t n, bool along)
{
    const struct kernel *k = w->kernel;
    bool rounds = k->stmt->reduce == REDUCE_SUM || k->stmt->reduce == REDUCE_PROD;
    if (w->interp->mode == INTERP_BOUND)
        collect(w, terms, n, along);
    else if (!k->is_float)
        fold_int(k, w->acc.value, terms, n, along);
    else if (w->interp->mode == INTERP_TYPED && rounds)
        fold_rounded(k, w->acc.value, terms, n, along);
    else
        fold_float(k, w->acc.value, terms, n, along);
}

/* ---- ends ---- */

static double end_extremum(const struct worker *w, size_t at)
{
    const struct acc *acc = &w->acc;
    double v = w->kernel->is_float ? acc->value[at].f : (double)acc->value[at].i;
    double least = acc->field[ACC_ABS][at];
    double most = acc->field[ACC_BOUND][at];
    if (acc->field[ACC_INEXACT][at] != 0)
        return INFINITY;
    if (!isfinite(v))
        return isnan(v) || (least == v && most == v) ? 0 : INFINITY;
    return fmax(most - v, v - least);
}

static double end_bound(const struct worker *w, size_t at, int64_t count)
{
    const struct acc *acc = &w->acc;
    double b = acc->field[ACC_BOUND][at];
    switch (w->kernel->stmt->reduce) {
    case REDUCE_MAX:
    case REDUCE_MIN:
        return end_extremum(w, at);
    case REDUCE_SUM:
        if (w->kernel->is_float)
            return bound_sum(w->kernel, acc, at, count);
        return b;
    case REDUCE_PROD:
        return w->kernel->is_float ? bound_factors(&w->kernel->limits, b, acc->field[ACC_ABS][at],
                                                   acc->field[ACC_PEAK][at])
                                   : b;
    case REDUCE_ANY:
    case REDUCE_ALL:
        return b > 0 && acc->field[ACC_ABS][at] == 0 ? 1 : 0;
    case REDUCE_NONE:
    case REDUCE_ARGMAX:
    case REDUCE_ARGMIN:
        break;
    }
    panic("reduction %d has no end", (int)w->kernel->stmt->reduce);
}

void fold_end(const struct worker *w, size_t lanes, int64_t count, size_t to)
{
    for (size_t i = 0; i < lanes; i++) {
        w->out[to + i] = w->acc.value[i];
        if (!w->kernel->is_float)
            w->out[to + i].i = dtype_wrap(w->kernel->dtype, w->acc.value[i].i);
        if (w->interp->mode == INTERP_BOUND)
            w->out_bound[to + i] = end_bound(w, i, count);
    }
}

/* ---- rows ---- */

/* The flat position, over the extents of the reduced loops, of the row's term `index`. */
static int64_t flat_position(const struct worker *w, int64_t index)
{
    const struct kernel *k = w->kernel;
    int64_t flat = 0;
    int64_t scale = 1;
    for (size_t l = k->stmt->loop_count; l-- > k->stmt->free_count;) {
        int64_t span = w->high[l] - w->low[l];
        flat += (w->low[l] + index % span) * scale;
        index /= span;
        scale *= k->extents[l];
    }
    return flat;
}

/* Does the term win against the best so far?  The first wins among equals, NaN against numbers. */
static bool wins(const struct kernel *k, union cell term, union cell best)
{
    bool max = k->stmt->reduce == REDUCE_ARGMAX;
    if (!k->is_float)
        return max ? term.i > best.i : term.i < best.i;
    if (isnan(best.f))
        return false;
    return isnan(term.f) || (max ? term.f > best.f : term.f < best.f);
}

static double row_value(const struct worker *w, int64_t i)
{
    double v = w->kernel->is_float ? w->row[i].f : (double)w->row[i].i;
    return w->kernel->stmt->reduce == REDUCE_ARGMAX ? v : -v;
}

static double row_bound(const struct worker *w, int64_t i)
{
    return w->row_bound[i] < 0 ? INFINITY : w->row_bound[i];
}

/* Mark every term that can be the extremum: its greatest value reaches the others' least, and where
 * it only equals one, no earlier term holds that value for certain. */
static bool mark_choices(const struct worker *w, int64_t count, int64_t best, uint64_t *choices)
{
    if (isnan(row_value(w, best)) && row_bound(w, best) == 0)
        return false;
    double least = -INFINITY;
    int64_t holder = 0;
    for (int64_t i = 0; i < count; i++)
        if (row_value(w, i) - row_bound(w, i) > least) {
            least = row_value(w, i) - row_bound(w, i);
            holder = i;
        }
    int64_t marked = 0;
    for (int64_t i = 0; i < count; i++) {
        double most = row_value(w, i) + row_bound(w, i);
        bool open = !(row_bound(w, i) < INFINITY);
        if (open || most > least || (most == least && i <= holder)) {
            int64_t flat = flat_position(w, i);
            choices[flat / 64] |= UINT64_C(1) << (flat % 64);
            marked++;
        }
    }
    return marked > 1;
}

static void fold_arg(const struct worker *w, int64_t count, int64_t element)
{
    int64_t best = 0;
    for (int64_t i = 1; i < count; i++)
        if (wins(w->kernel, w->row[i], w->row[best]))
            best = i;
    w->out[0].i = flat_position(w, best);
    if (w->interp->mode != INTERP_BOUND)
        return;
    const struct store *store = &w->interp->stores[w->kernel->stmt->target];
    uint64_t *choices = store->choices + (size_t)element * store->choice_words;
    memset(choices, 0, store->choice_words * sizeof(*choices));
    w->out_bound[0] = mark_choices(w, count, best, choices) ? INFINITY : 0;
    choices[w->out[0].i / 64] |= UINT64_C(1) << (w->out[0].i % 64);
}

static double add_typed(enum dtype dtype, double x, double y)
{
    union cell sum = {.f = x + y};
    round_lanes(dtype, &sum, 1);
    return sum.f;
}

static double sum_reversed(enum dtype dtype, const union cell *row, int64_t count)
{
    double sum = 0;
    for (int64_t i = count; i-- > 0;)
        sum = add_typed(dtype, sum, row[i].f);
    return sum;
}

static double sum_pairwise(enum dtype dtype, const union cell *row, int64_t count)
{
    if (count <= 1)
        return count ? row[0].f : 0;
    int64_t half = count / 2;
    return add_typed(dtype, sum_pairwise(dtype, row, half),
                     sum_pairwise(dtype, row + half, count - half));
}

static double sum_strided(enum dtype dtype, const union cell *row, int64_t count)
{
    double stripes[INTERP_STRIPES] = {0};
    for (int64_t i = 0; i < count; i++)
        stripes[i % INTERP_STRIPES] = add_typed(dtype, stripes[i % INTERP_STRIPES], row[i].f);
    for (int step = INTERP_STRIPES / 2; step > 0; step /= 2)
        for (int i = 0; i < step; i++)
            stripes[i] = add_typed(dtype, stripes[i], stripes[i + step]);
    return stripes[0];
}

static double sum_row(const struct worker *w, int64_t count)
{
    enum dtype dtype = w->kernel->dtype;
    switch (w->interp->order) {
    case ORDER_REVERSED:
        return sum_reversed(dtype, w->row, count);
    case ORDER_PAIRWISE:
        return sum_pairwise(dtype, w->row, count);
    case ORDER_STRIDED:
        return sum_strided(dtype, w->row, count);
    case ORDER_SEQUENTIAL:
        break;
    }
    panic("a row is not needed for sums in index order");
}

void fold_row(const struct worker *w, int64_t count, int64_t element)
{
    if (w->kernel->stmt->reduce == REDUCE_SUM)
        w->out[0].f = sum_row(w, count);
    else
        fold_arg(w, count, element);
}
