/*
 * An op as text: expressions with the fewest parentheses, statements, bodies, and the canonical
 * JSON document.
 *
 * Invariant: op_parse of the printed document gives an op that prints the same (and hence has the
 * same hash).  Extents are written where a reader would not infer them; conditionals are written
 * where(c, a, b); floats always look like floats.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/panic.h"

#include "solver/ir/op_int.h"

enum { BODY_BYTES_MAX = 16 << 20, STRENGTH_UNARY = 11, STRENGTH_ATOM = 12 };

struct printer {
    struct buf *out;
    const struct op *op;
    const struct stmt *stmt;
};

static int strength(enum expr_op op)
{
    static const enum expr_op rows[][4] = {
        {EXPR_OR},
        {EXPR_AND},
        {EXPR_BITOR},
        {EXPR_BITXOR},
        {EXPR_BITAND},
        {EXPR_EQ, EXPR_NE},
        {EXPR_LT, EXPR_LE, EXPR_GT, EXPR_GE},
        {EXPR_SHL, EXPR_SHR},
        {EXPR_ADD, EXPR_SUB},
        {EXPR_MUL, EXPR_DIV, EXPR_MOD},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (size_t j = 0; j < COUNT_OF(rows[i]) && rows[i][j]; j++)
            if (rows[i][j] == op)
                return (int)i + 1;
    return op == EXPR_NEG || op == EXPR_NOT || op == EXPR_BITNOT ? STRENGTH_UNARY : STRENGTH_ATOM;
}

/* The shortest digits that read back as the same double. */
static void print_float(struct buf *out, double value)
{
    char text[40];
    if (isnan(value) || isinf(value)) {
        buf_text(out, isnan(value) ? "nan" : signbit(value) ? "(-inf)" : "inf");
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, fabs(value));
        if (strtod(text, NULL) == fabs(value))
            break;
    }
    bool looks_float = strpbrk(text, ".e") != NULL;
    buf_printf(out, "%s%s%s%s", signbit(value) ? "(-" : "", text, looks_float ? "" : ".0",
               signbit(value) ? ")" : "");
}

static void print_int(struct buf *out, const struct expr *e)
{
    if (e->dtype == DTYPE_BOOL)
        buf_text(out, e->integer ? "true" : "false");
    else if (e->integer < 0)
        buf_printf(out, "(%lld)", (long long)e->integer);
    else
        buf_printf(out, "%lld", (long long)e->integer);
}

static void print_expr(struct printer *p, const struct expr *e, int strength_min);

static bool is_zero_pad(const struct expr *pad)
{
    return (pad->op == EXPR_INT && pad->integer == 0) ||
           (pad->op == EXPR_FLOAT && pad->real == 0 && !signbit(pad->real));
}

static void print_read(struct printer *p, const struct expr *e)
{
    if (e->pad)
        buf_text(p->out, "pad(");
    buf_str(p->out, p->op->tensors[e->tensor].name);
    buf_char(p->out, '[');
    for (size_t i = 0; i < e->rank; i++) {
        buf_text(p->out, i ? "," : "");
        print_expr(p, e->subs[i], 0);
    }
    buf_char(p->out, ']');
    if (e->pad && !is_zero_pad(e->pad)) {
        buf_text(p->out, ", ");
        print_expr(p, e->pad, 0);
    }
    if (e->pad)
        buf_char(p->out, ')');
}

static void print_call(struct printer *p, const struct expr *e)
{
    const char *name = e->op != EXPR_CAST ? expr_op_name(e->op)
                       : e->tf32          ? "tf32"
                                          : dtype_name(e->dtype);
    buf_printf(p->out, "%s(", name);
    for (int i = 0; i < 3 && e->args[i]; i++) {
        buf_text(p->out, i ? ", " : "");
        print_expr(p, e->args[i], 0);
    }
    buf_char(p->out, ')');
}

/* Infix and prefix operators; the right operand of an infix one binds tighter. */
static void print_operator(struct printer *p, const struct expr *e, int own)
{
    if (own == STRENGTH_UNARY) {
        buf_text(p->out, expr_op_name(e->op));
        print_expr(p, e->args[0], own);
        return;
    }
    print_expr(p, e->args[0], own);
    buf_printf(p->out, " %s ", expr_op_name(e->op));
    print_expr(p, e->args[1], own + 1);
}

static void print_expr(struct printer *p, const struct expr *e, int strength_min)
{
    int own = strength(e->op);
    if (own < strength_min)
        buf_char(p->out, '(');
    if (e->op == EXPR_FLOAT)
        print_float(p->out, e->real);
    else if (e->op == EXPR_INT)
        print_int(p->out, e);
    else if (e->op == EXPR_INDEX)
        buf_str(p->out, p->stmt->loops[e->loop].name);
    else if (e->op == EXPR_DIM)
        buf_str(p->out, p->op->dims[e->dim].name);
    else if (e->op == EXPR_READ)
        print_read(p, e);
    else if (own == STRENGTH_ATOM)
        print_call(p, e);
    else
        print_operator(p, e, own);
    if (own < strength_min)
        buf_char(p->out, ')');
}

/* ---- statements ---- */

struct mismatch {
    const struct formula *extent;
    bool found;
};

static void note_mismatch(void *context, const struct expr *read, const struct formula *extent)
{
    struct mismatch *m = context;
    (void)read;
    if (!formula_equal(m->extent, extent))
        m->found = true;
}

/* Must the extent of this loop be written? */
static bool needs_extent(const struct printer *p, size_t at)
{
    const struct stmt *stmt = p->stmt;
    const struct loop *loop = &stmt->loops[at];
    size_t index = (size_t)(stmt - p->op->stmts);
    struct extent_source source = {p->op->tensors, p->op->declared_count, index};
    struct mismatch mismatch = {loop->extent, false};
    bool is_free = at < stmt->free_count;
    if (is_free && at == 0 && stmt->seq != OP_NONE)
        return false;
    extent_walk(&source, stmt, at, note_mismatch, &mismatch);
    if (mismatch.found)
        return true;
    if (is_free && stmt->target < p->op->declared_count)
        return !formula_equal(p->op->tensors[stmt->target].shape[at], loop->extent);
    const struct formula *inferred = extent_infer(&source, stmt, at);
    return !inferred || !formula_equal(inferred, loop->extent);
}

static void print_loop(struct printer *p, size_t at)
{
    static const char *const comparisons[] = {[RANGE_FULL] = "",
                                              [RANGE_LT] = "<",
                                              [RANGE_LE] = "<=",
                                              [RANGE_GT] = ">",
                                              [RANGE_GE] = ">="};
    const struct loop *loop = &p->stmt->loops[at];
    buf_str(p->out, loop->name);
    if (needs_extent(p, at)) {
        buf_char(p->out, ':');
        formula_print(p->out, loop->extent);
    }
    if (loop->bound != RANGE_FULL)
        buf_printf(p->out, " %s %.*s", comparisons[loop->bound],
                   STR_ARG(p->stmt->loops[loop->bound_loop].name));
}

static void print_loops(struct printer *p, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        buf_text(p->out, i > from ? "," : "");
        print_loop(p, i);
    }
}

void op_print_expr(struct buf *out, const struct op *op, const struct stmt *stmt,
                   const struct expr *expr)
{
    struct printer p = {out, op, stmt};
    print_expr(&p, expr, 0);
}

void op_print_stmt(struct buf *out, const struct op *op, const struct stmt *stmt)
{
    struct printer p = {out, op, stmt};
    const struct tensor *target = &op->tensors[stmt->target];
    buf_str(out, target->name);
    buf_char(out, '[');
    for (size_t i = 0; stmt->scatter && i < target->rank; i++) {
        buf_text(out, i ? "," : "");
        print_expr(&p, stmt->scatter[i], 0);
    }
    print_loops(&p, 0, stmt->free_count);
    buf_text(out, stmt->scatter ? "] += (" : "] = ");
    if (!stmt->scatter && stmt->reduce != REDUCE_NONE)
        buf_printf(out, "%s(", reduce_op_name(stmt->reduce));
    print_loops(&p, stmt->free_count, stmt->loop_count);
    if (stmt->reduce != REDUCE_NONE)
        buf_text(out, ") ");
    print_expr(&p, stmt->value, 0);
}

typedef void line_visitor(void *context, struct str line);

/* Calls visit for each line of the body, seq brackets included. */
static void each_line(struct arena *scratch, const struct op *op, line_visitor *visit,
                      void *context)
{
    for (size_t i = 0; i < op->stmt_count; i++) {
        const struct stmt *stmt = &op->stmts[i];
        const struct seq *seq = stmt->seq == OP_NONE ? NULL : &op->seqs[stmt->seq];
        struct buf line;
        if (seq && i == seq->first) {
            buf_init(&line, scratch, BODY_BYTES_MAX);
            buf_printf(&line, "seq %.*s: ", STR_ARG(seq->index));
            formula_print(&line, seq->extent);
            buf_text(&line, " {");
            visit(context, buf_view(&line));
        }
        buf_init(&line, scratch, BODY_BYTES_MAX);
        buf_text(&line, seq ? "  " : "");
        op_print_stmt(&line, op, stmt);
        visit(context, buf_view(&line));
        if (seq && i + 1 == seq->first + seq->count)
            visit(context, STR_LIT("}"));
    }
}

static void body_line(void *context, struct str line)
{
    buf_str(context, line);
    buf_char(context, '\n');
}

void op_print_body(struct buf *out, const struct op *op)
{
    each_line(out->arena, op, body_line, out);
}

/* ---- the document ---- */

static void json_line(void *context, struct str line)
{
    json_put_str(context, line);
}

static void put_formula(struct json_writer *w, struct arena *scratch, const struct formula *f)
{
    if (f->op == FORMULA_INT)
        json_put_int(w, f->value);
    else
        json_put_text(w, formula_text(scratch, f));
}

static void put_dims(struct json_writer *w, struct arena *scratch, const struct op *op)
{
    json_open_array(w);
    for (size_t i = 0; i < op->dim_count; i++) {
        const struct dim *dim = &op->dims[i];
        json_open_object(w);
        json_key(w, str_copy(scratch, dim->name));
        switch (dim->kind) {
        case DIM_VAR:
            json_open_array(w);
            json_put_int(w, dim->min);
            json_put_int(w, dim->max);
            json_close_array(w);
            break;
        case DIM_CONST:
            json_put_int(w, dim->value);
            break;
        case DIM_FORMULA:
            json_put_text(w, formula_text(scratch, dim->formula));
            break;
        }
        json_close_object(w);
    }
    json_close_array(w);
}

static void put_number(struct json_writer *w, const char *key, double value)
{
    json_key(w, key);
    json_put_real(w, value);
}

static void put_fill(struct json_writer *w, struct arena *scratch, const struct fill *fill)
{
    json_open_object(w);
    json_key(w, "kind");
    json_put_text(w, fill_name(fill->kind));
    switch (fill->kind) {
    case FILL_NORMAL:
        put_number(w, "mean", fill->a);
        put_number(w, "std", fill->b);
        break;
    case FILL_UNIFORM:
        put_number(w, "low", fill->a);
        put_number(w, "high", fill->b);
        break;
    case FILL_MASK:
        put_number(w, "p", fill->a);
        break;
    case FILL_INTS:
        json_key(w, "low");
        put_formula(w, scratch, fill->low);
        json_key(w, "high");
        put_formula(w, scratch, fill->high);
        break;
    case FILL_ZEROS:
    case FILL_ONES:
        break;
    }
    json_close_object(w);
}

static void put_tensor(struct json_writer *w, struct arena *scratch, const struct op *op,
                       const struct tensor *tensor)
{
    json_open_object(w);
    json_key(w, "name");
    json_put_str(w, tensor->name);
    json_key(w, "role");
    json_put_text(w, role_name(tensor->role));
    json_key(w, "dtype");
    json_put_text(w, dtype_name(tensor->dtype));
    json_key(w, "align");
    json_put_int(w, tensor->align);
    json_key(w, "shape");
    json_open_array(w);
    for (size_t d = 0; d < tensor->rank; d++)
        put_formula(w, scratch, tensor->shape[d]);
    json_close_array(w);
    if (tensor->role != ROLE_OUTPUT) {
        json_key(w, "fill");
        put_fill(w, scratch, &tensor->fill);
    }
    if (tensor->may_alias != OP_NONE) {
        json_key(w, "may_alias");
        json_put_str(w, op->tensors[tensor->may_alias].name);
    }
    json_close_object(w);
}

static void put_policy(struct json_writer *w, const struct policy *policy)
{
    json_open_object(w);
    json_key(w, "finite_inputs");
    json_put_bool(w, policy->finite_inputs);
    json_key(w, "zero_dims");
    json_put_bool(w, policy->zero_dims);
    json_key(w, "deterministic");
    json_put_bool(w, policy->deterministic);
    json_key(w, "summation");
    json_put_text(w, policy->summation == SUMMATION_COMPENSATED ? "compensated" : "plain");
    json_close_object(w);
}

static void put_shapes(struct json_writer *w, struct arena *scratch, const struct op *op,
                       const struct shape *shapes, size_t count)
{
    json_open_array(w);
    for (size_t s = 0; s < count; s++) {
        json_open_object(w);
        for (size_t d = 0; d < op->dim_count; d++)
            if (op->dims[d].kind == DIM_VAR) {
                json_key(w, str_copy(scratch, op->dims[d].name));
                json_put_int(w, shapes[s].values[d]);
            }
        json_close_object(w);
    }
    json_close_array(w);
}

static void put_head(struct json_writer *w, struct arena *scratch, const struct op *op)
{
    json_key(w, "spec");
    json_put_int(w, 1);
    json_key(w, "name");
    json_put_str(w, op->name);
    json_key(w, "doc");
    json_put_str(w, op->doc);
    json_key(w, "dims");
    put_dims(w, scratch, op);
    json_key(w, "tensors");
    json_open_array(w);
    for (size_t i = 0; i < op->declared_count; i++)
        put_tensor(w, scratch, op, &op->tensors[i]);
    json_close_array(w);
}

void op_print_json(struct buf *out, const struct op *op)
{
    struct json_writer w;
    struct arena *scratch = out->arena;
    json_writer_init(&w, out);
    json_open_object(&w);
    put_head(&w, scratch, op);
    json_key(&w, "body");
    json_open_array(&w);
    each_line(scratch, op, json_line, &w);
    json_close_array(&w);
    json_key(&w, "policy");
    put_policy(&w, &op->policy);
    json_key(&w, "tracks");
    json_open_array(&w);
    for (size_t i = 0; i < op->track_count; i++)
        json_put_str(&w, op->tracks[i].name);
    json_close_array(&w);
    json_key(&w, "shapes");
    json_open_object(&w);
    json_key(&w, "target");
    put_shapes(&w, scratch, op, op->targets, op->target_count);
    json_key(&w, "verify");
    put_shapes(&w, scratch, op, op->verify, op->verify_count);
    json_close_object(&w);
    json_close_object(&w);
}
