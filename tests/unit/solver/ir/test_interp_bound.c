/*
 * The bounds' two promises, on candidates computed here in C: every honest one is inside, and each
 * planted wrong one is outside somewhere.  Also the calibration of sums (facts/verification,
 * section 3): orders of summation, inputs rounded to bf16 and tf32.
 */
#include "tests/unit/solver/ir/interp_case.h"

/* The share of elements outside their bounds. */
static double rejected(const struct values *want, const double *got)
{
    int64_t outside = 0;
    for (int64_t i = 0; i < want->count; i++) {
        bool open = want->open && want->open[i];
        double v = want->reals[i];
        bool same = isnan(v) ? isnan(got[i]) : v == got[i];
        outside += !open && !same && !(fabs(got[i] - v) <= want->bounds[i]);
    }
    return (double)outside / (double)want->count;
}

static double open_share(const struct values *want)
{
    int64_t open = 0;
    for (int64_t i = 0; want->open && i < want->count; i++)
        open += want->open[i];
    return (double)open / (double)want->count;
}

/* ---- ways to compute in f32 ---- */

static float sum_in_order(const float *terms, int64_t count)
{
    float sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += terms[i];
    return sum;
}

static float sum_of_threads(const float *terms, int64_t count)
{
    float part[256] = {0};
    for (int64_t i = 0; i < count; i++)
        part[i % 256] += terms[i];
    for (int step = 128; step > 0; step /= 2)
        for (int i = 0; i < step; i++)
            part[i] += part[i + step];
    return part[0];
}

static float sum_halves(const float *terms, int64_t count)
{
    if (count < 2)
        return count ? terms[0] : 0;
    return sum_halves(terms, count / 2) + sum_halves(terms + count / 2, count - count / 2);
}

static float sum_backwards(const float *terms, int64_t count)
{
    float sum = 0;
    for (int64_t i = count; i-- > 0;)
        sum += terms[i];
    return sum;
}

static float sum_kahan(const float *terms, int64_t count)
{
    volatile float sum = 0;
    volatile float lost = 0;
    for (int64_t i = 0; i < count; i++) {
        volatile float y = terms[i] - lost;
        volatile float t = sum + y;
        lost = (t - sum) - y;
        sum = t;
    }
    return sum;
}

static float sum_in_f16(const float *terms, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum = dtype_round(DTYPE_F16, sum + (double)terms[i]);
    return (float)sum;
}

static float sum_without_last(const float *terms, int64_t count)
{
    return sum_of_threads(terms, count - 1);
}

typedef float summing(const float *terms, int64_t count);

static double keep(double x)
{
    return x;
}

static double to_bf16(double x)
{
    return dtype_round(DTYPE_BF16, x);
}

/* cvt-free mma.tf32: the low 13 bits are ignored. */
static double truncate_tf32(double x)
{
    float narrow = (float)x;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof(bits));
    bits &= ~UINT32_C(0x1fff);
    memcpy(&narrow, &bits, sizeof(bits));
    return (double)narrow;
}

typedef double rounding(double x);

/* ---- matrix product ---- */

enum { GEMM_EDGE = 16 };

static void gemm_open(struct interp_case *c, int64_t k, const char *dtype)
{
    char dims[64], tensors[128];
    snprintf(dims, sizeof(dims), "M=%d N=%d K=%lld", GEMM_EDGE, GEMM_EDGE, (long long)k);
    snprintf(tensors, sizeof(tensors), "a input %s M,K; b input %s K,N; c output f32 M,N", dtype,
             dtype);
    case_open(c, dims, tensors, "c[m,n] = sum(k) f32(a[m,k]) * f32(b[k,n])", NULL,
              "'f32': {}, 'tf32': {}, 'bf16': {}");
}

/* An input's elements, rounded. */
static const double *gemm_in(struct interp_case *c, const char *name, rounding *round)
{
    int64_t count = case_count(c, name);
    double *out = arena_array(&c->arena, double, (size_t)count);
    for (int64_t i = 0; i < count; i++)
        out[i] = round(case_in(c, name, i));
    return out;
}

/* One candidate: inputs rounded by `round`, products and sums in f32. */
static void gemm(struct interp_case *c, rounding *round, summing *sum, double *out)
{
    int64_t k = case_count(c, "a") / GEMM_EDGE;
    const double *a = gemm_in(c, "a", round);
    const double *b = gemm_in(c, "b", round);
    float *terms = arena_array(&c->arena, float, (size_t)k);
    for (int64_t m = 0; m < GEMM_EDGE; m++)
        for (int64_t n = 0; n < GEMM_EDGE; n++) {
            for (int64_t i = 0; i < k; i++)
                terms[i] = (float)(a[m * k + i] * b[i * GEMM_EDGE + n]);
            out[m * GEMM_EDGE + n] = (double)sum(terms, k);
        }
}

static double rest_of(double x)
{
    return tf32_round(x - tf32_round(x));
}

/* Big parts and the rests as tf32, three products, as honest f32 kernels on tensor cores do. */
static void gemm_3xtf32(struct interp_case *c, double *out)
{
    int64_t k = case_count(c, "a") / GEMM_EDGE;
    const double *a = gemm_in(c, "a", tf32_round);
    const double *b = gemm_in(c, "b", tf32_round);
    const double *a_rest = gemm_in(c, "a", rest_of);
    const double *b_rest = gemm_in(c, "b", rest_of);
    for (int64_t m = 0; m < GEMM_EDGE; m++)
        for (int64_t n = 0; n < GEMM_EDGE; n++) {
            float sum = 0;
            for (int64_t i = 0; i < k; i++) {
                int64_t x = m * k + i;
                int64_t y = i * GEMM_EDGE + n;
                sum += (float)(a[x] * b_rest[y]);
                sum += (float)(a_rest[x] * b[y]);
                sum += (float)(a[x] * b[y]);
            }
            out[m * GEMM_EDGE + n] = (double)sum;
        }
}

struct gemm_case {
    const char *name, *track, *dtype;
    enum data_class class;
    rounding *round; /* NULL: 3xTF32 */
    summing *sum;
    bool honest;
    int64_t k_min; /* from which on a wrong one is found */
};

static const struct gemm_case gemm_cases[] = {
    {"in order", "f32", "f32", DATA_ZERO_MEAN, keep, sum_in_order, true, 0},
    {"backwards", "f32", "f32", DATA_ZERO_MEAN, keep, sum_backwards, true, 0},
    {"halves", "f32", "f32", DATA_ZERO_MEAN, keep, sum_halves, true, 0},
    {"256 threads", "f32", "f32", DATA_ZERO_MEAN, keep, sum_of_threads, true, 0},
    {"positive, in order", "f32", "f32", DATA_POSITIVE, keep, sum_in_order, true, 0},
    {"positive, backwards", "f32", "f32", DATA_POSITIVE, keep, sum_backwards, true, 0},
    {"index-coded, in order", "f32", "f32", DATA_INDEXED, keep, sum_in_order, true, 0},
    {"large, in order", "f32", "f32", DATA_LARGE, keep, sum_in_order, true, 0},
    {"large, backwards", "f32", "f32", DATA_LARGE, keep, sum_backwards, true, 0},
    {"heavy tail, in order", "f32", "f32", DATA_HEAVY, keep, sum_in_order, true, 0},
    {"cancelling, in order", "f32", "f32", DATA_CANCEL, keep, sum_in_order, true, 0},
    {"cancelling, backwards", "f32", "f32", DATA_CANCEL, keep, sum_backwards, true, 0},
    {"offset, in order", "f32", "f32", DATA_OFFSET, keep, sum_in_order, true, 0},
    {"integers, in order", "f32", "f32", DATA_INTEGERS, keep, sum_in_order, true, 0},
    {"3xTF32", "f32", "f32", DATA_ZERO_MEAN, NULL, NULL, true, 0},
    {"3xTF32, positive", "f32", "f32", DATA_POSITIVE, NULL, NULL, true, 0},
    {"3xTF32, integers", "f32", "f32", DATA_INTEGERS, NULL, NULL, true, 0},
    {"tf32 inputs", "f32", "f32", DATA_ZERO_MEAN, tf32_round, sum_of_threads, false, 1},
    {"bf16 inputs", "f32", "f32", DATA_ZERO_MEAN, to_bf16, sum_of_threads, false, 1},
    {"tf32 inputs, integers", "f32", "f32", DATA_INTEGERS, tf32_round, sum_in_order, false, 1},
    {"bf16 inputs, integers", "f32", "f32", DATA_INTEGERS, to_bf16, sum_in_order, false, 1},
    {"last term dropped", "f32", "f32", DATA_ZERO_MEAN, keep, sum_without_last, false, 1},
    {"f16 inputs, f32 sums", "f32", "f16", DATA_ZERO_MEAN, keep, sum_in_order, true, 0},
    {"f16 inputs, f16 sums", "f32", "f16", DATA_ZERO_MEAN, keep, sum_in_f16, false, 2},
    {"f16 inputs, f16 sums, positive", "f32", "f16", DATA_POSITIVE, keep, sum_in_f16, false, 2},
    {"tf32 track: tf32", "tf32", "f32", DATA_ZERO_MEAN, tf32_round, sum_of_threads, true, 0},
    {"tf32 track: tf32, positive", "tf32", "f32", DATA_POSITIVE, tf32_round, sum_in_order, true, 0},
    {"tf32 track: tf32, large", "tf32", "f32", DATA_LARGE, tf32_round, sum_in_order, true, 0},
    {"tf32 track: tf32, one-hot", "tf32", "f32", DATA_ONE_HOT, tf32_round, sum_in_order, true, 0},
    {"tf32 track: f32", "tf32", "f32", DATA_ZERO_MEAN, keep, sum_of_threads, true, 0},
    {"tf32 track: 3xTF32", "tf32", "f32", DATA_ZERO_MEAN, NULL, NULL, true, 0},
    {"tf32 track: 3xTF32, offset", "tf32", "f32", DATA_OFFSET, NULL, NULL, true, 0},
    {"tf32 track: bf16", "tf32", "f32", DATA_ZERO_MEAN, to_bf16, sum_of_threads, false, 1},
    {"tf32 track: cut off", "tf32", "f32", DATA_POSITIVE, truncate_tf32, sum_in_order, false, 64},
    {"bf16 track: bf16", "bf16", "f32", DATA_ZERO_MEAN, to_bf16, sum_of_threads, true, 0},
    {"bf16 track: bf16, index-coded", "bf16", "f32", DATA_INDEXED, to_bf16, sum_in_order, true, 0},
    {"bf16 track: tf32", "bf16", "f32", DATA_ZERO_MEAN, tf32_round, sum_in_order, true, 0},
    {"bf16 track: last term dropped", "bf16", "f32", DATA_ZERO_MEAN, keep, sum_without_last, false,
     1},
};

static void check_gemm(const struct gemm_case *g, int64_t k)
{
    double out[GEMM_EDGE * GEMM_EDGE];
    struct interp_case c;
    gemm_open(&c, k, g->dtype);
    case_fill(&c, g->class, (uint64_t)k);
    const struct values *want = case_output(&c, INTERP_BOUND, g->track, "c");
    if (g->round)
        gemm(&c, g->round, g->sum, out);
    else
        gemm_3xtf32(&c, out);
    double share = rejected(want, out);
    if (g->honest ? share > 0 : share == 0 && k >= g->k_min)
        fail_msg("%s, K = %lld: %g of the elements rejected", g->name, (long long)k, share);
    case_close(&c);
}

static void products_are_told_apart(void **state)
{
    (void)state;
    static const int64_t ks[] = {1, 2, 3, 16, 64, 257, 1024};
    for (size_t i = 0; i < COUNT_OF(gemm_cases); i++)
        for (size_t j = 0; j < COUNT_OF(ks); j++)
            check_gemm(&gemm_cases[i], ks[j]);
}

/* With equal factors all products round alike, and errors add up. */
static void equal_factors_round_alike(void **state)
{
    (void)state;
    struct interp_case c;
    double out[GEMM_EDGE * GEMM_EDGE];
    gemm_open(&c, 1024, "f32");
    double *a = arena_array(&c.arena, double, GEMM_EDGE * 1024);
    double *b = arena_array(&c.arena, double, GEMM_EDGE * 1024);
    for (int i = 0; i < GEMM_EDGE * 1024; i++) {
        a[i] = 1 + 0x1.fp-12;
        b[i] = 1 + 0x1.dp-12;
    }
    case_set(&c, "a", a);
    case_set(&c, "b", b);
    gemm(&c, tf32_round, sum_in_order, out);
    assert_true(rejected(case_output(&c, INTERP_BOUND, "tf32", "c"), out) == 0);
    assert_true(rejected(case_output(&c, INTERP_BOUND, "f32", "c"), out) == 1);
    case_close(&c);
}

/* Many small terms and a large one, which an order from the other end meets first. */
static void sums_from_the_other_end(void **state)
{
    (void)state;
    enum { TERMS = 1024 };
    static const struct {
        const char *name;
        double small, step, large;
    } cases[] = {
        {"equal terms", 0x1p-10 + 0x1.fp-21, 0, 30},
        {"terms that the large one dwarfs", 0x1p-24, -0x1p-34, 1.5},
        {"equal terms of the other sign", -0x1p-10 - 0x1.fp-21, 0, 30},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct interp_case c;
        double x[TERMS];
        float sum = 0;
        case_open(&c, "N=1024", "x input f32 N; y output f32 -", "y[] = sum(n) x[n]", "", NULL);
        for (int n = 0; n < TERMS - 1; n++)
            x[n] = cases[i].small + cases[i].step * (n % 7);
        x[TERMS - 1] = cases[i].large;
        case_set(&c, "x", x);
        for (int n = TERMS; n-- > 0;)
            sum += (float)x[n];
        const double got = sum;
        const struct values *want = case_output(&c, INTERP_BOUND, NULL, "y");
        if (rejected(want, &got) > 0)
            fail_msg("%s: %g is off by %g, bound %g", cases[i].name, got, got - want->reals[0],
                     want->bounds[0]);
        case_close(&c);
    }
}

/* What one order keeps in the type's range and another does not. */
static void orders_that_leave_the_range_are_open(void **state)
{
    (void)state;
    static const struct {
        const char *name, *body;
        double x[4];
        double least, most; /* bound */
    } cases[] = {
        {"a sum of both signs",
         "y[] = sum(n) x[n]",
         {3e38, -3e38, 3e38, -3e38},
         INFINITY,
         INFINITY},
        {"a sum inside", "y[] = sum(n) x[n]", {1e38, -1e38, 1e38, -1e38}, 0, 1e33},
        {"a product up and down",
         "y[] = prod(n) x[n]",
         {1e30, 1e-30, 1e30, 1e-30},
         INFINITY,
         INFINITY},
        {"a product that is flushed", "y[] = prod(n) x[n]", {1e20, 1e-20, 1e17, 1e-20}, 0.01, 1},
        {"a product inside", "y[] = prod(n) x[n]", {1e10, 1e-10, 1e10, 1e-10}, 0, 1e-5},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct interp_case c;
        case_open(&c, "N=4", "x input f32 N; y output f32 -", cases[i].body, "", NULL);
        case_set(&c, "x", cases[i].x);
        const struct values *want = case_output(&c, INTERP_BOUND, NULL, "y");
        double bound = want->open != NULL && want->open[0] ? INFINITY : want->bounds[0];
        if (!(bound >= cases[i].least && bound <= cases[i].most))
            fail_msg("%s: %g", cases[i].name, bound);
        case_close(&c);
    }
}

/* The calibration's long end. */
static void long_sums_keep_their_margin(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(gemm_cases); i++)
        if (gemm_cases[i].class == DATA_ZERO_MEAN && strcmp(gemm_cases[i].dtype, "f32") == 0 &&
            gemm_cases[i].sum != sum_halves)
            check_gemm(&gemm_cases[i], 16384);
}

/* ---- rows ---- */

/* A candidate for one row, from f32 inputs to outputs as doubles, with room for as many f32. */
typedef void row_candidate(const float *x, int64_t count, float *room, double *y);

static void softmax_plain(const float *x, int64_t n, float *room, double *y)
{
    float top = -INFINITY;
    for (int64_t i = 0; i < n; i++)
        top = x[i] > top ? x[i] : top;
    for (int64_t i = 0; i < n; i++)
        room[i] = expf(x[i] - top);
    float sum = sum_of_threads(room, n);
    for (int64_t i = 0; i < n; i++)
        y[i] = (double)(room[i] / sum);
}

/* __expf and division by multiplying, with the errors that the CUDA tables allow. */
static void softmax_fast(const float *x, int64_t n, float *room, double *y)
{
    const float u = 0x1p-24F;
    float top = -INFINITY;
    for (int64_t i = 0; i < n; i++)
        top = x[i] > top ? x[i] : top;
    for (int64_t i = 0; i < n; i++) {
        float d = x[i] - top;
        float ulps = d == 0 ? 0 : 2 + floorf(fabsf(1.173F * d));
        room[i] = expf(d) * (1 + (i % 2 ? 2 : -2) * u * ulps);
    }
    float inverse = 1 / sum_in_order(room, n);
    for (int64_t i = 0; i < n; i++)
        y[i] = (double)(room[i] * inverse);
}

/* The scale of exp2 folded into the difference. */
static void softmax_base_2(const float *x, int64_t n, float *room, double *y)
{
    const float scale = 1.44269504F;
    float top = -INFINITY;
    for (int64_t i = 0; i < n; i++)
        top = x[i] > top ? x[i] : top;
    for (int64_t i = 0; i < n; i++)
        room[i] = exp2f(x[i] * scale - top * scale);
    float sum = sum_of_threads(room, n);
    for (int64_t i = 0; i < n; i++)
        y[i] = (double)(room[i] / sum);
}

static void exp_fast(const float *x, int64_t n, float *room, double *y)
{
    (void)room;
    for (int64_t i = 0; i < n; i++)
        y[i] = (double)(expf(x[i]) * (1 + 0x1p-23F * (2 + floorf(fabsf(1.173F * x[i])))));
}

static void exp_half(const float *x, int64_t n, float *room, double *y)
{
    (void)room;
    for (int64_t i = 0; i < n; i++)
        y[i] = dtype_round(DTYPE_F16, (double)expf(x[i]));
}

static void softmax_unsafe(const float *x, int64_t n, float *room, double *y)
{
    for (int64_t i = 0; i < n; i++)
        room[i] = expf(x[i]);
    float sum = sum_of_threads(room, n);
    for (int64_t i = 0; i < n; i++)
        y[i] = (double)(room[i] / sum);
}

static void softmax_online(const float *x, int64_t n, float *room, double *y)
{
    (void)room;
    float top = -INFINITY;
    float sum = 0;
    for (int64_t i = 0; i < n; i++) {
        float next = x[i] > top ? x[i] : top;
        sum = sum * expf(top - next) + expf(x[i] - next);
        top = next;
    }
    for (int64_t i = 0; i < n; i++)
        y[i] = (double)(expf(x[i] - top) / sum);
}

static void norm_from(const float *x, int64_t n, float mean, float var, double *y)
{
    float scale = 1 / sqrtf(var + 1e-5F);
    for (int64_t i = 0; i < n; i++)
        y[i] = (double)((x[i] - mean) * scale);
}

static void norm_two_pass(const float *x, int64_t n, float *room, double *y)
{
    float mean = sum_of_threads(x, n) / (float)n;
    for (int64_t i = 0; i < n; i++)
        room[i] = (x[i] - mean) * (x[i] - mean);
    norm_from(x, n, mean, sum_of_threads(room, n) / (float)n, y);
}

static void norm_welford(const float *x, int64_t n, float *room, double *y)
{
    (void)room;
    float mean = 0;
    float squares = 0;
    for (int64_t i = 0; i < n; i++) {
        float d = x[i] - mean;
        mean += d / (float)(i + 1);
        squares += d * (x[i] - mean);
    }
    norm_from(x, n, mean, squares / (float)n, y);
}

static void norm_of_squares(const float *x, int64_t n, float *room, double *y)
{
    float mean = sum_of_threads(x, n) / (float)n;
    for (int64_t i = 0; i < n; i++)
        room[i] = x[i] * x[i];
    float var = sum_of_threads(room, n) / (float)n - mean * mean;
    norm_from(x, n, mean, var, y);
}

static void norm_without_eps(const float *x, int64_t n, float *room, double *y)
{
    float mean = sum_of_threads(x, n) / (float)n;
    for (int64_t i = 0; i < n; i++)
        room[i] = (x[i] - mean) * (x[i] - mean);
    norm_from(x, n, mean, sum_of_threads(room, n) / (float)n - 1e-5F, y);
}

static void rows_sum_plain(const float *x, int64_t n, float *room, double *y)
{
    (void)room;
    y[0] = (double)sum_in_order(x, n);
}

static void rows_sum_kahan(const float *x, int64_t n, float *room, double *y)
{
    (void)room;
    y[0] = (double)sum_kahan(x, n);
}

static void rows_sum_backwards(const float *x, int64_t n, float *room, double *y)
{
    (void)room;
    y[0] = (double)sum_backwards(x, n);
}

/* tanh from an exponential, as kernels write it. */
static void gelu_composed(const float *x, int64_t n, float *room, double *y)
{
    (void)room;
    for (int64_t i = 0; i < n; i++) {
        float t = 0.7978845608F * (x[i] + 0.044715F * x[i] * x[i] * x[i]);
        float h = 1 - 2 / (expf(2 * t) + 1);
        y[i] = (double)(0.5F * x[i] * (1 + h));
    }
}

static void gelu_by_sigmoid(const float *x, int64_t n, float *room, double *y)
{
    (void)room;
    for (int64_t i = 0; i < n; i++)
        y[i] = (double)(x[i] / (1 + expf(-1.702F * x[i])));
}

/* tanh.approx.f32: relative error up to 2^-11. */
static void gelu_approximate(const float *x, int64_t n, float *room, double *y)
{
    (void)room;
    for (int64_t i = 0; i < n; i++) {
        float t = 0.7978845608F * (x[i] + 0.044715F * x[i] * x[i] * x[i]);
        y[i] = (double)(0.5F * x[i] * (1 + tanhf(t) * (1 + 0x1p-11F)));
    }
}

#define SOFTMAX                                                                                    \
    "mx[r] = max(c) x[r,c]\ne[r,c] = exp(x[r,c] - mx[r])\ns[r] = sum(c) e[r,c]\n"                  \
    "y[r,c] = e[r,c] / s[r]"
#define NORM                                                                                       \
    "s[r] = sum(c) x[r,c]\nd[r,c] = x[r,c] - s[r] / C\nv[r] = sum(c) d[r,c] * d[r,c]\n"            \
    "y[r,c] = d[r,c] / sqrt(v[r] / C + 1e-5)"
#define GELU                                                                                       \
    "y[r,c] = 0.5 * x[r,c] * (1 + tanh(0.7978845608 * (x[r,c] + 0.044715 * x[r,c] * x[r,c] * "     \
    "x[r,c])))"
#define EXPS "y[r,c] = exp(x[r,c])"
#define SUMS "y[r,k:1] = sum(c) x[r,c] + k"

struct row_case {
    const char *name, *body, *policy;
    row_candidate *candidate;
    enum data_class class;
    bool honest;
    int64_t columns_min; /* from which on a wrong one is found */
};

static const struct row_case row_cases[] = {
    {"softmax", SOFTMAX, NULL, softmax_plain, DATA_ZERO_MEAN, true, 0},
    {"softmax, large", SOFTMAX, NULL, softmax_plain, DATA_LARGE, true, 0},
    {"softmax, one-hot", SOFTMAX, NULL, softmax_plain, DATA_ONE_HOT, true, 0},
    {"softmax, positive", SOFTMAX, NULL, softmax_plain, DATA_POSITIVE, true, 0},
    {"softmax, special values", SOFTMAX, NULL, softmax_plain, DATA_SPECIAL, true, 0},
    {"softmax, fast", SOFTMAX, NULL, softmax_fast, DATA_ZERO_MEAN, true, 0},
    {"softmax, fast, large", SOFTMAX, NULL, softmax_fast, DATA_LARGE, true, 0},
    {"softmax, fast, heavy tail", SOFTMAX, NULL, softmax_fast, DATA_HEAVY, true, 0},
    {"softmax, online", SOFTMAX, NULL, softmax_online, DATA_ZERO_MEAN, true, 0},
    {"softmax, online, one-hot", SOFTMAX, NULL, softmax_online, DATA_ONE_HOT, true, 0},
    {"softmax, base 2, offset", SOFTMAX, NULL, softmax_base_2, DATA_OFFSET, true, 0},
    {"softmax, base 2, large", SOFTMAX, NULL, softmax_base_2, DATA_LARGE, true, 0},
    {"__expf", EXPS, NULL, exp_fast, DATA_ZERO_MEAN, true, 0},
    {"__expf, heavy tail", EXPS, NULL, exp_fast, DATA_HEAVY, true, 0},
    {"exp in f16", EXPS, NULL, exp_half, DATA_ZERO_MEAN, false, 1},
    {"softmax, unsafe", SOFTMAX, NULL, softmax_unsafe, DATA_LARGE, false, 1},
    {"norm, two passes", NORM, NULL, norm_two_pass, DATA_ZERO_MEAN, true, 0},
    {"norm, two passes, offset", NORM, NULL, norm_two_pass, DATA_OFFSET, true, 0},
    {"norm, two passes, large", NORM, NULL, norm_two_pass, DATA_LARGE, true, 0},
    {"norm, Welford", NORM, NULL, norm_welford, DATA_ZERO_MEAN, true, 0},
    {"norm, Welford, offset", NORM, NULL, norm_welford, DATA_OFFSET, true, 0},
    {"norm, E[x^2] - E[x]^2", NORM, NULL, norm_of_squares, DATA_OFFSET, false, 7},
    {"norm, no eps", NORM, NULL, norm_without_eps, DATA_ZEROS, false, 1},
    {"sum", SUMS, NULL, rows_sum_plain, DATA_CANCEL, true, 0},
    {"sum backwards", SUMS, NULL, rows_sum_backwards, DATA_CANCEL, true, 0},
    {"sum of equal rows", SUMS, NULL, rows_sum_plain, DATA_LARGE, true, 0},
    {"Kahan", SUMS, "'summation': 'compensated'", rows_sum_kahan, DATA_CANCEL, true, 0},
    {"Kahan, zero mean", SUMS, "'summation': 'compensated'", rows_sum_kahan, DATA_ZERO_MEAN, true,
     0},
    {"Kahan, positive", SUMS, "'summation': 'compensated'", rows_sum_kahan, DATA_POSITIVE, true, 0},
    {"Kahan skipped", SUMS, "'summation': 'compensated'", rows_sum_plain, DATA_CANCEL, false, 33},
    {"gelu", GELU, NULL, gelu_composed, DATA_ZERO_MEAN, true, 0},
    {"gelu, large", GELU, NULL, gelu_composed, DATA_HEAVY, true, 0},
    {"gelu by sigmoid", GELU, NULL, gelu_by_sigmoid, DATA_ZERO_MEAN, false, 1},
    {"gelu by tanh.approx", GELU, NULL, gelu_approximate, DATA_ZERO_MEAN, false, 7},
};

enum { ROWS = 11 };

static void check_row(const struct row_case *r, int64_t columns)
{
    char dims[64];
    struct interp_case c;
    bool sums = strcmp(r->body, SUMS) == 0;
    snprintf(dims, sizeof(dims), "R=%d C=%lld", ROWS, (long long)columns);
    case_open(&c, dims,
              sums ? "x input f32 R,C; y output f32 R,1" : "x input f32 R,C; y output f32 R,C",
              r->body, r->policy, NULL);
    case_fill(&c, r->class, (uint64_t)columns);
    const struct values *want = case_output(&c, INTERP_BOUND, NULL, "y");
    double *got = arena_array(&c.arena, double, (size_t)(ROWS * columns));
    float *room = arena_array(&c.arena, float, (size_t)columns);
    const float *x = c.data[case_tensor(&c, "x")];
    for (int64_t row = 0; row < ROWS; row++)
        r->candidate(x + row * columns, columns, room, got + row * (sums ? 1 : columns));
    double share = rejected(want, got);
    if (r->honest ? share > 0 : share == 0 && columns >= r->columns_min)
        fail_msg("%s, %lld columns: %g of the elements rejected", r->name, (long long)columns,
                 share);
    if (r->class == DATA_ZERO_MEAN && open_share(want) > 0)
        fail_msg("%s: %g of the elements are open", r->name, open_share(want));
    case_close(&c);
}

static void rows_are_told_apart(void **state)
{
    (void)state;
    static const int64_t columns[] = {1, 2, 7, 33, 256, 1000, 5000};
    for (size_t i = 0; i < COUNT_OF(row_cases); i++)
        for (size_t j = 0; j < COUNT_OF(columns); j++)
            check_row(&row_cases[i], columns[j]);
}

/* ---- indices ---- */

/* A candidate that reads what another body says must be refused on index-coded data. */
struct index_case {
    const char *name, *right, *wrong;
};

static const struct index_case index_cases[] = {
    {"row's target for column's",
     "s[] = sum(r,c) max(0, 1 - a[r,c] * t[c])\ny[i:1] = s[] / (R * C) + i",
     "s[] = sum(r,c) max(0, 1 - a[r,c] * t[r])\ny[i:1] = s[] / (R * C) + i"},
    {"mean over the other axis", "y[r] = sum(c) a[r,c] * t[c]", "y[r] = sum(c) a[c,r] * t[c]"},
    {"transposed weights", "y[r] = sum(c,k:R) a[r,k] * a[k,c] + 0 * t[c]",
     "y[r] = sum(c,k:R) a[r,k] * a[c,k] + 0 * t[c]"},
    {"neighbour", "y[r] = a[r,0] + t[r]", "y[r] = a[r,1] + t[r]"},
    {"reversed", "y[r] = a[r,r] + t[r]", "y[r] = a[r,r] + t[R - 1 - r]"},
};

static void indices_are_told_apart(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(index_cases); i++) {
        const struct index_case *k = &index_cases[i];
        const char *tensors = strstr(k->right, "y[i:1]")
                                  ? "a input f32 R,C; t input f32 C; y output f32 1"
                                  : "a input f32 R,C; t input f32 C; y output f32 R";
        struct interp_case right, wrong;
        case_open(&right, "R=64 C=64", tensors, k->right, NULL, NULL);
        case_open(&wrong, "R=64 C=64", tensors, k->wrong, NULL, NULL);
        case_fill(&right, DATA_INDEXED, 8);
        case_fill(&wrong, DATA_INDEXED, 8);
        const struct values *want = case_output(&right, INTERP_BOUND, NULL, "y");
        const struct values *got = case_output(&wrong, INTERP_REAL, NULL, "y");
        if (rejected(want, got->reals) < 0.9)
            fail_msg("%s: %g of the elements rejected", k->name, rejected(want, got->reals));
        case_close(&right);
        case_close(&wrong);
    }
}

/* ---- choices ---- */

struct choice_case {
    const char *name, *body;
    double x[4];
    int64_t got;
    bool accepted;
};

/* z = exp(log(x)) has a bound of some ulp; x itself is exact. */
static const struct choice_case choice_cases[] = {
    {"the argmax", "y[m] = argmax(n) x[m,n]", {1, 3, 2, 3}, 1, true},
    {"an equal, later one", "y[m] = argmax(n) x[m,n]", {1, 3, 2, 3}, 3, false},
    {"another", "y[m] = argmax(n) x[m,n]", {1, 3, 2, 3}, 2, false},
    {"outside", "y[m] = argmax(n) x[m,n]", {1, 3, 2, 3}, 4, false},
    {"negative", "y[m] = argmax(n) x[m,n]", {1, 3, 2, 3}, -1, false},
    {"undecided", "y[m] = argmax(n) exp(log(x[m,n]))", {1, 3, 2, 3}, 3, true},
    {"undecided, but not this one", "y[m] = argmax(n) exp(log(x[m,n]))", {1, 3, 2, 3}, 2, false},
    {"near enough", "y[m] = argmax(n) exp(log(x[m,n]))", {1, 3, 2, 3.0000002384185791}, 1, true},
    {"too far", "y[m] = argmax(n) exp(log(x[m,n]))", {1, 3, 2, 3.001}, 1, false},
    {"argmin", "y[m] = argmin(n) exp(log(x[m,n]))", {4, 3, 2, 2}, 3, true},
    {"a rounding that is decided", "y[m] = i64(exp(log(x[m,3])))", {1, 1, 1, 2.5}, 2, true},
    {"a rounding that is not", "y[m] = i64(exp(log(x[m,3])))", {1, 1, 1, 3}, 2, true},
    {"and not that far", "y[m] = i64(exp(log(x[m,3])))", {1, 1, 1, 3}, 1, false},
    {"a comparison that is decided", "y[m] = where(x[m,0] < x[m,1], 1, 0)", {1, 2, 0, 0}, 0, false},
    {"a comparison that is not",
     "y[m] = where(exp(log(x[m,0])) < x[m,1], 1, 0)",
     {3, 3, 0, 0},
     1,
     true},
    {"behind an undecided argmax",
     "p[m] = argmax(n) exp(log(x[m,n]))\ny[m] = 2 * p[m]",
     {3, 3, 0, 0},
     77,
     true},
};

static void choices_admit_what_is_in_reach(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(choice_cases); i++) {
        const struct choice_case *k = &choice_cases[i];
        struct interp_case c;
        case_open(&c, "M=1 N=4", "x input f32 M,N; y output i64 M", k->body, NULL, NULL);
        case_set(&c, "x", k->x);
        struct interp_options options = {.mode = INTERP_BOUND};
        struct interp_inputs inputs = {c.data};
        const struct values *values = case_run(&c, &options);
        if (interp_accepts(c.bound, &inputs, values, case_tensor(&c, "y"), 0, k->got) !=
            k->accepted)
            fail_msg("%s: %lld is %s", k->name, (long long)k->got,
                     k->accepted ? "refused" : "accepted");
        case_close(&c);
    }
}

/* ---- single bounds ---- */

struct bound_case {
    const char *name, *body, *policy;
    double a, b;
    double least, most; /* the bound, in units of 2^-24 */
};

static const double ulp = 0x1p-24;

static const struct bound_case bound_cases[] = {
    {"a copy is exact", "y[] = a[]", NULL, 1.1, 0, 0, 0},
    {"products of integers are exact", "y[] = a[] * b[]", NULL, 3, 5, 0, 0},
    {"powers of two are exact", "y[] = a[] * 0.5", NULL, 1.1, 0, 0, 0},
    {"relu is exact", "y[] = max(a[], 0)", NULL, -1.1, 0, 0, 0},
    {"one rounding", "y[] = a[] * b[]", NULL, 1.25, 1.1, 1.37, 1.38},
    {"an addition costs its operands' size", "y[] = a[] * b[] - 1.375", NULL, 1.25, 1.1, 6.87,
     6.88},
    {"less where they are exact", "y[] = a[] - 1.5", NULL, 1.1, 0, 2.59, 2.61},
    {"division by what may be 0 is open", "y[] = 1 / (a[] * b[] - 1.21)", NULL, 1.1, 1.1, INFINITY,
     INFINITY},
    {"fast division by more than 2^126 gives 0", "y[] = a[] / b[]", NULL, 1e36, 1e38,
     0.0099 * 0x1p24, 0.0101 * 0x1p24},
    {"by less it is close", "y[] = a[] / b[]", NULL, 1e35, 1e37, 0.05, 0.07},
    {"log near 0 is open", "y[] = log(a[] * b[] - 1.21)", NULL, 1.1, 1.1, INFINITY, INFINITY},
    {"sqrt of squares is not", "y[] = sqrt((a[] * b[] - 1.21) * (a[] * b[] - 1.21))", NULL, 1.1,
     1.1, 1, 12},
    {"overflow is open", "y[] = exp(a[])", NULL, 89, 0, INFINITY, INFINITY},
    {"behind 1 / (1 + exp) it is not", "y[] = 1 / (1 + exp(a[]))", NULL, 100, 0, 0, 1e-9},
    {"nor for computed arguments", "y[] = 1 / (1 + exp(a[] * b[]))", NULL, 1e4, 1.1, 0, 1e-9},
    {"exp(-inf) is 0", "y[] = exp(a[] - inf)", NULL, 1, 0, 0, 0},
    {"a bf16 cast between ties", "y[] = f32(bf16(a[] * b[]))", NULL, 1.25, 1.1, 0, 0},
    {"a bf16 cast at a tie", "y[] = f32(bf16(exp(log(a[]))))", NULL, 1.00390625, 0, 0x1p17, 0x1p17},
    {"undecided where", "y[] = where(exp(log(a[])) < 3, 10, 20)", NULL, 3, 0, 10 * 0x1p24,
     10 * 0x1p24},
    {"a NaN is one", "y[] = sqrt(a[])", NULL, -1, 0, 0, 0},
    {"or anything where inputs are finite", "y[] = sqrt(a[])", "'finite_inputs': true", -1, 0,
     INFINITY, INFINITY},
};

static void bounds_are_those_made_by_hand(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bound_cases); i++) {
        const struct bound_case *k = &bound_cases[i];
        struct interp_case c;
        bool two = strstr(k->body, "b[]") != NULL;
        case_open(&c, "N=1",
                  two ? "a input f32 -; b input f32 -; y output f32 -"
                      : "a input f32 -; y output f32 -",
                  k->body, k->policy ? k->policy : "'finite_inputs': false", NULL);
        case_set(&c, "a", &k->a);
        if (two)
            case_set(&c, "b", &k->b);
        double bound = case_output(&c, INTERP_BOUND, NULL, "y")->bounds[0] / ulp;
        if (!(bound >= k->least && bound <= k->most))
            fail_msg("%s: %g, not %g to %g", k->name, bound, k->least, k->most);
        case_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_are_those_made_by_hand),
        cmocka_unit_test(choices_admit_what_is_in_reach),
        cmocka_unit_test(indices_are_told_apart),
        cmocka_unit_test(rows_are_told_apart),
        cmocka_unit_test(products_are_told_apart),
        cmocka_unit_test(equal_factors_round_alike),
        cmocka_unit_test(sums_from_the_other_end),
        cmocka_unit_test(orders_that_leave_the_range_are_open),
        cmocka_unit_test(long_sums_keep_their_margin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
