/*
 * HW-WFC's defects: each is shown in the preset, which has to have it, and absent in the native
 * solvers on the same problem.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"

#include "solver/sched/sched.h"
#include "tests/unit/unit.h"

static const size_t arena_bytes_max = (size_t)1 << 30;
static const struct hwwfc_spec stress = {12288, 900, 19000, 312000, 64};
static const struct hwwfc_spec toy = {65536, 900, 19000, 312000, 128};

/* A problem with its scores, for both kinds of solver. */
struct both {
    struct hwwfc_problem problem;
    struct hwwfc_scores scores;
    struct factor_graph graph;
    struct hwwfc_run preset;
};

static struct hwwfc_layer layer_of(struct arena *arena, enum hwwfc_type type, size_t count,
                                   const uint16_t *candidates)
{
    uint16_t *copy = arena_array(arena, uint16_t, count);
    memcpy(copy, candidates, count * sizeof(*copy));
    return (struct hwwfc_layer){
        .name = STR_LIT("layer"),
        .type = type,
        .dims = {{STR_LIT("M"), 256}, {STR_LIT("N"), 512}, {STR_LIT("K"), 256}},
        .dim_count = type == HWWFC_LINEAR ? 3 : 2,
        .candidates = copy,
        .candidate_count = count};
}

static struct hwwfc_layer whole_layer(struct arena *arena, enum hwwfc_type type)
{
    uint16_t all[66];
    for (size_t i = 0; i < COUNT_OF(all); i++)
        all[i] = (uint16_t)i;
    return layer_of(arena, type, COUNT_OF(all), all);
}

static void prepare(struct arena *arena, struct both *b, const struct hwwfc_spec *spec,
                    const struct hwwfc_layer *layers, size_t count, bool graph, double threshold)
{
    const struct hwwfc_options options = {
        .threshold = threshold, .weight = -1, .backtracks_max = 10};
    struct err err = {0};
    b->problem =
        (struct hwwfc_problem){spec, hwwfc_tiles_named(STR_LIT("default")), layers, count, graph};
    assert_ok(hwwfc_scores(arena, &b->problem, &b->scores, &err));
    hwwfc_graph(arena, &b->problem, &b->scores, hwwfc_weight(spec->sram_bytes), threshold,
                &b->graph);
    assert_ok(hwwfc_collapse(arena, &b->problem, &b->scores, &options, &b->preset, &err));
}

static struct factor_result wfc(struct arena *arena, const struct both *b)
{
    struct factor_result result;
    factor_wfc(arena, &b->graph, &(struct factor_options){0}, &result);
    return result;
}

/* A chain of four kinds of layer in turn, 2 to 5 candidates each that pass the hard limits. */
static const struct hwwfc_layer *random_chain(struct arena *arena, struct rng *rng, size_t count)
{
    static const enum hwwfc_type kinds[] = {HWWFC_LINEAR, HWWFC_SOFTMAX, HWWFC_RELU,
                                            HWWFC_LAYERNORM};
    struct hwwfc_layer *layers = arena_array(arena, struct hwwfc_layer, count);
    for (size_t i = 0; i < count; i++) {
        struct hwwfc_layer all = whole_layer(arena, kinds[i % COUNT_OF(kinds)]);
        struct hwwfc_problem problem = {&stress, hwwfc_tiles_named(STR_LIT("default")), &all, 1,
                                        false};
        uint16_t kept[66], chosen[5];
        const size_t kept_count = hwwfc_filter(&problem, 0, kept);
        const size_t chosen_count = 2 + rng_below(rng, 4);
        for (size_t k = 0; k < chosen_count; k++)
            chosen[k] = kept[rng_below(rng, (uint32_t)kept_count)];
        layers[i] = layer_of(arena, all.type, chosen_count, chosen);
    }
    return layers;
}

/* The preset spends its budget on innocent layers and fails where solutions exist; the native one
 * jumps over them, and says "impossible" only where dynamic programming says so too. */
static void test_backtracks_hit_the_guilty(void **state UNUSED)
{
    enum { CHAINS = 1500, LAYERS = 16 };
    size_t feasible = 0, preset_failures = 0;
    struct rng rng;
    rng_init(&rng, 1);
    for (int i = 0; i < CHAINS; i++) {
        struct arena arena;
        struct both b;
        struct factor_result exact;
        arena_init(&arena, arena_bytes_max);
        prepare(&arena, &b, &stress, random_chain(&arena, &rng, LAYERS), LAYERS, false, 1.0);
        factor_chain(&arena, &b.graph, &(struct factor_options){0}, &exact);
        struct factor_result found = wfc(&arena, &b);
        assert_int_equal(found.count > 0, exact.count > 0);
        assert_int_equal(found.claim == FACTOR_IMPOSSIBLE, exact.claim == FACTOR_IMPOSSIBLE);
        assert_int_equal(found.counters.restarts, 0);
        feasible += exact.count > 0;
        preset_failures += exact.count > 0 && !b.preset.success;
        arena_release(&arena);
    }
    assert_true(feasible > 100);
    assert_true(preset_failures > 0);
}

static double worst_penalty(const struct both *b, struct arena *arena, const size_t *states)
{
    struct hwwfc_edges edges;
    double worst = 0;
    hwwfc_edges(arena, &b->problem, &edges);
    for (size_t i = 0; i < edges.count; i++) {
        struct hwwfc_state x = hwwfc_state(b->problem.tiles, states[edges.pairs[i][0]]);
        struct hwwfc_state y = hwwfc_state(b->problem.tiles, states[edges.pairs[i][1]]);
        worst = fmax(worst, hwwfc_penalty(&x, &y));
    }
    return worst;
}

/* A ring with chords. */
static const struct hwwfc_layer *random_ring(struct arena *arena, struct rng *rng, size_t count)
{
    struct hwwfc_layer *layers = (struct hwwfc_layer *)random_chain(arena, rng, count);
    for (size_t k = 0; k < count; k++) {
        size_t *neighbors = arena_array(arena, size_t, 3);
        neighbors[0] = (k + 1) % count;
        neighbors[1] = (k + count - 1) % count;
        neighbors[2] = (k + count / 2) % count;
        layers[k].neighbors = neighbors;
        layers[k].neighbor_count = 3;
    }
    return layers;
}

/* In a ring with chords a wave of the preset meets a layer before its neighbour collapses. */
static void test_threshold_holds_on_the_result(void **state UNUSED)
{
    enum { GRAPHS = 3000, LAYERS = 6 };
    size_t preset_broken = 0, found = 0;
    struct rng rng;
    rng_init(&rng, 2);
    for (int i = 0; i < GRAPHS; i++) {
        struct arena arena;
        struct both b;
        size_t states[LAYERS];
        arena_init(&arena, arena_bytes_max);
        prepare(&arena, &b, &stress, random_ring(&arena, &rng, LAYERS), LAYERS, true, 1.1);
        for (size_t k = 0; b.preset.success && k < LAYERS; k++)
            states[k] = (size_t)b.preset.states[k];
        preset_broken += b.preset.success && worst_penalty(&b, &arena, states) > 1.1;
        struct factor_result result = wfc(&arena, &b);
        if (result.count > 0) {
            hwwfc_graph_states(&b.problem, &b.graph, result.best[0].values, states);
            assert_true(worst_penalty(&b, &arena, states) <= 1.1);
            found++;
        }
        arena_release(&arena);
    }
    assert_true(found > 50);
    assert_true(preset_broken > 0);
}

/* check4b: the ends contradict each other across the middle.  Seen before any decision, with proof;
 * the preset decides, backtracks and reports an empty result. */
static void test_contradictions_are_seen_at_once(void **state UNUSED)
{
    struct arena arena;
    struct both b;
    arena_init(&arena, arena_bytes_max);
    const struct hwwfc_layer layers[] = {
        layer_of(&arena, HWWFC_LINEAR, 1, (const uint16_t[]){12}),
        layer_of(&arena, HWWFC_RELU, 2, (const uint16_t[]){12, 14}),
        layer_of(&arena, HWWFC_LINEAR, 1, (const uint16_t[]){14})};
    prepare(&arena, &b, &toy, layers, 3, false, 0.5);
    assert_false(b.preset.success);
    assert_int_equal(b.preset.backtracks, 1);
    struct factor_result result = wfc(&arena, &b);
    assert_int_equal(result.claim, FACTOR_IMPOSSIBLE);
    assert_int_equal(result.counters.steps, 0);
    assert_true(result.counters.removals > 0);
    arena_release(&arena);
}

/* An adaptive threshold or a history would make the second call another one. */
static void test_calls_leave_nothing_behind(void **state UNUSED)
{
    struct arena arena;
    struct both b;
    struct rng rng;
    arena_init(&arena, arena_bytes_max);
    rng_init(&rng, 7);
    prepare(&arena, &b, &stress, random_chain(&arena, &rng, 30), 30, false, 1.6);
    struct factor_result first = wfc(&arena, &b), second = wfc(&arena, &b);
    assert_int_equal(first.claim, second.claim);
    assert_int_equal(first.count, second.count);
    assert_memory_equal(&first.counters, &second.counters, sizeof(first.counters));
    for (size_t i = 0; i < first.count; i++)
        assert_memory_equal(first.best[i].values, second.best[i].values, 30 * sizeof(uint16_t));
    arena_release(&arena);
}

/* In a graph where it has no neighbour, the middle one's row-major choice is flipped by the layers
 * beside it in the list: by the preset, not here. */
static void test_lonely_layers_are_alone(void **state UNUSED)
{
    static const size_t last[] = {2}, first[] = {0};
    struct arena arena;
    struct both b;
    size_t states[3];
    arena_init(&arena, arena_bytes_max);
    struct hwwfc_layer layers[] = {layer_of(&arena, HWWFC_LINEAR, 1, (const uint16_t[]){14}),
                                   layer_of(&arena, HWWFC_SOFTMAX, 2, (const uint16_t[]){6, 8}),
                                   layer_of(&arena, HWWFC_LINEAR, 1, (const uint16_t[]){14})};
    layers[0].neighbors = last;
    layers[2].neighbors = first;
    layers[0].neighbor_count = layers[2].neighbor_count = 1;
    prepare(&arena, &b, &stress, layers, 3, true, 3.0);
    assert_int_equal(b.preset.states[1], 8);
    struct factor_result result = wfc(&arena, &b);
    hwwfc_graph_states(&b.problem, &b.graph, result.best[0].values, states);
    assert_int_equal(states[1], 6);
    arena_release(&arena);
}

/* Only the first names the second.  The edge holds all the same: there is no legal assignment,
 * which the preset does not notice. */
static void test_one_sided_neighbours_count(void **state UNUSED)
{
    static const size_t second[] = {1};
    struct arena arena;
    struct both b;
    arena_init(&arena, arena_bytes_max);
    struct hwwfc_layer layers[] = {layer_of(&arena, HWWFC_RELU, 1, (const uint16_t[]){12}),
                                   layer_of(&arena, HWWFC_LINEAR, 1, (const uint16_t[]){14})};
    layers[0].neighbors = second;
    layers[0].neighbor_count = 1;
    prepare(&arena, &b, &stress, layers, 2, true, 0.1);
    assert_true(b.preset.success);
    assert_true(worst_penalty(&b, &arena, (const size_t[]){12, 14}) > 0.1);
    assert_int_equal(wfc(&arena, &b).claim, FACTOR_IMPOSSIBLE);
    arena_release(&arena);
}

/* The graph is the preset's problem: its dynamic programming and ours agree. */
static void test_optima_agree(void **state UNUSED)
{
    struct rng rng;
    rng_init(&rng, 9);
    for (size_t i = 0; i < 300; i++) {
        struct arena arena;
        struct both b;
        struct hwwfc_best preset;
        struct factor_result exact;
        arena_init(&arena, arena_bytes_max);
        const size_t count = 1 + i % 20;
        prepare(&arena, &b, &stress, random_chain(&arena, &rng, count), count, false, INFINITY);
        hwwfc_viterbi(&arena, &b.problem, &b.scores, hwwfc_weight(stress.sram_bytes), &preset);
        factor_chain(&arena, &b.graph, &(struct factor_options){0}, &exact);
        assert_true(preset.found && exact.claim == FACTOR_OPTIMAL);
        assert_true(fabs(preset.score + exact.best[0].cost) < 1e-12 * (double)count);
        arena_release(&arena);
    }
}

/* What a limit removed is known by limit, with how far the nearest state is over it. */
static void test_removals_have_reasons(void **state UNUSED)
{
    struct arena arena;
    struct both b;
    arena_init(&arena, arena_bytes_max);
    const struct hwwfc_layer layer = whole_layer(&arena, HWWFC_SOFTMAX);
    prepare(&arena, &b, &stress, &layer, 1, false, INFINITY);
    const struct factor_domain *domain = b.graph.variables[0].domain;
    assert_int_equal(domain->offered, 66);
    assert_int_equal(domain->count, 33);
    assert_int_equal(domain->limit_count, HWWFC_LIMIT_COUNT);
    assert_string_equal(domain->limits[HWWFC_WORKING_MEMORY], "working memory");
    /* over 12288 bytes: 64x64, 128x128, 32x128, 128x32, 64x128, 128x64 */
    assert_int_equal(domain->removals[HWWFC_CAPACITY].removed, 6 * 3);
    assert_true(domain->removals[HWWFC_CAPACITY].over_least == 16384 - 12288);
    assert_int_equal(domain->removals[HWWFC_ALIGNMENT].removed, 6);
    assert_int_equal(domain->removals[HWWFC_WORKING_MEMORY].removed, 3 * 3);
    assert_true(domain->removals[HWWFC_WORKING_MEMORY].over_least == 16384 - 12288);
    assert_true(domain->removals[HWWFC_WORKING_MEMORY].slack_least == 12288 - 4096);
    arena_release(&arena);
}

/* The preset's collapse is quadratic in layers; a decision a layer, and each layer is rated when a
 * neighbour changes, is linear. */
static void test_work_is_linear(void **state UNUSED)
{
    enum { LAYERS = 1000 };
    struct arena arena;
    struct both b;
    arena_init(&arena, arena_bytes_max);
    struct hwwfc_layer *layers = arena_array(&arena, struct hwwfc_layer, LAYERS);
    layers[0] = whole_layer(&arena, HWWFC_LINEAR);
    layers[1] = whole_layer(&arena, HWWFC_RELU);
    for (size_t i = 2; i < LAYERS; i++)
        layers[i] = layers[i - 2];
    prepare(&arena, &b, &toy, layers, LAYERS, false, 1.5);
    struct factor_result result = wfc(&arena, &b), exact;
    assert_int_equal(result.counters.steps, LAYERS);
    assert_int_equal(result.counters.backtracks, 0);
    factor_chain(&arena, &b.graph, &(struct factor_options){0}, &exact);
    assert_true(exact.counters.reused > LAYERS - 50);
    assert_true(result.best[0].cost >= exact.best[0].cost - 1e-9);
    arena_release(&arena);
}

/* A failure says why and how much was done: the preset leaves zeros. */
static void test_failures_have_numbers(void **state UNUSED)
{
    struct arena arena;
    struct both b;
    arena_init(&arena, arena_bytes_max);
    const struct hwwfc_layer layers[] = {
        layer_of(&arena, HWWFC_LINEAR, 1, (const uint16_t[]){12}),
        layer_of(&arena, HWWFC_RELU, 2, (const uint16_t[]){12, 14}),
        layer_of(&arena, HWWFC_LINEAR, 1, (const uint16_t[]){14})};
    prepare(&arena, &b, &toy, layers, 3, false, 0.5);
    assert_false(b.preset.success);
    assert_int_equal(b.preset.final, 0);
    assert_true(b.preset.final_threshold == 0);
    static void (*const solvers[])(struct arena *, const struct factor_graph *,
                                   const struct factor_options *, struct factor_result *) = {
        factor_chain, factor_eliminate, factor_bnb, factor_beam, factor_wfc, factor_solve};
    for (size_t i = 0; i < COUNT_OF(solvers); i++) {
        struct factor_result result;
        solvers[i](&arena, &b.graph, &(struct factor_options){0}, &result);
        assert_int_equal(result.claim, FACTOR_IMPOSSIBLE);
        assert_int_equal(result.count, 0);
        assert_true(result.bound == INFINITY);
        assert_null(result.stopped);
        const struct factor_counters *c = &result.counters;
        assert_true(c->steps + c->moves + c->removals > 0);
    }
    /* past a limit the counters say how far it came, and what it would have needed */
    struct factor_result stopped;
    factor_eliminate(&arena, &b.graph, &(struct factor_options){.steps_max = 1}, &stopped);
    assert_int_equal(stopped.claim, FACTOR_UNKNOWN);
    assert_non_null(stopped.stopped);
    assert_true(stopped.counters.states > 0);
    arena_release(&arena);
}

/* "The adapted threshold is not undone on backtrack": here it is part of the tables, and after
 * backtracks they and the result's penalties are as they were. */
static void test_backtracks_leave_the_threshold(void **state UNUSED)
{
    enum { GRAPHS = 3000, LAYERS = 10 };
    size_t backtracked = 0;
    struct rng rng;
    rng_init(&rng, 1);
    for (int i = 0; i < GRAPHS; i++) {
        struct arena arena;
        struct both b;
        size_t states[LAYERS];
        arena_init(&arena, arena_bytes_max);
        prepare(&arena, &b, &stress, random_ring(&arena, &rng, LAYERS), LAYERS, true, 1.1);
        double *before[3 * LAYERS];
        for (size_t e = 0; e < b.graph.edge_count; e++) {
            const struct factor_table *table = b.graph.edges[e].table;
            before[e] = arena_array(&arena, double, table->rows * table->columns);
            memcpy(before[e], table->cost, table->rows * table->columns * sizeof(double));
        }
        struct factor_result result = wfc(&arena, &b);
        for (size_t e = 0; e < b.graph.edge_count; e++) {
            const struct factor_table *table = b.graph.edges[e].table;
            assert_memory_equal(before[e], table->cost,
                                table->rows * table->columns * sizeof(double));
        }
        if (result.count > 0) {
            hwwfc_graph_states(&b.problem, &b.graph, result.best[0].values, states);
            assert_true(worst_penalty(&b, &arena, states) <= 1.1);
            backtracked += result.counters.backtracks > 0;
        }
        arena_release(&arena);
    }
    assert_true(backtracked > 0);
}

static size_t alive_of(const struct hwwfc_pick *pick, size_t layer, const size_t *counts)
{
    return isnan(pick->entropies[layer]) ? SIZE_MAX : counts[layer];
}

struct order_tally {
    size_t picks, apart; /* first picks; where a layer of fewer candidates was open */
    size_t chains, same_cost, cheaper, dearer; /* results by entropy against those by count */
    int64_t backtracks, backtracks_by_count;
};

static void tally_first_pick(struct order_tally *t, struct arena *arena, struct both *b)
{
    const struct hwwfc_options options = {
        .threshold = INFINITY, .weight = -1, .backtracks_max = 10, .log_entropy = true};
    struct err err = {0};
    struct hwwfc_run run;
    size_t *counts = arena_array(arena, size_t, b->problem.layer_count);
    assert_ok(hwwfc_collapse(arena, &b->problem, &b->scores, &options, &run, &err));
    if (run.pick_count == 0 || run.picks[0].layer == HWWFC_NONE)
        return;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < b->problem.layer_count; i++) {
        counts[i] = b->graph.variables[i].domain->count;
        const size_t alive = alive_of(&run.picks[0], i, counts);
        least = alive < least ? alive : least;
    }
    t->picks++;
    t->apart += counts[run.picks[0].layer] > least;
}

/* "Entropy order carries almost no information beyond the candidate count."  Measured, not judged:
 * how often the first pick is not a layer of fewest candidates, and what the native search finds
 * with either order. */
static void test_what_entropy_knows_beyond_counts(void **state UNUSED)
{
    enum { CHAINS = 1000, LAYERS = 16 };
    struct order_tally t = {0};
    struct rng rng;
    rng_init(&rng, 5);
    for (int i = 0; i < CHAINS; i++) {
        struct arena arena;
        struct both b;
        struct factor_result by_count;
        arena_init(&arena, arena_bytes_max);
        prepare(&arena, &b, &stress, random_chain(&arena, &rng, LAYERS), LAYERS, false, 1.6);
        tally_first_pick(&t, &arena, &b);
        const struct factor_result by_entropy = wfc(&arena, &b);
        factor_wfc(&arena, &b.graph, &(struct factor_options){.by_count = true}, &by_count);
        assert_int_equal(by_entropy.count, by_count.count);
        t.backtracks += by_entropy.counters.backtracks;
        t.backtracks_by_count += by_count.counters.backtracks;
        if (by_entropy.count > 0) {
            const double gain = by_count.best[0].cost - by_entropy.best[0].cost;
            t.chains++;
            t.same_cost += fabs(gain) <= 1e-9;
            t.cheaper += gain > 1e-9;
            t.dearer += gain < -1e-9;
        }
        arena_release(&arena);
    }
    print_message("first picks: %zu of %zu have more candidates than another layer\n", t.apart,
                  t.picks);
    print_message("%zu chains: entropy order cheaper in %zu, as dear in %zu, dearer in %zu; "
                  "backtracks %lld, by count %lld\n",
                  t.chains, t.cheaper, t.same_cost, t.dearer, (long long)t.backtracks,
                  (long long)t.backtracks_by_count);
    assert_true(t.picks > CHAINS / 2 && t.chains > 100);
    assert_int_equal(t.same_cost + t.cheaper + t.dearer, t.chains);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backtracks_hit_the_guilty),
        cmocka_unit_test(test_threshold_holds_on_the_result),
        cmocka_unit_test(test_contradictions_are_seen_at_once),
        cmocka_unit_test(test_calls_leave_nothing_behind),
        cmocka_unit_test(test_lonely_layers_are_alone),
        cmocka_unit_test(test_one_sided_neighbours_count),
        cmocka_unit_test(test_optima_agree),
        cmocka_unit_test(test_removals_have_reasons),
        cmocka_unit_test(test_work_is_linear),
        cmocka_unit_test(test_failures_have_numbers),
        cmocka_unit_test(test_backtracks_leave_the_threshold),
        cmocka_unit_test(test_what_entropy_knows_beyond_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
