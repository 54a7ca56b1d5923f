/*
 * A row a spec: what was found, how much of it is legal; sets of statements that may be a region,
 * choices of all candidates before and behind their limits, regions of the best cover and the plans
 * around it; the best plan, and the best that the realiser writes.  Wall times go to stderr, for
 * equal inputs print equal tables.
 */
#include "agent/plan_view.h"

enum { OP_COLUMN = 22 };

void plan_table_head(struct buf *out)
{
    buf_printf(out, "%-*s %5s %8s %8s %9s %9s %8s %8s %7s %7s %8s %7s %8s %9s %11s %6s %11s  %s\n",
               OP_COLUMN, "op", "stmts", "rewrites", "refused", "compose", "refused", "combine",
               "refused", "sets", "refused", "regions", "choices", "legal", "plans", "best us",
               "of SOL", "own us", "structures");
}

static void structures_row(struct buf *out, const struct structures *found)
{
    const char *before = "";

    for (int word = 0; word < STRUCTURE_COUNT; word++) {
        size_t count = 0;

        for (size_t i = 0; i < found->structure_count; i++)
            count += (int)found->structures[i].word == word;
        if (count == 0)
            continue;
        buf_printf(out, "%s%s", before, structure_name((enum structure)word));
        if (count > 1)
            buf_printf(out, " x%zu", count);
        before = ", ";
    }
}

void plan_table_row(struct buf *out, const struct plan_report *report)
{
    const struct plan_view *view = report->view;
    const struct plan_rewrites *rewrites = report->rewrites;
    const struct candidates *candidates = &view->covers.candidates;
    const struct cover_problem *problem = &view->covers.problem;
    size_t refused = 0;

    for (size_t i = 0; i < rewrites->structures.composition_count; i++)
        refused += !rewrites->structures.compositions[i].allowed;
    buf_printf(out, "%-*.*s %5zu %8zu %8zu %9zu %9zu %8zu %8zu %7zu %7zu %8zu %7zu %8zu %9.4g ",
               OP_COLUMN, STR_ARG(view->task.op->name), view->task.op->stmt_count, rewrites->legal,
               rewrites->count - rewrites->legal, rewrites->structures.composition_count, refused,
               rewrites->combinations.count, rewrites->combinations.refused, candidates->generated,
               candidates->refused, view->space.domain_count, problem->generated, problem->legal,
               view->space.plans_possible);
    if (view->best_count > 0)
        buf_printf(out, "%11.2f %6.3f ", view->best[0].cost.seconds * 1e6,
                   view->sol.seconds / view->best[0].cost.seconds);
    else
        buf_printf(out, "%11s %6s ", "none", "");
    if (view->own != NULL)
        buf_printf(out, "%11.2f  ", view->own->cost.seconds * 1e6);
    else
        buf_printf(out, "%11s  ", "none");
    structures_row(out, &rewrites->structures);
    buf_char(out, '\n');
}
