#ifndef TESTS_UNIT_SOLVER_IR_SCORES_ZOO_H
#define TESTS_UNIT_SOLVER_IR_SCORES_ZOO_H

#include <string.h>

#include "tests/unit/solver/ir/plans.h"

/* Specs of one product and row statistics of it, plain and disguised. */
enum { SCORES_TEXT_BYTES = 1 << 16 };

#define SCORES_PRODUCT "c[m,n] = sum(k) A[m,k] * B[n,k]"

/* A[M,K], B[N,K] (with `batch` and Z first), t[M] indices below N, g[N]; the outputs, apart by
 * spaces (f32, or "name:i64"); the body, statements apart by ';'. */
struct scores_case {
    const char *name, *body, *outputs;
    bool batch, square /* N is M */, online, moments, again;
    enum range_bound reach; /* that all reductions have and nothing goes beyond */
    size_t states;
    size_t turned; /* last statements that are maps of a map in another order of indices */
};

static const struct scores_case scores_zoo[] = {
    {"softmax",
     SCORES_PRODUCT ";mx[m] = max(n) c[m,n];e[m,n] = exp(c[m,n] - mx[m]);s[m] = sum(n) e[m,n];"
                    "y[m,n] = e[m,n] / s[m]",
     "y[M,N]", .online = true, .again = true, .states = 3},
    {"softmax: renamed, factors swapped, noise, exp2, a reciprocal, a copy",
     "q7[u,v] = sum(w) B[v,w] * A[u,w];a1[u,v] = q7[u,v] * 1.0;a2[u] = max(v) a1[u,v] + 0.0;"
     "a3[u,v] = q7[u,v] - a2[u];a4[u,v] = exp2(1.4426950408889634 * a3[u,v]);"
     "a5[u] = sum(v) a4[u,v];a6[u] = 1.0 / a5[u];y[u,v] = a6[u] * a4[u,v]",
     "y[M,N]", .online = true, .again = true, .states = 3},
    {"softmax: indices of results the other way round",
     "c[n,m] = sum(k) A[m,k] * B[n,k];mx[m] = max(n) c[n,m];e[m,n] = exp(-(mx[m] - c[n,m]));"
     "s[m] = sum(n) e[m,n];r[n,m] = e[m,n] / s[m];y[m,n] = r[n,m]",
     "y[M,N]", .online = true, .again = true, .states = 3, .turned = 2},
    {"scores of attention: scaled, masked, batched, statements permuted",
     "y[z,m,n] = e[z,m,n] / s[z,m];s[z,m] = sum(n) e[z,m,n];e[z,m,n] = exp(d[z,m,n] - mx[z,m]);"
     "mx[z,m] = max(n) d[z,m,n];d[z,m,n] = n <= m ? 0.125 * c[z,m,n] : -inf;"
     "c[z,m,n] = sum(k) A[z,m,k] * B[z,n,k]",
     "y[Z,M,N]", .batch = true, .online = true, .again = true, .states = 3},
    {"layer normalisation, as its definition is written",
     SCORES_PRODUCT
     ";s[m] = sum(n) c[m,n];d[m,n] = c[m,n] - s[m] / N;q[m] = sum(n) d[m,n] * d[m,n];"
     "y[m,n] = d[m,n] * rsqrt(q[m] / N + 1e-5) * g[n] + g[n]",
     "y[M,N]", .moments = true, .again = true, .states = 3},
    {"layer normalisation by the mean of squares",
     SCORES_PRODUCT ";s[m] = sum(n) c[m,n];q[m] = sum(n) c[m,n] * c[m,n];"
                    "y[m,n] = (c[m,n] - s[m] / N) * rsqrt(q[m] / N - s[m] / N * (s[m] / N) + 1e-5)",
     "y[M,N]", .again = true, .states = 2},
    {"root mean square",
     SCORES_PRODUCT ";q[m] = sum(n) c[m,n] * c[m,n];"
                    "y[m,n] = c[m,n] * rsqrt(q[m] / N) * g[n]",
     "y[M,N]", .again = true, .states = 1},
    {"log of the sum of exponentials",
     SCORES_PRODUCT ";mx[m] = max(n) c[m,n];s[m] = sum(n) exp(c[m,n] - mx[m]);"
                    "u[m] = mx[m] + log(s[m])",
     "u[M]", .online = true, .states = 3},
    {"cross entropy from hidden states",
     SCORES_PRODUCT ";mx[m] = max(n) c[m,n];s[m] = sum(n) exp(c[m,n] - mx[m]);"
                    "u[m] = mx[m] + log(s[m]) - c[m,t[m]]",
     "u[M]", .online = true, .states = 3},
    {"cross entropy, the label found by comparing",
     SCORES_PRODUCT ";mx[m] = max(n) c[m,n];s[m] = sum(n) exp((c[m,n] - mx[m]) / 1);"
                    "p[m] = sum(n) (n == t[m] ? c[m,n] : 0.0);u[m] = mx[m] + log(s[m]) - p[m]",
     "u[M]", .online = true, .states = 4},
    {"weights masked by zeros, their exponent and its maximum written differently",
     SCORES_PRODUCT ";mx[m] = max(n) c[m,n] * 0.5;"
                    "e[m,n] = n <= m ? exp(0.5 * c[m,n] - mx[m]) : 0.0;s[m] = sum(n) e[m,n];"
                    "u[m] = mx[m] + log(s[m])",
     "u[M]", .online = true, .states = 3},
    {"a factor of the row, both sides equally long",
     "c[n,m] = sum(k) B[n,k] * A[m,k];r[m:M] = f32(m) * 0.5;a[m] = max(n) c[n,m];"
     "y[m,n] = c[n,m] * r[m] - a[m]",
     "y[M,M]", .square = true, .again = true, .states = 1},
    {"a triangular softmax, by where its reductions end",
     "c[m,n] = sum(k) A[m,k] * B[n,k];mx[m] = max(n <= m) c[m,n];"
     "e[m,n] = exp(c[m,n] - mx[m]);s[m] = sum(n <= m) e[m,n];"
     "y[m,n] = n <= m ? e[m,n] / s[m] : 0.0",
     "y[M,M]", .square = true, .online = true, .again = true, .states = 3},
    {"a triangular sum of exponentials",
     "c[m,n] = sum(k) A[m,k] * B[n,k];mx[m] = max(n <= m) c[m,n];"
     "s[m] = sum(n <= m) exp(c[m,n] - mx[m]);u[m] = mx[m] + log(s[m])",
     "u[M]", .square = true, .online = true, .reach = RANGE_LE, .states = 3},
    {"a triangular sum from the other end, and an element that may be beyond it",
     SCORES_PRODUCT ";s[m] = sum(n:N > m) c[m,n];u[m] = s[m] - c[m,t[m]]", "u[M]", .states = 1},
    {"entropy of a softmax",
     SCORES_PRODUCT ";mx[m] = max(n) c[m,n];e[m,n] = exp(c[m,n] - mx[m]);s[m] = sum(n) e[m,n];"
                    "l[m,n] = c[m,n] - mx[m] - log(s[m]);p[m,n] = e[m,n] / s[m];"
                    "u[m] = sum(n) p[m,n] * l[m,n]",
     "u[M]", .online = true, .states = 4},
    {"where the largest is", SCORES_PRODUCT ";u[m] = argmax(n) c[m,n]", "u:i64[M]", .states = 2},
    {"largest and smallest of a biased product, the index on the first factor's side",
     "c[n,m] = sum(k) B[n,k] * A[m,k];d[m,n] = c[n,m] + g[n];a[m] = max(n) d[m,n];"
     "b[m] = min(n) d[m,n];u[m] = a[m] - b[m]",
     "u[M]", .states = 2},
    {"a variance weighted by a given vector",
     SCORES_PRODUCT ";s[m] = sum(n) g[n] * c[m,n];u[m] = sum(n) g[n] * (c[m,n] - s[m]) * (c[m,n] - "
                    "s[m])",
     "u[M]", .moments = true, .states = 3},
};

static inline void scores_tensor(struct buf *text, const char *name, const char *role,
                                 const char *dtype, const char *shape, const char *fill)
{
    buf_printf(text, "{\"name\":\"%s\",\"role\":\"%s\",\"dtype\":\"%s\",\"shape\":[", name, role,
               dtype);
    for (const char *at = shape; *at != '\0' && *at != ']'; at++)
        buf_printf(text, *at == ',' ? "%c" : "\"%c\"", *at);
    buf_printf(text, "]%s}", fill);
}

/* "u:i64[M] y[M,N]" */
static inline void scores_outputs(struct buf *text, const char *outputs)
{
    for (const char *at = outputs; *at != '\0'; at = *at == ' ' ? at + 1 : at) {
        const char *shape = strchr(at, '['), *typed = memchr(at, ':', (size_t)(shape - at));
        char name[16] = {0};
        memcpy(name, at, (size_t)((typed == NULL ? shape : typed) - at));
        buf_text(text, ",");
        scores_tensor(text, name, "output", typed == NULL ? "f32" : "i64", shape + 1, "");
        at = strchr(shape, ']') + 1;
    }
}

static inline const struct op *scores_op(struct arena *arena, const struct scores_case *c)
{
    struct err err = {0};
    const struct op *op;
    struct buf text;
    buf_init(&text, arena, SCORES_TEXT_BYTES);
    buf_text(&text,
             "{\"spec\":1,\"name\":\"t\",\"doc\":\"t\",\"dims\":{\"Z\":[1,64],\"M\":[1,65536],"
             "\"N\":[1,65536],\"K\":[1,8192]},\"tensors\":[");
    scores_tensor(&text, "A", "input", "f32", c->batch ? "Z,M,K" : "M,K", "");
    buf_char(&text, ',');
    scores_tensor(&text, "B", "input", "f32", c->batch ? "Z,N,K" : c->square ? "M,K" : "N,K", "");
    if (strstr(c->body, "t[m]") != NULL && strstr(c->body, "t[m] =") == NULL) {
        buf_char(&text, ',');
        scores_tensor(&text, "t", "input", "i64", "M",
                      ",\"fill\":{\"kind\":\"ints\",\"low\":0,\"high\":\"N - 1\"}");
    }
    if (strstr(c->body, "g[n]") != NULL) {
        buf_char(&text, ',');
        scores_tensor(&text, "g", "input", "f32", "N", "");
    }
    scores_outputs(&text, c->outputs);
    buf_text(&text, "],\"body\":[\"");
    for (const char *at = c->body; *at != '\0'; at++)
        buf_text(&text, *at == ';' ? "\",\"" : (char[2]){*at, '\0'});
    buf_text(&text, "\"],\"policy\":{\"finite_inputs\":true},\"tracks\":{\"f32\":{},\"tf32\":{},"
                    "\"bf16\":{}},\"shapes\":{\"target\":[{\"Z\":4,\"M\":8192,\"N\":512,\"K\":64}],"
                    "\"verify\":[{\"Z\":1,\"M\":2,\"N\":3,\"K\":4}]}}");
    assert_ok(op_parse(arena, buf_view(&text), "spec", NULL, &op, &err));
    return op;
}

static inline const struct bound_op *scores_bound(struct arena *arena, const struct scores_case *c)
{
    struct err err = {0};
    const struct bound_op *bound;
    const struct op *op = scores_op(arena, c);
    assert_ok(op_bind_shape(arena, op, &op->targets[0], &bound, &err));
    return bound;
}

#endif
