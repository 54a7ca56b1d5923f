/*
 * How far blocks hide each other's waits: bytes in flight, without a constant for them.
 *
 * An SM is a closed queueing network.  Its customers are what runs on by itself: whole blocks where
 * a barrier or the turn of the next block ties their warps together, else warps.  Each in turn
 * waits for its loads and trees (a delay, nobody is in the way), moves its bytes (one station, the
 * SM's share of DRAM and L2) and issues its instructions (another, of several schedulers, of which
 * it keeps a few busy: what it takes longer for that is a delay too, as Seidmann, Schweitzer and
 * Shalev-Oren 1987 have it).  Mean value analysis, exact
 * for such networks, gives what n customers get done from what n - 1 do (Reiser and Lavenberg
 * 1980):
 *
 *     time at a station = service * (1 + customers found there)
 *     rate              = n / (delay + sum of times at stations)
 *     customers found   = rate * time at the station
 *
 * With many customers the busiest station is the limit, with few the delay is: Little's law, bytes
 * in flight = latency x rate, is both ends of it, and in between neither is reached.
 *
 * Invariant: never less than what any station is busy for.
 */
#include <math.h>

#include "base/num.h"

#include "solver/cost/cost_int.h"

enum { STATIONS = 2, WARP = 32 };

/* TUNING: least squares, as in cost_issue.c: clocks from one instruction of a warp to its next.
 * Four is what it takes when each needs the one before, and guards leave a thread little else. */
static const double issue_clocks = 4.27;
/* TUNING: least squares, as in cost_issue.c: a block's warps are as good as this power of them that
 * run on by themselves, where barriers tie them together and where only the block's end does. */
static const double held_ties = 0.292, map_ties = 0.525;
/* TUNING: from gelu_tanh with 32 and with 64 threads, 319 and 162 us for 524288 and 262144 blocks:
 * clocks from the start of one block to that of the next, of the whole machine. */
static const double dispatch_clocks = 1.18;

/* How much longer than on all of the SM's schedulers a customer's instructions take on those that
 * its own warps keep busy. */
static double narrowness(const struct machine *machine, double warps)
{
    double schedulers = cost_lanes(machine) / WARP;
    return fmax(schedulers * issue_clocks / warps, 1);
}

/* Seconds a customer, with so many at a time. */
static double seconds_each(const double *service, double delay, int64_t customers)
{
    double found[STATIONS] = {0}, each = 0;
    for (int64_t n = 1; n <= customers; n++) {
        double at[STATIONS], whole = delay;
        for (int i = 0; i < STATIONS; i++) {
            at[i] = service[i] * (1 + found[i]);
            whole += at[i];
        }
        each = whole / (double)n;
        for (int i = 0; i < STATIONS && each > 0; i++)
            found[i] = at[i] / each;
    }
    return each;
}

static double customers_of_block(const struct customers *c)
{
    double warps = (double)num_ceil_div(c->threads, WARP);
    const double powers[TIES_COUNT] = {
        [TIES_NONE] = 1, [TIES_MAPS] = map_ties, [TIES_HELD] = held_ties};
    return pow(warps, powers[c->ties]);
}

double cost_contended_s(const struct machine *machine, const struct customers *c)
{
    double warps = (double)num_ceil_div(c->threads, WARP), of_block = customers_of_block(c);
    int64_t sms = c->blocks < machine->sm_count ? c->blocks : machine->sm_count;
    int64_t on_one = num_ceil_div(c->blocks, sms);
    int64_t at_once = on_one < c->blocks_per_sm ? on_one : c->blocks_per_sm;
    double part = (double)sms / ((double)c->blocks * of_block);
    const double service[STATIONS] = {c->memory_s * part, c->compute_s * part};
    double alone = service[1] * (narrowness(machine, warps / of_block) - 1);
    double each =
        seconds_each(service, c->delay_s + alone, (int64_t)((double)at_once * of_block + 0.5));
    double dispatch = (double)c->blocks * dispatch_clocks / machine->clock_hz;
    return fmax(fmax(each * (double)on_one * of_block, dispatch), fmax(c->memory_s, c->compute_s));
}
