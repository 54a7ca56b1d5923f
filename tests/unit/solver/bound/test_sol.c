/* Speed of light against values worked out by hand, and against published ones. */
#include <math.h>
#include <string.h>

#include "base/file.h"

#include "solver/bound/bound.h"
#include "tests/unit/solver/ir/plans.h"
#include "tests/unit/unit.h"

enum { ARENA_BYTES = 256 << 20, TEXT_BYTES = 1 << 16 };

static void assert_near(const char *what, double got, double want, double relative)
{
    if (!(fabs(got - want) <= relative * fabs(want)))
        fail_msg("%s: %.10g, expected %.10g", what, got, want);
}

static const struct bound_op *first_target(struct arena *arena, struct str text)
{
    struct err err = {0};
    const struct op *op;
    const struct bound_op *bound;
    assert_ok(op_parse(arena, text, "spec", NULL, &op, &err));
    assert_ok(op_bind_shape(arena, op, &op->targets[0], &bound, &err));
    return bound;
}

/* c[b,m,n] = sum(k) a[m,k] * w[b,k,n] with the given storage types and track. */
struct product {
    int b, m, n, k;
    const char *a, *w, *track;
};

static const struct bound_op *product_of(struct arena *arena, const struct product *p)
{
    struct buf text;
    bool wide = strcmp(p->track, "f64") == 0;
    buf_init(&text, arena, TEXT_BYTES);
    buf_printf(&text,
               "{\"spec\":1,\"name\":\"p\",\"tensors\":["
               "{\"name\":\"a\",\"role\":\"input\",\"dtype\":\"%s\",\"shape\":[%d,%d]},"
               "{\"name\":\"w\",\"role\":\"weight\",\"dtype\":\"%s\",\"shape\":[%d,%d,%d]},"
               "{\"name\":\"c\",\"role\":\"output\",\"dtype\":\"%s\",\"shape\":[%d,%d,%d]}],",
               p->a, p->m, p->k, p->w, p->b, p->k, p->n, wide ? "f64" : "f32", p->b, p->m, p->n);
    buf_printf(&text,
               "\"body\":[\"c[b,m,n] = sum(k) %s(a[m,k]) * %s(w[b,k,n])\"],"
               "\"tracks\":{\"%s\":{}},\"shapes\":{\"target\":[{}]}}",
               wide ? "f64" : "f32", wide ? "f64" : "f32", p->track);
    return first_target(arena, buf_view(&text));
}

static struct sol sol_on(const struct bound_op *bound, const struct machine *machine)
{
    struct sol sol;
    struct err err = {0};
    assert_ok(sol_of(bound, NULL, machine, &sol, &err));
    return sol;
}

/* A prefix sum says n^2 additions a row and needs n: a scan shares its partial sums. */
static void test_shared_sums(void **state UNUSED)
{
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    struct machine h200 = *plans_machine(&arena, "h200-sxm");
    struct sol sol = sol_on(plans_op(&arena, "cumsum"), &h200);
    double elements = 4096.0 * 4096;
    assert_true(sol.flops > 0.1 * elements && sol.flops <= elements);
    assert_int_equal(sol.limiter, SOL_MEMORY);
    sol = sol_on(plans_op(&arena, "avgpool"), &h200);
    assert_int_equal(sol.limiter, SOL_MEMORY);
    arena_release(&arena);
}

static void test_softmax(void **state UNUSED)
{
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    struct machine h200 = *plans_machine(&arena, "h200-sxm");
    struct sol sol = sol_on(plans_op(&arena, "softmax"), &h200);
    double elements = 4096.0 * 4096;
    assert_near("bytes", sol.bytes, elements * 8, 0);
    assert_near("memory", sol.memory_s, elements * 8 / 4.8e12, 1e-12);
    /* max, minus, exp, add, divide: 5 flops an element on the CUDA cores */
    assert_near("flops", sol.flops, elements * 5, 0);
    assert_near("compute", sol.compute_s, elements * 5 / 66.9e12, 1e-12);
    assert_int_equal(sol.limiter, SOL_MEMORY);
    assert_near("seconds", sol.seconds, 27.96e-6, 1e-3);
    assert_int_equal(sol.means, MACHINE_RATE_F32);
    assert_near("core", sol.core_s, sol.compute_s, 0);
    arena_release(&arena);
}

/* What a track and its data allow; flops / rate by hand. */
static void test_rates(void **state UNUSED)
{
    static const struct {
        struct product product;
        const char *machine;
        double rate;
        enum machine_rate means;
        int products;
    } cases[] = {
        {{1, 512, 512, 4096, "f32", "f32", "f32"}, "h200-sxm", 989.4e12 / 3, MACHINE_RATE_F16, 3},
        {{1, 512, 512, 4096, "f32", "f32", "tf32"}, "h200-sxm", 989.4e12, MACHINE_RATE_F16, 1},
        {{1, 512, 512, 4096, "f32", "f32", "bf16"}, "h200-sxm", 989.4e12, MACHINE_RATE_BF16, 1},
        {{1, 512, 512, 4096, "bf16", "bf16", "f32"}, "h200-sxm", 989.4e12, MACHINE_RATE_BF16, 1},
        {{1, 512, 512, 4096, "bf16", "f32", "f32"}, "h200-sxm", 989.4e12 / 2, MACHINE_RATE_F16, 2},
        {{1, 512, 512, 4096, "e4m3", "e4m3", "f32"}, "h200-sxm", 1978.9e12, MACHINE_RATE_E4M3, 1},
        {{1, 512, 512, 4096, "e4m3", "e4m3", "f32"}, "a100-sxm-80", 312e12, MACHINE_RATE_BF16, 1},
        {{1, 512, 512, 4096, "f64", "f64", "f64"}, "h200-sxm", 66.9e12, MACHINE_RATE_F64_TENSOR, 1},
        {{1, 512, 512, 4096, "f64", "f64", "f64"}, "a6000", 38.7e12 / 64, MACHINE_RATE_F64, 1},
        {{1, 512, 512, 4096, "f32", "f32", "f32"}, "rtx-4090", 82.6e12, MACHINE_RATE_F32, 1},
        {{1, 512, 512, 4096, "f32", "f32", "f32"}, "a6000", 154.8e12 / 3, MACHINE_RATE_F16, 3},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        arena_init(&arena, ARENA_BYTES);
        const struct product *p = &cases[i].product;
        struct machine machine = *plans_machine(&arena, cases[i].machine);
        struct sol sol = sol_on(product_of(&arena, p), &machine);
        double flops = 2.0 * p->b * p->m * p->n * p->k;
        assert_near("flops", sol.flops, flops, 0);
        assert_near(cases[i].machine, sol.rate, cases[i].rate, 1e-9);
        assert_near("compute", sol.compute_s, flops / cases[i].rate, 1e-9);
        assert_int_equal(sol.means, cases[i].means);
        assert_int_equal(sol.products, cases[i].products);
        assert_true(sol.core_s >= sol.compute_s);
        arena_release(&arena);
    }
}

static void test_matmul_limits(void **state UNUSED)
{
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    struct machine h200 = *plans_machine(&arena, "h200-sxm");
    struct sol sol = sol_on(plans_op(&arena, "matmul"), &h200);
    assert_int_equal(sol.limiter, SOL_COMPUTE);
    assert_near("seconds", sol.seconds, 2 * pow(4096, 3) / (989.4e12 / 3), 1e-12);
    assert_near("core", sol.core_s, 2 * pow(4096, 3) / 66.9e12, 1e-12);
    sol = sol_on(plans_op(&arena, "matmul_bias_gelu_bf16"), &h200);
    assert_near("seconds", sol.seconds, 2 * pow(4096, 3) / 989.4e12, 1e-12);
    assert_near("bytes", sol.bytes, 2 * (3 * 4096.0 * 4096 + 4096), 0);
    arena_release(&arena);
}

/*
 * Times that SOLAR v1 gives (its Matmul example on its H100_PCIe) and that a fork of it gives for
 * KernelBench L1/7 and L1/9 in f16 on an RTX 4090: all bound by memory, with these bandwidths.
 */
static void test_published(void **state UNUSED)
{
    static const struct {
        struct product product;
        double dram_bytes_per_s, ms;
        int64_t macs;
    } cases[] = {
        {{4, 128, 32, 64, "f32", "f32", "f32"}, 1019.4 * 2e9, 6.4289e-5, 1048576},
        {{1, 32768, 32768, 64, "f16", "f16", "f16"}, 400 * 2.52e9, 2.138762, 68719476736},
        {{1, 32768, 32768, 32, "f16", "f16", "f16"}, 400 * 2.52e9, 2.134601, 34359738368},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        arena_init(&arena, ARENA_BYTES);
        const struct product *p = &cases[i].product;
        struct machine machine = *plans_machine(&arena, "h100-sxm");
        machine.dram_bytes_per_s = cases[i].dram_bytes_per_s;
        struct sol sol = sol_on(product_of(&arena, p), &machine);
        /* They store the result in the same type; we keep f32 and correct for it. */
        double elements = (double)p->b * p->m * p->n;
        double stored = strcmp(p->a, "f16") == 0 ? elements * 2 : 0;
        assert_near("flops", sol.flops, 2 * (double)cases[i].macs, 0);
        assert_near("ms", (sol.bytes - stored) / machine.dram_bytes_per_s * 1e3, cases[i].ms, 1e-4);
        assert_int_equal(sol.limiter, SOL_MEMORY);
        arena_release(&arena);
    }
}

/* A sum of cast products counts as products too; integers have none. */
static void test_casts_and_integers(void **state UNUSED)
{
    static const char spec[] =
        "{\"spec\":1,\"name\":\"p\",\"tensors\":["
        "{\"name\":\"a\",\"role\":\"input\",\"dtype\":\"%s\",\"shape\":[64,4096]},"
        "{\"name\":\"y\",\"role\":\"output\",\"dtype\":\"%s\",\"shape\":[64]}],"
        "\"body\":[\"y[m] = sum(k) %s\"],\"tracks\":{\"f32\":{}},\"shapes\":{\"target\":[{}]}}";
    struct arena arena;
    struct buf text;
    arena_init(&arena, ARENA_BYTES);
    struct machine h200 = *plans_machine(&arena, "h200-sxm");
    buf_init(&text, &arena, TEXT_BYTES);
    buf_printf(&text, spec, "bf16", "f32", "f32(a[m,k] * a[m,k])");
    struct sol sol = sol_on(first_target(&arena, buf_view(&text)), &h200);
    assert_near("flops", sol.flops, 2 * 64 * 4096, 0);
    assert_near("rate", sol.rate, 989.4e12, 1e-12);
    buf_init(&text, &arena, TEXT_BYTES);
    buf_printf(&text, spec, "i32", "i32", "a[m,k] * a[m,k]");
    sol = sol_on(first_target(&arena, buf_view(&text)), &h200);
    assert_near("integer flops", sol.flops, 0, 0);
    assert_near("compute", sol.compute_s, 0, 0);
    assert_near("bytes", sol.bytes, 64 * 4096 * 4 + 64 * 4, 0);
    arena_release(&arena);
}

static void test_no_rate(void **state UNUSED)
{
    static const struct product product = {1, 8, 8, 8, "f64", "f64", "f64"};
    struct arena arena;
    struct err err = {0};
    struct sol sol = {.seconds = -1};
    arena_init(&arena, ARENA_BYTES);
    struct machine thor = *plans_machine(&arena, "jetson-thor");
    assert_false(sol_of(product_of(&arena, &product), NULL, &thor, &sol, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    assert_string_equal(err.text, "jetson-thor has no rate for the track f64");
    assert_near("untouched", sol.seconds, -1, 0);
    arena_release(&arena);
}

/* Of a product whose results all stay inside, only what others read: through a map, by reductions
 * that end where a row says, and each once, however often its statement names it. */
static void test_needed_part(void **state UNUSED)
{
    static const double n = 512, k = 64;
    static const struct {
        const char *body, *shape;
        double part; /* of the product's flops */
    } cases[] = {
        {"y[i] = max(j) c[i,j]", "512", 1},
        {"y[i] = max(j <= i) c[i,j]", "512", 513.0 / 1024},
        {"d[i,j] = c[i,j] * 2.0\",\"y[i] = max(j < i) d[i,j]", "512", 511.0 / 1024},
        {"y[i] = max(j <= i) c[i,j]\",\"z[i] = max(j) c[i,j]", "512", 1},
        {"y[i] = c[i,3]", "512", 1.0 / 512},
        {"y[i,j:256] = c[i,2 * j] + c[i,2 * j + 1]", "512,256", 1},
        {"y[i,j] = c[i,j] + c[j,i]", "512,512", 1},
    };
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    const struct machine *machine = plans_machine(&arena, "h200-sxm");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf text;
        buf_init(&text, &arena, TEXT_BYTES);
        buf_printf(&text,
                   "{\"spec\":1,\"name\":\"p\",\"tensors\":["
                   "{\"name\":\"a\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[512,64]},"
                   "%s{\"name\":\"y\",\"role\":\"output\",\"dtype\":\"f32\",\"shape\":[%s]}],"
                   "\"body\":[\"c[i,j] = sum(k) a[i,k] * a[j,k]\",\"%s\"],"
                   "\"tracks\":{\"f32\":{}},\"shapes\":{\"target\":[{}]}}",
                   strstr(cases[i].body, "z[") == NULL
                       ? ""
                       : "{\"name\":\"z\",\"role\":\"output\",\"dtype\":\"f32\",\"shape\":[512]},",
                   cases[i].shape, cases[i].body);
        const struct sol sol = sol_on(first_target(&arena, buf_view(&text)), machine);
        const double rest = sol.flops - 2 * n * n * k * cases[i].part;
        if (rest < 0 || rest > 2 * n * n)
            fail_msg("%s: %.0f flops beside the product's", cases[i].body, rest);
    }
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_softmax),   cmocka_unit_test(test_shared_sums),
        cmocka_unit_test(test_rates),     cmocka_unit_test(test_matmul_limits),
        cmocka_unit_test(test_published), cmocka_unit_test(test_casts_and_integers),
        cmocka_unit_test(test_no_rate),   cmocka_unit_test(test_needed_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
