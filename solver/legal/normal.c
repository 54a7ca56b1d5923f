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
#include <string.h>

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
    else if (e->op == EXPR_CAST && !e->tf32 && !a->weak)
        out = a;
    return out != NULL && out->dtype == e->dtype && !out->weak ? out : NULL;
}

/* An operation of the same value in the one way that normal forms write it, or NULL: signs of
 * floats go into sums, comparisons point left, conditions are not negated. */
static const struct expr *other_way(struct arena *arena, const struct expr *e)
{
    const struct expr *a = e->args[0], *b = e->args[1];
    bool first = a->op == EXPR_NEG && dtype_is_float(a->dtype);
    bool second = b != NULL && b->op == EXPR_NEG && dtype_is_float(b->dtype);
    if (e->op == EXPR_SUB && is_literal(a, 0) && dtype_is_float(e->dtype) && b->dtype == e->dtype &&
        !b->weak)
        return expr_like(arena, e, EXPR_NEG, b, NULL);
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

/* Do the copy and what it copies end at the same places?  Then a padded read of the one is the
 * same padded read of the other. */
static bool same_extents(const struct normaliser *n, const struct stmt *stmt)
{
    const struct tensor *to = &n->d.op.tensors[stmt->target];
    const struct tensor *from = &n->d.op.tensors[stmt->value->tensor];
    bool used[OP_RANK_MAX] = {false};
    if (to->rank != from->rank)
        return false;
    for (size_t i = 0; i < from->rank; i++) {
        const size_t loop = stmt->value->subs[i]->loop;
        if (loop >= to->rank || used[loop] || !formula_equal(to->shape[loop], from->shape[i]))
            return false;
        used[loop] = true;
    }
    return true;
}

/* The statement that only copies, if the read is of what such a one wrote; else NULL. */
static const struct stmt *copy_behind(const struct normaliser *n, const struct expr *read)
{
    const struct tensor *tensor = &n->d.op.tensors[read->tensor];
    if (!tensor->temporary || tensor->written_by == OP_NONE)
        return NULL;
    const struct stmt *stmt = &n->d.stmts[tensor->written_by];
    const struct expr *value = stmt->value;
    if (stmt->reduce != REDUCE_NONE || !is_straight(stmt) || value->op != EXPR_READ ||
        value->pad != NULL || value->tensor == read->tensor)
        return NULL;
    for (size_t i = 0; i < value->rank; i++)
        if (value->subs[i]->op != EXPR_INDEX)
            return NULL;
    return read->pad == NULL || same_extents(n, stmt) ? stmt : NULL;
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
    if (copy == NULL)
        return e;
    const struct expr *read = expr_replaced(arena, copy->value, subs, OP_NONE);
    if (e->pad == NULL)
        return read;
    struct expr *padded = arena_new(arena, struct expr);
    *padded = *read;
    padded->pad = e->pad;
    return padded;
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

/* ---- outputs that are copies ---- */

/* The statement that wrote what `copy` copies whole into an output, if nothing but its target's
 * name and the order of its indices tells them apart; NULL. */
static struct stmt *copied_by(struct normaliser *n, const struct stmt *copy)
{
    const struct expr *read = copy->value;
    bool used[OP_LOOPS_MAX] = {false};
    if (copy->reduce != REDUCE_NONE || !is_straight(copy) || read->op != EXPR_READ ||
        read->pad != NULL || n->d.tensors[copy->target].role != ROLE_OUTPUT ||
        copy->target >= n->d.op.declared_count)
        return NULL;
    const struct tensor *from = &n->d.tensors[read->tensor];
    struct stmt *stmt = from->written_by == OP_NONE ? NULL : &n->d.stmts[from->written_by];
    if (!from->temporary || stmt == NULL || stmt->seq != OP_NONE || stmt->scatter != NULL ||
        read->rank != copy->free_count || from->dtype != n->d.tensors[copy->target].dtype ||
        stmt->value->weak)
        return NULL;
    for (size_t i = 0; i < read->rank; i++) {
        if (read->subs[i]->op != EXPR_INDEX || used[read->subs[i]->loop])
            return NULL;
        used[read->subs[i]->loop] = true;
    }
    return stmt;
}

/* Reads of tensor `from` become reads of `to`, whose i-th subscript is from's place[i]-th. */
struct moving {
    struct arena *arena;
    size_t from, to;
    const size_t *place;
};

static const struct expr *moved(const struct moving *m, const struct expr *expr)
{
    struct expr *e = arena_new(m->arena, struct expr);
    const struct expr **subs = arena_array(m->arena, const struct expr *, expr->rank + 1);
    *e = *expr;
    for (size_t i = 0; i < expr->rank; i++)
        subs[i] = moved(m, expr->subs[e->tensor == m->from ? m->place[i] : i]);
    if (e->op == EXPR_READ)
        e->subs = subs;
    if (e->op == EXPR_READ && e->tensor == m->from)
        e->tensor = m->to;
    if (e->pad != NULL)
        e->pad = moved(m, e->pad);
    for (size_t i = 0; i < COUNT_OF(e->args) && e->args[i] != NULL; i++)
        e->args[i] = moved(m, e->args[i]);
    return e;
}

/* The writer's free loops in the order of the copy's target, with their names. */
static void reorder_loops(struct normaliser *n, struct stmt *stmt, const struct stmt *copy,
                          const size_t *place)
{
    struct arena *arena = n->d.arena;
    struct loop *loops = arena_array(arena, struct loop, stmt->loop_count + 1);
    const struct expr *by_loop[OP_LOOPS_MAX] = {NULL};
    size_t to[OP_LOOPS_MAX];
    for (size_t i = 0; i < stmt->loop_count; i++) {
        size_t old = i < copy->free_count ? place[i] : i;
        loops[i] = stmt->loops[old];
        to[old] = i;
        by_loop[old] = expr_index(arena, i);
    }
    for (size_t i = 0; i < stmt->loop_count; i++)
        if (loops[i].bound != RANGE_FULL)
            loops[i].bound_loop = to[loops[i].bound_loop];
    stmt->value = expr_replaced(arena, stmt->value, by_loop, OP_NONE);
    stmt->loops = loops;
}

/* y = t, t written only to be copied: what wrote t writes y.  Returns whether one was found. */
static bool redirect_copy(struct normaliser *n)
{
    for (size_t s = 0; s < n->d.op.stmt_count; s++) {
        const struct stmt copy = n->d.stmts[s];
        struct stmt *stmt = copied_by(n, &copy);
        size_t place[OP_LOOPS_MAX] = {0};
        if (stmt == NULL)
            continue;
        for (size_t i = 0; i < copy.value->rank; i++)
            place[copy.value->subs[i]->loop] = i;
        const struct moving move = {n->d.arena, stmt->target, copy.target, place};
        reorder_loops(n, stmt, &copy, place);
        stmt->target = copy.target;
        draft_remove(&n->d, s);
        for (size_t i = 0; i < n->d.op.stmt_count; i++)
            n->d.stmts[i].value = moved(&move, n->d.stmts[i].value);
        return true;
    }
    return false;
}

/* ---- the order of statements ---- */

/* What a statement is made from, without arithmetic, which may be written in several ways. */
struct lineage {
    size_t depth, reads; /* longest way to an input; tensors read */
    size_t times;        /* that they are read: x * x reads x twice, as pow(x, 2) does by now */
    uint64_t functions, key;
};

struct ordering {
    struct normaliser *n;
    struct lineage *lineage; /* by tensor */
    bool *placed;
    size_t *order; /* old numbers */
    size_t count;
};

struct sources {
    const struct draft *d;
    size_t *tensor; /* each once */
    size_t count;
};

static void add_source(void *context, const struct expr *expr)
{
    struct sources *sources = context;
    for (size_t i = 0; expr->op == EXPR_READ && i < sources->count; i++)
        if (sources->tensor[i] == expr->tensor)
            return;
    if (expr->op == EXPR_READ)
        sources->tensor[sources->count++] = expr->tensor;
}

static void sources_of(const struct draft *d, const struct stmt *stmt, struct sources *out)
{
    *out = (struct sources){d, arena_array(d->arena, size_t, d->op.tensor_count + 1), 0};
    stmt_walk(&d->op, stmt, add_source, out);
}

/* Functions that are written in two ways count as one. */
static enum expr_op plain_function(enum expr_op op)
{
    return op == EXPR_RSQRT  ? EXPR_SQRT
           : op == EXPR_EXP2 ? EXPR_EXP
           : op == EXPR_LOG2 ? EXPR_LOG
                             : op;
}

/* What no way of writing sums, products and quotients changes. */
static void note_use(void *context, const struct expr *expr)
{
    struct lineage *own = context;
    bool function = expr->op == EXPR_ABS || (expr->op >= EXPR_EXP && expr->op <= EXPR_MAX);
    own->times += expr->op == EXPR_READ;
    if (function && dtype_is_float(expr->dtype))
        own->functions += mixed((uint64_t)plain_function(expr->op), 1);
}

/* Loops as numbers: what is in subscripts follows from the rest. */
static void note_indices(struct lineage *own, const struct expr *expr)
{
    own->functions += expr->op == EXPR_INDEX;
    for (size_t i = 0; i < COUNT_OF(expr->args) && expr->args[i] != NULL; i++)
        note_indices(own, expr->args[i]);
}

static void find_lineage(struct ordering *o)
{
    const struct draft *d = &o->n->d;
    for (size_t t = 0; t < d->op.declared_count; t++)
        o->lineage[t].key = mixed(t + 1, 0);
    for (size_t s = 0; s < d->op.stmt_count; s++) {
        struct lineage *own = &o->lineage[d->stmts[s].target];
        struct sources sources;
        uint64_t sum = 0;
        sources_of(d, &d->stmts[s], &sources);
        for (size_t i = 0; i < sources.count; i++) {
            const struct lineage *from = &o->lineage[sources.tensor[i]];
            own->depth = from->depth + 1 > own->depth ? from->depth + 1 : own->depth;
            sum += from->key;
        }
        own->reads = sources.count;
        stmt_walk(&d->op, &d->stmts[s], note_use, own);
        note_indices(own, d->stmts[s].value);
        own->key = mixed(mixed(sum, (uint64_t)d->stmts[s].reduce), d->stmts[s].loop_count);
    }
}

static bool comes_before(const struct lineage *a, const struct lineage *b)
{
    if (a->depth != b->depth)
        return a->depth < b->depth;
    if (a->reads != b->reads)
        return a->reads < b->reads;
    if (a->times != b->times)
        return a->times < b->times;
    if (a->functions != b->functions)
        return a->functions < b->functions;
    return a->key < b->key;
}

static void place_stmt(struct ordering *o, size_t s);

static void place_sources(struct ordering *o, const struct stmt *stmt)
{
    struct sources sources;
    sources_of(&o->n->d, stmt, &sources);
    for (size_t i = 1; i < sources.count; i++)
        for (size_t k = i; k > 0 && comes_before(&o->lineage[sources.tensor[k]],
                                                 &o->lineage[sources.tensor[k - 1]]);
             k--) {
            size_t swap = sources.tensor[k];
            sources.tensor[k] = sources.tensor[k - 1];
            sources.tensor[k - 1] = swap;
        }
    for (size_t i = 0; i < sources.count; i++) {
        size_t writer = o->n->d.tensors[sources.tensor[i]].written_by;
        if (writer != OP_NONE)
            place_stmt(o, writer);
    }
}

/* A block stays together; what its statements need from outside comes before it. */
static void place_block(struct ordering *o, const struct seq *seq)
{
    for (size_t i = 0; i < seq->count; i++)
        o->placed[seq->first + i] = true;
    for (size_t i = 0; i < seq->count; i++)
        place_sources(o, &o->n->d.stmts[seq->first + i]);
    for (size_t i = 0; i < seq->count; i++)
        o->order[o->count++] = seq->first + i;
}

static void place_stmt(struct ordering *o, size_t s)
{
    const struct stmt *stmt = &o->n->d.stmts[s];
    if (o->placed[s])
        return;
    o->placed[s] = true;
    if (stmt->seq != OP_NONE) {
        place_block(o, &o->n->d.seqs[stmt->seq]);
        return;
    }
    place_sources(o, stmt);
    o->order[o->count++] = s;
}

/* What the first output needs, what is made in fewer steps first, then the next output. */
static void order_stmts(struct normaliser *n)
{
    struct arena *arena = n->d.arena;
    size_t count = n->d.op.stmt_count;
    struct ordering o = {n, arena_array(arena, struct lineage, n->d.op.tensor_count + 1),
                         arena_array(arena, bool, count + 1), arena_array(arena, size_t, count + 1),
                         0};
    struct stmt *stmts = arena_array(arena, struct stmt, count + 1);
    find_lineage(&o);
    for (size_t t = 0; t < n->d.op.declared_count; t++)
        if (n->d.tensors[t].written_by != OP_NONE)
            place_stmt(&o, n->d.tensors[t].written_by);
    for (size_t s = 0; s < count; s++)
        place_stmt(&o, s);
    for (size_t i = 0; i < count; i++) {
        stmts[i] = n->d.stmts[o.order[i]];
        for (size_t q = 0; q < n->d.op.seq_count; q++)
            if (stmts[i].seq == q && (i == 0 || stmts[i - 1].seq != q))
                n->d.seqs[q].first = i;
    }
    memcpy(n->d.stmts, stmts, count * sizeof(stmts[0]));
}

static void normal_stmts(struct normaliser *n)
{
    for (size_t t = 0; t < n->d.op.tensor_count; t++)
        n->keys[t] = t < n->d.op.declared_count ? t + 1 : 0;
    for (size_t s = 0; s < n->d.op.stmt_count; s++)
        normal_stmt(n, &n->d.stmts[s]);
}

bool op_normal(struct arena *arena, const struct op *op, const struct op **out, struct err *err)
{
    struct normaliser n;
    draft_begin(&n.d, arena, op);
    n.keys = arena_array(arena, uint64_t, op->tensor_count + 1);
    normal_stmts(&n);
    while (redirect_copy(&n))
        normal_stmts(&n);
    order_stmts(&n);
    return draft_finish(&n.d, out, err);
}
