/*
 * The cheapest plans of a task: covers by candidate regions and the choices inside them together,
 * by dynamic programming over cuts (solver/sched/cover.h).  The plan space that is shown is the one
 * around the best cover: its regions, by the same kinds.
 *
 * Where no statement's regions are legal, the greedy skeleton stands for what was tried.
 */
#include <string.h>

#include "agent/plan_view.h"

enum { SUMMARY_BYTES_MAX = 4096 };

/* Covers that a plan as a whole allows; the first reason when none does. */
static void rank(struct plan_view *view)
{
    const struct plan_task *task = &view->task;
    const struct cover_result *found = &view->covers.result;
    struct plan_ranked *best = arena_array(task->arena, struct plan_ranked, found->count + 1);

    for (size_t i = 0; i < found->count; i++) {
        struct plan_ranked *own = &best[view->best_count];

        own->plan = cover_plan(task->arena, &view->covers.problem, found->best[i].picks,
                               found->best[i].count);
        plan_limits(task->arena, own->plan, task->bound, task->machine, &own->limits);
        if (own->limits.legal) {
            cost_plan(task->arena, own->plan, task->bound, task->machine, &own->cost);
            view->best_count++;
        } else if (view->why_none.len == 0) {
            view->why_none = own->limits.reason;
        }
    }
    view->best = best;
    view->why_none = view->best_count > 0 ? (struct str){0} : view->why_none;
}

static bool cover(struct plan_view *view, const struct skeleton_limits *limits, size_t best,
                  struct err *err)
{
    const struct plan_task *task = &view->task;
    struct plan_covers *covers = &view->covers;
    struct cover_space space;

    structure_of(task->arena, task->bound, task->track, &covers->structures);
    candidates_find(task->arena, task->bound, task->track, limits, &covers->structures,
                    &covers->candidates);
    if (!cover_problem(task->arena, &covers->candidates, task->machine, best, &covers->problem,
                       err))
        return false;
    cover_solve(task->arena, &covers->problem, 0, &covers->result);
    rank(view);
    cover_space(task->arena, &covers->problem, covers->result.best[0].picks,
                covers->result.best[0].count, &space);
    view->skeleton = space.skeleton;
    view->space = space.space;
    view->seconds = space.seconds;
    return true;
}

bool plan_explore(const struct plan_task *task, size_t best, struct plan_view *out, struct err *err)
{
    struct skeleton_limits *limits = arena_new(task->arena, struct skeleton_limits);
    struct plan_view *view =
        arena_new(task->arena, struct plan_view); /* the problem points to it */
    struct err why;

    *limits = (struct skeleton_limits){.arch = task->arch,
                                       .threads_max = task->machine->threads_per_block};
    *view = (struct plan_view){.task = *task};
    if (!sol_of(task->bound, task->track, task->machine, &view->sol, err) ||
        !plan_skeleton(task->arena, task->bound, task->track, limits, &view->skeleton, err))
        return false;
    if (!cover(view, limits, best, &why)) {
        if (why.code != ERR_LIMIT) {
            *err = why;
            return false;
        }
        view->why_none = str_from(str_copy(task->arena, str_from(why.text)));
    }
    *out = *view;
    return true;
}

/* ---- a plan in a phrase ---- */

static void tiles_text(struct buf *out, const struct plan_region *region, const char *word,
                       bool of_thread)
{
    const char *before = "";

    for (size_t i = 0; i < region->tile_count; i++) {
        const struct plan_tile *tile = &region->tiles[i];
        const long long side = of_thread ? tile->thread : tile->block;

        if (side == 1 || (of_thread && tile->step > 0))
            continue;
        buf_printf(out, "%s%.*s %lld", before, STR_ARG(tile->index), side);
        before = " x ";
    }
    if (*before != '\0')
        buf_printf(out, " %s, ", word);
}

/* How a block of a chain comes by a row of scores that it does not take in one step. */
static void scores_text(struct buf *out, const struct plan_region *region,
                        const struct footprint *footprint)
{
    if (footprint->passes > 1)
        buf_text(out, "scores made twice, ");
    if (footprint->held == 0)
        return;
    for (size_t i = 0; i < region->tile_count; i++)
        if (region->tiles[i].step > 0 && region->tiles[i].step < region->tiles[i].block)
            buf_printf(out, "scores held, %.*s in steps of %lld, ", STR_ARG(region->tiles[i].index),
                       (long long)region->tiles[i].step);
}

struct str region_summary(struct arena *arena, const struct plan_region *region,
                          const struct bound_op *bound)
{
    struct footprint footprint;
    struct buf text;
    const char *why;
    const bool known = footprint_of(arena, region, bound, &footprint, &why);

    buf_init(&text, arena, SUMMARY_BYTES_MAX);
    if (known && (footprint.kind == FOOTPRINT_TILE || footprint.kind == FOOTPRINT_CHAIN)) {
        tiles_text(&text, region, "a block", false);
        tiles_text(&text, region, "a thread", true);
        if (region->mma[0] > 0)
            buf_printf(&text, "mma %lld x %lld x %lld, ", (long long)region->mma[0],
                       (long long)region->mma[1], (long long)region->mma[2]);
        if (region->depth > 1)
            buf_printf(&text, "%lld stages, ", (long long)region->depth);
        scores_text(&text, region, &footprint);
    } else if (known && footprint.kind == FOOTPRINT_ROWS) {
        buf_printf(&text, "a row a %s, %s, %lld items, ", footprint.warp ? "warp" : "block",
                   footprint.streaming ? "streamed" : "held", (long long)footprint.items);
    }
    buf_printf(&text, "%lld threads",
               (long long)(region->threads[0] * region->threads[1] * region->threads[2]));
    if (region->vector > 1)
        buf_printf(&text, ", vector %lld", (long long)region->vector);
    if (region->reverse)
        buf_text(&text, ", from the end");
    return buf_view(&text);
}

struct str plan_summary(struct arena *arena, const struct plan *plan, const struct bound_op *bound)
{
    struct buf text;

    buf_init(&text, arena, PLAN_REPORT_BYTES_MAX);
    for (size_t i = 0; i < plan->region_count; i++)
        buf_printf(&text, "%s%.*s", i > 0 ? "; " : "",
                   STR_ARG(region_summary(arena, &plan->regions[i], bound)));
    return buf_view(&text);
}

bool plans_equal(const struct plan *a, const struct plan *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    const struct hash x = plan_hash(a), y = plan_hash(b);

    return hash_equal(&x, &y);
}
