/*
 * Admission: could these bounds tell a right kernel from a wrong one?
 *
 * A task whose output is all zeros inside its tolerance, or the same for every seed, accepts
 * kernels that compute nothing (facts: 34 of 196 KernelBench problems do).  So five fake outputs
 * are held against the same references as the candidate: each must be refused by some data set.
 * What no data set refuses is named in the verdict's flags; such a task runs, but never counts.
 *
 * A probe that makes no sense for an op (a copy, when no input has the output's size) is not tried.
 */
#include <math.h>
#include <string.h>

#include "base/num.h"

#include "verify/check/check_int.h"

static const char *const probe_text[PROBE_COUNT] = {
#define X(id, text) text,
    PROBES(X)
#undef X
};

struct fake {
    const struct dataset *set, *other; /* `other`: the same class with another seed; or NULL */
    void **outputs;                    /* by tensor */
};

/* The right answer, rounded to the output's type. */
static void put_right(const struct dataset *set, size_t tensor, int64_t from, void *out, int64_t at)
{
    const enum dtype dtype = set->bound->op->tensors[tensor].dtype;

    if (dtype_is_float(dtype))
        elem_from_double(dtype, out, (size_t)at, set->want[tensor].reals[from]);
    else
        elem_from_int(dtype, out, (size_t)at, set->want[tensor].ints[from]);
}

static double mean_of(const struct dataset *set, size_t tensor)
{
    const struct values *want = &set->want[tensor];
    double sum = 0;

    for (int64_t i = 0; i < want->count; i++)
        sum += want->reals != NULL ? (isfinite(want->reals[i]) ? want->reals[i] : 0)
                                   : (double)want->ints[i];
    return want->count > 0 ? sum / (double)want->count : 0;
}

static void put_constant(const struct dataset *set, size_t tensor, double value, void *out)
{
    const enum dtype dtype = set->bound->op->tensors[tensor].dtype;

    for (int64_t i = 0; i < set->want[tensor].count; i++)
        if (dtype_is_float(dtype))
            elem_from_double(dtype, out, (size_t)i, value);
        else
            elem_from_int(dtype, out, (size_t)i, (int64_t)value);
}

/* The first input with the output's type and size. */
static size_t twin_input(const struct dataset *set, size_t tensor)
{
    const struct op *op = set->bound->op;

    for (size_t t = 0; t < op->declared_count; t++)
        if (tensor_is_fed(op, t) && op->tensors[t].dtype == op->tensors[tensor].dtype &&
            set->bound->tensors[t].count == set->bound->tensors[tensor].count)
            return t;
    return OP_NONE;
}

/* One fake output tensor; false when the probe makes no sense for it. */
static bool fake_tensor(const struct fake *fake, enum probe probe, size_t tensor)
{
    const struct dataset *set = fake->set;
    const int64_t count = set->want[tensor].count;
    void *out = fake->outputs[tensor];
    size_t twin;

    switch (probe) {
    case PROBE_ZEROS:
        put_constant(set, tensor, 0, out);
        return true;
    case PROBE_MEAN:
        put_constant(set, tensor, mean_of(set, tensor), out);
        return count > 1;
    case PROBE_COPY:
        twin = twin_input(set, tensor);
        if (twin != OP_NONE)
            memcpy(out, set->data[twin], (size_t)set->bound->tensors[tensor].bytes);
        return twin != OP_NONE;
    case PROBE_OTHER_SEED:
        for (int64_t i = 0; i < count; i++)
            put_right(fake->other, tensor, i, out, i);
        return true;
    case PROBE_PERMUTED:
        for (int64_t i = 0; i < count; i++)
            put_right(set, tensor, (i + 1) % count, out, i);
        return count > 1;
    case PROBE_COUNT:
        break;
    }
    return false;
}

/* All outputs faked; false when no output could be. */
static bool fake_all(const struct fake *fake, enum probe probe)
{
    const struct op *op = fake->set->bound->op;
    bool some = false;

    for (size_t t = 0; t < op->declared_count; t++) {
        if (!tensor_is_output(op, t))
            continue;
        if (fake_tensor(fake, probe, t)) {
            some = true;
            continue;
        }
        for (int64_t i = 0; i < fake->set->want[t].count; i++)
            put_right(fake->set, t, i, fake->outputs[t], i);
    }
    return some;
}

bool admission_settled(const struct admission *admission)
{
    for (int p = 0; p < PROBE_COUNT; p++)
        if (!admission->refused[p])
            return false;
    return true;
}

enum { DIM_FLOOR = 4 };

static bool all_at_least(const struct op *op, const int64_t *values, const int64_t *floor)
{
    for (size_t d = 0; d < op->dim_count; d++)
        if (op->dims[d].kind == DIM_VAR && values[d] < floor[d])
            return false;
    return true;
}

/* The highest floor, up to DIM_FLOOR, that some shape keeps in all dims. */
void admission_begin(struct admission *admission, const struct op *op, const struct shape *shapes,
                     size_t count)
{
    int64_t most[OP_DIMS_MAX] = {0};

    *admission = (struct admission){0};
    for (size_t i = 0; i < count; i++)
        for (size_t d = 0; d < op->dim_count; d++)
            if (shapes[i].values[d] > most[d])
                most[d] = shapes[i].values[d];
    for (int64_t floor = DIM_FLOOR; floor > 1; floor--) {
        for (size_t d = 0; d < op->dim_count; d++)
            admission->dim_floor[d] = most[d] < floor ? most[d] : floor;
        for (size_t i = 0; i < count; i++)
            if (all_at_least(op, shapes[i].values, admission->dim_floor))
                return;
    }
    memset(admission->dim_floor, 0, sizeof(admission->dim_floor));
}

bool admission_add(struct arena *arena, const struct dataset *dataset, struct admission *admission,
                   struct err *err)
{
    const struct op *op = dataset->bound->op;
    struct dataset other;
    struct fake fake = {dataset, &other, NULL};

    if (dataset->decided == 0 || admission_settled(admission) ||
        !all_at_least(op, dataset->bound->dims, admission->dim_floor))
        return true;
    if (!dataset_make(arena, dataset->bound, dataset->track, dataset->class, dataset->secret,
                      dataset->call + (1u << 30), &other, err))
        return false;
    fake.outputs = arena_array(arena, void *, op->tensor_count + 1);
    for (size_t t = 0; t < op->declared_count; t++)
        if (tensor_is_output(op, t))
            fake.outputs[t] =
                arena_alloc(arena, (size_t)dataset->bound->tensors[t].bytes + 16, 1, 16);
    for (int p = 0; p < PROBE_COUNT; p++) {
        struct worst_element worst = {0};
        int64_t wrong;

        if (admission->refused[p] || !fake_all(&fake, (enum probe)p))
            continue;
        admission->tried[p] = true;
        admission->refused[p] = !compare_outputs(arena, dataset, fake.outputs, &wrong, &worst);
    }
    return true;
}

struct str admission_flags(struct arena *arena, const struct admission *admission)
{
    struct buf text;
    bool tried = false;

    buf_init(&text, arena, VERDICT_REASON_BYTES_MAX);
    for (int p = 0; p < PROBE_COUNT; p++) {
        tried = tried || admission->tried[p];
        if (!admission->tried[p] || admission->refused[p])
            continue;
        buf_text(&text, text.len == 0 ? "degenerate: " : ", ");
        buf_text(&text, probe_text[p]);
    }
    if (text.len > 0)
        buf_text(&text, " would pass");
    else if (!tried)
        buf_text(&text, "unverifiable: no data set has a reference that decides anything");
    return str_from(str_copy(arena, buf_view(&text)));
}
