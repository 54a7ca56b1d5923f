/*
 * Expressions of candidates: a walk over the tree that gives CUDA text with few parentheses.
 *
 * Each node's text has the class of the node's dtype (double, float, i64, bool); an argument of
 * another class is converted where it is used.  Integers are kept in 64 bits and wrapped to their
 * width after each operation; i64 arithmetic on data goes through unsigned, where overflow is
 * defined.  Subscripts that depend on data, and padded reads, are guarded.
 *
 * Invariant: print_value() can stand beside any operator, its text is a primary expression.
 */
#include <math.h>
#include <string.h>

#include "synth/candidate_int.h"

/* How tightly the outermost operator binds, as in C++. */
enum level { PRIMARY, UNARY, PRODUCT, SUM, COMPARE, CONJUNCTION, DISJUNCTION, TERNARY };
struct piece {
    const char *text;
    enum level level;
};

static struct piece print(const struct printer *p, const struct expr *expr);

enum value_class value_class_of(enum dtype dtype)
{
    if (dtype == DTYPE_F64)
        return CLASS_F64;
    if (dtype_is_float(dtype))
        return CLASS_F32;
    return dtype == DTYPE_BOOL ? CLASS_BOOL : CLASS_INT;
}

const char *value_class_c(enum value_class class)
{
    static const char *const names[] = {"double", "float", "i64", "bool"};
    return names[class];
}

const char *storage_c(enum dtype dtype)
{
    static const char *const names[DTYPE_COUNT] = {[DTYPE_F64] = "double",
                                                   [DTYPE_F32] = "float",
                                                   [DTYPE_F16] = "__half",
                                                   [DTYPE_BF16] = "__nv_bfloat16",
                                                   [DTYPE_E4M3] = "__nv_fp8_storage_t",
                                                   [DTYPE_E5M2] = "__nv_fp8_storage_t",
                                                   [DTYPE_I64] = "i64",
                                                   [DTYPE_I32] = "int",
                                                   [DTYPE_I16] = "short",
                                                   [DTYPE_I8] = "signed char",
                                                   [DTYPE_U8] = "unsigned char",
                                                   [DTYPE_BOOL] = "unsigned char"};
    return names[dtype];
}

static const char *wrapped(const struct printer *p, struct piece piece, enum level loosest)
{
    return piece.level > loosest ? text_fmt(p->arena, "(%s)", piece.text) : piece.text;
}

static struct piece primary(const char *text)
{
    return (struct piece){text, PRIMARY};
}

/* ---- literals ---- */

static struct piece real_literal(const struct printer *p, double value, enum value_class class)
{
    bool single = class == CLASS_F32;
    if (isnan(value))
        return primary(single ? "__int_as_float(0x7fffffff)"
                              : "__longlong_as_double(0x7ff8000000000000LL)");
    if (isinf(value)) {
        const char *text =
            single ? "__int_as_float(0x7f800000)" : "__longlong_as_double(0x7ff0000000000000LL)";
        return value > 0 ? primary(text) : (struct piece){text_fmt(p->arena, "-%s", text), UNARY};
    }
    const char *digits = text_fmt(p->arena, single ? "%.9g" : "%.17g", value);
    const char *dot = strpbrk(digits, ".e") == NULL ? ".0" : "";
    const char *text = text_fmt(p->arena, "%s%s%s", digits, dot, single ? "f" : "");
    return (struct piece){text, signbit(value) ? UNARY : PRIMARY};
}

static struct piece int_literal(const struct printer *p, int64_t value)
{
    if (value == INT64_MIN)
        return primary("(-0x7fffffffffffffffLL - 1)");
    const char *suffix = value > INT16_MAX || value < INT16_MIN ? "LL" : "";
    const char *text = text_fmt(p->arena, "%lld%s", (long long)value, suffix);
    return (struct piece){text, value < 0 ? UNARY : PRIMARY};
}

static struct piece literal(const struct printer *p, const struct expr *expr)
{
    enum value_class class = value_class_of(expr->dtype);
    bool real = expr->op == EXPR_FLOAT;
    switch (class) {
    case CLASS_F64:
    case CLASS_F32:
        return real_literal(p, real ? expr->real : (double)expr->integer, class);
    case CLASS_INT:
        return int_literal(p, real ? (int64_t)expr->real : expr->integer);
    case CLASS_BOOL:
        break;
    }
    return primary((real ? expr->real != 0 : expr->integer != 0) ? "true" : "false");
}

/* ---- conversions ---- */

static const char *real_to_int(struct arena *arena, enum dtype dtype, const char *value)
{
    return text_fmt(arena, "real_to_int(%s, %s, %s)", value, extreme_text(dtype, true),
                    extreme_text(dtype, false));
}

static struct piece convert(const struct printer *p, struct piece piece, enum value_class from,
                            enum value_class to)
{
    if (from == to)
        return piece;
    if (to == CLASS_BOOL)
        return (struct piece){text_fmt(p->arena, "%s != 0", wrapped(p, piece, SUM)), COMPARE};
    if (to == CLASS_INT && (from == CLASS_F32 || from == CLASS_F64)) {
        p->uses->helpers[HELPER_REAL_TO_INT] = true;
        return primary(real_to_int(p->arena, DTYPE_I64, piece.text));
    }
    return (struct piece){text_fmt(p->arena, "(%s)%s", value_class_c(to), wrapped(p, piece, UNARY)),
                          UNARY};
}

static struct piece print_as(const struct printer *p, const struct expr *expr, enum value_class to)
{
    bool literal_real = expr->op == EXPR_FLOAT || expr->op == EXPR_INT;
    if (literal_real && (to == CLASS_F32 || to == CLASS_F64))
        return real_literal(p, expr->op == EXPR_FLOAT ? expr->real : (double)expr->integer, to);
    return convert(p, print(p, expr), value_class_of(expr->dtype), to);
}

const char *print_outer(const struct printer *p, const struct expr *expr, enum dtype as)
{
    return print_as(p, expr, value_class_of(as)).text;
}

const char *print_value(const struct printer *p, const struct expr *expr, enum dtype as)
{
    return wrapped(p, print_as(p, expr, value_class_of(as)), PRIMARY);
}

const char *print_subscript(const struct printer *p, const struct expr *expr)
{
    return wrapped(p, print_as(p, expr, CLASS_INT), SUM);
}

const char *print_operand(struct arena *arena, const char *text)
{
    for (const char *c = text; *c != '\0'; c++)
        if (strchr(" -+*/", *c) != NULL)
            return text_fmt(arena, "(%s)", text);
    return text;
}

const char *print_narrow(struct arena *arena, struct uses *uses, enum dtype dtype,
                         const char *value, enum value_class from)
{
    bool wide = from == CLASS_F64 || from == CLASS_INT;
    const char *cast = from == CLASS_INT ? "(double)" : from == CLASS_BOOL ? "(float)" : "";
    const char *operand = cast[0] == '\0' ? value : print_operand(arena, value);
    switch (dtype) {
    case DTYPE_F16:
        uses->f16 = true;
        return text_fmt(arena, "%s(%s%s)", wide ? "__double2half" : "__float2half_rn", cast,
                        operand);
    case DTYPE_BF16:
        uses->bf16 = true;
        return text_fmt(arena, "%s(%s%s)", wide ? "__double2bfloat16" : "__float2bfloat16_rn", cast,
                        operand);
    case DTYPE_E4M3:
    case DTYPE_E5M2:
        uses->fp8 = true;
        return text_fmt(arena, "__nv_cvt_%s_to_fp8(%s%s, __NV_NOSAT, %s)",
                        wide ? "double" : "float", cast, operand,
                        dtype == DTYPE_E4M3 ? "__NV_E4M3" : "__NV_E5M2");
    case DTYPE_F64:
    case DTYPE_F32:
        if (value_class_of(dtype) == from)
            return value;
        return text_fmt(arena, "(%s)%s", storage_c(dtype), print_operand(arena, value));
    case DTYPE_BOOL:
        return text_fmt(arena, from == CLASS_BOOL ? "%s" : "(%s) != 0", value);
    case DTYPE_I64:
    case DTYPE_I32:
    case DTYPE_I16:
    case DTYPE_I8:
    case DTYPE_U8:
        break;
    case DTYPE_COUNT:
        break;
    }
    if (from == CLASS_F32 || from == CLASS_F64) {
        uses->helpers[HELPER_REAL_TO_INT] = true;
        value = real_to_int(arena, dtype, value);
    }
    if (dtype == DTYPE_I64)
        return value;
    return text_fmt(arena, "(%s)%s", storage_c(dtype), print_operand(arena, value));
}

const char *print_widen(struct arena *arena, struct uses *uses, enum dtype dtype,
                        const char *element)
{
    switch (dtype) {
    case DTYPE_F16:
        uses->f16 = true;
        return text_fmt(arena, "__half2float(%s)", element);
    case DTYPE_BF16:
        uses->bf16 = true;
        return text_fmt(arena, "__bfloat162float(%s)", element);
    case DTYPE_E4M3:
    case DTYPE_E5M2:
        uses->fp8 = true;
        return text_fmt(arena, "__half2float(__half(__nv_cvt_fp8_to_halfraw(%s, %s)))", element,
                        dtype == DTYPE_E4M3 ? "__NV_E4M3" : "__NV_E5M2");
    case DTYPE_BOOL:
        return text_fmt(arena, "(%s != 0)", element);
    case DTYPE_I32:
    case DTYPE_I16:
    case DTYPE_I8:
    case DTYPE_U8:
        return text_fmt(arena, "(i64)%s", element);
    case DTYPE_F64:
    case DTYPE_F32:
    case DTYPE_I64:
    case DTYPE_COUNT:
        break;
    }
    return element;
}

static struct piece print_cast(const struct printer *p, const struct expr *expr)
{
    const struct expr *arg = expr->args[0];
    enum value_class from = value_class_of(arg->dtype), to = value_class_of(expr->dtype);
    if (expr->tf32) {
        p->uses->helpers[HELPER_ROUND_TF32] = true;
        return primary(text_fmt(p->arena, "round_tf32(%s)", print_as(p, arg, CLASS_F32).text));
    }
    if (arg->op == EXPR_FLOAT || arg->op == EXPR_INT)
        from = to == CLASS_F32 || to == CLASS_F64 ? to : from;
    struct piece value = print_as(p, arg, from);
    if (expr->dtype == arg->dtype && from == to)
        return value;
    if (expr->dtype == DTYPE_F64 || expr->dtype == DTYPE_F32 || to == CLASS_BOOL)
        return convert(p, value, from, to);
    const char *narrow = print_narrow(p->arena, p->uses, expr->dtype, value.text, from);
    const char *text = print_widen(p->arena, p->uses, expr->dtype, print_operand(p->arena, narrow));
    return (struct piece){text, text[0] == '(' ? UNARY : PRIMARY};
}

/* ---- reads ---- */

/* Is an integer expression never negative, whatever the shape? */
static bool never_negative(const struct expr *e)
{
    bool first = e->args[0] != NULL && never_negative(e->args[0]);
    bool second = e->args[1] != NULL && never_negative(e->args[1]);
    if (e->op == EXPR_INT)
        return e->integer >= 0;
    if (e->op == EXPR_INDEX || e->op == EXPR_DIM)
        return true;
    if (e->op == EXPR_MOD)
        return second;
    if (e->op == EXPR_MAX)
        return first || second;
    bool keeps = e->op == EXPR_ADD || e->op == EXPR_MUL || e->op == EXPR_DIV || e->op == EXPR_MIN;
    return keeps && first && second;
}

const char *print_formula(const struct printer *p, const struct formula *f)
{
    const char *a = f->a == NULL ? "" : print_formula(p, f->a);
    const char *b = f->b == NULL ? "" : print_formula(p, f->b);
    switch (f->op) {
    case FORMULA_INT:
        return text_fmt(p->arena, "%lld", (long long)f->value);
    case FORMULA_NAME: {
        size_t dim = op_dim_find(p->op, f->name);
        p->uses->dims[dim] = true;
        return p->names->dims[dim];
    }
    case FORMULA_NEG:
        return text_fmt(p->arena, "(-%s)", a);
    case FORMULA_NOT:
        return text_fmt(p->arena, "(!%s)", a);
#define X(id, sign)                                                                                \
    case FORMULA_##id:                                                                             \
        break;
        FORMULA_OPS(X)
#undef X
    }
    static const char *const signs[] = {
#define X(id, sign) [FORMULA_##id] = sign,
        FORMULA_OPS(X)
#undef X
    };
    if (f->op == FORMULA_CEILDIV)
        p->uses->helpers[HELPER_CEILDIV] = true;
    bool call = f->op == FORMULA_CEILDIV || f->op == FORMULA_MIN || f->op == FORMULA_MAX;
    if (call)
        return text_fmt(p->arena, "%s((i64)%s, (i64)%s)", signs[f->op], a, b);
    return text_fmt(p->arena, "(%s %s %s)", a, signs[f->op], b);
}

const char *print_position(const struct printer *p, size_t tensor, const char *const *subs)
{
    const struct tensor *t = &p->op->tensors[tensor];
    if (t->rank == 0)
        return "0";
    const char *text = subs[0];
    for (size_t i = 1; i < t->rank; i++) {
        const char *head = text_fmt(p->arena, i == 1 ? "%s" : "(%s)", text);
        if (i == 1 && strpbrk(text, " -?") != NULL)
            head = text_fmt(p->arena, "(%s)", text);
        text = text_fmt(p->arena, "%s * %s + %s", head, print_formula(p, t->shape[i]), subs[i]);
    }
    return text;
}

/* The condition under which subscripts are inside, NULL when nothing can leave. */
static const char *inside(const struct printer *p, const struct expr *read, const char *const *subs)
{
    const struct tensor *t = &p->op->tensors[read->tensor];
    const char *all = NULL;
    for (size_t i = 0; i < t->rank; i++) {
        const struct expr *sub = read->subs[i];
        bool plain =
            sub->op == EXPR_INDEX && formula_equal(p->stmt->loops[sub->loop].extent, t->shape[i]);
        if (plain || (read->pad == NULL && !expr_reads_data(sub)))
            continue;
        const char *low = never_negative(sub) ? "" : text_fmt(p->arena, "%s >= 0 && ", subs[i]);
        const char *one =
            text_fmt(p->arena, "%s%s < %s", low, subs[i], print_formula(p, t->shape[i]));
        all = all == NULL ? one : text_fmt(p->arena, "%s && %s", all, one);
    }
    return all;
}

static struct piece print_read(const struct printer *p, const struct expr *expr)
{
    const char *text;
    if (p->served != NULL && p->served(p->context, p, expr, &text))
        return primary(text);
    const struct tensor *t = &p->op->tensors[expr->tensor];
    const char *subs[OP_RANK_MAX];
    for (size_t i = 0; i < t->rank; i++)
        subs[i] = print_subscript(p, expr->subs[i]);
    p->uses->tensors[expr->tensor] = true;
    const char *element = text_fmt(p->arena, "%s[%s]", p->names->tensors[expr->tensor],
                                   print_position(p, expr->tensor, subs));
    const char *value = print_widen(p->arena, p->uses, t->dtype, element);
    const char *guard = inside(p, expr, subs);
    bool cast = value[0] == '(' && t->dtype != DTYPE_BOOL;
    if (guard == NULL)
        return (struct piece){value, cast ? UNARY : PRIMARY};
    enum value_class class = value_class_of(expr->dtype);
    const char *outside = class == CLASS_F32 ? "0.0f" : class == CLASS_F64 ? "0.0" : "0";
    if (expr->pad != NULL)
        outside = wrapped(p, print_as(p, expr->pad, class), DISJUNCTION);
    return (struct piece){text_fmt(p->arena, "%s ? %s : %s", guard, value, outside), TERNARY};
}

/* ---- operators and functions ---- */

static struct piece infix(const struct printer *p, const struct expr *e, enum value_class class,
                          enum level level)
{
    struct piece a = print_as(p, e->args[0], class), b = print_as(p, e->args[1], class);
    bool regroups = e->op == EXPR_ADD && class == CLASS_INT;
    const char *right = wrapped(p, b, regroups ? level : level - 1);
    const char *sign = expr_op_name(e->op);
    return (struct piece){text_fmt(p->arena, "%s %s %s", wrapped(p, a, level), sign, right), level};
}

static struct piece call(const struct printer *p, const struct expr *e, const char *name,
                         enum value_class class, size_t count)
{
    const char *text = "";
    for (size_t i = 0; i < count; i++)
        text = text_fmt(p->arena, "%s%s%s", text, i == 0 ? "" : ", ",
                        print_as(p, e->args[i], class).text);
    return primary(text_fmt(p->arena, "%s(%s)", name, text));
}

/* An integer result at the width of its dtype. */
static struct piece narrowed(const struct printer *p, const struct expr *e, struct piece piece)
{
    if (e->dtype == DTYPE_I64 || value_class_of(e->dtype) != CLASS_INT)
        return piece;
    return (struct piece){
        text_fmt(p->arena, "(i64)(%s)%s", storage_c(e->dtype), wrapped(p, piece, UNARY)), UNARY};
}

static struct piece int_arithmetic(const struct printer *p, const struct expr *e)
{
    bool wraps = e->dtype == DTYPE_I64 && expr_reads_data(e);
    enum level level = e->op == EXPR_MUL ? PRODUCT : SUM;
    if (!wraps)
        return narrowed(p, e, infix(p, e, CLASS_INT, level));
    const char *a = wrapped(p, print_as(p, e->args[0], CLASS_INT), UNARY);
    const char *b = wrapped(p, print_as(p, e->args[1], CLASS_INT), UNARY);
    return (struct piece){
        text_fmt(p->arena, "(i64)((u64)%s %s (u64)%s)", a, expr_op_name(e->op), b), UNARY};
}

static struct piece helper(const struct printer *p, const struct expr *e, enum helper helper,
                           const char *name, enum value_class class)
{
    size_t count = e->args[1] == NULL ? 1 : 2;
    bool typed = helper == HELPER_NAN_MIN || helper == HELPER_NAN_MAX || helper == HELPER_SIGN;
    p->uses->helpers[helper] = true;
    if (typed)
        name = text_fmt(p->arena, "%s<%s>", name, value_class_c(class));
    return narrowed(p, e, call(p, e, name, class, count));
}

static struct piece shift(const struct printer *p, const struct expr *e)
{
    bool left = e->op == EXPR_SHL;
    p->uses->helpers[left ? HELPER_SHIFT_LEFT : HELPER_SHIFT_RIGHT] = true;
    return narrowed(
        p, e,
        primary(text_fmt(p->arena, "%s(%s, %s, %zu)", left ? "shift_left" : "shift_right",
                         print_as(p, e->args[0], CLASS_INT).text,
                         print_as(p, e->args[1], CLASS_INT).text, dtype_bytes(e->dtype) * 8)));
}

static struct piece arithmetic(const struct printer *p, const struct expr *e)
{
    enum value_class class = value_class_of(e->dtype);
    bool integer = class == CLASS_INT || class == CLASS_BOOL;
    bool plain = never_negative(e->args[0]) && never_negative(e->args[1]) && !expr_reads_data(e);
    if (e->op == EXPR_DIV && integer && !plain)
        return helper(p, e, HELPER_FLOOR_DIV, "floor_div", CLASS_INT);
    if (e->op == EXPR_MOD && !plain)
        return helper(p, e, HELPER_FLOOR_MOD, "floor_mod", CLASS_INT);
    if (e->op == EXPR_DIV || e->op == EXPR_MOD)
        return infix(p, e, class, PRODUCT);
    if (integer)
        return int_arithmetic(p, e);
    return infix(p, e, class, e->op == EXPR_MUL ? PRODUCT : SUM);
}

static struct piece comparison(const struct printer *p, const struct expr *e)
{
    enum value_class a = value_class_of(e->args[0]->dtype), b = value_class_of(e->args[1]->dtype);
    enum value_class class = a < b ? a : b;
    const char *left = wrapped(p, print_as(p, e->args[0], class), SUM);
    const char *right = wrapped(p, print_as(p, e->args[1], class), SUM);
    return (struct piece){text_fmt(p->arena, "%s %s %s", left, expr_op_name(e->op), right),
                          COMPARE};
}

static struct piece logic(const struct printer *p, const struct expr *e)
{
    enum level level = e->op == EXPR_AND ? CONJUNCTION : DISJUNCTION;
    const char *a = wrapped(p, print_as(p, e->args[0], CLASS_BOOL), COMPARE);
    const char *b = wrapped(p, print_as(p, e->args[1], CLASS_BOOL), COMPARE);
    return (struct piece){text_fmt(p->arena, "%s %s %s", a, expr_op_name(e->op), b), level};
}

static struct piece bits(const struct printer *p, const struct expr *e)
{
    enum value_class class = value_class_of(e->dtype);
    const char *a = wrapped(p, print_as(p, e->args[0], class), UNARY);
    const char *b = wrapped(p, print_as(p, e->args[1], class), UNARY);
    const char *text = text_fmt(p->arena, "(%s %s %s)", a, expr_op_name(e->op), b);
    return narrowed(p, e, convert(p, primary(text), CLASS_INT, class));
}

static struct piece negation(const struct printer *p, const struct expr *e)
{
    enum value_class class = value_class_of(e->dtype);
    const char *arg = wrapped(p, print_as(p, e->args[0], class), PRIMARY);
    if (class == CLASS_INT && expr_reads_data(e))
        return narrowed(p, e,
                        (struct piece){text_fmt(p->arena, "(i64)(0ULL - (u64)%s)", arg), UNARY});
    return (struct piece){text_fmt(p->arena, "-%s", arg), UNARY};
}

static struct piece select(const struct printer *p, const struct expr *e)
{
    enum value_class class = value_class_of(e->dtype);
    const char *c = wrapped(p, print_as(p, e->args[0], CLASS_BOOL), DISJUNCTION);
    const char *a = wrapped(p, print_as(p, e->args[1], class), DISJUNCTION);
    const char *b = wrapped(p, print_as(p, e->args[2], class), DISJUNCTION);
    return (struct piece){text_fmt(p->arena, "%s ? %s : %s", c, a, b), TERNARY};
}

static struct piece function(const struct printer *p, const struct expr *e)
{
    enum value_class class = value_class_of(e->dtype);
    bool integer = class == CLASS_INT || class == CLASS_BOOL;
    if (e->op == EXPR_ABS && integer)
        return helper(p, e, HELPER_INT_ABS, "int_abs", CLASS_INT);
    const char *name = e->op == EXPR_ABS ? "fabs" : expr_op_name(e->op);
    const char *suffix = class == CLASS_F32 ? "f" : "";
    size_t count = e->args[1] == NULL ? 1 : e->args[2] == NULL ? 2 : 3;
    return call(p, e, text_fmt(p->arena, "%s%s", name, suffix), class, count);
}

static struct piece prefix(const struct printer *p, const struct expr *e)
{
    bool logical = e->op == EXPR_NOT;
    const char *arg =
        wrapped(p, print_as(p, e->args[0], logical ? CLASS_BOOL : CLASS_INT), PRIMARY);
    struct piece piece = {text_fmt(p->arena, "%s%s", expr_op_name(e->op), arg), UNARY};
    return logical ? piece : narrowed(p, e, piece);
}

static struct piece test_special(const struct printer *p, const struct expr *e)
{
    enum value_class arg = value_class_of(e->args[0]->dtype);
    return call(p, e, expr_op_name(e->op), arg == CLASS_F64 ? arg : CLASS_F32, 1);
}

static struct piece index_value(const struct printer *p, const struct expr *e)
{
    return primary(p->loops[e->loop]);
}

static struct piece dim_value(const struct printer *p, const struct expr *e)
{
    p->uses->dims[e->dim] = true;
    return primary(p->names->dims[e->dim]);
}

static struct piece extremum(const struct printer *p, const struct expr *e)
{
    enum value_class class = value_class_of(e->dtype);
    if (e->op == EXPR_SIGN)
        return helper(p, e, HELPER_SIGN, "sign", class);
    return e->op == EXPR_MIN ? helper(p, e, HELPER_NAN_MIN, "nan_min", class)
                             : helper(p, e, HELPER_NAN_MAX, "nan_max", class);
}

/* Who prints an operation; the rest are C's functions. */
typedef struct piece print_fn(const struct printer *p, const struct expr *e);
static print_fn *const PRINTERS[EXPR_OP_COUNT] = {
    [EXPR_FLOAT] = literal,  [EXPR_INT] = literal,        [EXPR_INDEX] = index_value,
    [EXPR_DIM] = dim_value,  [EXPR_READ] = print_read,    [EXPR_CAST] = print_cast,
    [EXPR_NEG] = negation,   [EXPR_NOT] = prefix,         [EXPR_BITNOT] = prefix,
    [EXPR_ADD] = arithmetic, [EXPR_SUB] = arithmetic,     [EXPR_MUL] = arithmetic,
    [EXPR_DIV] = arithmetic, [EXPR_MOD] = arithmetic,     [EXPR_SHL] = shift,
    [EXPR_SHR] = shift,      [EXPR_BITAND] = bits,        [EXPR_BITXOR] = bits,
    [EXPR_BITOR] = bits,     [EXPR_LT] = comparison,      [EXPR_LE] = comparison,
    [EXPR_GT] = comparison,  [EXPR_GE] = comparison,      [EXPR_EQ] = comparison,
    [EXPR_NE] = comparison,  [EXPR_AND] = logic,          [EXPR_OR] = logic,
    [EXPR_WHERE] = select,   [EXPR_SIGN] = extremum,      [EXPR_MIN] = extremum,
    [EXPR_MAX] = extremum,   [EXPR_ISNAN] = test_special, [EXPR_ISINF] = test_special,
};

static struct piece print(const struct printer *p, const struct expr *e)
{
    return PRINTERS[e->op] != NULL ? PRINTERS[e->op](p, e) : function(p, e);
}

const char *print_store(const struct printer *p, size_t tensor, const char *position,
                        const char *value, enum value_class from)
{
    enum dtype dtype = p->op->tensors[tensor].dtype;
    p->uses->tensors[tensor] = true;
    return text_fmt(p->arena, "%s[%s] = %s;", p->names->tensors[tensor], position,
                    print_narrow(p->arena, p->uses, dtype, value, from));
}

const char *extreme_text(enum dtype dtype, bool lowest)
{
    switch (value_class_of(dtype)) {
    case CLASS_F64:
        return lowest ? "-__longlong_as_double(0x7ff0000000000000LL)"
                      : "__longlong_as_double(0x7ff0000000000000LL)";
    case CLASS_F32:
        return lowest ? "-__int_as_float(0x7f800000)" : "__int_as_float(0x7f800000)";
    case CLASS_BOOL:
        return lowest ? "false" : "true";
    case CLASS_INT:
        break;
    }
    if (dtype == DTYPE_U8)
        return lowest ? "0" : "255";
    if (dtype == DTYPE_I8)
        return lowest ? "-128" : "127";
    if (dtype == DTYPE_I16)
        return lowest ? "-32768" : "32767";
    if (dtype == DTYPE_I32)
        return lowest ? "-2147483648LL" : "2147483647LL";
    return lowest ? "-0x7fffffffffffffffLL - 1" : "0x7fffffffffffffffLL";
}
