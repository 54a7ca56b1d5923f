/*
 * The space around a skeleton plan.
 *
 * The kinds of regions know their choices (space_rows.c, space_tile.c, space_chain.c): for the
 * realiser only those that it writes, so that two plans of the space are two different kernels; for
 * a model all of them.  An elements region has none: a thread an element.  Where a tensor that L2
 * does not hold goes along an edge, each choice comes in both directions.
 *
 * Choices are kept when region_limits finds nothing; one equal to an earlier one is not counted.
 *
 * Invariant: the guard of a plan holds at the target shape, for a held row is refused unless it
 * fits there.
 *
 * Not here: other covers by regions.
 */
#include "solver/legal/space.h"

#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/num.h"
#include "base/panic.h"

#include "solver/legal/space_chain.h"
#include "solver/legal/space_kinds.h"
#include "solver/legal/state.h"

enum { WARP = 32, CHOICES_MAX = 1 << 17, CHOICES_FIRST = 256 };
enum { SCRATCH_BYTES = 16 << 20 }; /* limits of one region */

struct builder {
    struct arena *arena;
    const struct bound_op *bound;
    const struct machine *machine;
    const struct plan *skeleton;
    bool realisable;
    struct space *space;
    struct str *reasons; /* by limit */
    size_t region;       /* at hand */
    struct plan trial;   /* the skeleton but for that region */
    struct plan_region *trial_regions;
    bool state;                  /* state_exists of the region at hand; false: not looked for */
    bool both_ways;              /* the region at hand may walk in either direction */
    struct footprint footprint;  /* of the skeleton's region */
    struct plan_region *choices; /* of the region at hand */
    size_t choice_room;
    struct map known;     /* all that were offered, as choice_key */
    struct arena scratch; /* limits of a choice */
    struct space_domain domain;
    space_visitor *visit; /* NULL = none */
    void *visit_context;
};

/* ---- choices of one region ---- */

enum { KEY_NUMBERS = 20, TILE_NUMBERS = 3, NUMBER_BYTES = 10 };

struct key {
    unsigned char *bytes;
    size_t len;
};

/* Seven bits a byte: few numbers are large, and keys are compared and hashed often. */
static void key_add(struct key *key, int64_t number)
{
    uint64_t rest = (uint64_t)number;
    for (; rest >= 128; rest >>= 7)
        key->bytes[key->len++] = (unsigned char)(rest | 128);
    key->bytes[key->len++] = (unsigned char)rest;
}

/* What choices of one region differ in.  Tensors of stages follow from the region, as do the
 * indices of its tiles; layouts differ in length. */
static struct str choice_key(struct arena *arena, const struct plan_region *region)
{
    const size_t numbers = KEY_NUMBERS + region->stage_count + TILE_NUMBERS * region->tile_count;
    struct key key = {arena_array(arena, unsigned char, numbers *NUMBER_BYTES), 0};
    int64_t primitives = 0;
    for (size_t i = 0; i < region->primitive_count; i++)
        primitives |= (int64_t)1 << region->primitives[i];
    const int64_t own[] = {region->threads[0], region->vector,
                           region->depth,      region->split,
                           region->mma[0],     region->mma[1],
                           region->mma[2],     (int64_t)region->precision,
                           region->reverse,    (int64_t)region->layout.len,
                           primitives,         (int64_t)region->stage_count};
    for (size_t i = 0; i < COUNT_OF(own); i++)
        key_add(&key, own[i]);
    for (size_t i = 0; i < region->stage_count; i++)
        key_add(&key, (int64_t)region->stages[i].staging);
    for (size_t i = 0; i < region->tile_count; i++) {
        key_add(&key, region->tiles[i].block);
        key_add(&key, region->tiles[i].thread);
        key_add(&key, region->tiles[i].step);
    }
    return (struct str){(const char *)key.bytes, key.len};
}

static void refuse(struct builder *b, const struct limits *limits)
{
    enum limit limit = limits->over.limit;
    b->domain.refused[limit]++;
    if (b->reasons[limit].len == 0)
        b->reasons[limit] = str_from(str_copy(b->arena, limits->reason));
}

static void keep(struct builder *b, const struct plan_region *choice)
{
    if (b->domain.count == b->choice_room) {
        struct plan_region *more =
            arena_array(b->arena, struct plan_region, 2 * b->choice_room + CHOICES_FIRST);
        if (b->domain.count > 0)
            memcpy(more, b->choices, b->domain.count * sizeof(*more));
        b->choices = more;
        b->choice_room = 2 * b->choice_room + CHOICES_FIRST;
    }
    b->choices[b->domain.count++] = *choice;
}

/* Judges a choice in the skeleton's place; keeps it when it is legal and new. */
static void offer_one(struct builder *b, const struct plan_region *choice)
{
    struct limits limits;
    bool is_new;
    (void)map_put(&b->known, choice_key(b->arena, choice), &is_new);
    if (!is_new)
        return;
    b->trial_regions[b->region] = *choice;
    b->domain.generated++;
    arena_clear(&b->scratch);
    region_limits(&b->scratch, &b->trial, b->region, b->bound, b->machine, &b->state, &limits);
    if (b->visit != NULL)
        b->visit(b->visit_context, choice, &limits);
    if (!limits.legal)
        refuse(b, &limits);
    else if (b->domain.count < CHOICES_MAX)
        keep(b, choice);
}

/* The choice, and where directions matter, the same from the end. */
static void offer(void *context, const struct plan_region *choice)
{
    struct builder *b = context;
    struct plan_region other = *choice;
    const char *why;
    if (b->realisable && !region_realisable(choice, &why))
        return;
    offer_one(b, choice);
    other.reverse = !choice->reverse;
    if (b->both_ways)
        offer_one(b, &other);
}

static const struct plan_region *skeleton_region(const struct builder *b)
{
    return &b->skeleton->regions[b->region];
}

/* ---- domains ---- */

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
    map_init(&b->known, b->arena);
    if (!footprint_of(b->arena, skeleton_region(b), b->bound, &b->footprint, &why))
        return;
    b->both_ways = hands_over(b);
    b->state = b->footprint.kind == FOOTPRINT_ROWS && !b->realisable &&
               state_exists(b->arena, b->bound, skeleton_region(b));
    const struct kind_space kind = {.arena = b->arena,
                                    .bound = b->bound,
                                    .machine = b->machine,
                                    .region = skeleton_region(b),
                                    .footprint = &b->footprint,
                                    .realisable = b->realisable,
                                    .state = b->state,
                                    .offer = offer,
                                    .context = b};
    offer(b, skeleton_region(b));
    switch (b->footprint.kind) {
    case FOOTPRINT_ELEMENTS:
        break;
    case FOOTPRINT_MAPS:
    case FOOTPRINT_ROWS:
        row_choices(&kind);
        break;
    case FOOTPRINT_TILE:
        tile_choices(&kind);
        break;
    case FOOTPRINT_CHAIN:
        (void)chain_choices(b->arena, b->bound, skeleton_region(b), offer, b);
        break;
    }
}

static bool fill_domain(struct builder *b, struct err *err)
{
    struct limits limits;
    region_limits(b->arena, b->skeleton, b->region, b->bound, b->machine, NULL, &limits);
    generate(b);
    if (b->domain.count == 0)
        return err_raise(err, ERR_LIMIT, "region %zu has no legal choice, nor is its own: %.*s",
                         b->region, STR_ARG(limits.reason));
    struct plan_region *kept = arena_array(b->arena, struct plan_region, b->domain.count);
    memcpy(kept, b->choices, b->domain.count * sizeof(*kept));
    b->domain.choices = kept;
    return true;
}

static struct builder builder_of(struct arena *arena, const struct plan *skeleton,
                                 const struct bound_op *bound, const struct machine *machine,
                                 bool realisable)
{
    struct builder b = {.arena = arena,
                        .bound = bound,
                        .machine = machine,
                        .skeleton = skeleton,
                        .reasons = arena_array(arena, struct str, LIMIT_COUNT),
                        .realisable = realisable,
                        .trial = *skeleton,
                        .trial_regions =
                            arena_array(arena, struct plan_region, skeleton->region_count)};
    b.trial.regions = b.trial_regions;
    arena_init(&b.scratch, SCRATCH_BYTES);
    return b;
}

void space_visit(struct arena *arena, const struct plan *skeleton, const struct bound_op *bound,
                 const struct machine *machine, bool realisable, size_t region,
                 space_visitor *visit, void *context)
{
    struct builder b = builder_of(arena, skeleton, bound, machine, realisable);
    ASSERT(region < skeleton->region_count);
    b.region = region;
    b.visit = visit;
    b.visit_context = context;
    generate(&b);
    arena_release(&b.scratch);
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

static bool is_in_shared(const struct plan_region *region)
{
    return region_uses(region, PRIMITIVE_SHARED_RESIDENCY) &&
           (region_uses(region, PRIMITIVE_WARP_SUMMARY) ||
            region_uses(region, PRIMITIVE_BLOCK_SUMMARY));
}

/* At the target: shared memory was judged for it. */
static int64_t rows_length(const struct bound_op *bound, const struct stmt *stmt)
{
    const int64_t *extents = bound->extents[(size_t)(stmt - bound->op->stmts)];
    int64_t length = 1;
    for (size_t i = stmt->free_count; i < stmt->loop_count; i++)
        length *= extents[i];
    return length;
}

/* A row that is held must fit its threads, or the shared memory it was planned for: the guard of
 * such a region, else NULL. */
static const struct formula *held_guard(struct arena *arena, const struct bound_op *bound,
                                        const struct plan_region *region)
{
    const struct stmt *stmt = space_leading_stmt(bound, region);
    const struct formula *length = NULL;
    int64_t sharing = region_uses(region, PRIMITIVE_WARP_SUMMARY) ? WARP : region->threads[0];
    int64_t items = 1;
    const bool in_shared = is_in_shared(region);
    if ((!is_held(region) && !in_shared) || stmt->reduce == REDUCE_NONE)
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
    int64_t most = in_shared ? rows_length(bound, stmt) : sharing * items;
    return formula_binary(arena, FORMULA_LE, length, formula_int(arena, most));
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
                const struct machine *machine, const struct space_options *options,
                struct space *out, struct err *err)
{
    struct space space = {.domain_count = skeleton->region_count, .plans_possible = 1};
    struct space_domain *domains = arena_array(arena, struct space_domain, skeleton->region_count);
    struct builder b = builder_of(arena, skeleton, bound, machine, options->realisable);
    const size_t plans_max = options->plans_max;
    b.space = &space;
    ASSERT(plans_max > 0 && plans_max <= SPACE_PLANS_MAX);
    for (b.region = 0; b.region < skeleton->region_count; b.region++) {
        if (!fill_domain(&b, err)) {
            arena_release(&b.scratch);
            return false;
        }
        domains[b.region] = b.domain;
        space.plans_possible *= (double)b.domain.count;
        space.generated += b.domain.generated;
        for (size_t i = 0; i < LIMIT_COUNT; i++)
            space.refused[i] += b.domain.refused[i];
    }
    arena_release(&b.scratch);
    space.domains = domains;
    space.reasons = b.reasons;
    collect_plans(&b, plans_max);
    *out = space;
    return true;
}
