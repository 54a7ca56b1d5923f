/* Buffers, string views, the map, the shared words, and error texts at their limit. */
#include <string.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/vocab.h"

#include "tests/unit/unit.h"

enum { ARENA_BYTES = 64 << 20 };

static void buffers_grow_to_their_limit(void **state UNUSED)
{
    struct arena arena;
    struct buf buf;
    struct str all;
    struct err err;
    arena_init(&arena, ARENA_BYTES);
    buf_init(&buf, &arena, 100000);
    assert_string_equal(buf_view(&buf).at, "");
    for (int i = 0; i < 10000; i++)
        buf_printf(&buf, "%09d\n", i);
    assert_ok(buf_finish(&buf, "text", &all, &err));
    assert_int_equal(all.len, 100000);
    assert_int_equal(strlen(all.at), all.len);
    assert_string_equal(all.at + 99990, "000009999\n");
    buf_text(&buf, "");
    assert_ok(buf_finish(&buf, "text", &all, &err));
    buf_char(&buf, 'x');
    assert_false(buf_finish(&buf, "text", &all, &err));
    assert_int_equal(buf_view(&buf).len, 100000);
    arena_release(&arena);
}

static void nothing_follows_an_overflow(void **state UNUSED)
{
    struct arena arena;
    struct buf buf;
    arena_init(&arena, ARENA_BYTES);
    buf_init(&buf, &arena, 5);
    buf_text(&buf, "abc");
    buf_text(&buf, "long");
    buf_text(&buf, "d");
    assert_true(buf.overflow);
    assert_string_equal(buf_view(&buf).at, "abc");
    arena_release(&arena);
}

static void maps_hold_many_keys(void **state UNUSED)
{
    enum { KEYS = 5000 };
    struct arena arena;
    struct map map;
    arena_init(&arena, ARENA_BYTES);
    map_init(&map, &arena);
    assert_null(map_get(&map, STR_LIT("")));
    for (size_t round = 0; round < 2; round++)
        for (size_t i = 0; i < KEYS; i++) {
            char key[16];
            bool is_new;
            snprintf(key, sizeof(key), "%zu", i);
            size_t *value =
                map_put(&map, (struct str){str_copy(&arena, str_from(key)), strlen(key)}, &is_new);
            assert_int_equal(is_new, round == 0);
            assert_int_equal(*value, round == 0 ? 0 : i + 1);
            *value = i + 1;
        }
    assert_int_equal(map.count, KEYS);
    assert_int_equal(*map_get(&map, STR_LIT("4711")), 4712);
    assert_null(map_get(&map, STR_LIT("5000")));
    arena_release(&arena);
}

static void words_parse_back(void **state UNUSED)
{
    for (int i = 0; i < DTYPE_COUNT; i++) {
        enum dtype got = DTYPE_COUNT;
        assert_true(dtype_parse(str_from(dtype_name((enum dtype)i)), &got));
        assert_int_equal(got, i);
    }
    for (int i = 0; i < VALIDITY_COUNT; i++) {
        enum validity got = VALIDITY_COUNT;
        assert_true(validity_parse(str_from(validity_name((enum validity)i)), &got));
        assert_int_equal(got, i);
    }
    enum role role = ROLE_STATE;
    assert_false(role_parse(STR_LIT("inputs"), &role));
    assert_int_equal(role, ROLE_STATE);
    assert_int_equal(dtype_bytes(DTYPE_BF16), 2);
    assert_int_equal(dtype_kind(DTYPE_U8), KIND_UINT);
    assert_true(dtype_is_float(DTYPE_E4M3) && !dtype_is_float(DTYPE_BOOL));
}

static void long_error_texts_keep_both_ends(void **state UNUSED)
{
    char cause[2 * ERR_TEXT_BYTES];
    struct err err;
    memset(cause, 'c', sizeof(cause) - 1);
    cause[sizeof(cause) - 1] = '\0';
    assert_false(err_raise(&err, ERR_IO, "%s", cause));
    assert_int_equal(strlen(err.text), ERR_TEXT_BYTES - 1);
    for (int i = 0; i < 50; i++)
        assert_false(err_context(&err, "step %d of a long way", i));
    assert_int_equal(strlen(err.text), ERR_TEXT_BYTES - 1);
    assert_non_null(strstr(err.text, "step 49 of a long way: step 48"));
    assert_false(err_raise(&err, ERR_LIMIT, "again: %s", err.text));
    assert_non_null(strstr(err.text, "again: step 49"));
    assert_string_equal(err_code_text(ERR_LIMIT), "a limit was exceeded");
}

static void lines_are_taken_in_turn(void **state UNUSED)
{
    static const char *const expected[] = {"a", "", "b\r", "last"};
    struct str rest = STR_LIT("a\n\nb\r\nlast");
    struct str line;
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_true(str_next_line(&rest, &line));
        assert_true(str_equal(line, str_from(expected[i])));
    }
    assert_false(str_next_line(&rest, &line));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_grow_to_their_limit),
        cmocka_unit_test(nothing_follows_an_overflow),
        cmocka_unit_test(maps_hold_many_keys),
        cmocka_unit_test(words_parse_back),
        cmocka_unit_test(long_error_texts_keep_both_ends),
        cmocka_unit_test(lines_are_taken_in_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
