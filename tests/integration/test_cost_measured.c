/*
 * Costs against times: of the realiser's kernels as an H200 took them, and against the speed of
 * light for every op of the library and every plan of its space.
 */
#include <math.h>
#include <string.h>

#include "base/file.h"

#include "agent/agent.h"
#include "solver/bound/bound.h"
#include "solver/cost/cost.h"
#include "solver/legal/legal.h"
#include "synth/synth.h"
#include "tests/integration/library.h"
#include "tests/unit/unit.h"

enum { FILE_BYTES = 64 << 20, SPECS_MAX = 1000, TIMES_MAX = 32 };
static const size_t arena_bytes_max = (size_t)4 << 30;
/* What the model may be off by on the kernels that it was fitted to, and on the one it was not. */
static const double factor_max = 1.10;

static const struct machine *the_h200(struct arena *arena)
{
    const struct machine *machine;
    struct err err = {0};
    assert_ok(machine_find(arena, "kernels/machines", "h200-sxm", &machine, &err));
    return machine;
}

struct time {
    char name[64];
    double measured_s, predicted_s;
};

static double predicted_of(struct arena *arena, const char *name)
{
    struct err err = {0};
    const struct plan *plan;
    struct plan_cost cost;
    const struct bound_op *bound = library_load(arena, name);
    assert_ok(plan_skeleton(arena, bound, NULL, &library_limits, &plan, &err));
    cost_plan(arena, plan, bound, the_h200(arena), &cost);
    return cost.seconds;
}

static size_t read_times(struct arena *arena, const char *file, struct time *times)
{
    struct err err = {0};
    struct str rest, line, name;
    size_t count = 0;
    assert_ok(file_read(arena, file, FILE_BYTES, &rest, &err));
    while (str_next_line(&rest, &line)) {
        const struct json *json;
        double ns;
        assert_true(count < TIMES_MAX);
        assert_ok(json_parse(arena, line, file, &json, &err));
        assert_ok(json_need_str(json, "bundle", &name, &err));
        const struct json *values =
            json_get(json_get(json_get(json, "verdict"), "observed"), "values");
        assert_ok(json_need_real(values, "gpu.time.median_ns", &ns, &err));
        snprintf(times[count].name, sizeof(times[count].name), "%s", name.at);
        times[count].measured_s = ns * 1e-9;
        times[count].predicted_s = predicted_of(arena, name.at);
        count++;
    }
    return count;
}

static void test_measured(void **state UNUSED)
{
    static const char *const files[] = {"tests/gpu/results/headline.jsonl",
                                        "tests/gpu/results/headline-again.jsonl"};
    for (size_t f = 0; f < COUNT_OF(files); f++) {
        struct arena arena;
        struct time times[TIMES_MAX];
        arena_init(&arena, arena_bytes_max);
        size_t count = read_times(&arena, files[f], times);
        assert_true(count >= 4);
        for (size_t i = 0; i < count; i++) {
            double factor = times[i].predicted_s / times[i].measured_s;
            print_message("%-24s predicted %9.2f us, measured %9.2f us, factor %.3f\n",
                          times[i].name, times[i].predicted_s * 1e6, times[i].measured_s * 1e6,
                          factor);
            if (factor > factor_max || factor < 1 / factor_max)
                fail_msg("%s: %.3f", times[i].name, factor);
            /* Times that differ by more than the factor have the same order. */
            for (size_t k = 0; k < i; k++) {
                double apart = times[i].measured_s / times[k].measured_s;
                if (apart > factor_max)
                    assert_true(times[i].predicted_s > times[k].predicted_s);
                if (apart < 1 / factor_max)
                    assert_true(times[i].predicted_s < times[k].predicted_s);
            }
        }
        arena_release(&arena);
    }
}

/* The kernels of tests/gpu/results/cheapest.jsonl that are tiles, each of a plan that the space
 * has; the first two are what the model's weight of operands was fitted to. */
static void test_other_tiles(void **state UNUSED)
{
    static const struct {
        const char *name;
        int64_t threads, tile[3][2]; /* block, thread; of the last three tiles */
        double measured_s;
    } rows[] = {
        {"matmul", 512, {{64, 2}, {64, 4}, {32, 1}}, 7808.4e-6},
        {"matmul_bias_gelu_bf16", 512, {{64, 2}, {64, 4}, {32, 1}}, 7790.6e-6},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct arena arena;
        struct err err = {0};
        struct space space;
        const struct plan *skeleton;
        double factor = 0;
        arena_init(&arena, arena_bytes_max);
        const struct bound_op *bound = library_load(&arena, rows[i].name);
        assert_ok(plan_skeleton(&arena, bound, NULL, &library_limits, &skeleton, &err));
        assert_ok(plan_space(&arena, skeleton, bound, the_h200(&arena),
                             &(struct space_options){1024, true}, &space, &err));
        for (size_t p = 0; p < space.plan_count; p++) {
            const struct plan_region *region = &space.plans[p]->regions[0];
            struct plan_cost cost;
            bool same = region->threads[0] == rows[i].threads && region->tile_count == 3;
            for (size_t t = 0; same && t < 3; t++)
                same = region->tiles[t].block == rows[i].tile[t][0] &&
                       region->tiles[t].thread == rows[i].tile[t][1];
            if (!same)
                continue;
            cost_plan(&arena, space.plans[p], bound, the_h200(&arena), &cost);
            factor = cost.seconds / rows[i].measured_s;
        }
        print_message("%-24s factor %.3f\n", rows[i].name, factor);
        assert_true(factor <= factor_max && factor >= 1 / factor_max);
        arena_release(&arena);
    }
}

/* ---- what directions gain ---- */

/* What a measured gain may be off by from the model's. */
static const double gain_factor_max = 2;

static const char *joined(struct arena *arena, const char *before, const char *name,
                          const char *after)
{
    struct buf text;
    buf_init(&text, arena, 256);
    buf_printf(&text, "%s%s%s", before, name, after);
    return text.at;
}

static double time_of_bundle(struct arena *arena, const char *bundle)
{
    static const char file[] = "tests/gpu/results/joint.jsonl";
    struct err err = {0};
    struct str rest, line, name;
    double ns = 0;
    assert_ok(file_read(arena, file, FILE_BYTES, &rest, &err));
    while (str_next_line(&rest, &line)) {
        const struct json *json;
        assert_ok(json_parse(arena, line, file, &json, &err));
        assert_ok(json_need_str(json, "bundle", &name, &err));
        if (!str_equal(name, str_from(bundle)))
            continue;
        const struct json *observed = json_get(json_get(json, "verdict"), "observed");
        assert_ok(json_need_real(json_get(observed, "values"), "gpu.time.median_ns", &ns, &err));
    }
    assert_true(ns > 0);
    return ns * 1e-9;
}

/* Of the skeleton when every other region walks from the end, the first one too. */
static double predicted_gain(struct arena *arena, const char *name)
{
    const struct op_library library = {library_find, NULL};
    const char *path = joined(arena, "tests/cases/joint/", name, ".json");
    struct err err = {0};
    struct str text;
    const struct op *op;
    const struct bound_op *bound;
    const struct plan *plan;
    struct plan_cost before, after;
    assert_ok(file_read(arena, path, OP_SPEC_BYTES_MAX, &text, &err));
    assert_ok(op_parse(arena, text, path, &library, &op, &err));
    assert_ok(op_bind_shape(arena, op, &op->targets[0], &bound, &err));
    assert_ok(plan_skeleton(arena, bound, NULL, &library_limits, &plan, &err));
    struct plan turned = *plan;
    struct plan_region *regions = arena_array(arena, struct plan_region, plan->region_count);
    for (size_t r = 0; r < plan->region_count; r++) {
        regions[r] = plan->regions[r];
        regions[r].reverse = r % 2 == 0;
    }
    turned.regions = regions;
    cost_plan(arena, plan, bound, the_h200(arena), &before);
    cost_plan(arena, &turned, bound, the_h200(arena), &after);
    return before.seconds - after.seconds;
}

static void test_directions(void **state UNUSED)
{
    static const char *const names[] = {"walk_chain", "walk_residual", "walk_matmul_layernorm",
                                        "walk_rows_map", "walk_softmax"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct arena arena;
        arena_init(&arena, arena_bytes_max);
        double measured = time_of_bundle(&arena, joined(&arena, "", names[i], "-forward")) -
                          time_of_bundle(&arena, joined(&arena, "", names[i], "-joint"));
        double predicted = predicted_gain(&arena, names[i]);
        print_message("%-24s gain predicted %5.2f us, measured %5.2f us\n", names[i],
                      predicted * 1e6, measured * 1e6);
        assert_true(measured > 0 && predicted > 0);
        assert_true(predicted / measured <= gain_factor_max);
        assert_true(measured / predicted <= gain_factor_max);
        arena_release(&arena);
    }
}

static size_t check_against_sol(struct arena *arena, const char *name)
{
    struct err err = {0};
    struct sol sol;
    struct space space;
    const struct plan *skeleton;
    const struct machine *machine = the_h200(arena);
    const struct bound_op *bound = library_load(arena, name);
    assert_ok(sol_of(bound, NULL, machine, &sol, &err));
    assert_ok(plan_skeleton(arena, bound, NULL, &library_limits, &skeleton, &err));
    assert_ok(plan_space(arena, skeleton, bound, machine, &(struct space_options){500, true},
                         &space, &err));
    for (size_t i = 0; i < space.plan_count; i++) {
        struct plan_cost cost;
        cost_plan(arena, space.plans[i], bound, machine, &cost);
        if (!(cost.seconds >= sol.seconds) || !isfinite(cost.seconds))
            fail_msg("%s, plan %zu: %g s, but light takes %g s", name, i, cost.seconds,
                     sol.seconds);
    }
    return space.plan_count;
}

static void test_never_below_light(void **state UNUSED)
{
    struct arena arena;
    struct err err = {0};
    const char *const *names;
    size_t count, plans = 0;
    arena_init(&arena, arena_bytes_max);
    assert_ok(file_list(&arena, "kernels/ops", ".json", SPECS_MAX, &names, &count, &err));
    for (size_t i = 0; i < count; i++) {
        struct arena scratch;
        arena_init(&scratch, arena_bytes_max);
        char *name = str_copy(&arena, (struct str){names[i], strlen(names[i]) - strlen(".json")});
        plans += check_against_sol(&scratch, name);
        arena_release(&scratch);
    }
    print_message("%zu plans of %zu specs\n", plans, count);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_measured),
        cmocka_unit_test(test_other_tiles),
        cmocka_unit_test(test_directions),
        cmocka_unit_test(test_never_below_light),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
