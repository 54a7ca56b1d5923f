/*
 * The terms of a tile: a block computes a part of a product, stage by stage along K.
 */
#include <math.h>

#include "base/num.h"

#include "solver/cost/cost_int.h"

enum { WARP = 32, STAGE_UNROLL = 4 };

/* TUNING: guessed: instructions of staging an element through registers. */
static const double stage_instructions = 20;

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
    double lanes = cost_lanes(m), cores = wide && f64 > 0 ? f64 : lanes;
    double products = (double)(f->block[SIDE_M] * f->block[SIDE_N] * f->block[SIDE_K]);
    double sums = (double)(f->block[SIDE_M] * f->block[SIDE_N]);
    double stage = 0;
    for (int i = 0; i < 2; i++) {
        double elements = (double)(f->block[i == 0 ? SIDE_M : SIDE_N] * f->block[SIDE_K]);
        stage +=
            elements * (stage_instructions + cost_division_instructions * (double)f->divisions[i]);
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
    return groups * cost_load_clocks;
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
