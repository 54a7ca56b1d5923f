/*
 * The space around a skeleton plan.
 *
 * Only what the realiser obeys is varied, so two plans of the space are two different kernels:
 *   rows      a row a warp or a block, threads, vector, held or streamed
 *   maps      threads, vector
 *   tile      block and thread tile of M and N, step of K
 *   elements  nothing: a thread an element, whatever the plan says
 *   all       either direction, where a tensor that L2 does not hold goes along an edge
 * Each region's choices are made by nested loops over fixed tables and kept when region_limits
 * finds nothing; a choice equal to an earlier one is not counted.
 *
 * Invariant: the guard of a plan holds at the target shape, for a held row is refused unless it
 * fits there.
 *
 * Not here: other covers by regions; staging, pipelines and tensor cores, which no kernel obeys
 * yet.
 */
#include "solver/legal/space.h"

#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/num.h"
#include "base/panic.h"

#include "solver/legal/space_chain.h"

enum { WARP = 32, CHOICES_MAX = 4096, ACCESS_BYTES = 16, PRIMITIVES_MAX = 6 };
enum { SCRATCH_BYTES = 16 << 20 }; /* limits of one region */

static const int64_t row_threads[] = {32, 64, 128, 256, 512, 1024};
static const int64_t tile_sides[] = {16, 32, 64, 128, 256};
static const int64_t tile_own[] = {2, 4, 8, 16};
static const int64_t tile_steps[] = {8, 16, 32};

struct builder {
    struct arena *arena;
    const struct bound_op *bound;
    const struct machine *machine;
    const struct plan *skeleton;
    struct space *space;
    struct str *reasons; /* by limit */
    size_t region;       /* at hand */
    struct plan trial;   /* the skeleton but for that region */
    struct plan_region *trial_regions;
    bool both_ways;              /* the region at hand may walk in either direction */
    struct footprint footprint;  /* of the skeleton's region */
    struct plan_region *choices; /* of the region at hand */
    struct space_domain domain;
    space_visitor *visit; /* NULL = none */
    void *visit_context;
};

/* ---- choices of one region ---- */

static bool regions_equal(const struct plan_region *a, const struct plan_region *b)
{
    if (a->threads[0] != b->threads[0] || a->vector != b->vector || a->depth != b->depth ||
        a->mma[0] != b->mma[0] || a->reverse != b->reverse ||
        a->primitive_count != b->primitive_count || a->tile_count != b->tile_count)
        return false;
    for (size_t i = 0; i < a->primitive_count; i++)
        if (a->primitives[i] != b->primitives[i])
            return false;
    for (size_t i = 0; i < a->tile_count; i++)
        if (!str_equal(a->tiles[i].index, b->tiles[i].index) ||
            a->tiles[i].block != b->tiles[i].block || a->tiles[i].thread != b->tiles[i].thread ||
            a->tiles[i].step != b->tiles[i].step)
            return false;
    return true;
}

static void refuse(struct builder *b, const struct limits *limits)
{
    enum limit limit = limits->over.limit;
    b->domain.refused[limit]++;
    if (b->reasons[limit].len == 0)
        b->reasons[limit] = str_from(str_copy(b->arena, limits->reason));
}

/* Judges a choice in the skeleton's place; keeps it when it is legal and new. */
static void offer_one(struct builder *b, const struct plan_region *choice)
{
    struct arena scratch;
    struct limits limits;
    for (size_t i = 0; i < b->domain.count; i++)
        if (regions_equal(&b->choices[i], choice))
            return;
    b->trial_regions[b->region] = *choice;
    b->domain.generated++;
    arena_init(&scratch, SCRATCH_BYTES);
    region_limits(&scratch, &b->trial, b->region, b->bound, b->machine, &limits);
    if (b->visit != NULL)
        b->visit(b->visit_context, choice, &limits);
    if (!limits.legal)
        refuse(b, &limits);
    else if (b->domain.count < CHOICES_MAX)
        b->choices[b->domain.count++] = *choice;
    arena_release(&scratch);
}

/* The choice, and where directions matter, the same from the end. */
static void offer(struct builder *b, const struct plan_region *choice)
{
    struct plan_region other = *choice;
    offer_one(b, choice);
    other.reverse = !choice->reverse;
    if (b->both_ways)
        offer_one(b, &other);
}

static const struct plan_region *skeleton_region(const struct builder *b)
{
    return &b->skeleton->regions[b->region];
}

/* ---- rows and maps ---- */

/* The statement whose loops the rows have: the first reduction, else the first of all. */
static const struct stmt *leading_stmt(const struct bound_op *bound,
                                       const struct plan_region *region)
{
    for (size_t i = 0; i < region->stmt_count; i++)
        if (bound->op->stmts[region->stmts[i]].reduce != REDUCE_NONE)
            return &bound->op->stmts[region->stmts[i]];
    return &bound->op->stmts[region->stmts[0]];
}

struct row_choice {
    bool warp, streaming;
    int64_t threads, vector, items;
};

/* As plan_skeleton writes them, so that the same choice is the same plan. */
static void set_row_tiles(struct builder *b, struct plan_region *region,
                          const struct row_choice *choice)
{
    const struct stmt *stmt = leading_stmt(b->bound, region);
    bool maps = b->footprint.kind == FOOTPRINT_MAPS;
    size_t outer = maps ? 0 : stmt->free_count;
    size_t all = maps ? stmt->free_count : stmt->loop_count;
    struct plan_tile *tiles = arena_array(b->arena, struct plan_tile, all + 1);
    int64_t sharing = choice->warp ? WARP : choice->threads;
    for (size_t i = 0; i < all; i++) {
        bool last = i + 1 == all;
        tiles[i].index = stmt->loops[i].name;
        tiles[i].block = last             ? sharing * choice->items
                         : i + 1 == outer ? choice->threads / sharing
                                          : 1;
        tiles[i].thread = last ? choice->items : 1;
        tiles[i].step = last && !maps ? tiles[i].block : 0;
    }
    region->tiles = tiles;
    region->tile_count = all;
}

static void set_row_primitives(struct builder *b, struct plan_region *region,
                               const struct row_choice *choice)
{
    enum primitive *list = arena_array(b->arena, enum primitive, PRIMITIVES_MAX);
    size_t n = 0;
    bool maps = b->footprint.kind == FOOTPRINT_MAPS;
    if (!maps) {
        list[n++] = PRIMITIVE_REDUCTION_TREE;
        list[n++] = choice->warp ? PRIMITIVE_WARP_SUMMARY : PRIMITIVE_BLOCK_SUMMARY;
    }
    if (maps || choice->vector > 1)
        list[n++] = PRIMITIVE_VECTOR_ACCESS;
    if (!maps && choice->streaming) {
        list[n++] = PRIMITIVE_STREAMING_ACCUMULATION;
        list[n++] = PRIMITIVE_REMATERIALISATION;
    }
    region->primitives = list;
    region->primitive_count = n;
}

static void offer_rows(struct builder *b, struct row_choice choice)
{
    struct plan_region region = *skeleton_region(b);
    int64_t sharing = choice.warp ? WARP : choice.threads;
    int64_t own = num_ceil_div(b->footprint.length, sharing);
    choice.items =
        choice.streaming ? choice.vector : num_ceil_div(own, choice.vector) * choice.vector;
    region.threads[0] = choice.threads;
    region.vector = choice.vector;
    set_row_tiles(b, &region, &choice);
    set_row_primitives(b, &region, &choice);
    offer(b, &region);
}

static void vary_rows(struct builder *b)
{
    bool maps = b->footprint.kind == FOOTPRINT_MAPS;
    for (int streaming = maps; streaming < 2; streaming++)
        for (int warp = 0; warp < (maps ? 1 : 2); warp++)
            for (size_t t = 0; t < COUNT_OF(row_threads); t++)
                for (int64_t v = ACCESS_BYTES; v >= 1; v /= 2)
                    offer_rows(b, (struct row_choice){.warp = warp,
                                                      .streaming = streaming,
                                                      .threads = row_threads[t],
                                                      .vector = v});
}

/* ---- tiles ---- */

struct tile_choice {
    int64_t side[SIDE_COUNT], own[SIDE_COUNT];
};

struct loops_used {
    bool used[OP_LOOPS_MAX];
};

static void mark_loop(void *context, const struct expr *expr)
{
    struct loops_used *loops = context;
    if (expr->op == EXPR_INDEX)
        loops->used[expr->loop] = true;
}

static void offer_tile(struct builder *b, const struct tile_choice *choice)
{
    struct plan_region region = *skeleton_region(b);
    const struct stmt *stmt = &b->bound->op->stmts[region.stmts[0]];
    struct plan_tile *tiles = arena_array(b->arena, struct plan_tile, stmt->loop_count + 1);
    struct loops_used first = {{false}}, second = {{false}};
    size_t count = 0;
    expr_walk(b->footprint.factors[0], mark_loop, &first);
    expr_walk(b->footprint.factors[1], mark_loop, &second);
    for (int side = 0; side < SIDE_COUNT; side++) {
        for (size_t i = 0; i < stmt->loop_count; i++) {
            int own = i >= stmt->free_count             ? SIDE_K
                      : first.used[i] == second.used[i] ? SIDE_BATCH
                      : first.used[i]                   ? SIDE_M
                                                        : SIDE_N;
            if (own == side)
                tiles[count++] = (struct plan_tile){stmt->loops[i].name, 1, 1, 0};
        }
        if (side == SIDE_BATCH || count == 0)
            continue;
        tiles[count - 1].block = choice->side[side];
        tiles[count - 1].thread = choice->own[side];
        tiles[count - 1].step = side == SIDE_K ? choice->side[side] : 0;
    }
    region.threads[0] =
        choice->side[SIDE_M] / choice->own[SIDE_M] * (choice->side[SIDE_N] / choice->own[SIDE_N]);
    region.tiles = tiles;
    region.tile_count = count;
    offer(b, &region);
}

/* Tiles of more than twice the extent are padding for the most part. */
static bool side_pays(const struct builder *b, enum footprint_side side, int64_t block)
{
    return block == tile_sides[0] || block < 2 * b->footprint.extent[side];
}

static void vary_threads(struct builder *b, int64_t m, int64_t n)
{
    for (size_t i = 0; i < COUNT_OF(tile_own); i++)
        for (size_t k = 0; k < COUNT_OF(tile_own); k++)
            for (size_t s = 0; s < COUNT_OF(tile_steps); s++) {
                struct tile_choice choice = {.side = {1, m, n, tile_steps[s]},
                                             .own = {1, tile_own[i], tile_own[k], 1}};
                int64_t threads = m / tile_own[i] * (n / tile_own[k]);
                /* plan_check has no plans of more threads */
                if (threads >= WARP && threads <= 1024)
                    offer_tile(b, &choice);
            }
}

static void vary_tile(struct builder *b)
{
    for (size_t i = 0; i < COUNT_OF(tile_sides); i++)
        for (size_t k = 0; k < COUNT_OF(tile_sides); k++)
            if (side_pays(b, SIDE_M, tile_sides[i]) && side_pays(b, SIDE_N, tile_sides[k]))
                vary_threads(b, tile_sides[i], tile_sides[k]);
}

/* ---- domains ---- */

static void offer_chain(void *builder, const struct plan_region *choice)
{
    offer(builder, choice);
}

/* Does a tensor that is too large for L2 come to the region or leave it through global memory?
 * Any order finds a smaller one there. */
static bool hands_over(const struct builder *b)
{
    const struct op *op = b->bound->op;
    for (size_t i = 0; i < b->skeleton->edge_count; i++) {
        const struct plan_edge *edge = &b->skeleton->edges[i];
        if ((edge->from != b->region && edge->to != b->region) || edge->residency != RESIDE_GLOBAL)
            continue;
        size_t t = op_tensor_find(op, edge->tensor);
        if (t != OP_NONE && (double)b->bound->tensors[t].bytes > machine_l2_holds(b->machine))
            return true;
    }
    return false;
}

static void generate(struct builder *b)
{
    const char *why = "";
    memcpy(b->trial_regions, b->skeleton->regions,
           b->skeleton->region_count * sizeof(*b->trial_regions));
    b->domain = (struct space_domain){.count = 0};
    if (!footprint_of(b->arena, skeleton_region(b), b->bound, &b->footprint, &why))
        return;
    b->both_ways = hands_over(b);
    offer(b, skeleton_region(b));
    switch (b->footprint.kind) {
    case FOOTPRINT_ELEMENTS:
        break;
    case FOOTPRINT_MAPS:
    case FOOTPRINT_ROWS:
        vary_rows(b);
        break;
    case FOOTPRINT_TILE:
        vary_tile(b);
        break;
    case FOOTPRINT_CHAIN:
        (void)chain_choices(b->arena, b->bound, skeleton_region(b), offer_chain, b);
        break;
    }
}

static bool fill_domain(struct builder *b, struct err *err)
{
    struct limits limits;
    region_limits(b->arena, b->skeleton, b->region, b->bound, b->machine, &limits);
    generate(b);
    struct plan_region *kept = arena_array(b->arena, struct plan_region, b->domain.count + 1);
    memcpy(kept, b->choices, b->domain.count * sizeof(*kept));
    b->domain.choices = kept;
    if (b->domain.count == 0)
        return err_raise(err, ERR_LIMIT, "region %zu has no legal choice, nor is its own: %.*s",
                         b->region, STR_ARG(limits.reason));
    return true;
}

static struct builder builder_of(struct arena *arena, const struct plan *skeleton,
                                 const struct bound_op *bound, const struct machine *machine)
{
    struct builder b = {.arena = arena,
                        .bound = bound,
                        .machine = machine,
                        .skeleton = skeleton,
                        .reasons = arena_array(arena, struct str, LIMIT_COUNT),
                        .trial = *skeleton,
                        .trial_regions =
                            arena_array(arena, struct plan_region, skeleton->region_count)};
    b.trial.regions = b.trial_regions;
    b.choices = arena_array(arena, struct plan_region, CHOICES_MAX);
    return b;
}

void space_visit(struct arena *arena, const struct plan *skeleton, const struct bound_op *bound,
                 const struct machine *machine, size_t region, space_visitor *visit, void *context)
{
    struct builder b = builder_of(arena, skeleton, bound, machine);
    ASSERT(region < skeleton->region_count);
    b.region = region;
    b.visit = visit;
    b.visit_context = context;
    generate(&b);
}

/* ---- whole plans ---- */

static const struct formula *also(struct arena *arena, const struct formula *a,
                                  const struct formula *b)
{
    if (a == NULL || (a->op == FORMULA_INT && a->value == 1) || formula_equal(a, b))
        return b;
    if (a->op == FORMULA_AND && (formula_equal(a->a, b) || formula_equal(a->b, b)))
        return a;
    return formula_binary(arena, FORMULA_AND, a, b);
}

static bool is_held(const struct plan_region *region)
{
    bool summary =
        region_uses(region, PRIMITIVE_WARP_SUMMARY) || region_uses(region, PRIMITIVE_BLOCK_SUMMARY);
    return summary && !region_uses(region, PRIMITIVE_STREAMING_ACCUMULATION) &&
           !region_uses(region, PRIMITIVE_REGISTER_TILE);
}

/* A row that is held must fit its threads: the guard of such a region, else NULL. */
static const struct formula *held_guard(struct arena *arena, const struct bound_op *bound,
                                        const struct plan_region *region)
{
    const struct stmt *stmt = leading_stmt(bound, region);
    const struct formula *length = NULL;
    int64_t sharing = region_uses(region, PRIMITIVE_WARP_SUMMARY) ? WARP : region->threads[0];
    int64_t items = 1;
    if (!is_held(region) || stmt->reduce == REDUCE_NONE)
        return NULL;
    for (size_t i = 0; i < region->tile_count; i++)
        if (str_equal(region->tiles[i].index, stmt->loops[stmt->loop_count - 1].name))
            items = region->tiles[i].thread;
    for (size_t i = stmt->free_count; i < stmt->loop_count; i++) {
        const struct formula *extent = stmt->loops[i].extent;
        bool one = extent->op == FORMULA_INT && extent->value == 1;
        if (length == NULL || (length->op == FORMULA_INT && length->value == 1))
            length = extent;
        else if (!one)
            length = formula_binary(arena, FORMULA_MUL, length, extent);
    }
    return formula_binary(arena, FORMULA_LE, length, formula_int(arena, sharing * items));
}

static const struct formula *guard_of(struct arena *arena, const struct bound_op *bound,
                                      const struct plan_region *regions, size_t count)
{
    const struct formula *guard = formula_int(arena, 1);
    for (size_t i = 0; i < count; i++) {
        const struct formula *held = held_guard(arena, bound, &regions[i]);
        if (held != NULL)
            guard = also(arena, guard, held);
    }
    return guard;
}

const struct plan *space_plan(struct arena *arena, const struct plan *skeleton,
                              const struct bound_op *bound, const struct space *space,
                              const size_t *choices)
{
    struct plan *plan = arena_new(arena, struct plan);
    struct plan_region *regions = arena_array(arena, struct plan_region, space->domain_count);
    ASSERT(space->domain_count == skeleton->region_count);
    for (size_t i = 0; i < space->domain_count; i++) {
        ASSERT(choices[i] < space->domains[i].count);
        regions[i] = space->domains[i].choices[choices[i]];
    }
    *plan = *skeleton;
    plan->regions = regions;
    const struct formula *own = guard_of(arena, bound, skeleton->regions, skeleton->region_count);
    plan->guard = guard_of(arena, bound, regions, skeleton->region_count);
    if (!formula_equal(own, skeleton->guard)) /* it says more than that rows fit */
        plan->guard = also(arena, skeleton->guard, plan->guard);
    return plan;
}

struct collector {
    struct builder *b;
    const struct plan **plans;
    struct map known; /* hashes in hexadecimal */
    size_t room;
};

static void collect(struct collector *c, const size_t *choices)
{
    struct space *space = c->b->space;
    bool is_new;
    if (space->plan_count == c->room)
        return;
    const struct plan *plan = space_plan(c->b->arena, c->b->skeleton, c->b->bound, space, choices);
    struct hash hash = plan_hash(plan);
    (void)map_put(&c->known, hash_text(c->b->arena, &hash), &is_new);
    if (is_new)
        c->plans[space->plan_count++] = plan;
    else
        space->duplicates++;
}

/* All of the product: the last region changes fastest. */
static void collect_all(struct collector *c, size_t *choices)
{
    const struct space *space = c->b->space;
    for (;;) {
        size_t i = space->domain_count;
        collect(c, choices);
        while (i > 0 && choices[i - 1] + 1 == space->domains[i - 1].count)
            choices[--i] = 0;
        if (i == 0)
            return;
        choices[i - 1]++;
    }
}

static void collect_plans(struct builder *b, size_t plans_max)
{
    struct space *space = b->space;
    size_t *choices = arena_array(b->arena, size_t, space->domain_count + 1);
    struct collector c = {.b = b, .room = plans_max};
    c.plans = arena_array(b->arena, const struct plan *, plans_max + 1);
    map_init(&c.known, b->arena);
    space->complete = space->plans_possible <= (double)plans_max;
    if (space->complete) {
        collect_all(&c, choices);
    } else {
        collect(&c, choices);
        for (size_t i = 0; i < space->domain_count; i++) {
            for (choices[i] = 1; choices[i] < space->domains[i].count; choices[i]++)
                collect(&c, choices);
            choices[i] = 0;
        }
    }
    space->plans = c.plans;
}

bool plan_space(struct arena *arena, const struct plan *skeleton, const struct bound_op *bound,
                const struct machine *machine, size_t plans_max, struct space *out, struct err *err)
{
    struct space space = {.domain_count = skeleton->region_count, .plans_possible = 1};
    struct space_domain *domains = arena_array(arena, struct space_domain, skeleton->region_count);
    struct builder b = builder_of(arena, skeleton, bound, machine);
    b.space = &space;
    ASSERT(plans_max > 0 && plans_max <= SPACE_PLANS_MAX);
    for (b.region = 0; b.region < skeleton->region_count; b.region++) {
        if (!fill_domain(&b, err))
            return false;
        domains[b.region] = b.domain;
        space.plans_possible *= (double)b.domain.count;
        space.generated += b.domain.generated;
        for (size_t i = 0; i < LIMIT_COUNT; i++)
            space.refused[i] += b.domain.refused[i];
    }
    space.domains = domains;
    space.reasons = b.reasons;
    collect_plans(&b, plans_max);
    *out = space;
    return true;
}
