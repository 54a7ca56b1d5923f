/*
 * A file of HW-WFC's recorded results against what is computed here.
 *
 * Each number is one comparison, exact to the bit.  A file whose shape makes no sense is an error;
 * a number, a name or a length that differs is a mismatch, and the check goes on.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

#include "solver/sched/hwwfc_check_int.h"

/* Lists of states and events grow while they run; 1 << 25 steps of 16 bytes, twice. */
static const size_t scratch_bytes_max = (size_t)4 << 30;

const struct json *member(const struct json *object, const char *key)
{
    return object == NULL ? NULL : json_get(object, key);
}

/* ---- comparisons ---- */

static void mismatch(struct checker *c, const struct json *at, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

static void mismatch(struct checker *c, const struct json *at, const char *fmt, ...)
{
    struct hwwfc_check *out = c->out;
    struct err place;
    char text[200];
    va_list args;
    out->mismatches++;
    if (out->complaint_count == HWWFC_COMPLAINTS_MAX)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    (void)json_fail(at == NULL ? c->document : at, &place, "%s", text);
    out->complaints[out->complaint_count++] = str_copy(c->arena, str_from(place.text));
}

static bool present(struct checker *c, const struct json *at, const char *want)
{
    c->out->comparisons++;
    if (at == NULL)
        mismatch(c, at, "a member is missing that should be %s", want);
    return at != NULL;
}

void expect_real(struct checker *c, const struct json *at, double want)
{
    char text[40];
    double got;
    struct err err;
    snprintf(text, sizeof(text), "%.17g", want);
    if (!present(c, at, text))
        return;
    if (!json_number(at, &got, &err))
        mismatch(c, at, "it is no number, but computed is %s", text);
    else if (!(got == want))
        mismatch(c, at, "it says %.17g, computed is %s", got, text);
}

void expect_int(struct checker *c, const struct json *at, int64_t want)
{
    char text[40];
    snprintf(text, sizeof(text), "%lld", (long long)want);
    if (!present(c, at, text))
        return;
    bool same = (at->kind == JSON_INT && at->integer == want) ||
                (at->kind == JSON_REAL && at->real == (double)want);
    if (!same)
        mismatch(c, at, "it says %.17g, computed is %s", at->real, text);
}

void expect_text(struct checker *c, const struct json *at, const char *want)
{
    if (!present(c, at, want))
        return;
    if (at->kind != JSON_STRING || !str_equal(at->string, str_from(want)))
        mismatch(c, at, "it says \"%.*s\", computed is \"%s\"",
                 at->kind == JSON_STRING ? (int)at->string.len : 0, at->string.at, want);
}

void expect_bool(struct checker *c, const struct json *at, bool want)
{
    const char *text = want ? "true" : "false";
    if (present(c, at, text) && (at->kind != JSON_BOOL || at->boolean != want))
        mismatch(c, at, "computed is %s", text);
}

void expect_null(struct checker *c, const struct json *at)
{
    if (present(c, at, "null") && at->kind != JSON_NULL)
        mismatch(c, at, "computed is null");
}

bool expect_count(struct checker *c, const struct json *at, size_t count)
{
    if (!present(c, at, "an array"))
        return false;
    if (at->kind == JSON_ARRAY && at->count == count)
        return true;
    mismatch(c, at, "it has %zu items, computed are %zu", at->count, count);
    return false;
}

void expect_ids(struct checker *c, const struct json *at, const uint16_t *ids, size_t count)
{
    if (!expect_count(c, at, count))
        return;
    for (size_t i = 0; i < count; i++)
        expect_int(c, &at->items[i], ids[i]);
}

void expect_states(struct checker *c, const struct json *at, const size_t *states, size_t count)
{
    if (!expect_count(c, at, count))
        return;
    for (size_t i = 0; i < count; i++)
        expect_int(c, &at->items[i], (int64_t)states[i]);
}

void expect_states_text(struct checker *c, const struct json *at, const struct hwwfc_tiles *tiles,
                        const size_t *states, size_t count)
{
    if (!expect_count(c, at, count))
        return;
    for (size_t i = 0; i < count; i++) {
        struct hwwfc_state state = hwwfc_state(tiles, states[i]);
        expect_text(c, &at->items[i], hwwfc_state_text(c->scratch, &state).at);
    }
}

size_t unique_states(const int64_t *states, size_t count)
{
    size_t unique = 0;
    for (size_t i = 0; i < count; i++) {
        size_t before = 0;
        while (before < i && states[before] != states[i])
            before++;
        unique += before == i;
    }
    return unique;
}

/* ---- names ---- */

bool checker_tiles(struct checker *c, struct str name, const struct json *at,
                   const struct hwwfc_tiles **out, struct err *err)
{
    return hwwfc_tiles_find(c->arena, c->document, name, at, out, err);
}

bool checker_spec(struct checker *c, struct str name, const struct json *at,
                  const struct hwwfc_spec **out, struct err *err)
{
    const struct json *own = hwwfc_section(c->arena, c->document, "specs", name);
    if (own == NULL)
        return json_fail(at, err,
                         "there is no spec \"%.*s\"; it has to be in the document's \"specs\"",
                         STR_ARG(name));
    return hwwfc_spec_parse(c->arena, own, out, err);
}

const char *layer_name(struct checker *c, const struct hwwfc_problem *problem, size_t layer)
{
    return str_copy(c->scratch, problem->layers[layer].name);
}

/* ---- fuzz ---- */

static bool check_case(struct checker *c, const struct json *at, struct err *err)
{
    const struct json *spec_json, *result;
    const struct hwwfc_spec *spec;
    struct hwwfc_problem problem;
    struct hwwfc_scores scores;
    struct hwwfc_run run;
    if (!json_need(at, "spec", JSON_OBJECT, &spec_json, err) ||
        !json_need(at, "result", JSON_OBJECT, &result, err) ||
        !hwwfc_spec_parse(c->scratch, spec_json, &spec, err) ||
        !hwwfc_case_parse(c->scratch, c->document, at, spec, &problem, err) ||
        !hwwfc_scores(c->scratch, &problem, &scores, err) ||
        !check_run(c, &problem, &scores, result, &run, err))
        return false;
    const struct json *after = member(at, "candidates_after"), *dp = member(at, "dp");
    if (after != NULL && expect_count(c, after, problem.layer_count))
        for (size_t i = 0; i < problem.layer_count; i++) {
            uint16_t *kept =
                arena_array(c->scratch, uint16_t, problem.layers[i].candidate_count + 1);
            expect_int(c, &after->items[i], (int64_t)hwwfc_filter(&problem, i, kept));
        }
    if (dp != NULL) {
        const struct json *weight = member(result, "transition_weight");
        check_best(c, &problem, &scores,
                   weight == NULL || weight->kind == JSON_NULL ? hwwfc_weight(spec->sram_bytes)
                                                               : weight->real,
                   dp);
    }
    return true;
}

static bool check_fuzz(struct checker *c, struct err *err)
{
    const struct json *cases = member(c->document, "fuzz");
    if (cases == NULL)
        return true;
    if (cases->kind != JSON_ARRAY)
        return json_fail(cases, err, "expected an array");
    for (size_t i = 0; i < cases->count; i++) {
        struct arena scratch;
        arena_init(&scratch, scratch_bytes_max);
        c->scratch = &scratch;
        bool fine = check_case(c, &cases->items[i], err);
        arena_release(&scratch);
        if (!fine)
            return false;
    }
    return true;
}

bool hwwfc_check(struct arena *arena, const struct json *document, struct hwwfc_check *out,
                 struct err *err)
{
    struct hwwfc_check result = {0};
    struct arena scratch;
    struct checker c = {.arena = arena, .document = document, .out = &result};
    if (document->kind != JSON_OBJECT)
        return json_fail(document, err, "expected an object");
    arena_init(&scratch, scratch_bytes_max);
    c.scratch = &scratch;
    bool fine = check_tables(&c, err) && check_safety(&c, err);
    arena_release(&scratch);
    if (!fine || !check_results(&c, err) || !check_fuzz(&c, err))
        return false;
    *out = result;
    return true;
}
