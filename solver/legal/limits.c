/*
 * Hard limits: the footprint of each region against the machine.
 *
 * Some limits are the hardware's (threads, shared memory, registers, grid), some those of the
 * kernels that plans are realised as (a row's warps are a power of two, a thread's results come in
 * fours).  Where a vector does not divide a row, or an address, the kernel falls back to single
 * elements: such a plan does not do what it says, and is refused too.
 */
#include "solver/legal/limits.h"

#include "base/num.h"
#include "base/panic.h"

#include "solver/legal/state.h"

enum {
    LINES_MAX = 40,       /* of one region */
    ACCESS_BYTES = 16,    /* of one load or store instruction */
    ITEMS_MAX = 64,       /* TUNING: more elements a thread are not kept in registers */
    TILE_SIDE_MAX = 256,  /* what the realiser prints */
    TILE_OWN_MAX = 16,    /* what the realiser prints */
    TILE_LANES = 4,       /* a thread's rows lie in groups of four */
    GRID_MAX = INT32_MAX, /* blocks along x, on any machine since 3.0 */
    WARP = 32,
    SHARED_STATIC_MAX = 48 << 10, /* without opting in; what the realiser declares is static */
    PIPELINE_MAX = 32,            /* as plans are read */
    CAPABILITY_ASYNC = 80,        /* cp.async */
    CAPABILITY_MMA = 80           /* tensor cores for tf32 and bf16 */
};

static const char *const limit_texts[] = {
#define X(id, text) text,
    LIMITS(X)
#undef X
};

const char *limit_text(enum limit limit)
{
    ASSERT((size_t)limit < COUNT_OF(limit_texts));
    return limit_texts[limit];
}

struct check {
    struct arena *arena;
    const struct bound_op *bound;
    const struct machine *machine;
    const struct plan *plan;
    const struct plan_region *region;
    size_t index;
    const bool *state; /* NULL: not known */
    struct footprint footprint;
    struct limit_line *lines;
    size_t count;
    const char *why;
};

static void add(struct check *c, enum limit limit, int64_t value, int64_t most)
{
    c->lines[c->count++] = (struct limit_line){c->index, limit, value, most};
}

/* ---- kinds ---- */

/* Results of CUDA cores: a thread's rows lie in groups. */
static void check_register_tile(struct check *c)
{
    const struct footprint *f = &c->footprint;
    int64_t own = 0, rest = 0;
    for (int i = SIDE_M; i < SIDE_COUNT; i++) {
        bool lanes = f->thread[i] <= TILE_LANES || f->thread[i] % TILE_LANES == 0;
        own = f->thread[i] > own ? f->thread[i] : own;
        rest += f->block[i] % f->thread[i] + (lanes ? 0 : f->thread[i] % TILE_LANES);
    }
    add(c, LIMIT_TILE_OWN, own, TILE_OWN_MAX);
    add(c, LIMIT_TILE_REST, rest, 0);
}

/* Layouts of shared memory that the instruction does not read.  A warp group's comes in swizzled
 * rows.  Of 16-bit types it may run along either side, of wider ones along K alone (PTX ISA,
 * wgmma.mma_async, imm-trans-b): there a copy of several elements cannot turn a factor that lies
 * along M or N, while through registers, or by single elements, it can be. */
static int64_t odd_layouts(const struct check *c)
{
    const struct footprint *f = &c->footprint;
    int64_t odd = !str_equal(c->region->layout, STR_LIT(LAYOUT_SWIZZLED));
    for (int i = 0; i < 2; i++)
        odd += f->factor_bytes > 2 && f->factor[i].staging == STAGE_ASYNC &&
               !f->factor[i].along_k && f->vector > 1;
    return f->shape->threads > WARP ? odd : 0;
}

static void check_mma_tile(struct check *c)
{
    const struct footprint *f = &c->footprint;
    const struct mma_shape *shape = f->shape;
    const bool known = shape != NULL && c->machine->capability <= shape->capability_most &&
                       mma_rate(c->machine, c->region->precision) > 0;
    add(c, LIMIT_MMA_SHAPE, !known, 0);
    if (shape == NULL)
        return;
    const int64_t down = f->thread[SIDE_M] * mma_lanes_down(shape);
    const int64_t across = f->thread[SIDE_N] * MMA_LANES_ACROSS;
    const int64_t rest = down % shape->m + across % c->region->mma[1] + f->block[SIDE_M] % down +
                         f->block[SIDE_N] % across + f->block[SIDE_K] % shape->k +
                         f->threads % shape->threads;
    add(c, LIMIT_MMA_REST, rest, 0);
    add(c, LIMIT_MMA_LAYOUT, odd_layouts(c), 0);
}

/* Bits of a factor that the track allows to be lost, and what the region's products keep.  f16 has
 * the bits of tf32 but not its range.  What the precision holds loses nothing on any track:
 * products of 16-bit data are exact. */
static void check_precision(struct check *c)
{
    static const int64_t bits[] = {[COMPUTE_F64] = 53,
                                   [COMPUTE_F32] = 24,
                                   [COMPUTE_TF32] = 11,
                                   [COMPUTE_F16] = 11,
                                   [COMPUTE_BF16] = 8};
    const enum compute own = c->region->precision;
    const struct track *track;
    if (!op_track_find(c->bound->op, c->plan->track, &track))
        track = &c->bound->op->tracks[0];
    const bool range = own != COMPUTE_F16 || track->compute == COMPUTE_F16;
    const bool exact = c->footprint.factor[0].exact && c->footprint.factor[1].exact;
    const int64_t lost = bits[track->compute] - bits[own];
    if (exact) {
        add(c, LIMIT_PRECISION, 0, 0);
        return;
    }
    add(c, LIMIT_PRECISION, !range ? bits[track->compute] : lost > 0 ? lost : 0, 0);
}

static void check_pipeline(struct check *c)
{
    const struct footprint *f = &c->footprint;
    const int64_t stages = num_ceil_div(f->extent[SIDE_K], f->block[SIDE_K]);
    const int64_t of_block = num_ceil_div(stages, f->split);
    int64_t most = PIPELINE_MAX, odd = 0;
    bool async = false, ahead = false;
    for (int i = 0; i < 2; i++) {
        const int64_t bytes = f->factor[i].copy_bytes;
        async |= f->factor[i].staging == STAGE_ASYNC;
        ahead |= f->factor[i].staging == STAGE_REGISTER;
        odd += f->factor[i].staging == STAGE_ASYNC && bytes != 4 && bytes != 8 && bytes != 16;
    }
    most = async ? most : ahead ? 2 : 1;
    add(c, LIMIT_SPLIT, f->split, stages > 1 ? stages : 1);
    add(c, LIMIT_DEPTH, f->depth, of_block > 1 ? of_block : 1);
    add(c, LIMIT_STAGING, f->depth, most);
    add(c, LIMIT_COPY_BYTES, odd, 0);
}

/* Accesses of several elements to factors. */
static void check_factors(struct check *c)
{
    const struct footprint *f = &c->footprint;
    const bool computed = f->factor[0].tensor == OP_NONE && f->factor[1].tensor == OP_NONE;
    int64_t bytes = 1, wanted = 1, align = ACCESS_BYTES;
    int64_t rest = computed ? f->vector - 1 : 0; /* nothing to access so */
    for (int i = 0; i < 2; i++) {
        const struct footprint_factor *own = &f->factor[i];
        if (own->tensor == OP_NONE || f->vector == 1)
            continue;
        bytes = own->copy_bytes > bytes ? own->copy_bytes : bytes;
        rest += own->contiguous % f->vector + own->line % f->vector;
        if (own->copy_bytes * align > wanted * own->align) {
            wanted = own->copy_bytes;
            align = own->align;
        }
    }
    add(c, LIMIT_VECTOR_BYTES, bytes, ACCESS_BYTES);
    add(c, LIMIT_VECTOR_REST, rest, 0);
    add(c, LIMIT_VECTOR_ALIGN, wanted, align);
}

static void check_tile(struct check *c)
{
    const struct footprint *f = &c->footprint;
    int64_t side = 0, apart = f->threads - c->region->threads[0];
    for (int i = SIDE_M; i < SIDE_COUNT; i++)
        side = f->block[i] > side ? f->block[i] : side;
    add(c, LIMIT_TILE_THREADS, apart < 0 ? -apart : apart, 0);
    add(c, LIMIT_TILE_SIDE, side, TILE_SIDE_MAX);
    if (f->mma)
        check_mma_tile(c);
    else
        check_register_tile(c);
    check_precision(c);
    check_pipeline(c);
    check_factors(c);
}

static void check_chain(struct check *c)
{
    int64_t apart = c->footprint.threads - c->region->threads[0];
    add(c, LIMIT_TILE_THREADS, apart < 0 ? -apart : apart, 0);
    add(c, LIMIT_TILE_REST, c->footprint.rest, 0);
}

/* The access furthest from being aligned, of those along the rows.  What lies between kernels is
 * aligned for any vector. */
static void check_alignment(struct check *c)
{
    const struct op *op = c->bound->op;
    int64_t wanted = 1, align = ACCESS_BYTES;
    for (size_t t = 0; t < op->declared_count; t++) {
        int64_t bytes = c->footprint.vector * (int64_t)dtype_bytes(op->tensors[t].dtype);
        int64_t own = op->tensors[t].align;
        if (!c->footprint.arrays[t] || bytes * align <= wanted * own)
            continue;
        wanted = bytes;
        align = own;
    }
    add(c, LIMIT_VECTOR_ALIGN, wanted, align);
}

static bool has_state(const struct check *c)
{
    return c->state != NULL ? *c->state : state_exists(c->arena, c->bound, c->region);
}

static void check_rows(struct check *c)
{
    const struct footprint *f = &c->footprint;
    int64_t warps = num_ceil_div(f->threads, WARP);
    int64_t beyond = (warps & (warps - 1)) + (f->threads % WARP > 0);
    add(c, LIMIT_TREE_REST, beyond, 0);
    add(c, LIMIT_VECTOR_BYTES, f->vector * f->element_bytes, ACCESS_BYTES);
    add(c, LIMIT_VECTOR_REST, f->length % f->vector, 0);
    check_alignment(c);
    add(c, LIMIT_SPLIT, f->split, num_ceil_div(f->length, f->sharing * f->items));
    add(c, LIMIT_ROW_SPAN, f->apart, 0);
    if (f->kind == FOOTPRINT_ROWS && region_uses(c->region, PRIMITIVE_ONLINE_STATE))
        add(c, LIMIT_STATE, !has_state(c), 0);
    if (f->streaming)
        return;
    add(c, LIMIT_ITEMS, f->items, ITEMS_MAX);
    add(c, LIMIT_ITEMS_REST, f->items % f->vector, 0);
    add(c, LIMIT_HELD, f->length, f->sharing * f->items);
}

/* ---- all kinds ---- */

static int64_t capability_of(const struct plan_region *region)
{
    int64_t need = 0;
    for (size_t i = 0; i < region->stage_count; i++)
        if (region->stages[i].staging == STAGE_ASYNC)
            need = CAPABILITY_ASYNC;
    if (region_uses(region, PRIMITIVE_ASYNC_PIPELINE))
        need = CAPABILITY_ASYNC;
    const struct mma_shape *shape =
        region->mma[0] > 0 ? mma_find(region->precision, region->mma) : NULL;
    if (shape != NULL)
        need = shape->capability_least > need ? shape->capability_least : need;
    else if (region->mma[0] > 0 || region_uses(region, PRIMITIVE_TENSOR_CORE_TILE))
        need = CAPABILITY_MMA;
    return need;
}

static void check_machine(struct check *c)
{
    const struct footprint *f = &c->footprint;
    const struct machine *m = c->machine;
    int64_t unit = m->registers_unit;
    int64_t of_warp = num_ceil_div(f->registers * WARP, unit) * unit, of_block;
    if (!num_mul(of_warp, num_ceil_div(f->threads, WARP), &of_block))
        of_block = INT64_MAX;
    const char *why;
    add(c, LIMIT_SHARED, f->shared_bytes, m->shared_bytes_per_block_optin);
    if (region_realisable(c->region, &why))
        add(c, LIMIT_SHARED_STATIC, f->shared_bytes, SHARED_STATIC_MAX);
    add(c, LIMIT_REGISTERS, f->registers, m->registers_per_thread);
    add(c, LIMIT_REGISTERS_BLOCK, of_block, m->registers_per_sm);
    add(c, LIMIT_GRID, f->blocks, GRID_MAX);
    add(c, LIMIT_CAPABILITY, capability_of(c->region), m->capability);
}

static void check_region(struct check *c)
{
    bool fits = footprint_of(c->arena, c->region, c->bound, &c->footprint, &c->why);
    const int64_t *threads = c->region->threads;
    add(c, LIMIT_KERNEL, !fits, 0);
    if (!fits)
        return;
    int64_t said = threads[0] * threads[1] * threads[2];
    int64_t made = c->footprint.threads;
    add(c, LIMIT_THREADS, said > made ? said : made, c->machine->threads_per_block);
    if (c->footprint.kind == FOOTPRINT_TILE)
        check_tile(c);
    else if (c->footprint.kind == FOOTPRINT_CHAIN)
        check_chain(c);
    else if (c->footprint.kind != FOOTPRINT_ELEMENTS)
        check_rows(c);
    check_machine(c);
}

/* ---- results ---- */

static struct str reason_of(struct check *c, const struct limit_line *line)
{
    struct buf text;
    buf_init(&text, c->arena, ERR_TEXT_BYTES);
    if (line->region != OP_NONE)
        buf_printf(&text, "region %zu: ", line->region);
    if (line->limit == LIMIT_KERNEL)
        buf_printf(&text, "no kernel fits it: %s", c->why);
    else if (line->limit == LIMIT_RESIDENCY)
        buf_text(&text, c->why);
    else
        buf_printf(&text, "%lld %s; the limit on %.*s is %lld", (long long)line->value,
                   limit_text(line->limit), STR_ARG(c->machine->name), (long long)line->most);
    return buf_view(&text);
}

static void conclude(struct check *c, size_t first, struct limits *out)
{
    out->legal = true;
    for (size_t i = first; i < c->count && out->legal; i++) {
        if (c->lines[i].value <= c->lines[i].most)
            continue;
        out->legal = false;
        out->over = c->lines[i];
        out->reason = reason_of(c, &c->lines[i]);
    }
    out->lines = c->lines;
    out->line_count = c->count;
}

static struct check check_begin(struct arena *arena, const struct bound_op *bound,
                                const struct machine *machine, size_t regions)
{
    return (struct check){.arena = arena,
                          .bound = bound,
                          .machine = machine,
                          .lines = arena_array(arena, struct limit_line, regions * LINES_MAX + 2)};
}

void region_limits(struct arena *arena, const struct plan *plan, size_t region,
                   const struct bound_op *bound, const struct machine *machine, const bool *state,
                   struct limits *out)
{
    struct check c = check_begin(arena, bound, machine, 1);
    ASSERT(region < plan->region_count);
    *out = (struct limits){.legal = false};
    c.plan = plan;
    c.state = state;
    c.index = region;
    c.region = &plan->regions[region];
    check_region(&c);
    conclude(&c, 0, out);
}

/* Parts of sums that several blocks share. */
static int64_t workspace_bytes(struct arena *arena, const struct bound_op *bound,
                               const struct plan_region *region)
{
    struct footprint footprint;
    const char *why;
    return region->split > 1 && footprint_of(arena, region, bound, &footprint, &why)
               ? footprint.workspace_bytes
               : 0;
}

/* Inputs, outputs and what goes between regions. */
static int64_t global_bytes(struct arena *arena, const struct plan *plan,
                            const struct bound_op *bound)
{
    const struct op *op = bound->op;
    int64_t total = 0;
    for (size_t t = 0; t < op->declared_count; t++)
        if (!num_add(total, bound->tensors[t].bytes, &total))
            return INT64_MAX;
    for (size_t i = 0; i < plan->region_count; i++) {
        struct region_tensors tensors = region_tensors(arena, op, &plan->regions[i]);
        for (size_t t = op->declared_count; t < op->tensor_count; t++)
            if (tensors.stored[t] && !num_add(total, bound->tensors[t].bytes, &total))
                return INT64_MAX;
        if (!num_add(total, workspace_bytes(arena, bound, &plan->regions[i]), &total))
            return INT64_MAX;
    }
    return total;
}

static const char *edge_remedy(enum residency residency)
{
    switch (residency) {
    case RESIDE_GLOBAL:
        return NULL;
    case RESIDE_SHARED:
        return "shared memory ends with the kernel that has it; write \"global\", or put writer "
               "and "
               "reader into one region";
    case RESIDE_REGISTER:
        return "registers end with the kernel that has them; write \"global\", or put writer and "
               "reader into one region";
    case RESIDE_RECOMPUTE:
        return "the reader's region has no statement that computes it; write \"global\", or give "
               "the "
               "reader a copy of the statement (the rewrite \"again\")";
    }
    panic("residency %d", (int)residency);
}

/* Each region is kernels of its own, so between two of them only global memory lasts; and a region
 * computes its own statements alone, so that what it computes is what limits and costs count. */
static void check_edges(struct check *c, const struct plan *plan)
{
    int64_t lost = 0;
    struct buf text;
    buf_init(&text, c->arena, ERR_TEXT_BYTES);
    for (size_t i = 0; i < plan->edge_count; i++) {
        const struct plan_edge *edge = &plan->edges[i];
        const char *remedy = edge_remedy(edge->residency);
        if (remedy != NULL && lost++ == 0)
            buf_printf(&text,
                       "edges[%zu]: \"%.*s\" cannot go from region %zu to region %zu by %s: %s", i,
                       STR_ARG(edge->tensor), edge->from, edge->to, residency_name(edge->residency),
                       remedy);
    }
    if (lost > 0)
        c->why = str_copy(c->arena, buf_view(&text));
    if (plan->edge_count > 0)
        add(c, LIMIT_RESIDENCY, lost, 0);
}

void plan_limits(struct arena *arena, const struct plan *plan, const struct bound_op *bound,
                 const struct machine *machine, struct limits *out)
{
    struct check c = check_begin(arena, bound, machine, plan->region_count);
    bool concluded = false;
    c.plan = plan;
    *out = (struct limits){.legal = false};
    for (size_t i = 0; i < plan->region_count && !concluded; i++) {
        size_t first = c.count;
        c.index = i;
        c.region = &plan->regions[i];
        check_region(&c);
        conclude(&c, first, out);
        concluded = !out->legal;
    }
    if (concluded)
        return;
    size_t first = c.count;
    c.index = OP_NONE;
    check_edges(&c, plan);
    add(&c, LIMIT_WORKSPACE, global_bytes(arena, plan, bound), machine->dram_bytes);
    conclude(&c, first, out);
}
