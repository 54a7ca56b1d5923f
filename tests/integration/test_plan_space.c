/*
 * The plans around the realiser's own: all legal ones can be realised, and a sample of them is
 * compiled and accepted.  The sample needs NVRTC.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#include "agent/agent.h"
#include "solver/legal/legal.h"
#include "synth/synth.h"
#include "tests/integration/library.h"
#include "tests/unit/unit.h"
#include "verify/check/check.h"

enum { ARENA_BYTES = 64 << 20, SPECS_MAX = 1000, SAMPLE = 6 };
static const size_t arena_bytes_max = (size_t)4 << 30;

static struct space space_of(struct arena *arena, const struct bound_op *bound, size_t plans_max)
{
    struct err err = {0};
    const struct machine *machine;
    const struct plan *skeleton;
    struct space space;
    assert_ok(machine_find(arena, "kernels/machines", NULL, &machine, &err));
    assert_ok(plan_skeleton(arena, bound, NULL, &library_limits, &skeleton, &err));
    assert_ok(plan_space(arena, skeleton, bound, machine, &(struct space_options){plans_max, true},
                         &space, &err));
    struct hash own = plan_hash(skeleton), first = plan_hash(space.plans[0]);
    assert_memory_equal(&own, &first, sizeof(own));
    return space;
}

static void test_all_are_realised(void **state UNUSED)
{
    struct arena names_arena;
    struct err err = {0};
    const char *const *names;
    size_t count, plans = 0;
    arena_init(&names_arena, ARENA_BYTES);
    assert_ok(file_list(&names_arena, "kernels/ops", ".json", SPECS_MAX, &names, &count, &err));
    for (size_t i = 0; i < count; i++) {
        struct arena arena;
        arena_init(&arena, arena_bytes_max);
        const struct bound_op *bound = library_load(&arena, names[i]);
        struct space space = space_of(&arena, bound, 200);
        for (size_t k = 0; k<space.plan_count; k += space.plan_count> 40 ? 7 : 1) {
            struct emitted kernel;
            assert_ok(plan_check(space.plans[k], bound->op, &err));
            if (!realise(&arena, bound->op, space.plans[k], library_limits.arch, &kernel, &err))
                fail_msg("%s, plan %zu: %s", names[i], k, err.text);
            plans++;
        }
        arena_release(&arena);
    }
    print_message("%zu plans of %zu specs realised\n", plans, count);
    arena_release(&names_arena);
}

static void check_plan(struct arena *arena, const struct bound_op *bound, const struct plan *plan,
                       struct compiler *compiler)
{
    struct emitted kernel;
    struct check_products products;
    struct verdict verdict;
    struct err err = {0};
    assert_ok(realise(arena, bound->op, plan, library_limits.arch, &kernel, &err));
    const struct candidate candidate = {CANDIDATE_CUDA, kernel.cuda, kernel.manifest};
    const struct check_options options = {.arch = library_limits.arch,
                                          .secret = 11,
                                          .seeds = 1,
                                          .plan = plan,
                                          .shapes = bound->op->verify,
                                          .shape_count = bound->op->verify_count};
    assert_ok(check_candidate(arena, bound->op, &candidate, &options, compiler, &products, &verdict,
                              &err));
    if (verdict.validity != VALIDITY_ACCEPTED)
        fail_msg("%.*s: %s: %s\n%.*s", STR_ARG(bound->op->name), validity_name(verdict.validity),
                 verdict.reason.at, STR_ARG(products.log));
}

/* Several single elements a thread, held: no skeleton of an even row has it. */
static const struct plan *single_elements(struct arena *arena, const struct bound_op *bound,
                                          const struct space *space)
{
    for (size_t i = 0; i < space->plan_count; i++) {
        const struct plan_region *region = &space->plans[i]->regions[0];
        struct footprint f;
        const char *why;
        assert_true(footprint_of(arena, region, bound, &f, &why));
        if (!f.streaming && f.vector == 1 && f.items > 1 && f.items < 8)
            return space->plans[i];
    }
    fail_msg("no plan holds single elements");
    return NULL;
}

static void test_sample_is_accepted(void **state UNUSED)
{
    static const char *const specs[] = {"softmax.json", "layernorm.json", "matmul.json",
                                        "relu.json"};
    const struct compiler_options options = {.paths = {getenv("CUDA_HOME"), "build/nvrtc"}};
    struct arena arena;
    struct compiler *compiler;
    struct err err = {0};
    arena_init(&arena, arena_bytes_max);
    if (!compiler_open(&arena, &options, &compiler, &err)) {
        print_message("skipped: %s\n", err.text);
        skip();
    }
    for (size_t i = 0; i < COUNT_OF(specs); i++) {
        const struct bound_op *bound = library_load(&arena, specs[i]);
        struct space space = space_of(&arena, bound, SPACE_PLANS_MAX);
        for (size_t k = 0; k < SAMPLE; k++)
            check_plan(&arena, bound, space.plans[k * (space.plan_count - 1) / (SAMPLE - 1)],
                       compiler);
        if (i == 0)
            check_plan(&arena, bound, single_elements(&arena, bound, &space), compiler);
    }
    compiler_close(compiler);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_are_realised),
        cmocka_unit_test(test_sample_is_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
