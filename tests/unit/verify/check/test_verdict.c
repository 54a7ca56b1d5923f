/* Observed and verdict: canonical text, round trips, and what reading refuses. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/unit.h"
#include "verify/check/contracts.h"

enum { ARENA_BYTES = 64 << 20, TEXT_BYTES = 1 << 20 };

#define VERDICT_TEXT                                                                               \
    "{\"arch\":\"sm_90a\",\"checks\":{\"executed\":24,\"minimum\":8},\"detail\":\"line 1\\n"       \
    "line 2\",\"executor\":\"emulator\",\"failed\":[{\"data\":\"zero-mean\",\"gate\":\"compare\"," \
    "\"passed\":false,\"shape\":\"M=3 N=7\",\"what\":\"compare\"}],\"flags\":\"\","                \
    "\"gate\":\"compare\",\"gates\":[{\"gate\":\"screen\",\"note\":\"\",\"passed\":true,"          \
    "\"wall_ns\":1200},{\"gate\":\"compare\",\"note\":\"y[2,6]\",\"passed\":false,"                \
    "\"wall_ns\":5}],\"instruction\":\"\",\"observed\":{\"observed\":1,\"values\":{"               \
    "\"cubin.k.registers\":32,\"emu.bytes_read.x\":84,\"emu.ratio\":0.5}},"                        \
    "\"reason\":\"y[2,6] is 0.5, not 1\",\"seed\":\"ffffffff00000001\",\"source_line\":12,"        \
    "\"time_ns\":[1500,1498],\"timing\":\"measured\",\"track\":\"f32\",\"validity\":\"wrong\","    \
    "\"verdict\":1,\"worst\":{\"bound\":1e-6,\"got\":0.5,\"index\":[2,6],\"ratio\":500000.0,"      \
    "\"tensor\":\"y\",\"want\":1.0}}"

static bool parse(struct arena *arena, struct str text, struct verdict *out, struct err *err)
{
    const struct json *json;
    return json_parse(arena, text, "v.json", &json, err) && verdict_parse(arena, json, out, err);
}

static struct str print(struct arena *arena, const struct verdict *verdict, bool with_times)
{
    struct buf out;
    struct json_writer w;
    buf_init(&out, arena, TEXT_BYTES);
    json_writer_init(&w, &out);
    verdict_print(&w, verdict, with_times);
    return buf_view(&out);
}

/* `text` with its first `from` replaced by `to`. */
static struct str edit(struct arena *arena, const char *text, const char *from, const char *to)
{
    struct buf out;
    const char *at = strstr(text, from);
    assert_non_null(at);
    buf_init(&out, arena, TEXT_BYTES);
    buf_bytes(&out, text, (size_t)(at - text));
    buf_text(&out, to);
    buf_text(&out, at + strlen(from));
    return buf_view(&out);
}

static void test_round_trip(void **state)
{
    static const char *const edits[][2] = {
        {"", ""},
        {"\"got\":0.5", "\"got\":\"nan\""},
        {"\"got\":0.5", "\"got\":\"-inf\""},
        {"\"index\":[2,6]", "\"index\":[]"},
        {"\"emu.ratio\":0.5", "\"emu.ratio\":\"inf\""},
        {"\"emu.ratio\":0.5", "\"emu.ratio\":-0.0"},
        {"\"emu.ratio\":0.5", "\"emu.ratio\":9007199254740992"},
        {"\"emu.ratio\":0.5", "\"emu.ratio\":1e22"},
        {"\"time_ns\":[1500,1498]", "\"time_ns\":[]"},
        {"\"validity\":\"wrong\"", "\"validity\":\"timed output wrong\""},
        {"\"flags\":\"\"", "\"flags\":\"unverifiable: zeros pass\""},
        {"{\"bound\":1e-6,\"got\":0.5,\"index\":[2,6],\"ratio\":500000.0,\"tensor\":\"y\","
         "\"want\":1.0}",
         "null"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(edits); i++) {
        struct arena arena;
        struct err err = {0};
        struct verdict verdict;
        arena_init(&arena, ARENA_BYTES);
        struct str text = edit(&arena, VERDICT_TEXT, edits[i][0], edits[i][1]);
        if (!parse(&arena, text, &verdict, &err))
            fail_msg("%s: %s", edits[i][1], err.text);
        assert_string_equal(print(&arena, &verdict, true).at, text.at);
        arena_release(&arena);
    }
}

static void test_values(void **state)
{
    struct arena arena;
    struct err err = {0};
    struct verdict v;
    (void)state;
    arena_init(&arena, ARENA_BYTES);
    assert_true(parse(&arena, STR_LIT(VERDICT_TEXT), &v, &err));
    assert_int_equal(v.validity, VALIDITY_WRONG);
    assert_int_equal(v.timing, TIMING_MEASURED);
    assert_int_equal(v.gate, GATE_COMPARE);
    assert_int_equal(v.source_line, 12);
    assert_true(v.seed == UINT64_C(0xffffffff00000001));
    assert_true(v.worst.present);
    assert_int_equal(v.worst.rank, 2);
    assert_int_equal(v.worst.index[1], 6);
    assert_true(v.worst.bound == 1e-6);
    assert_int_equal(v.gates[0].wall_ns, 1200);
    assert_int_equal(v.time_ns[1], 1498);
    assert_int_equal(v.observed.count, 3);
    assert_true(v.observed.items[2].value == 0.5);
    arena_release(&arena);
}

static void test_without_times(void **state)
{
    struct arena arena;
    struct err err = {0};
    struct verdict a, b;
    (void)state;
    arena_init(&arena, ARENA_BYTES);
    struct str other = edit(&arena, VERDICT_TEXT, "\"wall_ns\":1200", "\"wall_ns\":1201");
    other = edit(&arena, other.at, "[1500,1498]", "[7]");
    assert_true(parse(&arena, STR_LIT(VERDICT_TEXT), &a, &err));
    assert_true(parse(&arena, other, &b, &err));
    struct str text = print(&arena, &a, false);
    assert_string_equal(text.at, print(&arena, &b, false).at);
    assert_null(strstr(text.at, "_ns"));
    assert_true(parse(&arena, text, &b, &err));
    assert_int_equal(b.time_count, 0);
    arena_release(&arena);
}

static void test_long_text_is_cut(void **state)
{
    struct arena arena;
    struct err err = {0};
    struct verdict v, again;
    (void)state;
    arena_init(&arena, ARENA_BYTES);
    assert_true(parse(&arena, STR_LIT(VERDICT_TEXT), &v, &err));
    char *detail = arena_array(&arena, char, 3 * VERDICT_REASON_BYTES_MAX);
    for (size_t i = 0; i < VERDICT_REASON_BYTES_MAX; i++)
        memcpy(detail + 3 * i, "\xe2\x82\xac", 3);
    v.detail = (struct str){detail, 3 * VERDICT_REASON_BYTES_MAX};
    assert_true(parse(&arena, print(&arena, &v, true), &again, &err));
    assert_int_equal(again.detail.len, VERDICT_REASON_BYTES_MAX / 3 * 3);
    memset(detail, 0xff, VERDICT_REASON_BYTES_MAX);
    v.detail.len = VERDICT_REASON_BYTES_MAX;
    assert_true(parse(&arena, print(&arena, &v, true), &again, &err));
    assert_int_equal(again.detail.len, 3 * VERDICT_REASON_BYTES_MAX);
    arena_release(&arena);
}

static void test_broken(void **state)
{
    static const char *const cases[][3] = {
        {"\"verdict\":1", "\"verdict\":2",
         "v.json: verdict: 2 is out of range; it must be from 1 to 1"},
        {"\"validity\":\"wrong\"", "\"validity\":\"bad\"",
         "v.json: validity: \"bad\" is not known; it is one of \"accepted\", \"partial\", "
         "\"source rejected\", \"compile error\", \"resources\", \"off plan\", \"wrong\", "
         "\"nondeterministic\", \"out of bounds\", \"race\", \"mutated input\", "
         "\"timed output wrong\", \"launch error\", \"timeout\", \"crash\", \"unsupported\", "
         "\"infrastructure\""},
        {"\"timing\":\"measured\"", "\"timing\":\"none\"",
         "v.json: timing is \"none\", but there are samples in \"time_ns\""},
        {"\"validity\":\"wrong\"", "\"validity\":\"accepted\"", NULL},
        {"\"executed\":24", "\"executed\":-1",
         "v.json: checks.executed: -1 is out of range; it must be from 0 to 100000"},
        {"\"got\":0.5", "\"got\":\"0.5\"",
         "v.json: worst.got: expected a number, \"nan\", \"inf\" or \"-inf\", found a string"},
        {"\"index\":[2,6]", "\"index\":[2,-6]",
         "v.json: worst.index[1]: expected an integer, at least 0"},
        {"\"index\":[2,6]", "\"index\":[1,1,1,1,1,1,1,1,1]",
         "v.json: worst.index: 9 items; it must have from 0 to 8"},
        {"\"seed\":\"ff", "\"seed\":\"FF",
         "v.json: seed: expected 16 lower-case hexadecimal digits"},
        {"\"seed\":\"ff", "\"seed\":\"f",
         "v.json: seed: expected 16 lower-case hexadecimal digits"},
        {"\"seed\":\"ffffffff00000001\"", "\"seed\":\"\"",
         "v.json: seed: expected 16 lower-case hexadecimal digits"},
        {"\"flags\":\"\",", "", "v.json: \"flags\" is missing; it must be a string"},
        {"\"note\":\"\",", "", "v.json: gates[0]: \"note\" is missing; it must be a string"},
        {"\"gate\":\"screen\"", "\"gate\":\"lint\"",
         "v.json: gates[0].gate: \"lint\" is not known; it is one of \"screen\", \"compile\", "
         "\"observe\", \"emulate\", \"compare\", \"gpu\", \"time\", \"recheck\""},
        {"[1500,1498]", "[1500,-1]", "v.json: time_ns[1]: expected nanoseconds, at least 0"},
        {"\"observed\":1", "\"observed\":2",
         "v.json: observed.observed: 2 is out of range; it must be from 1 to 1"},
        {"\"emu.ratio\":0.5", "\"emu.ratio\":[]",
         "v.json: observed.values.emu.ratio: expected a number, \"nan\", \"inf\" or \"-inf\", "
         "found "
         "an array"},
        {"\"emu.ratio\"", "\"\"", "v.json: observed.values: a name is empty"},
        {"\"emu.ratio\"", "\"\xc3\xa9\"", "v.json: observed.values: name 2 is not printable ASCII"},
        {"\"executor\"", "\"executer\"",
         "v.json: executer: unknown key; did you mean \"executor\"?"},
        {",\"worst\":{", ",\"worts\":{", "v.json: worts: unknown key; did you mean \"worst\"?"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct err err = {0};
        struct verdict verdict;
        arena_init(&arena, ARENA_BYTES);
        bool ok =
            parse(&arena, edit(&arena, VERDICT_TEXT, cases[i][0], cases[i][1]), &verdict, &err);
        if (ok != !cases[i][2])
            fail_msg("%s: %s", cases[i][1], ok ? "accepted" : err.text);
        if (!ok)
            assert_string_equal(err.text, cases[i][2]);
        arena_release(&arena);
    }
}

static void test_accepted_needs_checks(void **state)
{
    struct arena arena;
    struct err err = {0};
    struct verdict verdict;
    (void)state;
    arena_init(&arena, ARENA_BYTES);
    struct str text = edit(&arena, VERDICT_TEXT, "\"wrong\"", "\"accepted\"");
    text = edit(&arena, text.at, "\"executed\":24", "\"executed\":7");
    assert_false(parse(&arena, text, &verdict, &err));
    assert_string_equal(err.text, "v.json: accepted after 7 checks, but the minimum is 8");
    arena_release(&arena);
}

static void test_observed_builder(void **state)
{
    struct arena arena;
    struct observed_builder builder;
    (void)state;
    arena_init(&arena, ARENA_BYTES);
    observed_begin(&builder, &arena);
    for (int i = 0; i < 300; i++)
        observed_add(&builder, i, "emu.k%d.flops", i % 100);
    observed_add(&builder, 1, "b\xff\n");
    observed_add(&builder, 2, "b??");
    observed_add(&builder, 3, "a");
    struct observed observed = observed_end(&builder);
    assert_int_equal(observed.count, 102);
    assert_true(str_equal(observed.items[0].name, STR_LIT("a")));
    assert_true(str_equal(observed.items[1].name, STR_LIT("b??")));
    assert_true(observed.items[1].value == 2);
    assert_true(str_equal(observed.items[2].name, STR_LIT("emu.k0.flops")));
    for (size_t i = 2; i < observed.count; i++)
        assert_true(observed.items[i].value >= 200);
    arena_release(&arena);
}

static void test_observed_empty(void **state)
{
    struct arena arena;
    struct err err = {0};
    struct observed_builder builder;
    struct observed again;
    struct buf out;
    struct json_writer w;
    const struct json *json;
    (void)state;
    arena_init(&arena, ARENA_BYTES);
    observed_begin(&builder, &arena);
    struct observed observed = observed_end(&builder);
    buf_init(&out, &arena, TEXT_BYTES);
    json_writer_init(&w, &out);
    observed_print(&w, &observed);
    assert_string_equal(out.at, "{\"observed\":1,\"values\":{}}");
    assert_true(json_parse(&arena, buf_view(&out), "o", &json, &err));
    assert_true(observed_parse(&arena, json, &again, &err));
    assert_int_equal(again.count, 0);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),       cmocka_unit_test(test_values),
        cmocka_unit_test(test_without_times),    cmocka_unit_test(test_long_text_is_cut),
        cmocka_unit_test(test_broken),           cmocka_unit_test(test_accepted_needs_checks),
        cmocka_unit_test(test_observed_builder), cmocka_unit_test(test_observed_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
