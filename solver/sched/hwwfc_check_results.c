/*
 * Sections workloads, results and attention_truncated_exhaustive: each workload on each spec.
 */
#include <math.h>
#include <string.h>

#include "solver/sched/hwwfc_check_int.h"
#include "solver/sched/hwwfc_graph.h"

enum { DIGITS_MAX = 4096, TOP_OF_EXHAUSTIVE = 8, EXACT_STEPS = 1 << 22 };
static const size_t scratch_bytes_max = (size_t)4 << 30;

struct workload {
    const struct json *json;
    const struct hwwfc_spec *spec;
    struct hwwfc_problem problem;
    struct hwwfc_scores scores;
    double weight;
};

static bool load(struct checker *c, struct str name, const struct hwwfc_spec *spec,
                 const struct json *at, struct workload *out, struct err *err)
{
    out->json = hwwfc_section(c->scratch, c->document, "workloads", name);
    out->spec = spec;
    out->weight = hwwfc_weight(spec->sram_bytes);
    if (out->json == NULL)
        return json_fail(
            at, err, "there is no workload \"%.*s\"; it has to be in the document's \"workloads\"",
            STR_ARG(name));
    return hwwfc_case_parse(c->scratch, c->document, out->json, spec, &out->problem, err) &&
           hwwfc_scores(c->scratch, &out->problem, &out->scores, err);
}

/* ---- what the layers alone say ---- */

/* decimal *= factor; digits from the lowest. */
static void multiply(unsigned char *digits, size_t *count, size_t factor)
{
    size_t carry = 0;
    for (size_t i = 0; i < *count; i++) {
        carry += digits[i] * factor;
        digits[i] = (unsigned char)(carry % 10);
        carry /= 10;
    }
    for (; carry > 0 && *count < DIGITS_MAX; carry /= 10)
        digits[(*count)++] = (unsigned char)(carry % 10);
}

static void expect_product(struct checker *c, const struct json *at, const size_t *factors,
                           size_t factor_count)
{
    unsigned char digits[DIGITS_MAX] = {1};
    char *text = arena_array(c->scratch, char, DIGITS_MAX + 1);
    size_t count = 1;
    for (size_t i = 0; i < factor_count; i++)
        multiply(digits, &count, factors[i]);
    for (size_t i = 0; i < count; i++)
        text[i] = (char)('0' + digits[count - 1 - i]);
    expect_text(c, at, text);
}

static void check_candidates(struct checker *c, const struct workload *w, const struct json *at)
{
    const size_t n = w->problem.layer_count;
    size_t *before = arena_array(c->scratch, size_t, n),
           *after = arena_array(c->scratch, size_t, n);
    size_t *best = arena_array(c->scratch, size_t, n);
    for (size_t i = 0; i < n; i++) {
        before[i] = w->problem.layers[i].candidate_count;
        uint16_t *ids = arena_array(c->scratch, uint16_t, before[i] + 1);
        after[i] = hwwfc_filter(&w->problem, i, ids);
        hwwfc_rank(w->scores.of[i], ids, after[i]);
        best[i] = ids[0];
    }
    expect_states(c, member(at, "candidates_before"), before, n);
    expect_states(c, member(at, "candidates_after"), after, n);
    expect_product(c, member(at, "combinations"), after, n);
    expect_states(c, member(at, "independent_best"), best, n);
    expect_real(c, member(at, "independent_upper_bound"),
                hwwfc_unary_sum(&w->problem, &w->scores, best));
    expect_real(c, member(at, "transition_weight"), w->weight);
}

/* ---- results ---- */

static void check_ratio(struct checker *c, const struct workload *w, const struct hwwfc_run *run,
                        double exact, const struct json *exact_states, const struct json *at)
{
    const size_t n = w->problem.layer_count;
    size_t *states = arena_array(c->scratch, size_t, n);
    struct hwwfc_edges edges;
    bool same = exact_states->count == n;
    if (!run->success || exact_states->kind != JSON_ARRAY)
        return;
    for (size_t i = 0; i < n; i++)
        states[i] = (size_t)run->states[i];
    for (size_t i = 0; same && i < n; i++)
        same = exact_states->items[i].integer == run->states[i];
    hwwfc_edges(c->scratch, &w->problem, &edges);
    double objective = hwwfc_objective(&w->problem, &w->scores, &edges, w->weight, states);
    expect_real(c, member(at, "wfc_over_exact"), objective / exact);
    expect_bool(c, member(at, "wfc_same_states_as_exact"), same);
    expect_states_text(c, member(at, "wfc_states_text"), w->problem.tiles, states, n);
}

/* Up to rounding, for sums that are made in another order; not made when it takes too long. */
static void check_optimum(struct checker *c, const struct workload *w, const struct json *at)
{
    const struct factor_options options = {.steps_max = EXACT_STEPS};
    struct factor_result exact;
    struct factor_graph graph;
    double recorded;
    struct err err;
    hwwfc_graph(c->scratch, &w->problem, &w->scores, w->weight, INFINITY, &graph);
    factor_solve(c->scratch, &graph, &options, &exact);
    if (exact.claim != FACTOR_OPTIMAL)
        return;
    double optimum = -exact.best[0].cost;
    if (at != NULL && json_number(at, &recorded, &err) &&
        fabs(recorded - optimum) <= 1e-12 * fabs(optimum))
        optimum = recorded;
    expect_real(c, at, optimum);
}

/* The exact optimum of a graph is recorded as states; its objective must follow from them, and no
 * assignment may have a better one. */
static bool check_graph_exact(struct checker *c, const struct workload *w, const struct json *at,
                              struct err *err)
{
    const struct json *list;
    const size_t n = w->problem.layer_count;
    size_t *states = arena_array(c->scratch, size_t, n);
    struct hwwfc_edges edges;
    if (!json_need_array(at, "states", n, n, &list, err))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (list->items[i].kind != JSON_INT || list->items[i].integer < 0 ||
            (size_t)list->items[i].integer >= hwwfc_state_count(w->problem.tiles))
            return json_fail(&list->items[i], err, "expected a state id");
        states[i] = (size_t)list->items[i].integer;
    }
    hwwfc_edges(c->scratch, &w->problem, &edges);
    expect_real(c, member(at, "objective"),
                hwwfc_objective(&w->problem, &w->scores, &edges, w->weight, states));
    check_optimum(c, w, member(at, "objective"));
    if (member(at, "states_text") != NULL)
        expect_states_text(c, member(at, "states_text"), w->problem.tiles, states, n);
    return true;
}

static bool check_workload(struct checker *c, const struct hwwfc_spec *spec, const struct json *at,
                           struct err *err)
{
    const struct json *runs, *dp = member(at, "dp"), *list = member(at, "dp_list_order");
    const struct json *graph = member(at, "graph_exact_EXTENSION");
    const struct json *exact = dp != NULL ? dp : graph, *states;
    struct hwwfc_run run = {0}, first = {0};
    struct workload w;
    if (!load(c, at->key, spec, at, &w, err) || !json_need(at, "wfc", JSON_ARRAY, &runs, err))
        return false;
    check_candidates(c, &w, at);
    for (size_t i = 0; i < runs->count; i++) {
        if (!check_run(c, &w.problem, &w.scores, &runs->items[i], &run, err))
            return false;
        first = i == 0 ? run : first;
    }
    if (dp != NULL)
        check_best(c, &w.problem, &w.scores, w.weight, dp);
    if (list != NULL)
        check_best(c, &w.problem, &w.scores, w.weight, list);
    if (dp != NULL)
        check_optimum(c, &w, member(dp, "score"));
    if (graph != NULL && !check_graph_exact(c, &w, graph, err))
        return false;
    if (exact == NULL || runs->count == 0)
        return true;
    double best;
    if (!json_need(exact, "states", JSON_ARRAY, &states, err) ||
        !json_need_real(exact, dp != NULL ? "score" : "objective", &best, err))
        return false;
    check_ratio(c, &w, &first, best, states, at);
    return true;
}

/* ---- workloads, truncated search ---- */

static bool check_layers(struct checker *c, const struct json *workload, struct err *err)
{
    const struct hwwfc_spec any = {65536, 1, 1, 1, 1};
    const struct json *edges = member(workload, "edges");
    const struct json *layers = member(workload, "layers");
    struct hwwfc_edges computed;
    struct workload w;
    if (!load(c, workload->key, &any, workload, &w, err))
        return false;
    for (size_t i = 0; i < w.problem.layer_count; i++)
        expect_int(c, member(&layers->items[i], "flops"), w.scores.flops[i]);
    hwwfc_edges(c->scratch, &w.problem, &computed);
    if (member(workload, "chain") != NULL)
        expect_bool(c, member(workload, "chain"), !w.problem.graph);
    if (edges != NULL && expect_count(c, edges, computed.count))
        for (size_t i = 0; i < computed.count; i++)
            expect_states(c, &edges->items[i], computed.pairs[i], 2);
    return true;
}

static bool check_truncated(struct checker *c, const struct hwwfc_spec *spec, const struct json *at,
                            struct err *err)
{
    const struct json *lists = member(at, "top8_ids"), *best = member(at, "best_states");
    int64_t combinations = 1;
    struct hwwfc_best found;
    struct workload w;
    if (!load(c, STR_LIT("attention_block"), spec, at, &w, err))
        return false;
    if (expect_count(c, lists, w.problem.layer_count))
        for (size_t i = 0; i < w.problem.layer_count; i++) {
            uint16_t *ids =
                arena_array(c->scratch, uint16_t, w.problem.layers[i].candidate_count + 1);
            size_t count = hwwfc_filter(&w.problem, i, ids);
            hwwfc_rank(w.scores.of[i], ids, count);
            count = count < TOP_OF_EXHAUSTIVE ? count : TOP_OF_EXHAUSTIVE;
            combinations *= (int64_t)count;
            expect_ids(c, &lists->items[i], ids, count);
        }
    if (member(at, "top_k") != NULL)
        expect_int(c, member(at, "top_k"), TOP_OF_EXHAUSTIVE);
    if (best == NULL)
        return true;
    hwwfc_truncated(c->scratch, &w.problem, &w.scores, w.weight, TOP_OF_EXHAUSTIVE, &found);
    if (!found.found)
        return json_fail(at, err, "there are too many combinations to try");
    expect_int(c, member(at, "combinations"), combinations);
    expect_real(c, member(at, "best_score"), found.score);
    expect_states(c, best, found.states, w.problem.layer_count);
    return true;
}

/* One step with an arena of its own. */
static bool apart(struct checker *c,
                  bool (*step)(struct checker *, const struct hwwfc_spec *, const struct json *,
                               struct err *),
                  const struct hwwfc_spec *spec, const struct json *at, struct err *err)
{
    struct arena scratch;
    arena_init(&scratch, scratch_bytes_max);
    c->scratch = &scratch;
    bool fine = step(c, spec, at, err);
    arena_release(&scratch);
    return fine;
}

static bool layers_step(struct checker *c, const struct hwwfc_spec *spec UNUSED,
                        const struct json *at, struct err *err)
{
    return check_layers(c, at, err);
}

static bool results_step(struct checker *c, const struct hwwfc_spec *spec, const struct json *at,
                         struct err *err)
{
    for (size_t i = 0; i < at->count; i++) {
        struct arena *outer = c->scratch;
        bool fine = apart(c, check_workload, spec, &at->items[i], err);
        c->scratch = outer;
        if (!fine)
            return false;
    }
    return true;
}

/* A section whose members are named after specs. */
static bool by_spec(struct checker *c, const char *section,
                    bool (*step)(struct checker *, const struct hwwfc_spec *, const struct json *,
                                 struct err *),
                    struct err *err)
{
    const struct json *all = member(c->document, section);
    if (all != NULL && all->kind != JSON_OBJECT)
        return json_fail(all, err, "expected an object");
    for (size_t i = 0; all != NULL && i < all->count; i++) {
        const struct hwwfc_spec *spec;
        if (all->items[i].kind != JSON_OBJECT)
            return json_fail(&all->items[i], err, "expected an object");
        if (!checker_spec(c, all->keys[i], all, &spec, err) ||
            !apart(c, step, spec, &all->items[i], err))
            return false;
    }
    return true;
}

bool check_results(struct checker *c, struct err *err)
{
    const struct json *workloads = member(c->document, "workloads");
    if (workloads != NULL && workloads->kind != JSON_OBJECT)
        return json_fail(workloads, err, "expected an object");
    for (size_t i = 0; workloads != NULL && i < workloads->count; i++)
        if (!apart(c, layers_step, NULL, &workloads->items[i], err))
            return false;
    return by_spec(c, "results", results_step, err) &&
           by_spec(c, "attention_truncated_exhaustive", check_truncated, err);
}
