/*
 * What NVRTC makes, in both dialects, against arithmetic on the host; the same bits from each
 * vector build and from blocks and warps in the opposite order.
 */
#include <math.h>

#include "base/num.h"
#include "base/rng.h"

#include "tests/unit/verify/ptx/emu_unit.h"

static const char *const archs[] = {"sm_90a", "sm_100a"};

enum { N_MAX = 8192 };

struct data {
    float a[N_MAX], b[N_MAX], c[N_MAX], out[N_MAX];
    uint16_t h[N_MAX], g[N_MAX];
    int32_t i[N_MAX], o[N_MAX];
};

static void fill(struct data *d)
{
    struct rng rng;
    rng_init(&rng, 11);
    memset(d, 0, sizeof(*d));
    for (int k = 0; k < N_MAX; k++) {
        d->a[k] = (float)rng_below(&rng, 20001) / 10000.0f - 1.0f;
        d->b[k] = (float)rng_below(&rng, 20001) / 10000.0f - 1.0f;
        d->i[k] = (int32_t)rng_below(&rng, 100);
        d->h[k] = f16_from_double((double)d->a[k]);
        d->g[k] = f16_from_double((double)d->b[k]);
    }
}

/* One case: sets up the launch, then checks d->out or d->o. */
struct golden {
    const char *file;
    const char *skip; /* architecture without it */
    void (*launch)(struct emu *emu, struct data *d);
    void (*check)(const struct data *d);
};

static void near(double got, double want, double tolerance, const char *what, int at)
{
    if (!(fabs(got - want) <= tolerance * (1.0 + fabs(want))))
        fail_msg("%s[%d]: got %.9g, want %.9g", what, at, got, want);
}

/* ---- the cases ---- */

static void launch_relu(struct emu *emu, struct data *d)
{
    emu_entry(emu, "cand", 5, 256);
    emu_in(emu, d->a, 4 * 1100);
    emu_out(emu, d->out, 4 * 1100);
    emu_int(emu, 1100);
}

static void check_relu(const struct data *d)
{
    for (int k = 0; k < 1100; k++)
        near((double)d->out[k], d->a[k] > 0.0f ? (double)d->a[k] : 0.0, 0.0, "relu", k);
}

static void launch_rowsum(struct emu *emu, struct data *d)
{
    emu_entry(emu, "cand", 3, 256);
    emu_in(emu, d->a, 4 * 3 * 1000);
    emu_out(emu, d->out, 4 * 3);
    emu_int(emu, 3);
    emu_int(emu, 1000);
}

static void check_rowsum(const struct data *d)
{
    for (int r = 0; r < 3; r++) {
        double sum = 0.0;
        for (int k = 0; k < 1000; k++)
            sum += (double)d->a[r * 1000 + k];
        near((double)d->out[r], sum, 1e-5, "rowsum", r);
    }
}

static void launch_softmax(struct emu *emu, struct data *d)
{
    emu_entry(emu, "cand", 4, 256);
    emu_in(emu, d->a, 4 * 4 * 700);
    emu_out(emu, d->out, 4 * 4 * 700);
    emu_int(emu, 4);
    emu_int(emu, 700);
}

static void check_softmax(const struct data *d)
{
    for (int r = 0; r < 4; r++) {
        const float *x = d->a + (size_t)r * 700;
        double sum = 0.0;
        for (int k = 0; k < 700; k++)
            sum += exp((double)x[k]);
        for (int k = 0; k < 700; k++)
            near((double)d->out[r * 700 + k], exp((double)x[k]) / sum, 1e-6, "softmax", k);
    }
}

static void launch_matmul(struct emu *emu, struct data *d)
{
    emu_entry(emu, "matmul_tiled", 3, 16);
    emu->launch.grid[1] = 2;
    emu->launch.block[1] = 16;
    emu_in(emu, d->a, 4 * 20 * 33);
    emu_in(emu, d->b, 4 * 33 * 40);
    emu_out(emu, d->out, 4 * 20 * 40);
    emu_int(emu, 20);
    emu_int(emu, 40);
    emu_int(emu, 33);
}

static void check_matmul(const struct data *d)
{
    for (int i = 0; i < 20; i++)
        for (int j = 0; j < 40; j++) {
            float sum = 0.0f;
            for (int k = 0; k < 33; k++)
                sum = fmaf(d->a[i * 33 + k], d->b[k * 40 + j], sum);
            near((double)d->out[i * 40 + j], (double)sum, 0.0, "matmul", i * 40 + j);
        }
}

static void launch_histogram(struct emu *emu, struct data *d)
{
    static unsigned char bytes[3000];
    for (int k = 0; k < 3000; k++)
        bytes[k] = (unsigned char)d->i[k];
    emu_entry(emu, "histogram", 3, 96);
    emu_in(emu, bytes, sizeof(bytes));
    emu_inout(emu, d->o, 4 * 256);
    emu_int(emu, 3000);
}

static void check_histogram(const struct data *d)
{
    for (int v = 0; v < 256; v++) {
        int count = 0;
        for (int k = 0; k < 3000; k++)
            count += d->i[k] == v;
        assert_int_equal(d->o[v], count);
    }
}

static void launch_last_block(struct emu *emu, struct data *d)
{
    emu_entry(emu, "reduce_lastblock", 7, 256);
    emu_in(emu, d->a, 4 * 5000);
    emu_out(emu, d->c, 4 * 7);
    emu_out(emu, d->out, 4);
    emu_int(emu, 5000);
}

static void check_last_block(const struct data *d)
{
    double sum = 0.0;
    for (int k = 0; k < 5000; k++)
        sum += (double)d->a[k];
    near((double)d->out[0], sum, 1e-5, "sum", 0);
}

static void launch_look_back(struct emu *emu, struct data *d)
{
    static int32_t flags[12], sums[12];
    memset(flags, 0, sizeof(flags));
    emu_entry(emu, "lookback", 12, 128);
    emu_in(emu, d->i, 4 * 1500);
    emu_out(emu, d->o, 4 * 1500);
    emu_inout(emu, flags, sizeof(flags));
    emu_out(emu, sums, sizeof(sums));
    emu_int(emu, 1500);
}

static void check_look_back(const struct data *d)
{
    int sum = 0;
    for (int k = 0; k < 1500; k++) {
        sum += d->i[k];
        assert_int_equal(d->o[k], sum);
    }
}

static void launch_lock(struct emu *emu, struct data *d)
{
    emu_entry(emu, "lock", 3, 64);
    emu_inout(emu, d->o, 4);
    emu_inout(emu, d->o + 1, 4);
}

static void check_lock(const struct data *d)
{
    assert_int_equal(d->o[0], 0);
    assert_int_equal(d->o[1], 192);
}

static void launch_recursion(struct emu *emu, struct data *d)
{
    emu_entry(emu, "rec", 1, 40);
    emu_out(emu, d->o, 4 * 40);
}

static void check_recursion(const struct data *d)
{
    static const int32_t fibonacci[12] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
    for (int k = 0; k < 40; k++)
        assert_int_equal(d->o[k], fibonacci[k % 12]);
}

static void launch_pointers(struct emu *emu, struct data *d)
{
    for (int k = 0; k < 64; k++)
        d->i[k] %= 3;
    emu_entry(emu, "fptr", 1, 64);
    emu_in(emu, d->a, 4 * 64);
    emu_out(emu, d->out, 4 * 64);
    emu_in(emu, d->i, 4 * 64);
}

static void check_pointers(const struct data *d)
{
    for (int k = 0; k < 64; k++) {
        float x = d->a[k];
        float want = d->i[k] == 0 ? x + 1 : d->i[k] == 1 ? x * 2 : -x;
        near((double)d->out[k], (double)want, 0.0, "call", k);
    }
}

static void launch_mma(struct emu *emu, struct data *d)
{
    emu_entry(emu, "mma_f16", 1, 32);
    emu_in(emu, d->h, 2 * 256);
    emu_in(emu, d->g, 2 * 128);
    emu_out(emu, d->out, 4 * 128);
}

static void check_mma(const struct data *d)
{
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++) {
            double sum = 1.0;
            for (int k = 0; k < 16; k++)
                sum += f16_to_double(d->h[i * 16 + k]) * f16_to_double(d->g[k * 8 + j]);
            near((double)d->out[i * 8 + j], sum, 1e-6, "mma", i * 8 + j);
        }
}

static void launch_wmma(struct emu *emu, struct data *d)
{
    emu_entry(emu, "wmma_gemm", 1, 64);
    emu->launch.grid[1] = 2;
    emu_in(emu, d->h, 2 * 32 * 48);
    emu_in(emu, d->g, 2 * 32 * 48);
    emu_out(emu, d->out, 4 * 32 * 32);
    emu_int(emu, 32);
    emu_int(emu, 32);
    emu_int(emu, 48);
}

static void check_wmma(const struct data *d)
{
    for (int i = 0; i < 32; i++)
        for (int j = 0; j < 32; j++) {
            double sum = 0.0;
            for (int k = 0; k < 48; k++)
                sum += f16_to_double(d->h[i * 48 + k]) * f16_to_double(d->g[j * 48 + k]);
            near((double)d->out[i * 32 + j], sum, 1e-6, "wmma", i * 32 + j);
        }
}

static void launch_pipeline(struct emu *emu, struct data *d)
{
    emu_entry(emu, "pipe_prim", 2, 128);
    emu_in(emu, d->a, 16 * 128 * 8);
    emu_out(emu, d->out, 16 * 128 * 8);
    emu_int(emu, 4);
}

static void check_pipeline(const struct data *d)
{
    for (int t = 0; t < 8 * 128; t++)
        for (int e = 0; e < 4; e++) {
            int from = (t / 128 * 128 + 127 - t % 128) * 4 + e;
            float want = d->a[from] + (e == 0 ? 1.0f : 0.0f);
            near((double)d->out[t * 4 + e], (double)want, 0.0, "pipeline", t);
        }
}

static void launch_cluster(struct emu *emu, struct data *d)
{
    emu_entry(emu, "cluster_hist", 8, 64);
    emu->launch.dynamic_shared = 4 * 16;
    emu_in(emu, d->i, 4 * 2000);
    emu_inout(emu, d->o, 4 * 64);
    emu_int(emu, 2000);
    emu_int(emu, 16);
}

static void check_cluster(const struct data *d)
{
    for (int v = 0; v < 64; v++) {
        int count = 0;
        for (int k = 0; k < 2000; k++)
            count += d->i[k] % 64 == v;
        assert_int_equal(d->o[v], count);
    }
}

static void launch_grid(struct emu *emu, struct data *d)
{
    emu_entry(emu, "grid_sync", 5, 64);
    emu->launch.cooperative = true;
    emu_out(emu, d->out, 4 * 500);
    emu_out(emu, d->c, 4 * 500);
    emu_int(emu, 500);
}

static void check_grid(const struct data *d)
{
    for (int k = 0; k < 500; k++)
        near((double)d->out[k], 499 - (k * 7 + 1) % 500 + 1, 0.0, "grid", k);
}

static void launch_transpose(struct emu *emu, struct data *d)
{
    emu_entry(emu, "transpose_f32", 3, 32);
    emu->launch.grid[1] = 2;
    emu->launch.block[1] = 8;
    emu_in(emu, d->a, 4 * 50 * 70);
    emu_out(emu, d->out, 4 * 50 * 70);
    emu_int(emu, 70);
    emu_int(emu, 50);
}

static void check_transpose(const struct data *d)
{
    for (int i = 0; i < 50; i++)
        for (int j = 0; j < 70; j++)
            near((double)d->out[j * 50 + i], (double)d->a[i * 70 + j], 0.0, "transpose", i);
}

static void launch_warps(struct emu *emu, struct data *d)
{
    for (int k = 0; k < 32; k++)
        d->i[k] -= 50;
    emu_entry(emu, "warps", 1, 32);
    emu_in(emu, d->i, 4 * 32);
    emu_out(emu, d->o, 4 * 32);
}

/* The same sums in plain C: see `warps` in the golden file's source lines. */
static void check_warps(const struct data *d)
{
    const int32_t *v = d->i;
    int sum = 0, positive = 0, first = -1, zero = 0, alike = 1;
    for (int k = 0; k < 32; k++) {
        sum += v[k] > 0 ? v[k] : 0;
        positive += v[k] > 0;
        zero |= v[k] == 0;
        alike &= v[k] >> 10 == v[0] >> 10;
        if (v[k] <= 0 && first < 0)
            first = v[k];
    }
    for (int k = 31; k >= 0; k--)
        if (v[k] <= 0)
            first = v[k];
    for (int k = 0; k < 32; k++) {
        int want = v[k] > 0 ? sum + positive : first + zero * 1000 + 10000;
        want += (k % 8 >= 3 ? v[k - 3] : v[k]) + v[k ^ 5] + (alike ? 33 : 0);
        for (int m = 0; m < 32; m++)
            want += (v[m] & 3) == (v[k] & 3);
        assert_int_equal(d->o[k], want);
    }
}

static void launch_named(struct emu *emu, struct data *d)
{
    emu_entry(emu, "prodcons", 1, 128);
    emu_in(emu, d->a, 4 * 320);
    emu_out(emu, d->out, 4 * 320);
    emu_int(emu, 5);
}

static void check_named(const struct data *d)
{
    for (int k = 0; k < 320; k++)
        near((double)d->out[k], 2.0 * (double)d->a[k / 64 * 64 + 63 - k % 64], 0.0, "named", k);
}

static void launch_math(struct emu *emu, struct data *d)
{
    for (int k = 0; k < 200; k++)
        d->a[k] = d->a[k] * 2.0f + 2.05f;
    emu_entry(emu, "math1", 2, 128);
    emu_in(emu, d->a, 4 * 200);
    emu_out(emu, d->out, 4 * 200);
    emu_int(emu, 200);
}

static void check_math(const struct data *d)
{
    for (int k = 0; k < 200; k++) {
        double v = (double)d->a[k];
        double want = 2 * exp(v) + tanh(v) + erf(v) + 1 / sqrt(v) + pow(v, 1.7) + sin(v) * cos(v) +
                      2 * log(v) + log1p(v) + expm1(v) + sqrt(v) + cbrt(v) + sin(v) + cos(v) +
                      v * v + exp2(v) + log2(v) + 1 / v + v / 3 + v / (1 + v);
        near((double)d->out[k], want, 1e-6, "math", k);
    }
}

static const struct golden goldens[] = {
    {"relu", NULL, launch_relu, check_relu},
    {"rowsum", NULL, launch_rowsum, check_rowsum},
    {"softmax", NULL, launch_softmax, check_softmax},
    {"matmul_tiled", NULL, launch_matmul, check_matmul},
    {"histogram", NULL, launch_histogram, check_histogram},
    {"reduce", NULL, launch_last_block, check_last_block},
    {"misc", NULL, launch_look_back, check_look_back},
    {"misc", NULL, launch_lock, check_lock},
    {"misc", NULL, launch_recursion, check_recursion},
    {"misc", NULL, launch_pointers, check_pointers},
    {"misc", NULL, launch_warps, check_warps},
    {"misc", NULL, launch_named, check_named},
    {"mma", NULL, launch_mma, check_mma},
    {"wmma", NULL, launch_wmma, check_wmma},
    {"pipeline", NULL, launch_pipeline, check_pipeline},
    {"cluster", NULL, launch_cluster, check_cluster},
    {"grid", NULL, launch_grid, check_grid},
    {"transpose", NULL, launch_transpose, check_transpose},
    {"math", NULL, launch_math, check_math},
};

/* Runs a case; false when this machine does not run the vector build. */
static bool run_golden(const struct golden *g, const char *arch, const char *isa, bool reverse,
                       struct data *d)
{
    struct arena arena;
    struct emu emu;
    char name[64];
    arena_init(&arena, 4 << 20);
    snprintf(name, sizeof(name), "%s.%s", g->file, arch);
    bool runs = emu_load_isa(&emu, emu_golden(&arena, name), isa);
    if (runs) {
        fill(d);
        g->launch(&emu, d);
        emu.launch.reverse_order = reverse;
        emu_run_ok(&emu);
        emu_free(&emu);
    }
    arena_release(&arena);
    return runs;
}

static void test_values(void **state)
{
    static struct data d;
    (void)state;
    for (size_t k = 0; k < COUNT_OF(goldens); k++)
        for (size_t a = 0; a < COUNT_OF(archs); a++)
            for (int reverse = 0; reverse < 2; reverse++)
                if (run_golden(&goldens[k], archs[a], NULL, reverse, &d))
                    goldens[k].check(&d);
}

static void test_same_bits(void **state)
{
    static struct data first, other;
    (void)state;
    for (size_t k = 0; k < COUNT_OF(goldens); k++) {
        assert_true(run_golden(&goldens[k], "sm_90a", NULL, false, &first));
        for (size_t i = 0; i < COUNT_OF(emu_isas); i++)
            if (run_golden(&goldens[k], "sm_90a", emu_isas[i], false, &other))
                assert_memory_equal(&first, &other, sizeof(first));
    }
}

static void test_missing_sync(void **state)
{
    static struct data d;
    (void)state;
    for (size_t a = 0; a < COUNT_OF(archs); a++) {
        struct arena arena;
        struct emu emu;
        char name[64];
        arena_init(&arena, 4 << 20);
        snprintf(name, sizeof(name), "missing_sync.%s", archs[a]);
        emu_load(&emu, emu_golden(&arena, name));
        fill(&d);
        launch_rowsum(&emu, &d);
        assert_int_equal(emu_run(&emu), PTX_FAULT_RACE);
        assert_int_equal(emu.report.fault.source_line, 8);
        emu_free(&emu);
        arena_release(&arena);
    }
}

/* What is counted: compulsory traffic of a softmax, and its flops. */
static void test_counts(void **state)
{
    static struct data d;
    struct arena arena;
    struct emu emu;
    (void)state;
    arena_init(&arena, 4 << 20);
    emu_load(&emu, emu_golden(&arena, "matmul_tiled.sm_90a"));
    fill(&d);
    emu_entry(&emu, "matmul_tiled", 2, 16);
    emu.launch.grid[1] = 2;
    emu.launch.block[1] = 16;
    emu_in(&emu, d.a, 4 * 32 * 32);
    emu_in(&emu, d.b, 4 * 32 * 32);
    emu_out(&emu, d.out, 4 * 32 * 32);
    for (int i = 0; i < 3; i++)
        emu_int(&emu, 32);
    emu_run_ok(&emu);
    assert_int_equal(emu.report.counts.flops, 2 * 32 * 32 * 32);
    assert_int_equal(emu.buffers[0].bytes_read, 2 * 4 * 32 * 32);
    assert_int_equal(emu.buffers[2].bytes_written, 4 * 32 * 32);
    assert_int_equal(emu.buffers[2].sectors_written, 4 * 32 * 32 / 32);
    assert_int_equal(emu.report.counts.barriers, 4 * 2 * 2);
    assert_int_equal(emu.report.counts.shared_bytes_written, 4 * 2 * 2 * 4 * 256);
    emu_free(&emu);
    arena_release(&arena);
}

static void test_printed(void **state)
{
    struct arena arena;
    struct emu emu;
    (void)state;
    arena_init(&arena, 4 << 20);
    emu_load(&emu, emu_golden(&arena, "misc.sm_90a"));
    emu_entry(&emu, "pr", 1, 2);
    emu_int(&emu, 7);
    emu_float(&emu, 3.14159f);
    emu_run_ok(&emu);
    assert_string_equal(emu.report.printed, "hi 7 str  3.14 ff 123456789012345\n"
                                            "hi 8 str  3.14 ff 123456789012345\n");
    emu_free(&emu);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),       cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_missing_sync), cmocka_unit_test(test_counts),
        cmocka_unit_test(test_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
