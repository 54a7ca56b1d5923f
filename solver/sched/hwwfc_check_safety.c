/*
 * Section safety_checks: what the original's five checks print.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"

#include "solver/sched/hwwfc_check_int.h"

static bool spec_of(struct checker *c, const struct json *at, const struct hwwfc_spec **out,
                    struct err *err)
{
    struct str name;
    return json_need_str(at, "spec", &name, err) && checker_spec(c, name, at, out, err);
}

enum { LAYERS_TEXT_MAX = 1 << 16, ROUNDED_TEXT_MAX = 32, STATES_MAX = 256 };

/* What the original writes into its checks: a chain of layers, the default states of each. */
struct chain {
    struct hwwfc_problem problem;
    struct hwwfc_scores scores;
};

static bool chain_of(struct checker *c, struct str layers, const struct hwwfc_spec *spec,
                     struct chain *out, struct err *err)
{
    const struct hwwfc_tiles *tiles = hwwfc_tiles_named(STR_LIT("default"));
    const struct json *parsed;
    return json_parse(c->scratch, layers, "layers of a check", &parsed, err) &&
           hwwfc_problem_parse(c->scratch, parsed, NULL, spec, tiles, &out->problem, err) &&
           hwwfc_scores(c->scratch, &out->problem, &out->scores, err);
}

/* ---- 1: the two hard limits that no layer's type changes ---- */

static bool check_limits(struct checker *c, const struct json *at, struct err *err)
{
    const struct hwwfc_tiles *tiles = hwwfc_tiles_named(STR_LIT("default"));
    const size_t count = hwwfc_state_count(tiles);
    uint16_t *large = arena_array(c->scratch, uint16_t, count);
    uint16_t *crooked = arena_array(c->scratch, uint16_t, count);
    size_t large_count = 0, crooked_count = 0, dram = 0, small = 0, small_passed = 0;
    const struct hwwfc_spec *spec;
    if (at == NULL)
        return true;
    if (!spec_of(c, at, &spec, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct hwwfc_state state = hwwfc_state(tiles, i);
        const bool fits = hwwfc_slack(HWWFC_CAPACITY, HWWFC_LINEAR, &state, spec) >= 0;
        const bool aligned = hwwfc_slack(HWWFC_ALIGNMENT, HWWFC_LINEAR, &state, spec) >= 0;
        if (!fits)
            large[large_count++] = (uint16_t)i;
        else if (!aligned)
            crooked[crooked_count++] = (uint16_t)i;
        dram += !fits && state.memory == HWWFC_DRAM;
        const bool is_small = state.tile.m == 8 && state.tile.n == 8 && state.memory == HWWFC_SRAM;
        small += is_small;
        small_passed += is_small && fits && aligned;
    }
    expect_int(c, member(at, "total"), (int64_t)count);
    expect_int(c, member(at, "passed_capacity_and_alignment_only"),
               (int64_t)(count - large_count - crooked_count));
    expect_ids(c, member(at, "failed_capacity"), large, large_count);
    expect_ids(c, member(at, "failed_alignment"), crooked, crooked_count);
    expect_int(c, member(at, "dram_rejected_by_sram"), (int64_t)dram);
    expect_int(c, member(at, "tile8x8_sram_passed"), (int64_t)small_passed);
    expect_int(c, member(at, "tile8x8_sram_total"), (int64_t)small);
    return true;
}

/* ---- 2: how far scores differ ---- */

/* Scores that four decimals tell apart; they come ranked, so equal ones are neighbours. */
static size_t distinct_rounded(const double *scores, const uint16_t *ids, size_t count)
{
    char text[2][ROUNDED_TEXT_MAX] = {"", ""};
    size_t distinct = 0;
    for (size_t i = 0; i < count; i++) {
        snprintf(text[i % 2], ROUNDED_TEXT_MAX, "%.4f", scores[ids[i]]);
        distinct += strcmp(text[0], text[1]) != 0;
    }
    return distinct;
}

static bool check_scores(struct checker *c, const struct json *at, struct err *err)
{
    static const char layers[] =
        "[{\"name\":\"a\",\"type\":\"LINEAR\",\"dims\":{\"M\":256,\"N\":512,\"K\":256}}]";
    const struct json *ranked = member(at, "ranked");
    uint16_t ids[STATES_MAX];
    const struct hwwfc_spec *spec;
    struct chain chain;
    if (!checker_spec(c, at->key, at, &spec, err) ||
        !chain_of(c, STR_LIT(layers), spec, &chain, err))
        return false;
    const double *scores = chain.scores.of[0];
    const size_t count = hwwfc_filter(&chain.problem, 0, ids);
    expect_int(c, member(at, "n"), (int64_t)count);
    if (count == 0)
        return true;
    hwwfc_rank(scores, ids, count);
    const double most = scores[ids[0]], least = scores[ids[count - 1]];
    expect_real(c, member(at, "max"), most);
    expect_real(c, member(at, "min"), least);
    expect_real(c, member(at, "spread"), most - least);
    expect_int(c, member(at, "distinct_rounded_4"), (int64_t)distinct_rounded(scores, ids, count));
    if (!expect_count(c, ranked, count))
        return true;
    for (size_t i = 0; i < count; i++) {
        if (!expect_count(c, &ranked->items[i], 2))
            continue;
        expect_int(c, &ranked->items[i].items[0], ids[i]);
        expect_real(c, &ranked->items[i].items[1], scores[ids[i]]);
    }
    return true;
}

/* ---- 3: one propagation ---- */

/* One propagation from a state to the states that RELU keeps on the first spec. */
static bool check_near(struct checker *c, const struct json *at, const struct hwwfc_spec *spec,
                       struct err *err)
{
    const struct hwwfc_tiles *tiles = hwwfc_tiles_named(STR_LIT("default"));
    uint16_t *kept = arena_array(c->scratch, uint16_t, hwwfc_state_count(tiles));
    double threshold;
    int64_t source;
    size_t before = 0, after = 0;
    if (!json_need_real(at, "threshold", &threshold, err) ||
        !json_need_int(at, "source_state", 0, (int64_t)hwwfc_state_count(tiles) - 1, &source, err))
        return false;
    struct hwwfc_state from = hwwfc_state(tiles, (size_t)source);
    for (size_t i = 0; i < hwwfc_state_count(tiles); i++) {
        struct hwwfc_state state = hwwfc_state(tiles, i);
        if (!hwwfc_allowed(HWWFC_RELU, &state, spec))
            continue;
        before++;
        if (hwwfc_penalty(&from, &state) <= threshold)
            kept[after++] = (uint16_t)i;
    }
    expect_int(c, member(at, "before"), (int64_t)before);
    expect_int(c, member(at, "removed"), (int64_t)(before - after));
    expect_int(c, member(at, "after"), (int64_t)after);
    expect_real(c, member(at, "pct"), (double)(before - after) / (double)before * 100);
    expect_ids(c, member(at, "kept"), kept, after);
    return true;
}

static bool check_propagation(struct checker *c, const struct json *safety, struct err *err)
{
    const struct json *all = member(safety, "check3");
    const struct hwwfc_spec *spec;
    if (all == NULL)
        return true;
    if (!checker_spec(c, STR_LIT("toy_gpu"), all, &spec, err))
        return false;
    for (size_t i = 0; i < all->count; i++)
        if (!check_near(c, &all->items[i], spec, err))
            return false;
    return true;
}

/* ---- 4: the two chains that are meant to backtrack ---- */

static bool check_chain(struct checker *c, const struct json *at, struct err *err)
{
    const struct hwwfc_tiles *tiles = hwwfc_tiles_named(STR_LIT("default"));
    const struct json *layers, *result;
    const struct hwwfc_spec *spec;
    struct hwwfc_problem problem;
    struct hwwfc_scores scores;
    struct hwwfc_run run;
    return at == NULL ||
           (spec_of(c, at, &spec, err) && json_need(at, "layers", JSON_ARRAY, &layers, err) &&
            json_need(at, "result", JSON_OBJECT, &result, err) &&
            hwwfc_problem_parse(c->scratch, layers, member(at, "candidates"), spec, tiles, &problem,
                                err) &&
            hwwfc_scores(c->scratch, &problem, &scores, err) &&
            check_run(c, &problem, &scores, result, &run, err));
}

/* ---- 5: long chains, and attention against dynamic programming ---- */

static const struct hwwfc_options as_published = {
    .threshold = 1.5, .weight = -1, .backtracks_max = 10};

static bool alternating(struct checker *c, int64_t count, const struct hwwfc_spec *spec,
                        struct chain *out, struct err *err)
{
    struct str text;
    struct buf layers;
    buf_init(&layers, c->scratch, LAYERS_TEXT_MAX);
    for (int64_t i = 0; i < count; i++)
        buf_printf(&layers, "%c{\"name\":\"l%d\",\"type\":\"%s\",\"dims\":{\"M\":256,\"N\":512%s}}",
                   i == 0 ? '[' : ',', (int)i, i % 2 == 0 ? "LINEAR" : "RELU",
                   i % 2 == 0 ? ",\"K\":256" : "");
    buf_char(&layers, ']');
    return buf_finish(&layers, "the chain", &text, err) && chain_of(c, text, spec, out, err);
}

static bool check_length(struct checker *c, const struct json *at, struct err *err)
{
    const struct hwwfc_spec *spec;
    struct chain chain;
    struct hwwfc_run run;
    int64_t count = 0;
    for (size_t i = 0; i < at->key.len && count <= HWWFC_LAYERS_MAX; i++) {
        if (at->key.at[i] < '0' || at->key.at[i] > '9')
            return json_fail(at, err, "expected a count of layers");
        count = count * 10 + (at->key.at[i] - '0');
    }
    if (count < 1 || count > HWWFC_LAYERS_MAX)
        return json_fail(at, err, "expected from 1 to %d layers", HWWFC_LAYERS_MAX);
    if (!checker_spec(c, STR_LIT("toy_gpu"), at, &spec, err) ||
        !alternating(c, count, spec, &chain, err) ||
        !hwwfc_collapse(c->scratch, &chain.problem, &chain.scores, &as_published, &run, err))
        return false;
    expect_bool(c, member(at, "success"), run.success);
    expect_int(c, member(at, "initial_search_space"), run.initial);
    expect_int(c, member(at, "final_search_space"), run.final);
    expect_int(c, member(at, "unique_states"),
               (int64_t)unique_states(run.states, chain.problem.layer_count));
    return true;
}

static void check_attention_states(struct checker *c, const struct chain *chain,
                                   const struct hwwfc_run *run, const struct json *at)
{
    const struct hwwfc_problem *problem = &chain->problem;
    size_t *states = arena_array(c->scratch, size_t, problem->layer_count);
    struct hwwfc_best best;
    hwwfc_viterbi(c->scratch, problem, &chain->scores, hwwfc_weight(problem->spec->sram_bytes),
                  &best);
    if (!run->success || !best.found)
        return;
    for (size_t i = 0; i < problem->layer_count; i++)
        states[i] = (size_t)run->states[i];
    expect_states_text(c, member(at, "wfc"), problem->tiles, states, problem->layer_count);
    expect_states_text(c, member(at, "dp"), problem->tiles, best.states, problem->layer_count);
    expect_real(c, member(at, "dp_score"), best.score);
    expect_bool(c, member(at, "all_same"), unique_states(run->states, problem->layer_count) == 1);
}

static bool check_attention(struct checker *c, const struct json *at, struct err *err)
{
    static const char layers[] =
        "[{\"name\":\"qk\",\"type\":\"LINEAR\",\"dims\":{\"M\":2048,\"N\":2048,\"K\":64}},"
        "{\"name\":\"softmax\",\"type\":\"SOFTMAX\",\"dims\":{\"M\":2048,\"N\":2048}},"
        "{\"name\":\"av\",\"type\":\"LINEAR\",\"dims\":{\"M\":2048,\"N\":64,\"K\":2048}},"
        "{\"name\":\"norm\",\"type\":\"LAYERNORM\",\"dims\":{\"M\":2048,\"N\":512}}]";
    uint16_t ids[STATES_MAX];
    const struct hwwfc_spec *spec;
    struct chain chain;
    struct hwwfc_run run;
    int64_t left = 0;
    if (at == NULL)
        return true;
    if (!spec_of(c, at, &spec, err) || !chain_of(c, STR_LIT(layers), spec, &chain, err) ||
        !hwwfc_collapse(c->scratch, &chain.problem, &chain.scores, &as_published, &run, err))
        return false;
    for (size_t i = 0; i < chain.problem.layer_count; i++)
        left += (int64_t)hwwfc_filter(&chain.problem, i, ids);
    expect_int(c, member(at, "hard_left"), left);
    expect_int(c, member(at, "hard_removed"), run.initial - left);
    check_attention_states(c, &chain, &run, at);
    return true;
}

static bool check_each(struct checker *c, const struct json *section,
                       bool (*check)(struct checker *, const struct json *, struct err *),
                       struct err *err)
{
    for (size_t i = 0; section != NULL && section->kind == JSON_OBJECT && i < section->count; i++)
        if (!check(c, &section->items[i], err))
            return false;
    return true;
}

bool check_safety(struct checker *c, struct err *err)
{
    const struct json *safety = member(c->document, "safety_checks");
    return safety == NULL ||
           (check_limits(c, member(safety, "check1"), err) &&
            check_each(c, member(safety, "check2"), check_scores, err) &&
            check_propagation(c, safety, err) && check_chain(c, member(safety, "check4a"), err) &&
            check_chain(c, member(safety, "check4b"), err) &&
            check_each(c, member(safety, "check5a"), check_length, err) &&
            check_attention(c, member(safety, "check5b"), err));
}
