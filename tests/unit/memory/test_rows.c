/* Rows without a bank: stable ids, the exact JSON form, what reading refuses. */
#include <string.h>

#include "memory/memory.h"
#include "tests/unit/unit.h"

enum { ARENA_BYTES = 16 << 20 };

#define ID_1 "1111111111111111111111111111111111111111111111111111111111111111"
#define ID_2 "2222222222222222222222222222222222222222222222222222222222222222"
#define RESERVATION                                                                                \
    "{\"attempt\":\"\",\"campaign\":\"" ID_2 "\",\"id\":\"" ID_1 "\",\"kind\":\"reserve\","        \
    "\"made_s\":1700000000,\"ordinal\":3,\"origin\":\"\",\"purpose\":\"write\","                   \
    "\"reserves\":\"\",\"row\":1,\"table\":\"reservation\",\"tokens\":4096,\"usd\":0.25}"

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

/* Frozen: banks hold these. */
static void test_ids_are_stable(void **state UNUSED)
{
    struct arena arena;
    struct hash_stream stream;
    char hex[HASH_HEX_BYTES];
    static const uint8_t branch[8] = {2}, number[8] = {1, 1},
                         ordinal[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    arena_init(&arena, ARENA_BYTES);
    struct row_key key = {
        .bank = STR_LIT("b"),
        .campaign = STR_LIT("c"),
        .task = STR_LIT("t"),
        .branch = 2,
        .number = 257,
        .kind = STR_LIT("attempt"),
        .ordinal = -1,
    };
    hash_begin(&stream);
    hash_field(&stream, STR_LIT("row 1"));
    hash_field(&stream, STR_LIT("b"));
    hash_field(&stream, STR_LIT("c"));
    hash_field(&stream, STR_LIT("t"));
    hash_add(&stream, branch, 8);
    hash_add(&stream, number, 8);
    hash_field(&stream, STR_LIT("attempt"));
    hash_add(&stream, ordinal, 8);
    struct hash hash = hash_end(&stream);
    hash_hex(&hash, hex);
    assert_string_equal(row_id(&arena, &key).at, hex);
    assert_string_equal(hex, "812a84e6792a6dd4a0c62042a9d9e4253e9468d3779c8213d5ee95ae292099e0");
    key.ordinal = 0;
    assert_string_not_equal(row_id(&arena, &key).at, hex);
    arena_release(&arena);
}

static void test_json_form(void **state UNUSED)
{
    struct arena arena;
    struct err err = {0};
    const struct json *json;
    struct reservation_row row;
    struct buf out;
    struct json_writer w;
    arena_init(&arena, ARENA_BYTES);
    assert_ok(json_parse(&arena, STR_LIT(RESERVATION), "r", &json, &err));
    assert_ok(reservation_row_parse(&arena, json, &row, &err));
    assert_true(str_equal(row.id, STR_LIT(ID_1)));
    assert_int_equal(row.tokens, 4096);
    assert_true(row.usd == 0.25);
    buf_init(&out, &arena, 1 << 16);
    json_writer_init(&w, &out);
    reservation_row_print(&w, &row, true);
    assert_string_equal(out.at, RESERVATION);
    arena_release(&arena);
}

static void test_refused(void **state UNUSED)
{
    static const char *const cases[][3] = {
        {"\"row\":1", "\"row\":2", "r: row: 2 is out of range; it must be from 1 to 1"},
        {"\"reservation\"", "\"task\"",
         "r: table: \"task\" is not known; it is one of \"reservation\""},
        {"\"usd\":0.25", "\"usd\":\"much\"",
         "r: usd: expected a number, \"nan\", \"inf\" or \"-inf\", found a string"},
        {"\"usd\":0.25", "\"usd\":\"nan\"", "r: reservation.usd: NaN cannot be stored"},
        {"\"id\":\"1", "\"id\":\"x", "r: reservation.id: an id has 64 hexadecimal digits"},
        {"\"attempt\":\"\"", "\"attempt\":\"1\"",
         "r: reservation.attempt: an id has 64 hexadecimal digits, or is empty"},
        {"\"kind\":\"reserve\",", "", "r: \"kind\" is missing; it must be a string"},
        {"\"tokens\"", "\"token\"", "r: token: unknown key; did you mean \"tokens\"?"},
        {"\"tokens\":4096", "\"tokens\":1.5", "r: tokens: expected an integer, found a number"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct err err = {0};
        const struct json *json;
        struct reservation_row row;
        arena_init(&arena, ARENA_BYTES);
        struct str text = edit(&arena, RESERVATION, cases[i][0], cases[i][1]);
        assert_ok(json_parse(&arena, text, "r", &json, &err));
        assert_false(reservation_row_parse(&arena, json, &row, &err));
        assert_string_equal(err.text, cases[i][2]);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_are_stable),
        cmocka_unit_test(test_json_form),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
