/*
 * Parts of an op that the interpreter can afford.
 *
 * A dim that only says how many outputs there are can be cut: softmax of some rows of a matrix is
 * some rows of its softmax.  Such a dim is the whole extent of one axis of each tensor that has it;
 * every read and write of that axis is by a plain loop index, the loop is free (not reduced, not a
 * scan's bound), and neither dim nor index occurs anywhere else, in arithmetic or in other extents.
 *
 * Then a part at a random place, with these dims small, is an op of its own whose inputs are cut
 * out of the whole's, and whose outputs are elements of the whole's.
 *
 * Leaves out: ops in which no dim can be cut; those are confirmed only where the whole is small.
 */
#include <inttypes.h>
#include <string.h>

#include "base/num.h"

#include "verify/check/on_gpu_int.h"

static bool mentions(const struct formula *formula, struct str name)
{
    if (formula == NULL)
        return false;
    if (formula->op == FORMULA_NAME)
        return str_equal(formula->name, name);
    return mentions(formula->a, name) || mentions(formula->b, name);
}

static bool is_dim(const struct formula *formula, struct str name)
{
    return formula->op == FORMULA_NAME && str_equal(formula->name, name);
}

/* How a statement's expressions use the loops whose extent is a dim. */
struct search {
    const struct op *op;
    const struct stmt *stmt;
    struct str name;
    size_t dim;
    bool plain;
};

static bool is_loop_of(const struct search *s, const struct expr *expr)
{
    return expr->op == EXPR_INDEX && is_dim(s->stmt->loops[expr->loop].extent, s->name);
}

static void look(struct search *s, const struct expr *expr);

static void look_at_read(struct search *s, const struct expr *expr)
{
    const struct tensor *tensor = &s->op->tensors[expr->tensor];

    for (size_t i = 0; i < expr->rank; i++) {
        const bool axis = is_dim(tensor->shape[i], s->name);

        if (axis && !is_loop_of(s, expr->subs[i]))
            s->plain = false;
        if (!axis)
            look(s, expr->subs[i]);
    }
    if (expr->pad != NULL)
        look(s, expr->pad);
}

static void look(struct search *s, const struct expr *expr)
{
    if (is_loop_of(s, expr) || (expr->op == EXPR_DIM && expr->dim == s->dim))
        s->plain = false;
    if (expr->op == EXPR_READ)
        look_at_read(s, expr);
    for (size_t i = 0; i < COUNT_OF(expr->args); i++)
        if (expr->op != EXPR_READ && expr->args[i] != NULL)
            look(s, expr->args[i]);
}

static bool loops_allow(const struct search *s)
{
    const struct stmt *stmt = s->stmt;

    for (size_t i = 0; i < stmt->loop_count; i++) {
        const struct loop *loop = &stmt->loops[i];

        if (!is_dim(loop->extent, s->name)) {
            if (mentions(loop->extent, s->name))
                return false;
            continue;
        }
        if (loop->reduced || loop->bound != RANGE_FULL || stmt->scatter != NULL)
            return false;
        for (size_t j = 0; j < stmt->loop_count; j++)
            if (stmt->loops[j].bound != RANGE_FULL && stmt->loops[j].bound_loop == i)
                return false;
        /* A free loop is the target's index: its axis must be the dim's. */
        if (i >= s->op->tensors[stmt->target].rank ||
            !is_dim(s->op->tensors[stmt->target].shape[i], s->name))
            return false;
    }
    return true;
}

static bool fills_allow(const struct op *op, struct str name)
{
    for (size_t t = 0; t < op->declared_count; t++)
        if (mentions(op->tensors[t].fill.low, name) || mentions(op->tensors[t].fill.high, name))
            return false;
    return true;
}

static bool may_cut(const struct op *op, size_t dim)
{
    const struct str name = op->dims[dim].name;

    if (op->dims[dim].kind != DIM_VAR || op->seq_count > 0 || !fills_allow(op, name))
        return false;
    for (size_t d = 0; d < op->dim_count; d++)
        if (op->dims[d].kind == DIM_FORMULA && mentions(op->dims[d].formula, name))
            return false;
    for (size_t t = 0; t < op->tensor_count; t++)
        for (size_t i = 0; i < op->tensors[t].rank; i++)
            if (!is_dim(op->tensors[t].shape[i], name) && mentions(op->tensors[t].shape[i], name))
                return false;
    for (size_t i = 0; i < op->stmt_count; i++) {
        struct search s = {op, &op->stmts[i], name, dim, true};

        look(&s, op->stmts[i].value);
        if (!s.plain || !loops_allow(&s))
            return false;
        /* A target axis of the dim that a longer or shorter loop walks would be cut wrongly. */
        for (size_t a = 0; a < op->tensors[s.stmt->target].rank && s.stmt->scatter == NULL; a++)
            if (is_dim(op->tensors[s.stmt->target].shape[a], name) &&
                !is_dim(s.stmt->loops[a].extent, name))
                return false;
    }
    return true;
}

void slice_dims(const struct op *op, bool *may)
{
    for (size_t d = 0; d < op->dim_count; d++)
        may[d] = may_cut(op, d);
}

static bool bind_with(struct arena *arena, const struct bound_op *whole, const int64_t *dims,
                      const struct bound_op **out, struct err *err)
{
    const struct op *op = whole->op;
    struct str *names = arena_array(arena, struct str, op->dim_count + 1);
    int64_t *values = arena_array(arena, int64_t, op->dim_count + 1);
    struct formula_env env = {names, values, 0};

    for (size_t d = 0; d < op->dim_count; d++)
        if (op->dims[d].kind == DIM_VAR) {
            names[env.count] = op->dims[d].name;
            values[env.count++] = dims[d];
        }
    return op_bind(arena, op, &env, out, err);
}

static int64_t price(const struct bound_op *bound)
{
    int64_t total = 0;

    for (size_t i = 0; i < bound->op->stmt_count; i++)
        if (!num_add(total, op_iterations(bound, i), &total))
            return INT64_MAX;
    return total;
}

/* The largest of the dims that may be cut, halved. */
static bool halve_one(const struct op *op, const bool *may, int64_t *dims)
{
    size_t widest = SIZE_MAX;

    for (size_t d = 0; d < op->dim_count; d++)
        if (may[d] && dims[d] > op->dims[d].min && dims[d] > 1 &&
            (widest == SIZE_MAX || dims[d] > dims[widest]))
            widest = d;
    if (widest == SIZE_MAX)
        return false;
    dims[widest] /= 2;
    if (dims[widest] < op->dims[widest].min)
        dims[widest] = op->dims[widest].min;
    return true;
}

bool slice_choose(struct arena *arena, const struct bound_op *whole, int64_t iterations_max,
                  struct rng *rng, struct slice *out, struct err *err)
{
    const struct op *op = whole->op;
    bool *may = arena_array(arena, bool, op->dim_count + 1);
    int64_t *dims = arena_array(arena, int64_t, op->dim_count + 1);
    const struct bound_op *part;

    *out = (struct slice){.first = arena_array(arena, int64_t, op->dim_count + 1)};
    slice_dims(op, may);
    for (size_t d = 0; d < op->dim_count; d++)
        dims[d] = whole->dims[d];
    for (;;) {
        if (!bind_with(arena, whole, dims, &part, err))
            return false;
        if (price(part) <= iterations_max)
            break;
        if (!halve_one(op, may, dims))
            return true;
    }
    for (size_t d = 0; d < op->dim_count; d++)
        if (may[d] && whole->dims[d] > dims[d])
            out->first[d] = (int64_t)rng_below(rng, (uint32_t)(whole->dims[d] - dims[d] + 1));
    out->part = part;
    return true;
}

int64_t slice_element(const struct slice *slice, const struct bound_op *whole, size_t tensor,
                      int64_t i)
{
    const struct tensor *t = &whole->op->tensors[tensor];
    const struct bound_tensor *part = &slice->part->tensors[tensor];
    int64_t rest = i, at = 0;

    for (size_t a = 0; a < t->rank; a++) {
        int64_t index = rest / part->strides[a];

        rest %= part->strides[a];
        for (size_t d = 0; d < whole->op->dim_count; d++)
            if (is_dim(t->shape[a], whole->op->dims[d].name))
                index += slice->first[d];
        at += index * whole->tensors[tensor].strides[a];
    }
    return at;
}
