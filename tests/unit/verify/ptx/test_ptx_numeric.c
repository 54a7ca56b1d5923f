/*
 * Rounding against the FPU's own modes, and approximate functions against libm, on random values of
 * all sizes; on each vector build this machine runs.
 */
#include <fenv.h>
#include <math.h>

#include "base/num.h"
#include "base/rng.h"

#include "tests/unit/verify/ptx/emu_unit.h"

enum { N = 4096 };

/* One instruction over N elements of 32 or 64 bits: a, b, c in, d out. */
static bool run_vector(const char *insn, int bytes, const char *isa, const void *a, const void *b,
                       const void *c, void *d)
{
    char text[2048];
    struct emu emu;
    const char *const r = bytes == 8 ? "%d" : "%r";
    snprintf(text, sizeof(text),
             ".version 9.0\n.target sm_90a\n.address_size 64\n"
             ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)\n{\n"
             ".reg .b32 %%r<8>; .reg .b64 %%d<8>; .reg .b64 %%q<8>; .reg .b16 %%h<8>;\n"
             ".reg .b32 %%t, %%n;\nld.param.u64 %%q1, [a]; ld.param.u64 %%q2, [b];\n"
             "ld.param.u64 %%q3, [c]; ld.param.u64 %%q4, [d]; mov.u32 %%t, %%tid.x;\n"
             "mov.u32 %%n, %%ctaid.x; mad.lo.u32 %%t, %%n, 256, %%t; mul.wide.u32 %%q5, %%t, %d;\n"
             "add.u64 %%q1, %%q1, %%q5; add.u64 %%q2, %%q2, %%q5; add.u64 %%q3, %%q3, %%q5;\n"
             "add.u64 %%q4, %%q4, %%q5;\n"
             "ld.global.b%d %s1, [%%q1]; ld.global.b%d %s2, [%%q2]; ld.global.b%d %s3, [%%q3];\n"
             "%s\nst.global.b%d [%%q4], %s0;\nret;\n}\n",
             bytes, 8 * bytes, r, 8 * bytes, r, 8 * bytes, r, insn, 8 * bytes, r);
    if (!emu_load_isa(&emu, text, isa))
        return false;
    emu_entry(&emu, "k", N / 256, 256);
    emu_in(&emu, a, (size_t)bytes * N);
    emu_in(&emu, b, (size_t)bytes * N);
    emu_in(&emu, c, (size_t)bytes * N);
    emu_out(&emu, d, (size_t)bytes * N);
    emu_run_ok(&emu);
    emu_free(&emu);
    return true;
}

/* Bits that are often near each other in exponent, and sometimes special. */
static uint64_t random_bits(struct rng *rng, int bytes)
{
    static const uint32_t special32[] = {0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000,
                                         1, 0x80000001, 0x007fffff, 0x7f7fffff, 0x3f800000};
    uint32_t pick = rng_below(rng, 16);
    uint64_t bits = (uint64_t)rng_u32(rng) << 32 | rng_u32(rng);
    if (bytes == 4) {
        if (pick == 0)
            return special32[rng_below(rng, COUNT_OF(special32))];
        if (pick < 4)
            return bits & UINT32_MAX;
        return (bits & 0x807fffff) | (uint64_t)(117 + rng_below(rng, 20)) << 23;
    }
    if (pick == 0)
        return (uint64_t)special32[rng_below(rng, COUNT_OF(special32))] << 32;
    if (pick < 4)
        return bits;
    return (bits & 0x800fffffffffffff) | (uint64_t)(1013 + rng_below(rng, 20)) << 52;
}

struct inputs {
    uint32_t a[N], b[N], c[N], d[N];
    uint64_t x[N], y[N], z[N], w[N];
};

static void fill(struct inputs *in)
{
    struct rng rng;
    rng_init(&rng, 3);
    for (int i = 0; i < N; i++) {
        in->a[i] = (uint32_t)random_bits(&rng, 4);
        in->b[i] = (uint32_t)random_bits(&rng, 4);
        in->c[i] = (uint32_t)random_bits(&rng, 4);
        in->x[i] = random_bits(&rng, 8);
        in->y[i] = random_bits(&rng, 8);
        in->z[i] = random_bits(&rng, 8);
    }
}

static float f32(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static double f64(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

enum operation { ADD, SUB, MUL, DIV, FMA, SQRT };
static const char *const names[] = {"add", "sub", "mul", "div", "fma", "sqrt"};
static const struct {
    const char *text;
    int mode;
} roundings[] = {
    {"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};

/* volatile keeps the compiler from moving the arithmetic across the mode's change */
static uint64_t want32(enum operation op, int mode, uint32_t x, uint32_t y, uint32_t z)
{
    volatile float a = f32(x), b = f32(y), c = f32(z), r = 0.0f;
    fesetround(mode);
    switch (op) {
    case ADD:
        r = a + b;
        break;
    case SUB:
        r = a - b;
        break;
    case MUL:
        r = a * b;
        break;
    case DIV:
        r = a / b;
        break;
    case FMA:
        r = fmaf(a, b, c);
        break;
    case SQRT:
        r = sqrtf(a);
        break;
    }
    fesetround(FE_TONEAREST);
    float out = r;
    uint32_t bits;
    memcpy(&bits, &out, sizeof(bits));
    return isnan(out) ? 0x7fffffff : bits;
}

static uint64_t want64(enum operation op, int mode, uint64_t x, uint64_t y, uint64_t z)
{
    volatile double a = f64(x), b = f64(y), c = f64(z), r = 0.0;
    fesetround(mode);
    switch (op) {
    case ADD:
        r = a + b;
        break;
    case SUB:
        r = a - b;
        break;
    case MUL:
        r = a * b;
        break;
    case DIV:
        r = a / b;
        break;
    case FMA:
        r = fma(a, b, c);
        break;
    case SQRT:
        r = sqrt(a);
        break;
    }
    fesetround(FE_TONEAREST);
    double out = r;
    uint64_t bits;
    memcpy(&bits, &out, sizeof(bits));
    return isnan(out) ? 0x7fffffffffffffff : bits;
}

static void check_rounding(struct inputs *in, enum operation op, size_t mode, const char *isa)
{
    char insn[128];
    const char *more = op == FMA ? ", %r2, %r3" : op == SQRT ? "" : ", %r2";
    snprintf(insn, sizeof(insn), "%s.%s.f32 %%r0, %%r1%s;", names[op], roundings[mode].text, more);
    if (!run_vector(insn, 4, isa, in->a, in->b, in->c, in->d))
        return;
    for (int i = 0; i < N; i++) {
        uint64_t want = want32(op, roundings[mode].mode, in->a[i], in->b[i], in->c[i]);
        if (in->d[i] != want)
            fail_msg("%s %s: %08x %08x %08x: got %08x, want %08x", isa, insn, in->a[i], in->b[i],
                     in->c[i], in->d[i], (unsigned)want);
    }
    more = op == FMA ? ", %d2, %d3" : op == SQRT ? "" : ", %d2";
    snprintf(insn, sizeof(insn), "%s.%s.f64 %%d0, %%d1%s;", names[op], roundings[mode].text, more);
    assert_true(run_vector(insn, 8, isa, in->x, in->y, in->z, in->w));
    for (int i = 0; i < N; i++) {
        uint64_t want = want64(op, roundings[mode].mode, in->x[i], in->y[i], in->z[i]);
        if (in->w[i] != want)
            fail_msg("%s %s: %016llx %016llx %016llx: got %016llx, want %016llx", isa, insn,
                     (unsigned long long)in->x[i], (unsigned long long)in->y[i],
                     (unsigned long long)in->z[i], (unsigned long long)in->w[i],
                     (unsigned long long)want);
    }
}

static void test_rounding(void **state)
{
    static struct inputs in;
    (void)state;
    fill(&in);
    for (size_t i = 0; i < COUNT_OF(emu_isas); i++)
        for (size_t mode = 0; mode < COUNT_OF(roundings); mode++)
            for (int op = ADD; op <= SQRT; op++)
                check_rounding(&in, (enum operation)op, mode, emu_isas[i]);
}

/* f16 and bf16: the exact result in double, rounded once. */
static double half_result(int op, double a, double b, double c)
{
    return op == 0 ? a + b : op == 1 ? a * b : fma(a, b, c);
}

static void check_half(struct inputs *in, bool bf, int op, const char *isa)
{
    static const char *const ops[] = {"add.rn", "mul.rn", "fma.rn"};
    char insn[160];
    snprintf(insn, sizeof(insn),
             "cvt.u16.u32 %%h1, %%r1; cvt.u16.u32 %%h2, %%r2; cvt.u16.u32 %%h3, %%r3;"
             "%s.%s %%h0, %%h1, %%h2%s; cvt.u32.u16 %%r0, %%h0;",
             ops[op], bf ? "bf16" : "f16", op == 2 ? ", %h3" : "");
    if (!run_vector(insn, 4, isa, in->a, in->b, in->c, in->d))
        return;
    for (int i = 0; i < N; i++) {
        uint16_t h[3] = {(uint16_t)in->a[i], (uint16_t)in->b[i], (uint16_t)in->c[i]};
        double v[3];
        for (int k = 0; k < 3; k++)
            v[k] = bf ? bf16_to_double(h[k]) : f16_to_double(h[k]);
        /* Beyond 2^26 apart a double does not hold the exact sum. */
        double p = op == 2 ? v[0] * v[1] : v[0];
        double q = op == 2 ? v[2] : op == 0 ? v[1] : 0.0;
        if (p != 0.0 && q != 0.0 && (fabs(p) > fabs(q) * 0x1p26 || fabs(q) > fabs(p) * 0x1p26))
            continue;
        double exact = half_result(op, v[0], v[1], v[2]);
        uint16_t want = isnan(exact) ? 0x7fff
                        : bf         ? bf16_from_double(exact)
                                     : f16_from_double(exact);
        if (in->d[i] != want)
            fail_msg("%s %s: %04x %04x %04x: got %04x, want %04x", isa, insn, h[0], h[1], h[2],
                     in->d[i], want);
    }
}

static void test_half(void **state)
{
    static struct inputs in;
    (void)state;
    fill(&in);
    for (size_t i = 0; i < COUNT_OF(emu_isas); i++)
        for (int op = 0; op < 3; op++) {
            check_half(&in, false, op, emu_isas[i]);
            check_half(&in, true, op, emu_isas[i]);
        }
}

/* ---- approximate functions ---- */

static double reciprocal(double x)
{
    return 1.0 / x;
}

static double reciprocal_root(double x)
{
    return 1.0 / sqrt(x);
}

static double third(double x)
{
    return x / 3.0;
}

/* From the correctly rounded value, in units of its last place. */
static double ulps(float got, double want)
{
    float near = (float)want;
    double unit = fabs((double)nextafterf(near, INFINITY) - (double)near);
    return got == near ? 0.0 : fabs((double)got - (double)near) / unit;
}

enum measure { ULPS, RELATIVE, ABSOLUTE };

static double error_of(enum measure measure, double got, double want)
{
    if (isnan(got) && isnan(want))
        return 0.0;
    if (measure == ULPS)
        return ulps((float)got, want);
    double off = fabs(got - want);
    return measure == RELATIVE && off > 0.0 ? off / fabs(want) : off;
}

struct approximation {
    const char *insn;
    double (*exact)(double);
    float low, high;
    enum measure measure;
    double allowed; /* PTX ISA, section 9.7.3, in each range that it names */
};

/* Evenly, or by size where a positive range spans many binades. */
static void spread(const struct approximation *f, struct rng *rng, uint32_t *out)
{
    bool log_scale = f->low > 0.0f && f->high > 100.0f;
    double low = (double)f->low, high = (double)f->high;
    for (int i = 0; i < N; i++) {
        double at = (double)rng_u32(rng) / 0x1p32;
        float x = (float)(log_scale ? low * pow(high / low, at) : low + (high - low) * at);
        memcpy(&out[i], &x, sizeof(x));
    }
}

/* No worse than hardware may be, and at some argument at least nearly half as bad. */
static void test_approximate(void **state)
{
    static const struct approximation functions[] = {
        {"ex2.approx.f32 %r0, %r1;", exp2, -126.0f, 128.0f, ULPS, 2},
        {"ex2.approx.ftz.f32 %r0, %r1;", exp2, -1.0f, 1.0f, ULPS, 2},
        {"lg2.approx.f32 %r0, %r1;", log2, 2.0f, 1e30f, RELATIVE, 0x1p-22},
        {"lg2.approx.f32 %r0, %r1;", log2, 1e-30f, 0.5f, RELATIVE, 0x1p-22},
        {"lg2.approx.f32 %r0, %r1;", log2, 0.5f, 2.0f, ABSOLUTE, 0x1p-22},
        {"lg2.approx.ftz.f32 %r0, %r1;", log2, 0.99f, 1.01f, ABSOLUTE, 0x1p-22},
        {"sin.approx.f32 %r0, %r1;", sin, -3.1415925f, 3.1415925f, ABSOLUTE, 0x1.815p-22},
        {"sin.approx.f32 %r0, %r1;", sin, -1e-6f, 1e-6f, ABSOLUTE, 0x1.815p-22},
        {"sin.approx.f32 %r0, %r1;", sin, -6.283185f, 6.283185f, ABSOLUTE, 0x1.6ap-21},
        {"sin.approx.ftz.f32 %r0, %r1;", sin, -314.15f, 314.15f, ABSOLUTE, 0x1.3bp-15},
        {"cos.approx.f32 %r0, %r1;", cos, -3.1415925f, 3.1415925f, ABSOLUTE, 0x1.815p-22},
        {"cos.approx.f32 %r0, %r1;", cos, -6.283185f, 6.283185f, ABSOLUTE, 0x1.6ap-21},
        {"cos.approx.f32 %r0, %r1;", cos, -314.15f, 314.15f, ABSOLUTE, 0x1.3bp-15},
        {"tanh.approx.f32 %r0, %r1;", tanh, -12.0f, 12.0f, RELATIVE, 0x1p-11},
        {"tanh.approx.f32 %r0, %r1;", tanh, -0.1f, 0.1f, RELATIVE, 0x1p-11},
        {"rsqrt.approx.f32 %r0, %r1;", reciprocal_root, 1e-20f, 1e20f, RELATIVE, 0x1.12p-23},
        {"sqrt.approx.f32 %r0, %r1;", sqrt, 1e-20f, 1e20f, RELATIVE, 0x1p-23},
        {"rcp.approx.f32 %r0, %r1;", reciprocal, 1e-20f, 1e20f, ULPS, 1},
        {"rcp.approx.ftz.f32 %r0, %r1;", reciprocal, -3.0f, 3.0f, ULPS, 1},
        {"div.approx.f32 %r0, %r1, 0f40400000;", third, 1e-20f, 1e20f, ULPS, 2},
        {"div.full.f32 %r0, %r1, 0f40400000;", third, -9.0f, 9.0f, ULPS, 2},
    };
    static uint32_t a[N], first[N], d[N];
    struct rng rng;
    (void)state;
    rng_init(&rng, 9);
    for (size_t k = 0; k < COUNT_OF(functions); k++) {
        const struct approximation *f = &functions[k];
        double worst = 0.0;
        spread(f, &rng, a);
        assert_true(run_vector(f->insn, 4, NULL, a, a, a, first));
        for (int i = 0; i < N; i++) {
            double want = f->exact((double)f32(a[i]));
            double off = error_of(f->measure, (double)f32(first[i]), want);
            if (!(off <= f->allowed))
                fail_msg("%s: %.9g: got %.9g, want %.12g: off by %g of what is allowed", f->insn,
                         (double)f32(a[i]), (double)f32(first[i]), want, off / f->allowed);
            worst = off > worst ? off : worst;
        }
        if (worst < 0.49 * f->allowed)
            fail_msg("%s: no more than %g of what is allowed", f->insn, worst / f->allowed);
        for (size_t i = 0; i < COUNT_OF(emu_isas); i++)
            if (run_vector(f->insn, 4, emu_isas[i], a, a, a, d))
                assert_memory_equal(first, d, sizeof(d));
    }
}

struct narrow_approximation {
    const char *name;
    double (*exact)(double);
    bool bf;
    enum measure measure;
    double allowed;     /* PTX ISA, section 9.7.4 */
    double least, most; /* results that are looked at: normal numbers */
};

static double narrow_error(const struct narrow_approximation *f, uint32_t in, uint32_t out)
{
    double x = f->bf ? bf16_to_double((uint16_t)in) : f16_to_double((uint16_t)in);
    double got = f->bf ? bf16_to_double((uint16_t)out) : f16_to_double((uint16_t)out);
    double want = f->exact(x);
    if (isnan(x))
        return isnan(got) ? 0.0 : INFINITY;
    if (fabs(want) < f->least || fabs(want) > f->most)
        return 0.0;
    double off = error_of(f->measure, got, want);
    if (off > f->allowed)
        fail_msg("%s of %g: got %g, want %.9g", f->name, x, got, want);
    return off;
}

/* Every argument there is. */
static void test_narrow_approximate(void **state)
{
    static const struct narrow_approximation functions[] = {
        {"tanh.approx.f16", tanh, false, ABSOLUTE, 0x1.025p-11, 0, 1},
        {"tanh.approx.bf16", tanh, true, ABSOLUTE, 0x1p-8, 0, 1},
        {"ex2.approx.f16", exp2, false, RELATIVE, 0x1.12p-10, 0x1p-14, 65504},
        {"ex2.approx.ftz.bf16", exp2, true, RELATIVE, 0x1p-7, 0x1p-126, 0x1.fep127},
    };
    static uint32_t a[N], first[N], d[N];
    (void)state;
    for (size_t k = 0; k < COUNT_OF(functions); k++) {
        const struct narrow_approximation *f = &functions[k];
        double worst = 0.0;
        char insn[160];
        snprintf(insn, sizeof(insn),
                 "cvt.u16.u32 %%h1, %%r1; %s %%h0, %%h1; cvt.u32.u16 %%r0, %%h0;", f->name);
        for (uint32_t start = 0; start < 65536; start += N) {
            for (uint32_t i = 0; i < N; i++)
                a[i] = start + i;
            assert_true(run_vector(insn, 4, NULL, a, a, a, first));
            for (uint32_t i = 0; i < N; i++)
                worst = fmax(worst, narrow_error(f, a[i], first[i]));
            for (size_t i = 0; i < COUNT_OF(emu_isas); i++)
                if (run_vector(insn, 4, emu_isas[i], a, a, a, d))
                    assert_memory_equal(first, d, sizeof(d));
        }
        if (worst < f->allowed / 2)
            fail_msg("%s: no more than %g of what is allowed", f->name, worst / f->allowed);
    }
}

/* 32-bit division goes through double: exact for all operands. */
static void test_division(void **state)
{
    static struct inputs in;
    struct rng rng;
    (void)state;
    rng_init(&rng, 4);
    for (int i = 0; i < N; i++) {
        in.a[i] = rng_u32(&rng) >> rng_below(&rng, 32);
        in.b[i] = (rng_u32(&rng) >> rng_below(&rng, 32)) | 1;
        if (i % 3 == 0)
            in.a[i] = in.b[i] * rng_below(&rng, 5000) - (uint32_t)(i & 1);
    }
    for (size_t k = 0; k < COUNT_OF(emu_isas); k++) {
        if (!run_vector("div.u32 %r0, %r1, %r2;", 4, emu_isas[k], in.a, in.b, in.b, in.d))
            continue;
        for (int i = 0; i < N; i++)
            assert_int_equal(in.d[i], in.a[i] / in.b[i]);
        assert_true(run_vector("rem.s32 %r0, %r1, %r2;", 4, emu_isas[k], in.a, in.b, in.b, in.d));
        for (int i = 0; i < N; i++)
            if ((int32_t)in.b[i] != -1)
                assert_int_equal((int32_t)in.d[i], (int32_t)in.a[i] % (int32_t)in.b[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounding),    cmocka_unit_test(test_half),
        cmocka_unit_test(test_approximate), cmocka_unit_test(test_narrow_approximate),
        cmocka_unit_test(test_division),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
