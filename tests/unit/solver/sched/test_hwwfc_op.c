/* Which layers of HW-WFC the library's ops are, and why others are none. */
#include <string.h>

#include "base/file.h"

#include "solver/sched/sched.h"
#include "tests/unit/unit.h"

enum { ARENA_BYTES = 1 << 30, TEXT_BYTES = 4096 };
static const struct hwwfc_spec spec = {65536, 900, 19000, 312000, 128};

static bool find(void *context UNUSED, struct arena *arena, struct str name, struct str *text)
{
    struct err err;
    char path[128];
    snprintf(path, sizeof(path), "kernels/ops/%.*s.json", STR_ARG(name));
    return file_read(arena, path, OP_SPEC_BYTES_MAX, text, &err);
}

/* `shape` NULL: the first target. */
static const struct bound_op *at_shape(struct arena *arena, const char *name, const char *shape)
{
    const struct op_library library = {find, NULL};
    const struct bound_op *bound;
    const struct op *op;
    struct formula_env dims;
    struct err err = {0};
    struct str text;
    assert_true(find(NULL, arena, str_from(name), &text));
    assert_ok(op_parse(arena, text, name, &library, &op, &err));
    if (shape == NULL) {
        assert_ok(op_bind_shape(arena, op, &op->targets[0], &bound, &err));
        return bound;
    }
    assert_ok(op_parse_dims(arena, op, str_from(shape), &dims, &err));
    assert_ok(op_bind(arena, op, &dims, &bound, &err));
    return bound;
}

static bool layers(struct arena *arena, const struct bound_op *bound, struct hwwfc_problem *out,
                   struct err *err)
{
    return hwwfc_of_op(arena, bound, &spec, hwwfc_tiles_named(STR_LIT("default")), out, err);
}

/* "h LAYERNORM M=8 N=4; gate LINEAR ... ~h": neighbours of a graph behind a tilde. */
static struct str text_of(struct arena *arena, const struct hwwfc_problem *problem)
{
    struct buf text;
    buf_init(&text, arena, TEXT_BYTES);
    for (size_t i = 0; i < problem->layer_count; i++) {
        const struct hwwfc_layer *l = &problem->layers[i];
        buf_printf(&text, "%s%.*s %s", i > 0 ? "; " : "", STR_ARG(l->name),
                   hwwfc_type_name(l->type));
        for (size_t k = 0; k < l->dim_count; k++)
            buf_printf(&text, " %.*s=%lld", STR_ARG(l->dims[k].name), (long long)l->dims[k].value);
        for (size_t k = 0; k < l->neighbor_count; k++)
            buf_printf(&text, " ~%.*s", STR_ARG(problem->layers[l->neighbors[k]].name));
    }
    return buf_view(&text);
}

static void test_layers(void **state UNUSED)
{
    static const struct {
        const char *op, *shape, *layers;
    } cases[] = {
        {"matmul", "M=64,N=32,K=16", "C LINEAR M=64 N=32 K=16"},
        {"gemv", NULL, "y LINEAR M=2048 N=1 K=131072"},
        {"batched_matmul", "S=1,M=4,N=8,K=16", "C LINEAR M=4 N=8 K=16"},
        {"matmul_bias_gelu_bf16", "M=8,N=16,K=32",
         "s LINEAR M=8 N=16 K=32; h RELU M=8 N=16; C RELU M=8 N=16"},
        {"conv2d", "B=1,C=3,K=5,H=9,W=8,R=3,S=5", "y CONV2D H=5 W=4 KH=3 KW=5 C_in=3 C_out=5"},
        {"depthwise_conv", "B=1,C=7,H=9,W=8", "y DEPTHWISE_CONV H=9 W=8 KH=3 KW=3 C=7"},
        {"softmax", "M=8,N=64", "y SOFTMAX M=8 N=64"},
        {"log_softmax", "M=8,N=64", "y SOFTMAX M=8 N=64"},
        {"layernorm", "M=8,N=64", "y LAYERNORM M=8 N=64"},
        {"add_rmsnorm", "M=8,N=64", "h RELU M=8 N=64; y LAYERNORM M=8 N=64"},
        {"transformer_mlp", "M=8,E=16,F=32",
         "h LAYERNORM M=8 N=16 ~gate ~up; gate LINEAR M=8 N=32 K=16 ~h ~act; "
         "up LINEAR M=8 N=32 K=16 ~h ~act; act RELU M=8 N=32 ~gate ~up ~down; "
         "down LINEAR M=8 N=16 K=32 ~act ~y; y RELU M=8 N=16 ~down"},
        {"causal_attention", "B=1,H=1,T=32,D=8",
         "sc LINEAR M=32 N=32 K=8; ms RELU M=32 N=32; y SOFTMAX M=32 N=32; "
         "o LINEAR M=32 N=8 K=32"},
    };
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct hwwfc_problem problem;
        struct err err = {0};
        assert_ok(layers(&arena, at_shape(&arena, cases[i].op, cases[i].shape), &problem, &err));
        assert_string_equal(text_of(&arena, &problem).at, cases[i].layers);
        assert_int_equal(problem.layers[0].candidate_count, 66);
    }
    arena_release(&arena);
}

static void test_refusals(void **state UNUSED)
{
    static const struct {
        const char *op, *says;
    } cases[] = {
        {"batched_matmul", "statement 0 (C): HW-WFC has no layer for it: a batch of products"},
        {"conv2d", "a batch of images"},
        {"avgpool", "belongs to no normalisation"},
        {"logsumexp", "statement 0 (mx)"},
        {"cumsum", "a scan"},
        {"embedding", "data say"},
        {"scatter_add", "data say"},
        {"lstm", "a step at a time"},
    };
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct hwwfc_problem problem;
        struct err err = {0};
        assert_false(layers(&arena, at_shape(&arena, cases[i].op, NULL), &problem, &err));
        if (strstr(err.text, cases[i].says) == NULL)
            fail_msg("%s: %s", cases[i].op, err.text);
    }
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
