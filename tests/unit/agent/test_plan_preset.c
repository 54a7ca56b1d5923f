/* `plan --preset hwwfc` against HW-WFC's recorded results, and where it finds its input. */
#include <string.h>

#include "base/file.h"

#include "agent/plan_preset.h"
#include "tests/unit/unit.h"

static const size_t arena_bytes_max = (size_t)4 << 30;
static const char golden[] = "tests/golden/hwwfc/hw-wfc.json";

struct fixture {
    struct arena arena;
    struct session session;
};

static void fixture_init(struct fixture *f)
{
    const struct common common = {.no_cache = true};
    struct err err = {0};
    arena_init(&f->arena, arena_bytes_max);
    assert_ok(session_begin(&f->session, &f->arena, &common, &err));
}

static void fixture_release(struct fixture *f)
{
    session_end(&f->session);
    arena_release(&f->arena);
}

static const struct json *parsed(struct fixture *f, struct str text, const char *name)
{
    const struct json *json;
    struct err err = {0};
    assert_ok(json_parse(&f->arena, text, name, &json, &err));
    return json;
}

static const struct json *report(struct fixture *f, const struct preset_args *args, int *status)
{
    struct err err = {0};
    struct str text;
    assert_ok(plan_preset(&f->session, args, &text, status, &err));
    return json_get(parsed(f, text, "report"), "plans");
}

static double number(const struct json *object, const char *key)
{
    double value;
    struct err err = {0};
    assert_ok(json_number(json_get(object, key), &value, &err));
    return value;
}

/* One plan against one recorded run: doubles to the bit. */
static void assert_plan_is(const struct json *plan, const struct json *run)
{
    static const char *const counts[] = {"initial_search_space", "final_search_space",
                                         "backtracks_used", "final_threshold"};
    const struct json *layers = json_get(plan, "layers"), *states = json_get(run, "states");
    const bool success = json_get(run, "success")->boolean;
    assert_int_equal(json_get(plan, "success")->boolean, success);
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        assert_true(number(plan, counts[i]) == number(run, counts[i]));
    assert_int_equal(layers->count, states->count);
    if (!success) {
        assert_null(json_get(plan, "objective"));
        return;
    }
    assert_true(number(plan, "objective") == number(run, "objective"));
    assert_true(number(plan, "unary_sum") == number(run, "unary_sum"));
    for (size_t i = 0; i < layers->count; i++) {
        assert_int_equal(json_get(&layers->items[i], "state")->integer, states->items[i].integer);
        assert_true(number(&layers->items[i], "score") ==
                    json_get(run, "unary_scores")->items[i].real);
    }
}

/* The recorded run of a workload that was asked for the same. */
static const struct json *recorded_run(const struct json *runs, bool automatic, double weight)
{
    for (size_t i = 0; i < runs->count; i++) {
        const struct json *threshold = json_get(&runs->items[i], "threshold");
        const struct json *own = json_get(&runs->items[i], "transition_weight");
        const bool same = automatic ? threshold->kind == JSON_STRING : threshold->real == 1.5;
        if (same && (weight < 0 ? own->kind == JSON_NULL : own->real == weight))
            return &runs->items[i];
    }
    return NULL;
}

static void test_recorded_results(void **state UNUSED)
{
    static const struct {
        const char *preset;
        bool automatic;
        double weight;
    } asked[] = {
        {"hwwfc", false, -1}, {"hwwfc,threshold=auto", true, -1}, {"hwwfc,weight=0.5", false, .5}};
    struct fixture f;
    struct str text;
    struct err err = {0};
    fixture_init(&f);
    assert_ok(file_read(&f.arena, golden, HWWFC_FILE_BYTES_MAX, &text, &err));
    const struct json *document = parsed(&f, text, golden),
                      *results = json_get(document, "results");
    for (size_t k = 0; k < COUNT_OF(asked); k++) {
        const struct preset_args args = {.preset = asked[k].preset, .file = golden, .json = true};
        int status;
        size_t compared = 0;
        const struct json *plans = report(&f, &args, &status);
        for (size_t i = 0; i < plans->count; i++) {
            const char *name = json_get(&plans->items[i], "problem")->string.at;
            const struct json *of =
                json_get(results, json_get(&plans->items[i], "machine")->string.at);
            if (of == NULL || json_get(of, name) == NULL)
                continue;
            const struct json *run = recorded_run(json_get(json_get(of, name), "wfc"),
                                                  asked[k].automatic, asked[k].weight);
            if (run != NULL)
                assert_plan_is(&plans->items[i], run);
            compared += run != NULL;
        }
        assert_true(compared >= 60);
    }
    fixture_release(&f);
}

/* Each with what its recorded run was asked for; 50 and more of them end without a plan. */
static void test_recorded_fuzz(void **state UNUSED)
{
    const struct preset_args args = {.preset = "hwwfc", .file = golden, .json = true};
    struct fixture f;
    struct str text;
    struct err err = {0};
    int status;
    size_t failed = 0;
    fixture_init(&f);
    assert_ok(file_read(&f.arena, golden, HWWFC_FILE_BYTES_MAX, &text, &err));
    const struct json *cases = json_get(parsed(&f, text, golden), "fuzz");
    const struct json *plans = report(&f, &args, &status);
    assert_int_equal(status, EXIT_FAILED);
    assert_true(plans->count > cases->count);
    for (size_t i = 0; i < cases->count; i++) {
        const struct json *plan = &plans->items[plans->count - cases->count + i];
        const struct json *run = json_get(&cases->items[i], "result");
        assert_plan_is(plan, run);
        failed += !json_get(run, "success")->boolean;
    }
    assert_true(failed >= 50);
    fixture_release(&f);
}

static void test_wrong_input(void **state UNUSED)
{
    static const struct {
        const char *preset, *text, *machine, *shape, *says;
    } cases[] = {
        {"hw", "{}", NULL, NULL, "not \"hw\""},
        {"hwwfc,threshold", "{}", NULL, NULL, "hwwfc[,threshold="},
        {"hwwfc,threshold=soon", "{}", NULL, NULL, "--preset wants hwwfc"},
        {"hwwfc,weight=-1", "{}", NULL, NULL, "--preset wants hwwfc"},
        {"hwwfc,backtracks=1.5", "{}", NULL, NULL, "--preset wants hwwfc"},
        {"hwwfc,colour=1", "{}", NULL, NULL, "--preset wants hwwfc"},
        {"hwwfc", "[]", NULL, NULL, "expected an object"},
        {"hwwfc", "{}", NULL, NULL, "give it one of them"},
        {"hwwfc", "{\"fuzz\":3}", NULL, NULL, "fuzz: expected an array"},
        {"hwwfc", "{\"workloads\":[]}", NULL, NULL, "expected an object of workloads"},
        {"hwwfc", "{\"workloads\":{\"a\":{}}}", NULL, NULL, "workloads.a: \"tile_set\" is missing"},
        {"hwwfc", "{\"tile_set\":\"tiny\",\"layers\":[]}", NULL, NULL, "known are default, large"},
        {"hwwfc", "{\"layers\":[]}", "h200-sxm", NULL, "known are a100"},
        {"hwwfc", "{\"layers\":[]}", "../toy_gpu", NULL, "HW-WFC has no machine"},
        {"hwwfc", "{\"layers\":[]}", NULL, "M=1", "--shape goes with an op spec"},
    };
    struct fixture f;
    fixture_init(&f);
    const char *path = path_join(&f.arena, unit_folder(&f.arena, "plan-preset"), "case.json");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct preset_args args = {.preset = cases[i].preset,
                                         .file = path,
                                         .machine = cases[i].machine,
                                         .shape = cases[i].shape};
        struct err err = {0};
        struct str text;
        int status;
        assert_ok(file_write(path, str_from(cases[i].text), &err));
        assert_false(plan_preset(&f.session, &args, &text, &status, &err));
        if (strstr(err.text, cases[i].says) == NULL)
            fail_msg("%s: %s", cases[i].says, err.text);
    }
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded_results),
        cmocka_unit_test(test_recorded_fuzz),
        cmocka_unit_test(test_wrong_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
