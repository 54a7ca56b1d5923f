/*
 * Terms of expressions and statements.
 *
 * A read of what a map wrote becomes the map's value at the read's subscripts, once for each list
 * of subscripts.  What a seq block carries from step to step stays a read, as do reductions, scans
 * and reads that have a pad.
 */
#include <math.h>

#include "base/panic.h"

#include "solver/legal/term.h"

struct host {
    struct terms *ts;
    const struct term *const *by_loop; /* of the statement whose expression it is */
};

static const struct term *of(const struct host *h, const struct expr *expr);

uint64_t loops_free(const struct stmt *stmt)
{
    return (UINT64_C(1) << stmt->free_count) - 1;
}

uint64_t loops_reduced(const struct stmt *stmt)
{
    return ((UINT64_C(1) << stmt->loop_count) - 1) & ~loops_free(stmt);
}

/* ---- conditions ---- */

static const struct term *against_zero(struct terms *ts, enum expr_op op, bool whole,
                                       const struct term *value)
{
    const struct term like = {.kind = TERM_CALL, .op = op, .number = whole};
    if (op == EXPR_EQ && value->kind == TERM_SUM && value->count > 0 &&
        value->parts[value->count - 1].weight < 0)
        value = term_scaled(ts, -1, value);
    const struct term_part part = {1, value};
    return term_make(ts, &like, &part, 1);
}

static const struct term *less(struct terms *ts, const struct term *a, const struct term *b,
                               bool strictly, bool whole)
{
    const struct term *by = term_minus(ts, b, a);
    if (strictly && !whole)
        return against_zero(ts, EXPR_GT, false, by);
    return against_zero(ts, EXPR_GE, whole, strictly ? term_minus(ts, by, term_number(ts, 1)) : by);
}

static const struct term *not_all(struct terms *ts, const struct term *c, enum expr_op op)
{
    const struct term **args = arena_array(ts->arena, const struct term *, c->count + 1);
    for (size_t i = 0; i < c->count; i++)
        args[i] = term_not(ts, c->parts[i].term);
    return term_call(ts, op, args, c->count);
}

const struct term *term_not(struct terms *ts, const struct term *c)
{
    double number;
    bool call = c->kind == TERM_CALL;
    if (term_is_number(c, &number))
        return term_number(ts, number < 1 && number > -1);
    if (call && c->op == EXPR_NOT)
        return c->parts[0].term;
    if (call && c->op == EXPR_AND)
        return not_all(ts, c, EXPR_OR);
    if (call && c->op == EXPR_OR)
        return not_all(ts, c, EXPR_AND);
    if (call && (c->op == EXPR_GE || c->op == EXPR_GT))
        return less(ts, c->parts[0].term, term_number(ts, 0), c->op == EXPR_GE, c->number == 1);
    return term_call(ts, EXPR_NOT, &c, 1);
}

static const struct term *compared(const struct host *h, const struct expr *e)
{
    const struct term *a = of(h, e->args[0]), *b = of(h, e->args[1]);
    bool whole = !dtype_is_float(expr_operand_dtype(e));
    switch ((int)e->op) {
    case EXPR_LT:
    case EXPR_LE:
        return less(h->ts, a, b, e->op == EXPR_LT, whole);
    case EXPR_GT:
    case EXPR_GE:
        return less(h->ts, b, a, e->op == EXPR_GT, whole);
    case EXPR_EQ:
        return against_zero(h->ts, EXPR_EQ, whole, term_minus(h->ts, a, b));
    default:
        return term_not(h->ts, against_zero(h->ts, EXPR_EQ, whole, term_minus(h->ts, a, b)));
    }
}

/* ---- where ---- */

static bool is_infinite(const struct term *t, double sign)
{
    return t->kind == TERM_INF
               ? sign > 0
               : t->kind == TERM_SUM && t->count == 1 && t->parts[0].term->kind == TERM_INF &&
                     t->parts[0].weight * sign > 0;
}

/* Is the condition that `value` is infinite? */
static bool asks_infinite(const struct term *c, const struct term *value)
{
    const struct term *arg = c->kind == TERM_CALL && c->count > 0 ? c->parts[0].term : NULL;
    if (arg == NULL)
        return false;
    if (c->op == EXPR_ISINF)
        return arg == value;
    bool infinite = false, has = false;
    for (size_t i = 0; c->op == EXPR_EQ && arg->kind == TERM_SUM && i < arg->count; i++) {
        infinite |= arg->parts[i].term->kind == TERM_INF;
        has |= arg->parts[i].term == value;
    }
    return infinite && has;
}

static const struct term *where_of(struct terms *ts, const struct term *c, const struct term *a,
                                   const struct term *b)
{
    const struct term *args[] = {c, a, b};
    const struct term *difference = term_minus(ts, a, b);
    const struct term *other = term_not(ts, c);
    double first, second;
    bool numbers = term_is_number(a, &first), second_number = term_is_number(b, &second);
    if (a == b || asks_infinite(c, b))
        return b;
    if (asks_infinite(other, a))
        return a;
    if (second_number && fabs(second) < 1e-300)
        return term_times(ts, term_holds(ts, c), a);
    if (numbers && fabs(first) < 1e-300)
        return term_times(ts, term_holds(ts, other), b);
    for (int sign = -1; sign <= 1; sign += 2) {
        if (is_infinite(b, sign))
            return term_minus(ts, a, term_scaled(ts, sign, term_mask(ts, c)));
        if (is_infinite(a, sign))
            return term_minus(ts, b, term_scaled(ts, sign, term_mask(ts, other)));
    }
    bool ordered = c->kind == TERM_CALL && (c->op == EXPR_GT || c->op == EXPR_GE) &&
                   (c->number == 0 || c->op == EXPR_GE);
    if (ordered && c->parts[0].term == difference)
        return term_call(ts, EXPR_MAX, args + 1, 2);
    if (ordered && c->parts[0].term == term_scaled(ts, -1, difference))
        return term_call(ts, EXPR_MIN, args + 1, 2);
    return term_call(ts, EXPR_WHERE, args, 3);
}

/* ---- reads ---- */

static bool is_seen_through(const struct terms *ts, size_t stmt)
{
    return stmt != OP_NONE && ts->op->stmts[stmt].reduce == REDUCE_NONE &&
           ts->op->stmts[stmt].scatter == NULL && !ts->carried[stmt];
}

static const struct term *at_subscripts(struct terms *ts, const struct term *read, size_t writer,
                                        size_t shift)
{
    const struct term *by_loop[TERM_LOOPS_ALL] = {NULL};
    const struct stmt *stmt = &ts->op->stmts[writer];
    for (size_t i = 0; i < stmt->loop_count; i++)
        by_loop[i] = i < stmt->free_count ? read->parts[i].term : term_loop(ts, shift + i);
    return term_replace(ts, term_of_stmt(ts, writer), by_loop);
}

const struct term *term_of_read(struct terms *ts, const struct term *read, size_t shift)
{
    return at_subscripts(ts, read, ts->op->tensors[read->number].written_by, shift);
}

/* Makes the read of its parts, seen through. */
static const struct term *read_of(struct terms *ts, size_t tensor, const struct term_part *parts,
                                  size_t count)
{
    const struct term like = {.kind = TERM_READ, .number = tensor};
    struct term *read = (struct term *)term_make(ts, &like, parts, count);
    size_t writer = ts->op->tensors[tensor].written_by;
    if (read->kind != TERM_READ || count > ts->op->tensors[tensor].rank ||
        !is_seen_through(ts, writer))
        return read;
    if (read->expanded == NULL) {
        const struct host h = {ts, arena_array(ts->arena, const struct term *, OP_LOOPS_MAX)};
        const struct term **by_loop = (const struct term **)h.by_loop;
        for (size_t i = 0; i < count; i++)
            by_loop[i] = parts[i].term;
        read->expanded = of(&h, ts->op->stmts[writer].value);
        if (read->expanded->size > TERM_SIZE_MAX)
            read->expanded = read;
    }
    return read->expanded;
}

static const struct term *read_expr(const struct host *h, const struct expr *e)
{
    struct term_part parts[OP_RANK_MAX + 1];
    size_t count = 0;
    for (size_t i = 0; i < e->rank; i++)
        parts[count++] = (struct term_part){1, term_expand(h->ts, of(h, e->subs[i]))};
    if (e->pad != NULL)
        parts[count++] = (struct term_part){1, of(h, e->pad)};
    return read_of(h->ts, e->tensor, parts, count);
}

/* ---- operations ---- */

static const struct term *powered(struct terms *ts, const struct term *base,
                                  const struct term *exponent)
{
    double number;
    if (term_is_number(exponent, &number)) {
        const struct term_part part = {number, base};
        return term_product(ts, &part, 1);
    }
    const struct term *arg = term_times(ts, exponent, term_call(ts, EXPR_LOG, &base, 1));
    return term_call(ts, EXPR_EXP, &arg, 1);
}

static const struct term *cast(const struct host *h, const struct expr *e)
{
    const struct term *a = of(h, e->args[0]);
    enum dtype from = e->args[0]->dtype;
    if (from == e->dtype || (from != DTYPE_BOOL && dtype_is_float(e->dtype)))
        return a;
    if (from == DTYPE_BOOL)
        return term_holds(h->ts, a);
    if (e->dtype == DTYPE_BOOL)
        return term_not(h->ts, against_zero(h->ts, EXPR_EQ, !dtype_is_float(from), a));
    return dtype_is_float(from) ? term_call(h->ts, EXPR_TRUNC, &a, 1) : a;
}

static const struct term *arithmetic(const struct host *h, const struct expr *e)
{
    struct terms *ts = h->ts;
    const struct term *a = of(h, e->args[0]);
    const struct term *b = e->args[1] == NULL ? a : of(h, e->args[1]);
    const struct term *args[] = {a, b};
    bool real = dtype_is_float(e->dtype);
    const struct term_part sum[] = {{1, a}, {1, b}}, quotient[] = {{1, a}, {-1, b}};
    switch ((int)e->op) {
    case EXPR_NEG:
        return term_scaled(ts, -1, a);
    case EXPR_ADD:
        return term_sum(ts, sum, 2);
    case EXPR_SUB:
        return term_minus(ts, a, b);
    case EXPR_MUL:
        return real ? term_times(ts, a, b) : term_expand(ts, term_times(ts, a, b));
    case EXPR_DIV:
        return real ? term_product(ts, quotient, 2) : term_call(ts, EXPR_DIV, args, 2);
    case EXPR_POW:
        return powered(ts, a, b);
    default:
        return NULL;
    }
}

static const struct term *function(const struct host *h, const struct expr *e)
{
    struct terms *ts = h->ts;
    const struct term *one = term_number(ts, 1), *a = of(h, e->args[0]);
    const struct term_part root = {0.5, a}, reciprocal_root = {-0.5, a};
    const struct term_part next[] = {{1, a}, {1, one}};
    switch ((int)e->op) {
    case EXPR_SQRT:
        return term_product(ts, &root, 1);
    case EXPR_RSQRT:
        return term_product(ts, &reciprocal_root, 1);
    case EXPR_EXP2:
        a = term_scaled(ts, log(2), a);
        return term_call(ts, EXPR_EXP, &a, 1);
    case EXPR_EXPM1:
        return term_minus(ts, term_call(ts, EXPR_EXP, &a, 1), one);
    case EXPR_LOG2:
        return term_scaled(ts, 1 / log(2), term_call(ts, EXPR_LOG, &a, 1));
    case EXPR_LOG1P:
        a = term_sum(ts, next, 2);
        return term_call(ts, EXPR_LOG, &a, 1);
    case EXPR_FMA:
        a = term_minus(ts, term_times(ts, a, of(h, e->args[1])),
                       term_scaled(ts, -1, of(h, e->args[2])));
        return a;
    case EXPR_NOT:
        return term_not(ts, a);
    case EXPR_WHERE:
        return where_of(ts, a, of(h, e->args[1]), of(h, e->args[2]));
    default:
        return NULL;
    }
}

static const struct term *leaf_of(const struct host *h, const struct expr *e)
{
    const struct term like = {.kind = TERM_DIM, .number = e->dim};
    switch ((int)e->op) {
    case EXPR_FLOAT:
        return term_number(h->ts, e->real);
    case EXPR_INT:
        return term_number(h->ts, (double)e->integer);
    case EXPR_INDEX:
        return h->by_loop[e->loop];
    case EXPR_DIM:
        return term_make(h->ts, &like, NULL, 0);
    case EXPR_READ:
        return read_expr(h, e);
    case EXPR_CAST:
        return cast(h, e);
    default:
        return NULL;
    }
}

static const struct term *of(const struct host *h, const struct expr *e)
{
    const struct term *out = leaf_of(h, e);
    const struct term *args[3];
    size_t count = 0;
    if (out == NULL && e->op >= EXPR_LT && e->op <= EXPR_NE)
        return compared(h, e);
    if (out == NULL)
        out = arithmetic(h, e);
    if (out == NULL)
        out = function(h, e);
    if (out != NULL)
        return out;
    while (count < 3 && e->args[count] != NULL) {
        args[count] = of(h, e->args[count]);
        count++;
    }
    return term_call(h->ts, e->op, args, count);
}

/* ---- statements ---- */

/* Terms outside a bounded range are as if they were not there. */
static const struct term *bounded(struct terms *ts, const struct stmt *stmt, size_t loop,
                                  const struct term *value)
{
    const struct loop *range = &stmt->loops[loop];
    const struct term *j = term_loop(ts, loop), *i = term_loop(ts, range->bound_loop);
    bool forward = range->bound == RANGE_LT || range->bound == RANGE_LE;
    bool strictly = range->bound == RANGE_LT || range->bound == RANGE_GT;
    const struct term *c = less(ts, forward ? j : i, forward ? i : j, strictly, true);
    const struct term *none = stmt->reduce == REDUCE_SUM    ? term_number(ts, 0)
                              : stmt->reduce == REDUCE_PROD ? term_number(ts, 1)
                              : stmt->reduce == REDUCE_MAX || stmt->reduce == REDUCE_ARGMAX
                                  ? term_number(ts, -INFINITY)
                              : stmt->reduce == REDUCE_MIN || stmt->reduce == REDUCE_ARGMIN
                                  ? term_number(ts, INFINITY)
                                  : term_number(ts, stmt->reduce == REDUCE_ALL);
    return where_of(ts, c, value, none);
}

const struct term *term_of_stmt(struct terms *ts, size_t s)
{
    const struct stmt *stmt = &ts->op->stmts[s];
    const struct term *by_loop[OP_LOOPS_MAX] = {NULL};
    const struct host h = {ts, by_loop};
    if (ts->whole[s] != NULL)
        return ts->whole[s];
    for (size_t i = 0; i < stmt->loop_count; i++)
        by_loop[i] = term_loop(ts, i);
    const struct term *value = of(&h, stmt->value);
    for (size_t i = 0; i < stmt->loop_count; i++)
        if (stmt->loops[i].bound != RANGE_FULL)
            value = bounded(ts, stmt, i, value);
    ts->whole[s] = value;
    return value;
}

/* ---- replacing ---- */

struct replacing {
    struct terms *ts;
    const struct term *const *by_loop;
    size_t stamp;
};

static const struct term *replaced(const struct replacing *r, const struct term *term);

static const struct term *replaced_call(const struct replacing *r, const struct term *term,
                                        const struct term_part *parts)
{
    const struct term **args = arena_array(r->ts->arena, const struct term *, term->count + 1);
    for (size_t i = 0; i < term->count; i++)
        args[i] = parts[i].term;
    bool compares = term->op == EXPR_GE || term->op == EXPR_GT || term->op == EXPR_EQ;
    if (term->op == EXPR_OP_COUNT)
        return term;
    return compares                 ? against_zero(r->ts, term->op, term->number == 1, args[0])
           : term->op == EXPR_WHERE ? where_of(r->ts, args[0], args[1], args[2])
                                    : term_call(r->ts, term->op, args, term->count);
}

static const struct term *rebuilt(const struct replacing *r, const struct term *term)
{
    struct term_part *parts = arena_array(r->ts->arena, struct term_part, term->count + 1);
    for (size_t i = 0; i < term->count; i++)
        parts[i] = (struct term_part){term->parts[i].weight, replaced(r, term->parts[i].term)};
    switch (term->kind) {
    case TERM_ONE:
    case TERM_INF:
    case TERM_DIM:
    case TERM_INDEX:
        return term;
    case TERM_READ:
        return read_of(r->ts, term->number, parts, term->count);
    case TERM_SUM:
        return term_sum(r->ts, parts, term->count);
    case TERM_PRODUCT:
        return term_product(r->ts, parts, term->count);
    case TERM_HOLDS:
        return term_holds(r->ts, parts[0].term);
    case TERM_MASK:
        return term_mask(r->ts, parts[0].term);
    case TERM_CALL:
        return replaced_call(r, term, parts);
    }
    panic("term kind %d", (int)term->kind);
}

static const struct term *replaced(const struct replacing *r, const struct term *term)
{
    if (term->loops == 0)
        return term;
    if (term->kind == TERM_INDEX)
        return r->by_loop[term->number] == NULL ? term : r->by_loop[term->number];
    if (term->stamp == r->stamp)
        return term->replaced;
    struct term *own = (struct term *)term;
    const struct term *out = rebuilt(r, term);
    own->stamp = r->stamp;
    own->replaced = out;
    return out;
}

const struct term *term_replace(struct terms *ts, const struct term *term,
                                const struct term *const by_loop[TERM_LOOPS_ALL])
{
    const struct replacing r = {ts, by_loop, ++ts->stamp};
    return replaced(&r, term);
}

/* ---- looking ---- */

static void walk(const struct term *term, size_t stamp, term_visitor *visit, void *context)
{
    if (term->stamp == stamp)
        return;
    ((struct term *)term)->stamp = stamp;
    visit(context, term);
    for (size_t i = 0; term->kind != TERM_READ && i < term->count; i++)
        walk(term->parts[i].term, stamp, visit, context);
}

void term_walk(struct terms *ts, const struct term *term, term_visitor *visit, void *context)
{
    walk(term, ++ts->stamp, visit, context);
}

size_t term_reduction(const struct terms *ts, const struct term *read, enum reduce_op op)
{
    if (read->kind != TERM_READ)
        return OP_NONE;
    size_t s = ts->op->tensors[read->number].written_by;
    const struct stmt *stmt = s == OP_NONE ? NULL : &ts->op->stmts[s];
    bool plain = stmt != NULL && stmt->reduce != REDUCE_NONE && stmt->scatter == NULL &&
                 read->count == stmt->free_count;
    return plain && (op == REDUCE_NONE || stmt->reduce == op) ? s : OP_NONE;
}

static double floored(double a, double b, bool quotient)
{
    double whole = b < 0 || b > 0 ? floor(a / b) : 0;
    return quotient ? whole : a - whole * b;
}

/* The value at the bound shape of a term without loops and data; false: an operation that
 * subscripts do not have. */
static bool value_at_shape(const struct terms *ts, const struct term *term, double *out)
{
    double parts[2] = {0, 0}, part;
    bool divides = term->kind == TERM_CALL && (term->op == EXPR_DIV || term->op == EXPR_MOD);
    *out = term->kind == TERM_SUM ? 0 : 1;
    if (term->kind == TERM_ONE)
        return true;
    if (term->kind == TERM_DIM)
        *out = (double)ts->bound->dims[term->number];
    if (term->kind == TERM_DIM ||
        (term->kind != TERM_SUM && term->kind != TERM_PRODUCT && !divides))
        return term->kind == TERM_DIM;
    for (size_t i = 0; i < term->count; i++) {
        if (!value_at_shape(ts, term->parts[i].term, &part))
            return false;
        parts[i % 2] = part;
        *out = term->kind == TERM_SUM ? *out + term->parts[i].weight * part
                                      : *out * pow(part, term->parts[i].weight);
    }
    if (divides)
        *out = floored(parts[0], parts[1], term->op == EXPR_DIV);
    return true;
}

/* A product of a number, dims and at most one loop. */
static bool affine_product(const struct terms *ts, const struct term *term, double weight,
                           double *coefficient, double *constant)
{
    const struct term_part *factors;
    struct term_part single;
    size_t loop = OP_NONE, count = term_factors(term, &factors, &single);
    for (size_t i = 0; i < count; i++) {
        const struct term *base = factors[i].term;
        double value;
        if (base->loops == 0 && !base->reads && value_at_shape(ts, base, &value))
            weight *= pow(value, factors[i].weight);
        else if (base->kind == TERM_INDEX && loop == OP_NONE && factors[i].weight == 1)
            loop = base->number;
        else
            return false;
    }
    *(loop == OP_NONE ? constant : &coefficient[loop]) += weight;
    return true;
}

bool term_affine(const struct terms *ts, const struct term *term,
                 double coefficient[TERM_LOOPS_ALL], double *constant)
{
    const struct term_part *parts;
    struct term_part single;
    size_t count = term_addends(term, &parts, &single);
    *constant = 0;
    for (size_t i = 0; i < TERM_LOOPS_ALL; i++)
        coefficient[i] = 0;
    for (size_t i = 0; i < count; i++)
        if (!affine_product(ts, parts[i].term, parts[i].weight, coefficient, constant))
            return false;
    return true;
}
