/*
 * HW-WFC's preset: what its recorded results (tests/golden/bench-solver.sh) cannot show.
 */
#include <string.h>

#include "base/json.h"

#include "solver/sched/sched.h"
#include "tests/unit/unit.h"

static const size_t arena_bytes_max = (size_t)1 << 30;

#define NUMBERS                                                                                    \
    "{\"sram_bytes\":12288,\"dram_bandwidth_gbps\":900,\"sram_bandwidth_gbps\":19000,"             \
    "\"alignment_bytes\":64,\"compute_gflops\":312000}"
#define SPEC "\"spec\":" NUMBERS
#define CASE(layers, candidates, result)                                                           \
    "{\"fuzz\":[{\"tile_set\":\"default\"," SPEC ",\"layers\":" layers                             \
    ",\"candidates\":" candidates ",\"result\":" result "}]}"
#define RELU(name) "{\"name\":\"" name "\",\"type\":\"RELU\",\"dims\":{\"M\":4,\"N\":4}}"
#define DONE                                                                                       \
    "\"threshold\":1.5,\"transition_weight\":null,\"max_backtracks\":10,\"success\":true,"         \
    "\"initial_search_space\":1,\"final_search_space\":1,\"backtracks_used\":0,"

#define CHECK(members) "{\"specs\":{\"toy_gpu\":" NUMBERS "},\"safety_checks\":{" members "}}"

static bool check(struct arena *arena, const char *text, struct hwwfc_check *out, struct err *err)
{
    const struct json *json;
    return json_parse(arena, str_from(text), "results", &json, err) &&
           hwwfc_check(arena, json, out, err);
}

static void test_mismatches_are_counted(void **state UNUSED)
{
    static const char text[] =
        CASE("[" RELU("a") "]", "[[13]]",
             "{" DONE "\"final_threshold\":1.25,\"states\":[13],\"events\":"
             "[[\"bottleneck\",\"a\",16],[\"collapse\",\"b\",13]],\"unary_scores\":[0.5],"
             "\"objective\":0.05036057692307692}");
    struct arena arena;
    struct hwwfc_check result;
    struct err err = {0};
    arena_init(&arena, arena_bytes_max);
    assert_ok(check(&arena, text, &result, &err));
    /* threshold, name, score; the sum is missing; the objective is right but for one bit */
    assert_int_equal(result.mismatches, 5);
    assert_int_equal(result.complaint_count, 5);
    assert_non_null(strstr(result.complaints[0], "results: fuzz[0].result.final_threshold"));
    assert_true(result.comparisons > 12);
    arena_release(&arena);
}

static void test_malformed_files_are_refused(void **state UNUSED)
{
    static const struct {
        const char *name, *text, *says;
    } cases[] = {
        {"no object", "[]", "expected an object"},
        {"state out of range", CASE("[" RELU("a") "]", "[[66]]", "{}"), "candidates[0][0]"},
        {"a list too few", CASE("[" RELU("a") "]", "[]", "{}"), "a list for each layer"},
        {"no layers", CASE("[]", "\"full\"", "{}"), "1 to 1000 layers"},
        {"no threshold", CASE("[" RELU("a") "]", "\"full\"", "{}"), "no threshold"},
        {"unknown spec", "{\"results\":{\"x\":{}}}", "no spec \"x\"; it has"},
        {"a length that is none", CHECK("\"check5a\":{\"x\":3}"), "expected a count of layers"},
        {"a length without end", CHECK("\"check5a\":{\"99999999999999999999\":3}"),
         "from 1 to 1000 layers"},
        {"a check of no spec", CHECK("\"check1\":[]"), "check1"},
        {"scores on no spec", CHECK("\"check2\":{\"q\":0}"), "no spec \"q\""},
        {"flops beyond 63 bits",
         CASE("[{\"name\":\"a\",\"type\":\"LINEAR\",\"dims\":{\"M\":1099511627776,"
              "\"N\":1099511627776}}]",
              "\"full\"", "{}"),
         "2^63"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct hwwfc_check result;
        struct err err = {0};
        arena_init(&arena, arena_bytes_max);
        if (check(&arena, cases[i].text, &result, &err))
            fail_msg("%s: accepted", cases[i].name);
        if (strstr(err.text, cases[i].says) == NULL)
            fail_msg("%s: %s", cases[i].name, err.text);
        arena_release(&arena);
    }
}

/* 4885361687255056826 flops are no double; Python divides the integers themselves, and says so:
 * min(pk, f / t * bw) / pk.  By way of doubles it would be 1.446854375677725e-05. */
static void test_quotients_round_once(void **state UNUSED)
{
    const struct hwwfc_spec spec = {1 << 20, 1, 1, 1 << 30, 4};
    const struct hwwfc_state dram = {{1 << 16, 1 << 16}, HWWFC_ROW, HWWFC_DRAM};
    const struct hwwfc_layer layer = {
        .type = HWWFC_LINEAR,
        .dims = {{STR_LIT("M"), 1795853}, {STR_LIT("N"), 1142651}, {STR_LIT("K"), 1190371}},
        .dim_count = 3};
    struct hwwfc_score score;
    struct err err = {0};
    assert_ok(hwwfc_score(&layer, &dram, &spec, &score, &err));
    assert_int_equal(score.traffic, INT64_C(314464793484900));
    assert_true(score.roofline == 1.4468543756777251e-05);
}

/* Two layers of one name, a neighbour that does not exist, one that is the layer itself. */
static void test_odd_graphs_are_collapsed(void **state UNUSED)
{
    static const char text[] = CASE(
        "[{\"name\":\"a\",\"type\":\"RELU\",\"dims\":{},\"neighbors\":[\"a\",\"b\",\"z\"]}," RELU(
            "a") "," RELU("b") "]",
        "[[13,13,7],[7],[13,19]]", "{\"threshold\":0.1,\"max_backtracks\":3}");
    struct arena arena;
    struct hwwfc_check result;
    struct err err = {0};
    arena_init(&arena, arena_bytes_max);
    assert_ok(check(&arena, text, &result, &err));
    assert_true(result.mismatches > 0);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mismatches_are_counted),
        cmocka_unit_test(test_malformed_files_are_refused),
        cmocka_unit_test(test_quotients_round_once),
        cmocka_unit_test(test_odd_graphs_are_collapsed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
