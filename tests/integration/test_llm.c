/*
 * The client against a server that misbehaves: what the user gets to see, and within which time.
 * With LLM_TABLE=1 the texts are printed as a table.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/proc.h"

#include "agent/llm/llm.h"
#include "tests/integration/relay_start.h"

enum { ARENA_BYTES = 1 << 30, NS_PER_MS = 1000000, WORDS_MAX = 6, TRIES_MAX = 3 };

#define KEY  "sk-secret-0123456789abcdef"
#define UP   "gave up after 3 tries: "
#define GOOD "Hello, world"

/* 0 = long, so that a loaded machine passes. */
struct clocks {
    int64_t deadline_ms, first_ms, stall_ms, ms_max;
};

struct fault_row {
    const char *words[WORDS_MAX]; /* what the relay does with each request */
    const char *want;             /* the reply, or the error behind "the model at URL: " */
    bool fails;
    int64_t tries;
    int64_t ms_min; /* of the whole call */
    struct clocks clocks;
};

static const struct fault_row rows[] = {
    {{"ok"}, GOOD, false, 1, 0, {0}},
    {{"plain"}, GOOD, false, 1, 0, {0}},
    {{"think"}, GOOD, false, 1, 0, {0}},
    {{"text"}, GOOD, false, 1, 0, {0}},
    {{"no-done"}, GOOD, false, 1, 0, {0}},
    {{"open"}, GOOD, false, 1, 0, {.ms_max = 3000}},
    {{"late-reset"}, GOOD, false, 1, 0, {0}},
    {{"length"}, "Hello, wo", false, 1, 0, {0}},
    {{"wait:1", "ok"}, GOOD, false, 2, 1000, {0}},
    {{"wait-until:2", "ok"}, GOOD, false, 2, 900, {0}},
    {{"status:500", "status:503", "ok"}, GOOD, false, 3, 0, {0}},
    {{"status:408", "status:409", "ok"}, GOOD, false, 3, 0, {0}},
    {{"reset", "cut", "ok"}, GOOD, false, 3, 0, {0}},
    {{"garbage", "stall", "ok"}, GOOD, false, 3, 800, {.stall_ms = 800}},
    {{"wait:60"},
     "gave up after 1 try, as another does not fit the deadline of 8 s: HTTP 429 Too Many "
     "Requests; the server says \"Rate limit reached\"; run fewer at a time, or allow more time",
     true,
     1,
     0,
     {.ms_max = 4000}},
    {{"quota"},
     "HTTP 429 Too Many Requests; the server says \"You exceeded your current quota\"; add credit "
     "with the provider, or use another key",
     true,
     1,
     0,
     {0}},
    {{"status:500", "status:500", "status:500"},
     UP "HTTP 500 Internal Server Error; the server says \"the server's own words\"; the server's "
        "fault; try later",
     true,
     3,
     0,
     {0}},
    {{"status:503", "status:503", "status:503"},
     UP "HTTP 503 Service Unavailable; the server says \"the server's own words\"; the server's "
        "fault; try later",
     true,
     3,
     0,
     {0}},
    {{"status:400"},
     "HTTP 400 Bad Request; the server says \"the server's own words\"; the server refuses the "
     "request; check --model",
     true,
     1,
     0,
     {0}},
    {{"echo"},
     "HTTP 401 Unauthorized; the server says \"Incorrect API key provided: [API key]\"; set "
     "WARPWRIGHT_API_KEY to a key of this server",
     true,
     1,
     0,
     {0}},
    {{"status:403"},
     "HTTP 403 Forbidden; the server says \"the server's own words\"; the key may not use this "
     "model; check --model",
     true,
     1,
     0,
     {0}},
    {{"status:404"},
     "HTTP 404 Not Found; the server says \"the server's own words\"; check --llm (it mostly ends "
     "in /v1) and --model",
     true,
     1,
     0,
     {0}},
    {{"status:413"},
     "HTTP 413 Content Too Large; the server says \"the server's own words\"; the prompt is too "
     "long: lower its token budget",
     true,
     1,
     0,
     {0}},
    {{"status:422"},
     "HTTP 422 Unprocessable Content; the server says \"the server's own words\"; the server "
     "refuses the request; check --model",
     true,
     1,
     0,
     {0}},
    {{"escape"},
     "HTTP 400 Bad Request; the server says \"bad \\x1b[2J\\xe2\\x80\\xaemodel\\x0d\\x0aname\"; "
     "the "
     "server refuses the request; check --model",
     true,
     1,
     0,
     {0}},
    {{"redirect"},
     "HTTP 302; redirects are not followed, so that the key goes nowhere else; give the final URL "
     "as --llm",
     true,
     1,
     0,
     {0}},
    {{"parrot"}, "[API key]", false, 1, 0, {0}},
    {{"leak"},
     "the server sent the API key back inside its reply; do not use this server; make the key void",
     true,
     1,
     0,
     {0}},
    {{"refuse", "refuse", "refuse"},
     UP
     "the connection was closed without an answer; the server, a proxy or the network; try later",
     true,
     3,
     0,
     {0}},
    {{"reset", "reset", "reset"},
     UP "the connection broke, after 133 bytes; the server, a proxy or the network; try later",
     true,
     3,
     0,
     {0}},
    {{"stall", "stall", "stall"},
     UP "no byte for 0.3 s, after 133 bytes; the server is stuck or overloaded; try later",
     true,
     3,
     900,
     {.stall_ms = 300, .ms_max = 4000}},
    {{"silent", "silent", "silent"},
     UP "no answer for 0.4 s; the server is stuck or overloaded; try later",
     true,
     3,
     1200,
     {.first_ms = 400, .ms_max = 4000}},
    {{"drip"},
     "the deadline of 2 s is over, after N bytes; allow more time, or ask for fewer tokens",
     true,
     1,
     2000,
     {.deadline_ms = 2000, .ms_max = 3500}},
    {{"cut", "cut", "cut"},
     UP "the reply was cut off after 7 bytes of text (events: 1); the server or a proxy ends "
        "replies early; try later",
     true,
     3,
     0,
     {0}},
    {{"short", "short", "short"},
     UP "the connection was closed early, after 6 bytes; the server, a proxy or the network; try "
        "later",
     true,
     3,
     0,
     {0}},
    {{"garbage", "garbage", "garbage"},
     UP "the reply is malformed: event 2: no JSON object: \"{\"choices\": [{\"del\"; check that "
        "--llm is an OpenAI-compatible server (its URL mostly ends in /v1)",
     true,
     3,
     0,
     {0}},
    {{"noise", "noise", "noise"},
     UP "the answer is no HTTP; check that --llm is a model server",
     true,
     3,
     0,
     {0}},
    {{"bad-json", "bad-json", "bad-json"},
     UP "the reply is malformed: no JSON object: \"{\"choices\": [{\"message\": {\"content\": "
        "\"Hel\"; check that --llm is an OpenAI-compatible server (its URL mostly ends in /v1)",
     true,
     3,
     0,
     {0}},
    {{"html"},
     "the reply is a web page: \"<!DOCTYPE html><html><title>Welcome</title></html>\"; --llm names "
     "a web page; an API's URL mostly ends in /v1",
     true,
     1,
     0,
     {0}},
    {{"error", "error", "error"},
     UP "instead of a reply, the server says \"upstream died\"; the server's fault; try later",
     true,
     3,
     0,
     {0}},
    {{"huge"},
     "the reply is over 1000000 bytes; ask for fewer tokens, or check that --llm is a model server",
     true,
     1,
     0,
     {0}},
    {{"headers"},
     "the reply's headers are over 65536 bytes; that is no model server; check --llm",
     true,
     1,
     0,
     {0}},
    {{"line"},
     "the reply has a header line without end; that is no model server; check --llm",
     true,
     1,
     0,
     {0}},
};

static struct llm_options options_for(struct arena *arena, int port)
{
    struct llm_options options = llm_defaults();
    struct buf url;
    buf_init(&url, arena, 64);
    buf_printf(&url, "http://127.0.0.1:%d/v1", port);
    options.base_url = buf_view(&url);
    options.model = STR_LIT("m-1");
    options.key.text = STR_LIT(KEY);
    options.deadline_ms = 8000;
    options.first_ms = options.stall_ms = 4000;
    options.tries_max = TRIES_MAX;
    options.backoff_ms = 10;
    options.response_bytes_max = 1000000;
    return options;
}

static void set_clocks(struct llm_options *options, const struct clocks *clocks)
{
    if (clocks->deadline_ms)
        options->deadline_ms = clocks->deadline_ms;
    if (clocks->first_ms)
        options->first_ms = clocks->first_ms;
    if (clocks->stall_ms)
        options->stall_ms = clocks->stall_ms;
}

static struct llm_request request_of(const struct llm_message *message, int64_t attempt)
{
    return (struct llm_request){
        .key = {STR_LIT("softmax"), 0, attempt, STR_LIT("write")},
        .messages = message,
        .message_count = 1,
        .temperature = -1,
    };
}

static const struct llm_message message = {LLM_USER, {"Write.", 6}};

/* The part behind "the model at URL: ", numbers that depend on timing as N. */
static const char *told(struct arena *arena, const struct err *err)
{
    static const char before[] = "/v1/chat/completions: ", drip[] = "is over, after ";
    const char *at = strstr(err->text, before);
    char *text = str_copy(arena, str_from(at ? at + sizeof(before) - 1 : err->text));
    char *number = strstr(text, drip);
    if (number) {
        number += sizeof(drip) - 1;
        size_t digits = strspn(number, "0123456789");
        memmove(number + 1, number + digits, strlen(number + digits) + 1);
        *number = 'N';
    }
    return text;
}

static void print_row(const struct fault_row *row, const char *got, int64_t ms)
{
    if (!getenv("LLM_TABLE"))
        return;
    for (size_t i = 0; i < WORDS_MAX && row->words[i]; i++)
        printf("%s%s", i ? ", " : "| ", row->words[i]);
    printf(" | %lld | %.1f s | %s%s |\n", (long long)row->tries, (double)ms / 1000,
           row->fails ? "" : "reply: ", got);
}

static void check_row(const struct fault_row *row, const char *tape_path)
{
    struct arena arena;
    struct err err = {0};
    struct llm *llm, *again;
    struct llm_reply reply, replayed;
    struct llm_request request = request_of(&message, 1);
    struct str tape;
    arena_init(&arena, ARENA_BYTES);
    struct relay_child relay = relay_start(&arena, row->words);
    struct llm_options options = options_for(&arena, relay.port);
    unlink(tape_path);
    set_clocks(&options, &row->clocks);
    options.record = tape_path;
    assert_ok(llm_open(&arena, &options, &llm, &err));
    int64_t start = clock_mono_ns();
    bool ok = llm_ask(&arena, llm, &request, &reply, &err);
    int64_t ms = (clock_mono_ns() - start) / NS_PER_MS;
    relay_kill(&relay);
    const char *got = ok ? str_copy(&arena, reply.text) : told(&arena, &err);
    print_row(row, got, ms);
    if (ok == row->fails || strcmp(got, row->want) != 0)
        fail_msg("%s: got %s", row->words[0], got);
    if (llm_counts(llm).tries != row->tries || ms < row->ms_min ||
        (row->clocks.ms_max && ms > row->clocks.ms_max))
        fail_msg("%s: %lld tries, %lld ms", row->words[0], (long long)llm_counts(llm).tries,
                 (long long)ms);
    assert_ok(file_read(&arena, tape_path, 64 << 20, &tape, &err));
    assert_null(strstr(tape.at, KEY));
    assert_null(strstr(got, KEY));

    struct err first = err;
    options.replay = tape_path;
    options.record = NULL;
    options.strict = true;
    assert_ok(llm_open(&arena, &options, &again, &err));
    assert_int_equal(llm_ask(&arena, again, &request, &replayed, &err), ok);
    if (ok)
        assert_true(str_equal(replayed.text, reply.text));
    else
        assert_string_equal(err.text, first.text);
    assert_int_equal(llm_counts(again).tries, row->tries);
    arena_release(&arena);
}

static void test_faults(void **state UNUSED)
{
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    const char *tape = path_join(&arena, unit_folder(&arena, "llm"), "tape.jsonl");
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check_row(&rows[i], tape);
    arena_release(&arena);
}

/* Nobody listens; and a server without TLS behind https. */
static void test_connections(void **state UNUSED)
{
    static const char *const words[] = {"ok", NULL};
    struct arena arena;
    struct err err = {0};
    struct llm *llm;
    struct llm_reply reply;
    struct llm_request request = request_of(&message, 1);
    arena_init(&arena, ARENA_BYTES);
    struct relay_child relay = relay_start(&arena, words);
    struct llm_options options = options_for(&arena, relay.port);
    struct buf url;
    buf_init(&url, &arena, 64);
    buf_printf(&url, "https://127.0.0.1:%d/v1", relay.port);
    options.base_url = buf_view(&url);
    assert_ok(llm_open(&arena, &options, &llm, &err));
    assert_false(llm_ask(&arena, llm, &request, &reply, &err));
    assert_int_equal(llm_counts(llm).tries, 1);
    assert_non_null(strstr(err.text, "no safe connection, so no key was sent"));
    relay_kill(&relay);

    options = options_for(&arena, relay.port);
    assert_ok(llm_open(&arena, &options, &llm, &err));
    assert_false(llm_ask(&arena, llm, &request, &reply, &err));
    assert_int_equal(err.code, ERR_NETWORK);
    assert_non_null(strstr(err.text, UP));
    assert_non_null(strstr(err.text, "is the server running, and its port right in --llm?"));
    arena_release(&arena);
}

/* The key is in the Authorization header, once, and follows no redirect; no key, no header. */
static void test_headers(void **state UNUSED)
{
    struct arena arena;
    struct err err;
    struct llm *llm;
    struct llm_reply reply;
    struct str text;
    struct llm_request request = request_of(&message, 1);
    arena_init(&arena, ARENA_BYTES);
    const char *heads = path_join(&arena, unit_folder(&arena, "llm"), "heads");
    const char *const words[] = {"--heads", heads, "redirect", "ok", NULL};
    struct relay_child relay = relay_start(&arena, words);
    struct llm_options options = options_for(&arena, relay.port);
    assert_ok(llm_open(&arena, &options, &llm, &err));
    assert_false(llm_ask(&arena, llm, &request, &reply, &err));
    assert_ok(file_read(&arena, heads, 1 << 20, &text, &err));
    const char *key = strstr(text.at, "\r\nAuthorization: Bearer " KEY "\r\n");
    assert_non_null(key);
    assert_null(strstr(key + 30, KEY));
    assert_true(str_has_prefix(text, STR_LIT("POST /v1/chat/completions HTTP/1.1\r\n")));
    assert_null(strstr(text.at, "/elsewhere"));
    options.key.text = STR_LIT("");
    assert_ok(llm_open(&arena, &options, &llm, &err));
    assert_ok(llm_ask(&arena, llm, &request, &reply, &err));
    assert_true(reply.usage_known);
    assert_int_equal(reply.usage.cached_tokens, 3);
    size_t before = text.len;
    assert_ok(file_read(&arena, heads, 1 << 20, &text, &err));
    assert_null(strstr(text.at + before, "Authorization"));
    assert_int_equal(relay_wait(&relay), 0);
    arena_release(&arena);
}

/* openssl's test server with a certificate that it signed itself; false without openssl. */
static bool start_tls(struct arena *arena, struct relay_child *child)
{
    const char *folder = unit_folder(arena, "llm-tls");
    const char *key = path_join(arena, folder, "key"), *cert = path_join(arena, folder, "cert");
    const char *const make[] = {
        "openssl", "req",  "-x509", "-newkey", "rsa:2048", "-nodes",  "-keyout",
        key,       "-out", cert,    "-subj",   "/CN=h",    "-addext", "subjectAltName=IP:127.0.0.1",
        "-days",   "1",    NULL};
    const char *const serve[] = {"openssl", "s_server", "-accept", "127.0.0.1:0", "-key",
                                 key,       "-cert",    cert,      "-www",        NULL};
    const struct proc_limits limits = {.wall_ms = 20000, .output_bytes_max = 1 << 16};
    struct proc_result result;
    struct err err;
    return proc_run(arena, make, NULL, &limits, &result, &err) && result.status == 0 &&
           child_start(serve, "ACCEPT 127.0.0.1:", child);
}

/* A stranger who claims to be the server gets no key. */
static void test_certificates(void **state UNUSED)
{
    struct arena arena;
    struct err err = {0};
    struct llm *llm;
    struct llm_reply reply;
    struct llm_request request = request_of(&message, 1);
    struct relay_child server = {0};
    arena_init(&arena, ARENA_BYTES);
    if (!start_tls(&arena, &server)) {
        arena_release(&arena);
        skip();
    }
    struct llm_options options = options_for(&arena, server.port);
    struct buf url;
    buf_init(&url, &arena, 64);
    buf_printf(&url, "https://127.0.0.1:%d/v1", server.port);
    options.base_url = buf_view(&url);
    assert_ok(llm_open(&arena, &options, &llm, &err));
    assert_false(llm_ask(&arena, llm, &request, &reply, &err));
    relay_kill(&server);
    assert_int_equal(err.code, ERR_USAGE);
    assert_non_null(strstr(err.text, "certificate"));
    assert_non_null(strstr(err.text, "no safe connection, so no key was sent"));
    arena_release(&arena);
}

/* Stops each child of `parent` but the relay and itself, as a hanging library would. */
static void stop_children(pid_t parent, pid_t relay)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", (long)parent, (long)parent);
    FILE *file = fopen(path, "r");
    if (file && fgets(text, sizeof(text), file))
        for (char *at = text, *end;; at = end) {
            pid_t pid = (pid_t)strtol(at, &end, 10);
            if (end == at)
                break;
            if (pid != relay && pid != getpid())
                kill(pid, SIGSTOP);
        }
    if (file)
        fclose(file);
}

/* A request whose process does not move any more ends a second after the deadline. */
static void test_watchdog(void **state UNUSED)
{
    static const char *const words[] = {"silent", NULL};
    struct arena arena;
    struct err err = {0};
    struct llm *llm;
    struct llm_reply reply;
    struct llm_request request = request_of(&message, 1);
    pid_t parent = getpid();
    arena_init(&arena, ARENA_BYTES);
    struct relay_child relay = relay_start(&arena, words);
    struct llm_options options = options_for(&arena, relay.port);
    options.deadline_ms = options.first_ms = 700;
    assert_ok(llm_open(&arena, &options, &llm, &err));
    pid_t stopper = fork();
    if (stopper == 0) {
        usleep(300000);
        stop_children(parent, relay.pid);
        _exit(0);
    }
    int64_t start = clock_mono_ns();
    assert_false(llm_ask(&arena, llm, &request, &reply, &err));
    int64_t ms = (clock_mono_ns() - start) / NS_PER_MS;
    assert_string_equal(told(&arena, &err),
                        "the deadline of 0.7 s is over, and the request had to be killed; allow "
                        "more time, or ask for fewer tokens");
    assert_in_range(ms, 1600, 5000);
    waitpid(stopper, NULL, 0);
    relay_kill(&relay);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults),       cmocka_unit_test(test_connections),
        cmocka_unit_test(test_certificates), cmocka_unit_test(test_headers),
        cmocka_unit_test(test_watchdog),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
