/* Retries on a clock that the test keeps: how often, how long between, when it gives up. */
#include <string.h>

#include "tests/unit/agent/llm/fake_model.h"

enum { ARENA_BYTES = 64 << 20 };

#define GOOD "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\ndata: [DONE]\n\n"

static const struct llm_message message = {LLM_USER, {"Write.", 6}};

static bool ask(struct arena *arena, struct llm *llm, struct llm_reply *reply, struct err *err)
{
    struct llm_request request = fake_request(&message, 1);
    return llm_ask(arena, llm, &request, reply, err);
}

static void test_backoff(void **state UNUSED)
{
    static const struct fake_answer answers[] = {
        {503, "", -1}, {0, "reset: gone", -1}, {200, "", -1}, {200, GOOD, -1}};
    struct arena arena;
    struct err err;
    struct llm_reply reply;
    struct fake_model fake = {.answers = answers, .count = 4, .try_ms = 500};
    struct llm llm = fake_open(&fake);
    arena_init(&arena, ARENA_BYTES);
    llm.options.backoff_ms_max = 3000;
    assert_ok(ask(&arena, &llm, &reply, &err));
    assert_true(str_equal(reply.text, STR_LIT("hi")));
    assert_int_equal(reply.tries, 4);
    assert_false(reply.replayed);
    assert_int_equal(fake.wait_count, 3);
    assert_in_range(fake.waits_ms[0], 500, 1000);
    assert_in_range(fake.waits_ms[1], 1000, 2000);
    assert_in_range(fake.waits_ms[2], 1500, 3000);
    assert_int_equal(fake.left_ms[0], 600000);
    assert_int_equal(fake.left_ms[1], 600000 - 500 - fake.waits_ms[0]);
    assert_int_equal(llm_counts(&llm).tries, 4);
    arena_release(&arena);
}

/* Waits repeat for the same seed, and differ between seeds, keys and tries. */
static void test_jitter(void **state UNUSED)
{
    struct llm_options options = llm_defaults();
    struct tape_key key = {STR_LIT("a"), 0, 1, STR_LIT("write")}, other = key;
    other.attempt = 2;
    options.backoff_ms = options.backoff_ms_max = 1000000;
    int64_t wait = retry_wait_ms(&options, &key, 2, -1);
    assert_int_equal(wait, retry_wait_ms(&options, &key, 2, -1));
    assert_int_not_equal(wait, retry_wait_ms(&options, &key, 3, -1));
    assert_int_not_equal(wait, retry_wait_ms(&options, &other, 2, -1));
    options.seed = 1;
    assert_int_not_equal(wait, retry_wait_ms(&options, &key, 2, -1));
    assert_int_equal(retry_wait_ms(&options, &key, 2, 5000000), 5000000);
    assert_in_range(retry_wait_ms(&options, &key, 90, -1), 500000, 1000000);
    options.backoff_ms = 0;
    assert_int_equal(retry_wait_ms(&options, &key, 2, -1), 0);
}

static void test_retry_after(void **state UNUSED)
{
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {
        {"7", 7000},
        {" 0 \r\n", 0},
        {"Wed, 21 Oct 2015 07:28:00 GMT", 30000},
        {"Wednesday, 21-Oct-15 07:28:00 GMT", 30000},
        {"Wed Oct 21 07:28:00 2015", 30000},
        {"Wed, 21 Oct 2015 07:00:00 GMT", 0},
        {"99999999999999999999999", 366LL * 24 * 3600 * 1000},
        {"", -1},
        {"-1", -1},
        {"1.5", -1},
        {"soon", -1},
        {"Wed, 21 Oct 2015 07:28:00 GMT and more, so that it is longer than any date", -1},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (retry_after_parse(str_from(rows[i].text), 1445412450) != rows[i].ms)
            fail_msg("%s: %lld", rows[i].text,
                     (long long)retry_after_parse(str_from(rows[i].text), 1445412450));
}

struct end_row {
    const char *name;
    struct fake_answer answers[6];
    int64_t deadline_ms, try_ms;
    size_t tries;
    enum err_code code;
    const char *text;
};

#define AT "the model at " FAKE_URL ": "

static const struct end_row ends[] = {
    {"not to be tried again",
     {{401, "", -1}},
     600000,
     0,
     1,
     ERR_USAGE,
     AT "HTTP 401 Unauthorized; set WARPWRIGHT_API_KEY to a key of this server"},
    {"a good try never comes",
     {{500, "", -1}, {500, "", -1}, {502, "", -1}},
     600000,
     0,
     3,
     ERR_NETWORK,
     AT "gave up after 3 tries: HTTP 502 Bad Gateway; the server's fault; try later"},
    {"a later try fails for good",
     {{500, "", -1}, {404, "", -1}},
     600000,
     0,
     2,
     ERR_USAGE,
     AT "gave up after 2 tries: HTTP 404 Not Found; check --llm (it mostly ends in /v1) and "
        "--model"},
    {"asked to wait too long",
     {{429, "", 120000}},
     60000,
     0,
     1,
     ERR_NETWORK,
     AT "gave up after 1 try, as another does not fit the deadline of 60 s: HTTP 429 Too Many "
        "Requests; run fewer at a time, or allow more time"},
    {"time goes into the tries",
     {{503, "", -1}, {503, "", -1}},
     2500,
     1000,
     2,
     ERR_NETWORK,
     AT "gave up after 2 tries, as another does not fit the deadline of 2.5 s: HTTP 503 Service "
        "Unavailable; the server's fault; try later"},
    {"the deadline itself",
     {{0, "deadline: the deadline of 5 s is over, after 7 bytes", -1}},
     5000,
     5000,
     1,
     ERR_NETWORK,
     AT "the deadline of 5 s is over, after 7 bytes; allow more time, or ask for fewer tokens"},
};

static void test_ends(void **state UNUSED)
{
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        const struct end_row *c = &ends[i];
        struct arena arena;
        struct err err = {0};
        struct llm_reply reply;
        struct fake_model fake = {.answers = c->answers, .count = 6, .try_ms = c->try_ms};
        struct llm llm = fake_open(&fake);
        arena_init(&arena, ARENA_BYTES);
        llm.options.deadline_ms = c->deadline_ms;
        llm.options.tries_max = 3;
        assert_false(ask(&arena, &llm, &reply, &err));
        if (fake.next != c->tries || err.code != c->code || strcmp(err.text, c->text) != 0)
            fail_msg("%s: %zu tries, %s", c->name, fake.next, err.text);
        arena_release(&arena);
    }
}

/* Whole, a key is replaced; over two events, the reply is dropped. */
static void test_leaks(void **state UNUSED)
{
    static const struct fake_answer whole = {
        200,
        "data: {\"choices\":[{\"delta\":{\"content\":\"sk-0123456789abc!\"}}]}\n\n"
        "data: [DONE]\n\n",
        -1};
    static const struct fake_answer spread = {
        200,
        "data: {\"choices\":[{\"delta\":{\"content\":\"sk-01234\"}}]}\n\n"
        "data: {\"choices\":[{\"delta\":{\"content\":\"56789abc\"}}]}\n\ndata: [DONE]\n\n",
        -1};
    struct arena arena;
    struct err err;
    struct llm_reply reply;
    struct fake_model fake = {.answers = &whole, .count = 1};
    struct llm llm = fake_open(&fake);
    arena_init(&arena, ARENA_BYTES);
    llm.options.key.text = STR_LIT("sk-0123456789abc");
    assert_ok(ask(&arena, &llm, &reply, &err));
    assert_true(str_equal(reply.text, STR_LIT("[API key]!")));
    fake = (struct fake_model){.answers = &spread, .count = 1};
    assert_false(ask(&arena, &llm, &reply, &err));
    assert_int_equal(err.code, ERR_USAGE);
    assert_non_null(strstr(err.text, "sent the API key back inside its reply"));
    arena_release(&arena);
}

static void test_prices(void **state UNUSED)
{
    static const struct fake_answer answer = {
        200,
        "{\"choices\":[{\"message\":{\"content\":\"hi\"}}],\"usage\":{\"prompt_tokens\":1000,"
        "\"completion_tokens\":100,\"prompt_tokens_details\":{\"cached_tokens\":400}}}",
        -1};
    struct arena arena;
    struct err err;
    struct llm_reply reply;
    struct fake_model fake = {.answers = &answer, .count = 1};
    struct llm llm = fake_open(&fake);
    arena_init(&arena, ARENA_BYTES);
    llm.options.prices = (struct llm_prices){2, 0.5, 8};
    assert_ok(ask(&arena, &llm, &reply, &err));
    assert_true(reply.usage_known);
    assert_true(reply.usage.usd == (600 * 2 + 400 * 0.5 + 100 * 8) / 1e6);
    assert_true(llm_counts(&llm).spent.usd == reply.usage.usd);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backoff),     cmocka_unit_test(test_jitter),
        cmocka_unit_test(test_retry_after), cmocka_unit_test(test_ends),
        cmocka_unit_test(test_leaks),       cmocka_unit_test(test_prices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
