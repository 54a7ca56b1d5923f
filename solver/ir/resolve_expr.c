/*
 * Expressions: names become loops, dims and tensors; types are filled in bottom up.
 *
 * A tensor of a sequential block may be read before its statement is met (at an earlier step).
 * Its dtype is then taken from the value of pad(), its rank from the read, and both are checked
 * when the statement comes.
 */
#include "base/panic.h"

#include "solver/ir/resolve_int.h"

static struct expr *expr_new(struct resolver *r, enum expr_op op, const struct node *node)
{
    struct expr *e = arena_new(r->b->arena, struct expr);
    e->op = op;
    e->place = node->place;
    return e;
}

static bool unknown_name(struct resolver *r, const struct node *node, struct err *err)
{
    const struct spec_doc *doc = r->scope->doc;
    struct str known[OP_LOOPS_MAX + OP_DIMS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < r->stmt.loop_count; i++)
        known[count++] = r->written[i];
    for (size_t i = 0; i < doc->dim_count; i++)
        known[count++] = doc->dims[i].name;
    struct remedy remedy = remedy_nearest(
        r->b->arena, node->name, known, count,
        "indices are those of the target and of the reduction; dims are declared under dims");
    if (scope_symbol(r->b, r->scope, node->name))
        remedy = remedy_say("a tensor is read with brackets: %.60s[...]",
                            str_copy(r->b->arena, node->name));
    return text_fail(r->typer.text, node->place, &remedy, err, "unknown index or dim '%.*s'",
                     STR_ARG(node->name));
}

static bool resolve_name(struct resolver *r, const struct node *node, const struct expr **out,
                         struct err *err)
{
    const struct spec_doc *doc = r->scope->doc;
    struct expr *e = expr_new(r, EXPR_INDEX, node);
    e->dtype = DTYPE_I64;
    *out = e;
    for (size_t i = 0; i < r->stmt.loop_count; i++)
        if (str_equal(r->written[i], node->name)) {
            e->loop = i;
            return true;
        }
    e->op = EXPR_DIM;
    for (size_t i = 0; i < doc->dim_count; i++)
        if (str_equal(doc->dims[i].name, node->name)) {
            e->dim = r->scope->dims[i];
            return true;
        }
    return unknown_name(r, node, err);
}

static const struct expr *literal(struct resolver *r, const struct node *node)
{
    struct expr *e = expr_new(r, node->op, node);
    e->weak = !node->boolean;
    e->real = node->real;
    e->integer = node->integer;
    e->dtype = node->boolean ? DTYPE_BOOL : node->op == EXPR_FLOAT ? DTYPE_F32 : DTYPE_I64;
    return e;
}

bool resolve_subscript(struct resolver *r, const struct node *node, const struct expr **out,
                       struct err *err)
{
    const struct expr *e = NULL;
    if (!resolve_expr(r, node, &e, err) || !type_default(&r->typer, e, &e, err))
        return false;
    *out = e;
    if (!dtype_is_float(e->dtype) && e->dtype != DTYPE_BOOL)
        return true;
    struct remedy remedy = remedy_say("cast it: i64(...); / of integers already floors");
    return text_fail(r->typer.text, node->place, &remedy, err, "a subscript is an integer, not %s",
                     dtype_name(e->dtype));
}

static bool check_rank(struct resolver *r, const struct node *node, struct symbol *symbol,
                       struct err *err)
{
    if (!symbol->rank_known) {
        symbol->rank_known = true;
        symbol->rank = node->sub_count;
    }
    if (symbol->rank == node->sub_count)
        return true;
    return text_fail(r->typer.text, node->place, NULL, err,
                     "'%.*s' has %zu dimension%s, but %zu subscript%s", STR_ARG(node->name),
                     symbol->rank, symbol->rank == 1 ? "" : "s", node->sub_count,
                     node->sub_count == 1 ? " is given" : "s are given");
}

static const struct expr *zero(struct resolver *r, const struct node *node)
{
    struct expr *e = expr_new(r, EXPR_INT, node);
    e->dtype = DTYPE_I64;
    e->weak = true;
    return e;
}

/* The value outside; it may be what tells the tensor's dtype. */
static bool resolve_pad(struct resolver *r, const struct node *node, struct symbol *symbol,
                        struct expr *read, struct err *err)
{
    const struct expr *pad = NULL;
    if (node->padded && !node->pad) {
        struct expr *boolean = expr_new(r, EXPR_INT, node);
        boolean->dtype = DTYPE_BOOL;
        bool is_bool = symbol->dtype_known && symbol->dtype == DTYPE_BOOL;
        pad = is_bool ? boolean : zero(r, node);
    } else if (node->padded && !resolve_expr(r, node->pad, &pad, err)) {
        return false;
    }
    if (!symbol->dtype_known && pad && !pad->weak) {
        symbol->dtype = pad->dtype;
        symbol->dtype_known = symbol->dtype_assumed = true;
    }
    if (!symbol->dtype_known) {
        struct remedy remedy = remedy_say("give pad a value with a type, such as f32(0), or make "
                                          "the tensor an output");
        return text_fail(r->typer.text, node->place, &remedy, err,
                         "the type of '%.*s' is not known yet", STR_ARG(node->name));
    }
    read->dtype = symbol->dtype;
    return !pad || type_give(&r->typer, pad, read->dtype, &read->pad, err);
}

static bool resolve_read(struct resolver *r, const struct node *node, const struct expr **out,
                         struct err *err)
{
    struct symbol *symbol = scope_symbol(r->b, r->scope, node->name);
    ASSERT(symbol && symbol->tensor != OP_NONE); /* order.c refused the rest */
    if (!check_rank(r, node, symbol, err))
        return false;
    struct expr *e = expr_new(r, EXPR_READ, node);
    const struct expr **subs = arena_array(r->b->arena, const struct expr *, node->sub_count);
    e->tensor = symbol->tensor;
    for (size_t i = 0; i < node->sub_count; i++)
        if (!resolve_subscript(r, node->subs[i], &subs[i], err))
            return false;
    e->subs = subs;
    e->rank = node->sub_count;
    *out = e;
    return resolve_pad(r, node, symbol, e, err);
}

bool resolve_expr(struct resolver *r, const struct node *node, const struct expr **out,
                  struct err *err)
{
    if (node->op == EXPR_INT || node->op == EXPR_FLOAT) {
        *out = literal(r, node);
        return true;
    }
    if (node->op == EXPR_INDEX)
        return resolve_name(r, node, out, err);
    if (node->op == EXPR_READ)
        return resolve_read(r, node, out, err);
    struct expr *e = expr_new(r, node->op, node);
    e->dtype = node->dtype;
    e->tf32 = node->tf32;
    for (int i = 0; i < 3; i++)
        if (node->args[i] && !resolve_expr(r, node->args[i], &e->args[i], err))
            return false;
    *out = e;
    return type_operation(&r->typer, e, err);
}
