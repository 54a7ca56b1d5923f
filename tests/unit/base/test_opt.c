/* Option tables: values, every complaint, help, nearest words. */
#include <string.h>

#include "base/attr.h"
#include "base/opt.h"

#include "tests/unit/unit.h"

struct values {
    bool json;
    const char *out;
    int64_t attempts, seed;
    double budget;
};

/* Parses `args`, split at spaces. */
static bool parse(const char *args, struct values *values, const char **positional, int *count,
                  struct err *err)
{
    static char words[256];
    const struct opt options[] = {
        {"json", OPT_FLAG, &values->json, NULL, "machine-readable result", 0, 0},
        {"out", OPT_TEXT, &values->out, "DIR", "where files go", 0, 0},
        {"attempts", OPT_INT, &values->attempts, "N", "how often to try", 1, 100},
        {"seed", OPT_INT, &values->seed, "S", "any integer", 0, 0},
        {"budget", OPT_REAL, &values->budget, "USD", "most to spend", 0, 0},
    };
    const struct opt_command command = {
        .name = "synth",
        .synopsis = "SPEC [EXTRA]",
        .options = options,
        .option_count = COUNT_OF(options),
        .positional_min = 1,
        .positional_max = 2,
    };
    char *argv[16] = {words};
    int argc = 1;
    snprintf(words, sizeof(words), "synth %s", args);
    for (char *at = words; (at = strchr(at, ' ')) && at[1];) {
        *at++ = '\0';
        argv[argc++] = at;
    }
    return opt_parse(&command, argc, argv, positional, count, err);
}

static void accepted(void **state UNUSED)
{
    struct values v = {0};
    const char *positional[2];
    int count = 0;
    struct err err;
    assert_ok(parse("a --json --out=x=y --attempts 7 --seed -3 --budget 2.5e0 b", &v, positional,
                    &count, &err));
    assert_true(v.json && v.attempts == 7 && v.seed == -3 && v.budget == 2.5);
    assert_string_equal(v.out, "x=y");
    assert_int_equal(count, 2);
    assert_string_equal(positional[0], "a");
    assert_string_equal(positional[1], "b");
    assert_ok(parse("--seed 0xff --seed=0x10 -- --json", &v, positional, &count, &err));
    assert_int_equal(v.seed, 16);
    assert_int_equal(count, 1);
    assert_string_equal(positional[0], "--json");
    assert_ok(parse("--attempts 1 x", &v, positional, &count, &err));
    assert_int_equal(v.attempts, 1);
    assert_ok(parse("--attempts 100 x", &v, positional, &count, &err));
    assert_int_equal(v.attempts, 100);
    assert_ok(parse("-", &v, positional, &count, &err));
    assert_string_equal(positional[0], "-");
}

static void complaints(void **state UNUSED)
{
    static const struct {
        const char *args, *says;
    } cases[] = {
        {"", "synth: an argument is missing; usage: synth SPEC [EXTRA]"},
        {"a b c", "\"c\" is one argument too many"},
        {"a --jsno", "synth has no option --jsno; did you mean --json?"},
        {"a --zebra", "synth has no option --zebra (see: help synth)"},
        {"a -j", "synth has no short option -j"},
        {"a --json=1", "--json takes no value"},
        {"a --out", "--out wants a value: --out DIR"},
        {"a --attempts 0", "--attempts wants an integer from 1 to 100, not \"0\""},
        {"a --attempts 101", "from 1 to 100"},
        {"a --attempts 5x", "not \"5x\""},
        {"a --attempts=", "not \"\""},
        {"a --seed 99999999999999999999", "--seed wants an integer"},
        {"a --budget nan", "--budget wants a number, not \"nan\""},
        {"a --budget 1,5", "--budget wants a number"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct values v = {0};
        const char *positional[2];
        int count = -1;
        struct err err;
        if (parse(cases[i].args, &v, positional, &count, &err))
            fail_msg("accepted: %s", cases[i].args);
        assert_int_equal(err.code, ERR_USAGE);
        assert_int_equal(count, -1);
        if (!strstr(err.text, cases[i].says))
            fail_msg("%s: \"%s\" lacks \"%s\"", cases[i].args, err.text, cases[i].says);
    }
}

static void help_shows_the_table(void **state UNUSED)
{
    int64_t n;
    bool flag;
    const struct opt options[] = {
        {"json", OPT_FLAG, &flag, NULL, "machine-readable", 0, 0},
        {"attempts", OPT_INT, &n, "N", "tries", 1, 9},
        {"a-name-of-many-letters", OPT_INT, &n, "COUNT", "long", 0, 0},
    };
    const struct opt_command command = {
        .name = "tune",
        .synopsis = "SPEC",
        .summary = "tries again",
        .text = "Exit 1: it was in vain.",
        .options = options,
        .option_count = COUNT_OF(options),
    };
    struct arena arena;
    struct buf out;
    arena_init(&arena, 1 << 20);
    buf_init(&out, &arena, 4096);
    opt_help(&out, &command);
    assert_string_equal(buf_view(&out).at, "usage: warpwright tune SPEC\n\n"
                                           "tries again.\n\n"
                                           "Exit 1: it was in vain.\n\n"
                                           "options:\n"
                                           "  --json                  machine-readable\n"
                                           "  --attempts N            tries (1 to 9)\n"
                                           "  --a-name-of-many-letters COUNT\n"
                                           "                          long\n");
    arena_release(&arena);
}

static void nearest_words(void **state UNUSED)
{
    static const char *const known[] = {"synth", "plan", "verify", "bench"};
    static const struct {
        const char *word, *nearest;
    } cases[] = {
        {"synht", "synth"},  {"sinth", "synth"}, {"verfy", "verify"}, {"verifyy", "verify"},
        {"plan", "plan"},    {"xyz", NULL},      {"", NULL},          {"ebnhc", NULL},
        {"beench", "bench"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *got = opt_nearest(cases[i].word, known, COUNT_OF(known));
        if (cases[i].nearest)
            assert_string_equal(got ? got : "(none)", cases[i].nearest);
        else
            assert_null(got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepted),
        cmocka_unit_test(complaints),
        cmocka_unit_test(help_shows_the_table),
        cmocka_unit_test(nearest_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
