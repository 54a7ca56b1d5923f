/*
 * The terms of a tile: a block computes a part of a product, stage by stage along K.
 *
 * On CUDA cores, single elements through registers, one stage, sums in one block: as the realiser
 * writes it and as measured (headline.jsonl).  What plans for a model have besides is priced from
 * the instructions it takes and gives, not measured:
 *   accesses of several elements   fewer instructions and divisions an element, fewer waits
 *   copies without registers       fewer instructions, in flight while products run
 *   depth                          a stage waits for loads that began depth - 1 stages before
 *   split                          more blocks, fewer stages each; parts through a workspace
 *   tensor cores                   products at their rate, while warps are free for the rest
 */
#include <math.h>

#include "base/num.h"

#include "solver/cost/cost_int.h"

enum { WARP = 32, STAGE_UNROLL = 4, SHARED_BYTES_A_CLOCK = 128, SUM_BYTES = 4 };

/* TUNING: guessed: instructions of an access of a stage through registers, and of each element that
 * it stores; of an asynchronous copy; of cutting an element into bf16 parts. */
static const double access_instructions = 16, store_instructions = 4, copy_instructions = 12;
static const double parts_instructions = 6;
/* TUNING: part of the tensor rate that mma.sync reaches with operands at hand: nearly all up
 * to 8.x, not so from 9.0 on, where the rate is wgmma's.  With score_instructions of a chain set to
 * meet what FlashAttention-2 reaches in bf16 at head size 128 and 2048 keys: 362 Tflop/s on an H100
 * (figure 5 of the FlashAttention-3 paper, arXiv:2407.08608).  Guessed: of a warp group (matrix
 * products of CUTLASS in bf16 on an H100 come to about 800 of 989 Tflop/s). */
static const double mma_share_before_90 = 0.9, mma_share_from_90 = 0.6, wgmma_share = 0.8;

double cost_mma_rate(const struct machine *machine, enum compute compute, bool group)
{
    double share = group                      ? wgmma_share
                   : machine->capability < 90 ? mma_share_before_90
                                              : mma_share_from_90;
    return mma_rate(machine, compute) * share;
}

/* ---- traffic ---- */

/* Parts of sums: written once, read once. */
static double workspace_s(const struct pricing *p)
{
    const struct footprint *f = &p->footprint;
    const double bytes = 2 * (double)f->workspace_bytes;
    return bytes / (cost_stays_in_l2(p->machine, (double)f->workspace_bytes)
                        ? cost_l2_rate(p->machine)
                        : cost_dram_rate(p->machine));
}

/* Bytes of a factor's element in memory: on CUDA cores those of the sum, as measured. */
static double word_of(const struct footprint *f)
{
    return f->mma && f->factor_bytes < f->element_bytes ? (double)f->factor_bytes
                                                        : (double)f->element_bytes;
}

/* Blocks go along N first: a row of them reads all of the second factor. */
static double tile_traffic_s(const struct pricing *p)
{
    const struct footprint *f = &p->footprint;
    const struct machine *m = p->machine;
    double word = word_of(f), k = (double)f->extent[SIDE_K];
    double side = (double)(f->block[SIDE_M] + f->block[SIDE_N]);
    double second = (double)f->extent[SIDE_N] * k * word;
    double across = (double)num_ceil_div(f->extent[SIDE_N], f->block[SIDE_N]);
    double at_once = (double)(m->sm_count * p->cost->blocks_per_sm) / across;
    double down = (double)num_ceil_div(f->extent[SIDE_M], f->block[SIDE_M]);
    double rereads = cost_stays_in_l2(m, second) ? 0 : fmax(down / fmax(at_once, 1) - 1, 0);
    double of_k = k / (double)f->split;
    double l2_s = (double)f->blocks * side * of_k * word / cost_l2_rate(m);
    double again = rereads * second * (double)f->extent[SIDE_BATCH];
    p->cost->bytes += again + 2 * (double)f->workspace_bytes;
    return fmax(l2_s, p->cost->memory_s + again / cost_dram_rate(m)) + workspace_s(p);
}

/* ---- one stage of a block, in clocks of the whole SM ---- */

static double product_clocks(const struct pricing *p)
{
    const struct footprint *f = &p->footprint;
    const struct machine *m = p->machine;
    double sms = (double)m->sm_count * m->clock_hz;
    double products = (double)(f->block[SIDE_M] * f->block[SIDE_N] * f->block[SIDE_K]);
    double sums = (double)(f->block[SIDE_M] * f->block[SIDE_N]);
    double f64 = m->rates[MACHINE_RATE_F64] / (2 * sms);
    double cores = f->element_bytes == 8 && f64 > 0 ? f64 : cost_lanes(m);
    if (!f->mma)
        return (products + sums) / cores;
    bool group = f->shape != NULL && f->shape->threads > WARP;
    return products / (cost_mma_rate(m, p->region->precision, group) / (2 * sms));
}

/* Of bringing one factor's part of a stage, in instructions of lanes. */
static double feed_instructions(const struct footprint *f, int which)
{
    const struct footprint_factor *own = &f->factor[which];
    double elements = (double)(f->block[which == 0 ? SIDE_M : SIDE_N] * f->block[SIDE_K]);
    double vector = own->tensor == OP_NONE ? 1 : (double)f->vector;
    double access = cost_division_instructions * (double)f->divisions[which];
    if (own->staging == STAGE_ASYNC)
        return elements / vector * (access + copy_instructions);
    return elements * ((access + access_instructions) / vector + store_instructions);
}

static double parts_clocks(const struct pricing *p)
{
    const struct footprint *f = &p->footprint;
    double warps = (double)num_ceil_div(f->threads, WARP);
    double sides = (double)(f->thread[SIDE_M] * WARP / MMA_LANES_ACROSS +
                            f->thread[SIDE_N] * MMA_LANES_ACROSS);
    if (!f->mma || mma_products(p->region->precision) == 1)
        return 0;
    return warps * sides * (double)f->block[SIDE_K] * parts_instructions / cost_lanes(p->machine);
}

static double tile_issue_clocks(const struct pricing *p)
{
    double feed = feed_instructions(&p->footprint, 0) + feed_instructions(&p->footprint, 1);
    return product_clocks(p) + feed / cost_lanes(p->machine) + parts_clocks(p);
}

/* CUDA cores: a warp's load of four words a lane takes two turns: neighbours in one row read the
 * same.  Tensor cores: each warp, or each instruction of a warp group, reads its rows and columns.
 */
static double tile_shared_clocks(const struct pricing *p)
{
    const struct footprint *f = &p->footprint;
    double warps = (double)num_ceil_div(f->threads, WARP), k = (double)f->block[SIDE_K];
    double loads =
        (double)(num_ceil_div(f->thread[SIDE_M], 4) + num_ceil_div(f->thread[SIDE_N], 4));
    if (!f->mma || f->shape == NULL)
        return warps * k * loads * 2 * (double)f->element_bytes / 4;
    double down = (double)(f->thread[SIDE_M] * mma_lanes_down(f->shape));
    double across = (double)(f->thread[SIDE_N] * MMA_LANES_ACROSS);
    double groups = (double)num_ceil_div(f->threads, f->shape->threads);
    return groups * (down + across) * k * (double)f->factor_bytes / SHARED_BYTES_A_CLOCK;
}

/* For loads that nothing else goes on beside. */
static double tile_wait_clocks(const struct pricing *p)
{
    const struct footprint *f = &p->footprint;
    double groups = 0;
    for (int i = 0; i < 2; i++) {
        int64_t elements = f->block[i == 0 ? SIDE_M : SIDE_N] * f->block[SIDE_K];
        int64_t vector = f->factor[i].tensor == OP_NONE ? 1 : f->vector;
        int64_t loads = num_ceil_div(elements, f->threads * vector);
        groups += (double)num_ceil_div(loads, STAGE_UNROLL);
    }
    return groups * cost_load_clocks;
}

/* A block that is alone on its SM: with a pipeline it waits where its loads take longer than the
 * stages that they were begun before. */
static double stage_latency_clocks(const struct pricing *p, double issue)
{
    const int64_t depth = p->footprint.depth;
    return depth > 1 ? fmax(issue, cost_load_clocks / (double)(depth - 1))
                     : tile_wait_clocks(p) + issue;
}

void cost_tile(struct pricing *p)
{
    const struct footprint *f = &p->footprint;
    const struct machine *m = p->machine;
    int64_t at_once = m->sm_count * p->cost->blocks_per_sm;
    int64_t full = f->blocks / at_once, rest = f->blocks % at_once;
    int64_t all_stages = num_ceil_div(f->extent[SIDE_K], f->block[SIDE_K]);
    double stages = (double)num_ceil_div(all_stages, f->split) / m->clock_hz;
    double issue = tile_issue_clocks(p);
    double turns = (double)(full * p->cost->blocks_per_sm + num_ceil_div(rest, m->sm_count));
    double waves = (double)(full + (rest > 0));
    double shared = tile_shared_clocks(p);
    double fill = f->depth > 1 ? cost_load_clocks / m->clock_hz : 0; /* of the pipeline */
    p->cost->memory_s = tile_traffic_s(p);
    /* Products on CUDA cores wait for their operands: tiles of 64 x 64 with 2 x 4 results a thread
     * take 7.81 ms on an H200, 3.5 for the products and 4.2 for what they load. */
    p->cost->compute_s = stages * (f->mma ? fmax(issue, shared) : issue + shared) * turns;
    p->cost->shared_s = stages * shared * turns;
    p->cost->latency_s = (stages * stage_latency_clocks(p, issue) + fill) * waves;
}
