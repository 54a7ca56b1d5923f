/* Bytes and 64-bit words in JSON: the test vectors of RFC 4648, round trips, strictness. */
#include <string.h>

#include "base/json.h"
#include "base/rng.h"

#include "tests/unit/unit.h"

enum { ARENA_BYTES = 1 << 20 };

static struct str write_bytes(struct arena *arena, struct str bytes)
{
    struct buf out;
    struct json_writer w;
    buf_init(&out, arena, ARENA_BYTES / 4);
    json_writer_init(&w, &out);
    json_open_object(&w);
    json_member_bytes(&w, "b", bytes);
    json_close_object(&w);
    return buf_view(&out);
}

static bool read_bytes(struct arena *arena, struct str text, struct str *out, struct err *err)
{
    const struct json *json;
    return json_parse(arena, text, "d", &json, err) && json_need_bytes(arena, json, "b", out, err);
}

static void test_vectors(void **state)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct err err = {0};
        struct buf text;
        struct str out;
        arena_init(&arena, ARENA_BYTES);
        buf_init(&text, &arena, 1000);
        buf_printf(&text, "{\"b_base64\":\"%s\"}", cases[i][1]);
        assert_true(read_bytes(&arena, buf_view(&text), &out, &err));
        assert_true(str_equal(out, str_from(cases[i][0])));
        arena_release(&arena);
    }
}

static void test_choice(void **state)
{
    static const struct {
        struct str bytes;
        const char *text;
    } cases[] = {
        {{"", 0}, "{\"b\":\"\"}"},
        {{"a\n\xc3\xa9", 4}, "{\"b\":\"a\\n\xc3\xa9\"}"},
        {{"a\0b", 3}, "{\"b_base64\":\"YQBi\"}"},
        {{"\xff", 1}, "{\"b_base64\":\"/w==\"}"},
        {{"\xc3", 1}, "{\"b_base64\":\"ww==\"}"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        arena_init(&arena, ARENA_BYTES);
        assert_string_equal(write_bytes(&arena, cases[i].bytes).at, cases[i].text);
        arena_release(&arena);
    }
}

static void test_round_trip(void **state)
{
    struct rng rng;
    (void)state;
    rng_init(&rng, 5);
    for (size_t len = 0; len < 200; len++) {
        struct arena arena;
        struct err err = {0};
        struct str out;
        char bytes[200];
        arena_init(&arena, ARENA_BYTES);
        for (size_t i = 0; i < len; i++)
            bytes[i] = (char)rng_below(&rng, 256);
        struct str in = {bytes, len};
        assert_true(read_bytes(&arena, write_bytes(&arena, in), &out, &err));
        assert_true(str_equal(in, out));
        arena_release(&arena);
    }
}

static void test_refused(void **state)
{
    static const char *const cases[] = {
        "{\"b_base64\":\"Zg=\"}",
        "{\"b_base64\":\"Zg\"}",
        "{\"b_base64\":\"Zh==\"}",
        "{\"b_base64\":\"Zm9\"}",
        "{\"b_base64\":\"====\"}",
        "{\"b_base64\":\"Z===\"}",
        "{\"b_base64\":\"Zg==Zg==\"}",
        "{\"b_base64\":\"Zm 9\"}",
        "{\"b_base64\":\"Zm9-\"}",
        "{\"b_base64\":\"=Zm9\"}",
        "{\"b_base64\":7}",
        "{\"b\":\"x\",\"b_base64\":\"\"}",
        "{}",
        "{\"b\":1}",
        "[]",
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct err err = {0};
        struct str out;
        arena_init(&arena, ARENA_BYTES);
        if (read_bytes(&arena, str_from(cases[i]), &out, &err))
            fail_msg("accepted: %s", cases[i]);
        arena_release(&arena);
    }
}

static void test_u64(void **state)
{
    struct arena arena;
    struct err err = {0};
    struct buf out;
    struct json_writer w;
    const struct json *json;
    uint64_t value = 0;
    (void)state;
    arena_init(&arena, ARENA_BYTES);
    buf_init(&out, &arena, 1000);
    json_writer_init(&w, &out);
    json_open_object(&w);
    json_member_u64(&w, "s", UINT64_C(0xfedcba9876543210));
    json_close_object(&w);
    assert_string_equal(out.at, "{\"s\":\"fedcba9876543210\"}");
    assert_true(json_parse(&arena, buf_view(&out), "d", &json, &err));
    assert_true(json_need_u64(json, "s", &value, &err));
    assert_true(value == UINT64_C(0xfedcba9876543210));
    assert_true(json_parse(&arena, STR_LIT("{\"s\":\"FEDCBA9876543210\"}"), "d", &json, &err));
    assert_false(json_need_u64(json, "s", &value, &err));
    assert_true(json_parse(&arena, STR_LIT("{\"s\":\"\"}"), "d", &json, &err));
    assert_false(json_need_u64(json, "s", &value, &err));
    arena_release(&arena);
}

static void test_clean(void **state)
{
    static const struct {
        struct str dirty;
        const char *want;
    } rows[] = {
        {STR_LIT("as it is \xc3\xa9"), "as it is \xc3\xa9"},
        {STR_LIT(""), ""},
        {STR_LIT("a\0b"), "a\xef\xbf\xbd"
                          "b"},
        {STR_LIT("\xff\xc3"), "\xef\xbf\xbd\xef\xbf\xbd"},
        {STR_LIT("\xed\xa0\x80."), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd."},
    };
    struct arena arena;
    (void)state;
    arena_init(&arena, ARENA_BYTES);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct str clean = json_text_clean(&arena, rows[i].dirty);
        assert_true(json_is_text(clean));
        assert_true(str_equal(clean, str_from(rows[i].want)));
    }
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),    cmocka_unit_test(test_choice),
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_u64),        cmocka_unit_test(test_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
