/*
 * Section safety_checks: what the original's five checks print.
 */
#include <stdio.h>

#include "solver/sched/hwwfc_check_int.h"

static bool spec_of(struct checker *c, const struct json *at, const struct hwwfc_spec **out,
                    struct err *err)
{
    struct str name;
    return json_need_str(at, "spec", &name, err) && checker_spec(c, name, at, out, err);
}

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

/* The two chains that are meant to backtrack. */
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

bool check_safety(struct checker *c, struct err *err)
{
    const struct json *safety = member(c->document, "safety_checks");
    return safety == NULL ||
           (check_propagation(c, safety, err) && check_chain(c, member(safety, "check4a"), err) &&
            check_chain(c, member(safety, "check4b"), err));
}
