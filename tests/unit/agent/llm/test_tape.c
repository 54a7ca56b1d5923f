/* Tapes: the line's exact form, secrets kept out, replays after a crash, limits. */
#include <string.h>

#include "agent/llm/llm.h"
#include "tests/unit/unit.h"

enum { ARENA_BYTES = 64 << 20 };

#define LINE                                                                                       \
    "{\"attempt\":3,\"branch\":0,\"date_s\":1700000000,\"model\":\"m-1\",\"purpose\":\"write\","   \
    "\"raw\":\"data: {}\\n\\n\",\"request\":{\"messages\":[{\"content\":\"hi\"}],"                 \
    "\"temperature\":0.5},\"status\":200,\"tape\":1,\"task\":\"relu\",\"url\":"                    \
    "\"https://api.example.com:8443/v1/messages\",\"usage\":{\"cached_tokens\":1,"                 \
    "\"input_tokens\":20,\"output_tokens\":7,\"usd\":0.0125}}"

static struct str edit(struct arena *arena, const char *text, const char *from, const char *to)
{
    struct buf out;
    const char *at = strstr(text, from);
    assert_non_null(at);
    buf_init(&out, arena, 1 << 16);
    buf_bytes(&out, text, (size_t)(at - text));
    buf_text(&out, to);
    buf_text(&out, at + strlen(from));
    return buf_view(&out);
}

static bool parse(struct arena *arena, struct str text, struct tape_line *out, struct err *err)
{
    const struct json *json;
    return json_parse(arena, text, "t", &json, err) && tape_line_parse(arena, json, out, err);
}

static struct str print(struct arena *arena, const struct tape_line *line)
{
    struct buf out;
    struct json_writer w;
    buf_init(&out, arena, 1 << 20);
    json_writer_init(&w, &out);
    tape_line_print(&w, line);
    return buf_view(&out);
}

static void test_round_trip(void **state UNUSED)
{
    static const char *const edits[][2] = {
        {"", ""},
        {"\"raw\":\"data: {}\\n\\n\"", "\"raw_base64\":\"/wA=\""},
        {"\"status\":200", "\"status\":0"},
        {"\"usd\":0.0125", "\"usd\":0.0"},
        {"{\"messages\":[{\"content\":\"hi\"}],\"temperature\":0.5}", "null"},
    };
    for (size_t i = 0; i < COUNT_OF(edits); i++) {
        struct arena arena;
        struct err err = {0};
        struct tape_line line;
        arena_init(&arena, ARENA_BYTES);
        struct str text = edit(&arena, LINE, edits[i][0], edits[i][1]);
        assert_ok(parse(&arena, text, &line, &err));
        assert_string_equal(print(&arena, &line).at, text.at);
        arena_release(&arena);
    }
}

static void test_urls(void **state UNUSED)
{
    static const char *const cases[][2] = {
        {"https://api.example.com/v1/messages", "https://api.example.com/v1/messages"},
        {"https://user:secret@host/v1", "https://host/v1"},
        {"https://user@x:p@host:8080/v1@2", "https://host:8080/v1@2"},
        {"https://host/v1?key=secret", "https://host/v1"},
        {"https://host?key=a/b@c", "https://host"},
        {"https://host/v1#token=secret", "https://host/v1"},
        {"https://host/#a?b", "https://host/"},
        {"http://127.0.0.1:8000", "http://127.0.0.1:8000"},
        {"user:secret@host/x", "host/x"},
        {"", ""},
        {"://", "://"},
        {"@", ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        arena_init(&arena, ARENA_BYTES);
        struct str got = tape_url(&arena, str_from(cases[i][0]));
        if (!str_equal(got, str_from(cases[i][1])))
            fail_msg("%s: %.*s", cases[i][0], STR_ARG(got));
        arena_release(&arena);
    }
}

static void test_printing_strips(void **state UNUSED)
{
    struct arena arena;
    struct err err = {0};
    struct tape_line line;
    arena_init(&arena, ARENA_BYTES);
    assert_ok(parse(&arena, STR_LIT(LINE), &line, &err));
    line.url = STR_LIT("https://me:secret@api.example.com:8443/v1/messages?key=secret");
    assert_string_equal(print(&arena, &line).at, LINE);
    arena_release(&arena);
}

static void test_refused(void **state UNUSED)
{
    static const char *const cases[][3] = {
        {"\"tape\":1", "\"tape\":2", "t: tape: 2 is out of range; it must be from 1 to 1"},
        {"\"tape\":1", "\"tape\":1,\"headers\":{}", "t: headers: unknown key"},
        {"https://api", "https://k:v@api",
         "t: url: userinfo, query and fragment do not belong on a tape; remove them"},
        {"/v1/messages", "/v1/messages?key=1",
         "t: url: userinfo, query and fragment do not belong on a tape; remove them"},
        {"\"task\":\"relu\"", "\"task\":\"\"", "t: task: expected from 1 to 128 bytes"},
        {"\"branch\":0", "\"branch\":-1",
         "t: branch: -1 is out of range; it must be from 0 to 2147483647"},
        {"\"status\":200", "\"status\":1000",
         "t: status: 1000 is out of range; it must be from 0 to 999"},
        {"\"raw\"", "\"row\"", "t: row: unknown key; did you mean \"raw\"?"},
        {"\"usd\":0.0125", "\"usd\":-1", "t: usage.usd: expected an amount, at least 0"},
        {"\"usd\":0.0125", "\"usd\":\"nan\"", "t: usage.usd: expected an amount, at least 0"},
        {"\"output_tokens\":7,", "",
         "t: usage: \"output_tokens\" is missing; it must be an integer"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct err err = {0};
        struct tape_line line;
        arena_init(&arena, ARENA_BYTES);
        assert_false(parse(&arena, edit(&arena, LINE, cases[i][0], cases[i][1]), &line, &err));
        assert_string_equal(err.text, cases[i][2]);
        arena_release(&arena);
    }
}

static void test_whole_tapes(void **state UNUSED)
{
    static const struct {
        const char *text;
        size_t count;
        bool cut;
        const char *error;
    } cases[] = {
        {"", 0, false, NULL},
        {LINE "\n", 1, false, NULL},
        {LINE "\n" LINE "\n", 2, false, NULL},
        {LINE "\n" LINE, 1, true, NULL},
        {LINE "\n{\"attempt\":3,\"bra", 1, true, NULL},
        {LINE "\n\n" LINE "\n", 0, false, "x.tape, line 2: "},
        {"[]\n", 0, false, "x.tape, line 1: expected an object, found an array"},
        {LINE "\n{\"attempt\":3,\"bra\n", 0, false, "x.tape, line 2: "},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct err err = {0};
        struct tape tape = {0};
        arena_init(&arena, ARENA_BYTES);
        bool ok = tape_parse(&arena, str_from(cases[i].text), "x.tape", &tape, &err);
        if (ok != !cases[i].error)
            fail_msg("%zu: %s", i, ok ? "accepted" : err.text);
        if (!ok)
            assert_true(strncmp(err.text, cases[i].error, strlen(cases[i].error)) == 0);
        assert_int_equal(tape.count, cases[i].count);
        assert_int_equal(tape.cut, cases[i].cut);
        arena_release(&arena);
    }
}

static void test_find(void **state UNUSED)
{
    struct arena arena;
    struct err err = {0};
    struct tape tape;
    struct buf text;
    arena_init(&arena, ARENA_BYTES);
    buf_init(&text, &arena, 1 << 16);
    buf_printf(&text, "%s\n%s\n%s\n", edit(&arena, LINE, "\"status\":200", "\"status\":429").at,
               edit(&arena, LINE, "\"attempt\":3", "\"attempt\":4").at, LINE);
    assert_ok(tape_parse(&arena, buf_view(&text), "t", &tape, &err));
    struct tape_key key = {.task = STR_LIT("relu"), .attempt = 3, .purpose = STR_LIT("write")};
    assert_int_equal(tape_find(&tape, &key, 0)->status, 429);
    assert_int_equal(tape_find(&tape, &key, 1)->status, 200);
    assert_null(tape_find(&tape, &key, 2));
    key.attempt = 4;
    assert_ptr_equal(tape_find(&tape, &key, 0), &tape.lines[1]);
    key.purpose = STR_LIT("repair");
    assert_null(tape_find(&tape, &key, 0));
    arena_release(&arena);
}

static void test_append_and_repair(void **state UNUSED)
{
    struct arena arena;
    struct err err = {0};
    struct tape tape;
    struct tape_line line;
    arena_init(&arena, ARENA_BYTES);
    const char *path = path_join(&arena, unit_folder(&arena, "tape"), "a.tape");
    assert_ok(parse(&arena, STR_LIT(LINE), &line, &err));
    assert_ok(tape_repair(path, &err));
    assert_ok(tape_append(path, &line, &err));
    assert_ok(tape_append(path, &line, &err));
    assert_ok(file_append(path, STR_LIT("{\"cut"), &err));
    assert_ok(tape_read(&arena, path, &tape, &err));
    assert_int_equal(tape.count, 2);
    assert_true(tape.cut);
    assert_ok(tape_repair(path, &err));
    assert_ok(tape_append(path, &line, &err));
    assert_ok(tape_read(&arena, path, &tape, &err));
    assert_int_equal(tape.count, 3);
    assert_false(tape.cut);
    assert_string_equal(print(&arena, &tape.lines[2]).at, LINE);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),        cmocka_unit_test(test_urls),
        cmocka_unit_test(test_printing_strips),   cmocka_unit_test(test_refused),
        cmocka_unit_test(test_whole_tapes),       cmocka_unit_test(test_find),
        cmocka_unit_test(test_append_and_repair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
