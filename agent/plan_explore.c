/*
 * The plan space of a task, priced, and its cheapest plans.
 *
 * A plan's cost is a sum over regions and edges.  Where an edge's term is the same whatever its
 * regions choose, the k cheapest plans come from the k cheapest of each region: partial sums over
 * the first regions are kept k at a time.  Otherwise plan_pairs.c finds them.
 *
 * Invariant: equal times are ordered by the choices' positions in the space, so equal inputs give
 * equal lists.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/plan_view.h"

enum { SCRATCH_BYTES = 64 << 20, SUMMARY_BYTES_MAX = 4096 };

/* ---- prices ---- */

/* Each choice of a region in the skeleton's place. */
static const double *price_region(struct plan_view *view, size_t region)
{
    const struct plan_task *task = &view->task;
    const struct space_domain *domain = &view->space.domains[region];
    double *seconds = arena_array(task->arena, double, domain->count);
    struct plan trial = *view->skeleton;
    struct plan_region *regions = arena_array(task->arena, struct plan_region, trial.region_count);

    memcpy(regions, trial.regions, trial.region_count * sizeof(regions[0]));
    trial.regions = regions;
    for (size_t i = 0; i < domain->count; i++) {
        struct region_cost cost;
        struct arena scratch;

        arena_init(&scratch, SCRATCH_BYTES);
        regions[region] = domain->choices[i];
        cost_region(&scratch, &trial, region, task->bound, task->machine, &cost);
        seconds[i] = cost.seconds;
        arena_release(&scratch);
    }
    return seconds;
}

static void price(struct plan_view *view)
{
    const double **seconds =
        arena_array(view->task.arena, const double *, view->space.domain_count + 1);

    for (size_t r = 0; r < view->space.domain_count; r++)
        seconds[r] = price_region(view, r);
    view->seconds = seconds;
}

/* ---- the k best ---- */

struct partial {
    double seconds;
    const struct partial *before;
    size_t rank;   /* of `before` in its list */
    size_t choice; /* of the last region */
};

static int by_seconds(const void *a, const void *b)
{
    const struct partial *x = a, *y = b;

    if (x->seconds != y->seconds)
        return x->seconds < y->seconds ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->choice < y->choice ? -1 : x->choice > y->choice;
}

/* The best `most` of a list, sorted; *count goes down to at most that. */
static const struct partial *keep(struct partial *list, size_t *count, size_t most)
{
    qsort(list, *count, sizeof(list[0]), by_seconds);
    *count = *count < most ? *count : most;
    return list;
}

static const struct partial *choices_of(const struct plan_view *view, size_t region, size_t *count,
                                        size_t most)
{
    struct partial *own;

    *count = view->space.domains[region].count;
    own = arena_array(view->task.arena, struct partial, *count);
    for (size_t i = 0; i < *count; i++)
        own[i] = (struct partial){view->seconds[region][i], NULL, 0, i};
    return keep(own, count, most);
}

static const struct partial *extend(const struct plan_view *view, const struct partial *before,
                                    size_t before_count, size_t region, size_t *count, size_t most)
{
    size_t own_count, n = 0;
    const struct partial *own = choices_of(view, region, &own_count, most);
    struct partial *all = arena_array(view->task.arena, struct partial, before_count * own_count);

    for (size_t i = 0; i < before_count; i++)
        for (size_t k = 0; k < own_count; k++)
            all[n++] =
                (struct partial){before[i].seconds + own[k].seconds, &before[i], i, own[k].choice};
    *count = n;
    return keep(all, count, most);
}

static const size_t *choices_to(const struct plan_view *view, const struct partial *last)
{
    size_t *choices = arena_array(view->task.arena, size_t, view->space.domain_count);

    for (size_t r = view->space.domain_count; r-- > 0; last = last->before)
        choices[r] = last->choice;
    return choices;
}

/* The same for regions that do not depend on each other. */
static size_t alone_best(const struct plan_view *view, size_t most, const size_t **choices)
{
    size_t count;
    const struct partial *list = choices_of(view, 0, &count, most);

    for (size_t r = 1; r < view->space.domain_count; r++)
        list = extend(view, list, count, r, &count, most);
    for (size_t i = 0; i < count; i++)
        choices[i] = choices_to(view, &list[i]);
    return count;
}

static struct plan_ranked rank(const struct plan_view *view, const size_t *choices)
{
    const struct plan_task *task = &view->task;
    struct plan_ranked out;

    out.plan = space_plan(task->arena, view->skeleton, task->bound, &view->space, choices);
    cost_plan(task->arena, out.plan, task->bound, task->machine, &out.cost);
    plan_limits(task->arena, out.plan, task->bound, task->machine, &out.limits);
    return out;
}

static void find_best(struct plan_view *view, size_t most)
{
    const size_t **choices = arena_array(view->task.arena, const size_t *, most);
    const size_t count = plan_has_pairs(view) ? plan_pairs_best(view, most, choices)
                                              : alone_best(view, most, choices);
    struct plan_ranked *best;

    best = arena_array(view->task.arena, struct plan_ranked, count);
    for (size_t i = 0; i < count; i++)
        best[i] = rank(view, choices[i]);
    view->best = best;
    view->best_count = count;
    /* the tensors between regions are the same in all, so one is over when all are */
    if (count == 0)
        view->why_none = STR_LIT("no plan was found within the solver's limits");
    else if (!best[0].limits.legal) {
        view->why_none = best[0].limits.reason;
        view->best_count = 0;
    }
}

bool plan_explore(const struct plan_task *task, size_t best, struct plan_view *out, struct err *err)
{
    const struct skeleton_limits limits = {task->arch, task->machine->threads_per_block};
    struct plan_view view = {.task = *task};
    struct err why;

    if (!sol_of(task->bound, task->track, task->machine, &view.sol, err) ||
        !plan_skeleton(task->arena, task->bound, task->track, &limits, &view.skeleton, err))
        return false;
    if (plan_space(task->arena, view.skeleton, task->bound, task->machine, 1, &view.space, &why)) {
        price(&view);
        find_best(&view, best);
    } else if (why.code == ERR_LIMIT) {
        view.why_none = str_from(str_copy(task->arena, str_from(why.text)));
    } else {
        *err = why;
        return false;
    }
    *out = view;
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
