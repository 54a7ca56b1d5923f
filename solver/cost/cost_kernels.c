/*
 * The terms of one kernel: traffic, instructions, waits.
 *
 * Instructions are those of a warp; an SM begins as many a clock as its f32 cores fill warps.
 */
#include <math.h>

#include "base/num.h"

#include "solver/cost/cost_int.h"

/* TUNING: from matmul, 7.47 ms: a block that is alone on its SM waits this long, in clocks, for
 * each group of loads that a thread has under way.  About 560 ns, the way to DRAM and back. */
const double cost_load_clocks = 1100;
/* TUNING: from conv2d, 1.60 ms, which takes six divisions to load two elements: instructions of one
 * 64-bit division with its remainder. */
const double cost_division_instructions = 85;
/* TUNING: from batchnorm in tests/gpu/results/joint.jsonl, whose three a result take from 254 to
 * 272 us: of one division of a map, which the compiler drops to what the result needs. */
static const double map_division_instructions = 44;
/* TUNING: guessed: instructions of a division or math function, of moving an element, of a term of
 * an unstaged loop, and clocks of one reduction over a warp and over a block. */
static const double special_instructions = 14, move_instructions = 4;
static const double term_instructions = 32, term_clocks = 40;
static const double warp_tree_clocks = 160, block_tree_clocks = 360;

double cost_lanes(const struct machine *m)
{
    return m->rates[MACHINE_RATE_F32] / (2 * (double)m->sm_count * m->clock_hz);
}

/* Seconds that so many instructions of single lanes take on all SMs. */
static double issue_s(const struct machine *m, double instructions)
{
    return instructions / (cost_lanes(m) * (double)m->sm_count * m->clock_hz);
}

/* ---- traffic ---- */

struct reading {
    size_t tensor;
    bool found;
};

static void find_reading(void *context, const struct expr *expr)
{
    struct reading *reading = context;
    reading->found |= expr->op == EXPR_READ && expr->tensor == reading->tensor;
}

/* What the region can read of a tensor at most: all of it, or an element an iteration. */
static double read_bytes(const struct pricing *p, size_t tensor)
{
    const struct op *op = p->bound->op;
    double elements = 0, all = (double)p->bound->tensors[tensor].bytes;
    for (size_t i = 0; i < p->region->stmt_count; i++) {
        size_t s = p->region->stmts[i];
        struct reading reading = {tensor, false};
        stmt_walk(op, &op->stmts[s], find_reading, &reading);
        if (reading.found)
            elements += (double)op_iterations(p->bound, s);
    }
    return fmin(all, elements * (double)dtype_bytes(op->tensors[tensor].dtype));
}

/* Reads after the first come from L2 when what all SMs have at hand fits in it. */
static double reread_rate(const struct pricing *p, double bytes)
{
    const struct footprint *f = &p->footprint;
    double at_hand = bytes;
    if (f->kind == FOOTPRINT_ROWS && f->rows > 0) {
        double blocks =
            fmin((double)f->blocks, (double)(p->machine->sm_count * p->cost->blocks_per_sm));
        double rows = blocks * (double)(f->threads / f->sharing);
        at_hand = bytes * fmin(1, rows / (double)f->rows);
    }
    return cost_stays_in_l2(p->machine, at_hand) ? cost_l2_rate(p->machine)
                                                 : cost_dram_rate(p->machine);
}

void cost_traffic(struct pricing *p)
{
    const struct op *op = p->bound->op;
    double dram = 0, again_s = 0, again = 0;
    for (size_t t = 0; t < op->tensor_count; t++) {
        bool between = op->tensors[t].written_by != OP_NONE;
        int64_t loads = p->footprint.loads != NULL ? p->footprint.loads[t]
                                                   : p->tensors.read[t] && !p->tensors.written[t];
        double bytes = loads > 0 ? read_bytes(p, t) : 0;
        if (loads > 0 && !between)
            dram += bytes;
        if (loads > 1) {
            again += (double)(loads - 1) * bytes;
            again_s += (double)(loads - 1) * bytes / reread_rate(p, bytes);
        }
        if (p->tensors.stored[t] && !op->tensors[t].temporary)
            dram += (double)p->bound->tensors[t].bytes;
    }
    for (size_t i = 0; i < p->region->stmt_count; i++)
        p->cost->flops += (double)op_count_work(p->bound, p->region->stmts[i]).flops;
    p->cost->bytes = dram + again;
    p->cost->memory_s = dram / cost_dram_rate(p->machine) + again_s;
}

/* ---- elements ---- */

struct read_count {
    size_t count;
};

static void count_reads(void *context, const struct expr *expr)
{
    struct read_count *reads = context;
    reads->count += expr->op == EXPR_READ;
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

/* One thread a result; a seq block is one block of threads, step by step. */
void cost_elements(struct pricing *p)
{
    const struct machine *m = p->machine;
    for (size_t i = 0; i < p->region->stmt_count; i++) {
        size_t s = p->region->stmts[i];
        const struct stmt *stmt = &p->bound->op->stmts[s];
        struct read_count reads = {0};
        expr_walk(stmt->value, count_reads, &reads);
        double terms = (double)op_iterations(p->bound, s);
        double lanes = stmt->seq != OP_NONE ? (double)p->footprint.threads
                                            : (double)(m->sm_count * m->threads_per_sm);
        double results = (double)p->bound->tensors[stmt->target].count;
        double at_once = fmin(lanes, fmax(results, 1));
        struct op_count count = op_count_work(p->bound, s);
        double instructions =
            terms * (term_instructions + move_instructions * (double)reads.count) +
            special_instructions * (double)count.specials + (double)count.flops +
            results * cost_division_instructions * element_divisions(stmt);
        double width = fmin(at_once, cost_lanes(m) * (double)m->sm_count);
        p->cost->compute_s += instructions / (width * m->clock_hz);
        p->cost->latency_s += terms / at_once * term_clocks / m->clock_hz;
    }
}

/* ---- rows and maps ---- */

static double row_instructions(const struct pricing *p)
{
    const struct footprint *f = &p->footprint;
    double division =
        f->kind == FOOTPRINT_MAPS ? map_division_instructions : cost_division_instructions;
    double total = 0;
    for (size_t i = 0; i < p->region->stmt_count; i++) {
        struct op_count count = op_count_work(p->bound, p->region->stmts[i]);
        double terms = (double)op_iterations(p->bound, p->region->stmts[i]);
        double again = f->streaming && f->passes > 1 ? (double)f->passes : 1;
        total += again * (special_instructions * (double)count.specials + (double)count.flops +
                          terms * move_instructions);
    }
    return total + (double)f->passes * (double)f->rows * (double)f->length * division *
                       (double)f->divisions[0];
}

/* Streamed float sums add up in double. */
static double double_adds_s(const struct pricing *p)
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

void cost_rows(struct pricing *p)
{
    const struct footprint *f = &p->footprint;
    const struct machine *m = p->machine;
    double waves = fmax(ceil(p->cost->waves), 1), loads = 1;
    double chunk = (double)(f->sharing * f->items);
    double sharing = f->kind == FOOTPRINT_MAPS ? (double)f->blocks : 1;
    double chunks = fmax(ceil((double)f->length / (chunk * sharing * (double)f->split)), 1);
    double tree = f->kind == FOOTPRINT_MAPS ? 0 : f->warp ? warp_tree_clocks : block_tree_clocks;
    if (f->streaming) /* later passes find what is held in shared memory */
        loads = f->held_bytes > 0 ? chunks : chunks * (double)f->passes;
    double a_row = cost_load_clocks * loads + tree * (double)f->passes;
    p->cost->compute_s = issue_s(m, row_instructions(p)) + double_adds_s(p);
    p->cost->latency_s = waves * a_row / m->clock_hz;
    p->cost->bytes += 2 * (double)f->workspace_bytes;
    p->cost->memory_s += 2 * (double)f->workspace_bytes / cost_l2_rate(m);
}
