/*
 * Why a plan is not among the legal ones, or where it stands if it is.
 *
 * A sketch fixes some numbers of one region.  Of the choices that the space tries there, those that
 * agree with it are judged: a legal one answers with its time and rank, else the one that comes
 * furthest along the limits answers with what stops it.  If the space tries none, its choices are
 * changed to what the sketch says, and those are judged.
 */
#include <string.h>

#include "agent/plan_sketch.h"
#include "agent/plan_view.h"

enum { SCRATCH_BYTES = 64 << 20 };

/* ---- which region ---- */

static bool wrong_index(const struct plan_view *view, const struct sketch *sketch, size_t region,
                        struct err *err)
{
    const struct plan_region *own = &view->skeleton->regions[region];
    struct buf known;

    buf_init(&known, view->task.arena, ERR_TEXT_BYTES / 2);
    for (size_t i = 0; i < own->tile_count; i++)
        buf_printf(&known, "%s%.*s", i > 0 ? ", " : "", STR_ARG(own->tiles[i].index));
    return err_raise(
        err, ERR_USAGE, "--why-not: region %zu has no tile of an index \"%.*s\"; it has %.*s",
        region, STR_ARG(sketch_unknown_index(sketch, own)->index),
        own->tile_count > 0 ? (int)known.len : 4, own->tile_count > 0 ? known.at : "none");
}

static bool find_region(const struct plan_view *view, const struct sketch *sketch, size_t *out,
                        struct err *err)
{
    const struct plan *plan = view->skeleton;
    size_t region = sketch->region;

    for (size_t r = 0; region == OP_NONE && r < plan->region_count; r++)
        if (sketch_unknown_index(sketch, &plan->regions[r]) == NULL)
            region = r;
    if (region == OP_NONE)
        region = 0;
    if (region >= plan->region_count)
        return err_raise(err, ERR_USAGE, "--why-not: there is no region %zu; the plan has %zu",
                         region, plan->region_count);
    if (sketch_unknown_index(sketch, &plan->regions[region]) != NULL)
        return wrong_index(view, sketch, region, err);
    *out = region;
    return true;
}

/* ---- judging ---- */

struct search {
    const struct plan_view *view;
    const struct sketch *sketch;
    struct plan trial;
    struct plan_region *regions; /* of the trial */
    struct plan_why *why;
    double seconds;       /* of the cheapest legal choice, of its region alone */
    const char *lacks;    /* what no choice can be changed to; NULL: nothing so far */
    struct arena scratch; /* of a changed choice */
};

static double seconds_of(struct search *s, const struct plan_region *choice)
{
    const struct plan_task *task = &s->view->task;
    struct region_cost cost;
    struct arena scratch;

    arena_init(&scratch, SCRATCH_BYTES);
    s->regions[s->why->region] = *choice;
    cost_region(&scratch, &s->trial, s->why->region, task->bound, task->machine, &cost);
    arena_release(&scratch);
    return cost.seconds;
}

static void choose(struct search *s, const struct plan_region *choice)
{
    struct plan_region *kept = arena_new(s->view->task.arena, struct plan_region);

    *kept = *choice;
    s->why->choice = kept;
}

static void judge(struct search *s, const struct plan_region *choice, const struct limits *limits)
{
    struct plan_why *why = s->why;
    bool furthest = true;

    why->matching++;
    if (limits->legal) {
        const double seconds = seconds_of(s, choice);

        if (why->legal++ == 0 || seconds < s->seconds) {
            s->seconds = seconds;
            why->reason = STR_LIT("");
            choose(s, choice);
        }
        return;
    }
    for (size_t i = limits->over.limit; i < LIMIT_COUNT; i++)
        furthest &= why->refused[i] == 0;
    why->refused[limits->over.limit]++;
    if (why->legal > 0 || !furthest)
        return;
    why->reason = str_from(str_copy(s->view->task.arena, limits->reason));
    choose(s, choice);
}

static void visit(void *context, const struct plan_region *choice, const struct limits *limits)
{
    struct search *s = context;

    if (sketch_agrees(s->sketch, choice))
        judge(s, choice, limits);
}

/* ---- what the space does not try ---- */

/* A choice as the sketch has it; of what no choice of its kind can be, the first reason. */
static void change(void *context, const struct plan_region *choice,
                   const struct limits *limits UNUSED)
{
    struct search *s = context;
    const struct plan_task *task = &s->view->task;
    struct plan_region region;
    struct limits own;
    struct err err;
    const char *lacks;

    if (!sketch_apply(task->arena, s->sketch, choice, &region, &lacks)) {
        if (s->lacks == NULL)
            s->lacks = lacks;
        return;
    }
    s->regions[s->why->region] = region;
    if (!plan_check(&s->trial, task->op, &err)) {
        if (s->why->choice == NULL) {
            s->why->reason = str_from(str_copy(task->arena, str_from(err.text)));
            choose(s, &region);
        }
        return;
    }
    arena_clear(&s->scratch);
    region_limits(&s->scratch, &s->trial, s->why->region, task->bound, task->machine, NULL, &own);
    judge(s, &region, &own);
}

static void judge_outside(struct search *s)
{
    const struct plan_task *task = &s->view->task;
    struct buf text;

    s->why->outside = true;
    arena_init(&s->scratch, SCRATCH_BYTES);
    space_visit(task->arena, s->view->skeleton, task->bound, task->machine, false, s->why->region,
                change, s);
    arena_release(&s->scratch);
    if (s->why->choice != NULL)
        return;
    buf_init(&text, task->arena, ERR_TEXT_BYTES);
    buf_printf(&text, "no choice of region %zu with these numbers uses %s", s->why->region,
               s->lacks != NULL ? s->lacks : "any of it");
    s->why->reason = buf_view(&text);
    choose(s, &s->view->skeleton->regions[s->why->region]);
}

/* ---- the answer ---- */

/* A sketch leaves the direction free, and a region takes as long in either: so the choice walks as
 * the best plan's region does, and the edges keep their terms. */
static void turn_as(struct search *s, const struct plan_region *best)
{
    struct plan_region turned = *s->why->choice;

    turned.reverse = s->sketch->reverse < 0 ? best->reverse : turned.reverse;
    choose(s, &turned);
}

static void stand(struct search *s)
{
    const struct plan_view *view = s->view;
    const size_t region = s->why->region;

    if (view->best_count == 0) { /* another region, or the tensors, have no place */
        s->why->reason = view->why_none;
        return;
    }
    const struct plan_ranked *best = &view->best[0];

    turn_as(s, &best->plan->regions[region]);
    s->why->seconds = best->cost.seconds - best->cost.regions[region].seconds + s->seconds;
    s->why->of = view->space.domains[region].count;
    s->why->rank = 1;
    for (size_t i = 0; i < s->why->of; i++)
        s->why->rank += view->seconds[region][i] < s->seconds;
}

bool plan_why_not(const struct plan_view *view, const char *text, struct plan_why *out,
                  struct err *err)
{
    const struct plan_task *task = &view->task;
    struct plan_why why = {.region = 0};
    struct sketch sketch;
    struct search s = {.view = view, .sketch = &sketch, .trial = *view->skeleton, .why = &why};

    if (!sketch_parse(task->arena, text, &sketch, err) ||
        !find_region(view, &sketch, &why.region, err))
        return false;
    s.regions = arena_array(task->arena, struct plan_region, s.trial.region_count);
    memcpy(s.regions, s.trial.regions, s.trial.region_count * sizeof(s.regions[0]));
    s.trial.regions = s.regions;
    space_visit(task->arena, view->skeleton, task->bound, task->machine, false, why.region, visit,
                &s);
    if (why.matching == 0)
        judge_outside(&s);
    if (why.legal > 0)
        stand(&s);
    *out = why;
    return true;
}
