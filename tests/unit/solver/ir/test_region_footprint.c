/* Footprints of planned regions: passes, traffic, shared memory, sides and divisions, by hand. */
#include <string.h>

#include "tests/unit/solver/ir/plans.h"

enum { ARENA_BYTES = 256 << 20 };

static struct footprint rows_of(struct arena *arena, const struct bound_op *bound,
                                const struct row_numbers *rows)
{
    struct footprint f;
    const char *why = "";
    const struct plan *plan = plans_plan(arena, bound, plans_rows(arena, bound, rows), "");
    if (!footprint_of(arena, &plan->regions[0], bound, &f, &why))
        fail_msg("%s", why);
    return f;
}

static int64_t loads_of(const struct bound_op *bound, const struct footprint *f, const char *tensor)
{
    return f->loads[op_tensor_find(bound->op, str_from(tensor))];
}

static void test_rows(void **state UNUSED)
{
    static const struct {
        const char *op;
        struct row_numbers rows;
        int64_t passes, loads_of_x, shared_bytes, blocks;
    } cases[] = {
        /* maximum | sum | quotient */
        {"softmax", {512, 4, 8, false, false}, 3, 1, 16 * 4 * 2, 4096},
        {"softmax", {512, 4, 4, false, true}, 3, 3, 16 * (4 + 8), 4096},
        {"softmax", {128, 4, 4, true, true}, 3, 3, 0, 1024},
        /* sum | squares | use */
        {"layernorm", {512, 4, 8, false, false}, 3, 1, 16 * 4, 8192},
        {"layernorm", {512, 4, 4, false, true}, 3, 3, 16 * 8, 8192},
        {"rowsum", {256, 4, 16, false, false}, 1, 1, 8 * 4, 4096},
        {"argmax", {512, 4, 8, false, false}, 1, 1, 16 * 16, 4096},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        arena_init(&arena, ARENA_BYTES);
        const struct bound_op *bound = plans_op(&arena, cases[i].op);
        struct footprint f = rows_of(&arena, bound, &cases[i].rows);
        assert_int_equal(f.kind, FOOTPRINT_ROWS);
        assert_int_equal(f.passes, cases[i].passes);
        assert_int_equal(loads_of(bound, &f, "x"), cases[i].loads_of_x);
        assert_int_equal(f.shared_bytes, cases[i].shared_bytes);
        assert_int_equal(f.blocks, cases[i].blocks);
        assert_int_equal(f.length, 4096);
        if (strcmp(cases[i].op, "layernorm") == 0)
            assert_int_equal(loads_of(bound, &f, "gamma"), 1);
        arena_release(&arena);
    }
}

static void test_tile(void **state UNUSED)
{
    static const struct tile_numbers tile = {128, 64, 32, 8, 4, 256};
    struct arena arena;
    struct footprint f;
    const char *why;
    arena_init(&arena, ARENA_BYTES);
    const struct bound_op *bound = plans_op(&arena, "matmul");
    const struct plan *plan = plans_plan(&arena, bound, plans_tile(&arena, &tile), "");
    assert_true(footprint_of(&arena, &plan->regions[0], bound, &f, &why));
    assert_int_equal(f.kind, FOOTPRINT_TILE);
    assert_int_equal(f.threads, 16 * 16);
    assert_int_equal(f.blocks, 32 * 64);
    assert_int_equal(f.shared_bytes, 32 * (128 + 4 + 64 + 4) * 4);
    assert_int_equal(f.extent[SIDE_BATCH], 1);
    assert_int_equal(f.extent[SIDE_K], 4096);
    assert_int_equal(f.block[SIDE_K], 32);
    assert_int_equal(f.divisions[0] + f.divisions[1], 0);
    arena_release(&arena);
}

/* An image's window: b, p, q against k, over c, r, s. */
static void test_convolution(void **state UNUSED)
{
    static const char region[] =
        "{\"stmts\":[0],\"primitives\":[\"register-tile\"],\"tiles\":["
        "{\"index\":\"q\",\"block\":64,\"thread\":4},{\"index\":\"k\",\"block\":64,\"thread\":4},"
        "{\"index\":\"s\",\"block\":16,\"thread\":1,\"step\":16}],\"stages\":[],"
        "\"threads\":[256,1,1],\"precision\":\"f32\"}";
    struct arena arena;
    struct footprint f;
    const char *why;
    arena_init(&arena, ARENA_BYTES);
    const struct bound_op *bound = plans_op(&arena, "conv2d");
    const struct plan *plan = plans_plan(&arena, bound, region, "");
    assert_true(footprint_of(&arena, &plan->regions[0], bound, &f, &why));
    assert_int_equal(f.extent[SIDE_M], 16 * 64 * 64);
    assert_int_equal(f.extent[SIDE_N], 128);
    assert_int_equal(f.extent[SIDE_K], 64 * 9);
    assert_int_equal(f.divisions[0], 2 + 2);
    assert_int_equal(f.divisions[1], 0 + 2);
    arena_release(&arena);
}

static void test_refused(void **state UNUSED)
{
    static const struct {
        const char *op, *region, *why;
    } cases[] = {
        {"rowsum",
         "{\"stmts\":[0],\"primitives\":[\"register-tile\"],\"tiles\":[],\"stages\":[],"
         "\"threads\":[256,1,1],\"precision\":\"f32\"}",
         "it is no float sum of products"},
        {"matmul",
         "{\"stmts\":[0],\"primitives\":[\"register-tile\"],\"tiles\":[],\"stages\":[],"
         "\"threads\":[256,1,1],\"precision\":\"f32\"}",
         "a side of the product has no tile"},
        {"gemv",
         "{\"stmts\":[0],\"primitives\":[\"register-tile\"],\"tiles\":[{\"index\":\"m\","
         "\"block\":64,\"thread\":4},{\"index\":\"k\",\"block\":16,\"thread\":1,\"step\":16}],"
         "\"stages\":[],\"threads\":[256,1,1],\"precision\":\"f32\"}",
         "a factor has no loop of its own"},
        {"scatter_add",
         "{\"stmts\":[0],\"primitives\":[\"vector-access\"],\"tiles\":[],\"stages\":[],"
         "\"threads\":[256,1,1],\"precision\":\"f32\"}",
         "its statements do not share their loops"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct footprint f = {.blocks = 77};
        const char *why = "";
        arena_init(&arena, ARENA_BYTES);
        const struct bound_op *bound = plans_op(&arena, cases[i].op);
        const struct plan *plan = plans_plan(&arena, bound, cases[i].region, "");
        assert_false(footprint_of(&arena, &plan->regions[0], bound, &f, &why));
        assert_string_equal(why, cases[i].why);
        assert_int_equal(f.blocks, 77);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_tile),
        cmocka_unit_test(test_convolution),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
