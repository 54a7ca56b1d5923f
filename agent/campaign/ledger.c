/*
 * What the bank keeps of a campaign.
 *
 * Ids follow from the bank's name and from what the row is about, so the same campaign run again
 * meets its own rows: equal ones are left alone, and a different one under the same id is an error
 * that says how to tell the two runs apart.  What a person chose and what decides what attempts
 * come to is in the campaign's name.  With a model, how many attempts there are is not, so a
 * campaign can be continued; without one it is, for it says which of them is the naive kernel.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/version.h"

#include "agent/campaign/campaign_int.h"

enum { DOCUMENT_BYTES_MAX = 32 << 20, NAME_BYTES_MAX = 4096 };

/* ---- documents ---- */

struct document {
    struct buf text;
    struct json_writer w;
};

static struct document *document_begin(struct arena *arena)
{
    struct document *d = arena_new(arena, struct document);

    buf_init(&d->text, arena, DOCUMENT_BYTES_MAX);
    json_writer_init(&d->w, &d->text);
    return d;
}

static struct str specs_text(struct arena *arena, const struct campaign_options *o)
{
    struct document *d = document_begin(arena);

    json_open_array(&d->w);
    for (size_t i = 0; i < o->spec_count; i++) {
        json_open_object(&d->w);
        json_member_str(&d->w, "name", o->specs[i].name);
        json_member_str(&d->w, "text", o->specs[i].text);
        json_close_object(&d->w);
    }
    json_close_array(&d->w);
    return buf_view(&d->text);
}

static struct str plan_text(struct arena *arena, const struct plan *plan)
{
    struct document *d = document_begin(arena);

    if (plan == NULL)
        return STR_LIT("null");
    plan_print(&d->w, plan);
    return buf_view(&d->text);
}

/* A manifest that means nothing is kept as a string. */
static struct str manifest_text(struct arena *arena, const struct campaign_attempt *attempt)
{
    struct document *d = document_begin(arena);

    if (attempt->candidate.manifest != NULL)
        manifest_print(&d->w, attempt->candidate.manifest);
    else
        json_put_str(&d->w, attempt->bad_manifest);
    return buf_view(&d->text);
}

/* ---- campaign and task ---- */

static struct str id_of(const struct ledger *l, int64_t number, const char *kind)
{
    const struct row_key key = {
        .bank = bank_name(l->bank),
        .campaign = l->campaign,
        .task = l->task,
        .number = number,
        .kind = str_from(kind),
    };

    return row_id(l->arena, &key);
}

static struct str campaign_name(struct arena *arena, const struct campaign_options *o)
{
    struct buf text;

    buf_init(&text, arena, NAME_BYTES_MAX);
    buf_printf(&text, "synth %.*s, ", STR_ARG(o->op->name));
    op_print_dims(&text, o->target);
    buf_printf(&text, ", track %.*s, %.*s, %s, ", STR_ARG(o->track->name),
               STR_ARG(o->machine->name), o->arch);
    if (o->llm == NULL)
        buf_printf(&text, "no model, %" PRId64 " attempts", o->attempts);
    else
        buf_str(&text, llm_model(o->llm));
    buf_printf(&text, ", seed %" PRIu64, o->secret);
    return json_text_clean(arena, buf_view(&text));
}

static struct str options_text(struct arena *arena, const struct campaign_options *o)
{
    struct document *d = document_begin(arena);

    json_open_object(&d->w);
    json_member_text(&d->w, "command", "synth");
    json_member_text(&d->w, "arch", o->arch);
    json_member_int(&d->w, "prompt_tokens", o->tokens_max);
    json_member_str(&d->w, "writer", o->llm == NULL ? STR_LIT("none") : llm_model(o->llm));
    json_close_object(&d->w);
    return buf_view(&d->text);
}

/* Where the bank failed, its own words are all there is to say. */
static bool explain(struct err *err, const char *what)
{
    return err->code == ERR_SEMANTIC &&
           err_context(err, "%s; give another --seed or another --bank", what);
}

static bool explain_attempt(struct err *err, int64_t number, const char *what)
{
    return err->code == ERR_SEMANTIC &&
           err_context(err,
                       "in the bank, attempt %" PRId64
                       " of this campaign %s; give another --seed or another --bank",
                       number, what);
}

static bool add_campaign(struct ledger *l, const struct campaign_options *o, struct err *err)
{
    const struct str name = campaign_name(l->arena, o);
    const struct campaign_row row = {
        .id = l->campaign = id_of(l, 0, str_copy(l->arena, name)),
        .name = name,
        .options = options_text(l->arena, o),
        .secret = o->secret,
        .machine = o->machine->name,
        .program = STR_LIT("warpwright " WARPWRIGHT_VERSION),
        .started_s = clock_wall_s(),
        .origin = STR_LIT(""),
    };

    return campaign_row_insert(l->bank, &row, err) ||
           explain(err, "the bank has this campaign with another --prompt-tokens");
}

static bool add_task(struct ledger *l, const struct campaign_options *o, const struct task *task,
                     struct err *err)
{
    struct document *d = document_begin(l->arena);

    task_print(&d->w, task);
    const struct task_row row = {
        .id = l->task = id_of(l, 0, "task"),
        .campaign = l->campaign,
        .op_name = o->op->name,
        .op = hash_text(l->arena, &o->op->hash),
        .track = o->track->name,
        .machine = o->machine->name,
        .spec = specs_text(l->arena, o),
        .document = buf_view(&d->text),
        .flags = STR_LIT(""),
        .origin = STR_LIT(""),
    };
    return task_row_insert(l->bank, &row, err) ||
           explain(err, "the bank has this campaign with another text of the spec");
}

/* One transaction, so that there is no campaign without its task. */
static bool in_one(struct bank *bank, bool ok, struct err *err)
{
    if (ok)
        return bank_commit(bank, err);
    bank_rollback(bank);
    return false;
}

bool ledger_begin(struct arena *arena, const struct campaign_options *options,
                  const struct task *task, struct ledger *out, struct err *err)
{
    *out = (struct ledger){.arena = arena, .bank = options->bank};
    if (options->bank == NULL)
        return true;
    return bank_begin(options->bank, err) &&
           in_one(options->bank,
                  add_campaign(out, options, err) && add_task(out, options, task, err), err);
}

/* ---- an attempt ---- */

bool ledger_attempt(const struct ledger *l, const struct campaign_attempt *attempt, int64_t parent,
                    struct str writer, struct err *err)
{
    struct hash hash;

    if (l->bank == NULL)
        return true;
    if (attempt->plan != NULL)
        hash = plan_hash(attempt->plan);
    const struct attempt_row row = {
        .id = id_of(l, attempt->number, "attempt"),
        .task = l->task,
        .number = attempt->number,
        .parent = parent > 0 ? id_of(l, parent, "attempt") : STR_LIT(""),
        .plan = plan_text(l->arena, attempt->plan),
        .plan_hash = attempt->plan != NULL ? hash_text(l->arena, &hash) : STR_LIT(""),
        .direction = STR_LIT(""),
        .strategy = STR_LIT(""),
        .writer = json_text_clean(l->arena, writer),
        .started_s = clock_wall_s(),
        .origin = STR_LIT(""),
    };
    return attempt_row_insert(l->bank, &row, err) ||
           explain_attempt(err, attempt->number, "began with another plan or writer");
}

static struct str guard_text(struct arena *arena, const struct manifest *manifest)
{
    struct buf text;

    buf_init(&text, arena, DOCUMENT_BYTES_MAX);
    if (manifest != NULL)
        formula_print(&text, manifest->guard);
    return buf_view(&text);
}

bool ledger_kernel(const struct ledger *l, const struct campaign_attempt *attempt, struct err *err)
{
    const struct candidate *candidate = &attempt->candidate;
    struct hash hash;

    if (l->bank == NULL || candidate->text.len == 0)
        return true;
    hash = hash_bytes(candidate->text.at, candidate->text.len);
    const struct kernel_row row = {
        .id = id_of(l, attempt->number, "kernel"),
        .attempt = id_of(l, attempt->number, "attempt"),
        .hash = hash_text(l->arena, &hash),
        .form = str_from(candidate_form_name(candidate->form)),
        .source = candidate->text,
        .manifest = manifest_text(l->arena, attempt),
        .guard = guard_text(l->arena, candidate->manifest),
        .origin = STR_LIT(""),
    };
    return kernel_row_insert(l->bank, &row, err) ||
           explain_attempt(err, attempt->number, "has another kernel");
}

static struct str observed_text(struct arena *arena, const struct observed *observed)
{
    struct document *d = document_begin(arena);

    observed_print(&d->w, observed);
    return buf_view(&d->text);
}

static struct str verdict_text(struct arena *arena, const struct verdict *verdict)
{
    struct document *d = document_begin(arena);

    verdict_print(&d->w, verdict, false);
    return buf_view(&d->text);
}

bool ledger_verdict(const struct ledger *l, const struct campaign_attempt *attempt, struct err *err)
{
    const struct verdict *verdict = &attempt->verdict;

    if (l->bank == NULL)
        return true;
    const struct verdict_row row = {
        .id = id_of(l, attempt->number, "verdict"),
        .attempt = id_of(l, attempt->number, "attempt"),
        .kernel =
            attempt->candidate.text.len > 0 ? id_of(l, attempt->number, "kernel") : STR_LIT(""),
        .validity = str_from(validity_name(verdict->validity)),
        .timing = str_from(timing_name(verdict->timing)),
        .gate = str_from(gate_name(verdict->gate)),
        .executor = verdict->executor,
        .checks = verdict->checks_executed,
        .reason = verdict->reason,
        .observed = observed_text(l->arena, &verdict->observed),
        .document = verdict_text(l->arena, verdict),
        .ended_s = clock_wall_s(),
        .origin = STR_LIT(""),
    };
    return verdict_row_insert(l->bank, &row, err) ||
           explain_attempt(err, attempt->number, "has another verdict");
}

/* By truncated, drifted. */
static const char *const exchange_status[2][2] = {{"answered", "answered, drifted"},
                                                  {"truncated", "truncated, drifted"}};

/* One transaction: an exchange whose answer was lost would stand in the way of the next answer. */
bool ledger_exchange(const struct ledger *l, const struct campaign_attempt *attempt,
                     const struct llm_reply *reply, struct str tape, struct str request,
                     struct err *err)
{
    if (l->bank == NULL)
        return true;
    const struct exchange_row row = {
        .id = id_of(l, attempt->number, "exchange"),
        .campaign = l->campaign,
        .attempt = id_of(l, attempt->number, "attempt"),
        .purpose = STR_LIT("write"),
        .request = request,
        .tape = json_text_clean(l->arena, tape),
        .tape_line = reply->tape_line,
        .status = str_from(exchange_status[reply->truncated][reply->drifted]),
        .model = json_text_clean(l->arena, reply->model),
        .tokens_in = reply->usage.input_tokens,
        .tokens_out = reply->usage.output_tokens,
        .usd = reply->usage.usd,
        .sent_s = clock_wall_s(),
        .origin = STR_LIT(""),
    };
    return bank_begin(l->bank, err) &&
           in_one(l->bank,
                  (exchange_row_insert(l->bank, &row, err) ||
                   explain_attempt(err, attempt->number, "got another answer")) &&
                      ledger_kernel(l, attempt, err) &&
                      (attempt->verdict.executor.len == 0 || ledger_verdict(l, attempt, err)),
                  err);
}

/* ---- what an earlier run left ---- */

static bool recall_kernel(const struct ledger *l, struct campaign_attempt *attempt, bool *found,
                          struct err *err)
{
    struct candidate *candidate = &attempt->candidate;
    struct kernel_row row;
    const struct json *json;
    struct hash hash;

    if (!kernel_row_read(l->bank, l->arena, id_of(l, attempt->number, "kernel"), &row, found, err))
        return false;
    if (!*found)
        return true;
    if (!str_equal(row.form, STR_LIT("cuda")))
        return err_raise(err, ERR_SEMANTIC, "the bank's kernel %.*s is no CUDA source",
                         STR_ARG(row.id));
    hash = hash_bytes(row.source.at, row.source.len);
    if (!str_equal(row.hash, hash_text(l->arena, &hash)))
        return err_raise(err, ERR_DATABASE,
                         "the bank's kernel %.*s is not the one that was stored; `memory check` "
                         "says what else is damaged",
                         STR_ARG(row.id));
    *candidate = (struct candidate){.form = CANDIDATE_CUDA, .text = row.source};
    if (!json_parse(l->arena, row.manifest, "manifest", &json, err))
        return err_context(err, "the bank's kernel %.*s", STR_ARG(row.id));
    if (json->kind == JSON_STRING) {
        attempt->bad_manifest = json->string;
        return true;
    }
    return manifest_parse(l->arena, json, &candidate->manifest, err) ||
           err_context(err, "the bank's kernel %.*s", STR_ARG(row.id));
}

/* Drift is told of a recalled answer as of a new one. */
static bool recall_exchange(const struct ledger *l, struct campaign_attempt *attempt,
                            struct err *err)
{
    struct exchange_row row;
    bool found;

    if (!exchange_row_read(l->bank, l->arena, id_of(l, attempt->number, "exchange"), &row, &found,
                           err))
        return false;
    for (int truncated = 0; found && truncated < 2; truncated++)
        attempt->drifted |= str_equal(row.status, str_from(exchange_status[truncated][1]));
    return true;
}

static bool recall_verdict(const struct ledger *l, struct campaign_attempt *attempt, bool *found,
                           struct err *err)
{
    struct verdict_row row;
    const struct json *json;

    if (!verdict_row_read(l->bank, l->arena, id_of(l, attempt->number, "verdict"), &row, found,
                          err))
        return false;
    if (!*found)
        return true;
    return (json_parse(l->arena, row.document, "verdict", &json, err) &&
            verdict_parse(l->arena, json, &attempt->verdict, err)) ||
           err_context(err, "the bank's verdict %.*s", STR_ARG(row.id));
}

bool ledger_recall(const struct ledger *l, struct campaign_attempt *attempt, struct recalled *out,
                   struct err *err)
{
    *out = (struct recalled){0};
    if (l->bank == NULL)
        return true;
    return recall_exchange(l, attempt, err) && recall_kernel(l, attempt, &out->kernel, err) &&
           recall_verdict(l, attempt, &out->verdict, err);
}
