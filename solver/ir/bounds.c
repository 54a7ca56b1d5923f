/*
 * Accesses at a shape: every read inside its tensor or padded, every scatter inside its target,
 * sequential reads that look back, and no argmax of nothing.
 *
 * Method: intervals (interval.c) of each subscript against the dimension; what cannot be proved is
 * refused.  Statements without iterations have nothing to prove.
 */
#include <stdio.h>

#include "solver/ir/op_int.h"

struct access {
    const struct bound_op *bound;
    const char *where;
    size_t stmt;
    struct err *err;
    bool ok;
};

enum { DIMS_TEXT_BYTES = 160 };

/* " at M=3 N=7", cut when long. */
static void dims_text(const struct bound_op *bound, char out[DIMS_TEXT_BYTES])
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < bound->op->dim_count && used < DIMS_TEXT_BYTES; i++)
        if (bound->op->dims[i].kind == DIM_VAR)
            used += (size_t)snprintf(out + used, DIMS_TEXT_BYTES - used, "%s%.*s=%lld",
                                     used ? " " : " at ", STR_ARG(bound->op->dims[i].name),
                                     (long long)bound->dims[i]);
}

static bool outside_fail(struct access *a, const struct expr *sub, size_t tensor, size_t d,
                         const struct remedy *remedy)
{
    const struct op *op = a->bound->op;
    const struct stmt *stmt = &op->stmts[a->stmt];
    struct str name = op->tensors[tensor].name;
    int64_t size = a->bound->tensors[tensor].shape[d];
    int64_t low;
    int64_t high;
    char at[DIMS_TEXT_BYTES];
    dims_text(a->bound, at);
    if (!expr_interval(a->bound, a->stmt, sub, &low, &high))
        return stmt_fail(op, stmt, sub->place, a->where, remedy, a->err,
                         "subscript %zu of '%.*s' cannot be proved inside 0..%lld%s", d,
                         STR_ARG(name), (long long)size - 1, at);
    return stmt_fail(op, stmt, sub->place, a->where, remedy, a->err,
                     "subscript %zu of '%.*s' runs over %lld..%lld, outside 0..%lld%s", d,
                     STR_ARG(name), (long long)low, (long long)high, (long long)size - 1, at);
}

static void check_subscripts(struct access *a, const struct expr *const *subs, size_t tensor,
                             const struct remedy *remedy)
{
    for (size_t d = 0; a->ok && d < a->bound->op->tensors[tensor].rank; d++) {
        int64_t low;
        int64_t high;
        bool known = expr_interval(a->bound, a->stmt, subs[d], &low, &high);
        if (!known || low < 0 || high >= a->bound->tensors[tensor].shape[d])
            a->ok = outside_fail(a, subs[d], tensor, d, remedy);
    }
}

static bool in_same_seq(const struct op *op, const struct stmt *stmt, size_t tensor)
{
    size_t writer = op->tensors[tensor].written_by;
    return stmt->seq != OP_NONE && writer != OP_NONE && op->stmts[writer].seq == stmt->seq;
}

/* In a sequential block, a read of the block is at this step, or proved to be at an earlier one. */
static void check_step(struct access *a, const struct expr *e)
{
    const struct op *op = a->bound->op;
    const struct stmt *stmt = &op->stmts[a->stmt];
    const struct expr *step = e->subs[0];
    bool same = step->op == EXPR_INDEX && step->loop == 0;
    if (same && op->tensors[e->tensor].written_by < a->stmt)
        return;
    if (!same && expr_precedes(a->bound, a->stmt, step, 0))
        return;
    struct str index = op->seqs[stmt->seq].index;
    struct remedy remedy = remedy_say("a sequential block is read at this step or at an earlier "
                                      "one, such as pad(x[%.*s - 1, ...])",
                                      STR_ARG(index));
    a->ok = stmt_fail(op, stmt, e->place, a->where, &remedy, a->err,
                      "'%.*s' is read at a step that is not proved to be before '%.*s'",
                      STR_ARG(op->tensors[e->tensor].name), STR_ARG(index));
}

static void check_read(void *context, const struct expr *e)
{
    struct access *a = context;
    const struct op *op = a->bound->op;
    if (!a->ok || e->op != EXPR_READ)
        return;
    if (in_same_seq(op, &op->stmts[a->stmt], e->tensor))
        check_step(a, e);
    if (!a->ok || e->pad)
        return;
    bool gathers = false;
    for (size_t d = 0; d < op->tensors[e->tensor].rank; d++)
        gathers = gathers || expr_reads_data(e->subs[d]);
    struct remedy remedy =
        gathers
            ? remedy_say("fill the index tensor with {\"kind\": \"ints\", \"low\": 0, \"high\": "
                         "...}, or write pad(...)")
            : remedy_say("if it may leave the tensor, write pad(...) for 0 or pad(..., value)");
    check_subscripts(a, e->subs, e->tensor, &remedy);
}

static bool has_iterations(const struct bound_op *bound, size_t stmt)
{
    for (size_t i = 0; i < bound->op->stmts[stmt].loop_count; i++)
        if (bound->extents[stmt][i] == 0)
            return false;
    return true;
}

/* Can an element's reduction be empty? */
static bool empty_reduction(const struct bound_op *bound, size_t s)
{
    const struct stmt *stmt = &bound->op->stmts[s];
    const int64_t *extents = bound->extents[s];
    for (size_t i = 0; i < stmt->free_count; i++)
        if (extents[i] == 0)
            return false;
    for (size_t i = stmt->free_count; i < stmt->loop_count; i++) {
        const struct loop *loop = &stmt->loops[i];
        int64_t last = loop->bound == RANGE_FULL ? 0 : extents[loop->bound_loop] - 1;
        if (extents[i] == 0 || loop->bound == RANGE_LT ||
            (loop->bound == RANGE_GE && last > extents[i] - 1) ||
            (loop->bound == RANGE_GT && last + 1 > extents[i] - 1))
            return true;
    }
    return false;
}

static bool check_arg_reduction(struct access *a)
{
    const struct stmt *stmt = &a->bound->op->stmts[a->stmt];
    bool by_index = stmt->reduce == REDUCE_ARGMAX || stmt->reduce == REDUCE_ARGMIN;
    char at[DIMS_TEXT_BYTES];
    if (!by_index || !empty_reduction(a->bound, a->stmt))
        return true;
    dims_text(a->bound, at);
    return stmt_fail(a->bound->op, stmt, stmt->place, a->where, NULL, a->err,
                     "%s of nothing has no value%s", reduce_op_name(stmt->reduce), at);
}

bool bounds_check(const struct bound_op *bound, const char *where, struct err *err)
{
    const struct op *op = bound->op;
    struct remedy remedy = remedy_say("the target of += has no outside: keep the subscript inside");
    for (size_t s = 0; s < op->stmt_count; s++) {
        struct access a = {bound, where, s, err, true};
        if (!check_arg_reduction(&a))
            return false;
        if (!has_iterations(bound, s))
            continue;
        const struct stmt *stmt = &op->stmts[s];
        expr_walk(stmt->value, check_read, &a);
        if (a.ok && stmt->scatter) {
            check_subscripts(&a, stmt->scatter, stmt->target, &remedy);
            for (size_t d = 0; a.ok && d < op->tensors[stmt->target].rank; d++)
                expr_walk(stmt->scatter[d], check_read, &a);
        }
        if (!a.ok)
            return false;
    }
    return true;
}
