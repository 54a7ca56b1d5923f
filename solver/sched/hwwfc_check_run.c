/*
 * One run of the collapse, and one of the dynamic programming, against what a file says of them.
 */
#include <math.h>

#include "solver/sched/hwwfc_check_int.h"

static const char *const event_names[] = {
    [HWWFC_EVENT_EMPTY] = "error_empty_after_hard",
    [HWWFC_EVENT_BOTTLENECK] = "bottleneck",
    [HWWFC_EVENT_COLLAPSE] = "collapse",
    [HWWFC_EVENT_AUTO] = "auto_collapse",
    [HWWFC_EVENT_PROPAGATE] = "propagate",
    [HWWFC_EVENT_ADAPT] = "adapt",
    [HWWFC_EVENT_BACKTRACK] = "backtrack",
    [HWWFC_EVENT_EXHAUSTED] = "error_backtrack_exhausted",
};

static void check_event(struct checker *c, const struct hwwfc_problem *problem,
                        const struct hwwfc_event *event, const struct json *at)
{
    static const size_t lengths[] = {
        [HWWFC_EVENT_EMPTY] = 2,     [HWWFC_EVENT_BOTTLENECK] = 3, [HWWFC_EVENT_COLLAPSE] = 3,
        [HWWFC_EVENT_AUTO] = 3,      [HWWFC_EVENT_PROPAGATE] = 4,  [HWWFC_EVENT_ADAPT] = 1,
        [HWWFC_EVENT_BACKTRACK] = 2, [HWWFC_EVENT_EXHAUSTED] = 2};
    const size_t length = lengths[event->kind];
    if (!expect_count(c, at, length))
        return;
    expect_text(c, &at->items[0], event_names[event->kind]);
    if (length > 1)
        expect_text(c, &at->items[1], layer_name(c, problem, event->a));
    if (length > 3)
        expect_text(c, &at->items[2], layer_name(c, problem, event->b));
    if (length > 2)
        expect_int(c, &at->items[length - 1], event->value);
}

static void check_pick(struct checker *c, const struct hwwfc_problem *problem,
                       const struct hwwfc_pick *pick, const struct json *at)
{
    const struct json *entropies = member(at, "entropies");
    if (pick->layer == HWWFC_NONE)
        expect_null(c, member(at, "selected"));
    else
        expect_text(c, member(at, "selected"), layer_name(c, problem, (size_t)pick->layer));
    if (!expect_count(c, entropies, problem->layer_count))
        return;
    for (size_t i = 0; i < problem->layer_count; i++)
        if (isnan(pick->entropies[i]))
            expect_null(c, &entropies->items[i]);
        else
            expect_real(c, &entropies->items[i], pick->entropies[i]);
}

static void check_success(struct checker *c, const struct hwwfc_problem *problem,
                          const struct hwwfc_scores *scores, double weight,
                          const struct hwwfc_run *run, const struct json *ref)
{
    const struct json *unary = member(ref, "unary_scores");
    size_t *states = arena_array(c->scratch, size_t, problem->layer_count);
    struct hwwfc_edges edges;
    for (size_t i = 0; i < problem->layer_count; i++)
        states[i] = (size_t)run->states[i];
    if (expect_count(c, unary, problem->layer_count))
        for (size_t i = 0; i < problem->layer_count; i++)
            expect_real(c, &unary->items[i], scores->of[i][states[i]]);
    hwwfc_edges(c->scratch, problem, &edges);
    expect_real(c, member(ref, "unary_sum"), hwwfc_unary_sum(problem, scores, states));
    expect_real(c, member(ref, "objective"),
                hwwfc_objective(problem, scores, &edges, weight, states));
    if (member(ref, "unique_states") != NULL)
        expect_int(c, member(ref, "unique_states"),
                   (int64_t)unique_states(run->states, problem->layer_count));
}

static void check_outcome(struct checker *c, const struct hwwfc_problem *problem,
                          const struct hwwfc_run *run, const struct json *ref)
{
    const struct json *states = member(ref, "states"), *events = member(ref, "events");
    const struct json *log = member(ref, "entropy_log");
    expect_bool(c, member(ref, "success"), run->success);
    expect_int(c, member(ref, "initial_search_space"), run->initial);
    expect_int(c, member(ref, "final_search_space"), run->final);
    expect_int(c, member(ref, "backtracks_used"), run->backtracks);
    expect_real(c, member(ref, "final_threshold"), run->final_threshold);
    if (member(ref, "scheduler_threshold_after") != NULL)
        expect_real(c, member(ref, "scheduler_threshold_after"), run->threshold);
    /* It counts its events, the start, the hard limits, and a good end. */
    if (member(ref, "n_steps") != NULL)
        expect_int(c, member(ref, "n_steps"), (int64_t)run->event_count + 2 + run->success);
    bool whole = expect_count(c, states, problem->layer_count);
    for (size_t i = 0; whole && i < problem->layer_count; i++)
        if (run->states[i] == HWWFC_NONE)
            expect_null(c, &states->items[i]);
        else
            expect_int(c, &states->items[i], run->states[i]);
    if (expect_count(c, events, run->event_count))
        for (size_t i = 0; i < run->event_count; i++)
            check_event(c, problem, &run->events[i], &events->items[i]);
    if (log != NULL && expect_count(c, log, run->pick_count))
        for (size_t i = 0; i < run->pick_count; i++)
            check_pick(c, problem, &run->picks[i], &log->items[i]);
}

bool check_run(struct checker *c, const struct hwwfc_problem *problem,
               const struct hwwfc_scores *scores, const struct json *ref, struct hwwfc_run *run,
               struct err *err)
{
    struct hwwfc_options options;
    if (!hwwfc_options_parse(ref, &options, err))
        return false;
    options.log_entropy = member(ref, "entropy_log") != NULL;
    if (!hwwfc_collapse(c->scratch, problem, scores, &options, run, err))
        return false;
    double weight = options.weight < 0 ? hwwfc_weight(problem->spec->sram_bytes) : options.weight;
    check_outcome(c, problem, run, ref);
    if (run->success)
        check_success(c, problem, scores, weight, run, ref);
    return true;
}

void check_best(struct checker *c, const struct hwwfc_problem *problem,
                const struct hwwfc_scores *scores, double weight, const struct json *ref)
{
    struct hwwfc_problem chain = *problem;
    struct hwwfc_best best;
    struct hwwfc_edges edges;
    chain.graph = false;
    hwwfc_viterbi(c->scratch, &chain, scores, weight, &best);
    if (!best.found) {
        expect_null(c, member(ref, "score"));
        return;
    }
    expect_real(c, member(ref, "score"), best.score);
    expect_states(c, member(ref, "states"), best.states, chain.layer_count);
    if (member(ref, "unary_sum") != NULL)
        expect_real(c, member(ref, "unary_sum"), hwwfc_unary_sum(&chain, scores, best.states));
    hwwfc_edges(c->scratch, &chain, &edges);
    if (member(ref, "pipeline_score") != NULL)
        expect_real(c, member(ref, "pipeline_score"),
                    hwwfc_objective(&chain, scores, &edges, weight, best.states));
    if (member(ref, "states_text") != NULL)
        expect_states_text(c, member(ref, "states_text"), problem->tiles, best.states,
                           chain.layer_count);
}
