/* Recording and replay: the same results, by key; drift, strictness, ends; options that clash. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/agent/llm/fake_model.h"

enum { ARENA_BYTES = 256 << 20, CALLS = 4, SHOWN_BYTES = 4096 };

#define GOOD(text)                                                                                 \
    "data: {\"model\":\"m-1-x\",\"choices\":[{\"delta\":{\"content\":\"" text "\"}}]}\n\n"         \
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\n\n"           \
    "data: [DONE]\n\n"

/* Four calls: at once, at the third try, not at all (tries), not at all (time). */
static const struct fake_answer answers[] = {
    {200, GOOD("one"), -1},          {503, "\xff\x00", -1}, {0, "reset: gone, after 3 bytes", -1},
    {200, GOOD("two"), -1},          {500, "", -1},         {500, "", -1},
    {500, "{\"error\":\"no\"}", -1}, {429, "", 3600000},
};

static const struct llm_message message = {LLM_USER, {"Write.", 6}};
static const struct llm_message reworded = {LLM_USER, {"Write!", 6}};

/* Everything a caller can see of the four calls. */
static const char *converse(struct arena *arena, struct llm *llm, const struct llm_message *said)
{
    struct buf out;
    buf_init(&out, arena, SHOWN_BYTES);
    for (int i = 0; i < CALLS; i++) {
        struct err err;
        struct llm_reply r;
        struct llm_request request = fake_request(said, i);
        if (llm_ask(arena, llm, &request, &r, &err))
            buf_printf(&out, "%.*s, %d, %.*s, %lld tries, line %lld, %lld %lld %g\n",
                       STR_ARG(r.text), r.finish, STR_ARG(r.model), (long long)r.tries,
                       (long long)r.tape_line, (long long)r.usage.input_tokens,
                       (long long)r.usage.output_tokens, r.usage.usd);
        else
            buf_printf(&out, "%d %s\n", err.code, err.text);
    }
    return out.at;
}

static struct llm_options replay_options(const char *path)
{
    struct llm_options options = llm_defaults();
    options.replay = path;
    options.tries_max = 3;
    return options;
}

static const char *record(struct arena *arena, const char *name, const char **shown)
{
    struct fake_model fake = {.answers = answers, .count = COUNT_OF(answers)};
    struct llm llm = fake_open(&fake);
    const char *path = path_join(arena, unit_folder(arena, "replay"), name);
    llm.options.record = path;
    llm.options.tries_max = 3;
    llm.options.prices = (struct llm_prices){1, 1, 10};
    *shown = converse(arena, &llm, &message);
    assert_int_equal(fake.next, COUNT_OF(answers));
    return path;
}

static void test_same_results(void **state UNUSED)
{
    struct arena arena;
    struct err err;
    struct llm *llm;
    const char *live;
    arena_init(&arena, ARENA_BYTES);
    const char *path = record(&arena, "same.jsonl", &live);
    assert_non_null(strstr(live, "two, 0, m-1-x, 3 tries, line 4, 9 2 2.9e-05"));
    assert_non_null(strstr(live, "gave up after 3 tries: HTTP 500"));
    assert_non_null(strstr(live, "does not fit the deadline"));
    struct llm_options options = replay_options(path);
    options.strict = true;
    assert_ok(llm_open(&arena, &options, &llm, &err));
    assert_string_equal(converse(&arena, llm, &message), live);
    assert_true(str_equal(llm_model(llm), STR_LIT("m-1")));
    assert_int_equal(llm_counts(llm).replayed, COUNT_OF(answers));
    assert_int_equal(llm_counts(llm).drifted, 0);
    arena_release(&arena);
}

static void test_drift(void **state UNUSED)
{
    struct arena arena;
    struct err err;
    struct llm *llm;
    struct llm_reply reply;
    const char *live;
    arena_init(&arena, ARENA_BYTES);
    const char *path = record(&arena, "drift.jsonl", &live);
    struct llm_options options = replay_options(path);
    assert_ok(llm_open(&arena, &options, &llm, &err));
    assert_string_equal(converse(&arena, llm, &reworded), live);
    assert_int_equal(llm_counts(llm).drifted, COUNT_OF(answers));
    options.strict = true;
    struct llm_request request = fake_request(&reworded, 0);
    assert_ok(llm_open(&arena, &options, &llm, &err));
    assert_false(llm_ask(&arena, llm, &request, &reply, &err));
    assert_int_equal(err.code, ERR_SEMANTIC);
    assert_non_null(strstr(err.text, "task softmax, branch 0, attempt 0, purpose write: the "
                                     "request is not the recorded one, from byte 31 on: "
                                     "recorded \"\":[{\"content\":\"Write.\","));
    assert_non_null(strstr(err.text, "now \"\":[{\"content\":\"Write!\","));
    assert_non_null(strstr(err.text, "leave out --strict"));
    arena_release(&arena);
}

struct missing_row {
    int64_t times, attempt;
    const char *task, *want;
};

static void test_missing(void **state UNUSED)
{
    static const struct missing_row rows[] = {
        {1, 9, "softmax",
         "has no exchange of task softmax, branch 0, attempt 9, purpose write (8 of "
         "this task, the last of attempt 3)"},
        {2, 0, "softmax",
         "has no more exchanges of task softmax, branch 0, attempt 0, purpose write "
         "(1 used)"},
        {1, 0, "relu",
         "has no exchange of task relu, branch 0, attempt 0, purpose write (none of "
         "this task, 8 of others)"},
    };
    struct arena arena;
    struct err err = {0};
    const char *live;
    arena_init(&arena, ARENA_BYTES);
    const char *path = record(&arena, "missing.jsonl", &live);
    struct llm_options options = replay_options(path);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct llm *llm;
        struct llm_reply reply;
        struct llm_request request = fake_request(&message, rows[i].attempt);
        request.key.task = str_from(rows[i].task);
        assert_ok(llm_open(&arena, &options, &llm, &err));
        assert_false(llm_is_live(llm));
        assert_int_equal(llm_can_answer(llm, &request.key), rows[i].times > 1);
        for (int64_t k = 1; k < rows[i].times; k++)
            assert_ok(llm_ask(&arena, llm, &request, &reply, &err));
        assert_false(llm_can_answer(llm, &request.key));
        assert_false(llm_ask(&arena, llm, &request, &reply, &err));
        assert_int_equal(err.code, ERR_SEMANTIC);
        if (!strstr(err.text, rows[i].want) || !strstr(err.text, "--record"))
            fail_msg("%s", err.text);
    }
    arena_release(&arena);
}

/* A tape that ends in the middle is gone on from: no wait, no second payment, then live and added.
 */
static void test_go_on(void **state UNUSED)
{
    struct arena arena;
    struct err err;
    struct replay *replay;
    struct tape tape;
    const char *live;
    arena_init(&arena, ARENA_BYTES);
    const char *path = record(&arena, "go-on.jsonl", &live);
    struct str whole;
    assert_ok(file_read(&arena, path, 1 << 20, &whole, &err));
    size_t len = 0;
    for (int lines = 0; lines < 2; len++)
        lines += whole.at[len] == '\n';
    assert_ok(file_write(path, (struct str){whole.at, len + 10}, &err));
    struct fake_model fake = {.answers = answers + 2, .count = COUNT_OF(answers) - 2};
    struct llm llm = fake_open(&fake);
    llm.options.record = path;
    llm.options.tries_max = 3;
    llm.options.prices = (struct llm_prices){1, 1, 10};
    assert_ok(tape_repair(path, &err));
    assert_ok(replay_open(&arena, path, true, true, &replay, &err));
    llm.tape = (struct llm_source){&replay_transport, replay};
    llm.tape_lines = (int64_t)replay_count(replay);
    assert_string_equal(converse(&arena, &llm, &message), live);
    assert_int_equal(llm_counts(&llm).replayed, 2);
    assert_int_equal(fake.next, COUNT_OF(answers) - 2);
    assert_int_equal(fake.wait_count, 3); /* none behind the replayed failure */
    assert_ok(tape_read(&arena, path, &tape, &err));
    assert_int_equal(tape.count, COUNT_OF(answers));
    arena_release(&arena);
}

struct option_row {
    const char *url, *model, *key, *record, *replay;
    bool strict, plain_http;
    const char *want; /* NULL = opens */
};

#define TEN "0123456789"
static const struct option_row option_rows[] = {
    {"https://h.example/v1", "m", "k", NULL, NULL, false, false, NULL},
    {"http://127.0.0.1:8000/v1/", "m", "", NULL, NULL, false, false, NULL},
    {"http://localhost/v1", "m", "", NULL, NULL, false, false, NULL},
    {"http://[::1]:80/v1", "m", "", NULL, NULL, false, false, NULL},
    {"http://h.example/v1", "m", "k", NULL, NULL, false, true, NULL},
    {"http://h.example/v1", "m", "k", NULL, NULL, false, false, "--llm names http"},
    {"http://127.0.0.1.h.example/v1", "m", "k", NULL, NULL, false, false, "--llm names http"},
    {"http://localhost.h.example/v1", "m", "k", NULL, NULL, false, false, "--llm names http"},
    {"http://127.0.0.1@h.example/", "m", "k", NULL, NULL, false, false, "a user or password"},
    {"https://me:pass@h.example/", "m", "k", NULL, NULL, false, false, "a user or password"},
    {"https://h.example/v1?key=pass", "m", "k", NULL, NULL, false, false, "a query or fragment"},
    {"https://h.example/v1#pass", "m", "k", NULL, NULL, false, false, "a query or fragment"},
    {"file:///etc/pass", "m", "k", NULL, NULL, false, true, "needs a URL of https, not of file"},
    {"h.example", "m", "k", NULL, NULL, false, false, "--llm is no URL"},
    {"", "m", "k", NULL, NULL, false, false, "no model: name its server with --llm URL"},
    {"https://h.example/v1", "", "k", NULL, NULL, false, false, "--model NAME"},
    {"https://h.example/v1", TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN, "k", NULL, NULL,
     false, false, "the model's name has 130 bytes; the limit is 128"},
    {"https://h.example/v1", "m", "two pass", NULL, NULL, false, false, "byte 4 of the API key"},
    {"https://h.example/v1", "m", "k", NULL, NULL, true, false, "--strict is for a replay"},
    {"https://h.example/v1", "m", "k", "a", "b", false, false, "the same tape: --record b"},
    {"https://h.example/v1", "m", "k", "Makefile", NULL, false, false, "tape Makefile exists"},
    {"", "", "", NULL, "build/scratch/no-such-tape", false, false, "no-such-tape"},
};

static void test_options(void **state UNUSED)
{
    for (size_t i = 0; i < COUNT_OF(option_rows); i++) {
        const struct option_row *c = &option_rows[i];
        struct arena arena;
        struct err err;
        struct llm *llm;
        struct llm_options options = llm_defaults();
        arena_init(&arena, ARENA_BYTES);
        options.base_url = str_from(c->url);
        options.model = str_from(c->model);
        options.key.text = str_from(c->key);
        options.record = c->record;
        options.replay = c->replay;
        options.strict = c->strict;
        options.plain_http = c->plain_http;
        bool ok = llm_open(&arena, &options, &llm, &err);
        if (ok != (c->want == NULL))
            fail_msg("%s: %s", c->url, ok ? "opens" : err.text);
        if (!ok && (!strstr(err.text, c->want) || strstr(err.text, ":pass") ||
                    strstr(err.text, "=pass") || strstr(err.text, "#pass")))
            fail_msg("%s: %s", c->url, err.text);
        arena_release(&arena);
    }
}

static void test_endpoint(void **state UNUSED)
{
    static const char *const urls[] = {"https://h.example/v1", "https://h.example/v1//",
                                       "https://h.example/v1/chat/completions"};
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        struct arena arena;
        struct err err;
        struct llm *llm;
        struct llm_options options = llm_defaults();
        arena_init(&arena, ARENA_BYTES);
        options.base_url = str_from(urls[i]);
        options.model = STR_LIT("m");
        assert_ok(llm_open(&arena, &options, &llm, &err));
        assert_true(str_equal(llm->url, STR_LIT(FAKE_URL)));
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_results), cmocka_unit_test(test_drift),
        cmocka_unit_test(test_missing),      cmocka_unit_test(test_go_on),
        cmocka_unit_test(test_options),      cmocka_unit_test(test_endpoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
