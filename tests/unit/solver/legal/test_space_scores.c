/* Scores as regions: a skeleton for each of what a block may have whole, footprints, limits and
 * choices. */
#include <string.h>

#include "base/num.h"

#include "solver/legal/legal.h"
#include "tests/unit/solver/ir/scores_zoo.h"

enum { ARENA_BYTES = 512 << 20 };

static const struct skeleton_limits skeleton_limits = {.arch = "sm_90a", .threads_max = 1024};
static const size_t all[] = {0, 1, 2, 3, 4, 5, 6, 7};

static const struct bound_op *zoo(struct arena *arena, const char *name)
{
    for (size_t i = 0; i < COUNT_OF(scores_zoo); i++)
        if (strcmp(scores_zoo[i].name, name) == 0)
            return scores_bound(arena, &scores_zoo[i]);
    fail_msg("no %s in the zoo", name);
    return NULL;
}

struct kinds {
    struct region_skeleton made[REGION_SKELETONS_MAX];
    const struct plan *plans[REGION_SKELETONS_MAX]; /* of each alone */
    size_t count;
    const char *why;
};

static struct kinds kinds_of(struct arena *arena, const struct bound_op *bound, const char *track)
{
    struct kinds kinds = {.why = ""};
    const struct track *chosen;
    struct err err = {0};
    assert_true(op_track_find(bound->op, str_from(track), &chosen));
    kinds.count = region_skeletons(arena, bound, chosen, &skeleton_limits, all,
                                   bound->op->stmt_count, kinds.made, &kinds.why);
    for (size_t i = 0; i < kinds.count; i++) {
        kinds.plans[i] = plan_of_regions(arena, bound, chosen, &skeleton_limits, &kinds.made[i], 1);
        assert_ok(plan_check(kinds.plans[i], bound->op, &err));
    }
    return kinds;
}

static const char *guard_text(struct arena *arena, const struct plan *plan)
{
    struct buf text;
    buf_init(&text, arena, 4096);
    formula_print(&text, plan->guard);
    return text.at;
}

static struct footprint footprint(struct arena *arena, const struct bound_op *bound,
                                  const struct plan_region *region)
{
    struct footprint f;
    const char *why = "";
    if (!footprint_of(arena, region, bound, &f, &why))
        fail_msg("%s", why);
    assert_int_equal(f.kind, FOOTPRINT_CHAIN);
    assert_int_equal(f.columns, 0);
    return f;
}

/* What is written along the index is made twice or held; K is staged or whole. */
static void test_skeletons_of_written_rows(void **state UNUSED)
{
    static const struct {
        const char *guard;
        int64_t passes, held, shared;
    } wanted[] = {
        /* two tiles of 64 x 32; the rows' whole factor and a tile; scores; 4 words beside a row */
        {"1", 2, 0, 4 * (64 + 64) * (32 + 4)},
        {"K <= 64", 2, 0, 4 * (64 + 64) * (64 + 4)},
        {"N <= 512", 1, 4 * 64 * (512 + 4), 4 * (64 + 64) * (32 + 4) + 4 * 64 * (512 + 4)},
        {"N <= 512 && K <= 64", 1, 4 * 64 * (512 + 4),
         4 * (64 + 64) * (64 + 4) + 4 * 64 * (512 + 4)},
    };
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    const struct bound_op *bound = zoo(&arena, "softmax");
    const struct kinds kinds = kinds_of(&arena, bound, "f32");
    assert_int_equal(kinds.count, COUNT_OF(wanted));
    for (size_t i = 0; i < kinds.count; i++) {
        const struct plan_region *region = &kinds.plans[i]->regions[0];
        const struct footprint f = footprint(&arena, bound, region);
        assert_string_equal(guard_text(&arena, kinds.plans[i]), wanted[i].guard);
        assert_int_equal(f.passes, wanted[i].passes);
        assert_int_equal(f.held, wanted[i].held);
        assert_int_equal(f.shared_bytes, wanted[i].shared);
        assert_int_equal(f.threads, 256);
        assert_int_equal(f.blocks, 8192 / 64);
        /* scores of 4 x 4, their operands, three numbers a row */
        assert_int_equal(f.registers, 40 + 4 * 4 + 4 + 4 + 3 * 4);
        assert_true(f.online && region_uses(region, PRIMITIVE_ONLINE_STATE));
        assert_int_equal(region_uses(region, PRIMITIVE_REMATERIALISATION), wanted[i].passes == 2);
    }
    arena_release(&arena);
}

/* Statistics alone ask for one pass, and for nothing of the index's length. */
static void test_skeletons_of_statistics(void **state UNUSED)
{
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    const struct bound_op *bound = zoo(&arena, "cross entropy from hidden states");
    const struct kinds kinds = kinds_of(&arena, bound, "f32");
    assert_int_equal(kinds.count, 2);
    assert_string_equal(guard_text(&arena, kinds.plans[0]), "1");
    assert_string_equal(guard_text(&arena, kinds.plans[1]), "K <= 64");
    for (size_t i = 0; i < kinds.count; i++) {
        const struct footprint f = footprint(&arena, bound, &kinds.plans[i]->regions[0]);
        assert_int_equal(f.passes, 1);
        assert_int_equal(f.held, 0);
        assert_false(region_uses(&kinds.plans[i]->regions[0], PRIMITIVE_REMATERIALISATION));
    }
    arena_release(&arena);
}

static void test_moments_and_none(void **state UNUSED)
{
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    const struct kinds moments =
        kinds_of(&arena, zoo(&arena, "layer normalisation, as its definition is written"), "f32");
    const struct kinds plain = kinds_of(&arena, zoo(&arena, "root mean square"), "f32");
    assert_true(region_uses(&moments.made[0].region, PRIMITIVE_ONLINE_STATE));
    assert_false(region_uses(&plain.made[0].region, PRIMITIVE_ONLINE_STATE));
    arena_release(&arena);
}

/* No realiser writes them; what is none says which statement, and whose realm that is. */
static void test_no_kind(void **state UNUSED)
{
    static const struct scores_case stored = {.body = SCORES_PRODUCT ";u[m] = max(n) c[m,n]",
                                              .outputs = "c[M,N] u[M]"};
    const struct skeleton_limits realisable = {"sm_90a", 1024, true};
    struct region_skeleton made[REGION_SKELETONS_MAX];
    struct arena arena;
    const char *why = "";
    arena_init(&arena, ARENA_BYTES);
    const struct bound_op *bound = zoo(&arena, "softmax");
    assert_int_equal(region_skeletons(&arena, bound, NULL, &realisable, all, 5, made, &why), 0);
    assert_int_equal(region_skeletons(&arena, bound, NULL, &skeleton_limits, all, 3, made, &why),
                     4);
    const struct kinds none = kinds_of(&arena, scores_bound(&arena, &stored), "f32");
    assert_int_equal(none.count, 0);
    assert_string_equal(none.why, "its elements are needed outside, and a pass keeps none of them: "
                                  "c[m,n] = sum(k) A[m,k] * B[n,k]");
    arena_release(&arena);
}

/* A plan has to say how a written row comes by its scores, and where its sides are cut. */
static void test_plans_that_are_none(void **state UNUSED)
{
    struct arena arena;
    struct footprint f;
    const char *why = "";
    arena_init(&arena, ARENA_BYTES);
    const struct bound_op *bound = zoo(&arena, "softmax");
    const struct kinds kinds = kinds_of(&arena, bound, "f32");
    struct plan_region region = kinds.made[0].region;
    static const enum primitive once[] = {PRIMITIVE_TILE_STAGING, PRIMITIVE_STREAMING_ACCUMULATION};
    region.primitives = once;
    region.primitive_count = COUNT_OF(once);
    assert_false(footprint_of(&arena, &region, bound, &f, &why));
    assert_string_equal(why, "its row is written along the shared index, but neither held in a "
                             "block nor made again");
    static const struct plan_tile steps[] = {
        {{"m", 1}, 64, 4, 0}, {{"n", 1}, 64, 4, 0}, {{"k", 1}, 32, 1, 32}};
    region = kinds.made[0].region;
    region.depth = 3; /* both factors three times, as K is not whole; then the rows' once */
    assert_int_equal(footprint(&arena, bound, &region).shared_bytes, 3 * 4 * (64 + 64) * (32 + 4));
    region = kinds.made[1].region;
    region.depth = 3;
    assert_int_equal(footprint(&arena, bound, &region).shared_bytes, 4 * 4 * 64 * (64 + 4));
    region.tiles = steps;
    assert_false(footprint_of(&arena, &region, bound, &f, &why));
    assert_false(footprint_of(&arena, &region, bound, &f, &why));
    assert_string_equal(why,
                        "a side of the scores has no tile, or the shared or the summed index no "
                        "step");
    arena_release(&arena);
}

/* Beyond the guard of a held row, its plan is none. */
static void test_other_shape(void **state UNUSED)
{
    struct arena arena;
    struct formula_env dims;
    const struct bound_op *longer;
    struct footprint f;
    struct err err = {0};
    const char *why = "";
    arena_init(&arena, ARENA_BYTES);
    const struct bound_op *bound = zoo(&arena, "softmax");
    const struct kinds kinds = kinds_of(&arena, bound, "f32");
    assert_ok(op_parse_dims(&arena, bound->op, STR_LIT("Z=1 M=8192 N=513 K=64"), &dims, &err));
    assert_ok(op_bind(&arena, bound->op, &dims, &longer, &err));
    assert_true(footprint_of(&arena, &kinds.made[0].region, longer, &f, &why));
    assert_false(footprint_of(&arena, &kinds.made[2].region, longer, &f, &why));
    arena_release(&arena);
}

static bool is_reached(enum range_bound bound, int64_t m, int64_t n)
{
    return bound == RANGE_LT   ? n < m
           : bound == RANGE_LE ? n <= m
           : bound == RANGE_GT ? n > m
                               : n >= m;
}

/* Steps with an element that some row of a block reaches. */
static int64_t steps_by_hand(enum range_bound bound, int64_t side, int64_t rows, int64_t step)
{
    int64_t steps = 0;
    for (int64_t m = 0; m < side; m += rows)
        for (int64_t n = 0; n < side; n += step) {
            bool reached = false;
            for (int64_t i = m; i < m + rows && i < side && !reached; i++)
                for (int64_t k = n; k < n + step && k < side && !reached; k++)
                    reached = is_reached(bound, i, k);
            steps += reached;
        }
    return steps;
}

/* A triangular mask in the spec's own reductions leaves steps out; one in its values does not. */
static void test_triangles(void **state UNUSED)
{
    static const struct {
        enum range_bound bound;
        const char *text;
    } cases[] = {{RANGE_LT, "<"}, {RANGE_LE, "<="}, {RANGE_GT, ">"}, {RANGE_GE, ">="}};
    static const int64_t sides[] = {8, 100, 192, 257};
    for (size_t i = 0; i < COUNT_OF(cases) * COUNT_OF(sides); i++) {
        const size_t c = i / COUNT_OF(sides);
        const int64_t side = sides[i % COUNT_OF(sides)];
        struct arena arena;
        struct buf body, shape;
        struct formula_env dims;
        const struct bound_op *bound;
        struct err err = {0};
        arena_init(&arena, ARENA_BYTES);
        buf_init(&body, &arena, 4096);
        buf_init(&shape, &arena, 4096);
        buf_printf(&body, SCORES_PRODUCT ";u[m] = max(n %s m) c[m,n]", cases[c].text);
        buf_printf(&shape, "Z=1 M=%lld N=1 K=64", (long long)side);
        const struct scores_case spec = {.body = body.at, .outputs = "u[M]", .square = true};
        const struct op *op = scores_op(&arena, &spec);
        assert_ok(op_parse_dims(&arena, op, buf_view(&shape), &dims, &err));
        assert_ok(op_bind(&arena, op, &dims, &bound, &err));
        const struct kinds kinds = kinds_of(&arena, bound, "f32");
        struct plan_region region = kinds.made[0].region;
        struct plan_tile tiles[] = {region.tiles[0], region.tiles[1], region.tiles[2]};
        tiles[0].block = 32;
        region.tiles = tiles;
        region.threads[0] = 128;
        assert_int_equal(footprint(&arena, bound, &region).steps,
                         steps_by_hand(cases[c].bound, side, 32, 64));
        arena_release(&arena);
    }
}

/* ---- choices ---- */

struct walk {
    struct arena *arena;
    const struct bound_op *bound;
    size_t legal, seen, over[LIMIT_COUNT];
    size_t one_step, held,
        twice;     /* legal ones whose row stays in registers, in shared memory, not */
    size_t staged; /* along K */
    bool mma, deep;
    int64_t shared_most;
};

static void look(void *context, const struct plan_region *choice, const struct limits *limits)
{
    struct walk *walk = context;
    walk->seen++;
    if (!limits->legal) {
        walk->over[limits->over.limit]++;
        return;
    }
    const struct footprint f = footprint(walk->arena, walk->bound, choice);
    walk->legal++;
    walk->mma |= choice->mma[0] > 0;
    walk->deep |= choice->depth > 1;
    walk->twice += f.passes == 2;
    walk->held += f.held > 0;
    walk->staged += f.block[SIDE_K] < f.extent[SIDE_K];
    walk->one_step += f.passes == 1 && f.held == 0;
    if (f.passes == 1 && f.held == 0)
        assert_true(f.block[SIDE_N] >= f.extent[SIDE_N]);
    if (f.shared_bytes > walk->shared_most)
        walk->shared_most = f.shared_bytes;
}

static struct walk walk_on(struct arena *arena, const struct bound_op *bound, const char *track,
                           size_t kind, const struct machine *machine)
{
    struct walk walk = {.arena = arena, .bound = bound};
    const struct kinds kinds = kinds_of(arena, bound, track);
    space_visit(arena, kinds.plans[kind], bound, machine, false, 0, look, &walk);
    return walk;
}

static void test_choices(void **state UNUSED)
{
    struct arena arena;
    arena_init(&arena, (size_t)2 << 30);
    const struct bound_op *bound = zoo(&arena, "softmax");
    const struct machine *large = plans_machine(&arena, "h200-sxm");
    const struct machine *small = plans_machine(&arena, "rtx-3060");
    const struct walk twice = walk_on(&arena, bound, "f32", 0, large);
    const struct walk held = walk_on(&arena, bound, "f32", 2, large);
    const struct walk on_small = walk_on(&arena, bound, "f32", 2, small);
    assert_true(twice.legal > 0 && twice.twice == twice.legal && twice.staged == twice.legal);
    assert_true(held.held > 0 && held.one_step > 0 && held.twice == 0);
    assert_int_equal(on_small.seen, held.seen);
    assert_true(on_small.legal > 0 && on_small.legal < held.legal);
    assert_true(on_small.over[LIMIT_SHARED] > held.over[LIMIT_SHARED]);
    assert_true(held.shared_most <= large->shared_bytes_per_block_optin);
    assert_true(held.deep && !held.mma);
    assert_int_equal(held.over[LIMIT_KERNEL] + twice.over[LIMIT_KERNEL], 0);
    /* Threads of a row that no warp holds: 64 or 128 of them, of 10, 10 and 6 numbers of rows that
     * make at most 1,024 threads, at each of 3 depths and of 2 stages of K. */
    assert_int_equal(twice.over[LIMIT_TILE_REST], 2 * 3 * (10 + 10 + 6));
    const struct walk cores = walk_on(&arena, bound, "tf32", 2, large);
    assert_true(cores.mma && cores.over[LIMIT_KERNEL] == 0);
    /* a warp's 16 rows of 512 scores take more registers than a thread has */
    assert_true(cores.over[LIMIT_REGISTERS] > held.over[LIMIT_REGISTERS]);
    arena_release(&arena);
}

/* A step that is not shorter than the index would hold the row, under a guard that does not say so.
 */
static void test_short_index(void **state UNUSED)
{
    struct arena arena;
    struct formula_env dims;
    const struct bound_op *bound;
    struct err err = {0};
    arena_init(&arena, (size_t)2 << 30);
    const struct op *op = zoo(&arena, "softmax")->op;
    assert_ok(op_parse_dims(&arena, op, STR_LIT("Z=1 M=8192 N=100 K=64"), &dims, &err));
    assert_ok(op_bind(&arena, op, &dims, &bound, &err));
    const struct machine *large = plans_machine(&arena, "h200-sxm");
    const struct walk twice = walk_on(&arena, bound, "f32", 0, large);
    assert_true(twice.legal > 0 && twice.twice == twice.legal);
    arena_release(&arena);
}

/* The space has each choice once, and all are plans. */
static void test_space(void **state UNUSED)
{
    struct arena arena;
    struct space space;
    struct err err = {0};
    arena_init(&arena, (size_t)2 << 30);
    const struct bound_op *bound = zoo(&arena, "softmax");
    const struct machine *machine = plans_machine(&arena, "h200-sxm");
    const struct kinds kinds = kinds_of(&arena, bound, "tf32");
    for (size_t i = 0; i < kinds.count; i++) {
        assert_ok(plan_space(&arena, kinds.plans[i], bound, machine,
                             &(struct space_options){4096, false}, &space, &err));
        assert_int_equal(space.plan_count, space.domains[0].count);
        assert_int_equal(space.duplicates, 0);
        for (size_t k = 0; k < space.plan_count; k += 17)
            assert_ok(plan_check(space.plans[k], bound->op, &err));
    }
    arena_release(&arena);
}

/* Every spec of the zoo is one region, whatever it is called and however it is written. */
static void test_zoo(void **state UNUSED)
{
    for (size_t i = 0; i < COUNT_OF(scores_zoo); i++) {
        struct arena arena;
        arena_init(&arena, ARENA_BYTES);
        const struct bound_op *bound = scores_bound(&arena, &scores_zoo[i]);
        const struct kinds kinds = kinds_of(&arena, bound, "f32");
        if (kinds.count != (scores_zoo[i].again ? 4 : 2))
            fail_msg("%s: %zu kinds, %s", scores_zoo[i].name, kinds.count, kinds.why);
        for (size_t k = 0; k < kinds.count; k++)
            (void)footprint(&arena, bound, &kinds.made[k].region);
        arena_release(&arena);
    }
}

/* Candidates grow to all of its statements, but for last ones that give the results of a map in
 * another order. */
static void test_candidates(void **state UNUSED)
{
    for (size_t i = 0; i < COUNT_OF(scores_zoo); i++) {
        struct arena arena;
        struct structures structures;
        struct candidates candidates;
        bool whole = false;
        arena_init(&arena, ARENA_BYTES);
        const struct bound_op *bound = scores_bound(&arena, &scores_zoo[i]);
        structure_of(&arena, bound, NULL, &structures);
        candidates_find(&arena, bound, NULL, &skeleton_limits, &structures, &candidates);
        for (size_t k = 0; k < candidates.count; k++)
            whole |= candidates.items[k].stmt_count + scores_zoo[i].turned == bound->op->stmt_count;
        if (!whole)
            fail_msg("%s: no candidate has all of it", scores_zoo[i].name);
        arena_release(&arena);
    }
}

/* Which reads of a product may share its region: those that its row has, whatever their order. */
static void test_compositions(void **state UNUSED)
{
    static const struct {
        struct scores_case spec;
        bool allowed; /* statement 0 with 1 */
    } cases[] = {
        {{.body = SCORES_PRODUCT ";u[m] = c[m,t[m]]", .outputs = "u[M]"}, true},
        {{.body = SCORES_PRODUCT ";u[m] = c[m,t[m]] + c[m,0]", .outputs = "u[M]"}, false},
        {{.body = SCORES_PRODUCT ";u[m] = sum(n) g[n] * c[m,t[m]]", .outputs = "u[M]"}, false},
        {{.body = SCORES_PRODUCT ";y[n,m] = c[m,n] * 2.0", .outputs = "y[N,M]"}, false},
        {{.body = SCORES_PRODUCT ";v[n] = max(m) c[m,n]", .outputs = "v[N]"}, true},
        {{.body = "c[m,n] = A[m,0] * B[n,0];y[n,m] = c[m,n] * 2.0", .outputs = "y[N,M]"}, false},
        {{.body = "c[m,n] = A[m,0] * B[n,0];v[n] = max(m) c[m,n]", .outputs = "v[N]"}, false},
        {{.body = "c[m,n] = A[m,0] * B[n,0];u[m] = c[m,t[m]]", .outputs = "u[M]"}, false},
        {{.body = "c[m,n] = max(k) A[m,k] * B[n,k];y[n,m] = c[m,n]", .outputs = "y[N,M]"}, false},
        {{.body = SCORES_PRODUCT ";y[n,m] = c[m,n] * 2.0;u[m] = max(n) c[m,n]",
          .outputs = "y[N,M] u[M]"},
         true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct structures found;
        arena_init(&arena, ARENA_BYTES);
        structure_of(&arena, scores_bound(&arena, &cases[i].spec), NULL, &found);
        if (found.compositions[0].allowed != cases[i].allowed)
            fail_msg("%s: %s", cases[i].spec.body, found.compositions[0].text.at);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_skeletons_of_written_rows),
        cmocka_unit_test(test_skeletons_of_statistics),
        cmocka_unit_test(test_moments_and_none),
        cmocka_unit_test(test_no_kind),
        cmocka_unit_test(test_plans_that_are_none),
        cmocka_unit_test(test_other_shape),
        cmocka_unit_test(test_triangles),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_short_index),
        cmocka_unit_test(test_space),
        cmocka_unit_test(test_zoo),
        cmocka_unit_test(test_candidates),
        cmocka_unit_test(test_compositions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
