/*
 * What the preset chose for one problem, for a reader and as JSON.
 *
 * Scores are HW-WFC's: without a unit, more is better.  The collapse is greedy, so what it finds is
 * "heuristic" and what it does not find may still exist.
 */
#include <inttypes.h>
#include <math.h>

#include "agent/plan_preset.h"

static const char *const limit_names[HWWFC_LIMIT_COUNT] = {
    [HWWFC_CAPACITY] = "bytes of a tile in SRAM",
    [HWWFC_ALIGNMENT] = "bytes past the alignment",
    [HWWFC_WORKING_MEMORY] = "bytes of working memory in SRAM",
};

static struct hwwfc_state state_of(const struct preset_plan *plan, size_t layer)
{
    return hwwfc_state(plan->problem.tiles, plan->states[layer]);
}

/* The parts of a layer's score; they were made before, so this cannot fail. */
static struct hwwfc_score score_of(const struct preset_plan *plan, size_t layer)
{
    const struct hwwfc_state state = state_of(plan, layer);
    struct hwwfc_score score;
    struct err err;
    if (!hwwfc_score(&plan->problem.layers[layer], &state, plan->problem.spec, &score, &err))
        score = (struct hwwfc_score){.total = plan->scores.of[layer][plan->states[layer]]};
    return score;
}

static double slack_of(const struct preset_plan *plan, size_t layer, int limit)
{
    const struct hwwfc_state state = state_of(plan, layer);
    return hwwfc_slack((enum hwwfc_limit)limit, plan->problem.layers[layer].type, &state,
                       plan->problem.spec);
}

static double penalty_of(const struct preset_plan *plan, const size_t pair[2])
{
    const struct hwwfc_state a = state_of(plan, pair[0]), b = state_of(plan, pair[1]);
    return hwwfc_penalty(&a, &b);
}

/* The layer that a failed collapse ended at. */
static const char *failed_layer(struct arena *arena, const struct preset_plan *plan)
{
    const struct hwwfc_run *run = &plan->run;
    for (size_t i = run->event_count; i-- > 0;)
        if (run->events[i].kind == HWWFC_EVENT_EMPTY ||
            run->events[i].kind == HWWFC_EVENT_EXHAUSTED)
            return str_copy(arena, plan->problem.layers[run->events[i].a].name);
    return "?";
}

/* ---- text ---- */

static void head_text(struct arena *arena, struct buf *out, const struct preset_plan *plan)
{
    const struct hwwfc_run *run = &plan->run;
    buf_printf(out, "%.*s on %.*s, HW-WFC's collapse: ", STR_ARG(plan->name),
               STR_ARG(plan->machine));
    if (run->success)
        buf_printf(out, "score %.10g; heuristic", plan->objective);
    else
        buf_printf(out, "no plan, layer %s has no state left", failed_layer(arena, plan));
    buf_printf(out, "; %zu layer%s, %" PRId64 " backtrack%s\n", plan->problem.layer_count,
               plan->problem.layer_count == 1 ? "" : "s", run->backtracks,
               run->backtracks == 1 ? "" : "s");
}

static void slack_text(struct buf *out, const struct preset_plan *plan, size_t layer)
{
    for (int limit = 0; limit < HWWFC_LIMIT_COUNT; limit++) {
        const double slack = slack_of(plan, layer, limit);
        if (isfinite(slack))
            buf_printf(out, "       %-32s %10.0f left\n", limit_names[limit], slack + 0.0);
        else
            buf_printf(out, "       %-32s   not limited in DRAM\n", limit_names[limit]);
    }
}

static void layer_text(struct arena *arena, struct buf *out, const struct preset_plan *plan,
                       size_t layer, bool explain)
{
    const struct hwwfc_layer *l = &plan->problem.layers[layer];
    const struct hwwfc_state state = state_of(plan, layer);
    const struct hwwfc_score score = score_of(plan, layer);
    buf_printf(out, "  %3zu  %-20.*s %-14s ", layer, STR_ARG(l->name), hwwfc_type_name(l->type));
    for (size_t i = 0; i < l->dim_count; i++)
        buf_printf(out, "%.*s=%" PRId64 " ", STR_ARG(l->dims[i].name), l->dims[i].value);
    buf_printf(out, ": %.*s, score %.6f", STR_ARG(hwwfc_state_text(arena, &state)), score.total);
    if (explain)
        buf_printf(out, " = roofline %.6f + affinity %.2f + cache %.6f; %" PRId64 " bytes",
                   score.roofline, score.affinity, score.cache, score.traffic);
    buf_char(out, '\n');
    if (explain)
        slack_text(out, plan, layer);
}

static void transitions_text(struct buf *out, const struct preset_plan *plan)
{
    double sum = 0;
    for (size_t e = 0; e < plan->edges.count; e++)
        sum += penalty_of(plan, plan->edges.pairs[e]);
    buf_printf(out, "  scores %.10g less transitions %.6g, of weight %.6g each\n", plan->unary_sum,
               sum, plan->weight);
}

void preset_text(struct arena *arena, struct buf *out, const struct preset_plan *plan, bool explain)
{
    head_text(arena, out, plan);
    if (!plan->run.success)
        return;
    for (size_t i = 0; i < plan->problem.layer_count; i++)
        layer_text(arena, out, plan, i, explain);
    transitions_text(out, plan);
}

/* ---- JSON ---- */

static void slack_json(struct json_writer *w, const struct preset_plan *plan, size_t layer)
{
    json_key(w, "slack");
    json_open_object(w);
    for (int limit = 0; limit < HWWFC_LIMIT_COUNT; limit++)
        json_member_real(w, limit_names[limit], slack_of(plan, layer, limit));
    json_close_object(w);
}

static void state_json(struct arena *arena, struct json_writer *w, const struct preset_plan *plan,
                       size_t layer)
{
    const struct hwwfc_state state = state_of(plan, layer);
    const struct hwwfc_score score = score_of(plan, layer);
    json_member_int(w, "state", (int64_t)plan->states[layer]);
    json_member_str(w, "state_text", hwwfc_state_text(arena, &state));
    json_member_real(w, "score", score.total);
    json_member_real(w, "roofline", score.roofline);
    json_member_real(w, "affinity", score.affinity);
    json_member_real(w, "cache", score.cache);
    slack_json(w, plan, layer);
}

static void layers_json(struct arena *arena, struct json_writer *w, const struct preset_plan *plan)
{
    json_key(w, "layers");
    json_open_array(w);
    for (size_t i = 0; i < plan->problem.layer_count; i++) {
        const struct hwwfc_layer *l = &plan->problem.layers[i];
        json_open_object(w);
        json_member_str(w, "name", l->name);
        json_member_text(w, "type", hwwfc_type_name(l->type));
        json_key(w, "dims");
        json_open_object(w);
        for (size_t k = 0; k < l->dim_count; k++)
            json_member_int(w, str_copy(arena, l->dims[k].name), l->dims[k].value);
        json_close_object(w);
        if (plan->states != NULL)
            state_json(arena, w, plan, i);
        json_close_object(w);
    }
    json_close_array(w);
}

static void transitions_json(struct json_writer *w, const struct preset_plan *plan)
{
    json_key(w, "transitions");
    json_open_array(w);
    for (size_t e = 0; e < plan->edges.count; e++) {
        json_open_object(w);
        json_member_int(w, "from", (int64_t)plan->edges.pairs[e][0]);
        json_member_int(w, "to", (int64_t)plan->edges.pairs[e][1]);
        json_member_real(w, "penalty", penalty_of(plan, plan->edges.pairs[e]));
        json_close_object(w);
    }
    json_close_array(w);
}

void preset_json(struct arena *arena, struct json_writer *w, const struct preset_plan *plan)
{
    const struct hwwfc_run *run = &plan->run;
    json_open_object(w);
    json_member_str(w, "problem", plan->name);
    json_member_str(w, "machine", plan->machine);
    json_member_text(w, "algorithm", "HW-WFC's collapse");
    json_member_bool(w, "success", run->success);
    json_member_int(w, "initial_search_space", run->initial);
    json_member_int(w, "final_search_space", run->final);
    json_member_int(w, "backtracks_used", run->backtracks);
    json_member_real(w, "final_threshold", run->final_threshold);
    json_member_real(w, "transition_weight", plan->weight);
    layers_json(arena, w, plan);
    if (run->success) {
        json_member_text(w, "claim", factor_claim_text(FACTOR_HEURISTIC));
        json_member_real(w, "unary_sum", plan->unary_sum);
        json_member_real(w, "objective", plan->objective);
        transitions_json(w, plan);
    } else {
        json_member_text(w, "empty", failed_layer(arena, plan));
    }
    json_close_object(w);
}
