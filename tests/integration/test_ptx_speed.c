/*
 * How fast the emulator is, with all checks on.  Without arguments: each kernel once, and its
 * result against a sum in double.  With a number as argument: the best and the median of so many
 * runs. build/gcc/tests/integration/test_ptx_speed 7
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/clock.h"
#include "base/rng.h"

#include "tests/unit/unit.h"
#include "verify/device/device.h"
#include "verify/ptx/ptx.h"

static const size_t arena_bytes = (size_t)2 << 30;
enum { SOURCE_BYTES_MAX = 1 << 20, RUNS_MAX = 100, SIDE = 64, ROWS = 1024, COLUMNS = 1024 };

static const char float4_source[] =
    "extern \"C\" __global__ void matmul_float4(const float *A, const float *B, float *C, int M,\n"
    "                                         int N, int K)\n"
    "{\n"
    "    int row = (blockIdx.y * blockDim.y + threadIdx.y) * 4;\n"
    "    int col = (blockIdx.x * blockDim.x + threadIdx.x) * 4;\n"
    "    float4 acc[4] = {};\n"
    "    for (int k = 0; k < K; k++) {\n"
    "        float4 b = *(const float4 *)(B + k * N + col);\n"
    "#pragma unroll\n"
    "        for (int r = 0; r < 4; r++) {\n"
    "            float a = A[(row + r) * K + k];\n"
    "            acc[r].x += a * b.x; acc[r].y += a * b.y;\n"
    "            acc[r].z += a * b.z; acc[r].w += a * b.w;\n"
    "        }\n"
    "    }\n"
    "#pragma unroll\n"
    "    for (int r = 0; r < 4; r++) *(float4 *)(C + (row + r) * N + col) = acc[r];\n"
    "}\n";

struct speed_case {
    const char *name, *file, *entry; /* file NULL: float4_source */
    uint32_t grid[3], block[3];
    bool matmul; /* (A, B, C, M, N, K), else (x, y, rows, cols) */
};

static const struct speed_case cases[] = {
    {"matmul tiled 64^3",
     "tests/cases/cuda/k02_matmul_tiled.cu",
     "matmul_tiled",
     {4, 4, 1},
     {16, 16, 1},
     true},
    {"matmul naive 64^3",
     "tests/cases/cuda/k01_matmul_naive.cu",
     "matmul_naive",
     {4, 4, 1},
     {16, 16, 1},
     true},
    {"matmul float4 64^3", NULL, "matmul_float4", {1, 1, 1}, {16, 16, 1}, true},
    {"softmax online 1024^2",
     "tests/cases/cuda/k08_softmax_online.cu",
     "softmax_online",
     {ROWS, 1, 1},
     {256, 1, 1},
     false},
};

static float *random_floats(struct arena *arena, size_t count, uint64_t stream)
{
    float *at = arena_array(arena, float, count);
    struct rng rng;
    rng_init(&rng, stream);
    for (size_t i = 0; i < count; i++)
        at[i] = (float)(rng_u32(&rng) >> 8) / (1 << 24) - 0.5f;
    return at;
}

static void check_matmul(const float *a, const float *b, const float *c)
{
    for (size_t i = 0; i < SIDE; i++)
        for (size_t j = 0; j < SIDE; j++) {
            double sum = 0;
            for (size_t k = 0; k < SIDE; k++)
                sum += (double)a[i * SIDE + k] * (double)b[k * SIDE + j];
            assert_true(fabs(sum - (double)c[i * SIDE + j]) < 1e-5);
        }
}

static void check_softmax(const float *x, const float *y)
{
    for (size_t i = 0; i < ROWS; i += 97) {
        double sum = 0;
        for (size_t j = 0; j < COLUMNS; j++)
            sum += exp((double)x[i * COLUMNS + j]);
        for (size_t j = 0; j < COLUMNS; j += 13)
            assert_true(fabs(exp((double)x[i * COLUMNS + j]) / sum - (double)y[i * COLUMNS + j]) <
                        1e-8);
    }
}

/* One launch over fresh memory; its time and lane instructions. */
static int64_t run_once(const struct speed_case *c, const struct ptx_module *module,
                        uint64_t *lane_insns)
{
    struct arena arena;
    struct err err;
    struct ptx_report report;
    uint8_t params[64] = {0};
    const int32_t dims[] = {c->matmul ? SIDE : ROWS, c->matmul ? SIDE : COLUMNS, SIDE};
    const size_t count = c->matmul ? SIDE * SIDE : ROWS * COLUMNS, pointers = c->matmul ? 3 : 2;
    struct ptx_buffer buffers[3];
    arena_init(&arena, arena_bytes);
    for (size_t i = 0; i < pointers; i++)
        buffers[i] = (struct ptx_buffer){.name = "buffer",
                                         .data = random_floats(&arena, count, i),
                                         .bytes = count * sizeof(float),
                                         .initialised = i + 1 < pointers,
                                         .writable = i + 1 == pointers};
    struct ptx_memory *memory = ptx_memory_new(&arena, module, buffers, pointers);
    const struct ptx_entry *entry = ptx_entry_find(module, c->entry);
    assert_non_null(entry);
    for (size_t i = 0; i < entry->param_count; i++)
        memcpy(params + entry->params[i].offset,
               i < pointers ? (const void *)&buffers[i].address : &dims[i - pointers],
               entry->params[i].bytes);
    struct ptx_launch launch = {.entry = c->entry,
                                .params = params,
                                .param_bytes = entry->param_bytes,
                                .budget_warp_insns = UINT64_C(1) << 32,
                                .shared_bytes_max = 48 << 10,
                                .check = true,
                                .poison_seed = 1};
    memcpy(launch.grid, c->grid, sizeof(launch.grid));
    memcpy(launch.block, c->block, sizeof(launch.block));
    int64_t start = clock_mono_ns();
    assert_ok(ptx_launch(&arena, module, memory, &launch, &report, &err));
    int64_t ns = clock_mono_ns() - start;
    if (report.fault.kind != PTX_FAULT_NONE)
        fail_msg("%s: %s", c->name, report.fault.text);
    *lane_insns = report.counts.lane_insns;
    if (c->matmul)
        check_matmul(buffers[0].data, buffers[1].data, buffers[2].data);
    else
        check_softmax(buffers[0].data, buffers[1].data);
    arena_release(&arena);
    return ns;
}

static int compare_ns(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void measure(const struct speed_case *c, const struct ptx_module *module, int64_t load_ns,
                    size_t runs)
{
    int64_t ns[RUNS_MAX];
    uint64_t insns = 0;
    for (size_t i = 0; i < runs; i++)
        ns[i] = run_once(c, module, &insns);
    qsort(ns, runs, sizeof(ns[0]), compare_ns);
    if (runs > 1)
        print_message("%-22s best %6.2f ms  median %6.2f ms  %5.1f M lane instructions  load %.2f "
                      "ms  %s\n",
                      c->name, (double)ns[0] / 1e6, (double)ns[runs / 2] / 1e6, (double)insns / 1e6,
                      (double)load_ns / 1e6, ptx_isa_name());
}

static bool compile(struct arena *arena, struct compiler *compiler, const struct speed_case *c,
                    struct str *ptx)
{
    struct str source = str_from(float4_source);
    struct compile_result result;
    struct err err;
    if (c->file != NULL)
        assert_ok(file_read(arena, c->file, SOURCE_BYTES_MAX, &source, &err));
    const struct compile_request request = {.source = source, .arch = "sm_90a"};
    assert_ok(compiler_compile(compiler, arena, &request, &result, &err));
    *ptx = result.ptx;
    return result.end == COMPILE_OK;
}

static size_t runs_asked = 1;

static void test_speed(void **state UNUSED)
{
    const struct compiler_options options = {.paths = {.build_folder = "build/nvrtc"}};
    struct compiler *compiler;
    struct arena arena;
    struct err err;
    arena_init(&arena, arena_bytes);
    if (!compiler_open(&arena, &options, &compiler, &err)) {
        print_message("skipped: %s\n", err.text);
        skip();
    }
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct ptx_module *module;
        struct str ptx;
        assert_true(compile(&arena, compiler, &cases[i], &ptx));
        int64_t start = clock_mono_ns();
        assert_ok(ptx_load(&arena, ptx, &module, &err));
        measure(&cases[i], module, clock_mono_ns() - start, runs_asked);
    }
    compiler_close(compiler);
    arena_release(&arena);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_speed)};
    if (argc > 1)
        runs_asked = strtoul(argv[1], NULL, 10);
    if (runs_asked < 1 || runs_asked > RUNS_MAX)
        runs_asked = 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
