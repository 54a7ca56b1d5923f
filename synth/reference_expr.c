/*
 * Expressions of the reference: one line a node, in evaluation order, on pairs (value, bound).
 *
 * Each operation is a call of reference_rules.cuh with the format whose unit roundoff an honest
 * kernel may lose.  Operands of another type are converted in between without rounding, as the real
 * meaning says; the bound grows by what a kernel may lose there.  Index arithmetic that reads no
 * data is plain integer text.
 *
 * `least` follows values that cannot go below a number (squares, exponentials, sums of these and of
 * constants), which keeps sqrt(variance + eps) away from zero where its bound exceeds it.
 *
 * Invariant: a line uses names of earlier lines only.
 */
#include <math.h>

#include "base/num.h"
#include "base/panic.h"

#include "synth/reference_int.h"

const char *ref_format(enum dtype dtype)
{
    static const char *const names[DTYPE_COUNT] = {
        [DTYPE_F64] = "f64()",   [DTYPE_F32] = "f32()",   [DTYPE_F16] = "f16()",
        [DTYPE_BF16] = "bf16()", [DTYPE_E4M3] = "e4m3()", [DTYPE_E5M2] = "e5m2()"};
    return names[dtype];
}

const char *ref_width(struct arena *arena, enum dtype dtype)
{
    int width = dtype == DTYPE_BOOL ? 1 : (int)dtype_bytes(dtype) * 8;
    bool is_signed = dtype != DTYPE_U8 && dtype != DTYPE_BOOL;
    return text_fmt(arena, "%d, %s", width, is_signed ? "true" : "false");
}

const char *ref_type(enum dtype dtype)
{
    return dtype_is_float(dtype) ? "num" : "whole";
}

const char *ref_literal(struct arena *arena, double value)
{
    if (isnan(value))
        return "(INF - INF)";
    if (isinf(value))
        return value > 0 ? "INF" : "-INF";
    return text_fmt(arena, "%a", value);
}

const char *ref_fresh(struct ref_kernel *kernel, const char *stem)
{
    return text_fmt(kernel->arena, "%s%d", stem, kernel->lines++);
}

const char *ref_number(struct ref_kernel *kernel, const struct formula *formula)
{
    size_t at = 0;
    if (formula->op == FORMULA_INT)
        return text_fmt(kernel->arena, "%lldLL", (long long)formula->value);
    while (at < kernel->formula_count && !formula_equal(kernel->formulas[at], formula))
        at++;
    if (at == kernel->formula_count) {
        const struct formula **more =
            arena_array(kernel->arena, const struct formula *, kernel->formula_count + 1);
        for (size_t i = 0; i < at; i++)
            more[i] = kernel->formulas[i];
        more[at] = formula;
        kernel->formulas = more;
        kernel->formula_count++;
    }
    return text_fmt(kernel->arena, "n%zu", at);
}

/* ---- index arithmetic ---- */

static bool is_plain_index(const struct expr *e)
{
    if (e->dtype != DTYPE_I64)
        return false;
    if (e->op == EXPR_INT || e->op == EXPR_INDEX || e->op == EXPR_DIM)
        return true;
    bool known = e->op == EXPR_ADD || e->op == EXPR_SUB || e->op == EXPR_MUL || e->op == EXPR_DIV ||
                 e->op == EXPR_MOD || e->op == EXPR_NEG;
    return known && is_plain_index(e->args[0]) && (e->op == EXPR_NEG || is_plain_index(e->args[1]));
}

static const char *plain_index(struct ref_stmt *s, const struct expr *e)
{
    struct arena *arena = s->kernel->arena;
    if (e->op == EXPR_INT)
        return text_fmt(arena, "%lldLL", (long long)e->integer);
    if (e->op == EXPR_INDEX)
        return s->loops[e->loop];
    if (e->op == EXPR_DIM)
        return ref_number(s->kernel, formula_name(arena, s->kernel->op->dims[e->dim].name));
    const char *a = plain_index(s, e->args[0]);
    if (e->op == EXPR_NEG)
        return text_fmt(arena, "(-%s)", a);
    const char *b = plain_index(s, e->args[1]);
    if (e->op == EXPR_DIV || e->op == EXPR_MOD)
        return text_fmt(arena, "%s(%s, %s)", e->op == EXPR_DIV ? "div_down" : "mod_down", a, b);
    const char *sign = e->op == EXPR_ADD ? "+" : e->op == EXPR_SUB ? "-" : "*";
    return text_fmt(arena, "(%s %s %s)", a, sign, b);
}

const char *ref_subscript(struct ref_stmt *s, const struct expr *expr, const char **open)
{
    *open = NULL;
    if (is_plain_index(expr))
        return plain_index(s, expr);
    struct ref_value value = ref_print(s, expr, DTYPE_I64);
    *open = text_fmt(s->kernel->arena, "%s.b > 0", value.name);
    return text_fmt(s->kernel->arena, "%s.v", value.name);
}

const char *ref_position(struct ref_stmt *s, size_t tensor, const char *const *subs)
{
    const struct tensor *t = &s->kernel->op->tensors[tensor];
    struct arena *arena = s->kernel->arena;
    const char *text = t->rank == 0 ? "0" : subs[0];
    for (size_t i = 1; i < t->rank; i++)
        text = text_fmt(arena, "(%s) * %s + %s", text, ref_number(s->kernel, t->shape[i]), subs[i]);
    return text;
}

/* ---- lines ---- */

static struct ref_value line(struct ref_stmt *s, enum dtype dtype, const char *text)
{
    struct ref_value value = {
        .name = ref_fresh(s->kernel, "t"), .dtype = dtype, .least = -INFINITY};
    cuda_line(&s->kernel->out, "const %s %s = %s;", ref_type(dtype), value.name, text);
    return value;
}

/* A change of type that the spec does not ask for. */
static struct ref_value convert(struct ref_stmt *s, struct ref_value x, enum dtype to)
{
    struct arena *arena = s->kernel->arena;
    bool from_real = dtype_is_float(x.dtype), to_real = dtype_is_float(to);
    const char *text;
    if (x.dtype == to)
        return x;
    if (from_real && to_real)
        text =
            text_fmt(arena, "assign_real(%s, %s, %s)", ref_format(x.dtype), ref_format(to), x.name);
    else if (from_real)
        text = text_fmt(arena, "whole_of(%s, %s)", x.name, ref_width(arena, to));
    else if (to_real)
        text = text_fmt(arena, "real_of(%s, false, %s)", ref_format(to), x.name);
    else
        text = text_fmt(arena, "int_convert(%s, %s)", x.name, ref_width(arena, to));
    struct ref_value value = line(s, to, text);
    value.least = x.least;
    value.expr = x.expr;
    return value;
}

struct ref_value ref_print(struct ref_stmt *s, const struct expr *expr, enum dtype as)
{
    return convert(s, ref_print_own(s, expr), as);
}

struct ref_value ref_assign(struct ref_stmt *s, struct ref_value value, enum dtype to)
{
    return convert(s, value, to);
}

static struct ref_value print_literal(struct ref_stmt *s, const struct expr *e)
{
    struct arena *arena = s->kernel->arena;
    double real = e->op == EXPR_FLOAT ? e->real : (double)e->integer;
    if (!dtype_is_float(e->dtype)) {
        int64_t whole = e->op == EXPR_INT ? e->integer : (int64_t)dtype_round(e->dtype, e->real);
        return line(s, e->dtype, text_fmt(arena, "{(i64)0x%llxULL, 0}", (unsigned long long)whole));
    }
    double typed = dtype_round(e->dtype, real);
    double bound = isfinite(real) ? fabs(real - typed) : 0;
    struct ref_value value =
        line(s, e->dtype,
             text_fmt(arena, "{%s, %s}", ref_literal(arena, real), ref_literal(arena, bound)));
    value.least = fmin(real, typed);
    return value;
}

/* ---- reads ---- */

static const char *element(struct ref_stmt *s, size_t tensor, const char *position)
{
    const struct tensor *t = &s->kernel->op->tensors[tensor];
    struct arena *arena = s->kernel->arena;
    if (t->written_by != OP_NONE) {
        s->kernel->results[tensor] = true;
        return text_fmt(arena, "%s{value%zu[%s], bound%zu[%s]}", ref_type(t->dtype), tensor,
                        position, tensor, position);
    }
    s->kernel->inputs[tensor] = true;
    const char *raw = text_fmt(arena, "in%zu[%s]", tensor, position);
    if (t->dtype == DTYPE_BOOL)
        return text_fmt(arena, "whole{%s != 0, 0}", raw);
    if (!dtype_is_float(t->dtype))
        return text_fmt(arena, "whole{(i64)%s, 0}", raw);
    if (t->dtype == DTYPE_F16)
        raw = text_fmt(arena, "__half2float(%s)", raw);
    else if (t->dtype == DTYPE_BF16)
        raw = text_fmt(arena, "__bfloat162float(%s)", raw);
    else if (t->dtype == DTYPE_E4M3 || t->dtype == DTYPE_E5M2)
        raw = text_fmt(arena, "eighth<%s>(%s)", t->dtype == DTYPE_E4M3 ? "4, 7" : "5, 15", raw);
    return text_fmt(arena, "num{(double)%s, 0}", raw);
}

static struct ref_value print_read(struct ref_stmt *s, const struct expr *e)
{
    struct arena *arena = s->kernel->arena;
    const struct tensor *t = &s->kernel->op->tensors[e->tensor];
    const char *subs[OP_RANK_MAX], *inside = "true", *opened = NULL;
    struct ref_value pad = {.least = INFINITY};
    if (e->pad != NULL)
        pad = ref_print(s, e->pad, e->dtype);
    for (size_t i = 0; i < t->rank; i++) {
        const char *open;
        const char *text = ref_subscript(s, e->subs[i], &open);
        subs[i] = ref_fresh(s->kernel, "s");
        cuda_line(&s->kernel->out, "const i64 %s = %s;", subs[i], text);
        inside = text_fmt(arena, "%s && %s >= 0 && %s < %s", inside, subs[i], subs[i],
                          ref_number(s->kernel, t->shape[i]));
        if (open != NULL)
            opened = opened == NULL ? open : text_fmt(arena, "%s || %s", opened, open);
    }
    const char *outside =
        e->pad != NULL ? pad.name : text_fmt(arena, "%s{0, INF}", ref_type(t->dtype));
    const char *text = text_fmt(arena, "%s ? %s : %s", inside,
                                element(s, e->tensor, ref_position(s, e->tensor, subs)), outside);
    if (opened != NULL)
        text = text_fmt(arena, "open_if(%s, %s)", opened, text);
    struct ref_value value = line(s, t->dtype, text);
    value.least = fmin(s->kernel->least[e->tensor], pad.least);
    value.expr = e;
    return value;
}

static struct ref_value print_cast(struct ref_stmt *s, const struct expr *e)
{
    struct arena *arena = s->kernel->arena;
    struct ref_value x = ref_print_own(s, e->args[0]);
    const char *text;
    bool to_real = dtype_is_float(e->dtype);
    if (e->tf32)
        text = text_fmt(arena, "cast_tf32(%s)", x.name);
    else if (dtype_is_float(x.dtype) && to_real)
        text = text_fmt(arena, "cast_real(%s, %s, %s)", ref_format(x.dtype), ref_format(e->dtype),
                        x.name);
    else if (dtype_is_float(x.dtype))
        text = text_fmt(arena, "whole_of(%s, %s)", x.name, ref_width(arena, e->dtype));
    else if (to_real)
        text = text_fmt(arena, "real_of(%s, true, %s)", ref_format(e->dtype), x.name);
    else
        text = text_fmt(arena, "int_convert(%s, %s)", x.name, ref_width(arena, e->dtype));
    struct ref_value value = line(s, e->dtype, text);
    if (isfinite(x.least) && to_real)
        value.least = dtype_round(e->dtype, x.least);
    value.expr = x.expr;
    return value;
}

/* ---- operations ---- */

static enum dtype operand_dtype(const struct expr *e)
{
    const struct expr *a = e->args[0], *b = e->args[1];
    if (e->op == EXPR_AND || e->op == EXPR_OR || e->op == EXPR_NOT)
        return DTYPE_BOOL;
    if (e->op == EXPR_ISNAN || e->op == EXPR_ISINF)
        return a->dtype;
    if (e->op < EXPR_LT || e->op > EXPR_NE)
        return e->dtype;
    if (dtype_is_float(a->dtype) != dtype_is_float(b->dtype))
        return dtype_is_float(a->dtype) ? a->dtype : b->dtype;
    if (a->weak != b->weak)
        return a->weak ? b->dtype : a->dtype;
    if (a->dtype == DTYPE_BOOL)
        return b->dtype;
    return dtype_bytes(a->dtype) >= dtype_bytes(b->dtype) ? a->dtype : b->dtype;
}

/* The rule for reals and the one for integers; NULL: there is none. */
struct rule {
    const char *real, *integer;
};

static struct rule rule_of(enum expr_op op)
{
    static const struct rule rules[EXPR_OP_COUNT] = {
        [EXPR_NEG] = {"negate", "int_neg"},   [EXPR_BITNOT] = {NULL, "int_not"},
        [EXPR_ADD] = {"add", "int_add"},      [EXPR_SUB] = {"sub", "int_sub"},
        [EXPR_MUL] = {"mul", "int_mul"},      [EXPR_DIV] = {"divide", "int_div"},
        [EXPR_MOD] = {NULL, "int_mod"},       [EXPR_SHL] = {NULL, "int_shl"},
        [EXPR_SHR] = {NULL, "int_shr"},       [EXPR_BITAND] = {NULL, "int_and"},
        [EXPR_BITXOR] = {NULL, "int_xor"},    [EXPR_BITOR] = {NULL, "int_or"},
        [EXPR_LT] = {"less", "less"},         [EXPR_LE] = {"less_equal", "less_equal"},
        [EXPR_GT] = {"greater", "greater"},   [EXPR_GE] = {"greater_equal", "greater_equal"},
        [EXPR_EQ] = {"equal", "equal"},       [EXPR_NE] = {"not_equal", "not_equal"},
        [EXPR_AND] = {NULL, "both"},          [EXPR_OR] = {NULL, "one_of"},
        [EXPR_NOT] = {NULL, "opposite"},      [EXPR_ABS] = {"absolute", "int_abs"},
        [EXPR_SIGN] = {"r_sign", "int_sign"}, [EXPR_MIN] = {"minimum", "int_min"},
        [EXPR_MAX] = {"maximum", "int_max"},  [EXPR_ISNAN] = {"is_nan", NULL},
        [EXPR_ISINF] = {"is_inf", NULL},      [EXPR_POW] = {"power", NULL},
        [EXPR_ATAN2] = {"angle", NULL},       [EXPR_FMOD] = {"remainder_of", NULL},
        [EXPR_FMA] = {"multiply_add", NULL},  [EXPR_WHERE] = {"choose", "choose"},
    };
    return rules[op];
}

/* Functions of one real that the rules file calls r_NAME(format, x, least). */
static bool is_function(enum expr_op op)
{
    return (op >= EXPR_SIGN && op <= EXPR_RINT);
}

static bool same_place(const struct expr *a, const struct expr *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    if (a->op != b->op || a->dtype != b->dtype || a->tensor != b->tensor || a->loop != b->loop ||
        a->dim != b->dim || a->integer != b->integer || a->tf32 != b->tf32 ||
        !(a->real == b->real || (isnan(a->real) && isnan(b->real))) || !same_place(a->pad, b->pad))
        return false;
    for (size_t i = 0; i < 3; i++)
        if (!same_place(a->args[i], b->args[i]))
            return false;
    for (size_t i = 0; a->op == EXPR_READ && i < a->rank; i++)
        if (!same_place(a->subs[i], b->subs[i]))
            return false;
    return true;
}

static double least_of(const struct expr *e, const struct ref_value *args)
{
    double x = args[0].least, y = args[1].least;
    if (!dtype_is_float(e->dtype))
        return -INFINITY;
    if (e->op == EXPR_ADD)
        return isfinite(x) && isfinite(y) ? x + y : -INFINITY;
    if (e->op == EXPR_MUL && same_place(e->args[0], e->args[1]))
        return 0;
    if (e->op == EXPR_MUL || e->op == EXPR_DIV)
        return x >= 0 && y >= 0 ? 0 : -INFINITY;
    if (e->op == EXPR_MAX)
        return fmax(x, y);
    if (e->op == EXPR_MIN)
        return fmin(x, y);
    if (e->op == EXPR_WHERE)
        return fmin(y, args[2].least);
    if (e->op == EXPR_COSH)
        return 1;
    bool positive = e->op == EXPR_EXP || e->op == EXPR_EXP2 || e->op == EXPR_ABS ||
                    e->op == EXPR_SQRT || e->op == EXPR_RSQRT;
    return positive ? 0 : -INFINITY;
}

static const char *operation_text(struct ref_stmt *s, const struct expr *e, enum dtype operands,
                                  const struct ref_value *args, size_t count)
{
    struct arena *arena = s->kernel->arena;
    bool real = dtype_is_float(operands), test = e->dtype == DTYPE_BOOL;
    struct rule rule = rule_of(e->op);
    bool bare = e->op == EXPR_WHERE ||
                (test && e->op != EXPR_BITAND && e->op != EXPR_BITOR && e->op != EXPR_BITXOR);
    const char *list = real && !bare ? text_fmt(arena, "%s, ", ref_format(e->dtype)) : "";
    for (size_t i = 0; i < count; i++)
        list = text_fmt(arena, "%s%s%s", list, i == 0 ? "" : ", ", args[i].name);
    if (real && is_function(e->op))
        return text_fmt(arena, "r_%s(%s, %s)", expr_op_name(e->op), list,
                        ref_literal(arena, args[0].least));
    if (!real && !bare)
        list = text_fmt(arena, "%s, %s", list, ref_width(arena, e->dtype));
    const char *name = real ? rule.real : rule.integer;
    ASSERT(name != NULL);
    return text_fmt(arena, "%s(%s)", name, list);
}

static struct ref_value print_operation(struct ref_stmt *s, const struct expr *e)
{
    struct ref_value args[3] = {{.least = -INFINITY}, {.least = -INFINITY}, {.least = -INFINITY}};
    enum dtype operands = operand_dtype(e);
    size_t count = 0;
    for (; count < 3 && e->args[count] != NULL; count++) {
        bool condition = e->op == EXPR_WHERE && count == 0;
        args[count] = ref_print(s, e->args[count], condition ? DTYPE_BOOL : operands);
    }
    struct ref_value value = line(s, e->dtype, operation_text(s, e, operands, args, count));
    bool exponential = e->op == EXPR_EXP || e->op == EXPR_EXP2;
    if (exponential && args[0].p != NULL)
        value = line(s, e->dtype,
                     text_fmt(s->kernel->arena, "scaled_exponent(%s, %s, %s, %s)",
                              ref_format(e->dtype), value.name, args[0].p, args[0].q));
    value.least = least_of(e, args);
    if (e->op == EXPR_SUB && dtype_is_float(e->dtype)) {
        value.p = args[0].name;
        value.q = args[1].name;
    }
    if (e->op == EXPR_MUL) {
        value.factors[0] = args[0].name;
        value.factors[1] = args[1].name;
    }
    value.expr = e;
    return value;
}

struct ref_value ref_print_own(struct ref_stmt *s, const struct expr *e)
{
    if (e->op == EXPR_FLOAT || (e->op == EXPR_INT && !is_plain_index(e)))
        return print_literal(s, e);
    if (is_plain_index(e))
        return line(s, DTYPE_I64, text_fmt(s->kernel->arena, "{%s, 0}", plain_index(s, e)));
    if (e->op == EXPR_READ)
        return print_read(s, e);
    if (e->op == EXPR_CAST)
        return print_cast(s, e);
    return print_operation(s, e);
}
