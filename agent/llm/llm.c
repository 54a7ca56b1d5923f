/*
 * The model as the rest of the program sees it: options checked once, then questions.
 *
 * What is checked here is what a user can get wrong; each error names the option.  The key is
 * looked at for its form only.
 *
 * Invariant: after llm_open at least one of the two sources, live and tape, is in use, and a tape
 * that is added to ends with a whole line.  Not here: connections (http.c), tries (retry.c).
 */
#include <string.h>

#include "base/file.h"

#include "agent/llm/llm_int.h"

struct llm_options llm_defaults(void)
{
    return (struct llm_options){
        .base_url = STR_LIT(""),
        .model = STR_LIT(""),
        .key = {STR_LIT("")},
        .deadline_ms = 600000,
        .connect_ms = 15000,
        .first_ms = 300000, /* reasoning models are silent for minutes */
        .stall_ms = 60000,
        .tries_max = 5,
        .backoff_ms = 1000,
        .backoff_ms_max = 60000,
        .response_bytes_max = 16 << 20,
    };
}

struct option_range {
    const char *name;
    int64_t value, min, max;
};

enum { DAY_MS = 24 * 3600 * 1000, RESPONSE_BYTES_MAX = 24 << 20, TRIES_MAX = 100 };

static bool check_ranges(const struct llm_options *o, struct err *err)
{
    const struct option_range ranges[] = {
        {"deadline_ms", o->deadline_ms, 1, DAY_MS},
        {"connect_ms", o->connect_ms, 1, DAY_MS},
        {"first_ms", o->first_ms, 1, DAY_MS},
        {"stall_ms", o->stall_ms, 1, DAY_MS},
        {"tries_max", o->tries_max, 1, TRIES_MAX},
        {"backoff_ms", o->backoff_ms, 0, DAY_MS},
        {"backoff_ms_max", o->backoff_ms_max, 0, DAY_MS},
        {"response_bytes_max", o->response_bytes_max, 1, RESPONSE_BYTES_MAX},
    };
    for (size_t i = 0; i < COUNT_OF(ranges); i++)
        if (ranges[i].value < ranges[i].min || ranges[i].value > ranges[i].max)
            return err_raise(err, ERR_USAGE, "the model's %s is %lld; it must be from %lld to %lld",
                             ranges[i].name, (long long)ranges[i].value, (long long)ranges[i].min,
                             (long long)ranges[i].max);
    return true;
}

static bool check_tapes(const struct llm_options *o, struct err *err)
{
    if (o->strict && !o->replay)
        return err_raise(err, ERR_USAGE, "--strict is for a replay; name the tape: --replay TAPE");
    if (!o->record)
        return true;
    if (o->replay && strcmp(o->record, o->replay) != 0)
        return err_raise(err, ERR_USAGE,
                         "--record beside --replay adds to the same tape: --record %s", o->replay);
    if (!o->replay && file_exists(o->record))
        return err_raise(err, ERR_USAGE,
                         "tape %s exists; go on from it with --replay %s --record %s, or name "
                         "another",
                         o->record, o->record, o->record);
    return true;
}

static struct str endpoint(struct arena *arena, struct str base)
{
    static const struct str path = {"/chat/completions", 17};
    struct buf url;
    while (base.len > 0 && base.at[base.len - 1] == '/')
        base.len--;
    buf_init(&url, arena, base.len + path.len + 1);
    buf_str(&url, base);
    if (base.len < path.len || memcmp(base.at + base.len - path.len, path.at, path.len) != 0)
        buf_str(&url, path);
    return buf_view(&url);
}

static bool open_tape(struct arena *arena, struct llm *llm, struct err *err)
{
    const struct llm_options *o = &llm->options;
    struct replay *replay;
    if (o->record && !tape_repair(o->record, err))
        return false;
    if (!o->replay)
        return true;
    if (!replay_open(arena, o->replay, o->strict, o->record != NULL, &replay, err))
        return false;
    llm->tape = (struct llm_source){&replay_transport, replay};
    if (o->record)
        llm->tape_lines = (int64_t)replay_count(replay);
    if (o->model.len == 0)
        llm->options.model = replay_model(arena, replay);
    return true;
}

static bool open_live(struct arena *arena, struct llm *llm, struct err *err)
{
    struct http *http;
    if (llm->options.base_url.len == 0)
        return err_raise(err, ERR_USAGE,
                         "no model: name its server with --llm URL, a tape with "
                         "--replay TAPE, or do without: --llm none");
    if (llm->options.model.len == 0)
        return err_raise(err, ERR_USAGE,
                         "which of the models that the server at --llm has?  Say --model NAME");
    if (!secret_check(&llm->options.key, err) ||
        !http_open(arena, &llm->options, llm->url, &http, err))
        return false;
    llm->live = (struct llm_source){&http_transport, http};
    return true;
}

/* No tape could hold a longer name, and banks have it in the names of campaigns. */
static bool check_model(struct str model, struct err *err)
{
    if (model.len > TAPE_WORD_BYTES_MAX)
        return err_raise(err, ERR_USAGE, "the model's name has %zu bytes; the limit is %d",
                         model.len, TAPE_WORD_BYTES_MAX);
    return true;
}

bool llm_open(struct arena *arena, const struct llm_options *options, struct llm **out,
              struct err *err)
{
    struct llm *llm = arena_new(arena, struct llm);
    llm->options = *options;
    llm->url = endpoint(arena, options->base_url);
    if (!check_ranges(options, err) || !check_tapes(options, err) || !open_tape(arena, llm, err) ||
        !check_model(llm->options.model, err))
        return false;
    if ((options->record || !options->replay) && !open_live(arena, llm, err))
        return false;
    *out = llm;
    return true;
}

struct str llm_model(const struct llm *llm)
{
    return llm->options.model;
}

struct llm_counts llm_counts(const struct llm *llm)
{
    return llm->counts;
}

bool llm_is_live(const struct llm *llm)
{
    return llm->live.transport != NULL;
}

bool llm_can_answer(const struct llm *llm, const struct tape_key *key)
{
    return llm_is_live(llm) || replay_has(llm->tape.self, key);
}

bool llm_ask(struct arena *arena, struct llm *llm, const struct llm_request *request,
             struct llm_reply *reply, struct err *err)
{
    struct arena scratch;
    struct str text;
    arena_init(&scratch, (size_t)64 * LLM_REQUEST_BYTES_MAX);
    llm->counts.asked++;
    bool ok = chat_request_print(&scratch, llm->options.model, request, &text, err) &&
              retry_ask(arena, llm, &request->key, text, reply, err);
    arena_release(&scratch);
    return ok;
}
