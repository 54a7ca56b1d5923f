/*
 * What a chat server's answer means: a reply, or a fault with its reason.
 *
 * Status and body are all there is, live or from tape, so a replay reads exactly what the first run
 * read.  A body that starts with '{' is the one JSON document of a server that does not stream, '<'
 * is a web page, the rest is a stream of events, each a JSON object whose deltas are added up.
 * Answers come in dialects: reasoning as "reasoning_content" or "reasoning", errors as an object, a
 * text, or in the middle of a stream, cached tokens in three places.  Unknown members are passed
 * over.
 *
 * Invariant: a reply is whole: the server said that it ended ("finish_reason" or "[DONE]") and
 * everything before that was understood.  Trees live in a scratch arena that is emptied as it
 * grows, so memory is bounded by the largest event, not by their number.  Not here: where the body
 * came from, retries.
 */
#include <string.h>

#include "agent/llm/llm_int.h"

enum {
    TEXT_BYTES_MAX = 4 << 20,
    EVENT_BYTES_MAX = 1 << 20,
    DOCUMENT_BYTES_MAX = 8 << 20,
    MODEL_BYTES_MAX = TAPE_WORD_BYTES_MAX,
    WHAT_BYTES_MAX = 800,
    QUOTE_BYTES_MAX = 240,
    SAMPLE_BYTES_MAX = 60,
    SCRATCH_BYTES_KEPT = 1 << 20,
};
#define SCRATCH_BYTES_MAX ((size_t)4 << 30)

struct reading {
    struct arena *arena;
    struct arena scratch; /* of the events read last */
    struct buf text, reasoning;
    struct str model;
    enum llm_finish finish;
    struct llm_usage usage;
    bool usage_known, ended, any;
    size_t events;
    enum llm_fault fault;
    struct buf what;
};

/* ---- faults ---- */

/* Begins the description of the first fault; false when there is one already. */
static bool fail(struct reading *r, enum llm_fault fault)
{
    if (r->fault != LLM_FAULT_NONE)
        return false;
    r->fault = fault;
    buf_init(&r->what, r->arena, WHAT_BYTES_MAX);
    buf_text(&r->what, "");
    return true;
}

static void quote(struct buf *out, struct str text, size_t bytes_max)
{
    buf_char(out, '"');
    escape_print(out, text, bytes_max);
    buf_char(out, '"');
}

static void fail_garbage(struct reading *r, const char *what, struct str text)
{
    if (!fail(r, LLM_FAULT_GARBAGE))
        return;
    buf_text(&r->what, "the reply is malformed: ");
    if (r->events)
        buf_printf(&r->what, "event %zu: ", r->events);
    buf_printf(&r->what, "%s: ", what);
    quote(&r->what, text, SAMPLE_BYTES_MAX);
}

struct status_row {
    int64_t status;
    enum llm_fault fault;
    const char *phrase;
};

static const struct status_row statuses[] = {
    {400, LLM_FAULT_REQUEST, "Bad Request"},
    {401, LLM_FAULT_KEY, "Unauthorized"},
    {402, LLM_FAULT_QUOTA, "Payment Required"},
    {403, LLM_FAULT_FORBIDDEN, "Forbidden"},
    {404, LLM_FAULT_NOT_FOUND, "Not Found"},
    {408, LLM_FAULT_SERVER, "Request Timeout"},
    {409, LLM_FAULT_SERVER, "Conflict"},
    {413, LLM_FAULT_TOO_LARGE, "Content Too Large"},
    {422, LLM_FAULT_REQUEST, "Unprocessable Content"},
    {429, LLM_FAULT_BUSY, "Too Many Requests"},
    {500, LLM_FAULT_SERVER, "Internal Server Error"},
    {502, LLM_FAULT_SERVER, "Bad Gateway"},
    {503, LLM_FAULT_SERVER, "Service Unavailable"},
    {504, LLM_FAULT_SERVER, "Gateway Timeout"},
};

static struct status_row status_row(int64_t status)
{
    for (size_t i = 0; i < COUNT_OF(statuses); i++)
        if (statuses[i].status == status)
            return statuses[i];
    enum llm_fault fault = LLM_FAULT_PROTOCOL;
    if (status >= 500)
        fault = LLM_FAULT_SERVER;
    else if (status >= 400)
        fault = LLM_FAULT_REQUEST;
    else if (status >= 300)
        fault = LLM_FAULT_REDIRECT;
    else if (status >= 200)
        fault = LLM_FAULT_NONE;
    return (struct status_row){status, fault, ""};
}

static bool member_is(const struct json *object, const char *key, const char *word)
{
    const struct json *member = json_get(object, key);
    return member && member->kind == JSON_STRING && strcmp(member->string.at, word) == 0;
}

/* Two statuses say less than the error's own code. */
static enum llm_fault refine(enum llm_fault fault, const struct json *error)
{
    if (member_is(error, "code", "insufficient_quota") ||
        member_is(error, "type", "insufficient_quota"))
        return LLM_FAULT_QUOTA;
    if (member_is(error, "code", "context_length_exceeded"))
        return LLM_FAULT_TOO_LARGE;
    return fault;
}

/* The text in an error's document: {"error": {"message"}}, {"error": text}, {"message"},
 * {"detail"}. */
static bool find_message(const struct json *json, struct str *out)
{
    static const char *const keys[] = {"error", "message", "detail"};
    if (json->kind == JSON_STRING) {
        *out = json->string;
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const struct json *member = json_get(json, keys[i]);
        if (member && (member->kind == JSON_STRING || (i == 0 && member->kind == JSON_OBJECT)))
            return find_message(member, out);
    }
    return false;
}

/* A refusal; `json` is its body read, NULL when that is no JSON: then the body itself is quoted. */
static void fail_status(struct reading *r, int64_t status, const struct json *json, struct str body)
{
    struct status_row row = status_row(status);
    const struct json *error = json ? json_get(json, "error") : NULL;
    struct str message;
    if (error && error->kind != JSON_OBJECT)
        error = NULL;
    if (!fail(r, json ? refine(row.fault, error ? error : json) : row.fault))
        return;
    buf_printf(&r->what, "HTTP %lld", (long long)status);
    if (row.phrase[0])
        buf_printf(&r->what, " %s", row.phrase);
    if (json && find_message(json, &message)) {
        buf_text(&r->what, "; the server says ");
        quote(&r->what, message, QUOTE_BYTES_MAX);
    } else if (body.len > 0) {
        buf_text(&r->what, "; the body is ");
        quote(&r->what, body, QUOTE_BYTES_MAX);
    }
}

/* An error inside an answer that began well. */
static void fail_error(struct reading *r, const struct json *json, const struct json *error)
{
    const struct json *code = error->kind == JSON_OBJECT ? json_get(error, "code") : NULL;
    struct str message = {"", 0};
    enum llm_fault fault = LLM_FAULT_SERVER;
    if (code && code->kind == JSON_INT && code->integer >= 400 && code->integer < 600)
        fault = status_row(code->integer).fault;
    if (!fail(r, refine(fault, error)))
        return;
    if (!find_message(json, &message))
        message = STR_LIT("no message");
    buf_text(&r->what, "instead of a reply, the server says ");
    quote(&r->what, message, QUOTE_BYTES_MAX);
}

/* ---- replies ---- */

static int64_t count_of(const struct json *object, const char *key)
{
    const struct json *member = json_get(object, key);
    return member && member->kind == JSON_INT && member->integer > 0 ? member->integer : 0;
}

static void read_usage(struct reading *r, const struct json *usage)
{
    if (!usage || usage->kind != JSON_OBJECT)
        return;
    const struct json *details = json_get(usage, "prompt_tokens_details");
    int64_t cached = details ? count_of(details, "cached_tokens") : 0;
    if (cached == 0)
        cached = count_of(usage, "prompt_cache_hit_tokens");
    if (cached == 0)
        cached = count_of(usage, "cached_tokens");
    r->usage.input_tokens = count_of(usage, "prompt_tokens");
    r->usage.output_tokens = count_of(usage, "completion_tokens");
    r->usage.cached_tokens = cached < r->usage.input_tokens ? cached : r->usage.input_tokens;
    r->usage_known = r->usage.input_tokens > 0 || r->usage.output_tokens > 0;
}

static void add_text(struct reading *r, struct buf *out, const struct json *message,
                     const char *key)
{
    const struct json *text = json_get(message, key);
    if (!text || text->kind == JSON_NULL)
        return;
    if (text->kind == JSON_STRING)
        buf_str(out, text->string);
    else
        fail_garbage(r, "not a text", str_from(key));
}

static enum llm_finish finish_of(struct str word)
{
    static const char *const words[] = {
#define X(name, text) text,
        LLM_FINISHES(X)
#undef X
    };
    for (size_t i = LLM_FINISH_STOP; i < COUNT_OF(words); i++)
        if (str_equal(word, str_from(words[i])))
            return (enum llm_finish)i;
    return LLM_FINISH_OTHER;
}

static void read_choice(struct reading *r, const struct json *choice, const char *part)
{
    const struct json *message = json_get(choice, part);
    const struct json *finish = json_get(choice, "finish_reason");
    if (count_of(choice, "index") > 0)
        return;
    if (message && message->kind == JSON_OBJECT) {
        add_text(r, &r->text, message, "content");
        add_text(r, &r->reasoning, message, "reasoning_content");
        if (!json_get(message, "reasoning_content"))
            add_text(r, &r->reasoning, message, "reasoning");
    }
    if (finish && finish->kind == JSON_STRING && finish->string.len > 0) {
        r->finish = finish_of(finish->string);
        r->ended = true;
    }
}

/* A chunk of a stream ("delta") or a whole reply ("message"). */
static void read_object(struct reading *r, const struct json *json, const char *part)
{
    const struct json *error = json_get(json, "error");
    const struct json *choices = json_get(json, "choices");
    const struct json *model = json_get(json, "model");
    if (error && error->kind != JSON_NULL) {
        fail_error(r, json, error);
        return;
    }
    if (r->model.len == 0 && model && model->kind == JSON_STRING &&
        model->string.len <= MODEL_BYTES_MAX)
        r->model = (struct str){str_copy(r->arena, model->string), model->string.len};
    read_usage(r, json_get(json, "usage"));
    if (!choices || choices->kind != JSON_ARRAY)
        return;
    r->any = true;
    for (size_t i = 0; i < choices->count; i++)
        read_choice(r, &choices->items[i], part);
}

static void clear_scratch(struct reading *r)
{
    arena_release(&r->scratch);
    arena_init(&r->scratch, SCRATCH_BYTES_MAX);
}

/* Parses one JSON object and hands it on. */
static void read_json(struct reading *r, struct str text, size_t bytes_max, const char *part)
{
    struct err err;
    const struct json *json;
    if (text.len > bytes_max) {
        if (fail(r, LLM_FAULT_SIZE))
            buf_printf(&r->what, "the reply has a JSON document of %zu bytes; the limit is %zu",
                       text.len, bytes_max);
        return;
    }
    if (r->scratch.bytes_total > SCRATCH_BYTES_KEPT)
        clear_scratch(r);
    if (!json_parse(&r->scratch, text, "reply", &json, &err) || json->kind != JSON_OBJECT)
        fail_garbage(r, "no JSON object", text);
    else
        read_object(r, json, part);
}

static void read_stream(struct reading *r, struct str body)
{
    struct arena lines; /* of events of several lines */
    struct str rest = body, data;
    arena_init(&lines, SCRATCH_BYTES_MAX);
    while (r->fault == LLM_FAULT_NONE && sse_next(&lines, &rest, &data)) {
        r->events++;
        if (str_equal(data, STR_LIT("[DONE]"))) {
            r->ended = true;
            break;
        }
        read_json(r, data, EVENT_BYTES_MAX, "delta");
    }
    arena_release(&lines);
    if (r->events == 0)
        fail_garbage(r, "no JSON and no stream of events", body);
}

static void check_whole(struct reading *r)
{
    if (!r->any && r->ended)
        fail_garbage(r, "no choices", STR_LIT(""));
    if (!r->ended && fail(r, LLM_FAULT_CUT))
        buf_printf(&r->what, "the reply was cut off after %zu bytes of text (events: %zu)",
                   r->text.len, r->events);
    if ((r->text.overflow || r->reasoning.overflow) && fail(r, LLM_FAULT_SIZE))
        buf_printf(&r->what, "the reply's text is over %d bytes", TEXT_BYTES_MAX);
}

static void read_body(struct reading *r, struct str body)
{
    size_t i = 0;
    while (i < body.len && memchr(" \t\r\n", body.at[i], 4))
        i++;
    if (i == body.len) {
        if (fail(r, LLM_FAULT_CUT))
            buf_text(&r->what, "the reply's body is empty");
    } else if (body.at[i] == '<') {
        if (fail(r, LLM_FAULT_PAGE)) {
            buf_text(&r->what, "the reply is a web page: ");
            quote(&r->what, body, SAMPLE_BYTES_MAX);
        }
    } else if (body.at[i] == '{') {
        r->ended = true;
        read_json(r, body, DOCUMENT_BYTES_MAX, "message");
        check_whole(r);
    } else {
        read_stream(r, body);
        check_whole(r);
    }
}

/* "WORD: why", as a try without an answer is recorded. */
static void read_reason(struct reading *r, struct str raw)
{
    static const char *const words[] = {
#define X(name, word, retry, code, remedy) word,
        LLM_FAULTS(X)
#undef X
    };
    for (size_t i = LLM_FAULT_NONE + 1; i < COUNT_OF(words); i++) {
        struct str word = str_from(words[i]);
        if (!str_has_prefix(raw, word) || raw.len < word.len + 2 || raw.at[word.len] != ':')
            continue;
        if (fail(r, (enum llm_fault)i))
            escape_print(&r->what, (struct str){raw.at + word.len + 2, raw.len - word.len - 2},
                         QUOTE_BYTES_MAX);
        return;
    }
    if (fail(r, LLM_FAULT_PROTOCOL))
        escape_print(&r->what, raw.len ? raw : STR_LIT("no answer"), QUOTE_BYTES_MAX);
}

static void read_refusal(struct reading *r, int64_t status, struct str body)
{
    struct err err;
    const struct json *json = NULL;
    if (body.len > EVENT_BYTES_MAX || !json_parse(&r->scratch, body, "reply", &json, &err))
        json = NULL;
    fail_status(r, status, json, body);
}

void chat_answer_read(struct arena *arena, int64_t status, struct str raw, struct chat_answer *out)
{
    struct reading r = {.arena = arena, .fault = LLM_FAULT_NONE};
    buf_init(&r.text, arena, TEXT_BYTES_MAX);
    buf_init(&r.reasoning, arena, TEXT_BYTES_MAX);
    buf_text(&r.text, ""); /* empty texts are views too */
    buf_text(&r.reasoning, "");
    arena_init(&r.scratch, SCRATCH_BYTES_MAX);
    if (status == 0)
        read_reason(&r, raw);
    else if (status_row(status).fault == LLM_FAULT_NONE)
        read_body(&r, raw);
    else
        read_refusal(&r, status, raw);
    arena_release(&r.scratch);
    *out = (struct chat_answer){
        .fault = r.fault,
        .what = r.fault == LLM_FAULT_NONE ? "" : r.what.at,
        .reply = {.text = buf_view(&r.text),
                  .reasoning = buf_view(&r.reasoning),
                  .finish = r.finish,
                  .truncated = r.finish == LLM_FINISH_LENGTH,
                  .usage = r.usage,
                  .usage_known = r.usage_known,
                  .model = r.model},
    };
}
