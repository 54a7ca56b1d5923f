/*
 * What a request is answered: a file's text, or one of the ways in which model servers misbehave.
 *
 * The replies of the script are short and always the same, so that a test can say what must come
 * out.  Invariant: each way ends by itself, at the latest when the client goes away or the relay's
 * time is over.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"

#include "tests/relay/relay.h"

enum {
    PIECE_BYTES = 400, /* of a reply's text, in one event */
    REPLY_BYTES_MAX = 4 << 20,
    EVENT_BYTES_MAX = 1 << 20,
    FLOOD_BYTES = 64 << 10,
    FLOOD_ROUNDS = 2048,
    LOOK_MS = 50,
    ALIVE_MS = 1000,
};

#define JSON_TYPE "Content-Type: application/json\r\n"

/* ---- events ---- */

/* data: {"choices":[{"delta":{MEMBER:TEXT},"finish_reason":FINISH,"index":0}],"model":...} */
static void send_delta(struct visit *visit, const char *member, struct str text, const char *finish)
{
    struct buf out;
    struct json_writer w;
    buf_init(&out, visit->arena, EVENT_BYTES_MAX);
    buf_text(&out, "data: ");
    json_writer_init(&w, &out);
    json_open_object(&w);
    json_member_text(&w, "object", "chat.completion.chunk");
    json_member_text(&w, "model", visit->relay->model);
    json_key(&w, "choices");
    json_open_array(&w);
    json_open_object(&w);
    json_member_int(&w, "index", 0);
    json_key(&w, "finish_reason");
    if (finish)
        json_put_text(&w, finish);
    else
        json_put_null(&w);
    json_key(&w, "delta");
    json_open_object(&w);
    if (member)
        json_member_str(&w, member, text);
    json_close_object(&w);
    json_close_object(&w);
    json_close_array(&w);
    json_close_object(&w);
    buf_text(&out, "\n\n");
    visit_chunk(visit, buf_view(&out));
}

static void send_word(struct visit *visit, const char *text)
{
    send_delta(visit, "content", str_from(text), NULL);
}

static void send_usage(struct visit *visit)
{
    visit_chunk(visit, STR_LIT("data: {\"choices\":[],\"usage\":{\"completion_tokens\":7,"
                               "\"prompt_tokens\":11,\"prompt_tokens_details\":"
                               "{\"cached_tokens\":3}}}\n\n"));
}

static void send_end(struct visit *visit, const char *finish)
{
    send_delta(visit, NULL, (struct str){NULL, 0}, finish);
    send_usage(visit);
    visit_chunk(visit, STR_LIT("data: [DONE]\n\n"));
    visit_chunks_end(visit);
}

static void hold(struct visit *visit)
{
    while (visit_pause(visit, ALIVE_MS))
        ;
}

/* ---- the script ---- */

static void serve_ok(struct visit *visit)
{
    send_word(visit, "Hello, ");
    send_word(visit, "world");
    send_end(visit, "stop");
}

static void serve_plain(struct visit *visit)
{
    visit_answer(visit, 200, JSON_TYPE,
                 STR_LIT("{\"choices\":[{\"finish_reason\":\"stop\",\"index\":0,\"message\":"
                         "{\"content\":\"Hello, world\",\"role\":\"assistant\"}}],\"model\":"
                         "\"plain\",\"usage\":{\"completion_tokens\":7,\"prompt_tokens\":11}}"));
}

static void serve_think(struct visit *visit)
{
    send_delta(visit, "reasoning_content", STR_LIT("Greet them."), NULL);
    serve_ok(visit);
}

static void serve_length(struct visit *visit)
{
    send_word(visit, "Hello, wo");
    send_end(visit, "length");
}

static void serve_text(struct visit *visit)
{
    visit_answer(visit, 200, "Content-Type: text/plain\r\n",
                 STR_LIT("data: {\"choices\":[{\"delta\":{\"content\":\"Hello, world\"},"
                         "\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"));
}

static void serve_no_done(struct visit *visit)
{
    send_word(visit, "Hello, world");
    send_delta(visit, NULL, (struct str){NULL, 0}, "stop");
    visit_chunks_end(visit);
}

static void serve_open(struct visit *visit)
{
    send_word(visit, "Hello, world");
    visit_chunk(visit, STR_LIT("data: [DONE]\n\n"));
    hold(visit);
}

static void serve_late_reset(struct visit *visit)
{
    send_word(visit, "Hello, world");
    send_delta(visit, NULL, (struct str){NULL, 0}, "stop");
    visit_pause(visit, 2 * LOOK_MS);
    visit_close(visit, true);
}

static void serve_wait(struct visit *visit)
{
    struct buf headers;
    buf_init(&headers, visit->arena, EVENT_BYTES_MAX);
    buf_printf(&headers, JSON_TYPE "Retry-After: %s\r\n", visit->argument);
    visit_answer(visit, 429, headers.at,
                 STR_LIT("{\"error\":{\"message\":\"Rate limit reached\",\"code\":\"rate\"}}"));
}

static void serve_wait_until(struct visit *visit)
{
    char date[64];
    struct tm tm;
    time_t then = (time_t)(clock_wall_s() + atoi(visit->argument));
    gmtime_r(&then, &tm);
    strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
    visit->argument = date;
    serve_wait(visit);
}

static void serve_quota(struct visit *visit)
{
    visit_answer(visit, 429, JSON_TYPE,
                 STR_LIT("{\"error\":{\"message\":\"You exceeded your current quota\",\"type\":"
                         "\"insufficient_quota\"}}"));
}

static void serve_status(struct visit *visit)
{
    visit_answer(visit, atoi(visit->argument), JSON_TYPE,
                 STR_LIT("{\"error\":{\"message\":\"the server's own words\"}}"));
}

static struct str sent_key(const struct visit *visit)
{
    static const char before[] = "Authorization: Bearer ";
    const char *at = memmem(visit->head.at, visit->head.len, before, sizeof(before) - 1);
    if (!at)
        return STR_LIT("none");
    at += sizeof(before) - 1;
    return (struct str){at, strcspn(at, "\r\n")};
}

static void serve_echo(struct visit *visit)
{
    struct buf body;
    buf_init(&body, visit->arena, EVENT_BYTES_MAX);
    buf_printf(&body, "{\"error\":{\"message\":\"Incorrect API key provided: %.*s\"}}",
               STR_ARG(sent_key(visit)));
    visit_answer(visit, 401, JSON_TYPE, buf_view(&body));
}

/* The key in a good reply, whole. */
static void serve_parrot(struct visit *visit)
{
    send_delta(visit, "content", sent_key(visit), NULL);
    send_end(visit, "stop");
}

/* The key in a good reply, over two events. */
static void serve_leak(struct visit *visit)
{
    struct str key = sent_key(visit);
    size_t half = key.len / 2 < 10 ? key.len / 2 : 10;
    send_delta(visit, "content", (struct str){key.at, half}, NULL);
    send_delta(visit, "content", (struct str){key.at + half, key.len - half}, NULL);
    send_end(visit, "stop");
}

static void serve_redirect(struct visit *visit)
{
    struct buf headers;
    buf_init(&headers, visit->arena, EVENT_BYTES_MAX);
    buf_printf(&headers, "Location: http://127.0.0.1:%d/elsewhere\r\n", visit->relay->port);
    visit_answer(visit, 302, headers.at, STR_LIT(""));
}

static void serve_escape(struct visit *visit)
{
    visit_answer(visit, 400, JSON_TYPE,
                 STR_LIT("{\"error\":{\"message\":\"bad \\u001b[2J\\u202emodel\\r\\nname\"}}"));
}

static void serve_refuse(struct visit *visit)
{
    visit_close(visit, false);
}

static void serve_reset(struct visit *visit)
{
    send_word(visit, "Hello, ");
    visit_pause(visit, 2 * LOOK_MS); /* a reset overtakes what was not yet read */
    visit_close(visit, true);
}

static void serve_stall(struct visit *visit)
{
    send_word(visit, "Hello, ");
    hold(visit);
}

static void serve_drip(struct visit *visit)
{
    visit_chunk(visit, STR_LIT(": "));
    while (visit_pause(visit, LOOK_MS))
        visit_chunk(visit, STR_LIT("."));
}

static void serve_cut(struct visit *visit)
{
    send_word(visit, "Hello, ");
    visit_chunks_end(visit);
}

static void serve_short(struct visit *visit)
{
    visit_printf(visit, "HTTP/1.1 200 OK\r\n" JSON_TYPE "Content-Length: 1000\r\n\r\n{\"choi");
}

static void serve_garbage(struct visit *visit)
{
    send_word(visit, "Hello, ");
    visit_chunk(visit, STR_LIT("data: {\"choices\": [{\"del\n\ndata: \x1b]0;\x07\n\n"));
    visit_chunks_end(visit);
}

static void serve_noise(struct visit *visit)
{
    visit_printf(visit, "SSH-2.0-OpenSSH\r\n\x01\x02\x03");
}

static void serve_bad_json(struct visit *visit)
{
    visit_answer(visit, 200, JSON_TYPE,
                 STR_LIT("{\"choices\": [{\"message\": {\"content\": \"Hel"));
}

static void serve_html(struct visit *visit)
{
    visit_answer(visit, 200, "Content-Type: text/html\r\n",
                 STR_LIT("<!DOCTYPE html><html><title>Welcome</title></html>"));
}

static void serve_error(struct visit *visit)
{
    send_word(visit, "Hello, ");
    visit_chunk(visit,
                STR_LIT("data: {\"error\":{\"code\":502,\"message\":\"upstream died\"}}\n\n"));
    visit_chunks_end(visit);
}

static struct str flood(struct visit *visit, char c)
{
    char *text = arena_array(visit->arena, char, FLOOD_BYTES + 1);
    memset(text, c, FLOOD_BYTES);
    return (struct str){text, FLOOD_BYTES};
}

static void serve_huge(struct visit *visit)
{
    struct str piece = flood(visit, 'a');
    visit_printf(visit, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
    for (int i = 0; i < FLOOD_ROUNDS && visit_pause(visit, 0); i++)
        visit_send(visit, piece);
}

static void serve_headers(struct visit *visit)
{
    visit_printf(visit, "HTTP/1.1 200 OK\r\n");
    for (int i = 0; i < FLOOD_ROUNDS && visit_pause(visit, 0); i++)
        visit_printf(visit, "X-Header-%d: 0123456789012345678901234567890123456789\r\n", i);
    visit_printf(visit, "\r\n");
}

static void serve_line(struct visit *visit)
{
    struct str piece = flood(visit, 'a');
    visit_printf(visit, "HTTP/1.1 200 OK\r\nX-Header: ");
    for (int i = 0; i < FLOOD_ROUNDS && visit_pause(visit, 0); i++)
        visit_send(visit, piece);
}

static const struct {
    const char *word;
    void (*serve)(struct visit *visit);
} script[] = {
    {"ok", serve_ok},
    {"plain", serve_plain},
    {"think", serve_think},
    {"length", serve_length},
    {"text", serve_text},
    {"no-done", serve_no_done},
    {"open", serve_open},
    {"late-reset", serve_late_reset},
    {"wait", serve_wait},
    {"wait-until", serve_wait_until},
    {"quota", serve_quota},
    {"status", serve_status},
    {"echo", serve_echo},
    {"parrot", serve_parrot},
    {"leak", serve_leak},
    {"redirect", serve_redirect},
    {"escape", serve_escape},
    {"refuse", serve_refuse},
    {"reset", serve_reset},
    {"stall", serve_stall},
    {"silent", hold},
    {"drip", serve_drip},
    {"cut", serve_cut},
    {"short", serve_short},
    {"garbage", serve_garbage},
    {"noise", serve_noise},
    {"bad-json", serve_bad_json},
    {"html", serve_html},
    {"error", serve_error},
    {"huge", serve_huge},
    {"headers", serve_headers},
    {"line", serve_line},
};

bool serve_known(struct str word)
{
    for (size_t i = 0; i < COUNT_OF(script); i++)
        if (str_equal(word, str_from(script[i].word)))
            return true;
    return false;
}

void serve_words(struct buf *out)
{
    for (size_t i = 0; i < COUNT_OF(script); i++)
        buf_printf(out, "%s%s", i ? " " : "", script[i].word);
}

void serve_word(struct visit *visit, struct str word)
{
    for (size_t i = 0; i < COUNT_OF(script); i++)
        if (str_equal(word, str_from(script[i].word)))
            script[i].serve(visit);
}

/* ---- a folder ---- */

static char *numbered(struct visit *visit, const char *suffix)
{
    struct buf name;
    buf_init(&name, visit->arena, 256);
    buf_printf(&name, "%03lld.%s", (long long)visit->relay->number, suffix);
    return path_join(visit->arena, visit->relay->folder, name.at);
}

/* False when the client or the time went first. */
static bool wait_for_file(struct visit *visit, const char *path)
{
    for (int64_t waited = 0; !file_exists(path); waited += LOOK_MS) {
        if (waited % ALIVE_MS == 0)
            visit_chunk(visit, STR_LIT(": a reply is being written\n\n"));
        if (!visit_pause(visit, LOOK_MS))
            return false;
    }
    return true;
}

static size_t piece_length(struct str text)
{
    size_t len = text.len < PIECE_BYTES ? text.len : PIECE_BYTES;
    while (len < text.len && ((unsigned char)text.at[len] & 0xc0) == 0x80)
        len++;
    return len;
}

bool serve_folder(struct visit *visit, struct err *err)
{
    const char *reply = numbered(visit, "reply.txt");
    struct str text;
    if (!file_write(numbered(visit, "request.json"), visit->body, err))
        return false;
    if (!wait_for_file(visit, reply))
        return true;
    if (!file_read(visit->arena, reply, REPLY_BYTES_MAX, &text, err))
        return false;
    while (text.len > 0) {
        size_t len = piece_length(text);
        send_delta(visit, "content", (struct str){text.at, len}, NULL);
        text = (struct str){text.at + len, text.len - len};
    }
    send_delta(visit, NULL, (struct str){NULL, 0}, "stop");
    visit_chunk(visit, STR_LIT("data: [DONE]\n\n"));
    visit_chunks_end(visit);
    return true;
}
