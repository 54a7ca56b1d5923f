/* Formulas: values, canonical text, and the text of every complaint. */
#include <stdio.h>
#include <string.h>

#include "base/rng.h"

#include "solver/ir/formula.h"
#include "tests/unit/unit.h"

enum { ARENA_BYTES = 16 << 20 };

static const struct str names[] = {{"M", 1}, {"N", 1}, {"K_2", 3}, {"Z", 1}};
static const int64_t values[] = {7, 128, -3, 0};
static const struct formula_env env = {names, values, 4};

static const struct {
    const char *text, *canonical;
    int64_t value;
} value_cases[] = {
    {"1", "1", 1},
    {" 1 + 2*3 ", "1 + 2 * 3", 7},
    {"(1 + 2)*3", "(1 + 2) * 3", 9},
    {"((M))", "M", 7},
    {"10 - 4 - 3", "10 - 4 - 3", 3},
    {"10 - (4 - 3)", "10 - (4 - 3)", 9},
    {"10 - (4 + 3)", "10 - (4 + 3)", 3},
    {"2 * (3 * 4)", "2 * (3 * 4)", 24},
    {"100 / 7 * 2", "100 / 7 * 2", 28},
    {"-7 / 2", "-7 / 2", -3},
    {"-7 % 4", "-7 % 4", -3},
    {"K_2 / 2", "K_2 / 2", -1},
    {"ceildiv(N + 1, 32)", "ceildiv(N + 1, 32)", 5},
    {"ceildiv(K_2, 2)", "ceildiv(K_2, 2)", -1},
    {"min(M, N) + max(M,N)", "min(M, N) + max(M, N)", 135},
    {"N%4==0&&N<=8192", "N % 4 == 0 && N <= 8192", 1},
    {"M == 7 || Z / Z", "M == 7 || Z / Z", 1},
    {"Z && 1 / Z", "Z && 1 / Z", 0},
    {"5 && 3", "5 && 3", 1},
    {"1 || 0 && 0", "1 || 0 && 0", 1},
    {"(1 || 0) && 0", "(1 || 0) && 0", 0},
    {"1 || (0 || 0)", "1 || (0 || 0)", 1},
    {"(M < N) == true", "(M < N) == 1", 1},
    {"M < N == (3 >= 4) ", NULL, 0},
    {"M != 7", "M != 7", 0},
    {"M >= 7", "M >= 7", 1},
    {"M > 7", "M > 7", 0},
    {"false", "0", 0},
    {"!M", "!M", 0},
    {"!!M", "!!M", 1},
    {"!(M < 3)", "!(M < 3)", 1},
    {"!M < 3", "!M < 3", 1},
    {"-M * N", "-M * N", -896},
    {"-(M * N)", "-(M * N)", -896},
    {"- 5", "-(5)", -5},
    {"-5", "-5", -5},
    {"--5", "-(-5)", 5},
    {"- -M", "-(-M)", 7},
    {"M - -5", "M - -5", 12},
    {"M * -5", "M * -5", -35},
    {"-9223372036854775808", "-9223372036854775808", INT64_MIN},
    {"9223372036854775807", "9223372036854775807", INT64_MAX},
    {"truest(1, 2)", NULL, 0},
};

static void test_values_and_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(value_cases); i++) {
        struct arena arena;
        struct err err = {0};
        const struct formula *f, *again;
        struct buf text;
        int64_t value = 0;
        arena_init(&arena, ARENA_BYTES);
        bool ok = formula_parse(&arena, str_from(value_cases[i].text), "t", &f, &err);
        if (!value_cases[i].canonical) {
            assert_false(ok);
            arena_release(&arena);
            continue;
        }
        if (!ok || !formula_eval(f, &env, &value, &err))
            fail_msg("%s: %s", value_cases[i].text, err.text);
        buf_init(&text, &arena, FORMULA_BYTES_MAX);
        formula_print(&text, f);
        assert_string_equal(text.at, value_cases[i].canonical);
        assert_int_equal(value, value_cases[i].value);
        assert_true(formula_parse(&arena, buf_view(&text), "t", &again, &err));
        assert_true(formula_equal(f, again));
        arena_release(&arena);
    }
}

static void test_parse_errors(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", "t: column 1: expected an integer, a name or \"(\", found the end; "
             "example: ceildiv(N, 128)\n    \n    ^"},
        {"M + )", "t: column 5: expected an integer, a name or \"(\", found \")\"; "
                  "example: ceildiv(N, 128)\n    M + )\n        ^"},
        {"M < N < 3",
         "t: column 7: comparisons do not chain; write \"a < b && b < c\"\n    M < N < 3\n"
         "          ^"},
        {"(M + 1", "t: column 7: expected \")\" to close \"(\", found the end\n    (M + 1\n"
                   "          ^"},
        {"min(M)", "t: column 6: expected \",\" in min(a, b), found \")\"\n    min(M)\n"
                   "         ^"},
        {"max M", "t: column 5: expected \"(\" in max(a, b), found \"M\"\n    max M\n        ^"},
        {"gcd(M, N)", "t: column 1: there is no function \"gcd\"; the functions are ceildiv, min "
                      "and max\n    gcd(M, N)\n    ^"},
        {"4M", "t: column 1: \"4M\" is no integer; write decimal digits only, and * between "
               "factors\n    4M\n    ^"},
        {"N = 4", "t: column 3: expected an operator or the end, found \"=\"; it is written twice: "
                  "==, &&, ||\n    N = 4\n      ^"},
        {"N 4", "t: column 3: expected an operator or the end, found \"4\"\n    N 4\n      ^"},
        {"1.5", "t: column 2: formulas are over integers; write no decimal point\n    1.5\n     ^"},
        {"9223372036854775808",
         "t: column 1: the integer does not fit 64 bits\n    9223372036854775808\n    ^"},
        {"M * \xc3\xa9", "t: column 5: expected an integer, a name or \"(\", found byte 0xc3; "
                         "example: ceildiv(N, 128)\n    M * ??\n        ^"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct err err = {0};
        const struct formula *f = NULL;
        arena_init(&arena, ARENA_BYTES);
        assert_false(formula_parse(&arena, str_from(cases[i].text), "t", &f, &err));
        assert_string_equal(err.text, cases[i].error);
        assert_null(f);
        arena_release(&arena);
    }
}

static void test_eval_errors(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"1 + M / Z", "in \"M / Z\": division by zero"},
        {"M % (Z * 2)", "in \"M % (Z * 2)\": division by zero"},
        {"ceildiv(M, Z)", "in \"ceildiv(M, Z)\": division by zero"},
        {"ceildiv(M, K_2)", "in \"ceildiv(M, K_2)\": ceildiv needs a positive divisor"},
        {"9223372036854775807 + 1",
         "in \"9223372036854775807 + 1\": the result does not fit 64 bits"},
        {"-9223372036854775808 - 1",
         "in \"-9223372036854775808 - 1\": the result does not fit 64 bits"},
        {"-9223372036854775808 / -1",
         "in \"-9223372036854775808 / -1\": the result does not fit 64 bits"},
        {"-9223372036854775808 % -1",
         "in \"-9223372036854775808 % -1\": the result does not fit 64 bits"},
        {"-(-9223372036854775808)",
         "in \"-(-9223372036854775808)\": the result does not fit 64 bits"},
        {"4611686018427387904 * 2",
         "in \"4611686018427387904 * 2\": the result does not fit 64 bits"},
        {"M + Q", "unknown name \"Q\"; known: M, N, K_2, Z"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct err err = {0};
        const struct formula *f = NULL;
        int64_t value = 42;
        arena_init(&arena, ARENA_BYTES);
        assert_true(formula_parse(&arena, str_from(cases[i].text), "t", &f, &err));
        assert_false(formula_eval(f, &env, &value, &err));
        assert_string_equal(err.text, cases[i].error);
        assert_int_equal(value, 42);
        arena_release(&arena);
    }
}

/* `open` repeated n times, "1", `close` repeated n times. */
static struct str nested(struct arena *arena, const char *open, const char *close, int n)
{
    struct buf buf;
    buf_init(&buf, arena, 1 << 20);
    for (int i = 0; i < n; i++)
        buf_text(&buf, open);
    buf_text(&buf, "1");
    for (int i = 0; i < n; i++)
        buf_text(&buf, close);
    return buf_view(&buf);
}

static void test_limits(void **state)
{
    static const struct {
        const char *open, *close;
        int n;
        bool ok;
    } cases[] = {
        {"(", ")", 128, true},     {"(", ")", 129, false},     {"!", "", 63, true},
        {"!", "", 64, false},      {"", "+1", 63, true},       {"", "+1", 64, false},
        {"-(", ")", 31, true},     {"min(1,", ")", 64, false}, {"(", ")", 2000, false},
        {"((", "))", 31, true},    {"", " ", 4095, true},      {"", " ", 4096, false},
        {"max(1,", ")", 62, true},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct err err = {0};
        const struct formula *f;
        arena_init(&arena, ARENA_BYTES);
        struct str text = nested(&arena, cases[i].open, cases[i].close, cases[i].n);
        bool ok = formula_parse(&arena, text, "t", &f, &err);
        if (ok != cases[i].ok)
            fail_msg("%s x %d: %s", cases[i].open, cases[i].n, ok ? "accepted" : err.text);
        if (!ok)
            assert_int_equal(err.code, ERR_LIMIT);
        arena_release(&arena);
    }
}

/* The deepest chains, whose printed text has a parenthesis for each minus. */
static void test_deepest_round_trip(void **state)
{
    static const char *const chains[][2] = {{"- ", ""}, {"-(", ")"}, {"!", ""}, {"!-", ""}};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(chains); i++) {
        struct arena arena;
        struct err err = {0};
        struct buf text;
        const struct formula *f, *again;
        arena_init(&arena, ARENA_BYTES);
        int n = i == 3 ? 31 : 63;
        if (!formula_parse(&arena, nested(&arena, chains[i][0], chains[i][1], n), "t", &f, &err))
            fail_msg("%s", err.text);
        buf_init(&text, &arena, FORMULA_BYTES_MAX);
        formula_print(&text, f);
        if (!formula_parse(&arena, buf_view(&text), "t", &again, &err))
            fail_msg("%s", err.text);
        assert_true(formula_equal(f, again));
        arena_release(&arena);
    }
}

static void test_unknown_name(void **state)
{
    struct arena arena;
    struct err err = {0};
    const struct formula *f;
    (void)state;
    arena_init(&arena, ARENA_BYTES);
    assert_true(formula_parse(&arena, STR_LIT("M + min(-N, !Q * R)"), "t", &f, &err));
    assert_true(str_equal(formula_unknown_name(f, names, 4), STR_LIT("Q")));
    assert_true(formula_parse(&arena, STR_LIT("M + N"), "t", &f, &err));
    assert_int_equal(formula_unknown_name(f, names, 4).len, 0);
    arena_release(&arena);
}

static const struct formula *random_formula(struct arena *arena, struct rng *rng, int depth)
{
    static const enum formula_op ops[] = {
#define X(id, text) FORMULA_##id,
        FORMULA_OPS(X)
#undef X
    };
    uint32_t pick = rng_below(rng, 8);
    if (depth == 0 || pick == 0)
        return formula_int(arena, (int64_t)rng_below(rng, 20) - 10);
    if (pick == 1)
        return formula_name(arena, names[rng_below(rng, 4)]);
    const struct formula *a = random_formula(arena, rng, depth - 1);
    if (pick == 2) {
        struct formula *f = arena_new(arena, struct formula);
        *f = (struct formula){.op = rng_below(rng, 2) ? FORMULA_NEG : FORMULA_NOT, .a = a};
        return f;
    }
    const struct formula *b = random_formula(arena, rng, depth - 1);
    return formula_binary(arena, ops[rng_below(rng, COUNT_OF(ops))], a, b);
}

static void test_random_round_trip(void **state)
{
    struct rng rng;
    (void)state;
    rng_init(&rng, 17);
    for (int i = 0; i < 3000; i++) {
        struct arena arena;
        struct err err = {0};
        struct buf text;
        const struct formula *again;
        arena_init(&arena, ARENA_BYTES);
        const struct formula *f = random_formula(&arena, &rng, 5);
        buf_init(&text, &arena, FORMULA_BYTES_MAX);
        formula_print(&text, f);
        if (!formula_parse(&arena, buf_view(&text), "t", &again, &err))
            fail_msg("%s", err.text);
        if (!formula_equal(f, again))
            fail_msg("another tree: %s", text.at);
        arena_release(&arena);
    }
}

/* What is printed means in C what it means here: a few are checked by the compiler itself. */
static void test_printed_text_is_c(void **state)
{
    enum { M = 7, N = 128 };
    struct arena arena;
    struct err err = {0};
    (void)state;
    arena_init(&arena, ARENA_BYTES);
#define CASE(expression)                                                                           \
    do {                                                                                           \
        const struct formula *f;                                                                   \
        int64_t got;                                                                               \
        assert_true(formula_parse(&arena, STR_LIT(#expression), "t", &f, &err));                   \
        assert_true(formula_eval(f, &env, &got, &err));                                            \
        assert_int_equal(got, (int64_t)(expression));                                              \
    } while (0)
    CASE(M - N - 3);
    CASE(M - N / 3 % 5);
    CASE(-M / 2 * 3 - -N);
    CASE(((!M) == 0) + (N % M < 4));
    CASE((M < 3 && N > 5) || M * N == 896);
#undef CASE
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_and_text),   cmocka_unit_test(test_parse_errors),
        cmocka_unit_test(test_eval_errors),       cmocka_unit_test(test_limits),
        cmocka_unit_test(test_unknown_name),      cmocka_unit_test(test_deepest_round_trip),
        cmocka_unit_test(test_random_round_trip), cmocka_unit_test(test_printed_text_is_c),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
