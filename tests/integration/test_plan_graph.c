/*
 * Plan spaces as factor graphs: a graph's cost is the plan's, and the exact solver's plan is legal
 * and no slower than the skeleton.
 */
#include <math.h>

#include "base/file.h"
#include "base/rng.h"

#include "agent/agent.h"
#include "solver/legal/legal.h"
#include "solver/sched/sched.h"
#include "synth/synth.h"
#include "tests/integration/library.h"
#include "tests/unit/unit.h"

enum { NAMES_BYTES = 4 << 20, SPECS_MAX = 1000, SAMPLES = 20 };
static const size_t arena_bytes_max = (size_t)4 << 30;

/* A spec at its first target shape, its skeleton, the space and the graph. */
struct spaced {
    const struct bound_op *bound;
    const struct machine *machine;
    const struct plan *skeleton;
    struct space space;
    struct factor_graph graph;
};

static void load(struct arena *arena, const char *file, struct spaced *out)
{
    struct err err = {0};
    out->bound = library_load(arena, file);
    assert_ok(machine_find(arena, "kernels/machines", NULL, &out->machine, &err));
    assert_ok(plan_skeleton(arena, out->bound, NULL, &library_limits, &out->skeleton, &err));
    assert_ok(plan_space(arena, out->skeleton, out->bound, out->machine,
                         &(struct space_options){1, true}, &out->space, &err));
    assert_ok(
        plan_graph(arena, out->skeleton, out->bound, out->machine, &out->space, &out->graph, &err));
}

static const struct plan *plan_of(struct arena *arena, const struct spaced *s,
                                  const uint16_t *values)
{
    size_t *choices = arena_array(arena, size_t, s->space.domain_count + 1);
    for (size_t i = 0; i < s->space.domain_count; i++)
        choices[i] = values[i];
    return space_plan(arena, s->skeleton, s->bound, &s->space, choices);
}

static double seconds_of(struct arena *arena, const struct spaced *s, const uint16_t *values)
{
    struct plan_cost cost;
    cost_plan(arena, plan_of(arena, s, values), s->bound, s->machine, &cost);
    return cost.seconds;
}

static void check_costs(struct arena *arena, const char *name, const struct spaced *s)
{
    uint16_t *values = arena_array(arena, uint16_t, s->graph.variable_count + 1);
    struct rng rng;
    rng_init(&rng, 1);
    for (int i = 0; i < SAMPLES; i++) {
        for (size_t v = 0; v < s->graph.variable_count; v++)
            values[v] =
                (uint16_t)(i == 0 ? 0 : rng_below(&rng, (uint32_t)s->space.domains[v].count));
        double graph = factor_cost(&s->graph, values), plan = seconds_of(arena, s, values);
        if (!(fabs(graph - plan) <= 1e-12 * plan))
            fail_msg("%s: the graph says %.17g s, the plan %.17g s", name, graph, plan);
    }
}

static void check_best(struct arena *arena, const char *name, const struct spaced *s)
{
    uint16_t *own = arena_array(arena, uint16_t, s->graph.variable_count + 1);
    struct factor_result result;
    struct limits found;
    struct err err = {0};
    factor_solve(arena, &s->graph, &(struct factor_options){.best_count = 3}, &result);
    assert_int_equal(result.claim, FACTOR_OPTIMAL);
    if (result.best[0].cost > factor_cost(&s->graph, own))
        fail_msg("%s: the best plan is slower than the skeleton", name);
    for (size_t i = 0; i < result.count; i++) {
        const struct plan *plan = plan_of(arena, s, result.best[i].values);
        assert_ok(plan_check(plan, s->bound->op, &err));
        plan_limits(arena, plan, s->bound, s->machine, &found);
        if (!found.legal)
            fail_msg("%s: plan %zu: %.*s", name, i, STR_ARG(found.reason));
    }
}

static void test_all_specs(void **state UNUSED)
{
    struct arena names_arena;
    struct err err = {0};
    const char *const *names;
    size_t count, several = 0;
    arena_init(&names_arena, NAMES_BYTES);
    assert_ok(file_list(&names_arena, "kernels/ops", ".json", SPECS_MAX, &names, &count, &err));
    for (size_t i = 0; i < count; i++) {
        struct arena arena;
        struct spaced s;
        arena_init(&arena, arena_bytes_max);
        load(&arena, names[i], &s);
        several += s.graph.edge_count > 0;
        check_costs(&arena, names[i], &s);
        check_best(&arena, names[i], &s);
        arena_release(&arena);
    }
    assert_true(several > 3);
    arena_release(&names_arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_specs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
