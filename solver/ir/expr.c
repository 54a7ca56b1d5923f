/* Names, look-ups and walks over ops and expressions. */
#include <string.h>

#include "base/panic.h"

#include "solver/ir/op_int.h"

const char *expr_op_name(enum expr_op op)
{
    switch (op) {
    case EXPR_FLOAT:
        return "float";
    case EXPR_INT:
        return "int";
    case EXPR_INDEX:
        return "index";
    case EXPR_DIM:
        return "dim";
    case EXPR_READ:
        return "read";
    case EXPR_CAST:
        return "cast";
    case EXPR_OP_COUNT:
        break;
#define X(id, text, arity, class)                                                                  \
    case EXPR_##id:                                                                                \
        return text;
        EXPR_OPS(X)
#undef X
    }
    panic("expression operation %d", (int)op);
}

const char *reduce_op_name(enum reduce_op op)
{
    switch (op) {
    case REDUCE_NONE:
        return "none";
#define X(id, text)                                                                                \
    case REDUCE_##id:                                                                              \
        return text;
        REDUCE_OPS(X)
#undef X
    }
    panic("reduction %d", (int)op);
}

bool compute_is_narrow(enum compute compute)
{
    return compute == COMPUTE_F16 || compute == COMPUTE_BF16;
}

const char *compute_name(enum compute compute)
{
    switch (compute) {
    case COMPUTE_F64:
        return "f64";
    case COMPUTE_F32:
        return "f32";
    case COMPUTE_TF32:
        return "tf32";
    case COMPUTE_F16:
        return "f16";
    case COMPUTE_BF16:
        return "bf16";
    }
    panic("compute %d", (int)compute);
}

size_t op_tensor_find(const struct op *op, struct str name)
{
    for (size_t i = 0; i < op->tensor_count; i++)
        if (str_equal(op->tensors[i].name, name))
            return i;
    return OP_NONE;
}

size_t op_dim_find(const struct op *op, struct str name)
{
    for (size_t i = 0; i < op->dim_count; i++)
        if (str_equal(op->dims[i].name, name))
            return i;
    return OP_NONE;
}

bool op_track_find(const struct op *op, struct str name, const struct track **out)
{
    for (size_t i = 0; i < op->track_count; i++)
        if (str_equal(op->tracks[i].name, name)) {
            *out = &op->tracks[i];
            return true;
        }
    return false;
}

bool expr_reads_loops(const struct op *op, const struct expr *read, size_t first, size_t count)
{
    if (op->tensors[read->tensor].rank != count || read->pad != NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        if (read->subs[i]->op != EXPR_INDEX || read->subs[i]->loop != first + i)
            return false;
    return true;
}

void expr_walk(const struct expr *expr, expr_visitor *visit, void *context)
{
    visit(context, expr);
    for (size_t i = 0; expr->op == EXPR_READ && i < expr->rank; i++)
        expr_walk(expr->subs[i], visit, context);
    if (expr->pad)
        expr_walk(expr->pad, visit, context);
    for (int i = 0; i < 3 && expr->args[i]; i++)
        expr_walk(expr->args[i], visit, context);
}

void stmt_walk(const struct op *op, const struct stmt *stmt, expr_visitor *visit, void *context)
{
    expr_walk(stmt->value, visit, context);
    for (size_t i = 0; stmt->scatter != NULL && i < op->tensors[stmt->target].rank; i++)
        expr_walk(stmt->scatter[i], visit, context);
}

static void note_data(void *context, const struct expr *e)
{
    if (e->op == EXPR_READ)
        *(bool *)context = true;
}

bool expr_reads_data(const struct expr *expr)
{
    bool reads = false;
    expr_walk(expr, note_data, &reads);
    return reads;
}

static bool is_number(const struct expr *expr, double number)
{
    return (expr->op == EXPR_FLOAT && expr->real == number) ||
           (expr->op == EXPR_INT && (double)expr->integer == number);
}

/* NULL: it does something. */
static const struct expr *operand_of_nothing(const struct expr *e)
{
    const bool sum = e->op == EXPR_ADD, difference = e->op == EXPR_SUB;
    const bool product = e->op == EXPR_MUL, quotient = e->op == EXPR_DIV;
    if ((product || quotient) && is_number(e->args[1], 1))
        return e->args[0];
    if ((sum || difference) && is_number(e->args[1], 0))
        return e->args[0];
    if ((product && is_number(e->args[0], 1)) || (sum && is_number(e->args[0], 0)))
        return e->args[1];
    return e->op == EXPR_NEG && e->args[0]->op == EXPR_NEG ? e->args[0]->args[0] : NULL;
}

const struct expr *expr_exact(const struct expr *expr)
{
    const struct expr *inner = operand_of_nothing(expr);
    while (inner != NULL && inner->dtype == expr->dtype && !inner->weak) {
        expr = inner;
        inner = operand_of_nothing(expr);
    }
    return expr;
}

static bool child_equal(const struct expr *a, const struct expr *b)
{
    return a && b ? expr_equal(a, b) : a == b;
}

bool expr_equal(const struct expr *a, const struct expr *b)
{
    if (a->op != b->op || a->dtype != b->dtype || a->tf32 != b->tf32 || a->integer != b->integer ||
        memcmp(&a->real, &b->real, sizeof(a->real)) != 0 || a->loop != b->loop ||
        a->dim != b->dim || a->tensor != b->tensor || a->rank != b->rank)
        return false;
    for (size_t i = 0; a->op == EXPR_READ && i < a->rank; i++)
        if (!expr_equal(a->subs[i], b->subs[i]))
            return false;
    for (int i = 0; i < 3; i++)
        if (!child_equal(a->args[i], b->args[i]))
            return false;
    return child_equal(a->pad, b->pad);
}
