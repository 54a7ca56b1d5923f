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

enum { FILE_BYTES = 64 << 20, ENTRIES_MAX = 256 };
static const size_t arena_bytes_max = (size_t)4 << 30;
static const char folder[] = "tests/gpu/results/";

/* One of each kind; of the rest some are other shapes, some other ops, some other directions. */
static const struct {
    const char *results, *bundle;
} fitted[] = {
    {"headline.jsonl", "softmax"},
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
static const double fitted_mean_max = 0.03, fitted_worst_max = 0.08;
static const double held_out_mean_max = 0.055, held_out_worst_max = 0.30;

struct entry {
    struct str bundle, results;
    const struct bound_op *bound;
    const struct plan *plan;
    double measured_s;
};

static bool show;

/* NAME- is all NAME-N. */
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
    struct str spec, shape = {NULL, 0};
    assert_ok(json_parse(arena, line, "plans.jsonl", &json, &err));
    assert_ok(json_need_str(json, "bundle", &out->bundle, &err));
    assert_ok(json_need_str(json, "results", &out->results, &err));
    assert_ok(json_need_str(json, "spec", &spec, &err));
    assert_ok(json_opt_str(json, "shape", &shape, &err));
    out->bound = bound_at(arena, spec, shape);
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
        const struct entry *entry = &entries[i];
        struct plan_cost cost;
        bool fit = is_fitted(entry);
        cost_plan(&arena, entry->plan, entry->bound, h200, &cost);
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
    arena_release(&arena);
}

int main(int argc, char **argv UNUSED)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table)};
    show = argc > 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
