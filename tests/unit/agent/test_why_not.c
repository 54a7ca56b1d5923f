/* `plan --why-not`: a sketch for each hard limit of solver/legal/limits.h that is refused by it. */
#include <string.h>

#include "agent/plan_view.h"
#include "tests/unit/solver/ir/plans.h"

enum { ARENA_BYTES = 1 << 30, TURING = 75 };

#define ROWS(columns, align)                                                                       \
    "{\"spec\":1,\"name\":\"rows\",\"tracks\":{\"f32\":{}},\"shapes\":{\"target\":[{}]},"          \
    "\"tensors\":[{\"name\":\"x\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[64," columns     \
    "],\"align\":" align "},{\"name\":\"y\",\"role\":\"output\",\"dtype\":\"f32\",\"shape\":[64]}" \
    "],\"body\":[\"y[m] = sum(n) x[m,n]\"]}"

static const struct why_case {
    enum limit limit;
    const char *op;   /* a name, or a spec */
    const char *dims; /* NULL: the first target */
    const char *track;
    int64_t capability, dram_bytes; /* 0: the machine's */
    const char *sketch;
} cases[] = {
    {LIMIT_KERNEL, "causal_attention", NULL, "f32", 0, 0, "{\"tile\":{\"i\":64,\"d\":32}}"},
    {LIMIT_THREADS, "matmul", NULL, "f32", 0, 0,
     "{\"tile\":{\"m\":{\"block\":256,\"thread\":4},\"n\":{\"block\":256,\"thread\":4}},"
     "\"threads\":256}"},
    {LIMIT_TREE_REST, "softmax", NULL, "f32", 0, 0, "{\"threads\":96}"},
    {LIMIT_TILE_THREADS, "matmul", NULL, "f32", 0, 0,
     "{\"tile\":{\"m\":{\"block\":64,\"thread\":4},\"n\":{\"block\":64,\"thread\":4}},"
     "\"threads\":128}"},
    {LIMIT_TILE_SIDE, "matmul", NULL, "f32", 0, 0,
     "{\"tile\":{\"m\":{\"block\":512,\"thread\":16},\"n\":{\"block\":64,\"thread\":16}}}"},
    {LIMIT_TILE_OWN, "matmul", NULL, "f32", 0, 0,
     "{\"mma\":[0,0,0],\"tile\":{\"m\":{\"block\":256,\"thread\":32},"
     "\"n\":{\"block\":64,\"thread\":8}}}"},
    {LIMIT_TILE_REST, "matmul", NULL, "f32", 0, 0,
     "{\"mma\":[0,0,0],\"tile\":{\"m\":{\"block\":128,\"thread\":8},"
     "\"n\":{\"block\":128,\"thread\":12}}}"},
    {LIMIT_MMA_SHAPE, "matmul_bias_gelu_bf16", NULL, "bf16", 0, 0,
     "{\"vector\":8,\"mma\":[16,8,12]}"},
    {LIMIT_MMA_REST, "matmul_bias_gelu_bf16", NULL, "bf16", 0, 0,
     "{\"tile\":{\"m\":{\"block\":128,\"thread\":8},\"n\":{\"block\":128,\"thread\":8},\"k\":8},"
     "\"mma\":[16,8,16],\"staging\":\"async\",\"depth\":3,\"vector\":8}"},
    {LIMIT_MMA_LAYOUT, "matmul_bias_gelu_bf16", NULL, "bf16", 0, 0,
     "{\"tile\":{\"m\":{\"block\":128,\"thread\":2},\"n\":{\"block\":256,\"thread\":64},\"k\":64},"
     "\"mma\":[64,256,16],\"layout\":\"row-major\",\"staging\":\"async\",\"depth\":2,\"vector\":"
     "8}"},
    {LIMIT_PRECISION, "matmul_bias_gelu_bf16", NULL, "bf16", 0, 0,
     "{\"tile\":{\"m\":{\"block\":128,\"thread\":8},\"n\":{\"block\":128,\"thread\":8},\"k\":32},"
     "\"precision\":\"f16\",\"staging\":\"register\",\"depth\":2,\"vector\":8,\"mma\":[16,8,16]}"},
    {LIMIT_DEPTH, "matmul_bias_gelu_bf16", NULL, "bf16", 0, 0,
     "{\"tile\":{\"m\":{\"block\":128,\"thread\":8},\"n\":{\"block\":128,\"thread\":8},\"k\":32},"
     "\"split\":64,\"staging\":\"async\",\"depth\":3,\"vector\":8,\"mma\":[16,8,16]}"},
    {LIMIT_SPLIT, "matmul", NULL, "f32", 0, 0, "{\"split\":1024}"},
    {LIMIT_STAGING, "matmul", NULL, "f32", 0, 0, "{\"depth\":4,\"staging\":\"shared\"}"},
    {LIMIT_COPY_BYTES, "matmul", NULL, "f32", 0, 0, "{\"staging\":\"async\",\"vector\":8}"},
    {LIMIT_VECTOR_BYTES, "softmax", NULL, "f32", 0, 0, "{\"vector\":8}"},
    {LIMIT_VECTOR_REST, ROWS("1026", "16"), NULL, "f32", 0, 0, "{\"vector\":4}"},
    {LIMIT_VECTOR_ALIGN, ROWS("1024", "8"), NULL, "f32", 0, 0, "{\"vector\":4}"},
    {LIMIT_ROW_SPAN, "softmax", NULL, "f32", 0, 0, "{\"tile\":{\"n\":{\"block\":100}}}"},
    {LIMIT_ITEMS, "softmax", NULL, "f32", 0, 0,
     "{\"threads\":32,\"tile\":{\"n\":{\"block\":4096,\"thread\":128}}}"},
    {LIMIT_ITEMS_REST, "softmax", NULL, "f32", 0, 0,
     "{\"threads\":512,\"vector\":4,\"tile\":{\"n\":{\"block\":5120,\"thread\":10}}}"},
    {LIMIT_HELD, "softmax", NULL, "f32", 0, 0,
     "{\"threads\":512,\"vector\":2,\"tile\":{\"n\":{\"block\":2048,\"thread\":4}}}"},
    {LIMIT_SHARED, "matmul", NULL, "f32", 0, 0,
     "{\"tile\":{\"m\":{\"block\":128,\"thread\":8},\"n\":{\"block\":128,\"thread\":8},"
     "\"k\":256}}"},
    {LIMIT_REGISTERS, "matmul", NULL, "f32", 0, 0,
     "{\"tile\":{\"m\":{\"block\":256,\"thread\":16},\"n\":{\"block\":256,\"thread\":16}}}"},
    {LIMIT_REGISTERS_BLOCK, "matmul", NULL, "f32", 0, 0,
     "{\"tile\":{\"m\":{\"block\":256,\"thread\":8},\"n\":{\"block\":128,\"thread\":8}}}"},
    {LIMIT_GRID, "matmul", "M=65536,N=65536,K=64", "f32", 0, 0,
     "{\"tile\":{\"m\":{\"block\":1,\"thread\":1},\"n\":{\"block\":1,\"thread\":1}}}"},
    {LIMIT_CAPABILITY, "causal_attention", NULL, "tf32", TURING, 0, "{\"mma\":[16,8,8]}"},
    {LIMIT_WORKSPACE, "matmul", NULL, "f32", 0, 1 << 20, "{\"tile\":{\"m\":64,\"n\":64}}"},
};

/* Those that no sketch can come to. */
static const struct {
    enum limit limit;
    const char *why;
} out_of_reach[] = {
    {LIMIT_SHARED_STATIC, "of the realiser's kernels alone: with a staging said, which a sketch "
                          "cannot take away, the code is a model's and may ask for more (a plan "
                          "document is refused: tests/unit/solver/legal/test_limits.c)"},
    {LIMIT_STATE, "the space offers running states only where there are some; a plan document is "
                  "refused by it (tests/unit/solver/legal/test_space_wide.c)"},
    {LIMIT_RESIDENCY, "a sketch is of one region, and edges are between two; a plan document is "
                      "refused by it (tests/unit/solver/legal/test_limits.c)"},
};

static const struct track *track_named(const struct op *op, const char *name)
{
    for (size_t i = 0; i < op->track_count; i++)
        if (str_equal(op->tracks[i].name, str_from(name)))
            return &op->tracks[i];
    fail_msg("no track %s", name);
    return NULL;
}

static struct plan_task task_of_case(struct arena *arena, const struct why_case *c)
{
    struct plan_task task = {.arena = arena};
    struct machine *machine = arena_new(arena, struct machine);
    struct err err;

    if (c->op[0] == '{') {
        assert_ok(op_parse(arena, str_from(c->op), "spec", NULL, &task.op, &err));
        assert_ok(op_bind_shape(arena, task.op, &task.op->targets[0], &task.bound, &err));
    } else {
        task.bound = plans_op(arena, c->op);
        task.op = task.bound->op;
    }
    if (c->dims != NULL) {
        struct formula_env dims;

        assert_ok(op_parse_dims(arena, task.op, str_from(c->dims), &dims, &err));
        assert_ok(op_bind(arena, task.op, &dims, &task.bound, &err));
    }
    *machine = *plans_machine(arena, "h200-sxm");
    machine->capability = c->capability > 0 ? c->capability : machine->capability;
    machine->dram_bytes = c->dram_bytes > 0 ? c->dram_bytes : machine->dram_bytes;
    task.track = track_named(task.op, c->track);
    task.machine = machine;
    task.arch = "sm_90a";
    return task;
}

static void test_each_limit_is_named(void **state UNUSED)
{
    bool named[LIMIT_COUNT] = {false};

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *text =
            cases[i].limit == LIMIT_KERNEL ? "no kernel fits it" : limit_text(cases[i].limit);
        struct arena arena;
        struct plan_view view;
        struct plan_why why;
        struct err err;

        arena_init(&arena, ARENA_BYTES);
        const struct plan_task task = task_of_case(&arena, &cases[i]);
        assert_ok(plan_explore(&task, 1, &view, &err));
        assert_ok(plan_why_not(&view, cases[i].sketch, &why, &err));
        if (memmem(why.reason.at, why.reason.len, text, strlen(text)) == NULL)
            fail_msg("%s: %.*s, not %s", cases[i].sketch, STR_ARG(why.reason), text);
        named[cases[i].limit] = true;
        arena_release(&arena);
    }
    for (size_t i = 0; i < COUNT_OF(out_of_reach); i++) {
        assert_false(named[out_of_reach[i].limit]);
        named[out_of_reach[i].limit] = true;
    }
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        if (!named[i])
            fail_msg("no sketch for: %s", limit_text((enum limit)i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_limit_is_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
