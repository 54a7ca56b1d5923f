/* Requests to the byte; what each kind of answer is read as, and how a fault is worded. */
#include <string.h>

#include "agent/llm/llm_int.h"
#include "tests/unit/unit.h"

enum { ARENA_BYTES = 256 << 20 };

static void test_request(void **state UNUSED)
{
    const struct llm_message messages[] = {
        {LLM_SYSTEM, STR_LIT("You write CUDA.")},
        {LLM_USER, STR_LIT("a \"b\"\n\xff")},
        {LLM_ASSISTANT, STR_LIT("c")},
    };
    struct llm_request request = {.messages = messages, .message_count = 3, .temperature = -1};
    struct arena arena;
    struct str text;
    struct err err;
    arena_init(&arena, ARENA_BYTES);
    assert_ok(chat_request_print(&arena, STR_LIT("m-1"), &request, &text, &err));
    assert_string_equal(
        text.at, "{\"messages\":[{\"content\":\"You write CUDA.\",\"role\":\"system\"},"
                 "{\"content\":\"a \\\"b\\\"\\n\xef\xbf\xbd\",\"role\":\"user\"},"
                 "{\"content\":\"c\",\"role\":\"assistant\"}],\"model\":\"m-1\",\"stream\":true,"
                 "\"stream_options\":{\"include_usage\":true}}");
    assert_true(json_is_canonical(text));
    request.temperature = 0;
    request.max_tokens = 4096;
    assert_ok(chat_request_print(&arena, STR_LIT("m-1"), &request, &text, &err));
    assert_non_null(strstr(text.at, "\"max_tokens\":4096"));
    assert_non_null(strstr(text.at, "\"temperature\":0.0"));
    arena_release(&arena);
}

#define DELTA(text) "data: {\"choices\":[{\"delta\":{\"content\":\"" text "\"}}]}\n\n"
#define STOP(word)  "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"" word "\"}]}\n\n"
#define DONE        "data: [DONE]\n\n"
#define PLAIN(rest)                                                                                \
    "{\"choices\":[{\"message\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]" rest "}"

struct reading_row {
    const char *name;
    const char *body; /* of status 200 */
    const char *text, *reasoning;
    enum llm_finish finish;
    int64_t input, cached, output;
};

static const struct reading_row readings[] = {
    {"stream", DELTA("he") DELTA("llo") STOP("stop") DONE, "hello", "", LLM_FINISH_STOP, 0, 0, 0},
    {"without [DONE]", DELTA("hi") STOP("stop"), "hi", "", LLM_FINISH_STOP, 0, 0, 0},
    {"without a reason", DELTA("hi") DONE, "hi", "", LLM_FINISH_UNKNOWN, 0, 0, 0},
    {"cut by a token limit", DELTA("hi") STOP("length") DONE, "hi", "", LLM_FINISH_LENGTH, 0, 0, 0},
    {"filtered", DELTA("hi") STOP("content_filter") DONE, "hi", "", LLM_FINISH_FILTER, 0, 0, 0},
    {"another reason", DELTA("hi") STOP("eos") DONE, "hi", "", LLM_FINISH_OTHER, 0, 0, 0},
    {"empty reply", STOP("stop") DONE, "", "", LLM_FINISH_STOP, 0, 0, 0},
    {"escapes", DELTA("a\\n\\u00e9\\ud83d\\ude00") DONE, "a\n\xc3\xa9\xf0\x9f\x98\x80", "",
     LLM_FINISH_UNKNOWN, 0, 0, 0},
    {"null and unknown members",
     "data: {\"choices\":[{\"delta\":{\"content\":null,\"role\":\"assistant\"},"
     "\"finish_reason\":null,\"logprobs\":null}],\"usage\":null,\"error\":null,\"x\":[1]}"
     "\n\n" DELTA("hi") DONE,
     "hi", "", LLM_FINISH_UNKNOWN, 0, 0, 0},
    {"objects that are no chunk", "data: {\"type\":\"ping\"}\n\n" DELTA("hi") DONE, "hi", "",
     LLM_FINISH_UNKNOWN, 0, 0, 0},
    {"reasoning_content",
     "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n" DELTA("hi") DONE, "hi",
     "hm", LLM_FINISH_UNKNOWN, 0, 0, 0},
    {"reasoning", "data: {\"choices\":[{\"delta\":{\"reasoning\":\"hm\"}}]}\n\n" DELTA("hi") DONE,
     "hi", "hm", LLM_FINISH_UNKNOWN, 0, 0, 0},
    {"both, counted once",
     "data: "
     "{\"choices\":[{\"delta\":{\"reasoning\":\"hm\",\"reasoning_content\":\"hm\"}}]}\n\n" DELTA(
         "hi") DONE,
     "hi", "hm", LLM_FINISH_UNKNOWN, 0, 0, 0},
    {"second choice",
     "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"no\"},"
     "\"finish_reason\":\"length\"}]}\n\n" DELTA("hi") DONE,
     "hi", "", LLM_FINISH_UNKNOWN, 0, 0, 0},
    {"usage at the end",
     DELTA("hi") STOP("stop") "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":20,"
                              "\"completion_tokens\":7,\"prompt_tokens_details\":"
                              "{\"cached_tokens\":5}}}\n\n" DONE,
     "hi", "", LLM_FINISH_STOP, 20, 5, 7},
    {"usage, other dialect",
     PLAIN(",\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":7,"
           "\"prompt_cache_hit_tokens\":30}"),
     "hi", "", LLM_FINISH_STOP, 20, 20, 7},
    {"usage of no sense", PLAIN(",\"usage\":{\"prompt_tokens\":-3,\"completion_tokens\":\"7\"}"),
     "hi", "", LLM_FINISH_STOP, 0, 0, 0},
    {"no stream", PLAIN(""), "hi", "", LLM_FINISH_STOP, 0, 0, 0},
    {"no stream, space before", " \r\n" PLAIN(""), "hi", "", LLM_FINISH_STOP, 0, 0, 0},
    {"behind [DONE]", DELTA("hi") DONE "data: nonsense\n\n", "hi", "", LLM_FINISH_UNKNOWN, 0, 0, 0},
};

static void test_replies(void **state UNUSED)
{
    for (size_t i = 0; i < COUNT_OF(readings); i++) {
        const struct reading_row *c = &readings[i];
        struct arena arena;
        struct chat_answer answer;
        arena_init(&arena, ARENA_BYTES);
        chat_answer_read(&arena, 200, str_from(c->body), &answer);
        if (answer.fault != LLM_FAULT_NONE)
            fail_msg("%s: %s", c->name, answer.what);
        if (!str_equal(answer.reply.text, str_from(c->text)) ||
            !str_equal(answer.reply.reasoning, str_from(c->reasoning)) ||
            answer.reply.finish != c->finish ||
            answer.reply.truncated != (c->finish == LLM_FINISH_LENGTH) ||
            answer.reply.usage.input_tokens != c->input ||
            answer.reply.usage.cached_tokens != c->cached ||
            answer.reply.usage.output_tokens != c->output ||
            answer.reply.usage_known != (c->input > 0))
            fail_msg("%s: got \"%.*s\", reasoning \"%.*s\"", c->name, STR_ARG(answer.reply.text),
                     STR_ARG(answer.reply.reasoning));
        arena_release(&arena);
    }
}

struct fault_case {
    int64_t status;
    const char *body;
    enum llm_fault fault;
    const char *what;
};

static const struct fault_case faults[] = {
    {200, "", LLM_FAULT_CUT, "the reply's body is empty"},
    {200, DELTA("hi"), LLM_FAULT_CUT, "the reply was cut off after 2 bytes of text (events: 1)"},
    {200, ": alive\n\n", LLM_FAULT_GARBAGE,
     "the reply is malformed: no JSON and no stream of events: \": alive\\x0a\\x0a\""},
    {200, "nonsense\x1b", LLM_FAULT_GARBAGE,
     "the reply is malformed: no JSON and no stream of events: \"nonsense\\x1b\""},
    {200, DELTA("hi") "data: {\"choi\n\n", LLM_FAULT_GARBAGE,
     "the reply is malformed: event 2: no JSON object: \"{\"choi\""},
    {200, "data: 7\n\n", LLM_FAULT_GARBAGE,
     "the reply is malformed: event 1: no JSON object: \"7\""},
    {200, "data: {\"choices\":[{\"delta\":{\"content\":[1]}}]}\n\n", LLM_FAULT_GARBAGE,
     "the reply is malformed: event 1: not a text: \"content\""},
    {200, "{\"id\":1}", LLM_FAULT_GARBAGE, "the reply is malformed: no choices: \"\""},
    {200, DONE, LLM_FAULT_GARBAGE, "the reply is malformed: event 1: no choices: \"\""},
    {200, "<html>", LLM_FAULT_PAGE, "the reply is a web page: \"<html>\""},
    {200, DELTA("hi") "data: {\"error\":{\"message\":\"died\"}}\n\n", LLM_FAULT_SERVER,
     "instead of a reply, the server says \"died\""},
    {200, "{\"error\":{\"message\":\"slow down\",\"code\":429}}", LLM_FAULT_BUSY,
     "instead of a reply, the server says \"slow down\""},
    {200, "{\"error\":{\"message\":\"no credit\",\"code\":\"insufficient_quota\"}}",
     LLM_FAULT_QUOTA, "instead of a reply, the server says \"no credit\""},
    {200, "{\"error\":true}", LLM_FAULT_SERVER,
     "instead of a reply, the server says \"no message\""},
    {302, "", LLM_FAULT_REDIRECT, "HTTP 302"},
    {400, "{\"error\":{\"message\":\"too long\",\"code\":\"context_length_exceeded\"}}",
     LLM_FAULT_TOO_LARGE, "HTTP 400 Bad Request; the server says \"too long\""},
    {400, "{\"detail\":\"no such member\"}", LLM_FAULT_REQUEST,
     "HTTP 400 Bad Request; the server says \"no such member\""},
    {401, "{\"message\":\"who?\"}", LLM_FAULT_KEY,
     "HTTP 401 Unauthorized; the server says \"who?\""},
    {403, "no", LLM_FAULT_FORBIDDEN, "HTTP 403 Forbidden; the body is \"no\""},
    {404, "", LLM_FAULT_NOT_FOUND, "HTTP 404 Not Found"},
    {405, "", LLM_FAULT_REQUEST, "HTTP 405"},
    {408, "", LLM_FAULT_SERVER, "HTTP 408 Request Timeout"},
    {413, "", LLM_FAULT_TOO_LARGE, "HTTP 413 Content Too Large"},
    {422, "{\"error\":\"bad\"}", LLM_FAULT_REQUEST,
     "HTTP 422 Unprocessable Content; the server says \"bad\""},
    {429, "{\"error\":{\"type\":\"insufficient_quota\",\"message\":\"pay\"}}", LLM_FAULT_QUOTA,
     "HTTP 429 Too Many Requests; the server says \"pay\""},
    {429, "", LLM_FAULT_BUSY, "HTTP 429 Too Many Requests"},
    {503, "<html>down", LLM_FAULT_SERVER,
     "HTTP 503 Service Unavailable; the body is \"<html>down\""},
    {599, "", LLM_FAULT_SERVER, "HTTP 599"},
    {0, "stall: no byte for 60 s", LLM_FAULT_STALL, "no byte for 60 s"},
    {0, "connect: refused", LLM_FAULT_CONNECT, "refused"},
    {0, "", LLM_FAULT_PROTOCOL, "no answer"},
    {0, "unknown\n", LLM_FAULT_PROTOCOL, "unknown\\x0a"},
};

static void test_faults(void **state UNUSED)
{
    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        struct arena arena;
        struct chat_answer answer;
        arena_init(&arena, ARENA_BYTES);
        chat_answer_read(&arena, faults[i].status, str_from(faults[i].body), &answer);
        if (answer.fault != faults[i].fault || strcmp(answer.what, faults[i].what) != 0)
            fail_msg("%s: got %s: %s", faults[i].body, fault_word(answer.fault), answer.what);
        arena_release(&arena);
    }
}

/* A message without end is shown by its beginning; a document without end is refused by size. */
static void test_sizes(void **state UNUSED)
{
    struct arena arena;
    struct buf body;
    struct chat_answer answer;
    arena_init(&arena, ARENA_BYTES);
    buf_init(&body, &arena, 32 << 20);
    buf_text(&body, "{\"error\":\"");
    for (int i = 0; i < 9 << 20; i++)
        buf_char(&body, 'a');
    buf_text(&body, "\"}");
    chat_answer_read(&arena, 500, buf_view(&body), &answer);
    assert_int_equal(answer.fault, LLM_FAULT_SERVER);
    assert_in_range(strlen(answer.what), 100, 400);
    chat_answer_read(&arena, 200, buf_view(&body), &answer);
    assert_int_equal(answer.fault, LLM_FAULT_SIZE);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request),
        cmocka_unit_test(test_replies),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
