/*
 * Answers from a tape, and the recording of live ones.
 *
 * An exchange is found by its key (task, branch, attempt, purpose), not by its prompt: prompts are
 * reworded all the time, and a tape should outlive that.  Lines of one key are used up in their
 * order, so a request that was tried three times is tried three times again.  Where the prompt is
 * no longer what it was, that is counted as drift; a strict replay refuses it and says where the
 * two part.
 *
 * Invariant: the body goes through the same reader as a live one, so both come to the same reply or
 * to the same error.  Time stands still in a replay.  Not here: the tape's form (tape.c), tries.
 */
#include <inttypes.h>
#include <string.h>

#include "base/file.h"

#include "agent/llm/llm_int.h"

enum { AROUND_BYTES = 40 };

struct replay {
    const char *path;
    struct tape tape;
    bool *used; /* by line */
    bool strict;
};

bool replay_open(struct arena *arena, const char *path, bool strict, bool may_start,
                 struct replay **out, struct err *err)
{
    struct replay *replay = arena_new(arena, struct replay);
    replay->path = path;
    replay->strict = strict;
    if (!(may_start && !file_exists(path)) && !tape_read(arena, path, &replay->tape, err))
        return false;
    replay->used = arena_array(arena, bool, replay->tape.count + 1);
    *out = replay;
    return true;
}

struct str replay_model(struct arena *arena, const struct replay *replay)
{
    const struct json *request;
    struct str model = {"", 0};
    struct err err;
    if (replay->tape.count == 0 ||
        !json_parse(arena, replay->tape.lines[0].request, replay->path, &request, &err) ||
        !json_opt_str(request, "model", &model, &err))
        return STR_LIT("");
    return model;
}

/* ---- finding ---- */

/* The first unused exchange of a key; the tape's count when there is none. */
static size_t find_unused(const struct replay *replay, const struct tape_key *key)
{
    size_t i = 0;
    while (i < replay->tape.count &&
           (replay->used[i] || !tape_key_equal(&replay->tape.lines[i].key, key)))
        i++;
    return i;
}

size_t replay_count(const struct replay *replay)
{
    return replay->tape.count;
}

bool replay_has(const struct replay *replay, const struct tape_key *key)
{
    return find_unused(replay, key) < replay->tape.count;
}

bool replay_missing(const struct replay *replay, const struct tape_key *key, struct err *err)
{
    struct buf what;
    struct arena scratch;
    int64_t used = 0, of_task = 0, last = -1;
    for (size_t i = 0; i < replay->tape.count; i++) {
        const struct tape_key *other = &replay->tape.lines[i].key;
        used += tape_key_equal(other, key);
        if (str_equal(other->task, key->task)) {
            of_task++;
            last = other->attempt > last ? other->attempt : last;
        }
    }
    arena_init(&scratch, 1 << 20);
    buf_init(&what, &scratch, 1 << 12);
    buf_text(&what, used ? "no more exchanges of " : "no exchange of ");
    tape_key_print(&what, key);
    if (used)
        buf_printf(&what, " (%" PRId64 " used)", used);
    else if (of_task)
        buf_printf(&what, " (%" PRId64 " of this task, the last of attempt %" PRId64 ")", of_task,
                   last);
    else
        buf_printf(&what, " (none of this task, %zu of others)", replay->tape.count);
    if (replay->tape.cut)
        buf_text(&what, "; its last line is incomplete and was left out");
    err_raise(err, ERR_SEMANTIC,
              "tape %s has %s; ask for fewer attempts, or add to it: --replay %s --record %s --llm "
              "URL",
              replay->path, what.at, replay->path, replay->path);
    arena_release(&scratch);
    return false;
}

static bool raise_drift(const struct replay *replay, const struct llm_call *call,
                        const struct tape_line *line, struct err *err)
{
    struct arena scratch;
    struct buf text;
    const struct str both[] = {line->request, call->request};
    size_t at = 0;
    while (at < both[0].len && at < both[1].len && both[0].at[at] == both[1].at[at])
        at++;
    arena_init(&scratch, 1 << 20);
    buf_init(&text, &scratch, 1 << 12);
    tape_key_print(&text, call->key);
    buf_printf(&text, ": the request is not the recorded one, from byte %zu on: ", at + 1);
    for (size_t i = 0; i < COUNT_OF(both); i++) {
        size_t from = at < AROUND_BYTES / 2 ? 0 : at - AROUND_BYTES / 2;
        size_t len = both[i].len - from < AROUND_BYTES ? both[i].len - from : AROUND_BYTES;
        buf_text(&text, i ? ", now \"" : "recorded \"");
        escape_print(&text, (struct str){both[i].at + from, len}, (size_t)4 * AROUND_BYTES);
        buf_char(&text, '"');
    }
    err_raise(err, ERR_SEMANTIC, "tape %s, %s; record anew, or leave out --strict", replay->path,
              text.at);
    arena_release(&scratch);
    return false;
}

static bool replay_exchange(struct arena *arena UNUSED, void *self, const struct llm_call *call,
                            struct llm_try *out, struct err *err)
{
    struct replay *replay = self;
    const size_t i = find_unused(replay, call->key);
    if (i == replay->tape.count) {
        out->status = LLM_TRY_NONE;
        return true;
    }
    const struct tape_line *line = &replay->tape.lines[i];
    bool drifted = !str_equal(line->request, call->request);
    if (drifted && replay->strict)
        return raise_drift(replay, call, line, err);
    replay->used[i] = true;
    *out = (struct llm_try){
        .status = line->status,
        .raw = line->raw,
        .url = line->url,
        .retry_after_ms = -1,
        .date_s = line->date_s,
        .tape_line = (int64_t)i + 1,
        .replayed = true,
        .drifted = drifted,
        .usd = line->usage.usd,
    };
    return true;
}

static int64_t replay_now_ns(void *self UNUSED)
{
    return 0;
}

static void replay_wait_ns(void *self UNUSED, int64_t ns UNUSED)
{
}

const struct llm_transport replay_transport = {
    .exchange = replay_exchange,
    .now_ns = replay_now_ns,
    .wait_ns = replay_wait_ns,
};

/* ---- recording ---- */

bool record_try(struct llm *llm, const struct llm_call *call, struct llm_try *try,
                const struct chat_answer *answer, struct err *err)
{
    const struct llm_reply *reply = &answer->reply;
    struct tape_line line = {
        .key = *call->key,
        .url = try->url,
        .request = call->request,
        .status = try->status,
        .raw = try->raw,
        .usage = reply->usage,
        .model = reply->model.len > 0 ? reply->model : llm->options.model,
        .date_s = try->date_s,
    };
    if (!llm->options.record)
        return true;
    if (!tape_append(llm->options.record, &line, err))
        return err_context(err, "record the model's answer");
    try->tape_line = ++llm->tape_lines;
    return true;
}
