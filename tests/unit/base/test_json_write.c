/* Canonical JSON: fixed bytes for each value, and what is written reads back the same. */
#include <math.h>
#include <string.h>

#include "base/attr.h"
#include "base/json.h"
#include "base/rng.h"

#include "tests/unit/unit.h"

enum { ARENA_BYTES = 64 << 20, TEXT_BYTES = 1 << 20 };

static void canonical_texts(void **state UNUSED)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"{ \"b\" : 1 , \"a\" : [ 1 , 2.0, true, null ] }", "{\"a\":[1,2.0,true,null],\"b\":1}"},
        {"{\"aa\":1,\"a\":2,\"Z\":3,\"\":4}", "{\"\":4,\"Z\":3,\"a\":2,\"aa\":1}"},
        {"{\"y\":{\"d\":1,\"c\":{\"f\":[],\"e\":{}}},\"x\":0}",
         "{\"x\":0,\"y\":{\"c\":{\"e\":{},\"f\":[]},\"d\":1}}"},
        {"0.1", "0.1"},
        {"100.0", "100.0"},
        {"1e15", "1000000000000000.0"},
        {"1e16", "1e16"},
        {"1e-5", "0.00001"},
        {"1.5e-6", "1.5e-6"},
        {"-0.0", "-0.0"},
        {"-2.50", "-2.5"},
        {"5e-324", "5e-324"},
        {"1.7976931348623157e308", "1.7976931348623157e308"},
        {"0.30000000000000004", "0.30000000000000004"},
        {"123456.789", "123456.789"},
        {"-7", "-7"},
        {"\"\\u00e9\\u0001\\\"\\\\\\/\\n\\u007f\"", "\"\xc3\xa9\\u0001\\\"\\\\/\\n\x7f\""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct err err;
        struct buf out;
        struct str text;
        const struct json *root;
        arena_init(&arena, ARENA_BYTES);
        buf_init(&out, &arena, TEXT_BYTES);
        assert_ok(json_parse(&arena, str_from(cases[i].in), "t.json", &root, &err));
        json_write(&out, root);
        assert_ok(buf_finish(&out, "text", &text, &err));
        assert_string_equal(text.at, cases[i].out);
        arena_release(&arena);
    }
}

static void any_double_reads_back(void **state UNUSED)
{
    struct rng rng;
    rng_init(&rng, 1);
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = (uint64_t)rng_u32(&rng) << 32 | rng_u32(&rng);
        struct arena arena;
        struct buf out;
        struct json_writer w;
        struct err err;
        const struct json *back;
        double value;
        memcpy(&value, &bits, sizeof(value));
        if (!isfinite(value))
            continue;
        arena_init(&arena, 1 << 20);
        buf_init(&out, &arena, 64);
        json_writer_init(&w, &out);
        json_put_real(&w, value);
        assert_ok(json_parse(&arena, buf_view(&out), "t", &back, &err));
        assert_int_equal(back->kind, JSON_REAL);
        assert_memory_equal(&back->real, &value, sizeof(value));
        arena_release(&arena);
    }
}

static void documents_built_by_hand(void **state UNUSED)
{
    struct arena arena;
    struct buf out;
    struct json_writer w;
    arena_init(&arena, ARENA_BYTES);
    buf_init(&out, &arena, TEXT_BYTES);
    json_writer_init(&w, &out);
    json_open_object(&w);
    json_key(&w, "z");
    json_open_array(&w);
    json_put_real(&w, NAN);
    json_put_real(&w, -INFINITY);
    json_put_real(&w, INFINITY);
    json_open_object(&w);
    json_close_object(&w);
    json_close_array(&w);
    json_key(&w, "a");
    json_put_str(&w, (struct str){"\xe2\x82\xac\xff\xed\xa0\x80", 7});
    json_key(&w, "m");
    json_put_bool(&w, false);
    json_key(&w, "b");
    json_put_null(&w);
    json_close_object(&w);
    assert_string_equal(buf_view(&out).at,
                        "{\"a\":\"\xe2\x82\xac\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\","
                        "\"b\":null,\"m\":false,\"z\":[\"nan\",\"-inf\",\"inf\",{}]}");
    arena_release(&arena);
}

static void invalid_utf8_is_replaced(void **state UNUSED)
{
    static const struct {
        const char *in;
        int replaced; /* bytes that become U+FFFD */
    } cases[] = {
        {"\xc0\x80", 2},     {"\xc1\xbf", 2},         {"\xe0\x9f\xbf", 3},
        {"\xed\xa0\x80", 3}, {"\xf0\x8f\xbf\xbf", 4}, {"\xf4\x90\x80\x80", 4},
        {"\xf5\x80", 2},     {"\xe2\x82", 2},         {"\x80", 1},
        {"\xc2\x80", 0},     {"\xed\x9f\xbf", 0},     {"\xf4\x8f\xbf\xbf", 0},
        {"\xe0\xa0\x80", 0}, {"\xf0\x90\x80\x80", 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct buf out, want;
        struct json_writer w;
        arena_init(&arena, ARENA_BYTES);
        buf_init(&out, &arena, TEXT_BYTES);
        buf_init(&want, &arena, TEXT_BYTES);
        json_writer_init(&w, &out);
        json_put_text(&w, cases[i].in);
        buf_char(&want, '"');
        for (int k = 0; k < cases[i].replaced; k++)
            buf_text(&want, "\xef\xbf\xbd");
        buf_printf(&want, "%s\"", cases[i].replaced ? "" : cases[i].in);
        assert_string_equal(buf_view(&out).at, buf_view(&want).at);
        arena_release(&arena);
    }
}

static void too_long_is_reported(void **state UNUSED)
{
    struct arena arena;
    struct buf out;
    struct json_writer w;
    struct str text;
    struct err err;
    arena_init(&arena, ARENA_BYTES);
    buf_init(&out, &arena, 20);
    json_writer_init(&w, &out);
    json_open_object(&w);
    for (int i = 0; i < 9; i++) {
        char key[] = {(char)('i' - i), '\0'};
        json_key(&w, key);
        json_put_int(&w, i);
    }
    json_close_object(&w);
    assert_false(buf_finish(&out, "the plan", &text, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_string_equal(err.text, "the plan is over its limit of 20 bytes");
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(canonical_texts),         cmocka_unit_test(any_double_reads_back),
        cmocka_unit_test(documents_built_by_hand), cmocka_unit_test(invalid_utf8_is_replaced),
        cmocka_unit_test(too_long_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
