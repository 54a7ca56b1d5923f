/*
 * Counts of work: iterations of nests times what an iteration does.
 *
 * Scans: the loops tied to a free loop n give a sum over n of products of clamped linear terms;
 * with one tied loop it has a closed form, with more it is summed.
 */
#include "solver/ir/count.h"

#include "base/num.h"
#include "base/panic.h"

#include "solver/ir/count_int.h"

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;
    return num_add(a, b, &sum) ? sum : INT64_MAX;
}

static int64_t times(int64_t a, int64_t b)
{
    int64_t product;
    return num_mul(a, b, &product) ? product : INT64_MAX;
}

/* ---- iterations ---- */

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* Iterations of a tied loop of `extent` when its bounding loop is at n. */
static int64_t tied_count(enum range_bound bound, int64_t extent, int64_t n)
{
    switch (bound) {
    case RANGE_FULL:
        return extent;
    case RANGE_LT:
        return clamp(n, 0, extent);
    case RANGE_LE:
        return clamp(n + 1, 0, extent);
    case RANGE_GT:
        return clamp(extent - n - 1, 0, extent);
    case RANGE_GE:
        return clamp(extent - n, 0, extent);
    }
    panic("range bound %d", (int)bound);
}

/* Sum over n in [0, steps) of tied_count: a ramp of 0, 1, 2, ... and a flat part. */
static int64_t tied_sum(enum range_bound bound, int64_t extent, int64_t steps)
{
    bool rises = bound == RANGE_LT || bound == RANGE_LE;
    int64_t first = tied_count(bound, extent, 0);
    if (rises) {
        int64_t ramp = clamp(extent - first, 0, steps); /* n < ramp: first + n */
        int64_t sum = add(times(first, ramp), times(ramp, ramp - 1) / 2);
        return add(sum, times(steps - ramp, extent));
    }
    int64_t ramp = first < steps ? first : steps; /* n < ramp: first - n; 0 after */
    return times(first, ramp) - times(ramp, ramp - 1) / 2;
}

/* Iterations of loop n with the loops tied to it. */
static int64_t group_count(const struct stmt *stmt, const int64_t *extents, size_t n)
{
    size_t tied = 0;
    size_t last = 0;
    for (size_t j = 0; j < stmt->loop_count; j++)
        if (stmt->loops[j].bound != RANGE_FULL && stmt->loops[j].bound_loop == n) {
            tied++;
            last = j;
        }
    if (tied == 0)
        return extents[n];
    if (tied == 1)
        return tied_sum(stmt->loops[last].bound, extents[last], extents[n]);
    int64_t total = 0;
    for (int64_t at = 0; at < extents[n] && total < INT64_MAX; at++) {
        int64_t product = 1;
        for (size_t j = 0; j < stmt->loop_count; j++)
            if (stmt->loops[j].bound != RANGE_FULL && stmt->loops[j].bound_loop == n)
                product = times(product, tied_count(stmt->loops[j].bound, extents[j], at));
        total = add(total, product);
    }
    return total;
}

int64_t op_iterations(const struct bound_op *bound, size_t s)
{
    const struct stmt *stmt = &bound->op->stmts[s];
    int64_t total = 1;
    for (size_t i = 0; i < stmt->loop_count; i++)
        if (stmt->loops[i].bound == RANGE_FULL)
            total = times(total, group_count(stmt, bound->extents[s], i));
    return total;
}

/* ---- what an iteration does ---- */

enum work { WORK_FREE, WORK_FLOP, WORK_SPECIAL };

static enum work work_of(enum expr_op op)
{
    switch (op) {
    case EXPR_FLOAT:
    case EXPR_INT:
    case EXPR_INDEX:
    case EXPR_DIM:
    case EXPR_READ:
    case EXPR_CAST:
    case EXPR_OP_COUNT:
    case EXPR_NOT:
    case EXPR_BITNOT:
    case EXPR_MOD:
    case EXPR_SHL:
    case EXPR_SHR:
    case EXPR_BITAND:
    case EXPR_BITXOR:
    case EXPR_BITOR:
    case EXPR_LT:
    case EXPR_LE:
    case EXPR_GT:
    case EXPR_GE:
    case EXPR_EQ:
    case EXPR_NE:
    case EXPR_AND:
    case EXPR_OR:
    case EXPR_ISNAN:
    case EXPR_ISINF:
    case EXPR_WHERE:
        return WORK_FREE;
    case EXPR_NEG:
    case EXPR_ADD:
    case EXPR_SUB:
    case EXPR_MUL:
    case EXPR_ABS:
    case EXPR_SIGN:
    case EXPR_FLOOR:
    case EXPR_CEIL:
    case EXPR_TRUNC:
    case EXPR_RINT:
    case EXPR_MIN:
    case EXPR_MAX:
    case EXPR_FMA:
        return WORK_FLOP;
    case EXPR_DIV:
    case EXPR_EXP:
    case EXPR_EXP2:
    case EXPR_EXPM1:
    case EXPR_LOG:
    case EXPR_LOG2:
    case EXPR_LOG1P:
    case EXPR_SQRT:
    case EXPR_RSQRT:
    case EXPR_SIN:
    case EXPR_COS:
    case EXPR_TAN:
    case EXPR_ASIN:
    case EXPR_ACOS:
    case EXPR_ATAN:
    case EXPR_SINH:
    case EXPR_COSH:
    case EXPR_TANH:
    case EXPR_ERF:
    case EXPR_ERFC:
    case EXPR_POW:
    case EXPR_ATAN2:
    case EXPR_FMOD:
        return WORK_SPECIAL;
    }
    panic("expression operation %d", (int)op);
}

static void note_variable(void *context, const struct expr *e)
{
    if (e->op == EXPR_READ || e->op == EXPR_INDEX)
        *(bool *)context = true;
}

static bool is_constant(const struct expr *e)
{
    bool varies = false;
    expr_walk(e, note_variable, &varies);
    return !varies;
}

/* flops and specials of one evaluation; casts are looked through for the product of a MAC. */
static void count_work(const struct expr *e, int64_t *flops, int64_t *specials)
{
    e = expr_exact(e);
    if (is_constant(e))
        return;
    enum work work = dtype_is_float(e->dtype) ? work_of(e->op) : WORK_FREE;
    *flops += (work != WORK_FREE) + (e->op == EXPR_FMA);
    *specials += work == WORK_SPECIAL;
    for (int i = 0; i < 3 && e->args[i]; i++)
        count_work(e->args[i], flops, specials);
    if (e->pad)
        count_work(e->pad, flops, specials);
}

static bool is_mac(const struct stmt *stmt)
{
    const struct expr *e = expr_exact(stmt->value);
    while (e->op == EXPR_CAST && dtype_is_float(e->dtype))
        e = expr_exact(e->args[0]);
    return stmt->reduce == REDUCE_SUM && e->op == EXPR_MUL && dtype_is_float(e->dtype);
}

static bool combines_floats(const struct stmt *stmt)
{
    return stmt->reduce != REDUCE_NONE && dtype_is_float(stmt->value->dtype);
}

/* Which tensors a statement reads. */
struct reads_of {
    bool tensor[OP_TENSORS_MAX];
};

static void note_tensor(void *context, const struct expr *e)
{
    struct reads_of *reads = context;
    if (e->op == EXPR_READ)
        reads->tensor[e->tensor] = true;
}

static void stmt_reads(const struct op *op, const struct stmt *stmt, struct reads_of *reads)
{
    expr_walk(stmt->value, note_tensor, reads);
    for (size_t d = 0; stmt->scatter && d < op->tensors[stmt->target].rank; d++)
        expr_walk(stmt->scatter[d], note_tensor, reads);
}

struct op_count op_count_work(const struct bound_op *bound, size_t s)
{
    const struct stmt *stmt = &bound->op->stmts[s];
    const int64_t iterations = op_iterations(bound, s);
    int64_t flops = 0, specials = 0;
    count_work(stmt->value, &flops, &specials);
    return (struct op_count){.macs = is_mac(stmt) ? iterations : 0,
                             .flops = times(iterations, flops + combines_floats(stmt)),
                             .specials = times(iterations, specials)};
}

struct op_count op_count_stmt(const struct bound_op *bound, size_t s)
{
    const struct op *op = bound->op;
    const struct stmt *stmt = &op->stmts[s];
    const struct tensor *target = &op->tensors[stmt->target];
    struct op_count count = op_count_work(bound, s);
    struct reads_of reads = {0};
    stmt_reads(op, stmt, &reads);
    for (size_t t = 0; t < op->tensor_count; t++) {
        bool is_input = !op->tensors[t].temporary && op->tensors[t].role != ROLE_OUTPUT;
        int64_t bytes = reads.tensor[t] ? times(elements_read(bound, t, s, s + 1),
                                                (int64_t)dtype_bytes(op->tensors[t].dtype))
                                        : 0;
        count.bytes_unfused = add(count.bytes_unfused, bytes);
        if (is_input)
            count.bytes_read = add(count.bytes_read, bytes);
    }
    count.bytes_unfused = add(count.bytes_unfused, bound->tensors[stmt->target].bytes);
    if (!target->temporary)
        count.bytes_written = bound->tensors[stmt->target].bytes;
    return count;
}

struct op_count op_count(const struct bound_op *bound)
{
    const struct op *op = bound->op;
    struct op_count total = {0};
    for (size_t s = 0; s < op->stmt_count; s++) {
        struct op_count one = op_count_stmt(bound, s);
        total.macs = add(total.macs, one.macs);
        total.flops = add(total.flops, one.flops);
        total.specials = add(total.specials, one.specials);
        total.bytes_written = add(total.bytes_written, one.bytes_written);
        total.bytes_unfused = add(total.bytes_unfused, one.bytes_unfused);
    }
    for (size_t t = 0; t < op->declared_count; t++)
        if (op->tensors[t].role != ROLE_OUTPUT)
            total.bytes_read =
                add(total.bytes_read,
                    times(op_elements_read(bound, t), (int64_t)dtype_bytes(op->tensors[t].dtype)));
    return total;
}

int64_t op_elements_read(const struct bound_op *bound, size_t tensor)
{
    return elements_read(bound, tensor, 0, bound->op->stmt_count);
}
