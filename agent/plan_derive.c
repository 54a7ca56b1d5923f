/*
 * plan --rewrite LIST: the spec's normal form, rewritten one step after the other.
 *
 * Each step is one of solver/legal/rewrite.h, against the op before it: bounds multiply, so the
 * whole stays within the first op's bound times the product of the steps' factors.  The list is
 * read as it goes, for a step may name what an earlier one made.  A step that is refused ends it;
 * what was reached before it is printed.
 */
#include <string.h>

#include "base/file.h"

#include "agent/plan_view.h"

enum { STEPS_MAX = 64, SPEC_BYTES_MAX = 8 << 20 };

struct step {
    struct str text;
    enum rewrite_rule rule;
    struct rewritten result;
};

struct derivation {
    const struct op *normal, *op; /* before and behind the steps */
    struct step steps[STEPS_MAX];
    size_t count;
    bool refused; /* the last step is */
};

static struct str next_step(struct str *rest)
{
    const char *comma = memchr(rest->at, ',', rest->len);
    size_t len = comma == NULL ? rest->len : (size_t)(comma - rest->at);
    struct str step = {rest->at, len};
    *rest = (struct str){rest->at + len + (comma != NULL), rest->len - len - (comma != NULL)};
    return step;
}

static bool one_step(const struct plan_task *task, struct derivation *d, struct str text,
                     struct err *err)
{
    struct step *step = &d->steps[d->count];
    struct rewrite rewrite;
    char where[32];

    snprintf(where, sizeof(where), "--rewrite: step %zu", d->count + 1);
    if (!rewrite_parse(d->op, text, where, &rewrite, err))
        return false;
    if (!op_track_find(d->op, task->track->name, &rewrite.track))
        rewrite.track = NULL;
    *step = (struct step){.text = text, .rule = rewrite.rule};
    preserve_apply(task->arena, d->op, &rewrite, &step->result);
    d->count++;
    d->refused = step->result.op == NULL;
    if (!d->refused)
        d->op = step->result.op;
    return true;
}

static bool derive(const struct plan_task *task, const char *list, struct derivation *d,
                   struct err *err)
{
    struct str rest = str_from(list);

    if (!op_normal(task->arena, task->op, &d->normal, err))
        return false;
    d->op = d->normal;
    do {
        if (d->count == STEPS_MAX)
            return err_raise(err, ERR_USAGE, "--rewrite: more than %d steps", STEPS_MAX);
        if (!one_step(task, d, next_step(&rest), err))
            return false;
    } while (!d->refused && rest.len > 0);
    return true;
}

/* ---- text ---- */

static void term_text(struct buf *out, const struct rewritten *result)
{
    if (result->bound_parts == NULL) {
        buf_printf(out, "bound times %g", result->bound_scale);
        return;
    }
    buf_printf(out, "bound times %g + %g * ", result->bound_scale, result->bound_step);
    buf_char(out, '(');
    formula_print(out, result->bound_parts);
    buf_char(out, ')');
}

static void derivation_text(struct buf *out, const struct derivation *d)
{
    for (size_t i = 0; i < d->count; i++) {
        const struct step *step = &d->steps[i];
        buf_printf(out, "# %.*s: %s: %.*s", STR_ARG(step->text),
                   preservation_name(rewrite_preservation(step->rule)), STR_ARG(step->result.text));
        if (step->result.op != NULL) {
            buf_text(out, "; ");
            term_text(out, &step->result);
        } else {
            buf_text(out, "; refused");
        }
        buf_char(out, '\n');
    }
    op_print_body(out, d->op);
}

/* ---- JSON ---- */

static void step_json(struct json_writer *w, const struct step *step)
{
    json_open_object(w);
    json_member_str(w, "rewrite", step->text);
    json_member_text(w, "preservation", preservation_name(rewrite_preservation(step->rule)));
    json_member_bool(w, "legal", step->result.op != NULL);
    json_member_str(w, "text", step->result.text);
    if (step->result.op != NULL) {
        json_member_real(w, "bound_scale", step->result.bound_scale);
        json_member_real(w, "bound_step", step->result.bound_step);
    }
    if (step->result.bound_parts != NULL) {
        struct buf parts;

        buf_init(&parts, w->out->arena, FORMULA_BYTES_MAX);
        formula_print(&parts, step->result.bound_parts);
        json_member_str(w, "bound_parts", buf_view(&parts));
    }
    json_close_object(w);
}

static void derivation_json(struct buf *out, const struct derivation *d)
{
    struct json_writer w;
    struct buf body;

    buf_init(&body, out->arena, SPEC_BYTES_MAX);
    op_print_body(&body, d->op);
    json_writer_init(&w, out);
    json_open_object(&w);
    json_member_int(&w, "plan_derivation", 1);
    json_member_str(&w, "spec", d->normal->name);
    json_member_bool(&w, "legal", !d->refused);
    json_key(&w, "steps");
    json_open_array(&w);
    for (size_t i = 0; i < d->count; i++)
        step_json(&w, &d->steps[i]);
    json_close_array(&w);
    json_member_str(&w, "body", buf_view(&body));
    json_close_object(&w);
    buf_char(out, '\n');
}

/* ---- both ---- */

static bool write_spec(struct arena *arena, const char *path, const struct op *op, struct err *err)
{
    struct buf spec;
    struct str text;

    buf_init(&spec, arena, SPEC_BYTES_MAX);
    op_print_json(&spec, op);
    return buf_finish(&spec, "the rewritten spec", &text, err) && file_write(path, text, err);
}

bool plan_derive(const struct plan_task *task, const struct plan_derive_args *args, int *status,
                 struct err *err)
{
    struct derivation d = {.count = 0};
    struct buf out;
    struct str text;

    if (!derive(task, args->list, &d, err))
        return false;
    if (args->spec_out != NULL && !d.refused && !write_spec(task->arena, args->spec_out, d.op, err))
        return false;
    buf_init(&out, task->arena, PLAN_REPORT_BYTES_MAX);
    if (args->json)
        derivation_json(&out, &d);
    else
        derivation_text(&out, &d);
    if (!buf_finish(&out, "the derivation", &text, err))
        return false;
    fwrite(text.at, 1, text.len, stdout);
    fflush(stdout);
    *status = d.refused ? EXIT_FAILED : EXIT_DONE;
    return true;
}
