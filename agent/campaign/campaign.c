/*
 * The order of attempts, and when to stop.
 *
 * Without a model: the realiser's kernels for the cheapest plans, then the naive one.  With one: a
 * realised kernel first, as the incumbent to beat, then the model, which is asked again with what
 * its last answer came to.  Where nothing here can time kernels, an accepted answer cannot be told
 * from a better one, so no more are paid for, unless a number of attempts was asked for.  A tape is
 * replayed to its end.
 *
 * Invariant: which attempt comes next follows from verdicts alone, never from the clock.
 */
#include <string.h>

#include "agent/campaign/campaign_int.h"

/* A kernel within this share of the speed of light is done. */
static const double at_bound_share = 0.95;

static bool has_gpu(const struct campaign *c)
{
    return c->options->driver != NULL && c->options->driver->gpu_count > 0;
}

/* Accepted and faster, or accepted and first. */
static bool is_better(const struct campaign *c, const struct campaign_attempt *attempt)
{
    const struct campaign_attempt *best;

    if (attempt->verdict.validity != VALIDITY_ACCEPTED)
        return false;
    if (c->result->best == SIZE_MAX)
        return true;
    best = &c->result->attempts[c->result->best];
    return attempt->median_ns > 0 && (best->median_ns <= 0 || attempt->median_ns < best->median_ns);
}

static bool at_bound(const struct campaign *c)
{
    const struct campaign_result *result = c->result;

    return result->best != SIZE_MAX && result->attempts[result->best].median_ns > 0 &&
           result->sol.seconds * 1e9 >= at_bound_share * result->attempts[result->best].median_ns;
}

static size_t accepted_answers(const struct campaign *c)
{
    size_t count = 0;

    for (size_t i = 0; i < c->result->count; i++)
        count += c->result->attempts[i].writer == WRITER_MODEL &&
                 c->result->attempts[i].verdict.validity == VALIDITY_ACCEPTED;
    return count;
}

/* ---- what comes next ---- */

static void next_realised(const struct campaign *c, size_t rank, struct campaign_attempt *next)
{
    struct buf text;

    if (rank >= c->planning.count) {
        next->writer = WRITER_NAIVE;
        next->how = "naive";
        return;
    }
    next->writer = WRITER_REALISER;
    next->how = "realised";
    next->plan = c->planning.plans[rank].plan;
    buf_init(&text, c->arena, 256);
    buf_printf(&text, "plan %zu of %zu", rank + 1, c->planning.count);
    next->detail = buf_view(&text);
}

/* A question repairs its last answer under the same plan.  After an accepted one it gets the next:
 * first what only a model can write, then the cheapest of what the realiser can. */
static const struct plan *plan_of_question(const struct campaign *c)
{
    const struct planning *planning = &c->planning;
    const size_t own = planning->tensor_cores != NULL;
    size_t at;

    if (planning->count + own == 0)
        return NULL;
    at = accepted_answers(c) % (planning->count + own);
    return at < own ? planning->tensor_cores : planning->plans[at - own].plan;
}

static void next_question(const struct campaign *c, struct campaign_attempt *next)
{
    next->writer = WRITER_MODEL;
    next->how = "model";
    next->plan = plan_of_question(c);
}

static struct campaign_attempt next_attempt(const struct campaign *c)
{
    const size_t count = c->result->count;
    struct campaign_attempt next = {.number = (int64_t)count + 1};

    if (c->options->llm != NULL && count > 0)
        next_question(c, &next);
    else if (c->options->llm == NULL && count + 1 == (size_t)c->options->attempts && count > 0)
        next_realised(c, SIZE_MAX, &next);
    else
        next_realised(c, count, &next);
    return next;
}

/* ---- when to stop ---- */

static bool naive_was_tried(const struct campaign *c)
{
    return c->result->count > 0 && c->result->attempts[c->result->count - 1].writer == WRITER_NAIVE;
}

static bool is_over(const struct campaign *c, const struct campaign_attempt *next, enum stop *stop)
{
    const struct tape_key key = attempt_key(c, next->number);

    *stop = STOP_ATTEMPTS;
    if (c->result->count >= (size_t)c->options->attempts)
        return true;
    if (c->options->llm == NULL && naive_was_tried(c))
        return true;
    *stop = STOP_AT_BOUND;
    if (at_bound(c))
        return true;
    *stop = STOP_UNTIMED;
    if (c->options->llm != NULL && llm_is_live(c->options->llm) && !has_gpu(c) &&
        !c->options->attempts_given && accepted_answers(c) > 0)
        return true;
    *stop = STOP_TAPE;
    return next->writer == WRITER_MODEL && c->result->count > 1 && !c->options->attempts_given &&
           !llm_can_answer(c->options->llm, &key);
}

/* ---- the campaign ---- */

static bool prepare(struct campaign *c, struct err *err)
{
    const struct campaign_options *o = c->options;

    c->result->best = SIZE_MAX;
    c->task = task_of(c->arena, o->target, o->track, o->machine->name);
    structure_of(c->arena, o->target, o->track, &c->structures);
    return sol_of(o->target, o->track, o->machine, &c->result->sol, err) &&
           plans_make(c->arena, o, &c->structures, &c->planning, err);
}

static bool run(struct campaign *c, struct err *err)
{
    struct campaign_result *result = c->result;

    for (;;) {
        struct campaign_attempt next = next_attempt(c);

        if (is_over(c, &next, &result->stop))
            return true;
        result->stop = STOP_INTERRUPTED;
        if (!attempt_run(c, &next, err))
            return false;
        if (is_better(c, &next))
            result->best = result->count;
        result->drifted += next.drifted;
        result->attempts[result->count++] = next;
    }
}

bool campaign_run(struct arena *arena, const struct campaign_options *options,
                  struct campaign_result *result, struct err *err)
{
    struct campaign c = {.arena = arena, .options = options, .result = result};

    *result = (struct campaign_result){.best = SIZE_MAX};
    return prepare(&c, err) && ledger_begin(arena, options, &c.task, &c.ledger, err) &&
           run(&c, err);
}

bool campaign_first_prompt(struct arena *arena, const struct campaign_options *options,
                           struct prompt *out, struct err *err)
{
    struct campaign_result *result = arena_new(arena, struct campaign_result);
    struct campaign c = {.arena = arena, .options = options, .result = result};
    struct campaign_attempt question = {.number = 1};

    if (!prepare(&c, err))
        return false;
    next_question(&c, &question);
    return question_write(&c, &question, out, err);
}
