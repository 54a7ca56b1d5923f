/*
 * Covers of random ops, through the parser: dynamic programming over cuts, every solver of the
 * factor graph, and all covers with all choices, priced as whole plans.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/rng.h"

#include "agent/bench_networks.h"
#include "solver/sched/sched.h"
#include "synth/synth.h"
#include "tests/integration/library.h"
#include "tests/unit/solver/ir/scores_zoo.h"

enum {
    OPS = 300,
    STMTS_MAX = 6,
    SIDE = 64,
    LARGE_SIDE = 4096,
    BEST = 4,
    COVERS_MAX = 1 << 16,
    CIRCLE_OPS = 200,
    CIRCLE_STMTS = 12,
    BRUTE_STMTS_MAX = 5 /* of specs with scores, which are one region in many ways */
};
static const size_t arena_bytes_max = (size_t)4 << 30;
static const double tolerance = 1e-9; /* relative */
static const struct skeleton_limits limits = {.arch = "sm_90a", .threads_max = 1024};
static const struct skeleton_limits realisable = {
    .arch = "sm_90a", .threads_max = 1024, .realisable = true};

struct sample {
    const struct bound_op *bound;
    struct structures structures;
    struct candidates candidates;
    struct cover_problem problem;
};

static bool near(double a, double b)
{
    return fabs(a - b) <= tolerance * fabs(b);
}

static const struct bound_op *parse(struct arena *arena, struct str text)
{
    struct err err = {0};
    const struct op *op;
    const struct bound_op *bound = NULL;
    if (!op_parse(arena, text, "sample", NULL, &op, &err) ||
        !op_bind_shape(arena, op, &op->targets[0], &bound, &err))
        fail_msg("%s\n%.*s", err.text, STR_ARG(text));
    return bound;
}

static void prepare_for(struct arena *arena, const struct bound_op *bound,
                        const struct skeleton_limits *own, const char *machine, size_t best,
                        struct sample *out)
{
    struct err err = {0};
    out->bound = bound;
    structure_of(arena, bound, NULL, &out->structures);
    candidates_find(arena, bound, NULL, own, &out->structures, &out->candidates);
    assert_ok(cover_problem(arena, &out->candidates, plans_machine(arena, machine), best,
                            &out->problem, &err));
}

static void prepare(struct arena *arena, const struct bound_op *bound, const char *machine,
                    size_t best, struct sample *out)
{
    prepare_for(arena, bound, &limits, machine, best, out);
}

/* ---- all covers ---- */

struct oracle {
    struct arena *arena;
    const struct sample *sample;
    struct cover_pick picks[64];
    size_t count;
    bool done[64];
    double costs[COVERS_MAX];
    size_t found;
};

/* Regions in an order that runs, if there is one. */
static bool order(const struct oracle *o, struct cover_pick *out)
{
    const struct cover_problem *p = &o->sample->problem;
    bool done[64] = {false}, placed[64] = {false};
    for (size_t at = 0; at < o->count; at++) {
        size_t next = 0;
        for (; next < o->count; next++) {
            const struct cover_item *item = &p->items[o->picks[next].item];
            bool ready = !placed[next];
            for (size_t r = 0; r < item->read_count; r++)
                ready = ready && done[item->reads[r].writer];
            if (ready)
                break;
        }
        if (next == o->count)
            return false;
        placed[next] = true;
        out[at] = o->picks[next];
        for (size_t k = 0; k < p->items[out[at].item].candidate->stmt_count; k++)
            done[p->items[out[at].item].candidate->stmts[k]] = true;
    }
    return true;
}

static void price_cover(struct oracle *o)
{
    struct cover_pick picks[64];
    struct plan_cost cost;
    struct err err = {0};
    struct arena scratch;
    if (!order(o, picks))
        return;
    arena_init(&scratch, arena_bytes_max);
    const struct plan *plan = cover_plan(&scratch, &o->sample->problem, picks, o->count);
    assert_ok(plan_check(plan, o->sample->bound->op, &err));
    cost_plan(&scratch, plan, o->sample->bound, o->sample->problem.machine, &cost);
    if (!near(cover_cost(&scratch, &o->sample->problem, picks, o->count), cost.seconds))
        fail_msg("cover_cost %.17g, cost_plan %.17g",
                 cover_cost(&scratch, &o->sample->problem, picks, o->count), cost.seconds);
    assert_true(o->found < COVERS_MAX);
    o->costs[o->found++] = cost.seconds;
    arena_release(&scratch);
}

/* Each statement in turn goes into each candidate whose statements are free. */
static void all_covers(struct oracle *o, size_t stmt)
{
    const struct cover_problem *p = &o->sample->problem;
    while (stmt < o->sample->bound->op->stmt_count && o->done[stmt])
        stmt++;
    if (stmt == o->sample->bound->op->stmt_count) {
        price_cover(o);
        return;
    }
    for (size_t i = 0; i < p->item_count; i++) {
        const struct candidate_set *candidate = p->items[i].candidate;
        bool fits = candidate->stmts[0] == stmt;
        for (size_t k = 0; k < candidate->stmt_count; k++)
            fits = fits && !o->done[candidate->stmts[k]];
        if (!fits)
            continue;
        for (size_t k = 0; k < candidate->stmt_count; k++)
            o->done[candidate->stmts[k]] = true;
        for (size_t x = 0; x < p->items[i].domain->count; x++) {
            o->picks[o->count++] = (struct cover_pick){i, x};
            all_covers(o, stmt + 1);
            o->count--;
        }
        for (size_t k = 0; k < candidate->stmt_count; k++)
            o->done[candidate->stmts[k]] = false;
    }
}

static int by_cost(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static struct oracle *oracle_of(struct arena *arena, const struct sample *sample)
{
    struct oracle *o = arena_new(arena, struct oracle);
    o->arena = arena;
    o->sample = sample;
    all_covers(o, 0);
    qsort(o->costs, o->found, sizeof(*o->costs), by_cost);
    return o;
}

/* ---- the solvers ---- */

static void check_cuts(struct arena *arena, const struct sample *sample, const struct oracle *o)
{
    struct cover_result result;
    cover_solve(arena, &sample->problem, 0, &result);
    assert_int_equal(result.claim, FACTOR_OPTIMAL);
    assert_int_equal(result.count, o->found < BEST ? o->found : BEST);
    for (size_t i = 0; i < result.count; i++) {
        struct plan_cost cost;
        const struct plan *plan =
            cover_plan(arena, &sample->problem, result.best[i].picks, result.best[i].count);
        cost_plan(arena, plan, sample->bound, sample->problem.machine, &cost);
        if (!near(result.best[i].cost, o->costs[i]) || !near(cost.seconds, o->costs[i]))
            fail_msg("cover %zu: %.17g said, %.17g is, %.17g by brute force", i,
                     result.best[i].cost, cost.seconds, o->costs[i]);
        for (size_t k = 0; k < i; k++) {
            const struct plan *other =
                cover_plan(arena, &sample->problem, result.best[k].picks, result.best[k].count);
            const struct hash x = plan_hash(plan), y = plan_hash(other);
            assert_false(hash_equal(&x, &y));
        }
    }
}

/* How many circles had to be forbidden, of all solvers. */
static size_t check_graph(struct arena *arena, const struct sample *sample, const struct oracle *o)
{
    static const struct {
        const char *name;
        void (*solve)(struct arena *, const struct factor_graph *, const struct factor_options *,
                      struct factor_result *);
        bool exact;
    } solvers[] = {{"eliminate", factor_eliminate, true},
                   {"solve", factor_solve, true},
                   {"bnb", factor_bnb, true},
                   {"beam", factor_beam, false},
                   {"wfc", factor_wfc, false},
                   {"brute", factor_brute, true}};
    struct cover_graph graph;
    struct err err = {0};
    size_t circles = 0;
    assert_ok(cover_graph(arena, &sample->problem, &graph, &err));
    for (size_t i = 0; i < COUNT_OF(solvers); i++) {
        struct cover_graph_result found;
        const struct factor_result *result = &found.result;
        if (!cover_graph_solve(arena, &sample->problem, &graph, solvers[i].solve,
                               &(struct factor_options){.best_count = 2}, &found)) {
            assert_int_equal(result->claim, FACTOR_UNKNOWN);
            continue;
        }
        circles += found.circles;
        assert_true(near(result->best[0].cost, cover_cost(arena, &sample->problem,
                                                          found.cover.picks, found.cover.count)));
        if (solvers[i].exact ? !near(result->best[0].cost, o->costs[0])
                             : result->best[0].cost < o->costs[0] * (1 - tolerance))
            fail_msg("%s: %.17g, brute force %.17g", solvers[i].name, result->best[0].cost,
                     o->costs[0]);
    }
    return circles;
}

/* Costs that make any regions of several statements the cheapest, those in circles too. */
static void draw_costs(struct arena *arena, struct rng *rng, const struct cover_problem *problem,
                       struct cover_graph *cover)
{
    struct factor_graph *graph = &cover->graph;
    struct factor_variable *variables =
        arena_array(arena, struct factor_variable, graph->variable_count);
    memcpy(variables, graph->variables, graph->variable_count * sizeof(*variables));
    for (size_t v = 0; v < graph->variable_count; v++) {
        double *unary = arena_array(arena, double, variables[v].domain->count + 1);
        for (size_t x = 0; x < variables[v].domain->count; x++)
            unary[x] = rng_u32(rng) / 0x1p32 -
                       (problem->items[cover->values[v][x].item].candidate->unit_count > 1 ? 1 : 0);
        variables[v].unary = unary;
    }
    graph->variables = variables;
}

/* The first of the cheapest assignments that is a cover; false: none of them is. */
static bool first_cover(struct arena *arena, const struct cover_problem *problem,
                        const struct cover_graph *graph, double *out)
{
    struct factor_result all;
    factor_eliminate(arena, &graph->graph, &(struct factor_options){.best_count = FACTOR_BEST_MAX},
                     &all);
    for (size_t i = 0; i < all.count; i++) {
        struct cover cover;
        *out = all.best[i].cost;
        if (cover_decode(arena, problem, graph, &all.best[i], &cover))
            return true;
    }
    return false;
}

/* A circle is forbidden and nothing else: the optimum is that of the covers without circles. */
static void test_circles_are_forbidden(void **state UNUSED)
{
    size_t circular = 0;
    struct rng rng;
    rng_init(&rng, 7);
    for (uint64_t seed = 0; seed < CIRCLE_OPS; seed++) {
        struct arena arena;
        struct sample sample;
        struct cover_graph graph;
        struct cover_graph_result found;
        struct err err = {0};
        double cost;
        arena_init(&arena, arena_bytes_max);
        prepare_for(&arena, parse(&arena, random_op_text(&arena, seed, CIRCLE_STMTS, SIDE)),
                    &realisable, "h200-sxm", 1, &sample);
        assert_ok(cover_graph(&arena, &sample.problem, &graph, &err));
        draw_costs(&arena, &rng, &sample.problem, &graph);
        if (first_cover(&arena, &sample.problem, &graph, &cost)) {
            assert_true(cover_graph_solve(&arena, &sample.problem, &graph, factor_solve,
                                          &(struct factor_options){0}, &found));
            assert_int_equal(found.result.claim, FACTOR_OPTIMAL);
            if (!near(found.result.best[0].cost, cost))
                fail_msg("seed %d: %.17g, the best cover %.17g", (int)seed,
                         found.result.best[0].cost, cost);
            circular += found.circles > 0;
        }
        arena_release(&arena);
    }
    printf("%zu of %d ops had a circle\n", circular, CIRCLE_OPS);
    assert_true(circular > 0);
}

static void test_against_all_covers(void **state UNUSED)
{
    static const char *const machines[] = {"h200-sxm", "rtx-3060", "l40s"};
    size_t covers = 0, circles = 0, largest = 0;
    for (uint64_t seed = 0; seed < OPS; seed++) {
        struct arena arena;
        struct sample sample;
        arena_init(&arena, arena_bytes_max);
        struct str text =
            random_op_text(&arena, seed, STMTS_MAX, seed % 2 == 0 ? SIDE : LARGE_SIDE);
        /* few choices, so that all of them can be tried; those for a model take long to price */
        const struct skeleton_limits *own = seed % 10 == 0 ? &limits : &realisable;
        prepare_for(&arena, parse(&arena, text), own, machines[seed % COUNT_OF(machines)],
                    seed % 3 == 0 ? BEST : 1, &sample);
        if (sample.bound->op->stmt_count > 4 && sample.problem.best > 1)
            prepare_for(&arena, sample.bound, own, machines[0], 1, &sample);
        struct oracle *o = oracle_of(&arena, &sample);
        if (sample.problem.best == BEST)
            check_cuts(&arena, &sample, o);
        else {
            struct cover_result result;
            cover_solve(&arena, &sample.problem, 0, &result);
            assert_int_equal(result.claim, FACTOR_OPTIMAL);
            if (!near(result.best[0].cost, o->costs[0]))
                fail_msg("seed %d: %.17g, brute force %.17g\n%.*s", (int)seed, result.best[0].cost,
                         o->costs[0], STR_ARG(text));
        }
        circles += check_graph(&arena, &sample, o);
        covers += o->found;
        largest = o->found > largest ? o->found : largest;
        arena_release(&arena);
    }
    printf("%d ops, %zu covers with choices (%zu at most), %zu circles\n", OPS, covers, largest,
           circles);
    assert_true(covers > 10 * OPS);
}

/* ---- candidates ---- */

/* By statement and statement: one reads the other (directly, or over others). */
struct relations {
    size_t count;
    bool reads[64][64], above[64][64], apart[64][64], near[64][64];
};

struct target_scan {
    size_t tensor;
    bool found;
};

static void scan_target(void *context, const struct expr *expr)
{
    struct target_scan *scan = context;
    scan->found |= expr->op == EXPR_READ && expr->tensor == scan->tensor;
}

static bool stmt_reads(const struct op *op, size_t stmt, size_t tensor)
{
    struct target_scan scan = {tensor, false};
    expr_walk(op->stmts[stmt].value, scan_target, &scan);
    return scan.found;
}

static void relate(const struct sample *sample, struct relations *r)
{
    const struct op *op = sample->bound->op;
    memset(r, 0, sizeof(*r));
    r->count = op->stmt_count;
    for (size_t a = 0; a < r->count; a++)
        for (size_t b = 0; b < r->count; b++) {
            r->reads[b][a] = r->above[b][a] = stmt_reads(op, b, op->stmts[a].target);
            r->near[a][b] |= r->reads[b][a];
            r->near[b][a] |= r->reads[b][a];
            for (size_t t = 0; t < op->tensor_count; t++)
                if (op->tensors[t].rank > 0 && stmt_reads(op, a, t) && stmt_reads(op, b, t) &&
                    op->stmts[a].loop_count == op->stmts[b].loop_count &&
                    op->stmts[a].free_count == op->stmts[b].free_count)
                    r->near[a][b] = true;
        }
    for (size_t k = 0; k < r->count; k++)
        for (size_t a = 0; a < r->count; a++)
            for (size_t b = 0; b < r->count; b++)
                r->above[b][a] |= r->above[b][k] && r->above[k][a];
    for (size_t i = 0; i < sample->structures.composition_count; i++) {
        const struct composition_note *note = &sample->structures.compositions[i];
        r->apart[note->from][note->to] = r->apart[note->to][note->from] |= !note->allowed;
    }
}

static bool is_candidate(const struct relations *r, unsigned set)
{
    unsigned seen = set & -set, before = 0;
    for (size_t a = 0; a < r->count; a++)
        for (size_t b = 0; b < r->count; b++)
            for (size_t k = 0; k < r->count; k++)
                if ((set >> a & 1) && (set >> b & 1) && !(set >> k & 1) && r->above[b][k] &&
                    r->above[k][a])
                    return false;
    while (seen != before) {
        before = seen;
        for (size_t a = 0; a < r->count; a++)
            for (size_t b = 0; b < r->count; b++)
                if ((before >> a & 1) && (set >> b & 1) && r->near[a][b])
                    seen |= 1u << b;
    }
    for (size_t a = 0; a < r->count; a++)
        for (size_t b = 0; b < a; b++)
            if ((set >> a & 1) && (set >> b & 1) && r->apart[a][b])
                return false;
    return seen == set;
}

/* A product and its row statistics: the best of all covers, and never dearer than without such
 * regions, which are all that `realisable` takes away. */
static void test_scores(void **state UNUSED)
{
    static const char *const machines[] = {"h200-sxm", "rtx-3060"};
    static const struct skeleton_limits without = {"sm_90a", 1024, true};
    size_t cheaper = 0, whole = 0, brute = 0;
    for (size_t i = 0; i < COUNT_OF(scores_zoo) * COUNT_OF(machines); i++) {
        const char *machine = machines[i % COUNT_OF(machines)];
        struct arena arena;
        struct sample sample, apart;
        struct cover_result result, other;
        arena_init(&arena, arena_bytes_max);
        const struct bound_op *bound = scores_bound(&arena, &scores_zoo[i / COUNT_OF(machines)]);
        prepare(&arena, bound, machine, 1, &sample);
        cover_solve(&arena, &sample.problem, 0, &result);
        assert_int_equal(result.claim, FACTOR_OPTIMAL);
        const bool all = bound->op->stmt_count <= BRUTE_STMTS_MAX;
        if (all && !near(result.best[0].cost, oracle_of(&arena, &sample)->costs[0]))
            fail_msg("%s: not the best of all covers", scores_zoo[i / COUNT_OF(machines)].name);
        brute += all;
        prepare_for(&arena, bound, &without, machine, 1, &apart);
        cover_solve(&arena, &apart.problem, 0, &other);
        assert_true(result.best[0].cost <= other.best[0].cost);
        cheaper += result.best[0].cost < other.best[0].cost;
        whole += result.best[0].count == 1;
        arena_release(&arena);
    }
    print_message("%zu specs on %zu machines: with scores %zu cheaper, %zu one region\n",
                  COUNT_OF(scores_zoo), COUNT_OF(machines), cheaper, whole);
    assert_true(cheaper > 0 && whole > 0 && brute > COUNT_OF(scores_zoo));
}

/* Every subset of the statements, judged here. */
static void test_candidates_are_all_sets(void **state UNUSED)
{
    size_t total = 0, kept = 0;
    for (uint64_t seed = 1000; seed < 1000 + OPS; seed++) {
        struct arena arena;
        struct sample sample;
        struct relations *r;
        size_t wanted = 0;
        arena_init(&arena, arena_bytes_max);
        r = arena_new(&arena, struct relations);
        sample.bound = parse(&arena, random_op_text(&arena, seed, STMTS_MAX, SIDE));
        structure_of(&arena, sample.bound, NULL, &sample.structures);
        candidates_find(&arena, sample.bound, NULL, &limits, &sample.structures,
                        &sample.candidates);
        relate(&sample, r);
        for (unsigned set = 1; set < 1u << r->count; set++)
            wanted += is_candidate(r, set);
        if (sample.candidates.generated - sample.candidates.refused_pairs != wanted)
            fail_msg("seed %d: %zu sets, not %zu", (int)seed,
                     sample.candidates.generated - sample.candidates.refused_pairs, wanted);
        assert_int_equal(sample.candidates.generated,
                         sample.candidates.count + sample.candidates.refused);
        assert_null(sample.candidates.stopped);
        total += wanted;
        kept += sample.candidates.count;
        arena_release(&arena);
    }
    assert_true(kept > OPS && kept < total);
}

/* ---- networks ---- */

static struct cover_result solve_network(struct arena *arena, enum network network, size_t stmts,
                                         struct sample *sample)
{
    struct cover_result result;
    prepare_for(arena, parse(arena, network_text(arena, network, stmts)), &realisable, "h200-sxm",
                1, sample);
    assert_int_equal(sample->bound->op->stmt_count, stmts);
    cover_solve(arena, &sample->problem, 0, &result);
    return result;
}

/* A thousand statements: proven, agreed with by elimination, a plan; states grow with statements.
 */
static void test_networks(void **state UNUSED)
{
    for (int network = 0; network < NETWORK_COUNT; network++) {
        struct arena arena;
        struct sample small, large;
        struct cover_graph graph;
        struct factor_result eliminated;
        struct plan_cost cost;
        struct err err = {0};
        arena_init(&arena, arena_bytes_max);
        const struct cover_result few = solve_network(&arena, (enum network)network, 500, &small);
        const struct cover_result many = solve_network(&arena, (enum network)network, 1000, &large);
        assert_int_equal(few.claim, FACTOR_OPTIMAL);
        assert_int_equal(many.claim, FACTOR_OPTIMAL);
        assert_true(4 * many.states < 9 * few.states && 4 * many.transitions < 9 * few.transitions);
        assert_true(large.candidates.class_count < 400 && large.problem.reused > 2000);
        assert_ok(cover_graph(&arena, &large.problem, &graph, &err));
        factor_eliminate(&arena, &graph.graph, &(struct factor_options){0}, &eliminated);
        assert_int_equal(eliminated.claim, FACTOR_OPTIMAL);
        assert_true(near(many.best[0].cost, eliminated.best[0].cost));
        const struct plan *plan =
            cover_plan(&arena, &large.problem, many.best[0].picks, many.best[0].count);
        assert_ok(plan_check(plan, large.bound->op, &err));
        cost_plan(&arena, plan, large.bound, large.problem.machine, &cost);
        assert_true(near(many.best[0].cost, cost.seconds));
        arena_release(&arena);
    }
}

/* Too narrow a beam of states: the claim is a distance, the bound holds. */
static void test_narrow_states_prove_a_bound(void **state UNUSED)
{
    size_t within = 0;
    for (uint64_t seed = 0; seed < OPS; seed++) {
        struct arena arena;
        struct sample sample;
        struct cover_result exact, narrow;
        arena_init(&arena, arena_bytes_max);
        prepare_for(
            &arena,
            parse(&arena, random_op_text(&arena, seed, 12, seed % 2 == 0 ? SIDE : LARGE_SIDE)),
            &realisable, "h200-sxm", 1, &sample);
        cover_solve(&arena, &sample.problem, 0, &exact);
        cover_solve(&arena, &sample.problem, 1, &narrow);
        assert_int_equal(exact.claim, FACTOR_OPTIMAL);
        assert_true(narrow.best[0].cost >= exact.best[0].cost * (1 - tolerance));
        assert_true(narrow.bound <= exact.best[0].cost * (1 + tolerance));
        if (narrow.claim == FACTOR_OPTIMAL)
            assert_true(near(narrow.best[0].cost, exact.best[0].cost));
        within += narrow.claim == FACTOR_WITHIN && narrow.stopped != NULL;
        arena_release(&arena);
    }
    assert_true(within > OPS / 10);
}

/* What a campaign gives the realiser: every best cover of the library becomes a kernel. */
static void test_realisable_covers_are_realised(void **state UNUSED)
{
    const char *const *names;
    size_t count, chains = 0;
    struct arena list;
    struct err err;
    arena_init(&list, (size_t)1 << 20);
    assert_ok(file_list(&list, "kernels/ops", ".json", 1000, &names, &count, &err));
    for (size_t i = 0; i < count; i++) {
        struct arena arena;
        struct sample any, own;
        struct cover_result covers;
        arena_init(&arena, (size_t)2 << 30);
        prepare(&arena, library_load(&arena, names[i]), "h200-sxm", 1, &any);
        prepare_for(&arena, any.bound, &realisable, "h200-sxm", BEST, &own);
        chains += own.candidates.count < any.candidates.count;
        cover_solve(&arena, &own.problem, 0, &covers);
        assert_true(covers.count > 0);
        for (size_t k = 0; k < covers.count; k++) {
            struct emitted made;
            if (!realise(
                    &arena, own.bound->op,
                    cover_plan(&arena, &own.problem, covers.best[k].picks, covers.best[k].count),
                    realisable.arch, &made, &err))
                fail_msg("%s, cover %zu: %s", names[i], k, err.text);
        }
        arena_release(&arena);
    }
    assert_true(chains > 0); /* causal_attention has some that are left out */
    arena_release(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_all_covers),
        cmocka_unit_test(test_circles_are_forbidden),
        cmocka_unit_test(test_scores),
        cmocka_unit_test(test_candidates_are_all_sets),
        cmocka_unit_test(test_networks),
        cmocka_unit_test(test_narrow_states_prove_a_bound),
        cmocka_unit_test(test_realisable_covers_are_realised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
