/*
 * The normal form of an op: what means nothing is taken away, and what may stand in either order
 * stands in one that names have no part in.
 *
 * Statements are gone through in the op's order.  A copy (a map whose value is one plain read) is
 * forgotten where it is read, so two transposes that undo each other vanish; operations with a
 * neutral literal go; a + -b is a - b, -(a - b) is b - a, a > b is b < a, pow(a, 2) is a * a; the
 * operands of commutative operations are sorted by a key made of operations, positions of loops,
 * declared tensors' positions and, of temporaries, the key of what writes them.
 *
 * Not here: reassociation and distribution, which round differently.  A zero may change its sign.
 */
#include "solver/legal/rewrite_int.h"

struct normaliser {
    struct draft d;
    uint64_t *keys; /* by tensor */
};

/* ---- keys ---- */

static uint64_t mixed(uint64_t key, uint64_t with)
{
    key ^= with + UINT64_C(0x9e3779b97f4a7c15) + (key << 6) + (key >> 2);
    return key * UINT64_C(0xff51afd7ed558ccd);
}

static uint64_t key_of(const struct normaliser *n, const struct expr *e)
{
    uint64_t key = mixed((uint64_t)e->op, (uint64_t)e->dtype);
    union {
        double real;
        uint64_t bits;
    } literal = {.real = e->op == EXPR_FLOAT ? e->real : 0};
    key = mixed(mixed(key, literal.bits), e->op == EXPR_INT ? (uint64_t)e->integer : 0);
    if (e->op == EXPR_INDEX)
        key = mixed(key, e->loop);
    if (e->op == EXPR_DIM)
        key = mixed(key, e->dim);
    if (e->op == EXPR_READ)
        key = mixed(key, n->keys[e->tensor]);
    for (size_t i = 0; e->op == EXPR_READ && i < e->rank; i++)
        key = mixed(key, key_of(n, e->subs[i]));
    for (size_t i = 0; i < COUNT_OF(e->args) && e->args[i] != NULL; i++)
        key = mixed(key, key_of(n, e->args[i]));
    return e->pad == NULL ? key : mixed(key, key_of(n, e->pad));
}

/* ---- one node, whose children are in normal form ---- */

static bool is_literal(const struct expr *e, int value)
{
    return (e->op == EXPR_INT && e->dtype != DTYPE_BOOL && e->integer == value) ||
           (e->op == EXPR_FLOAT && e->real >= value && e->real <= value);
}

static const struct expr *expr_like(struct arena *arena, const struct expr *like, enum expr_op op,
                                    const struct expr *a, const struct expr *b)
{
    struct expr *e = arena_new(arena, struct expr);
    *e = *like;
    e->op = op;
    e->args[0] = a;
    e->args[1] = b;
    return e;
}

/* The operand that the operation passes on unchanged, or NULL. */
static const struct expr *passed_on(const struct expr *e)
{
    const struct expr *a = e->args[0], *b = e->args[1];
    const struct expr *out = NULL;
    if (e->op == EXPR_NEG && a->op == EXPR_NEG)
        out = a->args[0];
    else if ((e->op == EXPR_MUL || e->op == EXPR_DIV) && is_literal(b, 1))
        out = a;
    else if ((e->op == EXPR_ADD || e->op == EXPR_SUB) && is_literal(b, 0))
        out = a;
    else if ((e->op == EXPR_MUL && is_literal(a, 1)) || (e->op == EXPR_ADD && is_literal(a, 0)))
        out = b;
    return out != NULL && out->dtype == e->dtype && !out->weak ? out : NULL;
}

/* An operation of the same value in the one way that normal forms write it, or NULL: signs of
 * floats go into sums, comparisons point left, conditions are not negated. */
static const struct expr *other_way(struct arena *arena, const struct expr *e)
{
    const struct expr *a = e->args[0], *b = e->args[1];
    bool first = a->op == EXPR_NEG && dtype_is_float(a->dtype);
    bool second = b != NULL && b->op == EXPR_NEG && dtype_is_float(b->dtype);
    if (e->op == EXPR_NEG && a->op == EXPR_SUB && dtype_is_float(a->dtype))
        return expr_like(arena, e, EXPR_SUB, a->args[1], a->args[0]);
    if (e->op == EXPR_ADD && second)
        return expr_like(arena, e, EXPR_SUB, a, b->args[0]);
    if (e->op == EXPR_ADD && first)
        return expr_like(arena, e, EXPR_SUB, b, a->args[0]);
    if (e->op == EXPR_SUB && second)
        return expr_like(arena, e, EXPR_ADD, a, b->args[0]);
    if ((e->op == EXPR_MUL || e->op == EXPR_DIV) && first && second)
        return expr_like(arena, e, e->op, a->args[0], b->args[0]);
    if (e->op == EXPR_POW && is_literal(b, 2))
        return expr_like(arena, e, EXPR_MUL, a, a);
    if (e->op == EXPR_GT || e->op == EXPR_GE)
        return expr_like(arena, e, e->op == EXPR_GT ? EXPR_LT : EXPR_LE, b, a);
    if (e->op == EXPR_WHERE && a->op == EXPR_NOT) {
        struct expr *out = arena_new(arena, struct expr);
        *out = *e;
        out->args[0] = a->args[0];
        out->args[1] = e->args[2];
        out->args[2] = e->args[1];
        return out;
    }
    return NULL;
}

static bool commutes(enum expr_op op)
{
    return op == EXPR_ADD || op == EXPR_MUL || op == EXPR_MIN || op == EXPR_MAX || op == EXPR_AND ||
           op == EXPR_OR || op == EXPR_BITAND || op == EXPR_BITOR || op == EXPR_BITXOR ||
           op == EXPR_EQ || op == EXPR_NE;
}

/* The statement that only copies, if the read is of what such a one wrote; else NULL. */
static const struct stmt *copy_behind(const struct normaliser *n, const struct expr *read)
{
    const struct tensor *tensor = &n->d.op.tensors[read->tensor];
    if (!tensor->temporary || tensor->written_by == OP_NONE || read->pad != NULL)
        return NULL;
    const struct stmt *stmt = &n->d.stmts[tensor->written_by];
    const struct expr *value = stmt->value;
    if (stmt->reduce != REDUCE_NONE || !is_straight(stmt) || value->op != EXPR_READ ||
        value->pad != NULL || value->tensor == read->tensor)
        return NULL;
    for (size_t i = 0; i < value->rank; i++)
        if (value->subs[i]->op != EXPR_INDEX)
            return NULL;
    return stmt;
}

static const struct expr *normal(const struct normaliser *n, const struct expr *expr);

static const struct expr *normal_read(const struct normaliser *n, const struct expr *expr)
{
    struct arena *arena = n->d.arena;
    struct expr *e = arena_new(arena, struct expr);
    const struct expr **subs = arena_array(arena, const struct expr *, expr->rank + 1);
    *e = *expr;
    for (size_t i = 0; i < expr->rank; i++)
        subs[i] = normal(n, expr->subs[i]);
    e->subs = subs;
    if (expr->pad != NULL)
        e->pad = normal(n, expr->pad);
    const struct stmt *copy = copy_behind(n, e);
    return copy == NULL ? e : expr_replaced(arena, copy->value, subs, OP_NONE);
}

static const struct expr *normal(const struct normaliser *n, const struct expr *expr)
{
    if (expr->op == EXPR_READ)
        return normal_read(n, expr);
    if (expr->args[0] == NULL)
        return expr;
    struct expr *e = arena_new(n->d.arena, struct expr);
    *e = *expr;
    for (size_t i = 0; i < COUNT_OF(e->args) && e->args[i] != NULL; i++)
        e->args[i] = normal(n, e->args[i]);
    const struct expr *operand = passed_on(e);
    if (operand != NULL)
        return operand;
    const struct expr *other = other_way(n->d.arena, e);
    if (other != NULL) {
        *e = *other;
        operand = passed_on(e);
        if (operand != NULL)
            return operand;
    }
    if (commutes(e->op) && key_of(n, e->args[1]) < key_of(n, e->args[0])) {
        const struct expr *first = e->args[0];
        e->args[0] = e->args[1];
        e->args[1] = first;
    }
    return e;
}

/* ---- statements ---- */

static void normal_stmt(struct normaliser *n, struct stmt *stmt)
{
    stmt->value = normal(n, stmt->value);
    uint64_t key = mixed(mixed((uint64_t)stmt->reduce, stmt->free_count), key_of(n, stmt->value));
    for (size_t i = 0; i < stmt->loop_count; i++)
        key = mixed(key, (uint64_t)stmt->loops[i].bound);
    if (stmt->target >= n->d.op.declared_count)
        n->keys[stmt->target] = key;
}

bool op_normal(struct arena *arena, const struct op *op, const struct op **out, struct err *err)
{
    struct normaliser n;
    draft_begin(&n.d, arena, op);
    n.keys = arena_array(arena, uint64_t, op->tensor_count + 1);
    for (size_t t = 0; t < op->tensor_count; t++)
        n.keys[t] = t < op->declared_count ? t + 1 : 0;
    for (size_t s = 0; s < op->stmt_count; s++)
        normal_stmt(&n, &n.d.stmts[s]);
    return draft_finish(&n.d, out, err);
}
