/* The key: found in every spelling, replaced, refused in a bad form or a file that others read. */
#include <string.h>
#include <sys/stat.h>

#include "agent/llm/llm_int.h"
#include "tests/unit/unit.h"

enum { ARENA_BYTES = 64 << 20 };

#define KEY "sk-test/0123456789abcdef"

struct scrubbing {
    const char *name, *key, *text, *want;
};

static const struct scrubbing scrubbings[] = {
    {"absent", KEY, "nothing here", "nothing here"},
    {"whole", KEY, "key " KEY ".", "key [API key]."},
    {"twice, touching", KEY, KEY KEY, "[API key][API key]"},
    {"at the end", KEY, "x" KEY, "x[API key]"},
    {"escaped slash", KEY, "sk-test\\/0123456789abcdef", "[API key]"},
    {"hexadecimal", KEY, "\\u0073k-test/\\u0030123456789abcdef", "[API key]"},
    {"cut off", KEY, "sk-test/0123...", "[API key]..."},
    {"cut too short to tell", KEY, "sk-test/012", "sk-test/012"},
    {"false start", KEY, "sk-sk-test/0123456789abcdef", "sk-[API key]"},
    {"behind a backslash", KEY, "\\" KEY, "[API key]"},
    {"placeholder", "EMPTY", "EMPTY EMPTY", "EMPTY EMPTY"},
    {"eight bytes", "abcdefgh", "abcdefghi abcdefg", "[API key]i abcdefg"},
    {"a key like the mask", "[APIkey]", "[APIkey]", "[API key]"},
    {"key with a backslash", "back\\slash1", "back\\slash1 back\\\\slash1", "[API key] [API key]"},
    {"bad escapes", KEY, "\\u00 \\ \\", "\\u00 \\ \\"},
    {"no key", "", "text", "text"},
};

static void test_scrub(void **state UNUSED)
{
    for (size_t i = 0; i < COUNT_OF(scrubbings); i++) {
        const struct scrubbing *c = &scrubbings[i];
        struct arena arena;
        struct llm_secret secret = {str_from(c->key)};
        arena_init(&arena, ARENA_BYTES);
        struct str got = secret_scrub(&arena, &secret, str_from(c->text));
        if (!str_equal(got, str_from(c->want)))
            fail_msg("%s: got %.*s", c->name, STR_ARG(got));
        assert_false(secret_occurs(&secret, got));
        arena_release(&arena);
    }
}

static void test_check(void **state UNUSED)
{
    static const char *const bad[] = {"two words", "new\nline", "tab\t", "caf\xc3\xa9", "\x7f"};
    struct err err;
    struct llm_secret good = {str_from(KEY)}, none = {STR_LIT("")};
    assert_ok(secret_check(&good, &err));
    assert_ok(secret_check(&none, &err));
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct llm_secret secret = {str_from(bad[i])};
        assert_false(secret_check(&secret, &err));
        assert_int_equal(err.code, ERR_USAGE);
        assert_null(strstr(err.text, bad[i]));
    }
}

static void test_file(void **state UNUSED)
{
    struct arena arena;
    struct err err;
    struct llm_secret secret = {STR_LIT("")};
    arena_init(&arena, ARENA_BYTES);
    const char *path = path_join(&arena, unit_folder(&arena, "secret"), "key");
    assert_ok(file_write(path, STR_LIT(KEY "\r\nsecond line\n"), &err));
    assert_int_equal(chmod(path, 0640), 0);
    assert_false(llm_secret_read(&arena, path, &secret, &err));
    assert_non_null(strstr(err.text, "chmod 600"));
    assert_int_equal(chmod(path, 0600), 0);
    assert_ok(llm_secret_read(&arena, path, &secret, &err));
    assert_true(str_equal(secret.text, STR_LIT(KEY)));
    assert_ok(file_write(path, STR_LIT("\n"), &err));
    assert_int_equal(chmod(path, 0600), 0);
    assert_false(llm_secret_read(&arena, path, &secret, &err));
    assert_false(llm_secret_read(&arena, "build/scratch/no-such-key", &secret, &err));
    assert_int_equal(err.code, ERR_IO);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scrub),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
