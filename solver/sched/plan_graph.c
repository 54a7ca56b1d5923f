/*
 * The native plan space as a factor graph.
 *
 * Each value is costed in a trial plan that is the skeleton but for the regions at hand; that is
 * enough because a region's cost depends on that region alone and an edge's on its two ends
 * (solver/cost).  Edges of the same two regions are summed into one table.
 */
#include "solver/sched/plan_graph.h"

#include <math.h>
#include <string.h>

struct compiler {
    struct arena *arena;
    const struct bound_op *bound;
    const struct machine *machine;
    const struct space *space;
    struct plan trial;
    struct plan_region *regions; /* of trial */
    const struct plan *skeleton;
};

enum { SCRATCH_BYTES = 64 << 20 };

/* The choices that plan_space kept, and what it refused, by enum limit. */
static const struct factor_domain *make_domain(struct arena *arena,
                                               const struct space_domain *choices)
{
    static const char *const names[] = {
#define X(id, text) text,
        LIMITS(X)
#undef X
    };
    struct factor_domain *domain = arena_new(arena, struct factor_domain);
    struct factor_removal *removals = arena_array(arena, struct factor_removal, LIMIT_COUNT);
    *domain = *factor_domain_whole(arena, choices->count);
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        removals[i] = (struct factor_removal){choices->refused[i], INFINITY, INFINITY};
    domain->offered = choices->generated;
    domain->removals = removals;
    domain->limits = names;
    domain->limit_count = LIMIT_COUNT;
    return domain;
}

static const double *region_seconds(struct compiler *c, size_t region)
{
    const struct space_domain *domain = &c->space->domains[region];
    double *seconds = arena_array(c->arena, double, domain->count + 1);
    for (size_t i = 0; i < domain->count; i++) {
        struct arena scratch;
        struct region_cost cost;
        arena_init(&scratch, SCRATCH_BYTES);
        c->regions[region] = domain->choices[i];
        cost_region(&scratch, &c->trial, region, c->bound, c->machine, &cost);
        seconds[i] = cost.seconds;
        arena_release(&scratch);
    }
    c->regions[region] = c->skeleton->regions[region];
    return seconds;
}

/* All edges between two regions, whichever way they go, by what they depend on of both. */
struct hand_over {
    struct compiler *compiler;
    size_t a, b;
    double seconds[COST_SIGNATURES][COST_SIGNATURES]; /* by signature */
};

static double edges_seconds(const struct hand_over *h, size_t row, size_t column)
{
    struct compiler *c = h->compiler;
    double seconds = 0;
    c->regions[h->a] = c->space->domains[h->a].choices[row];
    c->regions[h->b] = c->space->domains[h->b].choices[column];
    for (size_t i = 0; i < c->trial.edge_count; i++) {
        const struct plan_edge *edge = &c->trial.edges[i];
        struct edge_cost cost;
        if (!(edge->from == h->a && edge->to == h->b) && !(edge->from == h->b && edge->to == h->a))
            continue;
        cost_edge(&c->trial, i, c->bound, c->machine, &cost);
        seconds += cost.seconds;
    }
    c->regions[h->a] = c->skeleton->regions[h->a];
    c->regions[h->b] = c->skeleton->regions[h->b];
    return seconds;
}

static double hand_over_seconds(const void *context, size_t row, size_t column)
{
    const struct hand_over *h = context;
    const struct space_domain *domains = h->compiler->space->domains;
    return h->seconds[cost_signature(&domains[h->a].choices[row])]
                     [cost_signature(&domains[h->b].choices[column])];
}

/* One pair of choices stands for all of its signatures. */
static struct hand_over hand_over_of(struct compiler *c, const struct plan_edge *edge)
{
    struct hand_over h = {.compiler = c, .a = edge->from, .b = edge->to};
    const struct space_domain *a = &c->space->domains[h.a], *b = &c->space->domains[h.b];
    bool known[COST_SIGNATURES][COST_SIGNATURES] = {{false}};
    for (size_t row = 0; row < a->count; row++)
        for (size_t column = 0; column < b->count; column++) {
            size_t x = cost_signature(&a->choices[row]), y = cost_signature(&b->choices[column]);
            if (!known[x][y])
                h.seconds[x][y] = edges_seconds(&h, row, column);
            known[x][y] = true;
        }
    return h;
}

/* The first edge of its two regions stands for all of them. */
static bool is_first(const struct plan *plan, size_t at)
{
    const struct plan_edge *own = &plan->edges[at];
    for (size_t i = 0; i < at; i++)
        if ((plan->edges[i].from == own->from && plan->edges[i].to == own->to) ||
            (plan->edges[i].from == own->to && plan->edges[i].to == own->from))
            return false;
    return own->from != own->to;
}

static bool fits(const struct plan *plan, const struct space *space, struct err *err)
{
    double pairs = 0;
    for (size_t i = 0; i < space->domain_count; i++)
        if (space->domains[i].count > FACTOR_VALUES_MAX)
            return err_raise(err, ERR_LIMIT, "region %zu has more than %d choices", i,
                             FACTOR_VALUES_MAX);
    for (size_t i = 0; i < plan->edge_count; i++)
        if (is_first(plan, i))
            pairs += (double)space->domains[plan->edges[i].from].count *
                     (double)space->domains[plan->edges[i].to].count;
    if (pairs > PLAN_GRAPH_PAIRS_MAX)
        return err_raise(err, ERR_LIMIT, "%.0f pairs of choices are more than %d", pairs,
                         PLAN_GRAPH_PAIRS_MAX);
    return true;
}

bool plan_graph(struct arena *arena, const struct plan *skeleton, const struct bound_op *bound,
                const struct machine *machine, const struct space *space, struct factor_graph *out,
                struct err *err)
{
    struct compiler c = {.arena = arena,
                         .bound = bound,
                         .machine = machine,
                         .space = space,
                         .trial = *skeleton,
                         .regions = arena_array(arena, struct plan_region, space->domain_count),
                         .skeleton = skeleton};
    struct factor_variable *variables =
        arena_array(arena, struct factor_variable, space->domain_count);
    struct factor_edge *edges = arena_array(arena, struct factor_edge, skeleton->edge_count + 1);
    size_t edge_count = 0;
    if (!fits(skeleton, space, err))
        return false;
    memcpy(c.regions, skeleton->regions, space->domain_count * sizeof(*c.regions));
    c.trial.regions = c.regions;
    for (size_t i = 0; i < space->domain_count; i++)
        variables[i] = (struct factor_variable){.name = STR_LIT("region"),
                                                .domain = make_domain(arena, &space->domains[i]),
                                                .unary = region_seconds(&c, i)};
    for (size_t i = 0; i < skeleton->edge_count; i++) {
        if (!is_first(skeleton, i))
            continue;
        const struct hand_over h = hand_over_of(&c, &skeleton->edges[i]);
        edges[edge_count++] =
            (struct factor_edge){h.a, h.b,
                                 factor_table(arena, space->domains[h.a].count,
                                              space->domains[h.b].count, hand_over_seconds, &h)};
    }
    *out = (struct factor_graph){variables, space->domain_count, edges, edge_count};
    return true;
}
