/*
 * The plans around one cover, for reports and for those who try several plans of one skeleton.
 *
 * A class is asked once for a kind of region; its candidates take the choices under their names.
 */
#include <string.h>

#include "base/panic.h"

#include "solver/sched/cover_int.h"

struct spacer {
    struct arena *arena;
    const struct cover_problem *problem;
    struct cover_kind (*known)[REGION_SKELETONS_MAX]; /* by class; without seconds: not asked */
    struct space *space;
    struct space_domain *domains;
    const double **seconds;
    struct str *reasons;
};

/* The first region of the plan is priced apart. */
static const struct cover_kind *kind_of(struct spacer *s, size_t class, size_t kind, bool first)
{
    struct cover_kind *known =
        first ? arena_new(s->arena, struct cover_kind) : &s->known[class][kind];
    struct err err;
    if (known->seconds == NULL) {
        const bool legal = cover_kind(s->arena, s->problem, &s->problem->candidates->classes[class],
                                      kind, first, known, &err);
        ASSERT(legal); /* a choice of it was picked */
    }
    return known;
}

static void add_region(struct spacer *s, size_t region, const struct candidate_set *candidate,
                       const struct cover_kind *kind)
{
    const struct space_domain *from = &kind->space.domains[0];
    struct plan_region *choices = arena_array(s->arena, struct plan_region, from->count + 1);
    for (size_t i = 0; i < from->count; i++)
        choices[i] =
            candidate_region(s->arena, s->problem->candidates, candidate, &from->choices[i]);
    s->domains[region] = *from;
    s->domains[region].choices = choices;
    s->seconds[region] = kind->seconds;
    s->space->generated += from->generated;
    s->space->plans_possible *= (double)from->count;
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        s->space->refused[i] += from->refused[i];
        if (s->reasons[i].len == 0)
            s->reasons[i] = kind->space.reasons[i];
    }
}

void cover_space(struct arena *arena, const struct cover_problem *problem,
                 const struct cover_pick *picks, size_t count, struct cover_space *out)
{
    const struct candidates *candidates = problem->candidates;
    struct region_skeleton *regions = arena_array(arena, struct region_skeleton, count + 1);
    struct space space = {.domain_count = count, .plans_possible = 1};
    struct spacer s = {.arena = arena, .problem = problem, .space = &space};
    s.known = arena_alloc(arena, candidates->class_count + 1, sizeof(*s.known), 16);
    s.domains = arena_array(arena, struct space_domain, count + 1);
    s.seconds = arena_array(arena, const double *, count + 1);
    s.reasons = arena_array(arena, struct str, LIMIT_COUNT);
    for (size_t i = 0; i < count; i++) {
        const struct cover_item *item = &problem->items[picks[i].item];
        const size_t kind = item->domain->choices[picks[i].choice].kind;
        const size_t class = item->candidate->class;
        const struct region_skeleton *first = &candidates->classes[class].kinds[kind];
        regions[i] = (struct region_skeleton){
            candidate_region(arena, candidates, item->candidate, &first->region), first->guard};
        add_region(&s, i, item->candidate, kind_of(&s, class, kind, i == 0));
    }
    space.domains = s.domains;
    space.reasons = s.reasons;
    out->space = space;
    out->seconds = s.seconds;
    out->skeleton =
        plan_of_regions(arena, problem->bound, problem->track, problem->limits, regions, count);
}
