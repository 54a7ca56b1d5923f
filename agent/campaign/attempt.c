/*
 * One attempt: from a plan to a verdict.
 *
 *     plan ─▶ bank ─▶ CUDA + manifest ─▶ bank ─▶ evaluate ─▶ bank
 *                     (realiser, naive, model)
 *
 * The attempt is in the bank before anything runs, its kernel before it is compiled, its verdict as
 * soon as there is one; so a killed run goes on where it was: what the bank has is taken from
 * there, and neither asked, compiled nor run again.
 *
 * An answer that is no kernel is a verdict like any other (source rejected), and what it says is
 * written for the next prompt.  Where no answer comes (server out of reach, key refused, a tape
 * that does not match), the campaign ends, and the attempt stays open for the next run.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#include "agent/campaign/campaign_int.h"

enum { MESSAGES = 2 };

struct tape_key attempt_key(const struct campaign *c, int64_t number)
{
    return (struct tape_key){
        .task = c->options->op->name, .attempt = number, .purpose = STR_LIT("write")};
}

static void show(const struct campaign *c, enum campaign_phase phase,
                 const struct campaign_attempt *attempt)
{
    if (c->options->report.show != NULL)
        c->options->report.show(c->options->report.context, phase, attempt);
}

/* Adds the time since *start to a stage. */
static void clock_stage(int64_t *stage, int64_t *start)
{
    const int64_t now = clock_mono_ns();

    *stage += now - *start;
    *start = now;
}

/* ---- verdicts without a kernel ---- */

static void no_kernel(const struct campaign *c, struct campaign_attempt *attempt,
                      enum validity validity, const char *what, const char *why)
{
    struct buf text;

    buf_init(&text, c->arena, VERDICT_REASON_BYTES_MAX);
    buf_printf(&text, "%s%s", what, why);
    attempt->verdict = (struct verdict){
        .validity = validity,
        .gate = GATE_SCREEN,
        .reason = buf_view(&text),
        .track = c->options->track->name,
        .arch = str_from(c->options->arch),
        .executor = STR_LIT("none"),
        .seed = c->options->secret,
    };
    attempt->candidate = (struct candidate){0};
}

static bool has_verdict(const struct campaign_attempt *attempt)
{
    return attempt->verdict.executor.len > 0;
}

/* ---- writing ---- */

/* A kernel for other shapes only is no answer to the question, however right it is there. */
static bool serves_target(const struct campaign *c, const struct manifest *manifest,
                          struct err *err)
{
    const struct bound_op *target = c->options->target;
    int64_t holds;
    struct buf dims;

    if (!formula_eval(manifest->guard, &target->env, &holds, err))
        return err_context(err, "the guard");
    buf_init(&dims, c->arena, VERDICT_REASON_BYTES_MAX);
    op_print_dims(&dims, target);
    return holds != 0 ||
           err_raise(err, ERR_SEMANTIC,
                     "manifest: guard: it excludes the target shape, %s; it must hold there",
                     dims.at);
}

static void take_blocks(const struct campaign *c, struct campaign_attempt *attempt, struct str cuda,
                        struct str manifest)
{
    struct candidate *candidate = &attempt->candidate;
    const struct manifest *parsed;
    const struct json *json;
    struct err err;

    if (json_parse(c->arena, manifest, "manifest", &json, &err) &&
        manifest_parse(c->arena, json, &parsed, &err) &&
        manifest_check(parsed, c->options->op, &err) && serves_target(c, parsed, &err)) {
        *candidate = (struct candidate){CANDIDATE_CUDA, cuda, parsed};
        return;
    }
    no_kernel(c, attempt, VALIDITY_SOURCE_REJECTED, "", err.text);
    *candidate = (struct candidate){CANDIDATE_CUDA, cuda, NULL};
    attempt->bad_manifest = manifest;
}

static void take_reply(const struct campaign *c, struct campaign_attempt *attempt,
                       const struct llm_reply *reply)
{
    struct extracted blocks;
    struct err err;

    if (!extract_reply(c->arena, reply->text, &blocks, &err)) {
        no_kernel(c, attempt, VALIDITY_SOURCE_REJECTED,
                  reply->truncated ? "the answer was cut off at the token limit: " : "the answer: ",
                  err.text);
    } else {
        take_blocks(c, attempt, blocks.cuda, blocks.manifest);
    }
}

static struct str prompt_hash(const struct campaign *c, const struct prompt *prompt)
{
    struct buf text;
    struct hash hash;

    buf_init(&text, c->arena, LLM_REQUEST_BYTES_MAX);
    buf_str(&text, prompt->system);
    buf_char(&text, '\0');
    buf_str(&text, prompt->user);
    hash = hash_bytes(text.at, text.len);
    return hash_text(c->arena, &hash);
}

/* A reply over the limits is the model's doing.  A server that cannot be reached is not: the
 * attempt stays open, and the same command asks again. */
static bool without_answer(const struct campaign *c, struct campaign_attempt *attempt,
                           struct err *err)
{
    if (err->code == ERR_NETWORK && c->options->bank != NULL)
        return err_context(err, "attempt %d stays open, and the same command goes on from it",
                           (int)attempt->number);
    if (err->code != ERR_LIMIT)
        return false;
    no_kernel(c, attempt, VALIDITY_SOURCE_REJECTED, "the answer: ", err->text);
    return true;
}

static bool ask(const struct campaign *c, struct campaign_attempt *attempt, struct err *err)
{
    int64_t start = clock_mono_ns();
    struct llm_message messages[MESSAGES];
    struct llm_reply reply;
    struct prompt prompt;
    bool answered;

    if (!question_write(c, attempt, &prompt, err))
        return false;
    messages[0] = (struct llm_message){LLM_SYSTEM, prompt.system};
    messages[1] = (struct llm_message){LLM_USER, prompt.user};
    const struct llm_request request = {
        .key = attempt_key(c, attempt->number),
        .messages = messages,
        .message_count = MESSAGES,
        .max_tokens = c->options->reply_tokens_max,
        .temperature = -1,
    };
    clock_stage(&attempt->stages.write_ns, &start);
    show(c, PHASE_ASK, attempt);
    answered = llm_ask(c->arena, c->options->llm, &request, &reply, err);
    clock_stage(&attempt->stages.model_ns, &start);
    if (!answered)
        return without_answer(c, attempt, err);
    attempt->drifted = reply.drifted;
    take_reply(c, attempt, &reply);
    clock_stage(&attempt->stages.write_ns, &start);
    if (!ledger_exchange(&c->ledger, attempt, &reply, c->options->tape, prompt_hash(c, &prompt),
                         err))
        return false;
    clock_stage(&attempt->stages.bank_ns, &start);
    return true;
}

static bool write_kernel(const struct campaign *c, struct campaign_attempt *attempt,
                         struct err *err)
{
    int64_t start = clock_mono_ns();
    struct emitted made = {0};

    switch (attempt->writer) {
    case WRITER_MODEL:
        return ask(c, attempt, err);
    case WRITER_NAIVE:
        if (!emit_naive(c->arena, c->options->op, c->options->arch, &made, err))
            return false;
        break;
    case WRITER_REALISER:
        if (!realise(c->arena, c->options->op, attempt->plan, c->options->arch, &made, err)) {
            if (err->code != ERR_UNSUPPORTED)
                return false;
            no_kernel(c, attempt, VALIDITY_UNSUPPORTED, "", err->text);
            return true;
        }
        break;
    }
    attempt->candidate = (struct candidate){CANDIDATE_CUDA, made.cuda, made.manifest};
    clock_stage(&attempt->stages.write_ns, &start);
    return true;
}

/* ---- judging ---- */

static bool judge(const struct campaign *c, struct campaign_attempt *attempt, struct err *err)
{
    const struct campaign_options *o = c->options;
    const struct bundle bundle = {
        .specs = o->specs,
        .spec_count = o->spec_count,
        .task = &c->task,
        .candidate = attempt->candidate,
        .plan = attempt->plan,
        .options = {.last_gate = GATE_TIME,
                    .smem_bytes_max = o->machine->shared_bytes_per_block_optin,
                    .arch = str_from(o->arch)},
        .secret = o->secret,
    };
    const struct evaluate_options options = {o->compiler, o->cache, o->driver, false};
    const int64_t start = clock_mono_ns();

    show(c, PHASE_VERIFY, attempt);
    if (!evaluate_bundle(c->arena, &bundle, &options, &attempt->products, &attempt->verdict, err))
        return err_context(err, "attempt %d", (int)attempt->number);
    attempt->stages.verify_ns += clock_mono_ns() - start;
    return true;
}

static void note_median(struct campaign_attempt *attempt)
{
    if (attempt->verdict.timing != TIMING_MEASURED ||
        !observed_find(&attempt->verdict.observed, "gpu.time.median_ns", &attempt->median_ns))
        attempt->median_ns = 0;
}

/* ---- the walk ---- */

static struct str writer_name(const struct campaign *c, const struct campaign_attempt *attempt)
{
    return attempt->writer == WRITER_MODEL ? llm_model(c->options->llm) : str_from(attempt->how);
}

/* The attempt whose answer a question is about: the one before it. */
static int64_t parent_of(const struct campaign_attempt *attempt)
{
    return attempt->writer == WRITER_MODEL ? attempt->number - 1 : 0;
}

static bool begin(const struct campaign *c, struct campaign_attempt *attempt,
                  struct recalled *recalled, struct err *err)
{
    int64_t start = clock_mono_ns();

    show(c, PHASE_PLAN, attempt);
    if (!ledger_attempt(&c->ledger, attempt, parent_of(attempt), writer_name(c, attempt), err) ||
        !ledger_recall(&c->ledger, attempt, recalled, err))
        return false;
    clock_stage(&attempt->stages.bank_ns, &start);
    return true;
}

static bool conclude(const struct campaign *c, struct campaign_attempt *attempt, struct err *err)
{
    int64_t start = clock_mono_ns();

    if (!ledger_verdict(&c->ledger, attempt, err))
        return false;
    clock_stage(&attempt->stages.bank_ns, &start);
    return true;
}

static bool have_kernel(const struct campaign *c, struct campaign_attempt *attempt, bool recalled,
                        struct err *err)
{
    if (!recalled)
        return write_kernel(c, attempt, err) && ledger_kernel(&c->ledger, attempt, err);
    if (attempt->candidate.manifest == NULL)
        take_blocks(c, attempt, attempt->candidate.text, attempt->bad_manifest);
    return true;
}

bool attempt_run(struct campaign *c, struct campaign_attempt *attempt, struct err *err)
{
    struct recalled recalled;

    if (!begin(c, attempt, &recalled, err))
        return false;
    attempt->recalled = recalled.verdict;
    if (!recalled.verdict &&
        !(have_kernel(c, attempt, recalled.kernel, err) &&
          (has_verdict(attempt) || judge(c, attempt, err)) && conclude(c, attempt, err)))
        return false;
    note_median(attempt);
    show(c, PHASE_DONE, attempt);
    return true;
}
