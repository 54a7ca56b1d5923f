/*
 * The one layer of retries, inside the one deadline.
 *
 * Endpoints that hang are the usual way for an agent to lose a night: every layer retries what the
 * layer below already retried.  Here nothing else retries, tries are bounded, and before each try
 * and each wait the time left of the whole call is what counts; a wait that would pass the deadline
 * ends the call at once.  Which fault may be tried again is a column of LLM_FAULTS.
 *
 * Waits double and are half random, from the seed, the key and the number of the try: workers that
 * failed together do not come back together, and a run is repeatable.  A Retry-After is obeyed.
 *
 * Invariant: each live try is on the tape before anything comes of it, and it is judged by status
 * and body alone, so replaying the tries ends the same way, down to the words.  Not on the tape are
 * waits; behind a replayed try there is none.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "base/rng.h"

#include "agent/llm/llm_int.h"

enum {
    NS_PER_MS = 1000000,
    DOUBLINGS_MAX = 20,
    AFTER_SECONDS_MAX = 366 * 24 * 3600,
    WHAT_BYTES = 1024
};
#define SCRATCH_BYTES_MAX ((size_t)4 << 30)

/* ---- faults ---- */

struct fault_row {
    const char *word;
    bool retries;
    enum err_code code;
    const char *remedy;
};

static const struct fault_row faults[] = {
#define X(name, word, retry, code, remedy) {word, retry, ERR_##code, remedy},
    LLM_FAULTS(X)
#undef X
};

const char *fault_word(enum llm_fault fault)
{
    return faults[fault].word;
}

bool fault_retries(enum llm_fault fault)
{
    return faults[fault].retries;
}

bool fault_raise(enum llm_fault fault, const char *what, struct err *err)
{
    return err_raise(err, faults[fault].code, "%s; %s", what, faults[fault].remedy);
}

/* ---- waits ---- */

static bool parse_date(const char *text, int64_t *at_s)
{
    static const char *const forms[] = {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT",
                                        "%a %b %d %H:%M:%S %Y"};
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        struct tm tm = {0};
        const char *end = strptime(text, forms[i], &tm);
        if (end && *end == '\0') {
            *at_s = timegm(&tm);
            return true;
        }
    }
    return false;
}

int64_t retry_after_parse(struct str value, int64_t now_s)
{
    char text[64];
    int64_t seconds = 0;
    size_t digits = 0;
    while (value.len > 0 && value.at[value.len - 1] <= ' ')
        value.len--;
    while (value.len > 0 && *value.at <= ' ')
        value = (struct str){value.at + 1, value.len - 1};
    if (value.len == 0 || value.len >= sizeof(text))
        return -1;
    while (digits < value.len && value.at[digits] >= '0' && value.at[digits] <= '9') {
        seconds = 10 * seconds + (value.at[digits++] - '0');
        if (seconds > AFTER_SECONDS_MAX)
            seconds = AFTER_SECONDS_MAX;
    }
    if (digits == value.len)
        return seconds * 1000;
    memcpy(text, value.at, value.len);
    text[value.len] = '\0';
    if (!parse_date(text, &seconds))
        return -1;
    seconds = seconds > now_s ? seconds - now_s : 0;
    return (seconds < AFTER_SECONDS_MAX ? seconds : AFTER_SECONDS_MAX) * 1000;
}

int64_t retry_wait_ms(const struct llm_options *options, const struct tape_key *key, int64_t next,
                      int64_t retry_after_ms)
{
    struct rng rng;
    int64_t doublings = next - 2 < DOUBLINGS_MAX ? next - 2 : DOUBLINGS_MAX;
    int64_t wait = options->backoff_ms << doublings;
    uint64_t place = hash_fast(key->task.at, key->task.len) ^
                     hash_fast(key->purpose.at, key->purpose.len) ^ ((uint64_t)key->branch << 40) ^
                     ((uint64_t)key->attempt << 8) ^ (uint64_t)next;
    if (wait > options->backoff_ms_max)
        wait = options->backoff_ms_max;
    rng_init(&rng, options->seed ^ place);
    wait = wait - wait / 2 + rng_below(&rng, (uint32_t)(wait / 2 + 1));
    return wait > retry_after_ms ? wait : retry_after_ms;
}

/* ---- tries ---- */

struct retry {
    struct llm *llm;
    struct llm_call call;
    struct arena scratch; /* of the newest try */
    int64_t start_ns, tries;
    struct str url;       /* of the newest try; lasts as long as `llm` */
    enum llm_fault fault; /* of the newest try */
    char what[WHAT_BYTES];
};

static int64_t now_ns(const struct llm *llm)
{
    const struct llm_source *source = llm->live.transport ? &llm->live : &llm->tape;
    return source->transport->now_ns(source->self);
}

static int64_t left_ms(const struct retry *r)
{
    return r->llm->options.deadline_ms - (now_ns(r->llm) - r->start_ns) / NS_PER_MS;
}

/* A key that was spread over a stream's events is on no tape: the reply is dropped whole. */
static void drop_leak(struct arena *arena, const struct llm *llm, struct llm_try *try,
                      struct chat_answer *answer)
{
    const struct llm_secret *key = &llm->options.key;
    if (!secret_occurs(key, answer->reply.text) && !secret_occurs(key, answer->reply.reasoning) &&
        !secret_occurs(key, answer->reply.model) && !secret_occurs(key, str_from(answer->what)))
        return;
    try->status = 0;
    try->raw = STR_LIT("leak: the server sent the API key back inside its reply");
    chat_answer_read(arena, try->status, try->raw, answer);
}

static bool ask_live(struct retry *r, struct llm_try *try, struct chat_answer *answer,
                     struct err *err)
{
    struct llm *llm = r->llm;
    const struct llm_prices *prices = &llm->options.prices;
    struct llm_usage *usage = &answer->reply.usage;
    if (!llm->live.transport->exchange(&r->scratch, llm->live.self, &r->call, try, err))
        return false;
    try->raw = secret_scrub(&r->scratch, &llm->options.key, try->raw);
    chat_answer_read(&r->scratch, try->status, try->raw, answer);
    drop_leak(&r->scratch, llm, try, answer);
    usage->usd = ((double)(usage->input_tokens - usage->cached_tokens) * prices->input +
                  (double)usage->cached_tokens * prices->cached +
                  (double)usage->output_tokens * prices->output) /
                 1e6;
    return record_try(llm, &r->call, try, answer, err);
}

/* A try from the tape if it has one, else live. */
static bool ask(struct retry *r, struct llm_try *try, struct chat_answer *answer, struct err *err)
{
    const struct llm_source *tape = &r->llm->tape;
    *try = (struct llm_try){.status = LLM_TRY_NONE, .retry_after_ms = -1};
    if (tape->transport && !tape->transport->exchange(&r->scratch, tape->self, &r->call, try, err))
        return false;
    if (try->status == LLM_TRY_NONE)
        return !r->llm->live.transport || ask_live(r, try, answer, err);
    chat_answer_read(&r->scratch, try->status, try->raw, answer);
    answer->reply.usage.usd = try->usd;
    answer->reply.replayed = true;
    answer->reply.drifted = try->drifted;
    return true;
}

/* ---- the end ---- */

static bool give_up(const struct retry *r, const char *why, struct err *err)
{
    fault_raise(r->fault, r->what, err);
    if (why[0] == '\0' && r->tries == 1)
        return err_context(err, "the model at %.*s", STR_ARG(r->url));
    return err_context(err, "the model at %.*s: gave up after %lld %s%s", STR_ARG(r->url),
                       (long long)r->tries, r->tries == 1 ? "try" : "tries", why);
}

/* Worded alike for a clock that runs out and for a tape that ends there. */
static bool give_up_late(const struct retry *r, struct err *err)
{
    char why[96];
    snprintf(why, sizeof(why), ", as another does not fit the deadline of %.6g s",
             (double)r->llm->options.deadline_ms / 1000);
    return give_up(r, why, err);
}

static struct str keep(struct arena *arena, struct str text)
{
    return (struct str){str_copy(arena, text), text.len};
}

static void count(struct llm *llm, const struct llm_reply *reply)
{
    struct llm_usage *spent = &llm->counts.spent;
    llm->counts.tries++;
    llm->counts.replayed += reply->replayed;
    llm->counts.drifted += reply->drifted;
    spent->input_tokens += reply->usage.input_tokens;
    spent->cached_tokens += reply->usage.cached_tokens;
    spent->output_tokens += reply->usage.output_tokens;
    spent->usd += reply->usage.usd;
}

/* Sleeps until the next try; false when the deadline comes first. */
static bool wait_for_next(const struct retry *r, const struct llm_try *try)
{
    const struct llm_source *live = &r->llm->live;
    int64_t wait = retry_wait_ms(&r->llm->options, r->call.key, r->tries + 1, try->retry_after_ms);
    if (try->replayed)
        return true;
    if (wait >= left_ms(r))
        return false;
    live->transport->wait_ns(live->self, wait * NS_PER_MS);
    return true;
}

enum step { STEP_AGAIN, STEP_DONE, STEP_FAILED };

static enum step failed(bool never UNUSED)
{
    return STEP_FAILED;
}

static enum step step(struct retry *r, struct chat_answer *answer, struct err *err)
{
    struct llm_try try;
    r->call.left_ms = left_ms(r);
    if (r->call.left_ms <= 0 && r->tries > 0)
        return failed(give_up_late(r, err));
    if (!ask(r, &try, answer, err))
        return STEP_FAILED;
    if (try.status == LLM_TRY_NONE)
        return failed(r->tries > 0 ? give_up_late(r, err)
                                   : replay_missing(r->llm->tape.self, r->call.key, err));
    r->tries++;
    count(r->llm, &answer->reply);
    answer->reply.tape_line = try.tape_line;
    r->url = try.url;
    r->fault = answer->fault;
    snprintf(r->what, sizeof(r->what), "%s", answer->what);
    if (r->fault == LLM_FAULT_NONE)
        return STEP_DONE;
    if (!fault_retries(r->fault) || r->tries >= r->llm->options.tries_max)
        return failed(give_up(r, "", err));
    return wait_for_next(r, &try) ? STEP_AGAIN : failed(give_up_late(r, err));
}

bool retry_ask(struct arena *arena, struct llm *llm, const struct tape_key *key, struct str request,
               struct llm_reply *out, struct err *err)
{
    struct retry r = {.llm = llm, .call = {.key = key, .request = request}};
    struct chat_answer answer;
    enum step next;
    r.start_ns = now_ns(llm);
    do {
        arena_release(&r.scratch);
        arena_init(&r.scratch, SCRATCH_BYTES_MAX);
        next = step(&r, &answer, err);
    } while (next == STEP_AGAIN);
    if (next == STEP_DONE) {
        *out = answer.reply;
        out->text = keep(arena, answer.reply.text);
        out->reasoning = keep(arena, answer.reply.reasoning);
        out->model = keep(arena, answer.reply.model);
        out->tries = r.tries;
    }
    arena_release(&r.scratch);
    return next == STEP_DONE;
}
