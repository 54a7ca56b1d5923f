/*
 * Types of expressions (rules in op.h).
 *
 * A literal has no type of its own until something gives it one: it is `weak`, and so is an
 * operation on literals.  Types are pushed down into weak expressions by copying them, so nodes
 * never change once built.  While weak, an expression carries i64 or f32 as a placeholder.
 *
 * Invariant: after type_operation, the args of an operation are not weak unless the operation is;
 * args may keep dtypes other than the operation's, which are converted exactly to it (an integer
 * index times an f32).
 */
#include <string.h>

#include "base/num.h"
#include "base/panic.h"

#include "solver/ir/op_int.h"

static bool push_args(const struct typer *t, struct expr *copy, const struct expr *e,
                      enum dtype dtype, struct err *err)
{
    int from = e->op == EXPR_WHERE ? 1 : 0;
    for (int i = from; i < 3; i++)
        if (e->args[i] && !type_give(t, e->args[i], dtype, &copy->args[i], err))
            return false;
    return true;
}

static bool give_literal(const struct typer *t, struct expr *copy, enum dtype dtype,
                         struct err *err)
{
    if (copy->op == EXPR_INT && dtype_is_float(dtype)) {
        copy->op = EXPR_FLOAT;
        copy->real = (double)copy->integer;
        copy->integer = 0;
        return true;
    }
    if (copy->op == EXPR_INT && dtype_wrap(dtype, copy->integer) != copy->integer)
        return text_fail(t->text, copy->place, NULL, err, "%lld does not fit %s",
                         (long long)copy->integer, dtype_name(dtype));
    return true;
}

static bool float_as_int(const struct typer *t, const struct expr *e, enum dtype dtype,
                         struct err *err)
{
    struct remedy remedy = remedy_say("write an integer, or cast: %s(...)", dtype_name(dtype));
    return text_fail(t->text, e->place, &remedy, err, "a float literal where %s is needed",
                     dtype_name(dtype));
}

bool type_give(const struct typer *t, const struct expr *e, enum dtype dtype,
               const struct expr **out, struct err *err)
{
    if (e->weak && e->dtype != dtype) {
        if (dtype == DTYPE_BOOL)
            return text_fail(t->text, e->place, NULL, err,
                             "a number where bool is needed; write true or false");
        if (dtype_is_float(e->dtype) && !dtype_is_float(dtype))
            return float_as_int(t, e, dtype, err);
        struct expr *copy = arena_new(t->arena, struct expr);
        *copy = *e;
        copy->dtype = dtype;
        if (!give_literal(t, copy, dtype, err) || !push_args(t, copy, e, dtype, err))
            return false;
        *out = copy;
        return true;
    }
    *out = e;
    if (e->dtype == dtype)
        return true;
    struct remedy remedy = remedy_say("write %s(...)", dtype_name(dtype));
    return text_fail(t->text, e->place, &remedy, err, "the value is %s, but %s is needed",
                     dtype_name(e->dtype), dtype_name(dtype));
}

bool type_default(const struct typer *t, const struct expr *e, const struct expr **out,
                  struct err *err)
{
    return type_give(t, e, e->dtype, out, err);
}

static bool mix_fail(const struct typer *t, const struct expr *e, enum dtype a, enum dtype b,
                     struct err *err)
{
    bool with_bool = a == DTYPE_BOOL || b == DTYPE_BOOL;
    struct remedy remedy =
        with_bool ? remedy_say("cast the bool, or use where(condition, a, b)")
                  : remedy_say("cast one of them: %s(...)", dtype_is_float(a) ? "f32" : "i32");
    return text_fail(t->text, e->place, &remedy, err, "%s with %s has no common type",
                     dtype_name(a), dtype_name(b));
}

/* The type of an operation on two typed operands. */
static bool common_strong(enum dtype a, enum dtype b, enum dtype *out)
{
    *out = a;
    if (a == b)
        return true;
    if (a == DTYPE_BOOL || b == DTYPE_BOOL)
        return false;
    if (dtype_is_float(a) != dtype_is_float(b)) {
        *out = dtype_is_float(a) ? a : b;
        return true;
    }
    if (dtype_bytes(a) == dtype_bytes(b))
        return false;
    *out = dtype_bytes(a) > dtype_bytes(b) ? a : b;
    return true;
}

/* Is a weak operand's type the other's?  A float literal makes an f32 of an integer. */
static enum dtype weak_with(const struct expr *weak, enum dtype strong)
{
    return dtype_is_float(weak->dtype) && !dtype_is_float(strong) ? DTYPE_F32 : strong;
}

static bool common_of(const struct typer *t, const struct expr *at, const struct expr *a,
                      const struct expr *b, enum dtype *dtype, bool *weak, struct err *err)
{
    *weak = a->weak && b->weak;
    if (*weak) {
        *dtype = dtype_is_float(a->dtype) || dtype_is_float(b->dtype) ? DTYPE_F32 : DTYPE_I64;
        return true;
    }
    enum dtype strong = a->weak ? b->dtype : a->dtype;
    if (a->weak || b->weak) {
        if (strong == DTYPE_BOOL)
            return mix_fail(t, at, a->dtype, b->dtype, err);
        *dtype = weak_with(a->weak ? a : b, strong);
        return true;
    }
    return common_strong(a->dtype, b->dtype, dtype) || mix_fail(t, at, a->dtype, b->dtype, err);
}

/* Give the weak ones among args [from, 3) their common type. */
static bool unify(const struct typer *t, struct expr *e, int from, enum dtype *dtype, bool *weak,
                  struct err *err)
{
    struct expr so_far = *e->args[from];
    for (int i = from + 1; i < 3 && e->args[i]; i++) {
        if (!common_of(t, e, &so_far, e->args[i], &so_far.dtype, &so_far.weak, err))
            return false;
    }
    for (int i = from; i < 3 && e->args[i]; i++)
        if (e->args[i]->weak && !type_give(t, e->args[i], so_far.dtype, &e->args[i], err))
            return false;
    *dtype = so_far.dtype;
    *weak = so_far.weak;
    return true;
}

static bool needs(const struct typer *t, const struct expr *e, const char *what,
                  const struct expr *got, struct err *err)
{
    struct remedy remedy = remedy_say("%s", "");
    if (e->op == EXPR_MOD && dtype_is_float(got->dtype))
        remedy = remedy_say("the remainder of floats is fmod(a, b)");
    else if (dtype_is_float(got->dtype) || got->dtype == DTYPE_BOOL)
        remedy = remedy_say("cast it, or compare it: x != 0");
    else
        remedy = remedy_say("cast it: f32(...), or compare it: x != 0");
    const char *name = e->op == EXPR_WHERE ? "? :" : expr_op_name(e->op);
    return text_fail(t->text, got->place, &remedy, err, "'%s' needs %s, not %s", name, what,
                     dtype_name(got->dtype));
}

static bool want_bools(const struct typer *t, const struct expr *e, int count, struct err *err)
{
    for (int i = 0; i < count; i++)
        if (e->args[i]->dtype != DTYPE_BOOL)
            return needs(t, e, "bool", e->args[i], err);
    return true;
}

/* Arithmetic for which integers are as good as floats. */
static bool type_number(const struct typer *t, struct expr *e, struct err *err)
{
    if (!unify(t, e, 0, &e->dtype, &e->weak, err))
        return false;
    return e->dtype != DTYPE_BOOL || needs(t, e, "numbers", e->args[0], err);
}

static bool type_integer(const struct typer *t, struct expr *e, bool bool_too, struct err *err)
{
    if (!unify(t, e, 0, &e->dtype, &e->weak, err))
        return false;
    for (int i = 0; i < 3 && e->args[i]; i++)
        if (dtype_is_float(e->args[i]->dtype) || (e->dtype == DTYPE_BOOL && !bool_too))
            return needs(t, e, "integers", e->args[i], err);
    return true;
}

/* Functions of reals: integer literals become floats, other integers are refused. */
static bool type_real(const struct typer *t, struct expr *e, struct err *err)
{
    for (int i = 0; i < 3 && e->args[i]; i++) {
        const struct expr *arg = e->args[i];
        if (arg->weak && !dtype_is_float(arg->dtype) &&
            !type_give(t, arg, DTYPE_F32, &e->args[i], err))
            return false;
        if (!dtype_is_float(e->args[i]->dtype))
            return needs(t, e, "floats", e->args[i], err);
    }
    return unify(t, e, 0, &e->dtype, &e->weak, err);
}

static bool type_compare(const struct typer *t, struct expr *e, struct err *err)
{
    enum dtype common;
    bool weak;
    if (!unify(t, e, 0, &common, &weak, err))
        return false;
    e->dtype = DTYPE_BOOL;
    e->weak = false;
    if (common == DTYPE_BOOL && e->op != EXPR_EQ && e->op != EXPR_NE)
        return needs(t, e, "numbers", e->args[0], err);
    return true;
}

static bool type_cast(const struct typer *t, struct expr *e, struct err *err)
{
    const struct expr *arg = e->args[0];
    if (arg->weak) {
        bool as_target = dtype_is_float(e->dtype);
        return type_give(t, arg, as_target ? e->dtype : arg->dtype, &e->args[0], err);
    }
    return true;
}

bool type_operation(const struct typer *t, struct expr *e, struct err *err)
{
    switch (e->op) {
    case EXPR_FLOAT:
    case EXPR_INT:
    case EXPR_INDEX:
    case EXPR_DIM:
    case EXPR_READ:
    case EXPR_OP_COUNT:
        return true;
    case EXPR_CAST:
        return type_cast(t, e, err);
    case EXPR_NEG:
    case EXPR_ADD:
    case EXPR_SUB:
    case EXPR_MUL:
    case EXPR_DIV:
    case EXPR_ABS:
    case EXPR_SIGN:
    case EXPR_MIN:
    case EXPR_MAX:
        return type_number(t, e, err);
    case EXPR_MOD:
    case EXPR_BITNOT:
    case EXPR_SHL:
    case EXPR_SHR:
        return type_integer(t, e, false, err);
    case EXPR_BITAND:
    case EXPR_BITXOR:
    case EXPR_BITOR:
        return type_integer(t, e, true, err);
    case EXPR_NOT:
        e->dtype = DTYPE_BOOL;
        return want_bools(t, e, 1, err);
    case EXPR_AND:
    case EXPR_OR:
        e->dtype = DTYPE_BOOL;
        return want_bools(t, e, 2, err);
    case EXPR_LT:
    case EXPR_LE:
    case EXPR_GT:
    case EXPR_GE:
    case EXPR_EQ:
    case EXPR_NE:
        return type_compare(t, e, err);
    case EXPR_WHERE:
        return want_bools(t, e, 1, err) && unify(t, e, 1, &e->dtype, &e->weak, err);
    case EXPR_ISNAN:
    case EXPR_ISINF:
        if (!type_real(t, e, err))
            return false;
        e->dtype = DTYPE_BOOL;
        e->weak = false;
        return true;
    case EXPR_EXP:
    case EXPR_EXP2:
    case EXPR_EXPM1:
    case EXPR_LOG:
    case EXPR_LOG2:
    case EXPR_LOG1P:
    case EXPR_SQRT:
    case EXPR_RSQRT:
    case EXPR_SIN:
    case EXPR_COS:
    case EXPR_TAN:
    case EXPR_ASIN:
    case EXPR_ACOS:
    case EXPR_ATAN:
    case EXPR_SINH:
    case EXPR_COSH:
    case EXPR_TANH:
    case EXPR_ERF:
    case EXPR_ERFC:
    case EXPR_FLOOR:
    case EXPR_CEIL:
    case EXPR_TRUNC:
    case EXPR_RINT:
    case EXPR_POW:
    case EXPR_ATAN2:
    case EXPR_FMOD:
    case EXPR_FMA:
        return type_real(t, e, err);
    }
    panic("expression operation %d", (int)e->op);
}

enum dtype reduce_dtype(enum reduce_op reduce, enum dtype value)
{
    return reduce == REDUCE_ARGMAX || reduce == REDUCE_ARGMIN ? DTYPE_I64 : value;
}

enum dtype expr_operand_dtype(const struct expr *expr)
{
    bool compares = expr->op >= EXPR_LT && expr->op <= EXPR_NE;
    enum dtype common = expr->dtype;
    if (expr->op == EXPR_ISNAN || expr->op == EXPR_ISINF)
        return expr->args[0]->dtype;
    if (compares && !common_strong(expr->args[0]->dtype, expr->args[1]->dtype, &common))
        panic("comparison of %s with %s", dtype_name(expr->args[0]->dtype),
              dtype_name(expr->args[1]->dtype));
    return common;
}
