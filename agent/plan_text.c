/*
 * `plan` for a reader.  The long form (--explain) goes in the order of the questions: what is it,
 * what may be done to it, by which means, in what combinations, how large is the space, what is
 * best in it and why.
 */
#include <inttypes.h>
#include <string.h>

#include "agent/plan_view.h"

enum { NAME_COLUMN = 32, LIMIT_COLUMN = 48 };

static void us_text(struct buf *out, double seconds)
{
    buf_printf(out, "%.2f us", seconds * 1e6);
}

/* ---- head ---- */

static void head_text(struct buf *out, const struct plan_view *view)
{
    const struct plan_task *task = &view->task;

    buf_printf(out, "%.*s, track %.*s, ", STR_ARG(task->op->name), STR_ARG(task->track->name));
    op_print_dims(out, task->bound);
    buf_text(out, ", on ");
    if (task->sms_of > 0)
        buf_printf(out, "%lld of the %lld SMs of ", (long long)task->machine->sm_count,
                   (long long)task->sms_of);
    buf_printf(out, "%.*s\n", STR_ARG(task->machine->name));
}

static void sol_text(struct buf *out, const struct plan_view *view)
{
    const struct sol *sol = &view->sol;

    buf_text(out, "speed of light  ");
    us_text(out, sol->seconds);
    buf_printf(out, " (%s): %.4g bytes in ", sol_limiter_name(sol->limiter), sol->bytes);
    us_text(out, sol->memory_s);
    buf_printf(out, ", %.4g flops in ", sol->flops);
    us_text(out, sol->compute_s);
    if (sol->flops > 0)
        buf_printf(out, " at the %s rate", machine_rate_name(sol->means));
    if (sol->products > 1)
        buf_printf(out, ", %" PRId64 " products for one", sol->products);
    buf_char(out, '\n');
}

/* ---- notes ---- */

static void note_text(struct buf *out, size_t stmt, const char *word, struct str text)
{
    buf_printf(out, "  %3zu  %-*s %.*s\n", stmt, NAME_COLUMN, word, STR_ARG(text));
}

static void statements_text(struct buf *out, const char *heading, const struct op *op)
{
    buf_printf(out, "\n%s\n", heading);
    for (size_t i = 0; i < op->stmt_count; i++) {
        buf_printf(out, "  %3zu  ", i);
        op_print_stmt(out, op, &op->stmts[i]);
        buf_char(out, '\n');
    }
}

static void structures_text(struct buf *out, const struct structures *s)
{
    buf_text(out, "\nstructures\n");
    for (size_t i = 0; i < s->structure_count; i++)
        note_text(out, s->structures[i].stmt, structure_name(s->structures[i].word),
                  s->structures[i].text);
}

static void boundary_text(struct buf *out, const struct structures *s)
{
    for (int allowed = 1; allowed >= 0; allowed--) {
        buf_printf(out, "\npreservation: %s\n", allowed ? "allowed" : "refused");
        for (size_t i = 0; i < s->preservation_count; i++)
            if (s->preservations[i].allowed == (allowed == 1))
                note_text(out, s->preservations[i].stmt,
                          preservation_name(s->preservations[i].word), s->preservations[i].text);
    }
}

static void primitives_text(struct buf *out, const struct structures *s)
{
    buf_text(out, "\nprimitives\n");
    for (size_t i = 0; i < s->primitive_count; i++)
        note_text(out, s->primitives[i].stmt, primitive_name(s->primitives[i].word),
                  s->primitives[i].text);
}

static void compositions_text(struct buf *out, const struct structures *s)
{
    size_t refused = 0;

    for (size_t i = 0; i < s->composition_count; i++)
        refused += !s->compositions[i].allowed;
    buf_printf(out, "\ncompositions: %zu generated, %zu of them refused\n", s->composition_count,
               refused);
    for (size_t i = 0; i < s->composition_count; i++) {
        const struct composition_note *note = &s->compositions[i];

        buf_printf(out, "  %3zu -> %-3zu %-8s %.*s\n", note->from, note->to,
                   note->allowed ? "allowed" : "refused", STR_ARG(note->text));
    }
}

/* Allowed pairs of primitives each, those refused for one reason together. */
static void refused_text(struct buf *out, const struct combinations *all, size_t first)
{
    const struct combination *c = &all->items[first];
    const char *before = "";

    for (size_t i = 0; i < first; i++)
        if (all->items[i].from == c->from && all->items[i].to == c->to && !all->items[i].allowed &&
            str_equal(all->items[i].text, c->text))
            return;
    buf_printf(out, "  %3zu -> %-3zu refused  %.*s: ", c->from, c->to, STR_ARG(c->text));
    for (size_t i = first; i < all->count; i++) {
        const struct combination *other = &all->items[i];

        if (other->from != c->from || other->to != c->to || other->allowed ||
            !str_equal(other->text, c->text))
            continue;
        buf_printf(out, "%s%.*s by %.*s", before, STR_ARG(other->gives->name),
                   STR_ARG(other->by->name));
        before = ", ";
    }
    buf_char(out, '\n');
}

static void combinations_text(struct buf *out, const struct combinations *all)
{
    buf_printf(out, "\ncombinations of primitives: %zu generated, %zu of them refused\n",
               all->count, all->refused);
    for (size_t i = 0; i < all->count; i++) {
        const struct combination *c = &all->items[i];

        if (!c->allowed) {
            refused_text(out, all, i);
            continue;
        }
        buf_printf(out, "  %3zu -> %-3zu allowed  %.*s (%s), read as %s by %.*s", c->from, c->to,
                   STR_ARG(c->gives->name), form_word(c->form), reading_word(c->reading),
                   STR_ARG(c->by->name));
        if (c->text.len > 0)
            buf_printf(out, ", if %.*s", STR_ARG(c->text));
        buf_char(out, '\n');
    }
}

/* ---- the space ---- */

static void region_stmts(struct buf *out, const struct plan_region *region)
{
    buf_text(out, region->stmt_count == 1 ? "statement " : "statements ");
    for (size_t i = 0; i < region->stmt_count; i++)
        buf_printf(out, "%s%zu", i > 0 ? ", " : "", region->stmts[i]);
}

/* A line a limit that refuses something: how many choices are left behind it. */
static void domain_text(struct buf *out, const struct plan_view *view, size_t region)
{
    const struct space_domain *domain = &view->space.domains[region];
    size_t left = domain->generated;

    buf_printf(out, "  region %zu, ", region);
    region_stmts(out, &view->skeleton->regions[region]);
    buf_printf(out, "\n    %-*s %6zu choices\n", LIMIT_COLUMN, "before limits", left);
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        if (domain->refused[i] == 0)
            continue;
        left -= domain->refused[i];
        buf_printf(out, "    %-*s %6zu (%zu refused)\n", LIMIT_COLUMN, limit_text((enum limit)i),
                   left, domain->refused[i]);
    }
}

static void space_text(struct buf *out, const struct plan_view *view)
{
    buf_text(out, "\nplan space around the best cover\n");
    for (size_t r = 0; r < view->space.domain_count; r++)
        domain_text(out, view, r);
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        if (view->space.reasons != NULL && view->space.reasons[i].len > 0)
            buf_printf(out, "  first refused: %.*s\n", STR_ARG(view->space.reasons[i]));
    buf_printf(out, "  %.0f legal plans\n", view->space.plans_possible);
}

/* ---- covers ---- */

/* Compositions that the rules made, those that were refused, and why; an example each. */
static void candidates_text(struct buf *out, const struct candidates *candidates)
{
    buf_printf(out, "\ncandidate regions: %zu sets of statements generated, %zu refused\n",
               candidates->generated, candidates->refused);
    for (size_t i = 0; i < candidates->refusal_count; i++) {
        const struct candidate_refusal *refusal = &candidates->refusals[i];
        const char *line = refusal->example.at;

        buf_printf(out, "  %5zu %s: %.*s; as in\n", refusal->sets,
                   refusal->composition ? "a pair" : "no kind of region", STR_ARG(refusal->reason));
        while (*line != '\0') {
            const size_t length = strcspn(line, "\n");

            buf_printf(out, "          %.*s\n", (int)length, line);
            line += length + (line[length] == '\n');
        }
    }
    if (candidates->stopped != NULL)
        buf_printf(out, "  generation stopped: %s\n", candidates->stopped);
}

static void covers_text(struct buf *out, const struct plan_covers *covers)
{
    const struct cover_problem *problem = &covers->problem;
    const struct cover_result *result = &covers->result;

    buf_printf(out,
               "  %zu candidates of %zu classes, %zu of them by an equal one; choices: %zu before "
               "limits, %zu legal, %zu kept\n",
               covers->candidates.count, covers->candidates.class_count, problem->reused,
               problem->generated, problem->legal, problem->kept);
    buf_printf(out, "  dynamic programming over cuts: %zu states, %zu transitions; %s\n",
               result->states, result->transitions, factor_claim_text(result->claim));
    if (result->stopped != NULL)
        buf_printf(out, "  stopped: %s; no cover takes less than %.2f us\n", result->stopped,
                   result->bound * 1e6);
}

/* ---- plans ---- */

static void region_cost_text(struct buf *out, const struct region_cost *c)
{
    buf_printf(
        out,
        "     launch %.2f + busy %.2f - carried by edges %.2f us; memory %.2f, compute %.2f, "
        "shared %.2f, latency %.2f: %s; %" PRId64 " blocks, %" PRId64 " an SM, %.2f waves\n",
        c->launch_s * 1e6, c->busy_s * 1e6, c->carried_s * 1e6, c->memory_s * 1e6,
        c->compute_s * 1e6, c->shared_s * 1e6, c->latency_s * 1e6, cost_limiter_name(c->limiter),
        c->blocks, c->blocks_per_sm, c->waves);
}

static void slack_text(struct buf *out, const struct limits *limits, size_t region)
{
    for (size_t i = 0; i < limits->line_count; i++) {
        const struct limit_line *line = &limits->lines[i];

        if (line->region != region)
            continue;
        buf_printf(out, "       %-*s %13" PRId64 " of %13" PRId64 ", %" PRId64 " left\n",
                   LIMIT_COLUMN, limit_text(line->limit), line->value, line->most,
                   line->most - line->value);
    }
}

static void terms_text(struct buf *out, const struct plan_view *view, const struct plan_ranked *p)
{
    for (size_t r = 0; r < p->plan->region_count; r++) {
        buf_printf(out, "   region %zu, ", r);
        region_stmts(out, &p->plan->regions[r]);
        buf_text(out, ": ");
        us_text(out, p->cost.regions[r].seconds);
        buf_printf(
            out, "; %.*s\n",
            STR_ARG(region_summary(view->task.arena, &p->plan->regions[r], view->task.bound)));
        region_cost_text(out, &p->cost.regions[r]);
        slack_text(out, &p->limits, r);
    }
    for (size_t e = 0; e < p->plan->edge_count; e++) {
        const struct plan_edge *edge = &p->plan->edges[e];

        buf_printf(out, "   edge %zu -> %zu, %.*s in %s: ", edge->from, edge->to,
                   STR_ARG(edge->tensor), residency_name(edge->residency));
        us_text(out, p->cost.edges[e].seconds);
        buf_char(out, '\n');
    }
    slack_text(out, &p->limits, OP_NONE);
}

/* A statement: terms and slack too. */
static void ranked_text(struct buf *out, const struct plan_view *view, const struct plan_ranked *p,
                        struct str statement)
{
    buf_printf(out, "  %10.2f us, %.3f of light speed  %.*s\n", p->cost.seconds * 1e6,
               view->sol.seconds / p->cost.seconds,
               STR_ARG(plan_summary(view->task.arena, p->plan, view->task.bound)));
    if (statement.len == 0)
        return;
    buf_printf(out, "   %.*s\n", STR_ARG(statement));
    terms_text(out, view, p);
}

static void best_text(struct buf *out, const struct plan_view *view, bool explain)
{
    if (view->best_count == 0) {
        buf_printf(out, "\nno plan is legal: %.*s\n", STR_ARG(view->why_none));
        return;
    }
    buf_printf(out, "\nbest plans over all covers, by predicted time: %.*s (cuts)\n",
               STR_ARG(plan_statement(view->task.arena, view, 0)));
    for (size_t i = 0; i < view->best_count; i++) {
        buf_printf(out, "%3zu", i + 1);
        ranked_text(out, view, &view->best[i],
                    explain ? plan_statement(view->task.arena, view, i) : (struct str){0});
    }
    if (view->own == NULL) {
        buf_text(out, "the realiser writes none of them, nor another one: code is a model's\n");
    } else if (view->own != &view->best[0]) {
        buf_text(out, "code for these is a model's; the best that the realiser writes itself\n   ");
        ranked_text(out, view, view->own, explain ? view->own_statement : (struct str){0});
    }
}

/* ---- questions ---- */

static void why_text(struct buf *out, const struct plan_view *view, const struct plan_why *why)
{
    buf_printf(out, "\nwhy not, region %zu: ", why->region);
    if (why->outside)
        buf_printf(out,
                   "the space tries no such choice; %zu of its choices were changed to it, %zu "
                   "of them legal; ",
                   why->matching, why->legal);
    else
        buf_printf(out, "%zu of the space's choices are so, %zu of them legal; ", why->matching,
                   why->legal);
    if (why->reason.len > 0) {
        buf_printf(out, "refused\n  %.*s\n", STR_ARG(why->reason));
    } else {
        buf_text(out, "the cheapest: ");
        us_text(out, why->seconds);
        buf_printf(out, ", rank %zu among %zu choices", why->rank, why->of);
        if (view->best_count > 0)
            buf_printf(out, "; the best plan takes %.2f us", view->best[0].cost.seconds * 1e6);
        buf_char(out, '\n');
    }
    buf_printf(out, "  %.*s\n",
               STR_ARG(region_summary(view->task.arena, why->choice, view->task.bound)));
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        if (why->refused[i] > 0)
            buf_printf(out, "  %6zu refused by: %s\n", why->refused[i], limit_text((enum limit)i));
}

static void points_text(struct buf *out, const struct plan_points *points, const char *varied)
{
    size_t flips = 0;

    buf_printf(out, "\nbest plan by %s\n", varied);
    for (size_t i = 0; i < points->count; i++) {
        const struct plan_point *p = &points->items[i];

        flips += p->flips;
        buf_printf(out, "%s %-24.*s ", p->flips ? "*" : " ", STR_ARG(p->at));
        if (p->plan == NULL)
            buf_printf(out, "no plan is legal: %.*s\n", STR_ARG(p->why_none));
        else
            buf_printf(out, "%10.2f us, %.3f of light speed  %.*s\n", p->seconds * 1e6,
                       p->sol_seconds / p->seconds, STR_ARG(p->summary));
    }
    buf_printf(out, "%zu change%s (*)\n", flips, flips == 1 ? "" : "s");
}

void plan_report_text(struct buf *out, const struct plan_report *report)
{
    const struct plan_view *view = report->view;
    const struct structures *structures = &report->rewrites->structures;

    head_text(out, view);
    sol_text(out, view);
    if (report->explain) {
        statements_text(
            out, report->rewrites->same ? "statements, in normal form as they are" : "statements",
            view->task.op);
        if (!report->rewrites->same)
            statements_text(out, "normal form, whose statements the structures are of",
                            report->rewrites->op);
        structures_text(out, structures);
        boundary_text(out, structures);
        plan_rewrites_text(out, report->rewrites);
        primitives_text(out, structures);
        compositions_text(out, structures);
        combinations_text(out, &report->rewrites->combinations);
        candidates_text(out, &view->covers.candidates);
        if (view->covers.result.count > 0)
            covers_text(out, &view->covers);
        space_text(out, view);
    }
    best_text(out, view, report->explain);
    if (report->why != NULL)
        why_text(out, view, report->why);
    if (report->points != NULL)
        points_text(out, report->points, report->varied);
}
