/*
 * The terms of a chain, of two products or of one and its row statistics.
 *
 * A block goes along the shared index in steps.  Each step has the products (at the rate of the
 * CUDA or the tensor cores), an exponential and a few more instructions a score, operands out of
 * shared memory, and the staging of two tiles; without a pipeline a step also waits for its loads.
 * Rows and results go through memory once, the other two factors once a block, through L2; where L2
 * does not hold one, once for all blocks that run at a time.  Scores never do.
 *
 * Of one product: rows whose factor is not whole in a block have it staged in every step, like the
 * other one; a second pass makes the scores again; held ones go to shared memory and back.
 *
 * Steps that no row of a block reaches are left out where the spec's own reductions end by a row's
 * index; terms under any other mask are not: no kernel is obliged to.  No kernel of ours is a chain
 * yet: constants are from published kernels or guesses; cost_tile's where the same
 * instructions are meant.
 */
#include <math.h>

#include "base/num.h"

#include "solver/cost/cost_int.h"

enum { WARP = 32, SHARED_BYTES_A_CLOCK = 128, SPECIALS_A_CLOCK = 16, ASYNC_BYTES = 16 };

/* TUNING: instructions of a score beside products and exponential (see cost_mma_rate); guessed: of
 * staging an element through registers (as in a tile) and of 16 bytes without them. */
static const double score_instructions = 6, stage_instructions = 20, async_instructions = 12;

/* Multiply-accumulates a clock of an SM. */
static double products_a_clock(const struct pricing *p)
{
    const struct machine *m = p->machine;
    const struct footprint *f = &p->footprint;
    double rate = m->rates[MACHINE_RATE_F32];
    if (f->element_bytes == 8 && m->rates[MACHINE_RATE_F64] > 0)
        rate = m->rates[MACHINE_RATE_F64];
    if (f->mma)
        rate = cost_mma_rate(m, p->region->precision, false);
    return rate / (2 * (double)m->sm_count * m->clock_hz);
}

static bool rows_stay(const struct footprint *f)
{
    return f->block[SIDE_K] >= f->extent[SIDE_K];
}

/* Elements that a step brings to shared memory. */
static double staged_elements(const struct footprint *f)
{
    double k = (double)f->extent[SIDE_K];
    double steps = (double)f->block[SIDE_N] * (k + (double)f->columns);
    return steps + (rows_stay(f) ? 0 : (double)f->block[SIDE_M] * k);
}

/* Of one step of a block, in clocks of the whole SM. */
static double step_issue_clocks(const struct pricing *p)
{
    const struct footprint *f = &p->footprint;
    double scores = (double)(f->block[SIDE_M] * f->block[SIDE_N]);
    double products = scores * (double)(f->extent[SIDE_K] + f->columns);
    double staged = staged_elements(f);
    double staging = f->depth > 1
                         ? staged * (double)f->element_bytes / ASYNC_BYTES * async_instructions
                         : staged * stage_instructions;
    return products / products_a_clock(p) + (f->online ? scores / SPECIALS_A_CLOCK : 0) +
           (scores * score_instructions + staging) / cost_lanes(p->machine);
}

/* Held scores, written and read; of 4 bytes, or 8 as their factors. */
static double held_clocks(const struct footprint *f)
{
    double bytes = f->element_bytes == 8 ? 8 : 4;
    double scores = (double)(f->block[SIDE_M] * f->block[SIDE_N]);
    return f->held > 0 ? 2 * scores * bytes / SHARED_BYTES_A_CLOCK : 0;
}

/* CUDA cores: loads of four words a lane take two turns, as in a tile.  Tensor cores: each warp
 * reads both tiles of the step, and where there is no second product its rows' factor. */
static double operand_clocks(const struct pricing *p)
{
    const struct footprint *f = &p->footprint;
    double warps = (double)num_ceil_div(f->threads, WARP);
    double k = (double)f->extent[SIDE_K], n = (double)f->block[SIDE_N];
    double own = f->columns > 0 ? 0 : (double)f->thread[SIDE_M] * k;
    if (f->mma)
        return warps * (n * (k + (double)f->columns) + own) * (double)f->element_bytes /
               SHARED_BYTES_A_CLOCK;
    int64_t sharing = num_ceil_div(f->block[SIDE_N], f->thread[SIDE_N]);
    double rows = (double)num_ceil_div(f->thread[SIDE_M], 4);
    double scores = (double)num_ceil_div(f->thread[SIDE_N], 4);
    double columns = (double)num_ceil_div(num_ceil_div(f->columns, sharing), 4);
    return warps * (k * (rows + scores) + n * (rows + columns)) * 2 * (double)f->element_bytes / 4;
}

/* Of a block in one pass over the scores: where a triangular mask leaves steps out, on average. */
static double steps_of(const struct footprint *f)
{
    return (double)f->steps / (double)num_ceil_div(f->extent[SIDE_M], f->block[SIDE_M]);
}

/* The part of the shared index that a block reads. */
static double part_of_index(const struct footprint *f)
{
    return steps_of(f) / (double)num_ceil_div(f->extent[SIDE_N], f->block[SIDE_N]);
}

/* What DRAM gives more than once: the factors along the shared index, to each set of blocks that
 * run at a time and in each pass, and rows that do not stay in a block, in each step. */
static double reread_bytes(const struct pricing *p)
{
    const struct footprint *f = &p->footprint;
    const struct machine *m = p->machine;
    double word = (double)f->element_bytes, k = (double)f->extent[SIDE_K];
    double batch = (double)f->extent[SIDE_BATCH], passes = (double)f->passes;
    double at_once = (double)(m->sm_count * p->cost->blocks_per_sm);
    double down = (double)num_ceil_div(f->extent[SIDE_M], f->block[SIDE_M]);
    double rows = (double)f->extent[SIDE_M] * k * word;
    double along = (double)f->extent[SIDE_N] * (k + (double)f->columns) * word;
    double at_hand = rows * batch * fmin(1, at_once / (double)f->blocks), again = 0;
    if (!cost_stays_in_l2(m, along))
        again += batch * along * (passes * fmax(down / at_once, 1) - 1);
    if (!rows_stay(f) && !cost_stays_in_l2(m, at_hand))
        again += batch * rows * (passes * steps_of(f) - 1);
    return again;
}

static void chain_traffic(const struct pricing *p)
{
    const struct footprint *f = &p->footprint;
    double word = (double)f->element_bytes, again = reread_bytes(p);
    double along =
        part_of_index(f) * (double)f->extent[SIDE_N] * (double)(f->extent[SIDE_K] + f->columns);
    double rows =
        rows_stay(f) ? 0 : steps_of(f) * (double)f->block[SIDE_M] * (double)f->extent[SIDE_K];
    double through_l2 = (double)f->blocks * (double)f->passes * (along + rows) * word;
    p->cost->bytes += through_l2;
    p->cost->memory_s = fmax(p->cost->memory_s + again / cost_dram_rate(p->machine),
                             through_l2 / cost_l2_rate(p->machine));
}

/* The part of an SM's cores that its blocks' warps keep busy: a warp begins 32 lanes a clock. */
static double busy_share(const struct pricing *p)
{
    const struct footprint *f = &p->footprint;
    int64_t blocks = num_ceil_div(f->blocks, p->machine->sm_count);
    if (blocks > p->cost->blocks_per_sm)
        blocks = p->cost->blocks_per_sm;
    return fmin(1, (double)(blocks * f->threads) / cost_lanes(p->machine));
}

void cost_chain(struct pricing *p)
{
    const struct footprint *f = &p->footprint;
    const struct machine *m = p->machine;
    int64_t at_once = m->sm_count * p->cost->blocks_per_sm;
    int64_t full = f->blocks / at_once, rest = f->blocks % at_once;
    double longest = (double)(num_ceil_div(f->extent[SIDE_N], f->block[SIDE_N]) * f->passes);
    double steps = steps_of(f) * (double)f->passes;
    double turns = (double)(full * p->cost->blocks_per_sm + num_ceil_div(rest, m->sm_count));
    double waves = (double)(full + (rest > 0));
    double issue = step_issue_clocks(p) / busy_share(p),
           shared = operand_clocks(p) + held_clocks(f);
    double stages = (double)num_ceil_div(f->extent[SIDE_K], f->block[SIDE_K]);
    double wait = stages * (f->depth > 1 ? cost_load_clocks / (double)f->depth : cost_load_clocks);
    chain_traffic(p);
    /* CUDA cores wait for their operands, as in a tile; tensor cores leave the warps free for it.
     */
    double step = f->mma ? fmax(issue, shared) : issue + shared;
    /* Blocks share the mean of their steps where many take turns, but none waits for less than the
     * longest. */
    double taken = fmax(steps * turns, longest);
    p->cost->compute_s = taken * step / m->clock_hz;
    p->cost->shared_s = taken * shared / m->clock_hz;
    p->cost->latency_s = fmax(steps * waves, longest) * (wait + issue) / m->clock_hz;
}
