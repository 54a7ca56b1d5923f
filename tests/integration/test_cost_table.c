/*
 * The cost model against every kernel of the realiser that was timed on an H200, plan by plan.
 *
 * tests/gpu/results/plans.jsonl has the plan of each bundle.  The model's constants were fitted to
 * the bundles of `fitted`; the others were held out.  With an argument it prints the whole table:
 *
 *     build/gcc/tests/integration/test_cost_table table
 */
#include <math.h>
#include <string.h>

#include "base/file.h"

#include "agent/agent.h"
#include "solver/cost/cost.h"
#include "solver/ir/ir.h"
#include "tests/integration/library.h"
#include "tests/unit/unit.h"

enum { FILE_BYTES = 64 << 20, ENTRIES_MAX = 256, RACE_PLANS_MIN = 5 };
static const size_t arena_bytes_max = (size_t)4 << 30;
static const char folder[] = "tests/gpu/results/";

/* NAME- is all NAME-N.  One of each kind of the older results; of the samples eight ops, and the
 * only kernels there are of atomics, windows and transposed reads.  All of add_rmsnorm, batchnorm,
 * cross_entropy, concat, avgpool and cumprod_reverse is held out, and what the model had taken for
 * best.  Fitted by coordinate descent from many starts, by Huber's loss (0.2) with the regret below
 * of the fitted ops; headline and joint count four times. */
static const struct {
    const char *results, *bundle;
} fitted[] = {
    {"headline.jsonl", "softmax"},
    {"headline.jsonl", "layernorm"},
    {"headline.jsonl", "matmul"},
    {"headline.jsonl", "conv2d"},
    {"cheapest.jsonl", "matmul"},
    {"cheapest.jsonl", "matmul_bias_gelu_bf16"},
    {"joint.jsonl", "walk_pair-8-forward"},
    {"joint.jsonl", "walk_pair-64-forward"},
    {"joint.jsonl", "walk_pair-256-forward"},
    {"joint.jsonl", "walk_columns-forward"},
    {"joint.jsonl", "batchnorm-forward"},
    {"joint.jsonl", "groupnorm-forward"},
    {"joint.jsonl", "walk_layernorm_axes-forward"},
    {"sample.jsonl", "softmax-"},
    {"sample.jsonl", "logsumexp-"},
    {"sample.jsonl", "rmsnorm-"},
    {"sample.jsonl", "gelu_tanh-"},
    {"sample.jsonl", "rope-"},
    {"sample.jsonl", "gemv-"},
    {"sample.jsonl", "argmax-"},
    {"sample.jsonl", "groupnorm-"},
    {"sample.jsonl", "cumsum-"},
    {"chosen.jsonl", "scatter_add"},
    {"chosen.jsonl", "transpose"},
    {"chosen.jsonl", "maxpool"},
};

/* What the model may be off by: mean and worst |log(predicted / measured)|. */
struct errors {
    double sum, worst;
    size_t count;
};
static const double fitted_mean_max = 0.085, fitted_worst_max = 0.65;
static const double held_out_mean_max = 0.075, held_out_worst_max = 0.57;
/* And what that costs: how much slower the plan that it would choose is than the best measured.  A
 * model that was fitted to the older results alone had 1.154 and 1.173, at worst 1.783, with rank
 * correlations of 0.65 and 0.47; now 1.006 and 1.001, 1.023, 0.81 and 0.69. */
static const double fitted_regret_max = 1.02, held_out_regret_max = 1.02;
static const double regret_worst_max = 1.06, agreement_min = 0.65;

struct entry {
    struct str bundle, results, spec;
    const struct bound_op *bound;
    const struct plan *plan;
    double measured_s, predicted_s;
};

static bool show;

static bool names(const char *name, struct str bundle)
{
    size_t len = strlen(name);
    if (name[len - 1] != '-')
        return str_equal(bundle, str_from(name));
    return bundle.len > len && memcmp(bundle.at, name, len) == 0;
}

static bool is_fitted(const struct entry *entry)
{
    for (size_t i = 0; i < COUNT_OF(fitted); i++)
        if (names(fitted[i].bundle, entry->bundle) &&
            str_equal(entry->results, str_from(fitted[i].results)))
            return true;
    return false;
}

static const char *in_folder(struct arena *arena, struct str name)
{
    struct buf text;
    buf_init(&text, arena, 256);
    buf_printf(&text, "%s%.*s", folder, STR_ARG(name));
    return text.at;
}

static double measured_s(struct arena *arena, const struct entry *entry)
{
    const char *file = in_folder(arena, entry->results);
    struct err err = {0};
    struct str rest, line, name;
    double ns = 0;
    assert_ok(file_read(arena, file, FILE_BYTES, &rest, &err));
    while (str_next_line(&rest, &line)) {
        const struct json *json;
        assert_ok(json_parse(arena, line, file, &json, &err));
        assert_ok(json_need_str(json, "bundle", &name, &err));
        if (!str_equal(name, entry->bundle))
            continue;
        const struct json *observed = json_get(json_get(json, "verdict"), "observed");
        assert_ok(json_need_real(json_get(observed, "values"), "gpu.time.median_ns", &ns, &err));
    }
    assert_true(ns > 0);
    return ns * 1e-9;
}

static const struct bound_op *bound_at(struct arena *arena, struct str spec, struct str shape)
{
    const struct op_library library = {library_find, NULL};
    struct err err = {0};
    struct str text;
    struct formula_env dims;
    const struct op *op;
    const struct bound_op *bound;
    assert_ok(file_read(arena, spec.at, OP_SPEC_BYTES_MAX, &text, &err));
    assert_ok(op_parse(arena, text, spec.at, &library, &op, &err));
    if (shape.len == 0) {
        assert_ok(op_bind_shape(arena, op, &op->targets[0], &bound, &err));
        return bound;
    }
    assert_ok(op_parse_dims(arena, op, shape, &dims, &err));
    assert_ok(op_bind(arena, op, &dims, &bound, &err));
    return bound;
}

static void read_entry(struct arena *arena, struct str line, struct entry *out)
{
    struct err err = {0};
    const struct json *json;
    struct str shape = {NULL, 0};
    assert_ok(json_parse(arena, line, "plans.jsonl", &json, &err));
    assert_ok(json_need_str(json, "bundle", &out->bundle, &err));
    assert_ok(json_need_str(json, "results", &out->results, &err));
    assert_ok(json_need_str(json, "spec", &out->spec, &err));
    assert_ok(json_opt_str(json, "shape", &shape, &err));
    out->bound = bound_at(arena, out->spec, shape);
    assert_ok(plan_parse(arena, json_get(json, "plan"), &out->plan, &err));
    assert_ok(plan_check(out->plan, out->bound->op, &err));
    out->measured_s = measured_s(arena, out);
}

/* ---- the table ---- */

static void show_terms(const struct entry *entry, const struct plan_cost *cost)
{
    for (size_t r = 0; r < cost->region_count; r++) {
        const struct region_cost *c = &cost->regions[r];
        print_message("    region %zu %7.1f us: launch %.1f memory %.1f compute %.1f shared %.1f "
                      "latency %.1f busy %.1f carried %.1f, %s\n",
                      r, c->seconds * 1e6, c->launch_s * 1e6, c->memory_s * 1e6, c->compute_s * 1e6,
                      c->shared_s * 1e6, c->latency_s * 1e6, c->busy_s * 1e6, c->carried_s * 1e6,
                      cost_limiter_name(c->limiter));
    }
    for (size_t e = 0; e < cost->edge_count; e++)
        print_message("    edge of %.*s %7.1f us\n", STR_ARG(entry->plan->edges[e].tensor),
                      cost->edges[e].seconds * 1e6);
}

static void add_error(struct errors *errors, double error)
{
    errors->sum += fabs(error);
    errors->worst = fmax(errors->worst, fabs(error));
    errors->count++;
}

static void check_errors(const char *what, const struct errors *errors, double mean_max,
                         double worst_max)
{
    double mean = errors->sum / (double)errors->count;
    print_message("%-8s %zu kernels: mean |log ratio| %.3f, worst %.3f\n", what, errors->count,
                  mean, errors->worst);
    if (!(mean <= mean_max && errors->worst <= worst_max))
        fail_msg("%s: at most %.3f and %.3f", what, mean_max, worst_max);
}

/* ---- the plan that it would choose ---- */

/* Plans of one op at one shape, out of its whole space. */
struct race {
    const struct entry *entries, *of; /* the first of them */
    size_t count;
};

static bool takes_part(const struct race *race, size_t i)
{
    const struct entry *e = &race->entries[i];
    return str_equal(e->spec, race->of->spec) && (str_equal(e->results, STR_LIT("sample.jsonl")) ||
                                                  str_equal(e->results, STR_LIT("chosen.jsonl")));
}

/* Measured time of the plan with the least predicted over the least measured. */
static double regret_of(const struct race *race, size_t *plans)
{
    const struct entry *pick = NULL, *best = NULL;
    *plans = 0;
    for (size_t i = 0; i < race->count; i++) {
        const struct entry *e = &race->entries[i];
        if (!takes_part(race, i))
            continue;
        if (pick == NULL || e->predicted_s < pick->predicted_s)
            pick = e;
        if (best == NULL || e->measured_s < best->measured_s)
            best = e;
        ++*plans;
    }
    return *plans == 0 ? 1 : pick->measured_s / best->measured_s;
}

/* Kendall's tau: pairs in the order that was measured less those that are not, over all. */
static double agreement_of(const struct race *race)
{
    double pairs = 0, sum = 0;
    for (size_t i = 0; i < race->count; i++)
        for (size_t j = 0; j < i && takes_part(race, i); j++) {
            if (!takes_part(race, j))
                continue;
            const struct entry *a = &race->entries[i], *b = &race->entries[j];
            double order = (a->predicted_s - b->predicted_s) * (a->measured_s - b->measured_s);
            sum += (order > 0) - (order < 0);
            pairs++;
        }
    return pairs > 0 ? sum / pairs : 1;
}

static bool is_first(const struct race *race)
{
    for (const struct entry *e = race->entries; e < race->of; e++)
        if (str_equal(e->spec, race->of->spec) && takes_part(race, (size_t)(e - race->entries)))
            return false;
    return takes_part(race, (size_t)(race->of - race->entries));
}

struct choices {
    double log_regrets, worst, agreements;
    size_t races;
};

static void run_race(const struct race *race, struct choices *all)
{
    size_t plans;
    double regret = regret_of(race, &plans), agreement = agreement_of(race);
    if (!is_first(race) || plans < RACE_PLANS_MIN)
        return;
    all->log_regrets += log(regret);
    all->worst = fmax(all->worst, regret);
    all->agreements += agreement;
    all->races++;
    if (show)
        print_message("%-34.*s %2zu plans: regret %.3f, rank correlation %.2f\n",
                      STR_ARG(race->of->spec), plans, regret, agreement);
}

static void check_choices(const char *what, const struct choices *all, double regret_max,
                          double worst_max, double least)
{
    assert_true(all->races > 0);
    double regret = exp(all->log_regrets / (double)all->races);
    double agreement = all->agreements / (double)all->races;
    print_message("%-8s %zu ops: mean regret %.3f, worst %.3f, mean rank correlation %.2f\n", what,
                  all->races, regret, all->worst, agreement);
    if (!(regret <= regret_max && all->worst <= worst_max && agreement >= least))
        fail_msg("%s: at most %.3f and %.3f, at least %.2f", what, regret_max, worst_max, least);
}

static void check_races(const struct entry *entries, size_t count)
{
    struct choices all[2] = {{0, 0, 0, 0}, {0, 0, 0, 0}}; /* held out, fitted */
    for (size_t i = 0; i < count; i++) {
        const struct race race = {entries, &entries[i], count};
        run_race(&race, &all[is_fitted(&entries[i])]);
    }
    check_choices("held out", &all[false], held_out_regret_max, regret_worst_max, agreement_min);
    check_choices("fitted", &all[true], fitted_regret_max, regret_worst_max, agreement_min);
}

static size_t read_entries(struct arena *arena, struct entry *entries)
{
    struct err err = {0};
    struct str rest, line;
    size_t count = 0;
    assert_ok(file_read(arena, in_folder(arena, str_from("plans.jsonl")), FILE_BYTES, &rest, &err));
    while (str_next_line(&rest, &line)) {
        assert_true(count < ENTRIES_MAX);
        read_entry(arena, line, &entries[count++]);
    }
    return count;
}

static void test_table(void **state UNUSED)
{
    struct arena arena;
    struct err err = {0};
    const struct machine *h200;
    struct entry entries[ENTRIES_MAX];
    struct errors errors[2] = {{0, 0, 0}, {0, 0, 0}}; /* held out, fitted */
    arena_init(&arena, arena_bytes_max);
    assert_ok(machine_find(&arena, "kernels/machines", "h200-sxm", &h200, &err));
    size_t count = read_entries(&arena, entries);
    for (size_t i = 0; i < count; i++) {
        struct entry *entry = &entries[i];
        struct plan_cost cost;
        bool fit = is_fitted(entry);
        cost_plan(&arena, entry->plan, entry->bound, h200, &cost);
        entry->predicted_s = cost.seconds;
        double error = log(cost.seconds / entry->measured_s);
        add_error(&errors[fit], error);
        if (!show)
            continue;
        print_message("%-22.*s %-30.*s %-8s predicted %8.1f us, measured %8.1f us, log %+.3f\n",
                      STR_ARG(entry->results), STR_ARG(entry->bundle), fit ? "fitted" : "",
                      cost.seconds * 1e6, entry->measured_s * 1e6, error);
        show_terms(entry, &cost);
    }
    check_errors("held out", &errors[false], held_out_mean_max, held_out_worst_max);
    check_errors("fitted", &errors[true], fitted_mean_max, fitted_worst_max);
    check_races(entries, count);
    arena_release(&arena);
}

int main(int argc, char **argv UNUSED)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table)};
    show = argc > 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
