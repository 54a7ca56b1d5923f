/*
 * Whole prompts, byte for byte; `--bless` writes them anew: a first kernel with all seven things, a
 * repair, and an improvement of an incumbent.
 */
#include "tests/unit/synth/prompts.h"

static const char racy[] = "// one block a row\n"
                           "extern \"C\" __global__ void softmax_kernel(const float *x, float *y, "
                           "int M, int N)\n"
                           "{\n"
                           "    __shared__ float part[256];\n"
                           "    float m = -INFINITY;\n"
                           "    for (int i = threadIdx.x; i < N; i += 256)\n"
                           "        m = fmaxf(m, x[(long long)blockIdx.x * N + i]);\n"
                           "    part[threadIdx.x] = m;\n"
                           "    for (int step = 128; step > 0; step /= 2)\n"
                           "        if (threadIdx.x < step)\n"
                           "            part[threadIdx.x] = fmaxf(part[threadIdx.x], "
                           "part[threadIdx.x + step]);\n"
                           "    __syncthreads();\n"
                           "    // ...\n"
                           "}\n";
static const char racy_manifest[] =
    "{\"manifest\": 1, \"arch\": \"sm_90a\", \"guard\": \"true\", \"kernels\": [{\"entry\": "
    "\"softmax_kernel\", \"grid\": [\"M\", 1, 1], \"block\": [256, 1, 1], \"args\": [{\"tensor\": "
    "\"x\"}, {\"tensor\": \"y\"}, {\"dim\": \"M\", \"dtype\": \"i32\"}, {\"dim\": \"N\", "
    "\"dtype\": \"i32\"}]}]}";

static struct prompt first(struct arena *arena)
{
    struct prompt_input in = prompt_softmax(arena);
    return prompt_made(arena, &in);
}

static struct prompt repair(struct arena *arena)
{
    struct prompt_input in = prompt_softmax(arena);
    const struct prompt_kernel last = {STR_LIT(racy), STR_LIT(racy_manifest), 0};
    const struct prompt_verdict verdict = {
        .validity = VALIDITY_RACE,
        .gate = GATE_EMULATE,
        .reason = STR_LIT(
            "read races with an earlier write of 'part' (shared memory, byte 512 of 1024), by "
            "thread 0 of block 0 at kernel.cu:11; the other was thread 128 at kernel.cu:8; at M=1 "
            "N=1, spec data, forward order, weakest alignment"),
        .source_line = 11,
        .shape = STR_LIT("M=1 N=1"),
        .data = STR_LIT("spec"),
        .what = STR_LIT("forward order, weakest alignment"),
    };
    in.last = &last;
    in.verdict = &verdict;
    return prompt_made(arena, &in);
}

static struct prompt improve(struct arena *arena)
{
    static const struct prompt_number numbers[] = {
        {STR_LIT("cubin.matmul_bias_gelu_bf16_1_C.registers"), 128, false, 0},
        {STR_LIT("cubin.matmul_bias_gelu_bf16_1_C.shared_bytes"), 16896, false, 0},
        {STR_LIT("cubin.matmul_bias_gelu_bf16_1_C.spill_bytes"), 0, false, 0},
        {STR_LIT("ptx.matmul_bias_gelu_bf16_1_C.mma_bf16"), 0, false, 0},
    };
    static const struct prompt_item structure[] = {
        ITEM("s[m,n]", "contraction over k, bf16 factors, f32 sums"),
        ITEM("h, C", "maps on the tile of s: a fused epilogue"),
    };
    struct prompt_input in = prompt_plain(arena, "matmul_bias_gelu_bf16");
    struct emitted emitted;
    struct err err;
    assert_ok(realise(arena, in.target->op, in.plan, spec_limits.arch, &emitted, &err));
    const struct prompt_kernel incumbent = prompt_kernel_of(arena, &emitted, 3.1e6);
    const struct prompt_verdict verdict = {
        .validity = VALIDITY_ACCEPTED,
        .timing = TIMING_MEASURED,
        .gate = GATE_COMPARE,
        .reason = STR_LIT("310 checks passed on 96 data sets"),
        .observed = numbers,
        .observed_count = COUNT_OF(numbers),
    };
    in.structure = LIST(structure);
    in.bound_ns = 139000;
    in.gpu = true;
    in.incumbent = in.last = &incumbent;
    in.verdict = &verdict;
    return prompt_made(arena, &in);
}

struct golden {
    const char *name;
    struct prompt (*make)(struct arena *arena);
};
static const struct golden goldens[] = {
    {"softmax.first", first},
    {"softmax.repair", repair},
    {"matmul_bias_gelu_bf16.improve", improve},
};

static struct str golden_text(struct arena *arena, const struct golden *golden)
{
    struct prompt prompt = golden->make(arena);
    struct buf out;
    buf_init(&out, arena, 1 << 20);
    buf_printf(&out, "==== system ====\n%.*s\n==== user ====\n%.*s", STR_ARG(prompt.system),
               STR_ARG(prompt.user));
    buf_printf(&out, "==== at most %lld tokens ====\n", (long long)prompt.tokens);
    return buf_view(&out);
}

static const char *golden_path(struct arena *arena, const struct golden *golden)
{
    char path[256];
    snprintf(path, sizeof(path), "tests/golden/prompts/%s.txt", golden->name);
    return str_copy(arena, str_from(path));
}

static void test_texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(goldens); i++) {
        struct arena arena;
        struct str want;
        struct err err;
        arena_init(&arena, (size_t)1 << 28);
        const char *path = golden_path(&arena, &goldens[i]);
        struct str got = golden_text(&arena, &goldens[i]);
        assert_ok(file_read(&arena, path, 1 << 20, &want, &err));
        if (!str_equal(got, want))
            fail_msg("%s differs; `make bless` rewrites it.  Now:\n%.*s", path, STR_ARG(got));
        arena_release(&arena);
    }
}

static void bless(void)
{
    for (size_t i = 0; i < COUNT_OF(goldens); i++) {
        struct arena arena;
        struct err err;
        arena_init(&arena, (size_t)1 << 28);
        if (!file_write(golden_path(&arena, &goldens[i]), golden_text(&arena, &goldens[i]), &err))
            fprintf(stderr, "%s\n", err.text);
        arena_release(&arena);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts)};
    if (argc > 1 && strcmp(argv[1], "--bless") == 0) {
        bless();
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
