/*
 * What solver/legal finds in the normal form of a spec: structures, what they allow, and the
 * rewrites, tried one at a time.
 *
 * Two specs that differ in names, order or arithmetic that means nothing have one normal form, so
 * they get one report.  Statement numbers are those of the normal form; plans keep the numbers of
 * the spec as written, for that is what kernels are made from.
 */
#include "agent/plan_view.h"

static struct str body_of(struct arena *arena, const struct op *op)
{
    struct buf text;

    buf_init(&text, arena, OP_SPEC_BYTES_MAX);
    op_print_body(&text, op);
    return buf_view(&text);
}

bool plan_find_rewrites(const struct plan_task *task, struct plan_rewrites *out, struct err *err)
{
    struct plan_rewrites found = {.items = NULL};
    const struct bound_op *bound;
    struct plan_rewrite *items;

    if (!op_normal(task->arena, task->op, &found.op, err) ||
        !op_bind(task->arena, found.op, &task->bound->env, &bound, err))
        return false;
    found.same = str_equal(body_of(task->arena, task->op), body_of(task->arena, found.op));
    structure_of(task->arena, bound, task->track, &found.structures);
    if (task->catalogue != NULL)
        compose_primitives(task->arena, bound, &found.structures, task->catalogue,
                           task->machine->capability, &found.combinations);
    const struct rewrite *list =
        rewrite_list(task->arena, found.op, PLAN_REWRITE_BLOCK, &found.count);
    items = arena_array(task->arena, struct plan_rewrite, found.count + 1);
    for (size_t i = 0; i < found.count; i++) {
        items[i].rewrite = list[i];
        preserve_apply(task->arena, found.op, &list[i], &items[i].result);
        found.legal += items[i].result.op != NULL;
    }
    found.items = items;
    *out = found;
    return true;
}

/* ---- text ---- */

static void rewrite_text(struct buf *out, const struct op *op, const struct plan_rewrite *r)
{
    buf_printf(out, "  %3zu  ", r->rewrite.stmt);
    rewrite_print(out, op, &r->rewrite);
    buf_printf(out, ": %.*s", STR_ARG(r->result.text));
    if (r->result.bound_scale > 1)
        buf_printf(out, "; bound times %g", r->result.bound_scale);
    if (r->result.bound_parts != NULL) {
        buf_printf(out, ", and %g more for each of ", r->result.bound_step);
        formula_print(out, r->result.bound_parts);
    }
    buf_char(out, '\n');
}

void plan_rewrites_text(struct buf *out, const struct plan_rewrites *rewrites)
{
    const struct op *op = rewrites->op;

    buf_printf(out, "\nrewrites: %zu legal, %zu refused\n", rewrites->legal,
               rewrites->count - rewrites->legal);
    for (int legal = 1; legal >= 0; legal--) {
        buf_text(out, legal ? " legal\n" : " refused\n");
        for (size_t i = 0; i < rewrites->count; i++)
            if ((rewrites->items[i].result.op != NULL) == (legal == 1))
                rewrite_text(out, op, &rewrites->items[i]);
    }
}

/* ---- JSON ---- */

static void rewrite_json(struct json_writer *w, const struct op *op, const struct plan_rewrite *r)
{
    const struct stmt *stmt = &op->stmts[r->rewrite.stmt];

    json_open_object(w);
    json_member_text(w, "rule", rewrite_name(r->rewrite.rule));
    json_member_text(w, "preservation", preservation_name(rewrite_preservation(r->rewrite.rule)));
    json_member_int(w, "stmt", (int64_t)r->rewrite.stmt);
    if (rewrite_loop_of(r->rewrite.rule) == LOOP_FACTOR)
        json_member_int(w, "factor", (int64_t)r->rewrite.loop);
    else if (rewrite_loop_of(r->rewrite.rule) != LOOP_NONE)
        json_member_str(w, "index", stmt->loops[r->rewrite.loop].name);
    if (rewrite_number_of(r->rewrite.rule) != NUMBER_NONE)
        json_member_int(w, "number", r->rewrite.number);
    json_member_bool(w, "legal", r->result.op != NULL);
    json_member_str(w, "text", r->result.text);
    if (r->result.op != NULL) {
        json_member_real(w, "bound_scale", r->result.bound_scale);
        json_member_real(w, "bound_step", r->result.bound_step);
        json_member_str(w, "body", body_of(w->out->arena, r->result.op));
    }
    json_close_object(w);
}

void plan_rewrites_json(struct json_writer *w, const struct plan_rewrites *rewrites)
{
    json_key(w, "rewrites");
    json_open_array(w);
    for (size_t i = 0; i < rewrites->count; i++)
        rewrite_json(w, rewrites->op, &rewrites->items[i]);
    json_close_array(w);
}
