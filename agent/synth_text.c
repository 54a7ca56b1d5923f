/*
 * The results of `synth`: a row an attempt, against the speed of light.
 */
#include "agent/synth_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/escape.h"
#include "base/json.h"

#include "agent/agent.h"

enum { TEXT_BYTES_MAX = 64 << 20 };

/* ---- the table ---- */

static void head_text(struct buf *out, const struct campaign_options *o, const struct sol *sol)
{
    buf_printf(out, "%.*s, track %.*s, %s, planned for ", STR_ARG(o->op->name),
               STR_ARG(o->track->name), o->arch);
    op_print_dims(out, o->target);
    buf_printf(out, " on %.*s, speed of light %.4g us (%s)\n", STR_ARG(o->machine->name),
               sol->seconds * 1e6, sol_limiter_name(sol->limiter));
}

static void time_text(struct buf *out, const struct campaign_attempt *a, const struct sol *sol)
{
    if (a->median_ns > 0)
        buf_printf(out, "  %9.2f us, %.3g of light speed", a->median_ns / 1e3,
                   sol->seconds * 1e9 / a->median_ns);
    else if (str_equal(a->verdict.executor, STR_LIT("emulator")))
        buf_text(out, "  not measured on the emulator");
}

/* A model may have had a say in it. */
static void reason_text(struct buf *out, struct str reason)
{
    buf_text(out, "     ");
    escape_print(out, reason, VERDICT_REASON_BYTES_MAX);
    buf_char(out, '\n');
}

static void row_text(struct buf *out, const struct campaign_attempt *a, const struct sol *sol)
{
    const struct verdict *verdict = &a->verdict;
    struct buf how;

    buf_init(&how, out->arena, 256);
    buf_printf(&how, "%s%s%.*s", a->how, a->detail.len > 0 ? ", " : "", STR_ARG(a->detail));
    buf_printf(out, "  %" PRId64 "  %-24s %-16s %5" PRId64 " checks", a->number, how.at,
               validity_name(verdict->validity), verdict->checks_executed);
    if (verdict->worst.present)
        buf_printf(out, "  worst %.2g of bound", verdict->worst.ratio);
    time_text(out, a, sol);
    buf_text(out, "  ");
    resources_text(out, &verdict->observed);
    buf_char(out, '\n');
    if (verdict->validity != VALIDITY_ACCEPTED)
        reason_text(out, verdict->reason);
}

static void best_text(struct buf *out, const struct campaign_result *result, const char *folder)
{
    const struct campaign_attempt *best;

    if (result->best == SIZE_MAX) {
        buf_text(out, "no attempt was accepted");
        return;
    }
    best = &result->attempts[result->best];
    if (best->median_ns > 0)
        buf_printf(out, "attempt %" PRId64 " is accepted and the fastest, on %.*s", best->number,
                   STR_ARG(best->verdict.executor));
    else
        buf_printf(out,
                   "attempt %" PRId64 " is accepted on the emulator; not timed, that takes a "
                   "GPU",
                   best->number);
    if (folder != NULL)
        buf_printf(out, "; written to %s", folder);
}

struct str synth_table(struct arena *arena, const struct campaign_options *options,
                       const struct campaign_result *result, const char *out)
{
    struct buf text;

    buf_init(&text, arena, TEXT_BYTES_MAX);
    head_text(&text, options, &result->sol);
    for (size_t i = 0; i < result->count; i++)
        row_text(&text, &result->attempts[i], &result->sol);
    best_text(&text, result, out);
    buf_printf(&text, " (%s)\n", stop_name(result->stop));
    if (result->drifted > 0)
        buf_printf(&text, "%" PRId64 " %s recorded for a prompt that has been reworded since\n",
                   result->drifted, result->drifted == 1 ? "answer was" : "answers were");
    return buf_view(&text);
}

/* ---- JSON ---- */

static void sol_json(struct json_writer *w, const struct sol *sol)
{
    json_key(w, "sol");
    json_open_object(w);
    sol_print(w, sol);
    json_close_object(w);
}

static void attempt_json(struct json_writer *w, const struct campaign_attempt *a)
{
    struct hash hash;
    char hex[HASH_HEX_BYTES];

    json_open_object(w);
    json_member_int(w, "number", a->number);
    json_member_text(w, "how", a->how);
    json_key(w, "plan");
    if (a->plan == NULL) {
        json_put_null(w);
    } else {
        hash = plan_hash(a->plan);
        hash_hex(&hash, hex);
        json_put_text(w, hex);
    }
    json_key(w, "median_ns");
    if (a->median_ns > 0)
        json_put_real(w, a->median_ns);
    else
        json_put_null(w);
    json_key(w, "verdict");
    verdict_print(w, &a->verdict, false);
    json_close_object(w);
}

static void task_json(struct json_writer *w, const struct campaign_options *o)
{
    struct buf dims;

    buf_init(&dims, w->out->arena, 4096);
    op_print_dims(&dims, o->target);
    json_member_str(w, "op", o->op->name);
    json_member_str(w, "track", o->track->name);
    json_member_str(w, "machine", o->machine->name);
    json_member_text(w, "arch", o->arch);
    json_member_str(w, "target", buf_view(&dims));
}

struct str synth_json(struct arena *arena, const struct campaign_options *options,
                      const struct campaign_result *result)
{
    struct json_writer w;
    struct buf text;

    buf_init(&text, arena, TEXT_BYTES_MAX);
    json_writer_init(&w, &text);
    json_open_object(&w);
    task_json(&w, options);
    sol_json(&w, &result->sol);
    json_key(&w, "best");
    if (result->best == SIZE_MAX)
        json_put_null(&w);
    else
        json_put_int(&w, result->attempts[result->best].number);
    json_member_text(&w, "stop", stop_name(result->stop));
    json_member_int(&w, "drifted", result->drifted);
    json_key(&w, "attempts");
    json_open_array(&w);
    for (size_t i = 0; i < result->count; i++)
        attempt_json(&w, &result->attempts[i]);
    json_close_array(&w);
    json_close_object(&w);
    buf_char(&text, '\n');
    return buf_view(&text);
}
