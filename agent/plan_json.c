/*
 * `plan --json`: everything that --explain says, as one canonical document.
 */
#include "agent/plan_view.h"

enum { DIMS_BYTES_MAX = 4096 };

static void sol_json(struct json_writer *w, const struct sol *sol)
{
    json_key(w, "sol");
    json_open_object(w);
    sol_print(w, sol);
    json_member_int(w, "products", sol->products);
    json_close_object(w);
}

static void task_json(struct json_writer *w, const struct plan_task *task)
{
    struct buf dims;

    buf_init(&dims, task->arena, DIMS_BYTES_MAX);
    op_print_dims(&dims, task->bound);
    json_member_str(w, "op", task->op->name);
    json_member_str(w, "track", task->track->name);
    json_member_str(w, "machine", task->machine->name);
    if (task->sms_of > 0)
        json_member_int(w, "sm_count", task->machine->sm_count);
    json_member_str(w, "shape", buf_view(&dims));
}

/* ---- notes ---- */

static void open_note(struct json_writer *w, size_t stmt, const char *word, struct str text)
{
    json_open_object(w);
    json_member_int(w, "stmt", (int64_t)stmt);
    json_member_text(w, "word", word);
    json_member_str(w, "text", text);
}

static void statements_json(struct json_writer *w, const char *key, const struct op *op)
{
    json_key(w, key);
    json_open_array(w);
    for (size_t i = 0; i < op->stmt_count; i++) {
        struct buf text;

        buf_init(&text, w->out->arena, OP_SPEC_BYTES_MAX);
        op_print_stmt(&text, op, &op->stmts[i]);
        json_put_str(w, buf_view(&text));
    }
    json_close_array(w);
}

static void structures_json(struct json_writer *w, const struct structures *s)
{
    json_key(w, "structures");
    json_open_array(w);
    for (size_t i = 0; i < s->structure_count; i++) {
        const struct structure_note *note = &s->structures[i];

        open_note(w, note->stmt, structure_name(note->word), note->text);
        if (note->with != OP_NONE)
            json_member_int(w, "with", (int64_t)note->with);
        json_close_object(w);
    }
    json_close_array(w);
}

static void preservations_json(struct json_writer *w, const struct structures *s)
{
    json_key(w, "preservations");
    json_open_array(w);
    for (size_t i = 0; i < s->preservation_count; i++) {
        const struct preservation_note *note = &s->preservations[i];

        open_note(w, note->stmt, preservation_name(note->word), note->text);
        json_member_bool(w, "allowed", note->allowed);
        json_close_object(w);
    }
    json_close_array(w);
}

static void primitives_json(struct json_writer *w, const struct structures *s)
{
    json_key(w, "primitives");
    json_open_array(w);
    for (size_t i = 0; i < s->primitive_count; i++) {
        const struct primitive_note *note = &s->primitives[i];

        open_note(w, note->stmt, primitive_name(note->word), note->text);
        json_close_object(w);
    }
    json_close_array(w);
}

static void compositions_json(struct json_writer *w, const struct structures *s)
{
    size_t refused = 0;

    json_key(w, "compositions");
    json_open_object(w);
    json_key(w, "items");
    json_open_array(w);
    for (size_t i = 0; i < s->composition_count; i++) {
        const struct composition_note *note = &s->compositions[i];

        refused += !note->allowed;
        json_open_object(w);
        json_member_int(w, "from", (int64_t)note->from);
        json_member_int(w, "to", (int64_t)note->to);
        json_member_bool(w, "allowed", note->allowed);
        json_member_str(w, "text", note->text);
        json_close_object(w);
    }
    json_close_array(w);
    json_member_int(w, "generated", (int64_t)s->composition_count);
    json_member_int(w, "refused", (int64_t)refused);
    json_close_object(w);
}

static void combinations_json(struct json_writer *w, const struct combinations *all)
{
    json_key(w, "combinations");
    json_open_object(w);
    json_key(w, "items");
    json_open_array(w);
    for (size_t i = 0; i < all->count; i++) {
        const struct combination *c = &all->items[i];

        json_open_object(w);
        json_member_int(w, "from", (int64_t)c->from);
        json_member_int(w, "to", (int64_t)c->to);
        json_member_str(w, "gives", c->gives->name);
        json_member_text(w, "form", form_word(c->form));
        json_member_text(w, "reading", reading_word(c->reading));
        json_member_str(w, "by", c->by->name);
        json_member_bool(w, "allowed", c->allowed);
        json_member_str(w, "text", c->text);
        json_close_object(w);
    }
    json_close_array(w);
    json_member_int(w, "generated", (int64_t)all->count);
    json_member_int(w, "refused", (int64_t)all->refused);
    json_close_object(w);
}

/* ---- space and plans ---- */

/* In the order in which limits are looked at: [{"limit", "refused", "left"}]. */
static void refused_json(struct json_writer *w, const size_t *refused, size_t generated)
{
    json_key(w, "limits");
    json_open_array(w);
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        if (refused[i] == 0)
            continue;
        generated -= refused[i];
        json_open_object(w);
        json_member_text(w, "limit", limit_text((enum limit)i));
        json_member_int(w, "refused", (int64_t)refused[i]);
        json_member_int(w, "left", (int64_t)generated);
        json_close_object(w);
    }
    json_close_array(w);
}

static void space_json(struct json_writer *w, const struct plan_view *view)
{
    json_key(w, "space");
    json_open_object(w);
    json_member_real(w, "plans", view->space.plans_possible);
    json_key(w, "regions");
    json_open_array(w);
    for (size_t r = 0; r < view->space.domain_count; r++) {
        const struct space_domain *domain = &view->space.domains[r];

        json_open_object(w);
        json_member_int(w, "generated", (int64_t)domain->generated);
        json_member_int(w, "legal", (int64_t)domain->count);
        refused_json(w, domain->refused, domain->generated);
        json_close_object(w);
    }
    json_close_array(w);
    json_close_object(w);
}

static void cost_json(struct json_writer *w, const struct plan_cost *cost)
{
    json_key(w, "regions");
    json_open_array(w);
    for (size_t r = 0; r < cost->region_count; r++) {
        const struct region_cost *c = &cost->regions[r];

        json_open_object(w);
        json_member_real(w, "seconds", c->seconds);
        json_member_real(w, "launch_s", c->launch_s);
        json_member_real(w, "memory_s", c->memory_s);
        json_member_real(w, "compute_s", c->compute_s);
        json_member_real(w, "shared_s", c->shared_s);
        json_member_real(w, "latency_s", c->latency_s);
        json_member_text(w, "limiter", cost_limiter_name(c->limiter));
        json_member_int(w, "blocks", c->blocks);
        json_member_int(w, "blocks_per_sm", c->blocks_per_sm);
        json_close_object(w);
    }
    json_close_array(w);
    json_key(w, "edges");
    json_open_array(w);
    for (size_t e = 0; e < cost->edge_count; e++)
        json_put_real(w, cost->edges[e].seconds);
    json_close_array(w);
}

static void slack_json(struct json_writer *w, const struct limits *limits)
{
    json_key(w, "slack");
    json_open_array(w);
    for (size_t i = 0; i < limits->line_count; i++) {
        const struct limit_line *line = &limits->lines[i];

        json_open_object(w);
        if (line->region != OP_NONE)
            json_member_int(w, "region", (int64_t)line->region);
        json_member_text(w, "limit", limit_text(line->limit));
        json_member_int(w, "value", line->value);
        json_member_int(w, "most", line->most);
        json_close_object(w);
    }
    json_close_array(w);
}

static void refusals_json(struct json_writer *w, const struct candidates *candidates)
{
    json_key(w, "refusals");
    json_open_array(w);
    for (size_t i = 0; i < candidates->refusal_count; i++) {
        json_open_object(w);
        json_member_str(w, "reason", candidates->refusals[i].reason);
        json_member_bool(w, "pair", candidates->refusals[i].composition);
        json_member_int(w, "sets", (int64_t)candidates->refusals[i].sets);
        json_member_str(w, "example", candidates->refusals[i].example);
        json_close_object(w);
    }
    json_close_array(w);
}

static void covers_json(struct json_writer *w, const struct plan_covers *covers)
{
    json_key(w, "candidates");
    json_open_object(w);
    json_member_int(w, "generated", (int64_t)covers->candidates.generated);
    json_member_int(w, "refused", (int64_t)covers->candidates.refused);
    json_member_int(w, "classes", (int64_t)covers->candidates.class_count);
    if (covers->candidates.stopped != NULL)
        json_member_text(w, "stopped", covers->candidates.stopped);
    refusals_json(w, &covers->candidates);
    json_close_object(w);
    if (covers->result.count == 0)
        return;
    json_key(w, "solver");
    json_open_object(w);
    json_member_text(w, "name", "cuts");
    json_member_text(w, "claim", factor_claim_text(covers->result.claim));
    json_member_real(w, "bound", covers->result.bound);
    json_member_int(w, "states", (int64_t)covers->result.states);
    json_member_int(w, "transitions", (int64_t)covers->result.transitions);
    json_member_int(w, "choices", (int64_t)covers->problem.generated);
    json_member_int(w, "legal", (int64_t)covers->problem.legal);
    json_member_int(w, "reused", (int64_t)covers->problem.reused);
    if (covers->result.stopped != NULL)
        json_member_text(w, "stopped", covers->result.stopped);
    json_close_object(w);
}

static void ranked_json(struct json_writer *w, const struct plan_ranked *p)
{
    json_open_object(w);
    json_member_real(w, "seconds", p->cost.seconds);
    json_key(w, "plan");
    plan_print(w, p->plan);
    cost_json(w, &p->cost);
    slack_json(w, &p->limits);
    json_close_object(w);
}

static void best_json(struct json_writer *w, const struct plan_view *view)
{
    json_key(w, "best");
    json_open_array(w);
    for (size_t i = 0; i < view->best_count; i++)
        ranked_json(w, &view->best[i]);
    json_close_array(w);
    if (view->own != NULL) {
        json_key(w, "best_of_realiser");
        ranked_json(w, view->own);
    }
    if (view->best_count == 0)
        json_member_str(w, "why_none", view->why_none);
}

/* ---- questions ---- */

static void why_json(struct json_writer *w, const struct plan_view *view,
                     const struct plan_why *why)
{
    json_key(w, "why_not");
    json_open_object(w);
    json_member_int(w, "region", (int64_t)why->region);
    json_member_int(w, "matching", (int64_t)why->matching);
    json_member_int(w, "legal", (int64_t)why->legal);
    json_member_bool(w, "outside", why->outside);
    json_member_str(w, "choice", region_summary(view->task.arena, why->choice, view->task.bound));
    refused_json(w, why->refused, why->matching);
    if (why->reason.len > 0) {
        json_member_str(w, "reason", why->reason);
    } else {
        json_member_real(w, "seconds", why->seconds);
        json_member_int(w, "rank", (int64_t)why->rank);
        json_member_int(w, "of", (int64_t)why->of);
    }
    json_close_object(w);
}

static void points_json(struct json_writer *w, const struct plan_points *points, const char *varied)
{
    json_member_text(w, "varied", varied);
    json_key(w, "points");
    json_open_array(w);
    for (size_t i = 0; i < points->count; i++) {
        const struct plan_point *p = &points->items[i];

        json_open_object(w);
        json_member_str(w, "at", p->at);
        json_member_bool(w, "flips", p->flips);
        json_member_real(w, "sol_seconds", p->sol_seconds);
        if (p->plan == NULL) {
            json_member_str(w, "why_none", p->why_none);
        } else {
            json_member_real(w, "seconds", p->seconds);
            json_member_real(w, "plans", p->possible);
            json_member_str(w, "summary", p->summary);
            json_key(w, "plan");
            plan_print(w, p->plan);
        }
        json_close_object(w);
    }
    json_close_array(w);
}

void plan_report_json(struct json_writer *w, const struct plan_report *report)
{
    const struct plan_view *view = report->view;
    const struct structures *structures = &report->rewrites->structures;

    json_open_object(w);
    json_member_int(w, "plan_report", 1);
    task_json(w, &view->task);
    sol_json(w, &view->sol);
    statements_json(w, "statements", view->task.op);
    statements_json(w, "normal_form", report->rewrites->op);
    structures_json(w, structures);
    preservations_json(w, structures);
    plan_rewrites_json(w, report->rewrites);
    primitives_json(w, structures);
    compositions_json(w, structures);
    combinations_json(w, &report->rewrites->combinations);
    space_json(w, view);
    covers_json(w, &report->view->covers);
    best_json(w, view);
    if (report->why != NULL)
        why_json(w, view, report->why);
    if (report->points != NULL)
        points_json(w, report->points, report->varied);
    json_close_object(w);
}
