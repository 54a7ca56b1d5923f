/* Server-sent events: each form a server may send, and where a stream is over. */
#include <string.h>

#include "agent/llm/llm_int.h"
#include "tests/unit/unit.h"

enum { ARENA_BYTES = 64 << 20 };

struct stream {
    const char *name;
    const char *body;
    const char *events; /* data, each in "<>" */
};

static const struct stream streams[] = {
    {"empty", "", ""},
    {"one", "data: a\n\n", "<a>"},
    {"no space", "data:a\n\n", "<a>"},
    {"only one space goes", "data:  a\n\n", "< a>"},
    {"two", "data: a\n\ndata: b\n\n", "<a><b>"},
    {"CR LF", "data: a\r\n\r\ndata: b\r\n\r\n", "<a><b>"},
    {"CR", "data: a\r\rdata: b\r\r", "<a><b>"},
    {"no blank line at the end", "data: a\n\ndata: [DONE]", "<a><[DONE]>"},
    {"several lines", "data: a\ndata: b\ndata:c\n\n", "<a\nb\nc>"},
    {"empty lines are data", "data\ndata:\n\n", "<\n>"},
    {"comments", ": keep alive\n\n:\ndata: a\n: b\n\n", "<a>"},
    {"other fields", "event: x\nid: 3\nretry: 10\ndata: a\n\n", "<a>"},
    {"like data", "database: a\ndata : b\nxdata: c\n\n", ""},
    {"byte order mark",
     "\xef\xbb\xbf"
     "data: a\n\n",
     "<a>"},
    {"events without data", "event: ping\n\n\n\ndata: a\n\n", "<a>"},
};

static void test_events(void **state UNUSED)
{
    for (size_t i = 0; i < COUNT_OF(streams); i++) {
        struct arena arena;
        struct buf out;
        struct str rest = str_from(streams[i].body), data;
        arena_init(&arena, ARENA_BYTES);
        buf_init(&out, &arena, 1000);
        buf_text(&out, "");
        while (sse_next(&arena, &rest, &data))
            buf_printf(&out, "<%.*s>", STR_ARG(data));
        if (strcmp(out.at, streams[i].events) != 0)
            fail_msg("%s: got %s", streams[i].name, out.at);
        assert_int_equal(rest.len, 0);
        arena_release(&arena);
    }
}

/* A hostile event of a million lines costs memory in proportion to its bytes. */
static void test_many_lines(void **state UNUSED)
{
    enum { LINES = 1000000 };
    struct arena arena;
    struct buf body;
    struct str rest, data;
    arena_init(&arena, ARENA_BYTES);
    buf_init(&body, &arena, ARENA_BYTES);
    for (int i = 0; i < LINES; i++)
        buf_text(&body, "data:\n");
    rest = buf_view(&body);
    assert_true(sse_next(&arena, &rest, &data));
    assert_int_equal(data.len, LINES - 1);
    assert_false(sse_next(&arena, &rest, &data));
    arena_release(&arena);
}

static void test_done(void **state UNUSED)
{
    static const char *const over[] = {"data: [DONE]", "data: [DONE]\n\n", "x\r\ndata: [DONE]\r\n"};
    static const char *const open[] = {
        "", "\n", "data: [DONE", "data: a\n\n", "xdata: [DONE]\n", "data: [DONE]\ndata: a\n"};
    for (size_t i = 0; i < COUNT_OF(over); i++)
        assert_true(sse_done(str_from(over[i])));
    for (size_t i = 0; i < COUNT_OF(open); i++)
        assert_false(sse_done(str_from(open[i])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_many_lines),
        cmocka_unit_test(test_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
