/*
 * A statement becomes straight-line code over lanes.
 *
 * Expressions are flattened in evaluation order, one instruction and one register a node; operands
 * of another type get a conversion in between, so that each operation sees one type.  Then the lane
 * loop is chosen: of the free loops and the innermost reduced one, the one with the least
 * estimated time, which is mostly the one along which reads are contiguous or constant.  Order of
 * summation does not depend on that choice.  Last, each instruction learns whether it varies
 * between lanes (else it is computed once) and whether it changes with a reduced loop (else it is
 * computed before the reduction).
 *
 * Invariant: operands come before their users, so one pass in order evaluates everything.
 *
 * Left out: common subexpressions, fusion of loops; the interpreter is a reference, and only needs
 * to be fast enough.
 */
#include <math.h>
#include <string.h>

#include "base/panic.h"

#include "solver/ir/interp_int.h"
#include "solver/ir/op_int.h"

struct build {
    struct interp *interp;
    struct arena *arena;
    const struct stmt *stmt;
    struct insn *insns;
    size_t count;
    bool too_many;
};

/* Bit l is set when the value changes with loop l. */
static uint32_t loops_of(const struct build *b, const struct insn *insn)
{
    uint32_t loops = insn->kind == INSN_LOOP ? 1U << insn->loop : 0;
    bool has_args = insn->kind == INSN_CONVERT || insn->kind == INSN_OP;
    for (size_t i = 0; has_args && i < COUNT_OF(insn->args); i++)
        if (insn->args[i] != OP_NONE)
            loops |= b->insns[insn->args[i]].loops;
    if (insn->kind != INSN_READ)
        return loops;
    const struct access *access = insn->access;
    if (access->pad != OP_NONE)
        loops |= b->insns[access->pad].loops;
    for (size_t d = 0; d < access->rank; d++) {
        const struct sub *sub = &access->subs[d];
        if (!sub->affine)
            loops |= b->insns[sub->reg].loops;
        for (size_t l = 0; sub->affine && l < b->stmt->loop_count; l++)
            loops |= sub->form.coefficient[l] != 0 ? 1U << l : 0;
    }
    return loops;
}

static size_t add(struct build *b, struct insn insn)
{
    if (b->count == INTERP_NODES_MAX) {
        b->too_many = true;
        return 0;
    }
    insn.loops = loops_of(b, &insn);
    insn.limits = bound_limits(insn.dtype);
    b->insns[b->count] = insn;
    return b->count++;
}

static size_t compile(struct build *b, const struct expr *expr);

/* The register of `expr` read as a value of type `type`. */
static size_t compile_as(struct build *b, const struct expr *expr, enum dtype type)
{
    size_t reg = compile(b, expr);
    if (b->insns[reg].dtype == type)
        return reg;
    return add(b, (struct insn){.kind = INSN_CONVERT,
                                .from = b->insns[reg].dtype,
                                .dtype = type,
                                .args = {reg, OP_NONE, OP_NONE},
                                .expr = expr,
                                .least = b->insns[reg].least});
}

/*
 * A number that no honest value of the operation is below, from the operands' such numbers.  It
 * keeps e.g. sqrt(variance + eps) away from 0 where the variance's bound exceeds it.
 */
static double least_of(const struct build *b, const struct expr *expr, const size_t *args)
{
    double x = args[0] < b->count ? b->insns[args[0]].least : -INFINITY;
    double y = args[1] < b->count ? b->insns[args[1]].least : -INFINITY;
    if (!dtype_is_float(expr->dtype))
        return -INFINITY;
    if (expr->op == EXPR_ADD)
        return isfinite(x) && isfinite(y) ? x + y : -INFINITY;
    if (expr->op == EXPR_MUL && expr_equal(expr->args[0], expr->args[1]))
        return 0;
    if (expr->op == EXPR_MUL || expr->op == EXPR_DIV)
        return x >= 0 && y >= 0 ? 0 : -INFINITY;
    if (expr->op == EXPR_MAX)
        return fmax(x, y);
    if (expr->op == EXPR_MIN)
        return fmin(x, y);
    if (expr->op == EXPR_WHERE)
        return fmin(y, b->insns[args[2]].least);
    if (expr->op == EXPR_EXP || expr->op == EXPR_EXP2 || expr->op == EXPR_ABS ||
        expr->op == EXPR_SQRT || expr->op == EXPR_RSQRT)
        return 0;
    return expr->op == EXPR_COSH ? 1 : -INFINITY;
}

static size_t compile_literal(struct build *b, const struct expr *expr)
{
    struct insn insn = {.kind = INSN_CONST, .dtype = expr->dtype, .expr = expr, .least = -INFINITY};
    if (expr->op == EXPR_DIM) {
        insn.constant.i = b->interp->bound->dims[expr->dim];
    } else if (!dtype_is_float(expr->dtype)) {
        double whole = expr->op == EXPR_FLOAT ? dtype_round(expr->dtype, expr->real) : 0;
        insn.constant.i = expr->op == EXPR_INT ? expr->integer : (int64_t)whole;
    } else {
        double real = expr->op == EXPR_FLOAT ? expr->real : (double)expr->integer;
        double typed = dtype_round(expr->dtype, real);
        insn.constant.f = b->interp->mode == INTERP_TYPED ? typed : real;
        insn.constant_bound = isfinite(real) ? fabs(real - typed) : 0;
        insn.least = fmin(real, typed);
    }
    return add(b, insn);
}

static void set_sub(struct build *b, const struct expr *expr, struct sub *sub)
{
    sub->affine = expr_affine(b->interp->bound, b->stmt, expr, &sub->form);
    sub->may_leave = true;
    if (!sub->affine) {
        sub->reg = compile_as(b, expr, DTYPE_I64);
        return;
    }
    size_t index = (size_t)(b->stmt - b->interp->bound->op->stmts);
    int64_t low = sub->form.constant;
    int64_t high = low;
    for (size_t l = 0; l < b->stmt->loop_count; l++) {
        int64_t span = sub->form.coefficient[l] * (b->interp->bound->extents[index][l] - 1);
        low += span < 0 ? span : 0;
        high += span > 0 ? span : 0;
    }
    sub->may_leave = low < 0 || high >= sub->extent;
}

static size_t compile_read(struct build *b, const struct expr *expr)
{
    const struct bound_op *bound = b->interp->bound;
    struct access *access = arena_new(b->arena, struct access);
    access->tensor = expr->tensor;
    access->rank = bound->op->tensors[expr->tensor].rank;
    access->pad = expr->pad ? compile_as(b, expr->pad, expr->dtype) : OP_NONE;
    for (size_t d = 0; d < access->rank; d++) {
        struct sub *sub = &access->subs[d];
        sub->extent = bound->tensors[expr->tensor].shape[d];
        sub->stride = bound->tensors[expr->tensor].strides[d];
        set_sub(b, expr->subs[d], sub);
        access->general |= !sub->affine;
        access->may_leave |= sub->may_leave;
        if (!sub->affine)
            continue;
        access->flat.constant += sub->stride * sub->form.constant;
        for (size_t l = 0; l < b->stmt->loop_count; l++)
            access->flat.coefficient[l] += sub->stride * sub->form.coefficient[l];
    }
    double least = b->interp->stores[expr->tensor].least;
    if (expr->pad && access->pad < b->count)
        least = fmin(least, b->insns[access->pad].least);
    return add(b, (struct insn){.kind = INSN_READ,
                                .dtype = bound->op->tensors[expr->tensor].dtype,
                                .expr = expr,
                                .access = access,
                                .least = least});
}

static size_t compile_cast(struct build *b, const struct expr *expr)
{
    size_t reg = compile(b, expr->args[0]);
    double least = b->insns[reg].least;
    return add(b, (struct insn){.kind = INSN_CONVERT,
                                .from = b->insns[reg].dtype,
                                .dtype = expr->dtype,
                                .is_cast = true,
                                .tf32 = expr->tf32,
                                .args = {reg, OP_NONE, OP_NONE},
                                .expr = expr,
                                .least = isfinite(least) && dtype_is_float(expr->dtype)
                                             ? dtype_round(expr->dtype, least)
                                             : -INFINITY});
}

static size_t compile_op(struct build *b, const struct expr *expr)
{
    struct insn insn = {.kind = INSN_OP,
                        .op = expr->op,
                        .from = expr_operand_dtype(expr),
                        .dtype = expr->dtype,
                        .args = {OP_NONE, OP_NONE, OP_NONE},
                        .expr = expr};
    for (size_t i = 0; i < COUNT_OF(expr->args) && expr->args[i]; i++) {
        bool condition = expr->op == EXPR_WHERE && i == 0;
        insn.args[i] = compile_as(b, expr->args[i], condition ? DTYPE_BOOL : insn.from);
    }
    if (b->too_many)
        return 0;
    const struct insn *arg = &b->insns[insn.args[0]];
    insn.scaled_exp = (expr->op == EXPR_EXP || expr->op == EXPR_EXP2) && arg->kind == INSN_OP &&
                      arg->op == EXPR_SUB;
    insn.least = least_of(b, expr, insn.args);
    return add(b, insn);
}

static size_t compile(struct build *b, const struct expr *expr)
{
    if (b->too_many)
        return 0;
    switch (expr->op) {
    case EXPR_FLOAT:
    case EXPR_INT:
    case EXPR_DIM:
        return compile_literal(b, expr);
    case EXPR_INDEX:
        return add(b, (struct insn){.kind = INSN_LOOP,
                                    .dtype = expr->dtype,
                                    .loop = expr->loop,
                                    .expr = expr,
                                    .least = -INFINITY});
    case EXPR_READ:
        return compile_read(b, expr);
    case EXPR_CAST:
        return compile_cast(b, expr);
#define X(id, text, args, class) case EXPR_##id:
        EXPR_OPS(X)
#undef X
        return compile_op(b, expr);
    case EXPR_OP_COUNT:
        break;
    }
    panic("expression %d", (int)expr->op);
}

/* ---- how the loops are run ---- */

static bool is_bounding(const struct stmt *stmt, size_t loop)
{
    for (size_t l = 0; l < stmt->loop_count; l++)
        if (stmt->loops[l].bound != RANGE_FULL && stmt->loops[l].bound_loop == loop)
            return true;
    return false;
}

/* TUNING: nanoseconds, measured on one core of an EPYC at -O2; only their ratios matter. */
static double lane_cost(const struct kernel *k, size_t loop)
{
    int64_t extent = k->extents[loop];
    double lanes = (double)(extent < INTERP_LANES ? extent : INTERP_LANES);
    double cost = 20.0 * (double)k->insn_count / (lanes > 0 ? lanes : 1);
    if (k->stmt->loops[loop].reduced)
        cost += 1.3; /* additions wait for each other */
    for (size_t i = 0; i < k->insn_count; i++) {
        const struct access *access = k->insns[i].access;
        if (k->insns[i].kind != INSN_READ)
            continue;
        int64_t step = access->flat.coefficient[loop];
        if (access->general)
            cost += 5;
        else if (step != 0 && step != 1)
            cost += step > -8 && step < 8 ? 1 : 4;
    }
    return cost;
}

static void choose_lane(struct kernel *k, bool inner_only)
{
    const struct stmt *stmt = k->stmt;
    size_t last = stmt->loop_count - 1;
    k->lane = OP_NONE;
    double best = INFINITY;
    for (size_t l = k->fixed; l < stmt->loop_count; l++) {
        bool inner = l == last && stmt->loops[l].reduced;
        if (!inner && (inner_only || l >= stmt->free_count || is_bounding(stmt, l)))
            continue;
        double cost = lane_cost(k, l);
        if (cost < best) {
            best = cost;
            k->lane = l;
        }
    }
}

static bool can_scan(const struct kernel *k)
{
    const struct stmt *stmt = k->stmt;
    const struct loop *last = &stmt->loops[stmt->loop_count - 1];
    return stmt->loop_count == stmt->free_count + 1 && last->bound != RANGE_FULL &&
           last->bound_loop >= k->fixed && !(k->insns[k->result].loops >> last->bound_loop & 1);
}

static void choose_strategy(const struct interp *interp, struct kernel *k)
{
    const struct stmt *stmt = k->stmt;
    bool ordered = interp->order != ORDER_SEQUENTIAL && interp->mode == INTERP_TYPED &&
                   stmt->reduce == REDUCE_SUM && k->is_float;
    if (stmt->scatter) {
        k->strategy = RUN_SCATTER;
        k->lane = stmt->loop_count - 1;
    } else if (stmt->reduce == REDUCE_ARGMAX || stmt->reduce == REDUCE_ARGMIN) {
        k->strategy = RUN_ROW;
        choose_lane(k, true);
    } else if (stmt->reduce != REDUCE_NONE && can_scan(k)) {
        k->strategy = RUN_SCAN;
        k->scan = k->lane = stmt->loop_count - 1;
    } else if (stmt->reduce != REDUCE_NONE && ordered) {
        k->strategy = RUN_ROW;
        choose_lane(k, true);
    } else {
        choose_lane(k, false);
        bool reduced = k->lane != OP_NONE && stmt->loops[k->lane].reduced;
        k->strategy = reduced ? RUN_INNER : RUN_FREE;
    }
}

static void mark(struct insn *insns, size_t count, const struct kernel *k)
{
    uint32_t inner = 0;
    for (size_t l = 0; l < k->stmt->loop_count; l++)
        if (k->stmt->loops[l].reduced || k->stmt->scatter)
            inner |= 1U << l;
    for (size_t i = 0; i < count; i++) {
        insns[i].varying = k->lane != OP_NONE && (insns[i].loops >> k->lane & 1);
        insns[i].inner = (insns[i].loops & inner) != 0;
    }
}

/* ---- contractions ---- */

static enum dtype compute_dtype(enum compute compute)
{
    return compute == COMPUTE_BF16 ? DTYPE_BF16 : DTYPE_F16;
}

/* Does every value of the type survive rounding to the track's compute type? */
static bool survives(enum dtype dtype, enum compute compute)
{
    switch (compute) {
    case COMPUTE_F64:
    case COMPUTE_F32:
        return true;
    case COMPUTE_TF32:
        return dtype != DTYPE_F64 && dtype != DTYPE_F32;
    case COMPUTE_F16:
    case COMPUTE_BF16:
        return dtype == compute_dtype(compute) || dtype == DTYPE_E4M3 || dtype == DTYPE_E5M2;
    }
    panic("compute %d", (int)compute);
}

/* A factor is a read, seen through casts. */
static bool factor_of(const struct kernel *k, size_t reg, enum compute compute, bool *exact)
{
    const struct insn *insn = &k->insns[reg];
    *exact = false;
    while (insn->kind == INSN_CONVERT) {
        *exact |= survives(insn->dtype, compute);
        insn = &k->insns[insn->args[0]];
    }
    *exact |= survives(insn->dtype, compute);
    return insn->kind == INSN_READ && dtype_is_float(insn->dtype);
}

static void find_product(const struct interp *interp, struct kernel *k)
{
    const struct insn *result = &k->insns[k->result];
    if (k->stmt->reduce != REDUCE_SUM || k->stmt->scatter || result->kind != INSN_OP ||
        result->op != EXPR_MUL || !k->is_float)
        return;
    k->is_product = true;
    for (size_t i = 0; i < 2; i++) {
        k->factors[i] = result->args[i];
        k->is_product &= factor_of(k, result->args[i], interp->compute, &k->exact_factor[i]);
    }
    bool split = false;
    for (size_t i = 0; i < 2; i++) {
        bool narrow;
        factor_of(k, result->args[i], COMPUTE_TF32, &narrow);
        split |= !narrow;
    }
    k->is_split = k->is_product && split && k->dtype == DTYPE_F32;
    k->is_contraction = k->is_product && !(k->exact_factor[0] && k->exact_factor[1]);
    k->factor_roundoff = interp->compute == COMPUTE_BF16 ? 0x1p-8 : 0x1p-11;
}

/* ---- all together ---- */

static double least_of_target(const struct kernel *k)
{
    double least = k->insns[k->result].least;
    switch (k->stmt->reduce) {
    case REDUCE_NONE:
    case REDUCE_MAX:
    case REDUCE_MIN:
        return least;
    case REDUCE_SUM:
    case REDUCE_PROD:
        return least >= 0 ? 0 : -INFINITY;
    case REDUCE_ARGMAX:
    case REDUCE_ARGMIN:
    case REDUCE_ANY:
    case REDUCE_ALL:
        break;
    }
    return -INFINITY;
}

static void shrink(struct build *b)
{
    struct insn *insns = arena_array(b->arena, struct insn, b->count);
    memcpy(insns, b->insns, b->count * sizeof(*insns));
    b->insns = insns;
}

bool kernel_compile(struct arena *arena, struct interp *interp, size_t index, struct insn *scratch,
                    struct err *err)
{
    const struct op *op = interp->bound->op;
    const struct stmt *stmt = &op->stmts[index];
    struct build b = {.interp = interp, .arena = arena, .stmt = stmt, .insns = scratch};
    struct kernel *k = &interp->kernels[index];
    *k = (struct kernel){.stmt = stmt, .extents = interp->bound->extents[index]};

    bool test = stmt->reduce == REDUCE_ANY || stmt->reduce == REDUCE_ALL;
    k->result = test ? compile_as(&b, stmt->value, DTYPE_BOOL) : compile(&b, stmt->value);
    for (size_t d = 0; stmt->scatter && d < op->tensors[stmt->target].rank; d++)
        k->scatter[d] = compile_as(&b, stmt->scatter[d], DTYPE_I64);
    if (b.too_many)
        return err_raise(err, ERR_LIMIT, "body line %d has more than %d operations",
                         stmt->place.line, INTERP_NODES_MAX);
    shrink(&b);
    k->insns = b.insns;
    k->insn_count = b.count;
    k->dtype = b.insns[k->result].dtype;
    k->is_float = dtype_is_float(k->dtype);
    k->limits = bound_limits(k->dtype);
    k->summation = op->policy.summation;
    k->fixed = stmt->seq == OP_NONE ? 0 : 1;
    k->terms = 1;
    for (size_t l = stmt->scatter ? stmt->loop_count : stmt->free_count; l < stmt->loop_count; l++)
        k->terms *= k->extents[l];
    choose_strategy(interp, k);
    mark(b.insns, b.count, k);
    find_product(interp, k);
    k->keeps_exact = !op->tensors[stmt->target].temporary;
    if (!stmt->scatter)
        interp->stores[stmt->target].least = least_of_target(k);
    return true;
}
