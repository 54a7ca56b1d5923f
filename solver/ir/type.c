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
    /* `weak` and `dtype` may be a's own */
    bool first = a->weak, second = b->weak;
    *weak = first && second;
    if (first && second) {
        *dtype = dtype_is_float(a->dtype) || dtype_is_float(b->dtype) ? DTYPE_F32 : DTYPE_I64;
        return true;
    }
    enum dtype strong = first ? b->dtype : a->dtype;
    if (first || second) {
        if (strong == DTYPE_BOOL)
            return mix_fail(t, at, a->dtype, b->dtype, err);
        *dtype = weak_with(first ? a : b, strong);
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

/* What an operation asks of its args. */
enum rule {
    RULE_NONE, /* leaves, typed where they are made */
    RULE_CAST,
    RULE_NUMBER,
    RULE_INTEGER,
    RULE_BITS, /* integers or bools */
    RULE_LOGIC,
    RULE_COMPARE,
    RULE_SELECT,
    RULE_REAL,
    RULE_CLASSIFY, /* of a real, giving bool */
};
static const enum rule rules[EXPR_OP_COUNT] = {
    [EXPR_CAST] = RULE_CAST,      [EXPR_NEG] = RULE_NUMBER,     [EXPR_ADD] = RULE_NUMBER,
    [EXPR_SUB] = RULE_NUMBER,     [EXPR_MUL] = RULE_NUMBER,     [EXPR_DIV] = RULE_NUMBER,
    [EXPR_ABS] = RULE_NUMBER,     [EXPR_SIGN] = RULE_NUMBER,    [EXPR_MIN] = RULE_NUMBER,
    [EXPR_MAX] = RULE_NUMBER,     [EXPR_MOD] = RULE_INTEGER,    [EXPR_BITNOT] = RULE_INTEGER,
    [EXPR_SHL] = RULE_INTEGER,    [EXPR_SHR] = RULE_INTEGER,    [EXPR_BITAND] = RULE_BITS,
    [EXPR_BITXOR] = RULE_BITS,    [EXPR_BITOR] = RULE_BITS,     [EXPR_NOT] = RULE_LOGIC,
    [EXPR_AND] = RULE_LOGIC,      [EXPR_OR] = RULE_LOGIC,       [EXPR_LT] = RULE_COMPARE,
    [EXPR_LE] = RULE_COMPARE,     [EXPR_GT] = RULE_COMPARE,     [EXPR_GE] = RULE_COMPARE,
    [EXPR_EQ] = RULE_COMPARE,     [EXPR_NE] = RULE_COMPARE,     [EXPR_WHERE] = RULE_SELECT,
    [EXPR_ISNAN] = RULE_CLASSIFY, [EXPR_ISINF] = RULE_CLASSIFY, [EXPR_EXP] = RULE_REAL,
    [EXPR_EXP2] = RULE_REAL,      [EXPR_EXPM1] = RULE_REAL,     [EXPR_LOG] = RULE_REAL,
    [EXPR_LOG2] = RULE_REAL,      [EXPR_LOG1P] = RULE_REAL,     [EXPR_SQRT] = RULE_REAL,
    [EXPR_RSQRT] = RULE_REAL,     [EXPR_SIN] = RULE_REAL,       [EXPR_COS] = RULE_REAL,
    [EXPR_TAN] = RULE_REAL,       [EXPR_ASIN] = RULE_REAL,      [EXPR_ACOS] = RULE_REAL,
    [EXPR_ATAN] = RULE_REAL,      [EXPR_SINH] = RULE_REAL,      [EXPR_COSH] = RULE_REAL,
    [EXPR_TANH] = RULE_REAL,      [EXPR_ERF] = RULE_REAL,       [EXPR_ERFC] = RULE_REAL,
    [EXPR_FLOOR] = RULE_REAL,     [EXPR_CEIL] = RULE_REAL,      [EXPR_TRUNC] = RULE_REAL,
    [EXPR_RINT] = RULE_REAL,      [EXPR_POW] = RULE_REAL,       [EXPR_ATAN2] = RULE_REAL,
    [EXPR_FMOD] = RULE_REAL,      [EXPR_FMA] = RULE_REAL,
};

bool type_operation(const struct typer *t, struct expr *e, struct err *err)
{
    switch (rules[e->op]) {
    case RULE_NONE:
        return true;
    case RULE_CAST:
        return type_cast(t, e, err);
    case RULE_NUMBER:
        return type_number(t, e, err);
    case RULE_INTEGER:
        return type_integer(t, e, false, err);
    case RULE_BITS:
        return type_integer(t, e, true, err);
    case RULE_LOGIC:
        e->dtype = DTYPE_BOOL;
        return want_bools(t, e, e->op == EXPR_NOT ? 1 : 2, err);
    case RULE_COMPARE:
        return type_compare(t, e, err);
    case RULE_SELECT:
        return want_bools(t, e, 1, err) && unify(t, e, 1, &e->dtype, &e->weak, err);
    case RULE_REAL:
        return type_real(t, e, err);
    case RULE_CLASSIFY:
        if (!type_real(t, e, err))
            return false;
        e->dtype = DTYPE_BOOL;
        e->weak = false;
        return true;
    }
    panic("type rule of %s", expr_op_name(e->op));
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
