/*
 * Rewrites that compute a value where it is used, or once for each use.
 *
 *   inline  a map's expression in place of reads of it
 *   again   a statement once for each statement that reads it; after that each copy may be cut,
 *           merged or laid out in its own way
 *
 * Both are exact: the same operations on the same operands, done again.  A reduction cannot be put
 * into an expression, for a statement has one reduction and that outermost; `again`, and merge, are
 * what there is for it.
 */
#include "solver/legal/rewrite_int.h"

/* ---- inline ---- */

struct pads {
    size_t tensor;
    bool found;
};

static void note_pad(void *context, const struct expr *expr)
{
    struct pads *pads = context;
    pads->found |= expr->op == EXPR_READ && expr->tensor == pads->tensor && expr->pad != NULL;
}

static bool can_inline(struct draft *d, size_t s)
{
    const struct stmt *stmt = &d->stmts[s];
    size_t readers = 0;
    if (stmt->reduce != REDUCE_NONE || !is_straight(stmt))
        return refuse(d, "its elements are no plain map's");
    if (!d->tensors[stmt->target].temporary)
        return refuse(d, "it writes an output, which has to be there anyway");
    if (stmt->value->weak || !expr_reads_data(stmt->value))
        return refuse(d, "its type would be its reader's");
    for (size_t r = 0; r < d->op.stmt_count; r++) {
        struct pads pads = {stmt->target, false};
        expr_walk(d->stmts[r].value, note_pad, &pads);
        readers += expr_reads_of(d->stmts[r].value, stmt->target) > 0;
        if (pads.found)
            return refuse(d, "statement %zu pads what it reads of it", r);
    }
    return readers > 0 || refuse(d, "no expression reads it");
}

/* Only this map is put in place: all others count as outputs for the while. */
bool rewrite_inline(struct draft *d, const struct rewrite *rewrite)
{
    size_t target = d->stmts[rewrite->stmt].target;
    bool *temporary = arena_array(d->arena, bool, d->op.tensor_count);
    bool fits = true;
    if (!can_inline(d, rewrite->stmt))
        return false;
    for (size_t t = 0; t < d->op.tensor_count; t++) {
        temporary[t] = d->tensors[t].temporary;
        d->tensors[t].temporary = t == target;
    }
    for (size_t s = 0; s < d->op.stmt_count && fits; s++) {
        if (expr_reads_of(d->stmts[s].value, target) == 0)
            continue;
        const struct expr *value = expr_expanded(d->arena, &d->op, d->stmts[s].value);
        fits = value != NULL;
        if (fits)
            d->stmts[s].value = value;
    }
    for (size_t t = 0; t < d->op.tensor_count; t++)
        d->tensors[t].temporary = temporary[t];
    return fits ||
           refuse(d, "a statement would have more than %d operations", REWRITE_NODES_MAX / 4);
}

/* ---- again ---- */

struct retarget {
    size_t from, to;
};

static const struct expr *retarget(void *context, const struct expr *expr, struct expr *copied)
{
    const struct retarget *r = context;
    if (expr->op == EXPR_READ && expr->tensor == r->from)
        copied->tensor = r->to;
    return copied;
}

static bool stmt_reads(const struct draft *d, const struct stmt *stmt, size_t tensor)
{
    size_t reads = expr_reads_of(stmt->value, tensor);
    for (size_t i = 0; stmt->scatter != NULL && i < d->tensors[stmt->target].rank; i++)
        reads += expr_reads_of(stmt->scatter[i], tensor);
    return reads > 0;
}

bool rewrite_again(struct draft *d, const struct rewrite *rewrite)
{
    enum { COPIES_MAX = 16 };
    const struct stmt stmt = d->stmts[rewrite->stmt];
    size_t readers[COPIES_MAX + 1], count = 0;
    if (!d->tensors[stmt.target].temporary)
        return refuse(d, "it writes an output, which is there once");
    if (stmt.seq != OP_NONE)
        return refuse(d, "a step needs the one before");
    for (size_t s = 0; s < d->op.stmt_count; s++) {
        if (!stmt_reads(d, &d->stmts[s], stmt.target))
            continue;
        if (count == COPIES_MAX)
            return refuse(d, "more than %d statements read it", COPIES_MAX);
        readers[count++] = s;
    }
    if (count < 2)
        return refuse(d, "no two statements read it");
    for (size_t i = 1; i < count; i++) {
        struct stmt copy = stmt;
        copy.target =
            draft_temporary(d, "again", d->tensors[stmt.target].dtype, stmt.loops, stmt.free_count);
        struct retarget r = {stmt.target, copy.target};
        stmt_map(d, &d->stmts[readers[i] + i - 1], retarget, &r);
        draft_insert(d, rewrite->stmt + i, &copy);
    }
    return true;
}
