/* The space around a plan: legal, without duplicates, the same each time, and its sums. */
#include <stdlib.h>
#include <string.h>

#include "solver/legal/legal.h"
#include "tests/unit/solver/ir/plans.h"

enum { ARENA_BYTES = 1 << 30 };

static const struct tile_numbers tile = {128, 128, 16, 8, 8, 256};
static const struct row_numbers rows = {512, 4, 8, false, false};
/* The root mean square of a row, then its use. */
static const char two_regions[] =
    "{\"stmts\":[0,1],\"primitives\":[\"reduction-tree\",\"block-cooperative-summary\","
    "\"vector-access\",\"streaming-accumulation\",\"rematerialisation\"],\"tiles\":["
    "{\"index\":\"m\",\"block\":1,\"thread\":1},"
    "{\"index\":\"n\",\"block\":1024,\"thread\":4,\"step\":1024}],\"stages\":[],"
    "\"threads\":[256,1,1],\"vector\":4,\"precision\":\"f32\"},"
    "{\"stmts\":[2],\"primitives\":[\"vector-access\"],\"tiles\":["
    "{\"index\":\"m\",\"block\":1,\"thread\":1},{\"index\":\"n\",\"block\":1024,\"thread\":4}],"
    "\"stages\":[],\"threads\":[256,1,1],\"vector\":4,\"precision\":\"f32\"}";
static const char its_edge[] = "{\"tensor\":\"r\",\"from\":0,\"to\":1,\"residency\":\"global\"}";

static const struct plan *skeleton_of(struct arena *arena, const char *op,
                                      const struct bound_op **bound)
{
    *bound = plans_op(arena, op);
    if (strcmp(op, "matmul") == 0)
        return plans_plan(arena, *bound, plans_tile(arena, &tile), "");
    if (strcmp(op, "rmsnorm") == 0)
        return plans_plan(arena, *bound, two_regions, its_edge);
    return plans_plan(arena, *bound, plans_rows(arena, *bound, &rows), "");
}

static struct space space_of(struct arena *arena, const char *op, const char *machine,
                             size_t plans_max)
{
    struct err err = {0};
    struct space space;
    const struct bound_op *bound;
    const struct plan *skeleton = skeleton_of(arena, op, &bound);
    assert_ok(plan_space(arena, skeleton, bound, plans_machine(arena, machine),
                         &(struct space_options){plans_max, true}, &space, &err));
    return space;
}

static void check_sums(const struct space *space)
{
    size_t generated = 0, kept = 0, refused = 0;
    double product = 1;
    for (size_t i = 0; i < space->domain_count; i++) {
        generated += space->domains[i].generated;
        kept += space->domains[i].count;
        product *= (double)space->domains[i].count;
    }
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        refused += space->refused[i];
        assert_int_equal(space->refused[i] > 0, space->reasons[i].len > 0);
    }
    assert_int_equal(space->generated, generated);
    assert_int_equal(generated, kept + refused);
    assert_true(product >= space->plans_possible && product <= space->plans_possible);
    if (space->complete)
        assert_int_equal(space->plan_count + space->duplicates, (size_t)product);
}

static void test_spaces(void **state UNUSED)
{
    static const struct {
        const char *op, *machine;
        size_t least, most; /* plans */
    } cases[] = {
        {"matmul", "h200-sxm", 200, 900},
        {"matmul", "rtx-3060", 200, 900},
        {"softmax", "h200-sxm", 20, 60},
        {"rmsnorm", "h200-sxm", 300, 2000},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        const struct bound_op *bound;
        struct err err = {0};
        struct limits limits;
        arena_init(&arena, ARENA_BYTES);
        const struct plan *skeleton = skeleton_of(&arena, cases[i].op, &bound);
        struct space space = space_of(&arena, cases[i].op, cases[i].machine, SPACE_PLANS_MAX);
        check_sums(&space);
        assert_true(space.complete);
        if (space.plan_count < cases[i].least || space.plan_count > cases[i].most)
            fail_msg("%s: %zu plans", cases[i].op, space.plan_count);
        for (size_t k = 0; k < space.plan_count; k++) {
            assert_ok(plan_check(space.plans[k], bound->op, &err));
            plan_limits(&arena, space.plans[k], bound, plans_machine(&arena, cases[i].machine),
                        &limits);
            if (!limits.legal)
                fail_msg("%s, plan %zu: %s", cases[i].op, k, limits.reason.at);
        }
        assert_int_equal(space.plans[0]->regions[0].threads[0], skeleton->regions[0].threads[0]);
        arena_release(&arena);
    }
}

static size_t from_the_end(const struct space_domain *domain)
{
    size_t count = 0;
    for (size_t i = 0; i < domain->count; i++)
        count += domain->choices[i].reverse;
    return count;
}

/* Two maps, t of M x 4096 f32 between them.  An H200 is taken to hold half of its 60 MiB of L2, a
 * matrix of 1920 rows; a row more, and each choice comes in both directions. */
static void test_directions(void **state UNUSED)
{
    static const char path[] = "tests/cases/joint/walk_pair.json";
    static const struct {
        const char *dims, *residency;
        bool both;
    } cases[] = {{"M=1920,N=4096", "global", false},
                 {"M=1921,N=4096", "global", true},
                 {"M=1921,N=4096", "recompute", false}};
    static const char regions[] =
        "{\"stmts\":[0],\"primitives\":[\"vector-access\"],\"tiles\":[],\"stages\":[],"
        "\"threads\":[256,1,1],\"vector\":4,\"precision\":\"f32\"},"
        "{\"stmts\":[1],\"primitives\":[\"vector-access\"],\"tiles\":[],\"stages\":[],"
        "\"threads\":[256,1,1],\"vector\":4,\"precision\":\"f32\"}";
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct err err = {0};
        struct str text;
        struct formula_env dims;
        struct buf edge;
        struct space space;
        const struct op *op;
        const struct bound_op *bound;
        arena_init(&arena, ARENA_BYTES);
        assert_ok(file_read(&arena, path, OP_SPEC_BYTES_MAX, &text, &err));
        assert_ok(op_parse(&arena, text, path, NULL, &op, &err));
        assert_ok(op_parse_dims(&arena, op, str_from(cases[i].dims), &dims, &err));
        assert_ok(op_bind(&arena, op, &dims, &bound, &err));
        buf_init(&edge, &arena, PLANS_TEXT_BYTES);
        buf_printf(&edge, "{\"tensor\":\"t\",\"from\":0,\"to\":1,\"residency\":\"%s\"}",
                   cases[i].residency);
        assert_ok(plan_space(&arena, plans_plan(&arena, bound, regions, edge.at), bound,
                             plans_machine(&arena, "h200-sxm"), &(struct space_options){10, true},
                             &space, &err));
        assert_int_equal(space.domain_count, 2);
        for (size_t r = 0; r < 2; r++) {
            const struct space_domain *domain = &space.domains[r];
            assert_true(domain->count > 0);
            assert_int_equal(from_the_end(domain), cases[i].both ? domain->count / 2 : 0);
            assert_false(cases[i].both && domain->count % 2 != 0);
        }
        arena_release(&arena);
    }
}

static int compare_hashes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct hash));
}

static void test_same_each_time(void **state UNUSED)
{
    static const char *const ops[] = {"matmul", "softmax", "rmsnorm"};
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        struct arena arena;
        arena_init(&arena, ARENA_BYTES);
        struct space first = space_of(&arena, ops[i], "h200-sxm", SPACE_PLANS_MAX);
        struct space second = space_of(&arena, ops[i], "h200-sxm", SPACE_PLANS_MAX);
        struct hash *hashes = arena_array(&arena, struct hash, first.plan_count);
        assert_int_equal(first.plan_count, second.plan_count);
        for (size_t k = 0; k < first.plan_count; k++) {
            struct hash other = plan_hash(second.plans[k]);
            hashes[k] = plan_hash(first.plans[k]);
            assert_memory_equal(&hashes[k], &other, sizeof(other));
        }
        qsort(hashes, first.plan_count, sizeof(*hashes), compare_hashes);
        for (size_t k = 1; k < first.plan_count; k++)
            assert_int_not_equal(compare_hashes(&hashes[k - 1], &hashes[k]), 0);
        arena_release(&arena);
    }
}

/* Too many for plans_max: the skeleton, then one region changed at a time. */
static void test_incomplete(void **state UNUSED)
{
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    struct space all = space_of(&arena, "rmsnorm", "h200-sxm", SPACE_PLANS_MAX);
    struct space some = space_of(&arena, "rmsnorm", "h200-sxm", 100);
    check_sums(&some);
    assert_false(some.complete);
    assert_true(some.plans_possible > 100);
    size_t single = some.domains[0].count + some.domains[1].count - 1;
    assert_int_equal(some.plan_count, single < 100 ? single : 100);
    struct hash first = plan_hash(all.plans[0]), same = plan_hash(some.plans[0]);
    assert_memory_equal(&first, &same, sizeof(first));
    arena_release(&arena);
}

/* A held row fits its threads by guard; a streamed one needs none. */
static void test_guards(void **state UNUSED)
{
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    const struct bound_op *bound = plans_op(&arena, "softmax");
    struct space space = space_of(&arena, "softmax", "h200-sxm", SPACE_PLANS_MAX);
    size_t held = 0;
    for (size_t i = 0; i < space.plan_count; i++) {
        struct footprint f;
        const char *why;
        struct buf text, want;
        struct err err = {0};
        int64_t holds;
        assert_true(footprint_of(&arena, &space.plans[i]->regions[0], bound, &f, &why));
        buf_init(&text, &arena, PLANS_TEXT_BYTES);
        buf_init(&want, &arena, PLANS_TEXT_BYTES);
        formula_print(&text, space.plans[i]->guard);
        if (f.streaming)
            buf_text(&want, "1");
        else
            buf_printf(&want, "N <= %lld", (long long)(f.sharing * f.items));
        assert_string_equal(text.at, want.at);
        assert_ok(formula_eval(space.plans[i]->guard, &bound->env, &holds, &err));
        assert_int_not_equal(holds, 0);
        held += !f.streaming;
    }
    assert_in_range(held, 5, space.plan_count - 5);
    arena_release(&arena);
}

static void test_nothing_legal(void **state UNUSED)
{
    struct arena arena;
    struct err err = {0};
    struct space space = {.plan_count = 7};
    const struct bound_op *bound;
    arena_init(&arena, ARENA_BYTES);
    const struct plan *skeleton = skeleton_of(&arena, "matmul", &bound);
    struct machine tiny = *plans_machine(&arena, "h200-sxm");
    tiny.shared_bytes_per_block_optin = 512;
    assert_false(plan_space(&arena, skeleton, bound, &tiny, &(struct space_options){10, false},
                            &space, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_string_equal(err.text,
                        "region 0 has no legal choice, nor is its own: region 0: "
                        "16896 bytes of shared memory a block; the limit on h200-sxm is 512");
    assert_int_equal(space.plan_count, 7);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spaces),         cmocka_unit_test(test_directions),
        cmocka_unit_test(test_same_each_time), cmocka_unit_test(test_incomplete),
        cmocka_unit_test(test_guards),         cmocka_unit_test(test_nothing_legal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
