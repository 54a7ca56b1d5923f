/*
 * The interpreter on the specs of kernels/ops and tests/cases/ops.
 *
 * First: its real values against closed forms, written here in long double and, where there is a
 * choice, in another form than the spec's (a sum of exponentials without the maximum, variance from
 * squares, convolutions that scatter).  Second, for every spec, class of data, verify shape and
 * track: as-typed runs in four orders of summation are honest candidates, so they stay inside the
 * bounds.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

#include "solver/ir/ir.h"
#include "tests/unit/unit.h"

#define OPS   "kernels/ops"
#define CASES "tests/cases/ops"

enum {
    FORM_BYTES_MAX = 1 << 30,
    SPEC_BYTES_MAX = 1 << 20,
    SPECS_MAX = 256,
    ELEMENTS_MAX = 20000 /* of a shape that is run in all classes and orders */
};

typedef long double real;

/* A spec, bound and filled. */
struct form {
    struct arena arena;
    const struct op *op;
    const struct bound_op *bound;
    const void **data;
    struct values *values; /* of a real run */
    real *want;            /* what the closed form says of the output in question */
};

static bool find_spec(void *context, struct arena *arena, struct str name, struct str *text)
{
    (void)context;
    char file[128];
    struct err err;
    snprintf(file, sizeof(file), OPS "/%.*s.json", STR_ARG(name));
    return file_exists(file) && file_read(arena, file, SPEC_BYTES_MAX, text, &err);
}

static void form_open(struct form *f, const char *path)
{
    struct err err = {0};
    struct str text;
    struct op_library library = {find_spec, NULL};
    arena_init(&f->arena, FORM_BYTES_MAX);
    assert_ok(file_read(&f->arena, path, SPEC_BYTES_MAX, &text, &err));
    assert_ok(op_parse(&f->arena, text, path, &library, &f->op, &err));
    f->data = arena_array(&f->arena, const void *, f->op->tensor_count);
}

static void form_bind(struct form *f, size_t shape)
{
    struct err err = {0};
    assert_ok(op_bind_shape(&f->arena, f->op, &f->op->verify[shape], &f->bound, &err));
}

static void form_fill(struct form *f, enum data_class class, uint64_t secret)
{
    struct err err = {0};
    for (size_t t = 0; t < f->op->declared_count; t++) {
        size_t count = (size_t)f->bound->tensors[t].count;
        if (f->op->tensors[t].role == ROLE_OUTPUT)
            continue;
        void *room = arena_alloc(&f->arena, count + 1, 8, 16);
        assert_ok(fill_tensor(f->bound, t, class, secret, 0, room, &err));
        f->data[t] = room;
    }
}

static struct values *form_run(struct form *f, const struct interp_options *options)
{
    struct err err = {0};
    struct interp_inputs inputs = {f->data};
    struct values *out = arena_array(&f->arena, struct values, f->op->tensor_count);
    assert_ok(interp_run(&f->arena, f->bound, &inputs, options, out, &err));
    return out;
}

static size_t tensor_of(const struct form *f, const char *name)
{
    size_t tensor = op_tensor_find(f->op, str_from(name));
    assert_true(tensor != OP_NONE);
    return tensor;
}

static real in(const struct form *f, const char *name, int64_t i)
{
    size_t t = tensor_of(f, name);
    assert_true(i >= 0 && i < f->bound->tensors[t].count);
    return (real)elem_to_double(f->op->tensors[t].dtype, f->data[t], (size_t)i);
}

static int64_t dim(const struct form *f, const char *name)
{
    size_t d = op_dim_find(f->op, str_from(name));
    assert_true(d != OP_NONE);
    return f->bound->dims[d];
}

/* ---- maps ---- */

static real sigmoid(real x)
{
    return x > 0 ? 1 / (1 + expl(-x)) : expl(x) / (1 + expl(x));
}

static real gelu(real x)
{
    return x * erfcl(-x / sqrtl(2)) / 2;
}

static void want_relu(struct form *f)
{
    for (int64_t i = 0; i < dim(f, "N"); i++)
        f->want[i] = in(f, "x", i) > 0 ? in(f, "x", i) : 0;
}

static void want_gelu_erf(struct form *f)
{
    for (int64_t i = 0; i < dim(f, "N"); i++)
        f->want[i] = gelu(in(f, "x", i));
}

/* (1 + tanh u) / 2 is the sigmoid of 2 u. */
static void want_gelu_tanh(struct form *f)
{
    for (int64_t i = 0; i < dim(f, "N"); i++) {
        real x = in(f, "x", i);
        f->want[i] = x * sigmoid(2 * sqrtl(2 / acosl(-1)) * (x + 0.044715L * x * x * x));
    }
}

static void want_silu(struct form *f)
{
    for (int64_t i = 0; i < dim(f, "N"); i++)
        f->want[i] = in(f, "x", i) * sigmoid(in(f, "x", i));
}

static void want_swiglu(struct form *f)
{
    for (int64_t i = 0; i < dim(f, "M") * dim(f, "N"); i++)
        f->want[i] = in(f, "gate", i) * sigmoid(in(f, "gate", i)) * in(f, "up", i);
}

static void want_transpose(struct form *f)
{
    int64_t m = dim(f, "M"), n = dim(f, "N");
    for (int64_t i = 0; i < m * n; i++)
        f->want[(i % n) * m + i / n] = in(f, "x", i);
}

static void want_concat(struct form *f)
{
    int64_t n = dim(f, "N"), a = dim(f, "A") * n, b = dim(f, "B") * n;
    for (int64_t i = 0; i < a + b; i++)
        f->want[i] = i < a ? in(f, "a", i) : in(f, "b", i - a);
}

/* Pairs (d, d + E) turn like complex numbers. */
static void want_rope(struct form *f)
{
    int64_t rows = dim(f, "B") * dim(f, "T") * dim(f, "H"), e = dim(f, "E");
    for (int64_t r = 0; r < rows; r++)
        for (int64_t d = 0; d < e; d++) {
            int64_t at = r * 2 * e + d, turn = r / dim(f, "H") % dim(f, "T") * e + d;
            real x = in(f, "x", at), y = in(f, "x", at + e);
            f->want[at] = x * in(f, "c", turn) - y * in(f, "s", turn);
            f->want[at + e] = y * in(f, "c", turn) + x * in(f, "s", turn);
        }
}

/* ---- rows ---- */

struct row_facts {
    real sum, squares, exps, most;
    int64_t argmax;
};

static struct row_facts facts(const struct form *f, const char *name, int64_t row, int64_t n)
{
    struct row_facts r = {.most = -INFINITY};
    for (int64_t i = 0; i < n; i++) {
        real x = in(f, name, row * n + i);
        r.sum += x;
        r.squares += x * x;
        r.exps += expl(x);
        if (x > r.most) {
            r.most = x;
            r.argmax = i;
        }
    }
    return r;
}

enum row_form { ROW_SOFTMAX, ROW_LOG_SOFTMAX, ROW_RMSNORM, ROW_LAYERNORM, ROW_L2NORM };

static void want_rows(struct form *f, enum row_form form)
{
    int64_t n = dim(f, "N");
    for (int64_t i = 0; i < dim(f, "M") * n; i++) {
        struct row_facts r = facts(f, "x", i / n, n);
        real x = in(f, "x", i), mean = r.sum / n, var = r.squares / n - mean * mean;
        if (form == ROW_SOFTMAX)
            f->want[i] = expl(x) / r.exps;
        else if (form == ROW_LOG_SOFTMAX)
            f->want[i] = x - logl(r.exps);
        else if (form == ROW_RMSNORM)
            f->want[i] = x / sqrtl(r.squares / n + 1e-6L) * in(f, "gamma", i % n);
        else if (form == ROW_L2NORM)
            f->want[i] = x / sqrtl(r.squares);
        else
            f->want[i] =
                (x - mean) / sqrtl(var + 1e-5L) * in(f, "gamma", i % n) + in(f, "beta", i % n);
    }
}

static void want_softmax(struct form *f)
{
    want_rows(f, ROW_SOFTMAX);
}

static void want_log_softmax(struct form *f)
{
    want_rows(f, ROW_LOG_SOFTMAX);
}

static void want_rmsnorm(struct form *f)
{
    want_rows(f, ROW_RMSNORM);
}

static void want_layernorm(struct form *f)
{
    want_rows(f, ROW_LAYERNORM);
}

static void want_l2norm(struct form *f)
{
    want_rows(f, ROW_L2NORM);
}

static void want_logsumexp(struct form *f)
{
    for (int64_t m = 0; m < dim(f, "M"); m++)
        f->want[m] = logl(facts(f, "x", m, dim(f, "N")).exps);
}

static void want_rowsum(struct form *f)
{
    for (int64_t m = 0; m < dim(f, "M"); m++)
        f->want[m] = facts(f, "x", m, dim(f, "N")).sum;
}

static void want_argmax(struct form *f)
{
    for (int64_t m = 0; m < dim(f, "M"); m++)
        f->want[m] = (real)facts(f, "x", m, dim(f, "N")).argmax;
}

static void want_var(struct form *f)
{
    real n = dim(f, "N");
    for (int64_t m = 0; m < dim(f, "M"); m++) {
        struct row_facts r = facts(f, "x", m, dim(f, "N"));
        f->want[m] = r.squares / n - r.sum / n * (r.sum / n);
    }
}

static void want_cross_entropy(struct form *f)
{
    int64_t n = dim(f, "N"), c = dim(f, "C");
    for (int64_t i = 0; i < n; i++)
        f->want[0] +=
            (logl(facts(f, "x", i, c).exps) - in(f, "x", i * c + (int64_t)in(f, "t", i))) / n;
}

static void want_cumsum(struct form *f)
{
    int64_t n = dim(f, "N");
    for (int64_t i = 0; i < dim(f, "M") * n; i++)
        f->want[i] = in(f, "x", i) + (i % n ? f->want[i - 1] : 0);
}

static void want_cumprod_reverse(struct form *f)
{
    int64_t n = dim(f, "N");
    for (int64_t i = dim(f, "M") * n; i-- > 0;)
        f->want[i] = i % n == n - 1 ? 1 : in(f, "x", i + 1) * f->want[i + 1];
}

/* ---- indices ---- */

static void want_embedding(struct form *f)
{
    int64_t e = dim(f, "E");
    for (int64_t i = 0; i < dim(f, "N") * e; i++)
        f->want[i] = in(f, "table", (int64_t)in(f, "idx", i / e) * e + i % e);
}

static void want_scatter_add(struct form *f)
{
    int64_t e = dim(f, "E");
    for (int64_t i = 0; i < dim(f, "N") * e; i++)
        f->want[(int64_t)in(f, "idx", i / e) * e + i % e] += in(f, "x", i);
}

/* ---- products ---- */

static void want_matmul(struct form *f)
{
    int64_t n = dim(f, "N"), k = dim(f, "K");
    for (int64_t i = 0; i < dim(f, "M") * n; i++)
        for (int64_t j = k; j-- > 0;)
            f->want[i] += in(f, "A", i / n * k + j) * in(f, "B", j * n + i % n);
}

static void want_batched_matmul(struct form *f)
{
    int64_t m = dim(f, "M"), n = dim(f, "N"), k = dim(f, "K");
    for (int64_t i = 0; i < dim(f, "S") * m * n; i++)
        for (int64_t j = 0; j < k; j++)
            f->want[i] += in(f, "A", i / n * k + j) * in(f, "B", (i / (m * n) * k + j) * n + i % n);
}

static void want_gemv(struct form *f)
{
    int64_t k = dim(f, "K");
    for (int64_t i = 0; i < dim(f, "M") * k; i++)
        f->want[i / k] += in(f, "A", i) * in(f, "x", i % k);
}

/* Within the rounding of the last cast: the closed form is not rounded. */
static void want_matmul_gelu(struct form *f)
{
    int64_t n = dim(f, "N");
    want_matmul(f);
    for (int64_t i = 0; i < dim(f, "M") * n; i++)
        f->want[i] = (real)dtype_round(DTYPE_BF16, (double)gelu(f->want[i] + in(f, "bias", i % n)));
}

static void want_attention(struct form *f)
{
    int64_t t = dim(f, "T"), d = dim(f, "D");
    for (int64_t row = 0; row < dim(f, "B") * dim(f, "H") * t; row++) {
        int64_t head = row / t * t;
        real sum = 0;
        for (int64_t j = head; j <= row; j++) {
            real score = 0;
            for (int64_t i = 0; i < d; i++)
                score += in(f, "q", row * d + i) * in(f, "k", j * d + i) / sqrtl((real)d);
            sum += expl(score);
            for (int64_t i = 0; i < d; i++)
                f->want[row * d + i] += expl(score) * in(f, "v", j * d + i);
        }
        for (int64_t i = 0; i < d; i++)
            f->want[row * d + i] /= sum;
    }
}

/* ---- images ---- */

struct image {
    int64_t b, c, h, w;
};

static struct image image_of(const struct form *f)
{
    return (struct image){dim(f, "B"), dim(f, "C"), dim(f, "H"), dim(f, "W")};
}

/* Each input element to the outputs that see it. */
static void want_conv2d(struct form *f)
{
    struct image x = image_of(f);
    int64_t K = dim(f, "K"), P = dim(f, "P"), Q = dim(f, "Q"), R = dim(f, "R"), S = dim(f, "S");
    for (int64_t i = 0; i < x.b * x.c * x.h * x.w; i++)
        for (int64_t j = 0; j < K * R * S; j++) {
            int64_t h = i / x.w % x.h, w = i % x.w, c = i / (x.h * x.w) % x.c;
            int64_t k = j / (R * S), r = j / S % R, s = j % S;
            int64_t p = h - r + R / 2, q = w - s + S / 2;
            if (p < 0 || q < 0 || p % 2 || q % 2 || p / 2 >= P || q / 2 >= Q)
                continue;
            int64_t image = i / (x.c * x.h * x.w);
            f->want[((image * K + k) * P + p / 2) * Q + q / 2] +=
                in(f, "x", i) * in(f, "w", ((k * x.c + c) * R + r) * S + s);
        }
}

static void want_transposed_conv(struct form *f)
{
    struct image x = image_of(f);
    int64_t K = dim(f, "K"), P = dim(f, "P"), Q = dim(f, "Q");
    for (int64_t i = 0; i < x.b * x.c * x.h * x.w; i++)
        for (int64_t j = 0; j < K * 9; j++) {
            int64_t h = i / x.w % x.h, w = i % x.w, c = i / (x.h * x.w) % x.c;
            int64_t p = 2 * h - 1 + j / 3 % 3, q = 2 * w - 1 + j % 3;
            if (p < 0 || q < 0 || p >= P || q >= Q)
                continue;
            int64_t image = i / (x.c * x.h * x.w);
            f->want[((image * K + j / 9) * P + p) * Q + q] +=
                in(f, "x", i) * in(f, "w", c * K * 9 + j);
        }
}

static void want_depthwise(struct form *f)
{
    struct image x = image_of(f);
    for (int64_t i = 0; i < x.b * x.c * x.h * x.w; i++)
        for (int64_t j = 0; j < 9; j++) {
            int64_t h = i / x.w % x.h - j / 3 + 1, w = i % x.w - j % 3 + 1;
            int64_t plane = i / (x.h * x.w);
            if (h >= 0 && w >= 0 && h < x.h && w < x.w)
                f->want[(plane * x.h + h) * x.w + w] +=
                    in(f, "x", i) * in(f, "k", plane % x.c * 9 + j);
        }
}

static void want_pool(struct form *f, bool max)
{
    struct image x = image_of(f);
    int64_t P = dim(f, "P"), Q = dim(f, "Q");
    for (int64_t i = 0; i < x.b * x.c * P * Q; i++) {
        real sum = 0, most = -INFINITY;
        for (int64_t h = i / Q % P * 2 - 1; h < i / Q % P * 2 + 2; h++)
            for (int64_t w = i % Q * 2 - 1; w < i % Q * 2 + 2; w++)
                if (h >= 0 && w >= 0 && h < x.h && w < x.w) {
                    real v = in(f, "x", (i / (P * Q) * x.h + h) * x.w + w);
                    sum += v / 9;
                    most = v > most ? v : most;
                }
        f->want[i] = max ? most : sum;
    }
}

static void want_maxpool(struct form *f)
{
    want_pool(f, true);
}

static void want_avgpool(struct form *f)
{
    want_pool(f, false);
}

static void want_groupnorm(struct form *f)
{
    struct image x = image_of(f);
    int64_t n = dim(f, "D") * x.h * x.w;
    for (int64_t i = 0; i < x.b * x.c * x.h * x.w; i++) {
        struct row_facts r = facts(f, "x", i / n, n);
        int64_t c = i / (x.h * x.w) % x.c;
        real mean = r.sum / n, var = r.squares / n - mean * mean;
        f->want[i] =
            (in(f, "x", i) - mean) / sqrtl(var + 1e-5L) * in(f, "gamma", c) + in(f, "beta", c);
    }
}

static void want_batchnorm(struct form *f)
{
    struct image x = image_of(f);
    for (int64_t i = 0; i < x.b * x.c * x.h * x.w; i++) {
        int64_t c = i / (x.h * x.w) % x.c;
        real scale = in(f, "gamma", c) / sqrtl(in(f, "var", c) + 1e-5L);
        f->want[i] = in(f, "x", i) * scale + (in(f, "beta", c) - in(f, "mean", c) * scale);
    }
}

/* ---- sequences ---- */

static real lstm_gate(const struct form *f, const real *before, int64_t t, int64_t b, int64_t g)
{
    int64_t I = dim(f, "I"), H = dim(f, "H"), B = dim(f, "B");
    real a = in(f, "bias", g);
    for (int64_t i = 0; i < I; i++)
        a += in(f, "x", (t * B + b) * I + i) * in(f, "w", g * I + i);
    for (int64_t j = 0; j < H; j++)
        a += (t ? before[b * H + j] : in(f, "h0", b * H + j)) * in(f, "u", g * H + j);
    return a;
}

static void want_lstm(struct form *f)
{
    int64_t H = dim(f, "H"), B = dim(f, "B");
    real *cell = arena_array(&f->arena, real, (size_t)(B * H));
    for (int64_t i = 0; i < B * H; i++)
        cell[i] = in(f, "c0", i);
    for (int64_t t = 0; t < dim(f, "T"); t++)
        for (int64_t i = 0; i < B * H; i++) {
            const real *before = f->want + (t - 1) * B * H;
            int64_t b = i / H, k = i % H;
            real keep = sigmoid(lstm_gate(f, before, t, b, H + k));
            real add = sigmoid(lstm_gate(f, before, t, b, k));
            cell[i] = keep * cell[i] + add * tanhl(lstm_gate(f, before, t, b, 2 * H + k));
            f->want[t * B * H + i] =
                sigmoid(lstm_gate(f, before, t, b, 3 * H + k)) * tanhl(cell[i]);
        }
}

struct closed_form {
    const char *spec, *output;
    void (*want)(struct form *f);
};

static const struct closed_form closed_forms[] = {
    {"relu", "y", want_relu},
    {"gelu_erf", "y", want_gelu_erf},
    {"gelu_tanh", "y", want_gelu_tanh},
    {"silu", "y", want_silu},
    {"swiglu", "y", want_swiglu},
    {"transpose", "y", want_transpose},
    {"concat", "y", want_concat},
    {"rope", "y", want_rope},
    {"softmax", "y", want_softmax},
    {"log_softmax", "y", want_log_softmax},
    {"logsumexp", "y", want_logsumexp},
    {"rmsnorm", "y", want_rmsnorm},
    {"layernorm", "y", want_layernorm},
    {"l2norm", "y", want_l2norm},
    {"rowsum", "y", want_rowsum},
    {"argmax", "y", want_argmax},
    {"mean_var", "var", want_var},
    {"cross_entropy", "y", want_cross_entropy},
    {"cumsum", "y", want_cumsum},
    {"cumprod_reverse", "y", want_cumprod_reverse},
    {"embedding", "y", want_embedding},
    {"scatter_add", "y", want_scatter_add},
    {"matmul", "C", want_matmul},
    {"batched_matmul", "C", want_batched_matmul},
    {"gemv", "y", want_gemv},
    {"matmul_bias_gelu_bf16", "C", want_matmul_gelu},
    {"causal_attention", "y", want_attention},
    {"conv2d", "y", want_conv2d},
    {"transposed_conv", "y", want_transposed_conv},
    {"depthwise_conv", "y", want_depthwise},
    {"maxpool", "y", want_maxpool},
    {"avgpool", "y", want_avgpool},
    {"groupnorm", "y", want_groupnorm},
    {"batchnorm", "y", want_batchnorm},
    {"lstm", "h", want_lstm},
};

/* The literals of the specs have 16 digits, double arithmetic 53 bits. */
static void compare(const struct closed_form *form, const struct form *f, const struct values *got)
{
    for (int64_t i = 0; i < got->count; i++) {
        real value = got->reals ? (real)got->reals[i] : (real)got->ints[i];
        if (!(fabsl(value - f->want[i]) <= 1e-12L * (1 + fabsl(f->want[i]))))
            fail_msg("%s: %s[%lld] is %.17Lg, not %.17Lg", form->spec, form->output, (long long)i,
                     value, f->want[i]);
    }
}

static void specs_mean_their_closed_forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(closed_forms); i++) {
        char path[128];
        struct form f;
        struct interp_options options = {.mode = INTERP_REAL};
        snprintf(path, sizeof(path), OPS "/%s.json", closed_forms[i].spec);
        form_open(&f, path);
        for (size_t s = 0; s < f.op->verify_count; s++) {
            form_bind(&f, s);
            form_fill(&f, DATA_SPEC, 40 + s);
            size_t output = tensor_of(&f, closed_forms[i].output);
            f.want = arena_array(&f.arena, real, (size_t)f.bound->tensors[output].count);
            closed_forms[i].want(&f);
            compare(&closed_forms[i], &f, &form_run(&f, &options)[output]);
        }
        arena_release(&f.arena);
    }
}

/* ---- honest runs stay inside the bounds ---- */

static const char *const order_names[] = {"in order", "backwards", "as a tree", "strided"};

static bool is_inside(const struct form *f, const struct values *want, const struct values *got,
                      size_t tensor, int64_t i)
{
    struct interp_inputs inputs = {f->data};
    const struct values *w = &want[tensor];
    if (w->open && w->open[i])
        return true;
    if (w->ints)
        return interp_accepts(f->bound, &inputs, want, tensor, i, got[tensor].ints[i]);
    double v = w->reals[i];
    double x = got[tensor].reals[i];
    return x == v || (isnan(x) && isnan(v)) || fabs(x - v) <= w->bounds[i];
}

static void check_inside(const struct form *f, const struct values *want, const struct values *got,
                         const char *what)
{
    for (size_t t = 0; t < f->op->declared_count; t++)
        for (int64_t i = 0; f->op->tensors[t].role == ROLE_OUTPUT && i < want[t].count; i++)
            if (!is_inside(f, want, got, t, i))
                fail_msg("%.*s, %s: %.*s[%lld] is %.9g, not %.9g +- %.9g", STR_ARG(f->op->name),
                         what, STR_ARG(f->op->tensors[t].name), (long long)i,
                         want[t].reals ? got[t].reals[i] : (double)got[t].ints[i],
                         want[t].reals ? want[t].reals[i] : (double)want[t].ints[i],
                         want[t].bounds[i]);
}

static void check_track(struct form *f, size_t track, const struct values *const *typed,
                        const char *what)
{
    struct interp_options bounds = {.mode = INTERP_BOUND, .track = &f->op->tracks[track]};
    const struct values *want = form_run(f, &bounds);
    for (size_t order = 0; order < COUNT_OF(order_names); order++) {
        char where[160];
        snprintf(where, sizeof(where), "%s, %s, track %.*s", what, order_names[order],
                 STR_ARG(f->op->tracks[track].name));
        check_inside(f, want, typed[order], where);
    }
}

static bool has_float_sum(const struct op *op)
{
    for (size_t s = 0; s < op->stmt_count; s++)
        if (op->stmts[s].reduce == REDUCE_SUM && dtype_is_float(op->stmts[s].value->dtype))
            return true;
    return false;
}

static void check_class(struct form *f, enum data_class class, size_t shape)
{
    const struct values *typed[COUNT_OF(order_names)];
    char what[96];
    form_fill(f, class, 7 + shape);
    bool ordered = has_float_sum(f->op);
    for (size_t order = 0; order < COUNT_OF(order_names); order++) {
        struct interp_options options = {.mode = INTERP_TYPED, .order = (enum interp_order)order};
        typed[order] = order == 0 || ordered ? form_run(f, &options) : typed[0];
    }
    snprintf(what, sizeof(what), "%s data, shape %zu", data_class_name(class), shape);
    for (size_t track = 0; track < f->op->track_count; track++)
        check_track(f, track, typed, what);
}

static void check_shape(const char *path, size_t shape)
{
    struct form f;
    int64_t elements = 0;
    form_open(&f, path);
    form_bind(&f, shape);
    for (size_t t = 0; t < f.op->declared_count; t++)
        elements += f.bound->tensors[t].count;
    for (int class = 0; elements <= ELEMENTS_MAX && class < DATA_CLASS_COUNT; class ++)
        check_class(&f, (enum data_class) class, shape);
    arena_release(&f.arena);
}

static void check_folder(const char *folder)
{
    struct arena arena;
    struct err err = {0};
    const char *const *names;
    size_t count;
    arena_init(&arena, FORM_BYTES_MAX);
    assert_ok(file_list(&arena, folder, ".json", SPECS_MAX, &names, &count, &err));
    assert_true(count > 10);
    for (size_t i = 0; i < count; i++) {
        struct form f;
        const char *path = path_join(&arena, folder, names[i]);
        form_open(&f, path);
        size_t shapes = f.op->verify_count;
        /* A plain sum is no honest candidate where the spec asks for a compensated one. */
        bool plain = f.op->policy.summation == SUMMATION_PLAIN;
        arena_release(&f.arena);
        for (size_t s = 0; plain && s < shapes; s++)
            check_shape(path, s);
    }
    arena_release(&arena);
}

static void typed_runs_stay_inside_the_bounds(void **state)
{
    (void)state;
    check_folder(OPS);
    check_folder(CASES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(specs_mean_their_closed_forms),
        cmocka_unit_test(typed_runs_stay_inside_the_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
