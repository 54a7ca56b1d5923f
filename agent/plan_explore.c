/*
 * The cheapest plans of a task: covers by candidate regions and the choices inside them together,
 * by dynamic programming over cuts (solver/sched/cover.h).  The plan space that is shown is the one
 * around the best cover: its regions, by the same kinds.
 *
 * Where no statement's regions are legal, the greedy skeleton stands for what was tried.
 */
#include <math.h>
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

/* What is proved of the i-th of the best covers. */
static struct str statement_of(struct arena *arena, const struct cover_result *result,
                               const struct candidates *candidates, double seconds, size_t i)
{
    const double over = seconds / result->bound - 1;
    struct buf text;

    buf_init(&text, arena, SUMMARY_BYTES_MAX);
    if (result->claim == FACTOR_OPTIMAL && i > 0)
        buf_printf(&text, "proven number %zu", i + 1);
    else if (result->claim == FACTOR_WITHIN && result->bound > 0)
        buf_printf(&text, "within %.2f %% of the optimum, proven", 100 * fmax(over, 0));
    else
        buf_text(&text, factor_claim_text(result->claim));
    if (candidates->stopped != NULL)
        buf_text(&text, ", among the regions that were generated");
    return buf_view(&text);
}

/* The best plan without what the realiser does not write. */
static bool find_own(struct plan_view *view, const struct skeleton_limits *limits, struct err *err)
{
    const struct plan_task *task = &view->task;
    struct skeleton_limits *own_limits = arena_new(task->arena, struct skeleton_limits);
    struct candidates candidates;
    struct cover_problem problem;
    struct cover_result found;
    struct err why;

    if (view->best_count > 0 && plan_realisable(view->best[0].plan))
        view->own = &view->best[0];
    if (view->own != NULL)
        view->own_statement = plan_statement(task->arena, view, 0);
    if (view->own != NULL || view->best_count == 0)
        return true;
    *own_limits = *limits;
    own_limits->realisable = true;
    candidates_find(task->arena, task->bound, task->track, own_limits, &view->covers.structures,
                    &candidates);
    if (!cover_problem(task->arena, &candidates, task->machine, 1, &problem, &why)) {
        if (why.code == ERR_LIMIT)
            return true;
        *err = why;
        return false;
    }
    cover_solve(task->arena, &problem, 0, &found);

    struct plan_ranked *own = arena_new(task->arena, struct plan_ranked);
    own->plan = cover_plan(task->arena, &problem, found.best[0].picks, found.best[0].count);
    plan_limits(task->arena, own->plan, task->bound, task->machine, &own->limits);
    if (!own->limits.legal)
        return true;
    cost_plan(task->arena, own->plan, task->bound, task->machine, &own->cost);
    view->own = own;
    view->own_statement = statement_of(task->arena, &found, &candidates, own->cost.seconds, 0);
    return true;
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
    if (!find_own(view, limits, err))
        return false;
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

/* ---- what is proven ---- */

struct str plan_statement(struct arena *arena, const struct plan_view *view, size_t i)
{
    return statement_of(arena, &view->covers.result, &view->covers.candidates,
                        view->best[i].cost.seconds, i);
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

static void tile_text(struct buf *out, const struct plan_region *region)
{
    bool async = false, ahead = false;
    struct str other = {0}; /* comes through registers where another is copied */

    tiles_text(out, region, "a block", false);
    tiles_text(out, region, "a thread", true);
    if (region->mma[0] > 0)
        buf_printf(out, "mma %lld x %lld x %lld in %s, ", (long long)region->mma[0],
                   (long long)region->mma[1], (long long)region->mma[2],
                   compute_name(region->precision));
    for (size_t i = 0; i < region->stage_count; i++) {
        async |= region->stages[i].staging == STAGE_ASYNC;
        ahead |= region->stages[i].staging == STAGE_REGISTER;
        if (region->stages[i].staging != STAGE_ASYNC)
            other = region->stages[i].tensor;
    }
    if (region->depth > 1)
        buf_printf(out, "%lld stages%s", (long long)region->depth,
                   async   ? " copied asynchronously"
                   : ahead ? " through registers"
                           : "");
    if (region->depth > 1 && async && other.len > 0)
        buf_printf(out, " but %.*s through registers", STR_ARG(other));
    if (region->depth > 1)
        buf_text(out, ", ");
    if (!str_equal(region->layout, STR_LIT(LAYOUT_ROW_MAJOR)))
        buf_printf(out, "%.*s, ", STR_ARG(region->layout));
}

struct str region_summary(struct arena *arena, const struct plan_region *region,
                          const struct bound_op *bound)
{
    struct footprint footprint;
    struct buf text;
    const char *why;
    const bool known = footprint_of(arena, region, bound, &footprint, &why);

    buf_init(&text, arena, SUMMARY_BYTES_MAX);
    if (known && (footprint.kind == FOOTPRINT_TILE || footprint.kind == FOOTPRINT_CHAIN))
        tile_text(&text, region);
    else if (known && footprint.kind == FOOTPRINT_ROWS)
        buf_printf(&text, "a row a %s, %s%s, %lld items, ", footprint.warp ? "warp" : "block",
                   footprint.held_bytes > 0 ? "held in shared memory"
                   : footprint.streaming    ? "streamed"
                                            : "held",
                   region_uses(region, PRIMITIVE_ONLINE_STATE) ? " with a running state" : "",
                   (long long)footprint.items);
    if (region->split > 1)
        buf_printf(&text, "sums over %lld blocks, ", (long long)region->split);
    if (known && footprint.kind == FOOTPRINT_CHAIN)
        scores_text(&text, region, &footprint);
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
