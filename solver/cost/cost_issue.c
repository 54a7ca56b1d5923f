/*
 * Instructions that kernels of elements, maps and rows issue, over all lanes.
 *
 * Not what the spec computes but what the compiler makes of it: each slot of a row is compared with
 * the row's length, each access looks whether its address is aligned, each element of a map takes
 * its position apart.  For few bytes an element that is most of the kernel.
 */
#include <math.h>

#include "solver/cost/cost_int.h"

/* TUNING: least squares over the bundles that tests/integration/test_cost_table.c calls fitted:
 * instructions of a thread, of an access of a vector, of loading or storing an element, of a slot
 * that a statement looks at, of a read elsewhere than along the row, of a math function, of a float
 * of a streamed sum, which adds up in double. */
static const double thread_instructions = 89.2, access_instructions = 19.3,
                    move_instructions = 0.987;
static const double slot_instructions = 3.97, gather_instructions = 3.01;
static const double special_instructions = 6.36, widen_instructions = 15.4,
                    place_instructions = 38.4;
/* TUNING: as above: of a division that takes a position apart or computes a subscript. */
static const double map_division_instructions = 32.4, row_division_instructions = 44.5;
static const double element_division_instructions = 20;
/* TUNING: as above: of a term of an unstaged loop, and what each of its reads adds. */
static const double term_instructions = 5.02, read_instructions = 15.1;

/* ---- what is in a statement ---- */

struct counts {
    const struct pricing *p;
    double reads, gathers, divisions;
};

static bool divides(const struct expr *e)
{
    return (e->op == EXPR_DIV || e->op == EXPR_MOD) && !dtype_is_float(e->dtype) &&
           e->args[1]->op != EXPR_INT;
}

static void count(void *context, const struct expr *e)
{
    struct counts *counts = context;
    const struct footprint *f = &counts->p->footprint;
    bool along = f->arrays != NULL && e->op == EXPR_READ && f->arrays[e->tensor];
    counts->reads += e->op == EXPR_READ;
    counts->gathers += e->op == EXPR_READ && !along && !counts->p->tensors.written[e->tensor];
    counts->divisions += divides(e);
}

static struct counts counts_of(const struct pricing *p, const struct stmt *stmt)
{
    struct counts counts = {.p = p};
    stmt_walk(p->bound->op, stmt, count, &counts);
    return counts;
}

/* ---- elements ---- */

struct mention {
    size_t loop;
    bool found;
};

static void find_mention(void *context, const struct expr *e)
{
    struct mention *mention = context;
    mention->found |= e->op == EXPR_INDEX && e->loop == mention->loop;
}

/* A sum over the elements before each, which synth keeps as a running one: a term a result. */
bool cost_runs_along(const struct stmt *stmt)
{
    if (stmt->seq != OP_NONE || stmt->scatter != NULL || stmt->reduce == REDUCE_NONE ||
        stmt->loop_count != stmt->free_count + 1 ||
        stmt->loops[stmt->free_count].bound == RANGE_FULL)
        return false;
    struct mention mention = {.loop = stmt->loops[stmt->free_count].bound_loop};
    expr_walk(stmt->value, find_mention, &mention);
    return !mention.found;
}

double cost_terms(const struct pricing *p, size_t s)
{
    const struct stmt *stmt = &p->bound->op->stmts[s];
    return cost_runs_along(stmt) ? (double)p->bound->tensors[stmt->target].count
                                 : (double)op_iterations(p->bound, s);
}

/* Divisions that take an element's flat position apart, by extents that are no constants. */
static double element_divisions(const struct stmt *stmt)
{
    const size_t loops = stmt->scatter != NULL ? stmt->loop_count : stmt->free_count;
    double divisions = 0;
    for (size_t i = stmt->seq != OP_NONE ? 2 : 1; i < loops; i++)
        divisions += stmt->loops[i].extent->op != FORMULA_INT;
    return divisions;
}

double cost_element_instructions(const struct pricing *p, size_t s)
{
    const struct stmt *stmt = &p->bound->op->stmts[s];
    struct op_count work = op_count_work(p->bound, s);
    struct counts counts = counts_of(p, stmt);
    double terms = cost_terms(p, s), part = terms / (double)op_iterations(p->bound, s);
    double results = stmt->scatter != NULL ? terms : (double)p->bound->tensors[stmt->target].count;
    return terms * (term_instructions + read_instructions * counts.reads +
                    element_division_instructions * counts.divisions) +
           part * (special_instructions * (double)work.specials + (double)work.flops) +
           results *
               (thread_instructions + element_division_instructions * element_divisions(stmt));
}

/* ---- rows and maps ---- */

static bool selects_place(const struct stmt *stmt)
{
    return stmt->reduce == REDUCE_ARGMAX || stmt->reduce == REDUCE_ARGMIN;
}

static bool selects_one(const struct stmt *stmt)
{
    return stmt->reduce == REDUCE_MAX || stmt->reduce == REDUCE_MIN || selects_place(stmt);
}

/* Measured for 17 kernels of softmax, logsumexp, argmax and cross_entropy (sample.jsonl): 204 and
 * 205 registers for 64 elements a thread, 111 and 133 for 32, 59 to 80 for 16, 39 and 52 for 8. */
static const double guarded_registers = 2.8, guarded_registers_more = 24;

/* A pass that selects leaves the compiler branches and not predicates around each slot, and then it
 * keeps each slot's position for the next pass too. */
int64_t cost_registers(const struct pricing *p)
{
    const struct footprint *f = &p->footprint;
    bool selects = false;
    if (f->kind != FOOTPRINT_ROWS || f->streaming || f->held_bytes > 0 || f->threads < 1)
        return f->registers;
    for (size_t i = 0; i < p->region->stmt_count; i++)
        selects |= selects_one(&p->bound->op->stmts[p->region->stmts[i]]);
    double guarded = selects ? guarded_registers_more + guarded_registers * (double)f->items : 0;
    double most = fmin((double)p->machine->registers_per_sm / (double)f->threads,
                       (double)p->machine->registers_per_thread);
    return (int64_t)fmax((double)f->registers, fmin(guarded, most));
}

/* Loaded or stored; in between, elements stay in registers. */
static double moved_elements(const struct pricing *p)
{
    const struct op *op = p->bound->op;
    double elements = 0;
    for (size_t t = 0; t < op->tensor_count; t++) {
        double word = (double)dtype_bytes(op->tensors[t].dtype);
        int64_t loads = p->tensors.written[t] ? 0 : cost_loads_of(p, t);
        elements += (double)loads * cost_read_bytes(p, t) / word;
        if (p->tensors.stored[t])
            elements += (double)p->bound->tensors[t].count;
    }
    return elements;
}

/* Of a row's elements, in the passes that look at them. */
static double stmt_instructions(const struct pricing *p, size_t s, double division)
{
    const struct footprint *f = &p->footprint;
    const struct stmt *stmt = &p->bound->op->stmts[s];
    struct op_count work = op_count_work(p->bound, s);
    struct counts counts = counts_of(p, stmt);
    bool widens = f->streaming && f->kind == FOOTPRINT_ROWS && stmt->reduce == REDUCE_SUM &&
                  dtype_is_float(stmt->value->dtype);
    double again = f->streaming && f->passes > 1 ? (double)f->passes : 1;
    return (double)op_iterations(p->bound, s) *
               (slot_instructions + gather_instructions * counts.gathers +
                division * counts.divisions + (widens ? widen_instructions : 0) +
                (selects_place(stmt) ? place_instructions : 0)) +
           again * (special_instructions * (double)work.specials + (double)work.flops);
}

double cost_row_instructions(const struct pricing *p)
{
    const struct footprint *f = &p->footprint;
    double division =
        f->kind == FOOTPRINT_MAPS ? map_division_instructions : row_division_instructions;
    double moved = moved_elements(p), vector = f->vector > 1 ? (double)f->vector : 1;
    double total = 0;
    for (size_t i = 0; i < p->region->stmt_count; i++)
        total += stmt_instructions(p, p->region->stmts[i], division);
    return total + move_instructions * moved + access_instructions * moved / vector +
           thread_instructions * (double)(f->blocks * f->threads) +
           (double)f->passes * (double)f->rows * (double)f->length * division *
               (double)f->divisions[0];
}

double cost_double_adds_s(const struct pricing *p)
{
    double terms = 0, rate = p->machine->rates[MACHINE_RATE_F64] / 2;
    if (!p->footprint.streaming || p->footprint.kind != FOOTPRINT_ROWS || rate <= 0)
        return 0;
    for (size_t i = 0; i < p->region->stmt_count; i++) {
        const struct stmt *stmt = &p->bound->op->stmts[p->region->stmts[i]];
        if (stmt->reduce == REDUCE_SUM && dtype_is_float(stmt->value->dtype))
            terms += (double)op_iterations(p->bound, p->region->stmts[i]);
    }
    return terms / rate;
}
