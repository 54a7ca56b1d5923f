/*
 * Well-formedness of an op, also of one that a rewrite made: what every reader of an op relies on.
 *
 * Method: one pass over tables, statements and expressions; each complaint names the statement.
 * Sizes are not looked at here: bind.c does at each shape.
 */
#include "base/num.h"
#include "base/panic.h"

#include "solver/ir/op_int.h"

struct checker {
    const struct op *op;
    size_t stmt;
    struct err *err;
    bool ok;
};

#define REQUIRE(c, condition, ...)                                                                 \
    do {                                                                                           \
        if ((c)->ok && !(condition))                                                               \
            (c)->ok = check_fail((c), __VA_ARGS__);                                                \
    } while (0)

static bool check_fail(struct checker *c, const char *what)
{
    const struct op *op = c->op;
    if (c->stmt == OP_NONE)
        return err_raise(c->err, ERR_SEMANTIC, "%.*s: malformed op: %s", STR_ARG(op->name), what);
    const struct stmt *stmt = &op->stmts[c->stmt];
    return err_raise(c->err, ERR_SEMANTIC, "%.*s: malformed op: statement %zu (line %d): %s",
                     STR_ARG(op->name), c->stmt, stmt->place.line, what);
}

static void check_read(struct checker *c, const struct expr *e)
{
    const struct op *op = c->op;
    REQUIRE(c, e->tensor < op->tensor_count, "a read of no tensor");
    if (!c->ok)
        return;
    const struct tensor *tensor = &op->tensors[e->tensor];
    const struct stmt *stmt = &op->stmts[c->stmt];
    bool input = !tensor->temporary && tensor->role != ROLE_OUTPUT;
    bool same_seq = !input && tensor->written_by != OP_NONE && stmt->seq != OP_NONE &&
                    op->stmts[tensor->written_by].seq == stmt->seq;
    REQUIRE(c, e->rank == tensor->rank, "a read with the wrong number of subscripts");
    REQUIRE(c, e->dtype == tensor->dtype, "a read whose type is not the tensor's");
    REQUIRE(c, input || tensor->written_by < c->stmt || same_seq, "a read before its write");
    REQUIRE(c, !same_seq || e->rank > 0, "a read of the block without its step");
    REQUIRE(c, !e->pad || e->pad->dtype == e->dtype, "a pad of another type");
    for (size_t i = 0; c->ok && i < e->rank; i++)
        REQUIRE(c, !dtype_is_float(e->subs[i]->dtype) && e->subs[i]->dtype != DTYPE_BOOL,
                "a subscript that is no integer");
}

static int arity_of(enum expr_op op)
{
    switch (op) {
    case EXPR_CAST:
        return 1;
    case EXPR_FLOAT:
    case EXPR_INT:
    case EXPR_INDEX:
    case EXPR_DIM:
    case EXPR_READ:
    case EXPR_OP_COUNT:
        return 0;
#define X(id, text, arity, class)                                                                  \
    case EXPR_##id:                                                                                \
        return arity;
        EXPR_OPS(X)
#undef X
    }
    panic("expression operation %d", (int)op);
}

/* Not expr_walk: what is malformed must not be walked into. */
static void check_expr(struct checker *c, const struct expr *e)
{
    const struct stmt *stmt = &c->op->stmts[c->stmt];
    REQUIRE(c, e->op < EXPR_OP_COUNT && e->dtype < DTYPE_COUNT, "an unknown operation or type");
    int arity = c->ok ? arity_of(e->op) : 0;
    for (int i = 0; i < 3; i++)
        REQUIRE(c, (e->args[i] != NULL) == (i < arity), "an operation with too few or many args");
    REQUIRE(c, e->op != EXPR_INDEX || e->loop < stmt->loop_count, "an index of no loop");
    REQUIRE(c, e->op != EXPR_DIM || e->dim < c->op->dim_count, "no such dim");
    REQUIRE(c, e->op != EXPR_FLOAT || dtype_is_float(e->dtype), "a float literal of another type");
    REQUIRE(c, e->op != EXPR_INT || !dtype_is_float(e->dtype), "an integer literal of float type");
    if (c->ok && e->op == EXPR_READ)
        check_read(c, e);
    for (size_t i = 0; c->ok && e->op == EXPR_READ && i < e->rank; i++)
        check_expr(c, e->subs[i]);
    if (c->ok && e->pad)
        check_expr(c, e->pad);
    for (int i = 0; c->ok && i < arity; i++)
        check_expr(c, e->args[i]);
}

static void check_loops(struct checker *c, const struct stmt *stmt)
{
    REQUIRE(c, stmt->loop_count <= OP_LOOPS_MAX && stmt->free_count <= stmt->loop_count,
            "too many loops");
    for (size_t i = 0; c->ok && i < stmt->loop_count; i++) {
        const struct loop *loop = &stmt->loops[i];
        REQUIRE(c, loop->extent != NULL, "a loop without extent");
        REQUIRE(c, loop->reduced == (i >= stmt->free_count), "free loops are not first");
        REQUIRE(c,
                loop->bound == RANGE_FULL || (loop->reduced && loop->bound_loop < stmt->free_count),
                "a bound that is no free loop");
        for (size_t j = 0; j < i; j++)
            REQUIRE(c, !str_equal(loop->name, stmt->loops[j].name), "two loops of one name");
    }
}

static void check_stmt(struct checker *c)
{
    const struct op *op = c->op;
    const struct stmt *stmt = &op->stmts[c->stmt];
    REQUIRE(c, stmt->target < op->tensor_count && stmt->value, "no target or no value");
    if (!c->ok)
        return;
    const struct tensor *target = &op->tensors[stmt->target];
    check_loops(c, stmt);
    REQUIRE(c, target->temporary || target->role == ROLE_OUTPUT, "a write to an input");
    REQUIRE(c, target->written_by == c->stmt, "a tensor written twice");
    REQUIRE(c,
            stmt->scatter ? stmt->free_count == 0 && stmt->reduce == REDUCE_SUM
                          : stmt->free_count == target->rank,
            "loops that do not cover the target");
    REQUIRE(c,
            (stmt->reduce == REDUCE_NONE) == (stmt->free_count == stmt->loop_count) ||
                (stmt->scatter != NULL),
            "reduced loops without a reduction");
    REQUIRE(c, reduce_dtype(stmt->reduce, stmt->value->dtype) == target->dtype,
            "a value whose type is not the target's");
    REQUIRE(c,
            stmt->seq == OP_NONE ||
                (stmt->seq < op->seq_count && stmt->free_count > 0 &&
                 c->stmt >= op->seqs[stmt->seq].first &&
                 c->stmt < op->seqs[stmt->seq].first + op->seqs[stmt->seq].count),
            "a statement outside its block");
    if (c->ok)
        check_expr(c, stmt->value);
    for (size_t i = 0; c->ok && stmt->scatter && i < target->rank; i++)
        check_expr(c, stmt->scatter[i]);
}

static void check_tensors(struct checker *c)
{
    const struct op *op = c->op;
    REQUIRE(c,
            op->dim_count <= OP_DIMS_MAX && op->tensor_count <= OP_TENSORS_MAX &&
                op->stmt_count <= OP_STATEMENTS_MAX && op->declared_count <= op->tensor_count,
            "a table over its limit");
    REQUIRE(c, op->track_count > 0 && op->target_count > 0, "no track or no target shape");
    for (size_t i = 0; c->ok && i < op->tensor_count; i++) {
        const struct tensor *tensor = &op->tensors[i];
        REQUIRE(c, tensor->temporary == (i >= op->declared_count),
                "declared tensors are not first");
        REQUIRE(c, tensor->rank <= OP_RANK_MAX, "a rank over the limit");
        REQUIRE(c,
                (tensor->written_by == OP_NONE) ==
                    (!tensor->temporary && tensor->role != ROLE_OUTPUT),
                "an input that is written, or another tensor that is not");
        REQUIRE(c,
                tensor->written_by == OP_NONE || (tensor->written_by < op->stmt_count &&
                                                  op->stmts[tensor->written_by].target == i),
                "a wrong writer");
        for (size_t d = 0; d < tensor->rank; d++)
            REQUIRE(c, tensor->shape[d] != NULL, "a dimension without extent");
    }
}

bool op_check(const struct op *op, struct err *err)
{
    struct checker c = {op, OP_NONE, err, true};
    check_tensors(&c);
    for (size_t i = 0; c.ok && i < op->seq_count; i++)
        REQUIRE(&c,
                op->seqs[i].count > 0 && op->seqs[i].first + op->seqs[i].count <= op->stmt_count,
                "an empty block, or one past the end");
    for (size_t s = 0; c.ok && s < op->stmt_count; s++) {
        c.stmt = s;
        check_stmt(&c);
    }
    return c.ok;
}
