/*
 * Every element against its bound.
 *
 * The test is written !(distance <= bound), so that a NaN is never right by accident.  A non-finite
 * want is met by the same infinity, or by any NaN; where the bound reaches the largest value of the
 * output's type, the infinity on that side is right as well, for an honest rounding overflows
 * there.
 *
 * Integer outputs follow interp_accepts, which admits every outcome reachable inside the bounds.
 */
#include <math.h>

#include "base/num.h"

#include "verify/check/check_int.h"

static double ratio_of(double distance, double bound)
{
    if (distance == 0)
        return 0;
    return bound > 0 ? distance / bound : INFINITY;
}

/* The distance in bounds: right when <= 1. */
static double judge(enum dtype dtype, double got, double want, double bound)
{
    if (isnan(want))
        return isnan(got) ? 0 : INFINITY;
    if (isnan(got))
        return INFINITY;
    if (isinf(want))
        return got == want ? 0 : INFINITY;
    if (isinf(got))
        return signbit(got) == signbit(want) && fabs(want) + bound >= dtype_max(dtype) ? 0
                                                                                       : INFINITY;
    if (fabs(got - want) <= bound)
        return bound > 0 ? fabs(got - want) / bound : 0;
    return fmax(ratio_of(fabs(got - want), bound), nextafter(1, 2));
}

void compare_floats(const struct expectation *expected, const void *got, struct comparison *out)
{
    *out = (struct comparison){.worst_element = -1};
    for (int64_t i = 0; i < expected->count; i++) {
        double value, ratio;

        if (expected->undecided != NULL && expected->undecided[i])
            continue;
        value = elem_to_double(expected->dtype, got, (size_t)i);
        ratio = judge(expected->dtype, value, expected->want[i], expected->bound[i]);
        out->compared++;
        out->wrong += !(ratio <= 1);
        if (out->worst_element >= 0 && !(ratio > out->ratio))
            continue;
        out->worst_element = i;
        out->got = value;
        out->want = expected->want[i];
        out->bound = expected->bound[i];
        out->ratio = ratio;
    }
}

static void compare_ints(const struct dataset *set, size_t tensor, const void *got,
                         struct comparison *out)
{
    const struct values *want = &set->want[tensor];
    const enum dtype dtype = set->bound->op->tensors[tensor].dtype;
    const struct interp_inputs inputs = {(const void *const *)set->data};

    *out = (struct comparison){.worst_element = -1};
    for (int64_t i = 0; i < want->count; i++) {
        const int64_t value = elem_to_int(dtype, got, (size_t)i);
        const bool right = interp_accepts(set->bound, &inputs, set->want, tensor, i, value);
        const double ratio = right ? 0 : INFINITY;

        out->compared++;
        out->wrong += !right;
        if (out->worst_element >= 0 && !(ratio > out->ratio))
            continue;
        out->worst_element = i;
        out->got = (double)value;
        out->want = (double)want->ints[i];
        out->ratio = ratio;
    }
}

static void worst_at(struct arena *arena, const struct dataset *set, size_t tensor,
                     const struct comparison *found, struct worst_element *worst)
{
    const struct op *op = set->bound->op;
    int64_t rest = found->worst_element;

    *worst = (struct worst_element){
        .present = true,
        .tensor = str_from(str_copy(arena, op->tensors[tensor].name)),
        .rank = op->tensors[tensor].rank,
        .got = found->got,
        .want = found->want,
        .bound = found->bound,
        .ratio = found->ratio,
    };
    for (size_t d = 0; d < worst->rank; d++) {
        worst->index[d] = rest / set->bound->tensors[tensor].strides[d];
        rest %= set->bound->tensors[tensor].strides[d];
    }
}

bool compare_outputs(struct arena *arena, const struct dataset *dataset, void *const *outputs,
                     int64_t *wrong, struct worst_element *worst)
{
    const struct op *op = dataset->bound->op;

    *wrong = 0;
    for (size_t t = 0; t < op->declared_count; t++) {
        const enum dtype dtype = op->tensors[t].dtype;
        struct comparison found;

        if (!tensor_is_output(op, t))
            continue;
        if (dtype_is_float(dtype)) {
            const struct expectation expected = {dtype, dataset->want[t].count,
                                                 dataset->want[t].reals, dataset->want[t].bounds,
                                                 dataset->undecided[t]};

            compare_floats(&expected, outputs[t], &found);
        } else {
            compare_ints(dataset, t, outputs[t], &found);
        }
        *wrong += found.wrong;
        if (found.worst_element >= 0 && (!worst->present || found.ratio > worst->ratio))
            worst_at(arena, dataset, t, &found, worst);
    }
    return *wrong == 0;
}
