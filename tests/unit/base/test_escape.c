/* Hostile text on a terminal: nothing in it may act. */
#include "base/escape.h"

#include "tests/unit/unit.h"

enum { ARENA_BYTES = 1 << 20 };

static void test_escape(void **state UNUSED)
{
    static const char *const rows[][2] = {
        {"plain", "plain"},
        {"line\r\n\tnext", "line\\x0d\\x0a\\x09next"},
        {"\x1b[2J", "\\x1b[2J"},
        {"\xe4\xbd\xa0\xe5\xa5\xbd \xc3\xa9 \xf0\x9f\x98\x80",
         "\xe4\xbd\xa0\xe5\xa5\xbd \xc3\xa9 \xf0\x9f\x98\x80"},
        {"\xff\xc3(", "\\xff\\xc3("},
        {"\xc0\xaf\xed\xa0\x80", "\\xc0\\xaf\\xed\\xa0\\x80"},
        {"\xc2\x9b"
         "1m",
         "\\xc2\\x9b1m"},
        {"a\xe2\x80\xae"
         "b",
         "a\\xe2\\x80\\xaeb"},
        {"\xe2\x82", "\\xe2\\x82"},
    };
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf out;
        buf_init(&out, &arena, 1000);
        escape_print(&out, str_from(rows[i][0]), 100);
        assert_string_equal(out.at, rows[i][1]);
    }
    struct buf out;
    buf_init(&out, &arena, 1000);
    escape_print(&out, str_from("0123456789"), 8);
    assert_string_equal(out.at, "01234...");
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
