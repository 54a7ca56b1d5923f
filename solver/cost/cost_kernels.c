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
/* TUNING: least squares, as in cost_issue.c: clocks until a group of loads is there, with a cold
 * DRAM behind them [walk_columns, 8192 terms a thread one after the other]; until a streamed row's
 * are in a later pass; and that the place of a block or warp stands empty from one to the next,
 * with the way of its results [softmax, walk_pair]. */
static const double wait_clocks = 526, again_clocks = 761, turnover_clocks = 201;
/* TUNING: as above: bytes of L2's time that an atomic takes [scatter_add]. */
static const double atomic_bytes = 52;
/* TUNING: as above: clocks of a term of an unstaged loop whose operands are in L1, of one reduction
 * over a warp and over a block. */
static const double term_clocks = 70.5;
static const double warp_tree_clocks = 243, block_tree_clocks = 151;

enum { WARP = 32, TERMS_UNROLL = 4 }; /* terms that the compiler loads at a time */

double cost_lanes(const struct machine *m)
{
    return m->rates[MACHINE_RATE_F32] / (2 * (double)m->sm_count * m->clock_hz);
}

/* Seconds that so many instructions of single lanes take on the SMs that have some of the blocks.
 */
static double issue_s(const struct machine *m, int64_t blocks, double instructions)
{
    double sms = fmin((double)blocks, (double)m->sm_count);
    return instructions / (cost_lanes(m) * sms * m->clock_hz);
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
double cost_read_bytes(const struct pricing *p, size_t tensor)
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

int64_t cost_loads_of(const struct pricing *p, size_t tensor)
{
    if (p->footprint.loads != NULL)
        return p->footprint.loads[tensor];
    return p->tensors.read[tensor] && !p->tensors.written[tensor];
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
    double reads = 0, writes = 0, again_s = 0, again = 0;
    for (size_t t = 0; t < op->tensor_count; t++) {
        bool between = op->tensors[t].written_by != OP_NONE;
        int64_t loads = cost_loads_of(p, t);
        double bytes = loads > 0 ? cost_read_bytes(p, t) : 0;
        if (!between)
            reads += bytes;
        if (loads > 1) {
            again += (double)(loads - 1) * bytes;
            again_s += (double)(loads - 1) * bytes / reread_rate(p, bytes);
        }
        if (p->tensors.stored[t] && !op->tensors[t].temporary)
            writes += (double)p->bound->tensors[t].bytes;
    }
    for (size_t i = 0; i < p->region->stmt_count; i++)
        p->cost->flops += (double)op_count_work(p->bound, p->region->stmts[i]).flops;
    p->cost->bytes = reads + writes + again;
    p->cost->memory_s =
        reads / cost_dram_rate(p->machine) + writes / cost_write_rate(p->machine) + again_s;
}

/* What edges pay for is traffic of this kernel all the same: its other terms overlap with it. */
static void add_carried(struct pricing *p)
{
    const struct op *op = p->bound->op;
    for (size_t t = 0; t < op->tensor_count; t++) {
        double bytes = (double)p->bound->tensors[t].bytes;
        bool between = op->tensors[t].written_by != OP_NONE && !p->tensors.written[t];
        if (between && cost_loads_of(p, t) > 0)
            p->cost->carried_s += cost_carry_s(p->machine, bytes, false);
        if (p->tensors.stored[t] && op->tensors[t].temporary)
            p->cost->carried_s += cost_carry_s(p->machine, bytes, true);
    }
    p->cost->memory_s += p->cost->carried_s;
}

/* An atomic takes a sector of L2 to itself. */
static double scattered_bytes(const struct pricing *p, size_t t)
{
    double bytes = 0;
    for (size_t i = 0; i < p->region->stmt_count; i++) {
        size_t s = p->region->stmts[i];
        const struct stmt *stmt = &p->bound->op->stmts[s];
        if (stmt->scatter != NULL && stmt->target == t)
            bytes += atomic_bytes * (double)op_iterations(p->bound, s);
    }
    return bytes;
}

/* What sectors cost beyond the elements in them; and never faster than L2 hands them out. */
static void add_sectors(struct pricing *p, const struct sectors *sectors, double *l2_s)
{
    double lines = 0, moved = 0;
    for (size_t t = 0; t < p->bound->op->tensor_count; t++) {
        double loads = p->tensors.written[t] ? 0 : (double)cost_loads_of(p, t);
        double excess = loads > 0 ? fmax(sectors->again[t] - cost_read_bytes(p, t), 0) : 0;
        p->cost->memory_s += loads * excess / cost_dram_rate(p->machine);
        p->cost->bytes += loads * excess;
        moved += scattered_bytes(p, t) + loads * sectors->moved[t];
        lines += loads * sectors->lines[t];
    }
    *l2_s += moved / cost_l2_rate(p->machine);
    p->cost->shared_s += lines / ((double)p->machine->sm_count * p->machine->clock_hz);
}

/* ---- elements ---- */

/* A thread's loads wait in groups; only those that leave the L1 take the way to DRAM. */
static double element_wait_clocks(double terms, double at_a_time, double fresh)
{
    double groups = ceil(terms / at_a_time);
    return turnover_clocks + groups * fmin(fresh * at_a_time, 1) * wait_clocks +
           terms * (1 - fmin(fresh, 1)) * term_clocks;
}

/* One thread a result; a seq block is one block of threads, step by step. */
static void element_kernel(struct pricing *p, size_t s, const struct sectors *sectors,
                           double memory_s)
{
    const struct machine *m = p->machine;
    const struct stmt *stmt = &p->bound->op->stmts[s];
    int64_t threads = p->footprint.threads;
    double terms = cost_terms(p, s);
    double work = stmt->scatter != NULL ? terms : (double)p->bound->tensors[stmt->target].count;
    bool running = cost_runs_along(stmt);
    if (running)
        work /= (double)p->bound->extents[s][stmt->loops[stmt->free_count].bound_loop];
    int64_t blocks = (int64_t)ceil(fmax(work, 1) / (double)threads);
    if (stmt->seq != OP_NONE)
        blocks = 1;
    double at_once = (double)(m->sm_count * p->cost->blocks_per_sm * threads);
    double lanes = fmin(at_once, stmt->seq != OP_NONE ? (double)threads : fmax(work, 1));
    double each = terms / (stmt->seq != OP_NONE ? lanes : fmax(work, 1));
    double issue = issue_s(m, blocks, cost_element_instructions(p, s));
    p->cost->compute_s += issue;
    if (stmt->seq != OP_NONE) {
        p->cost->latency_s += each * term_clocks / m->clock_hz;
        p->cost->busy_s += fmax(fmax(issue, memory_s), each * term_clocks / m->clock_hz);
        return;
    }
    double delay =
        element_wait_clocks(each, running ? 1 : TERMS_UNROLL, sectors->fresh) / m->clock_hz;
    const struct customers all = {.blocks = blocks,
                                  .blocks_per_sm = p->cost->blocks_per_sm,
                                  .threads = threads,
                                  .ties = TIES_NONE,
                                  .delay_s = delay,
                                  .memory_s = memory_s,
                                  .compute_s = issue};
    p->cost->latency_s += fmax(1, (double)blocks * (double)threads / at_once) * delay;
    p->cost->busy_s += cost_contended_s(m, &all);
}

void cost_elements(struct pricing *p)
{
    double all = 0, l2_s = 0;
    add_carried(p);
    struct sectors *sectors = arena_array(p->arena, struct sectors, p->region->stmt_count + 1);
    for (size_t i = 0; i < p->region->stmt_count; i++) {
        size_t s = p->region->stmts[i];
        cost_sectors_init(p, &sectors[i]);
        cost_sectors(p, s, &sectors[i]);
        add_sectors(p, &sectors[i], &l2_s);
        all += (double)op_iterations(p->bound, s);
    }
    p->cost->memory_s = fmax(p->cost->memory_s, l2_s);
    for (size_t i = 0; i < p->region->stmt_count; i++) {
        size_t s = p->region->stmts[i];
        double part = all > 0 ? (double)op_iterations(p->bound, s) / all : 0;
        element_kernel(p, s, &sectors[i], part * p->cost->memory_s);
    }
}

/* ---- rows and maps ---- */

/* Sums and maxima along the row, each of which threads combine. */
static double trees_of(const struct pricing *p)
{
    double trees = 0;
    for (size_t i = 0; i < p->region->stmt_count; i++)
        trees += p->bound->op->stmts[p->region->stmts[i]].reduce != REDUCE_NONE;
    return p->footprint.kind == FOOTPRINT_MAPS ? 0 : trees;
}

/* What a block or warp waits for by itself. */
static double row_delay_clocks(const struct pricing *p)
{
    const struct footprint *f = &p->footprint;
    double loads = 1, again = 0, chunk = (double)(f->sharing * f->items);
    double sharing = f->kind == FOOTPRINT_MAPS ? (double)f->blocks : 1;
    double chunks = fmax(ceil((double)f->length / (chunk * sharing * (double)f->split)), 1);
    double tree = f->warp ? warp_tree_clocks : block_tree_clocks;
    if (f->streaming) { /* later passes find what is held in shared memory, or in L2 */
        loads = chunks;
        again = f->held_bytes > 0 ? 0 : chunks * (double)(f->passes - 1);
    }
    return turnover_clocks + wait_clocks * loads + again_clocks * again + tree * trees_of(p);
}

void cost_rows(struct pricing *p)
{
    const struct footprint *f = &p->footprint;
    const struct machine *m = p->machine;
    double waves = fmax(ceil(p->cost->waves), 1), l2_s = 0;
    double delay = row_delay_clocks(p) / m->clock_hz;
    struct sectors sectors;
    add_carried(p);
    cost_sectors_init(p, &sectors);
    for (size_t i = 0; i < p->region->stmt_count; i++)
        cost_sectors(p, p->region->stmts[i], &sectors);
    add_sectors(p, &sectors, &l2_s);
    p->cost->memory_s = fmax(p->cost->memory_s, l2_s);
    p->cost->bytes += 2 * (double)f->workspace_bytes;
    p->cost->memory_s += 2 * (double)f->workspace_bytes / cost_l2_rate(m);
    p->cost->compute_s = issue_s(m, f->blocks, cost_row_instructions(p)) + cost_double_adds_s(p);
    p->cost->latency_s = waves * delay;
    /* Held rows go in step, between barriers; maps come and go as blocks. */
    const struct customers all = {.blocks = f->blocks,
                                  .blocks_per_sm = p->cost->blocks_per_sm,
                                  .threads = f->threads,
                                  .ties = f->kind == FOOTPRINT_MAPS ? TIES_MAPS
                                          : f->warp || f->streaming ? TIES_NONE
                                                                    : TIES_HELD,
                                  .delay_s = delay,
                                  .memory_s = p->cost->memory_s,
                                  .compute_s = p->cost->compute_s};
    p->cost->busy_s = cost_contended_s(m, &all);
}
