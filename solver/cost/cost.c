/*
 * Cost of plans: a roofline a region, with what keeps real kernels below it.
 *
 *   memory    bytes from DRAM, reads and writes each at a part of its peak rate, or from L2 where
 *             something reads again; in whole sectors (cost_sectors.c)
 *   compute   instructions, on the SMs that have some of the blocks
 *   shared    operands of tiles out of shared memory; lines out of the L1, which is the same unit
 *   latency   what a block waits for by itself, with as many blocks at once as an SM holds
 * A region is busy for the largest of these or longer, as blocks hide each other's waits well or
 * badly (cost_wait.c; tiles and chains do for themselves), after the start of its kernels.
 *
 * Tensors between regions are the edges' matter: written and read once through L2 or DRAM.  So the
 * cost of a plan is a sum of terms of one region and terms of two, which is what solvers need.  A
 * kernel overlaps that traffic with the rest all the same: a region is priced with all its bytes,
 * and what edges charge for them is taken off.  It is known from the op alone: whatever a region
 * reads or leaves goes through global memory.  What two regions choose together is the direction of
 * their walks (cost_walk.c).
 *
 * Constants marked TUNING are fitted to kernels of ours on an H200, cold, in tests/gpu/results;
 * tests/integration/test_cost_table.c says to which, and holds the model to all the others: mean
 * |log(predicted / measured)| 0.076 over the 100 that were fitted, 0.068 over the 81 that were not.
 * Most are plans from all over the space of an op, good and bad; of those it takes for best one
 * that is 0.5 % slower than the best measured, on average over 11 ops, and 2.3 % at worst. Farthest
 * off, by 0.6, are streamed rows in two or more steps of 512 and 1024 threads.  Other machines
 * differ by the numbers of their files alone.  Not here: bank conflicts, clocks under load, tensor
 * cores, the shorter way to L2 where a kernel finds all it reads there.
 */
#include <math.h>

#include "base/num.h"
#include "base/panic.h"

#include "solver/cost/cost_int.h"

static const char *const limiter_names[] = {
#define X(id, text) text,
    COST_LIMITERS(X)
#undef X
};

const char *cost_limiter_name(enum cost_limiter limiter)
{
    ASSERT((size_t)limiter < COUNT_OF(limiter_names));
    return limiter_names[limiter];
}

/* TUNING: parts of the DRAM's peak rate, from kernels that are not ours, over gigabytes on an H200:
 * PyTorch's compiled losses, which read 8.6 GB and write nothing, 4.48 TB/s; its pointwise
 * functions, half reads, 4.25 TB/s.  A bus that turns round between the two loses time, which is
 * the writes' here. */
static const double read_share = 0.933, write_share = 0.842;
/* TUNING: what is left of walk_pair in tests/gpu/results/joint.jsonl at no bytes: the start of a
 * cold launch between two events; the kernels behind it start at the machine's launch_s. */
static const double start_s = 3.2e-6;
/* TUNING: least squares, as in cost_issue.c, 34 the most that was let: bytes an SM gets from L2 in
 * a clock [gemv, whose second factor each row reads again: 253 us for 2 GB].  What comes from DRAM
 * comes through L2, so few SMs do not draw all that memory could give. */
static const double l2_bytes_a_clock = 34;

double cost_dram_rate(const struct machine *machine)
{
    return fmin(machine->dram_bytes_per_s * read_share, cost_l2_rate(machine));
}

double cost_write_rate(const struct machine *machine)
{
    return fmin(machine->dram_bytes_per_s * write_share, cost_l2_rate(machine));
}

double cost_l2_rate(const struct machine *machine)
{
    return l2_bytes_a_clock * (double)machine->sm_count * machine->clock_hz;
}

bool cost_stays_in_l2(const struct machine *machine, double bytes)
{
    return bytes <= machine_l2_holds(machine);
}

double cost_carry_s(const struct machine *machine, double bytes, bool writes)
{
    if (cost_stays_in_l2(machine, bytes))
        return bytes / cost_l2_rate(machine);
    return bytes / (writes ? cost_write_rate(machine) : cost_dram_rate(machine));
}

/* ---- edges ---- */

static bool first_of_tensor(const struct plan *plan, size_t edge)
{
    for (size_t i = 0; i < edge; i++)
        if (str_equal(plan->edges[i].tensor, plan->edges[edge].tensor))
            return false;
    return true;
}

/* An output is written by its region anyway; a temporary by the first edge that it goes along.
 * Whatever the edge says: plan_limits refuses all but global memory, and nothing is free. */
void cost_edge(const struct plan *plan, size_t edge, const struct bound_op *bound,
               const struct machine *machine, struct edge_cost *out)
{
    const struct plan_edge *e = &plan->edges[edge];
    size_t tensor = op_tensor_find(bound->op, e->tensor);
    *out = (struct edge_cost){0, 0};
    if (tensor == OP_NONE)
        return;
    double bytes = (double)bound->tensors[tensor].bytes;
    bool writes = bound->op->tensors[tensor].temporary && first_of_tensor(plan, edge);
    out->bytes = writes ? 2 * bytes : bytes;
    out->seconds = cost_carry_s(machine, bytes, false);
    if (writes)
        out->seconds += cost_carry_s(machine, bytes, true);
    if (cost_stays_in_l2(machine, bytes))
        return;
    double found = cost_found_bytes(plan, e, tensor, bound, machine);
    out->seconds -= found / cost_dram_rate(machine) - found / cost_l2_rate(machine);
}

bool cost_edge_varies(const struct bound_op *bound, size_t tensor, const struct machine *machine)
{
    return !cost_stays_in_l2(machine, (double)bound->tensors[tensor].bytes);
}

/* ---- regions ---- */

static void conclude(struct region_cost *cost)
{
    const double terms[] = {cost->memory_s, cost->compute_s, cost->shared_s, cost->latency_s};
    double most = terms[0];
    cost->limiter = COST_MEMORY;
    for (size_t i = 1; i < COUNT_OF(terms); i++)
        if (terms[i] > most) {
            most = terms[i];
            cost->limiter = (enum cost_limiter)i;
        }
    cost->busy_s = fmax(cost->busy_s, most);
    cost->seconds = cost->launch_s + cost->busy_s - cost->carried_s;
}

void cost_region(struct arena *arena, const struct plan *plan, size_t region,
                 const struct bound_op *bound, const struct machine *machine,
                 struct region_cost *out)
{
    const char *why;
    struct region_cost cost = {.seconds = 0};
    struct pricing p = {.arena = arena,
                        .bound = bound,
                        .machine = machine,
                        .region = &plan->regions[region],
                        .cost = &cost};
    ASSERT(footprint_of(arena, p.region, bound, &p.footprint, &why));
    const struct footprint *f = &p.footprint;
    p.tensors = region_tensors(arena, bound->op, p.region);
    cost.blocks = f->blocks;
    cost.blocks_per_sm =
        machine_blocks_per_sm(machine, f->threads, cost_registers(&p), f->shared_bytes);
    if (cost.blocks_per_sm < 1) /* the compiler will spill to make it fit */
        cost.blocks_per_sm = 1;
    cost.waves = (double)f->blocks / (double)(machine->sm_count * cost.blocks_per_sm);
    cost.launch_s = (double)f->kernels * machine->launch_s + (region == 0 ? start_s : 0);
    cost_traffic(&p);
    switch (f->kind) {
    case FOOTPRINT_ELEMENTS:
        cost_elements(&p);
        break;
    case FOOTPRINT_MAPS:
    case FOOTPRINT_ROWS:
        cost_rows(&p);
        break;
    case FOOTPRINT_TILE:
        cost_tile(&p);
        break;
    case FOOTPRINT_CHAIN:
        cost_chain(&p);
        break;
    }
    conclude(&cost);
    *out = cost;
}

void cost_plan(struct arena *arena, const struct plan *plan, const struct bound_op *bound,
               const struct machine *machine, struct plan_cost *out)
{
    struct region_cost *regions = arena_array(arena, struct region_cost, plan->region_count + 1);
    struct edge_cost *edges = arena_array(arena, struct edge_cost, plan->edge_count + 1);
    double seconds = 0;
    for (size_t i = 0; i < plan->region_count; i++) {
        cost_region(arena, plan, i, bound, machine, &regions[i]);
        seconds += regions[i].seconds;
    }
    for (size_t i = 0; i < plan->edge_count; i++) {
        cost_edge(plan, i, bound, machine, &edges[i]);
        seconds += edges[i].seconds;
    }
    *out = (struct plan_cost){seconds, regions, plan->region_count, edges, plan->edge_count};
}
