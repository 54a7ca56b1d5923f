/*
 * Binding an op to a shape: every dim, extent and tensor size a number, and checked.
 *
 * Invariant of a bound_op: sizes are at least 1 (0 where the policy allows), all tensors together
 * stay below 2^40 elements, no statement has more than 2^62 iterations, loops over a target cover
 * it exactly, fills fit their dtypes, and bounds.c has passed every access.
 */
#include <string.h>

#include "base/num.h"
#include "base/panic.h"

#include "solver/ir/op_int.h"

#define ELEMENTS_MAX   ((int64_t)1 << 40)
#define ITERATIONS_MAX ((int64_t)1 << 62)

/* ---- dims ---- */

bool dims_eval(const struct op *op, int64_t *values, const char *where, struct err *err)
{
    struct str names[OP_DIMS_MAX];
    for (size_t i = 0; i < op->dim_count; i++) {
        const struct dim *dim = &op->dims[i];
        struct formula_env env = {names, values, i};
        names[i] = dim->name;
        if (dim->kind == DIM_CONST)
            values[i] = dim->value;
        if (dim->kind == DIM_FORMULA && !formula_eval(dim->formula, &env, &values[i], err))
            return err_context(err, "%s: dim '%.*s'", where, STR_ARG(dim->name));
    }
    return true;
}

static bool check_dims(const struct bound_op *bound, const char *where, struct err *err)
{
    for (size_t i = 0; i < bound->op->dim_count; i++) {
        const struct dim *dim = &bound->op->dims[i];
        int64_t value = bound->dims[i];
        if (dim->kind == DIM_VAR && (value < dim->min || value > dim->max))
            return err_raise(
                err, ERR_SEMANTIC, "%s: %.*s=%lld is outside the dim's range %lld..%lld", where,
                STR_ARG(dim->name), (long long)value, (long long)dim->min, (long long)dim->max);
        if (dim->kind == DIM_VAR && value == 0 && !bound->op->policy.zero_dims)
            return err_raise(err, ERR_SEMANTIC,
                             "%s: %.*s=0: dims of size 0 need \"zero_dims\": true in the policy",
                             where, STR_ARG(dim->name));
    }
    return true;
}

/* ---- sizes ---- */

struct binder {
    struct arena *arena;
    const struct op *op;
    const char *where;
    struct bound_op *bound;
};

static bool size_fits(const struct binder *b, int64_t size)
{
    return size >= (b->op->policy.zero_dims ? 0 : 1);
}

static bool bind_tensor(const struct binder *b, size_t at, struct bound_tensor *out,
                        struct err *err)
{
    const struct tensor *tensor = &b->op->tensors[at];
    int64_t count = 1;
    for (size_t d = tensor->rank; d-- > 0;) {
        if (!formula_eval(tensor->shape[d], &b->bound->env, &out->shape[d], err))
            return err_context(err, "%s: dimension %zu of '%.*s'", b->where, d,
                               STR_ARG(tensor->name));
        if (!size_fits(b, out->shape[d]))
            return err_raise(err, ERR_SEMANTIC, "%s: dimension %zu of '%.*s', %s, is %lld",
                             b->where, d, STR_ARG(tensor->name),
                             formula_text(b->arena, tensor->shape[d]), (long long)out->shape[d]);
        out->strides[d] = count;
        if (!num_mul(count, out->shape[d], &count) || count >= ELEMENTS_MAX)
            return err_raise(err, ERR_LIMIT, "%s: '%.*s' has 2^40 elements or more", b->where,
                             STR_ARG(tensor->name));
    }
    out->count = count;
    out->bytes = count * (int64_t)dtype_bytes(tensor->dtype);
    return true;
}

static bool bind_tensors(const struct binder *b, struct err *err)
{
    struct bound_tensor *tensors = arena_array(b->arena, struct bound_tensor, b->op->tensor_count);
    int64_t total = 0;
    for (size_t i = 0; i < b->op->tensor_count; i++) {
        if (!bind_tensor(b, i, &tensors[i], err))
            return false;
        total += tensors[i].count;
        if (total >= ELEMENTS_MAX)
            return err_raise(err, ERR_LIMIT, "%s: all tensors together have 2^40 elements or more",
                             b->where);
    }
    b->bound->tensors = tensors;
    return true;
}

static bool fill_fits(const struct binder *b, const struct tensor *tensor, struct err *err)
{
    int64_t low = 0;
    int64_t high = 0;
    if (tensor->fill.kind != FILL_INTS || tensor->temporary || tensor->role == ROLE_OUTPUT)
        return true;
    if (!formula_eval(tensor->fill.low, &b->bound->env, &low, err) ||
        !formula_eval(tensor->fill.high, &b->bound->env, &high, err))
        return err_context(err, "%s: fill of '%.*s'", b->where, STR_ARG(tensor->name));
    bool fits = dtype_is_float(tensor->dtype) ||
                (dtype_wrap(tensor->dtype, low) == low && dtype_wrap(tensor->dtype, high) == high);
    if (low <= high && fits)
        return true;
    return err_raise(err, ERR_SEMANTIC, "%s: fill of '%.*s': %lld..%lld %s%s", b->where,
                     STR_ARG(tensor->name), (long long)low, (long long)high,
                     low > high ? "is empty" : "does not fit ",
                     low > high ? "" : dtype_name(tensor->dtype));
}

/* ---- statements ---- */

static bool covers(const struct binder *b, size_t s, const int64_t *extents, struct err *err)
{
    const struct stmt *stmt = &b->op->stmts[s];
    const struct bound_tensor *target = &b->bound->tensors[stmt->target];
    for (size_t i = 0; !stmt->scatter && i < stmt->free_count; i++)
        if (extents[i] != target->shape[i])
            return stmt_fail(b->op, stmt, stmt->place, b->where, NULL, err,
                             "index '%.*s' runs over %lld, but '%.*s' has %lld there",
                             STR_ARG(stmt->loops[i].name), (long long)extents[i],
                             STR_ARG(b->op->tensors[stmt->target].name),
                             (long long)target->shape[i]);
    return true;
}

static bool bind_stmt(const struct binder *b, size_t s, int64_t *extents, struct err *err)
{
    const struct stmt *stmt = &b->op->stmts[s];
    int64_t iterations = 1;
    for (size_t i = 0; i < stmt->loop_count; i++) {
        if (!formula_eval(stmt->loops[i].extent, &b->bound->env, &extents[i], err))
            return err_context(err, "%s: extent of '%.*s'", b->where, STR_ARG(stmt->loops[i].name));
        if (!size_fits(b, extents[i]))
            return stmt_fail(b->op, stmt, stmt->place, b->where, NULL, err,
                             "the extent of index '%.*s', %s, is %lld",
                             STR_ARG(stmt->loops[i].name),
                             formula_text(b->arena, stmt->loops[i].extent), (long long)extents[i]);
        if (!num_mul(iterations, extents[i], &iterations) || iterations > ITERATIONS_MAX)
            return stmt_fail(b->op, stmt, stmt->place, b->where, NULL, err,
                             "the statement has more than 2^62 iterations");
    }
    return covers(b, s, extents, err);
}

static bool bind_stmts(const struct binder *b, struct err *err)
{
    const int64_t **extents = arena_array(b->arena, const int64_t *, b->op->stmt_count);
    for (size_t s = 0; s < b->op->stmt_count; s++) {
        int64_t *mine = arena_array(b->arena, int64_t, b->op->stmts[s].loop_count + 1);
        extents[s] = mine;
        if (!bind_stmt(b, s, mine, err))
            return false;
    }
    b->bound->extents = extents;
    return true;
}

static bool check_seqs(const struct binder *b, struct err *err)
{
    for (size_t i = 0; i < b->op->seq_count; i++) {
        const struct seq *seq = &b->op->seqs[i];
        int64_t steps = 0;
        if (!formula_eval(seq->extent, &b->bound->env, &steps, err))
            return err_context(err, "%s: extent of '%.*s'", b->where, STR_ARG(seq->index));
        for (size_t s = seq->first; s < seq->first + seq->count; s++)
            if (b->bound->extents[s][0] != steps)
                return stmt_fail(b->op, &b->op->stmts[s], b->op->stmts[s].place, b->where, NULL,
                                 err, "the block has %lld steps, but the target has %lld",
                                 (long long)steps, (long long)b->bound->extents[s][0]);
    }
    return true;
}

bool bind_values(struct arena *arena, const struct op *op, const int64_t *dims, const char *where,
                 const struct bound_op **out, struct err *err)
{
    struct bound_op *bound = arena_new(arena, struct bound_op);
    struct binder b = {arena, op, where, bound};
    struct str *names = arena_array(arena, struct str, op->dim_count + 1);
    int64_t *values = arena_array(arena, int64_t, op->dim_count + 1);
    for (size_t i = 0; i < op->dim_count; i++) {
        names[i] = op->dims[i].name;
        values[i] = dims[i];
    }
    bound->op = op;
    bound->dims = values;
    bound->env = (struct formula_env){names, values, op->dim_count};
    if (!check_dims(bound, where, err) || !bind_tensors(&b, err) || !bind_stmts(&b, err) ||
        !check_seqs(&b, err))
        return false;
    for (size_t i = 0; i < op->declared_count; i++)
        if (!fill_fits(&b, &op->tensors[i], err))
            return false;
    if (!bounds_check(bound, where, err))
        return false;
    *out = bound;
    return true;
}

bool op_bind_shape(struct arena *arena, const struct op *op, const struct shape *shape,
                   const struct bound_op **out, struct err *err)
{
    return bind_values(arena, op, shape->values, str_copy(arena, op->name), out, err);
}

bool op_bind(struct arena *arena, const struct op *op, const struct formula_env *dims,
             const struct bound_op **out, struct err *err)
{
    const char *where = str_copy(arena, op->name);
    int64_t values[OP_DIMS_MAX] = {0};
    bool given[OP_DIMS_MAX] = {false};
    for (size_t i = 0; i < dims->count; i++) {
        size_t dim = op_dim_find(op, dims->names[i]);
        if (dim == OP_NONE)
            return err_raise(err, ERR_SEMANTIC, "%s: there is no dim '%.*s'", where,
                             STR_ARG(dims->names[i]));
        if (given[dim])
            return err_raise(err, ERR_SEMANTIC, "%s: dim '%.*s' is given twice", where,
                             STR_ARG(dims->names[i]));
        values[dim] = dims->values[i];
        given[dim] = true;
    }
    for (size_t d = 0; d < op->dim_count; d++)
        if (op->dims[d].kind == DIM_VAR && !given[d])
            return err_raise(err, ERR_SEMANTIC, "%s: no size for dim '%.*s'", where,
                             STR_ARG(op->dims[d].name));
    if (!dims_eval(op, values, where, err))
        return false;
    for (size_t i = 0; i < dims->count; i++) {
        size_t dim = op_dim_find(op, dims->names[i]);
        if (values[dim] != dims->values[i])
            return err_raise(err, ERR_SEMANTIC, "%s: dim '%.*s' is %lld, it cannot be %lld", where,
                             STR_ARG(dims->names[i]), (long long)values[dim],
                             (long long)dims->values[i]);
    }
    return bind_values(arena, op, values, where, out, err);
}
