/*
 * The checker's own kernels (verify/check/gpu_tools.cuh), compiled by NVRTC and run on the
 * emulator: their data against fill_tensor, their comparison against compare_floats, poison,
 * checksums.
 *
 * Skips without NVRTC.
 */
#include <math.h>
#include <string.h>

#include "base/num.h"

#include "tests/unit/unit.h"
#include "verify/check/on_gpu_int.h"

extern const char embed_verify_check_gpu_tools_cuh[];

static const struct device_paths paths = {.build_folder = "build/nvrtc"};

/* ---- the kernels on the emulator ---- */

struct bench {
    struct arena arena;
    const struct ptx_module *module;
};

static bool begin(struct bench *b)
{
    const struct compiler_options options = {.paths = paths};
    const struct compile_request request = {.source = str_from(embed_verify_check_gpu_tools_cuh),
                                            .arch = "sm_90a"};
    struct compile_result result;
    struct compiler *compiler;
    struct err err;

    arena_init(&b->arena, (size_t)4 << 30);
    if (!compiler_open(&b->arena, &options, &compiler, &err))
        return false;
    assert_ok(compiler_compile(compiler, &b->arena, &request, &result, &err));
    if (result.end != COMPILE_OK)
        fail_msg("%s: %.*s", compile_end_text(result.end), STR_ARG(result.log));
    assert_ok(ptx_load(&b->arena, result.ptx, &b->module, &err));
    compiler_close(compiler);
    return true;
}

/* Buffers are passed as addresses in the order of `args` where `buffer` is set. */
struct arg {
    struct ptx_buffer *buffer;
    const void *bytes;
    size_t size;
};

static void run(struct bench *b, const char *entry_name, uint32_t grid_x, uint32_t grid_y,
                struct ptx_buffer *buffers, size_t buffer_count, const struct arg *args)
{
    const struct ptx_entry *entry = ptx_entry_find(b->module, entry_name);
    struct ptx_memory *memory = ptx_memory_new(&b->arena, b->module, buffers, buffer_count);
    uint8_t params[512];
    struct ptx_launch launch = {.entry = entry_name,
                                .grid = {grid_x, grid_y, 1},
                                .block = {256, 1, 1},
                                .params = params,
                                .budget_warp_insns = UINT64_C(1) << 30,
                                .shared_bytes_max = 227 << 10,
                                .check = true};
    struct ptx_report report;
    struct err err;

    assert_non_null(entry);
    launch.param_bytes = entry->param_bytes;
    for (size_t i = 0; i < entry->param_count; i++) {
        const void *from = args[i].buffer != NULL ? &args[i].buffer->address : args[i].bytes;
        const size_t size = args[i].buffer != NULL ? sizeof(uint64_t) : args[i].size;

        assert_int_equal(size, entry->params[i].bytes);
        memcpy(params + entry->params[i].offset, from, size);
    }
    assert_ok(ptx_launch(&b->arena, b->module, memory, &launch, &report, &err));
    if (report.fault.kind != PTX_FAULT_NONE)
        fail_msg("%s: %s", entry_name, report.fault.text);
}

static struct ptx_buffer buffer_of(const char *name, void *data, size_t bytes, bool input)
{
    return (struct ptx_buffer){
        .name = name, .data = data, .bytes = bytes, .initialised = input, .writable = !input};
}

#define VALUE(v)                                                                                   \
    {                                                                                              \
        NULL, &(v), sizeof(v)                                                                      \
    }
#define BUFFER(b)                                                                                  \
    {                                                                                              \
        &(b), NULL, 0                                                                              \
    }

/* ---- data ---- */

static const char fills_spec[] =
    "{\"spec\":1,\"name\":\"fills\",\"dims\":{\"n\":[1,100000]},\"tensors\":["
    "{\"name\":\"a\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[\"n\"],"
    "\"fill\":{\"kind\":\"normal\",\"mean\":0.3,\"std\":1.7}},"
    "{\"name\":\"b\",\"role\":\"input\",\"dtype\":\"f64\",\"shape\":[\"n\"]},"
    "{\"name\":\"c\",\"role\":\"input\",\"dtype\":\"f16\",\"shape\":[\"n\"],"
    "\"fill\":{\"kind\":\"uniform\",\"low\":-1.1,\"high\":0.7}},"
    "{\"name\":\"d\",\"role\":\"input\",\"dtype\":\"bf16\",\"shape\":[\"n\"],"
    "\"fill\":{\"kind\":\"uniform\",\"low\":0.25,\"high\":3}},"
    "{\"name\":\"e\",\"role\":\"input\",\"dtype\":\"i32\",\"shape\":[\"n\"],"
    "\"fill\":{\"kind\":\"ints\",\"low\":-5,\"high\":\"n - 1\"}},"
    "{\"name\":\"f\",\"role\":\"input\",\"dtype\":\"i64\",\"shape\":[\"n\"],"
    "\"fill\":{\"kind\":\"ints\",\"low\":-70000000000,\"high\":70000000000}},"
    "{\"name\":\"g\",\"role\":\"input\",\"dtype\":\"i8\",\"shape\":[\"n\"],"
    "\"fill\":{\"kind\":\"ints\",\"low\":-100,\"high\":100}},"
    "{\"name\":\"h\",\"role\":\"input\",\"dtype\":\"bool\",\"shape\":[\"n\"]},"
    "{\"name\":\"i\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[\"n\"],"
    "\"fill\":{\"kind\":\"mask\",\"p\":0.3}},"
    "{\"name\":\"j\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[\"n\"],\"fill\":\"ones\"},"
    "{\"name\":\"k\",\"role\":\"input\",\"dtype\":\"bf16\",\"shape\":[\"n\"]},"
    "{\"name\":\"y\",\"role\":\"output\",\"dtype\":\"f32\",\"shape\":[\"n\"]}],"
    "\"body\":[\"y[i] = a[i] + f32(b[i]) + f32(c[i]) + f32(d[i]) + f32(e[i]) + f32(f[i]) + "
    "f32(g[i]) + f32(h[i]) + i[i] + j[i] + f32(k[i])\"],"
    "\"tracks\":{\"f32\":{}},\"shapes\":{\"target\":[{\"n\":5000}],\"verify\":[]}}";

static void one_fill(struct bench *b, const struct gpu_filling *filling, size_t tensor)
{
    const struct bound_tensor *shape = &filling->bound->tensors[tensor];
    const size_t bytes = (size_t)shape->bytes;
    uint8_t *want = arena_alloc(&b->arena, bytes, 1, 16);
    uint8_t *got = arena_alloc(&b->arena, bytes, 1, 16);
    struct ptx_buffer out = buffer_of("out", got, bytes, false);
    struct gpu_fill_params params;
    struct err err;

    assert_true(gpu_fills_itself(filling->bound->op, tensor, filling->class));
    assert_ok(gpu_fill_params_of(filling, tensor, &params, &err));
    const struct arg args[] = {BUFFER(out), VALUE(shape->count), VALUE(params)};
    run(b, "ww_fill", 3, 1, &out, 1, args);
    assert_ok(fill_tensor(filling->bound, tensor, filling->class, filling->secret, filling->call,
                          want, &err));
    if (memcmp(want, got, bytes) != 0)
        fail_msg("%.*s differs, class %s", STR_ARG(filling->bound->op->tensors[tensor].name),
                 data_class_name(filling->class));
}

static void data_are_the_hosts(void **state)
{
    static const enum data_class classes[] = {DATA_SPEC, DATA_ZERO_MEAN};
    const struct bound_op *bound;
    const struct op *op;
    struct bench b;
    struct err err;

    (void)state;
    if (!begin(&b))
        skip();
    assert_ok(op_parse(&b.arena, str_from(fills_spec), "fills", NULL, &op, &err));
    assert_ok(op_bind_shape(&b.arena, op, &op->targets[0], &bound, &err));
    for (size_t c = 0; c < COUNT_OF(classes); c++)
        for (size_t t = 0; t < op->declared_count; t++) {
            const struct gpu_filling filling = {bound, classes[c], 0x123456789abcdefull, 3};

            if (tensor_is_fed(op, t))
                one_fill(&b, &filling, t);
        }
    arena_release(&b.arena);
}

/* ---- comparison ---- */

enum { COMPARED = 3000 };

struct comparing {
    float got[COMPARED];
    double want[COMPARED], bound[COMPARED];
};

static void make_comparing(struct comparing *c, bool with_errors)
{
    struct rng rng;

    rng_init(&rng, 9);
    for (int i = 0; i < COMPARED; i++) {
        c->want[i] = (double)rng_u32(&rng) / 1e9 - 2;
        c->bound[i] = 1e-3;
        c->got[i] = (float)(c->want[i] + 1e-4 * ((double)(rng_u32(&rng) % 17) - 8));
    }
    c->bound[5] = 0;
    c->got[5] = 1.5F;
    c->want[5] = 1.5;
    c->want[6] = INFINITY;
    c->got[6] = INFINITY;
    c->want[7] = NAN;
    c->got[7] = NAN;
    c->want[8] = 3.4028234e38;
    c->bound[8] = 1e35;
    c->got[8] = INFINITY;
    c->bound[9] = INFINITY;
    c->got[9] = NAN;
    if (!with_errors)
        return;
    c->got[100] = NAN;
    c->got[777] = (float)c->want[777] + 1;
    c->got[2999] = -INFINITY;
}

static void compare_both(struct bench *b, bool with_errors, int64_t wrong)
{
    struct comparing *c = arena_new(&b->arena, struct comparing);
    struct gpu_part parts[4] = {{0}};
    struct ptx_buffer buffers[4];
    const int type = gpu_element_of(DTYPE_F32), skip_nonfinite = 0;
    const double largest = dtype_max(DTYPE_F32);
    const int64_t count = COMPARED;
    bool *undecided = arena_array(&b->arena, bool, COMPARED);
    struct comparison want, got = {.worst_element = -1};

    make_comparing(c, with_errors);
    undecided[9] = true;
    buffers[0] = buffer_of("got", c->got, sizeof(c->got), true);
    buffers[1] = buffer_of("want", c->want, sizeof(c->want), true);
    buffers[2] = buffer_of("bound", c->bound, sizeof(c->bound), true);
    buffers[3] = buffer_of("parts", parts, sizeof(parts), false);
    const struct arg args[] = {BUFFER(buffers[0]),    VALUE(type),       BUFFER(buffers[1]),
                               BUFFER(buffers[2]),    VALUE(count),      VALUE(largest),
                               VALUE(skip_nonfinite), BUFFER(buffers[3])};
    run(b, "ww_compare", 4, 1, buffers, 4, args);
    const struct expectation expected = {DTYPE_F32, COMPARED, c->want, c->bound, undecided};
    compare_floats(&expected, c->got, &want);
    for (int i = 0; i < 4; i++) {
        got.compared += parts[i].compared;
        got.wrong += parts[i].wrong;
        if (parts[i].worst >= 0 && (got.worst_element < 0 || parts[i].ratio > got.ratio)) {
            got.worst_element = parts[i].worst;
            got.ratio = parts[i].ratio;
        }
    }
    assert_int_equal(got.compared, want.compared);
    assert_int_equal(got.wrong, want.wrong);
    assert_int_equal(got.wrong, wrong);
    assert_true(got.ratio == want.ratio);
}

static void comparison_is_the_hosts(void **state)
{
    struct bench b;

    (void)state;
    if (!begin(&b))
        skip();
    compare_both(&b, false, 0);
    compare_both(&b, true, 3);
    arena_release(&b.arena);
}

/* ---- poison and checksums ---- */

static void poison_is_finite(void **state)
{
    enum { WORDS = 4096 };
    struct bench b;
    uint64_t *words;
    int64_t count = WORDS;
    uint64_t seed = 77;
    size_t same = 0;

    (void)state;
    if (!begin(&b))
        skip();
    words = arena_array(&b.arena, uint64_t, WORDS);
    struct ptx_buffer out = buffer_of("out", words, WORDS * 8, false);
    const struct arg args[] = {BUFFER(out), VALUE(count), VALUE(seed)};
    run(&b, "ww_poison", 2, 1, &out, 1, args);
    for (size_t i = 0; i < WORDS; i++)
        assert_true(isfinite(elem_to_double(DTYPE_F64, words, i)));
    for (size_t i = 0; i < 2 * WORDS; i++) {
        assert_true(isfinite(elem_to_double(DTYPE_F32, words, i)));
        same += i > 0 && ((uint32_t *)words)[i] == ((uint32_t *)words)[i - 1];
    }
    for (size_t i = 0; i < 4 * WORDS; i++) {
        assert_true(isfinite(elem_to_double(DTYPE_F16, words, i)));
        assert_true(isfinite(elem_to_double(DTYPE_BF16, words, i)));
    }
    for (size_t i = 0; i < 8 * WORDS; i++)
        assert_true(isfinite(elem_to_double(DTYPE_E4M3, words, i)));
    assert_true(same < 4);
    arena_release(&b.arena);
}

enum { SUMMED = 4096, RANGES = 3 };

static void sum_ranges(struct bench *b, uint8_t *bytes, uint64_t sums[RANGES])
{
    /* One that starts and ends inside words, an empty one, one that is a single byte. */
    static const int64_t ranges_of[2 * RANGES] = {3, 4001, 64, 64, 4005, 4006};
    int64_t ranges[2 * RANGES];
    uint64_t seed = 5;
    struct ptx_buffer buffers[3] = {
        buffer_of("bytes", bytes, SUMMED, true),
        buffer_of("ranges", ranges, sizeof(ranges), true),
        buffer_of("sums", sums, RANGES * 8, false),
    };

    memcpy(ranges, ranges_of, sizeof(ranges));
    memset(sums, 0, RANGES * 8);
    buffers[2].initialised = true;
    const struct arg args[] = {BUFFER(buffers[0]), BUFFER(buffers[1]), BUFFER(buffers[2]),
                               VALUE(seed)};
    run(b, "ww_checksum", 2, RANGES, buffers, 3, args);
}

static void checksums_see_each_byte(void **state)
{
    static const struct {
        size_t byte;
        bool first, last;
    } cases[] = {
        {0, false, false},    {2, false, false},    {3, true, false},    {7, true, false},
        {8, true, false},     {2048, true, false},  {3999, true, false}, {4000, true, false},
        {4001, false, false}, {4004, false, false}, {4005, false, true}, {4006, false, false},
    };
    uint64_t before[RANGES], after[RANGES];
    struct bench b;
    uint8_t *bytes;

    (void)state;
    if (!begin(&b))
        skip();
    bytes = arena_alloc(&b.arena, SUMMED, 1, 16);
    sum_ranges(&b, bytes, before);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        bytes[cases[i].byte] ^= 0x40;
        sum_ranges(&b, bytes, after);
        bytes[cases[i].byte] ^= 0x40;
        if ((before[0] != after[0]) != cases[i].first || before[1] != after[1] ||
            (before[2] != after[2]) != cases[i].last)
            fail_msg("byte %zu", cases[i].byte);
    }
    arena_release(&b.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_are_the_hosts),
        cmocka_unit_test(comparison_is_the_hosts),
        cmocka_unit_test(poison_is_finite),
        cmocka_unit_test(checksums_see_each_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
