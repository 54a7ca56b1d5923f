/*
 * What a launch gets and what it should give.
 *
 * A data set is one filling of the inputs together with INTERP_BOUND's values: the fp64 meaning of
 * the spec and, per element, how far an honest candidate of the track may be from it.
 *
 * An element decides nothing where the bound is infinite (something on the way may overflow), or
 * where the inputs are finite but their meaning is not.  That caution helps no candidate that is
 * wrong on ordinary data, and data sets that decide nothing are counted.
 */
#include <math.h>

#include "base/num.h"

#include "verify/check/check_int.h"

bool tensor_is_fed(const struct op *op, size_t tensor)
{
    return tensor < op->declared_count && op->tensors[tensor].role != ROLE_OUTPUT;
}

bool tensor_is_output(const struct op *op, size_t tensor)
{
    return tensor < op->declared_count && op->tensors[tensor].role == ROLE_OUTPUT;
}

bool class_applies(const struct op *op, enum data_class class)
{
    bool floats = false;

    for (size_t t = 0; t < op->declared_count; t++)
        floats = floats || (tensor_is_fed(op, t) && dtype_is_float(op->tensors[t].dtype));
    if (class == DATA_SPECIAL)
        return floats && !op->policy.finite_inputs;
    return floats || class == DATA_SPEC;
}

bool dataset_fill(struct arena *arena, struct dataset *set, struct err *err)
{
    const struct op *op = set->bound->op;

    set->data = arena_array(arena, void *, op->tensor_count);
    for (size_t t = 0; t < op->declared_count; t++) {
        const size_t bytes = (size_t)set->bound->tensors[t].bytes;

        if (!tensor_is_fed(op, t))
            continue;
        set->data[t] = arena_alloc(arena, bytes + 16, 1, 16);
        if (!fill_tensor(set->bound, t, set->class, set->secret, set->call, set->data[t], err))
            return err_context(err, "tensor %.*s", STR_ARG(op->tensors[t].name));
    }
    return true;
}

/* Integer outputs are judged by the values that led to them, so then everything is kept. */
static size_t tensors_kept(const struct op *op, size_t *keep)
{
    bool integers = false;
    size_t count = 0;

    for (size_t t = 0; t < op->declared_count; t++)
        integers = integers || (tensor_is_output(op, t) && !dtype_is_float(op->tensors[t].dtype));
    for (size_t t = 0; t < op->tensor_count; t++)
        if (integers ? !tensor_is_fed(op, t) : tensor_is_output(op, t))
            keep[count++] = t;
    return count;
}

static bool interpret(struct arena *arena, struct dataset *set, struct err *err)
{
    const struct op *op = set->bound->op;
    const struct interp_inputs inputs = {(const void *const *)set->data};
    size_t *keep = arena_array(arena, size_t, op->tensor_count);
    struct values *values = arena_array(arena, struct values, op->tensor_count);
    const struct interp_options options = {.mode = INTERP_BOUND,
                                           .track = set->track,
                                           .keep = keep,
                                           .keep_count = tensors_kept(op, keep)};

    set->want = values;
    return interp_run(arena, set->bound, &inputs, &options, values, err);
}

static bool finite_inputs(const struct dataset *set)
{
    return set->class != DATA_SPECIAL;
}

/* Marks what the reference does not decide and counts the rest. */
static void mark_undecided(struct arena *arena, struct dataset *set)
{
    const struct op *op = set->bound->op;

    set->undecided = arena_array(arena, bool *, op->tensor_count);
    for (size_t t = 0; t < op->declared_count; t++) {
        const struct values *want = &set->want[t];

        if (!tensor_is_output(op, t))
            continue;
        set->elements += want->count;
        set->decided += want->count;
        if (!dtype_is_float(op->tensors[t].dtype))
            continue;
        set->undecided[t] = arena_array(arena, bool, (size_t)want->count + 1);
        for (int64_t i = 0; i < want->count; i++) {
            const bool open = want->open != NULL && want->open[i];
            const bool lost = finite_inputs(set) && !isfinite(want->reals[i]);
            const bool unbounded = !isfinite(want->bounds[i]);

            set->undecided[t][i] = open || lost || unbounded;
            set->decided -= set->undecided[t][i];
        }
    }
}

bool dataset_make(struct arena *arena, const struct bound_op *bound, const struct track *track,
                  enum data_class class, uint64_t secret, uint32_t call, struct dataset *out,
                  struct err *err)
{
    struct dataset set = {
        .bound = bound, .track = track, .class = class, .secret = secret, .call = call};

    if (!dataset_fill(arena, &set, err) || !interpret(arena, &set, err))
        return err_context(err, "reference");
    mark_undecided(arena, &set);
    *out = set;
    return true;
}

bool dataset_with(struct arena *arena, const struct dataset *like, const float *values,
                  size_t count, struct dataset *out, struct err *err)
{
    const struct op *op = like->bound->op;
    struct dataset set = {.bound = like->bound,
                          .track = like->track,
                          .class = like->class,
                          .secret = like->secret,
                          .call = like->call};

    if (!dataset_fill(arena, &set, err))
        return false;
    for (size_t t = 0; t < op->declared_count; t++)
        for (size_t i = 0; set.data[t] != NULL && dtype_is_float(op->tensors[t].dtype) &&
                           i < count && (int64_t)i < like->bound->tensors[t].count;
             i++)
            elem_from_double(op->tensors[t].dtype, set.data[t], i,
                             dtype_round(op->tensors[t].dtype, values[i]));
    if (!interpret(arena, &set, err))
        return err_context(err, "reference");
    mark_undecided(arena, &set);
    *out = set;
    return true;
}
