/*
 * The terms of one kernel: traffic, instructions, waits.
 *
 * Instructions are those of a warp; an SM begins as many a clock as its f32 cores fill warps.
 */
#include <math.h>

#include "base/num.h"

#include "solver/cost/cost_int.h"

enum { WARP = 32, STAGE_UNROLL = 4 };

/* TUNING: from matmul, 7.47 ms: a block that is alone on its SM waits this long, in clocks, for
 * each group of STAGE_UNROLL loads of a stage.  About 560 ns, the way to DRAM and back. */
static const double load_clocks = 1100;
/* TUNING: from conv2d, 1.60 ms, which takes six divisions to load two elements: instructions of one
 * 64-bit division with its remainder. */
static const double division_instructions = 85;
/* TUNING: from batchnorm in tests/gpu/results/joint.jsonl, whose three a result take from 254 to
 * 272 us: of one division of a map, which the compiler drops to what the result needs. */
static const double map_division_instructions = 44;
/* TUNING: guessed: instructions of a division or math function, of moving an element, of a term of
 * an unstaged loop, and clocks of one reduction over a warp and over a block. */
static const double special_instructions = 14, move_instructions = 4, stage_instructions = 20;
static const double term_instructions = 32, term_clocks = 40;
static const double warp_tree_clocks = 160, block_tree_clocks = 360;

static double lanes_of(const struct machine *m)
{
    return m->rates[MACHINE_RATE_F32] / (2 * (double)m->sm_count * m->clock_hz);
}

/* Seconds that so many instructions of single lanes take on all SMs. */
static double issue_s(const struct machine *m, double instructions)
{
    return instructions / (lanes_of(m) * (double)m->sm_count * m->clock_hz);
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
            results * division_instructions * element_divisions(stmt);
        double width = fmin(at_once, lanes_of(m) * (double)m->sm_count);
        p->cost->compute_s += instructions / (width * m->clock_hz);
        p->cost->latency_s += terms / at_once * term_clocks / m->clock_hz;
    }
}

/* ---- rows and maps ---- */

static double row_instructions(const struct pricing *p)
{
    const struct footprint *f = &p->footprint;
    double division = f->kind == FOOTPRINT_MAPS ? map_division_instructions : division_instructions;
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
    double chunks = fmax(ceil((double)f->length / (chunk * sharing)), 1);
    double tree = f->kind == FOOTPRINT_MAPS ? 0 : f->warp ? warp_tree_clocks : block_tree_clocks;
    if (f->streaming)
        loads = chunks * (double)f->passes;
    double a_row = load_clocks * loads + tree * (double)f->passes;
    p->cost->compute_s = issue_s(m, row_instructions(p)) + double_adds_s(p);
    p->cost->latency_s = waves * a_row / m->clock_hz;
}

/* ---- tiles ---- */

/* Blocks go along N first: a row of them reads all of the second factor. */
static double tile_traffic_s(const struct pricing *p)
{
    const struct footprint *f = &p->footprint;
    const struct machine *m = p->machine;
    double word = (double)f->element_bytes, k = (double)f->extent[SIDE_K];
    double side = (double)(f->block[SIDE_M] + f->block[SIDE_N]);
    double second = (double)f->extent[SIDE_N] * k * word;
    double across = (double)num_ceil_div(f->extent[SIDE_N], f->block[SIDE_N]);
    double at_once = (double)(m->sm_count * p->cost->blocks_per_sm) / across;
    double down = (double)num_ceil_div(f->extent[SIDE_M], f->block[SIDE_M]);
    double rereads = cost_stays_in_l2(m, second) ? 0 : fmax(down / fmax(at_once, 1) - 1, 0);
    double l2_s = (double)f->blocks * side * k * word / cost_l2_rate(m);
    double again = rereads * second * (double)f->extent[SIDE_BATCH];
    p->cost->bytes += again;
    return fmax(l2_s, p->cost->memory_s + again / cost_dram_rate(m));
}

/* Of one stage of a block, in clocks of the whole SM. */
static double tile_issue_clocks(const struct pricing *p)
{
    const struct footprint *f = &p->footprint;
    const struct machine *m = p->machine;
    bool wide = f->element_bytes == 8;
    double f64 = m->rates[MACHINE_RATE_F64] / (2 * (double)m->sm_count * m->clock_hz);
    double lanes = lanes_of(m), cores = wide && f64 > 0 ? f64 : lanes;
    double products = (double)(f->block[SIDE_M] * f->block[SIDE_N] * f->block[SIDE_K]);
    double sums = (double)(f->block[SIDE_M] * f->block[SIDE_N]);
    double stage = 0;
    for (int i = 0; i < 2; i++) {
        double elements = (double)(f->block[i == 0 ? SIDE_M : SIDE_N] * f->block[SIDE_K]);
        stage += elements * (stage_instructions + division_instructions * (double)f->divisions[i]);
    }
    return (products + sums) / cores + stage / lanes;
}

/* A warp's load of four words a lane takes two turns: neighbours in one row read the same. */
static double tile_shared_clocks(const struct pricing *p)
{
    const struct footprint *f = &p->footprint;
    double warps = (double)num_ceil_div(f->threads, WARP);
    double loads =
        (double)(num_ceil_div(f->thread[SIDE_M], 4) + num_ceil_div(f->thread[SIDE_N], 4));
    return warps * (double)f->block[SIDE_K] * loads * 2 * (double)f->element_bytes / 4;
}

static double tile_wait_clocks(const struct pricing *p)
{
    const struct footprint *f = &p->footprint;
    double groups = 0;
    for (int i = 0; i < 2; i++) {
        int64_t elements = f->block[i == 0 ? SIDE_M : SIDE_N] * f->block[SIDE_K];
        groups += (double)num_ceil_div(num_ceil_div(elements, f->threads), STAGE_UNROLL);
    }
    return groups * load_clocks;
}

void cost_tile(struct pricing *p)
{
    const struct footprint *f = &p->footprint;
    const struct machine *m = p->machine;
    int64_t at_once = m->sm_count * p->cost->blocks_per_sm;
    int64_t full = f->blocks / at_once, rest = f->blocks % at_once;
    double stages = (double)num_ceil_div(f->extent[SIDE_K], f->block[SIDE_K]) / m->clock_hz;
    double issue = tile_issue_clocks(p);
    double turns = (double)(full * p->cost->blocks_per_sm + num_ceil_div(rest, m->sm_count));
    double waves = (double)(full + (rest > 0));
    double shared = tile_shared_clocks(p);
    p->cost->memory_s = tile_traffic_s(p);
    /* Products wait for their operands: tiles of 64 x 64 with 2 x 4 results a thread take 7.81 ms
     * on an H200, 3.5 for the products and 4.2 for what they load. */
    p->cost->compute_s = stages * (issue + shared) * turns;
    p->cost->shared_s = stages * shared * turns;
    p->cost->latency_s = stages * (tile_wait_clocks(p) + issue) * waves;
}
