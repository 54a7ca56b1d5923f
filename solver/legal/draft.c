/*
 * An op being rewritten, and the expressions that this takes.
 *
 * A draft is a copy of an op's lists that statements are added to and changed in.  When it is done
 * it is printed and parsed, so that whatever a rule built has passed the same checks as a spec, and
 * types and extents follow from the text.
 *
 * Invariant: every temporary of a draft has rank and shape, for the printer infers extents from
 * them.  Types of new expressions are not kept; literals take their operands'.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/panic.h"

#include "solver/legal/rewrite_int.h"

enum { WHY_BYTES = 1024, NAME_BYTES = 64, NAMES_MAX = 1 << 20, DRAFT_ROOM = 96 };

/* ---- drafts ---- */

void draft_begin(struct draft *d, struct arena *arena, const struct op *op)
{
    *d = (struct draft){.arena = arena, .op = *op};
    d->tensor_room = op->tensor_count + DRAFT_ROOM;
    d->stmt_room = op->stmt_count + DRAFT_ROOM;
    d->tensors = arena_array(arena, struct tensor, d->tensor_room);
    d->stmts = arena_array(arena, struct stmt, d->stmt_room);
    d->seqs = arena_array(arena, struct seq, op->seq_count + 1); /* a rule adds one at most */
    memcpy(d->tensors, op->tensors, op->tensor_count * sizeof(d->tensors[0]));
    memcpy(d->stmts, op->stmts, op->stmt_count * sizeof(d->stmts[0]));
    if (op->seq_count > 0)
        memcpy(d->seqs, op->seqs, op->seq_count * sizeof(d->seqs[0]));
    d->op.tensors = d->tensors;
    d->op.stmts = d->stmts;
    d->op.seqs = d->seqs;
}

bool draft_refuse(struct draft *d, const char *fmt, ...)
{
    struct buf text;
    va_list args;
    buf_init(&text, d->arena, WHY_BYTES);
    va_start(args, fmt);
    buf_vprintf(&text, fmt, args);
    va_end(args);
    d->why = buf_view(&text);
    return false;
}

static bool is_taken(const struct draft *d, struct str name)
{
    for (size_t i = 0; i < d->op.tensor_count; i++)
        if (str_equal(d->tensors[i].name, name))
            return true;
    for (size_t i = 0; i < d->op.stmt_count; i++)
        for (size_t k = 0; k < d->stmts[i].loop_count; k++)
            if (str_equal(d->stmts[i].loops[k].name, name))
                return true;
    return op_dim_find(&d->op, name) != OP_NONE;
}

struct str draft_name(struct draft *d, const char *hint)
{
    char text[NAME_BYTES];
    for (int i = 0; i < NAMES_MAX; i++) {
        snprintf(text, sizeof(text), "%s%d", hint, i);
        if (!is_taken(d, str_from(text)))
            return str_from(str_copy(d->arena, str_from(text)));
    }
    panic("all names %s... are taken", hint);
}

size_t draft_temporary(struct draft *d, const char *hint, enum dtype dtype,
                       const struct loop *loops, size_t free_count)
{
    ASSERT(d->op.tensor_count < d->tensor_room && free_count <= OP_RANK_MAX);
    struct tensor *tensor = &d->tensors[d->op.tensor_count];
    *tensor = (struct tensor){.name = draft_name(d, hint),
                              .temporary = true,
                              .dtype = dtype,
                              .rank = free_count,
                              .may_alias = OP_NONE,
                              .written_by = OP_NONE};
    for (size_t i = 0; i < free_count; i++)
        tensor->shape[i] = loops[i].extent;
    return d->op.tensor_count++;
}

static void find_writers(struct draft *d)
{
    for (size_t i = 0; i < d->op.tensor_count; i++)
        d->tensors[i].written_by = OP_NONE;
    for (size_t s = 0; s < d->op.stmt_count; s++)
        d->tensors[d->stmts[s].target].written_by = s;
}

void draft_append_seq(struct draft *d, struct str index, const struct formula *extent,
                      const struct stmt *stmts, size_t count)
{
    d->seqs[d->op.seq_count] =
        (struct seq){.index = index, .extent = extent, .first = d->op.stmt_count, .count = count};
    for (size_t i = 0; i < count; i++) {
        draft_insert(d, d->op.stmt_count, &stmts[i]);
        d->stmts[d->op.stmt_count - 1].seq = d->op.seq_count;
    }
    d->op.seq_count++;
}

void draft_insert(struct draft *d, size_t at, const struct stmt *stmt)
{
    ASSERT(d->op.stmt_count < d->stmt_room && at <= d->op.stmt_count);
    memmove(&d->stmts[at + 1], &d->stmts[at], (d->op.stmt_count - at) * sizeof(d->stmts[0]));
    d->stmts[at] = *stmt;
    d->op.stmt_count++;
    for (size_t i = 0; i < d->op.seq_count; i++)
        d->seqs[i].first += d->seqs[i].first >= at;
    find_writers(d);
}

void draft_remove(struct draft *d, size_t at)
{
    d->op.stmt_count--;
    memmove(&d->stmts[at], &d->stmts[at + 1], (d->op.stmt_count - at) * sizeof(d->stmts[0]));
    for (size_t i = 0; i < d->op.seq_count; i++)
        d->seqs[i].first -= d->seqs[i].first > at;
    find_writers(d);
}

struct marks {
    bool *read; /* by tensor */
    bool changed;
};

static void mark_read(void *context, const struct expr *expr)
{
    struct marks *marks = context;
    if (expr->op != EXPR_READ || marks->read[expr->tensor])
        return;
    marks->read[expr->tensor] = marks->changed = true;
}

static void mark_stmt(const struct draft *d, const struct stmt *stmt, struct marks *marks)
{
    expr_walk(stmt->value, mark_read, marks);
    for (size_t i = 0; stmt->scatter && i < d->tensors[stmt->target].rank; i++)
        expr_walk(stmt->scatter[i], mark_read, marks);
}

/* By tensor: an output needs it, or a statement that is needed reads it.  Statements of sequential
 * blocks always are.  Again until nothing changes, for a rule may leave writers behind readers. */
static bool *needed_tensors(struct draft *d)
{
    struct marks marks = {arena_array(d->arena, bool, d->op.tensor_count + 1), true};
    for (size_t t = 0; t < d->op.declared_count; t++)
        marks.read[t] = d->tensors[t].role == ROLE_OUTPUT;
    while (marks.changed) {
        marks.changed = false;
        for (size_t s = d->op.stmt_count; s-- > 0;)
            if (d->stmts[s].seq != OP_NONE || marks.read[d->stmts[s].target])
                mark_stmt(d, &d->stmts[s], &marks);
    }
    for (size_t s = 0; s < d->op.stmt_count; s++)
        marks.read[d->stmts[s].target] |= d->stmts[s].seq != OP_NONE;
    return marks.read;
}

/* A spec's inputs must be read, so nothing is dropped where that would leave one over. */
static void drop_dead(struct draft *d)
{
    const bool *needed = needed_tensors(d);
    for (size_t t = 0; t < d->op.declared_count; t++)
        if (!needed[t])
            return;
    for (size_t s = d->op.stmt_count; s-- > 0;)
        if (!needed[d->stmts[s].target])
            draft_remove(d, s);
}

bool draft_finish(struct draft *d, const struct op **out, struct err *err)
{
    struct buf text;
    struct str document;
    find_writers(d);
    drop_dead(d);
    buf_init(&text, d->arena, OP_SPEC_BYTES_MAX);
    op_print_json(&text, &d->op);
    return buf_finish(&text, "the rewritten op", &document, err) &&
           op_parse(d->arena, document, "rewritten", NULL, out, err);
}

bool is_straight(const struct stmt *stmt)
{
    for (size_t i = 0; i < stmt->loop_count; i++)
        if (stmt->loops[i].bound != RANGE_FULL)
            return false;
    return stmt->seq == OP_NONE && stmt->scatter == NULL;
}

/* ---- making expressions ---- */

const struct expr *expr_index(struct arena *arena, size_t loop)
{
    struct expr *e = arena_new(arena, struct expr);
    *e = (struct expr){.op = EXPR_INDEX, .dtype = DTYPE_I64, .loop = loop};
    return e;
}

const struct expr *expr_int(struct arena *arena, int64_t value)
{
    struct expr *e = arena_new(arena, struct expr);
    *e = (struct expr){.op = EXPR_INT, .dtype = DTYPE_I64, .integer = value};
    return e;
}

const struct expr *expr_real(struct arena *arena, double value)
{
    struct expr *e = arena_new(arena, struct expr);
    *e = (struct expr){.op = EXPR_FLOAT, .dtype = DTYPE_F32, .real = value};
    return e;
}

const struct expr *expr_call(struct arena *arena, enum expr_op op, const struct expr *a,
                             const struct expr *b, const struct expr *c)
{
    struct expr *e = arena_new(arena, struct expr);
    *e = (struct expr){.op = op, .dtype = a->dtype, .args = {a, b, c}};
    return e;
}

const struct expr *expr_at(struct arena *arena, size_t tensor, const size_t *loops, size_t rank)
{
    struct expr *e = arena_new(arena, struct expr);
    const struct expr **subs = arena_array(arena, const struct expr *, rank + 1);
    for (size_t i = 0; i < rank; i++)
        subs[i] = expr_index(arena, loops[i]);
    *e = (struct expr){.op = EXPR_READ, .tensor = tensor, .rank = rank, .subs = subs};
    return e;
}

static const struct expr *formula_pair(struct draft *d, enum expr_op op, const struct formula *f)
{
    const struct expr *a = expr_of_formula(d, f->a), *b = expr_of_formula(d, f->b);
    return a == NULL || b == NULL ? NULL : expr_call(d->arena, op, a, b, NULL);
}

/* Extents are not negative, so quotients that truncate and that floor are the same. */
const struct expr *expr_of_formula(struct draft *d, const struct formula *f)
{
    struct expr *dim;
    switch (f->op) {
    case FORMULA_INT:
        return expr_int(d->arena, f->value);
    case FORMULA_NAME:
        dim = arena_new(d->arena, struct expr);
        *dim =
            (struct expr){.op = EXPR_DIM, .dtype = DTYPE_I64, .dim = op_dim_find(&d->op, f->name)};
        return dim->dim == OP_NONE ? NULL : dim;
    case FORMULA_ADD:
        return formula_pair(d, EXPR_ADD, f);
    case FORMULA_SUB:
        return formula_pair(d, EXPR_SUB, f);
    case FORMULA_MUL:
        return formula_pair(d, EXPR_MUL, f);
    case FORMULA_DIV:
        return formula_pair(d, EXPR_DIV, f);
    case FORMULA_MIN:
        return formula_pair(d, EXPR_MIN, f);
    case FORMULA_MAX:
        return formula_pair(d, EXPR_MAX, f);
    case FORMULA_CEILDIV:
    case FORMULA_MOD:
    case FORMULA_NEG:
    case FORMULA_NOT:
    case FORMULA_EQ:
    case FORMULA_NE:
    case FORMULA_LT:
    case FORMULA_LE:
    case FORMULA_GT:
    case FORMULA_GE:
    case FORMULA_AND:
    case FORMULA_OR:
        return NULL;
    }
    panic("formula operation %d", (int)f->op);
}

/* ---- looking at expressions ---- */

static void count_node(void *context, const struct expr *expr)
{
    (void)expr;
    ++*(size_t *)context;
}

size_t expr_nodes(const struct expr *expr)
{
    size_t count = 0;
    expr_walk(expr, count_node, &count);
    return count;
}

struct reads {
    size_t tensor, count;
};

static void count_read(void *context, const struct expr *expr)
{
    struct reads *reads = context;
    reads->count += expr->op == EXPR_READ && expr->tensor == reads->tensor;
}

size_t expr_reads_of(const struct expr *expr, size_t tensor)
{
    struct reads reads = {tensor, 0};
    expr_walk(expr, count_read, &reads);
    return reads.count;
}

struct variation {
    size_t from, to;
    bool found;
};

static void note_index(void *context, const struct expr *expr)
{
    struct variation *variation = context;
    variation->found |=
        expr->op == EXPR_INDEX && expr->loop >= variation->from && expr->loop < variation->to;
}

bool expr_varies_over(const struct expr *expr, size_t from, size_t to)
{
    struct variation variation = {from, to, false};
    expr_walk(expr, note_index, &variation);
    return variation.found;
}

bool expr_varies(const struct expr *expr, size_t from)
{
    return expr_varies_over(expr, from, OP_NONE);
}

static bool pair_loop(size_t a, size_t b, size_t *of)
{
    if (of[a] != OP_NONE)
        return of[a] == b;
    for (size_t i = 0; i < OP_LOOPS_MAX; i++)
        if (of[i] == b)
            return false;
    of[a] = b;
    return true;
}

bool expr_matches(const struct expr *a, const struct expr *b, size_t *of)
{
    if (a->op != b->op || a->dtype != b->dtype || a->tf32 != b->tf32 || a->rank != b->rank ||
        (a->pad == NULL) != (b->pad == NULL))
        return false;
    if (a->op == EXPR_INDEX)
        return pair_loop(a->loop, b->loop, of);
    if (a->op == EXPR_FLOAT && memcmp(&a->real, &b->real, sizeof(a->real)) != 0)
        return false;
    if ((a->op == EXPR_INT && a->integer != b->integer) ||
        (a->op == EXPR_DIM && a->dim != b->dim) || (a->op == EXPR_READ && a->tensor != b->tensor))
        return false;
    for (size_t i = 0; a->op == EXPR_READ && i < a->rank; i++)
        if (!expr_matches(a->subs[i], b->subs[i], of))
            return false;
    for (size_t i = 0; i < COUNT_OF(a->args) && a->args[i] != NULL; i++)
        if (!expr_matches(a->args[i], b->args[i], of))
            return false;
    return a->pad == NULL || expr_matches(a->pad, b->pad, of);
}

bool expr_same(const struct expr *a, const struct expr *b)
{
    size_t of[OP_LOOPS_MAX];
    for (size_t i = 0; i < OP_LOOPS_MAX; i++)
        of[i] = i;
    return expr_matches(a, b, of);
}

/* ---- copies with changes ---- */

struct copying {
    struct arena *arena;
    const struct expr *const *by_loop;
    size_t guarded;
    const struct op *op; /* of an expansion, else NULL */
    size_t nodes;        /* of an expansion, so far */
};

static const struct expr *copy(struct copying *c, const struct expr *expr);

static struct expr *copy_children(struct copying *c, const struct expr *expr)
{
    struct expr *e = arena_new(c->arena, struct expr);
    *e = *expr;
    if (expr->op == EXPR_READ) {
        const struct expr **subs = arena_array(c->arena, const struct expr *, expr->rank + 1);
        for (size_t i = 0; i < expr->rank; i++)
            subs[i] = copy(c, expr->subs[i]);
        e->subs = subs;
    }
    if (expr->pad != NULL)
        e->pad = copy(c, expr->pad);
    for (size_t i = 0; i < COUNT_OF(e->args) && e->args[i] != NULL; i++)
        e->args[i] = copy(c, e->args[i]);
    return e;
}

static bool uses_loop(const struct expr *expr, size_t loop)
{
    bool used = expr->op == EXPR_INDEX && expr->loop == loop;
    for (size_t i = 0; expr->op == EXPR_READ && i < expr->rank; i++)
        used |= uses_loop(expr->subs[i], loop);
    for (size_t i = 0; i < COUNT_OF(expr->args) && expr->args[i] != NULL; i++)
        used |= uses_loop(expr->args[i], loop);
    return used;
}

static bool leaves(const struct copying *c, const struct expr *read)
{
    for (size_t i = 0; c->guarded != OP_NONE && i < read->rank; i++)
        if (uses_loop(read->subs[i], c->guarded))
            return true;
    return false;
}

/* A map whose type does not depend on where it stands. */
static const struct stmt *map_read(const struct op *op, const struct expr *read)
{
    const struct tensor *tensor = &op->tensors[read->tensor];
    if (!tensor->temporary || tensor->written_by == OP_NONE || read->pad != NULL)
        return NULL;
    const struct stmt *stmt = &op->stmts[tensor->written_by];
    bool map = stmt->reduce == REDUCE_NONE && is_straight(stmt);
    return map && !stmt->value->weak && expr_reads_data(stmt->value) ? stmt : NULL;
}

static const struct expr *expand_read(struct copying *c, const struct expr *read,
                                      const struct stmt *map)
{
    const struct expr *by_loop[OP_LOOPS_MAX] = {NULL};
    for (size_t i = 0; i < read->rank; i++)
        by_loop[i] = copy(c, read->subs[i]);
    const struct expr *const *kept = c->by_loop;
    c->by_loop = by_loop;
    const struct expr *value = copy(c, map->value);
    c->by_loop = kept;
    return value;
}

static const struct expr *copy(struct copying *c, const struct expr *expr)
{
    if (c->op != NULL && ++c->nodes > REWRITE_NODES_MAX)
        return expr;
    if (expr->op == EXPR_INDEX && c->by_loop != NULL) {
        ASSERT(c->by_loop[expr->loop] != NULL);
        return c->by_loop[expr->loop];
    }
    if (expr->op != EXPR_READ)
        return copy_children(c, expr);
    const struct stmt *map = c->op == NULL ? NULL : map_read(c->op, expr);
    if (map != NULL)
        return expand_read(c, expr, map);
    struct expr *read = copy_children(c, expr);
    if (read->pad == NULL && leaves(c, expr))
        read->pad = expr_int(c->arena, 0);
    return read;
}

const struct expr *expr_replaced(struct arena *arena, const struct expr *expr,
                                 const struct expr *const *by_loop, size_t guarded)
{
    struct copying c = {.arena = arena, .by_loop = by_loop, .guarded = guarded};
    return copy(&c, expr);
}

const struct expr *expr_expanded(struct arena *arena, const struct op *op, const struct expr *expr)
{
    struct copying c = {.arena = arena, .guarded = OP_NONE, .op = op};
    const struct expr *out = copy(&c, expr);
    return c.nodes > REWRITE_NODES_MAX || expr_nodes(out) > REWRITE_NODES_MAX / 4 ? NULL : out;
}

const struct expr *expr_mapped(struct arena *arena, const struct expr *expr, expr_mapper *map,
                               void *context)
{
    struct expr *e = arena_new(arena, struct expr);
    *e = *expr;
    if (expr->op == EXPR_READ) {
        const struct expr **subs = arena_array(arena, const struct expr *, expr->rank + 1);
        for (size_t i = 0; i < expr->rank; i++)
            subs[i] = expr_mapped(arena, expr->subs[i], map, context);
        e->subs = subs;
    }
    if (expr->pad != NULL)
        e->pad = expr_mapped(arena, expr->pad, map, context);
    for (size_t i = 0; i < COUNT_OF(e->args) && e->args[i] != NULL; i++)
        e->args[i] = expr_mapped(arena, e->args[i], map, context);
    return map(context, expr, e);
}

void stmt_map(struct draft *d, struct stmt *stmt, expr_mapper *map, void *context)
{
    size_t rank = d->tensors[stmt->target].rank;
    stmt->value = expr_mapped(d->arena, stmt->value, map, context);
    if (stmt->scatter == NULL)
        return;
    const struct expr **scatter = arena_array(d->arena, const struct expr *, rank + 1);
    for (size_t i = 0; i < rank; i++)
        scatter[i] = expr_mapped(d->arena, stmt->scatter[i], map, context);
    stmt->scatter = scatter;
}
