/*
 * What is refused is refused for a reason: each rewrite that solver/legal does not do is done here
 * by hand, and some data take it out of the bound.  Where none do, the refusal is conservative, and
 * counted.
 */
#include "tests/unit/solver/legal/rewrites.h"

enum { ARENA_BYTES = 1 << 30 };

struct refused {
    const char *what;
    bool conservative; /* no data are a witness */
    const char *policy, *body, *illegal;
    const char *rewrite, *reason; /* that is refused, and why; NULL = no rule would do it */
};

static const struct refused cases[] = {
    {"softmax's sum without the maximum", false, "'finite_inputs': true",
     "m[r] = max(j) x[r,j]\ns[r] = sum(j) exp(x[r,j] - m[r])\ny[r] = exp(x[r,0] - m[r]) / s[r]",
     "s[r] = sum(j) exp(x[r,j])\ny[r] = exp(x[r,0]) / s[r]", NULL, NULL},
    {"variance from raw moments", false, "",
     "s[r] = sum(j) x[r,j]\nc[r] = s[r] / N\nq[r] = sum(j) (x[r,j] - c[r]) * (x[r,j] - c[r])\n"
     "y[r] = q[r] / N",
     "s[r] = sum(j) x[r,j]\nq[r] = sum(j) x[r,j] * x[r,j]\n"
     "y[r] = q[r] / N - s[r] / N * (s[r] / N)",
     NULL, NULL},
    {"a scan from its open end", false, "", "t[r,j:N] = sum(l <= j) x[r,l]\ny[r] = t[r,0]",
     "t[r,j:N] = sum(l >= j) x[r,l]\ny[r] = t[r,0]", NULL, NULL},
    {"parts of a scan's index", false, "", "t[r,j:N] = sum(l <= j) x[r,l]\ny[r] = t[r,0]",
     "p[r:M,c:ceildiv(N, 8)] = sum(l:8) pad(x[r,c * 8 + l])\n"
     "t[r,j:N] = sum(c:ceildiv(N, 8)) p[r,c]\ny[r] = t[r,0]",
     "split:t:l:8", "its own terms"},
    {"terms rounded to bf16", false, "", "y[r] = sum(j) x[r,j]", "y[r] = sum(j) f32(bf16(x[r,j]))",
     NULL, NULL},
    {"exp to eleven bits", false, "", "y[r] = exp(x[r,0])", "y[r] = f32(f16(exp(x[r,0])))", NULL,
     NULL},
    {"a quotient to eight bits", false, "", "y[r] = x[r,0] / (1 + abs(v[0,0]))",
     "y[r] = f32(bf16(x[r,0] / (1 + abs(v[0,0]))))", NULL, NULL},
    {"parts of a maximum added", false, "", "y[r] = max(j) x[r,j]",
     "p[r:M,c:ceildiv(N, 8)] = max(j:8) pad(x[r,c * 8 + j], -inf)\ny[r] = sum(c) p[r,c]", NULL,
     NULL},
    {"parts that are empty rescaled", false, "",
     "m[r] = max(j) (j <= r ? x[r,j] : -inf)\n"
     "y[r] = sum(j) exp((j <= r ? x[r,j] : -inf) - m[r])",
     "p[r:M,c:ceildiv(N, 8)] = max(j:8) (c * 8 + j <= r ? pad(x[r,c * 8 + j]) : -inf)\n"
     "q[r,c] = sum(j:8) exp((c * 8 + j <= r ? pad(x[r,c * 8 + j]) : -inf) - p[r,c])\n"
     "m[r] = max(c) p[r,c]\ny[r] = sum(c) q[r,c] * exp(p[r,c] - m[r])",
     NULL, NULL},
    {"parts rescaled with the wrong sign", false, "",
     "m[r] = max(j) x[r,j]\ny[r] = sum(j) exp(x[r,j] - m[r])",
     "p[r:M,c:ceildiv(N, 8)] = max(j:8) pad(x[r,c * 8 + j], -inf)\n"
     "q[r,c] = sum(j:8) exp(pad(x[r,c * 8 + j], -inf) - p[r,c])\n"
     "m[r] = max(c) p[r,c]\ny[r] = sum(c) q[r,c] * exp(m[r] - p[r,c])",
     NULL, NULL},
    {"a sum against another row's maximum rescaled", false, "'finite_inputs': true",
     "m[r] = max(j) x[r,j]\ny[r] = sum(j) exp(x[r,j] - m[0])\no[r,d] = m[r]",
     "p[r:M,c:ceildiv(N, 8)] = max(j:8) pad(x[r,c * 8 + j], -inf)\n"
     "q[r,c] = sum(j:8) exp(pad(x[r,c * 8 + j], -inf) - p[r,c])\n"
     "m[r] = max(c) p[r,c]\ny[r] = sum(c) q[r,c] * exp(p[r,c] - m[r])\no[r,d] = m[r]",
     "rescale:m:j:8", "no sum has a factor"},
    {"quotients of integers put together", false, "", "i[r] = sum(j) k[r,j] / 3",
     "t[r] = sum(j) k[r,j]\ni[r] = t[r] / 3", "hoist:i", "integers do not add up"},
    {"a factor taken out of a maximum", false, "", "y[r] = max(j) x[r,j] * v[0,0]",
     "m[r] = max(j) x[r,j]\ny[r] = m[r] * v[0,0]", "hoist:y", "no plain sum"},
    {"a factor that may be infinite taken out", false, "",
     "y[r] = sum(j) x[r,j] * (v[0,0] > 0 ? inf : 2.0)",
     "s[r] = sum(j) x[r,j]\ny[r] = s[r] * (v[0,0] > 0 ? inf : 2.0)", "hoist:y",
     "an infinite factor"},
    {"what is padded computed from the pad", false, "",
     "t[r,j] = x[r,j] + 1\ny[r] = pad(t[r,r - 1])", "y[r] = pad(x[r,r - 1]) + 1", "inline:t",
     "pads what"},
    {"squares about a centre of their own", false, "",
     "s[r] = sum(j) x[r,j]\ny[r] = sum(j) (x[r,j] - s[r] / N) * (x[r,j] - s[r] / N)",
     "t[r:M,c:ceildiv(N, 8)] = sum(j:8) pad(x[r,c * 8 + j])\n"
     "q[r,c] = sum(j:8) where(c * 8 + j < N, (pad(x[r,c * 8 + j]) - t[r,c] / min(8, N - c * 8)) * "
     "(pad(x[r,c * 8 + j]) - t[r,c] / min(8, N - c * 8)), 0.0)\ny[r] = sum(c) q[r,c]",
     NULL, NULL},
    {"squares about several centres", false, "",
     "y[r] = sum(j) (x[r,j] - v[j,0]) * (x[r,j] - v[j,0])",
     "s[r:M] = sum(j) v[j,0]\ny[r] = sum(j) (x[r,j] - s[r] / N) * (x[r,j] - s[r] / N)",
     "centre:y:j:8", "not about one centre"},
    {"of equal values the last position", false, "", "t[r] = argmax(j) x[r,j]\ni[r] = i32(t[r])",
     "t[r] = argmax(j:N) x[r,N - 1 - j]\ni[r] = i32(N - 1 - t[r])", NULL, NULL},
    {"positions counted in another order", false, "'finite_inputs': true",
     "t[r] = argmax(j,d) x[r,j] * v[j,d]\ni[r] = i32(t[r])",
     "t[r] = argmax(d,j) x[r,j] * v[j,d]\ni[r] = i32(t[r])", "interchange:t:j", "positions count"},
    {"parts of an inner index of positions", false, "",
     "t[r] = argmax(j:N,d:D) (d == 1 ? k[r,j] : k[r,N - 1 - j])\ni[r] = i32(t[r])",
     "p[r:M,c:D] = max(j:N) (c == 1 ? k[r,j] : k[r,N - 1 - j])\n"
     "q[r:M,c:D] = argmax(j:N) (c == 1 ? k[r,j] : k[r,N - 1 - j])\n"
     "b[r] = argmax(c) p[r,c]\nt[r] = pad(q[r,b[r]]) * D + b[r]\ni[r] = i32(t[r])",
     "split:t:d:1", "of equal values the first wins"},
    {"a maximum of sums as one maximum", false, "",
     "t[r,d:D] = sum(j) x[r,j] * v[j,d]\ny[r] = max(d) t[r,d]",
     "y[r] = max(d:D,j:N) x[r,j] * v[j,d]", "merge:y", "its terms are sum results"},
    {"a pad once a term instead of once a sum", false, "'finite_inputs': true",
     "t[j] = sum(d) v[j,d]\ny[r] = sum(l:4) pad(t[l + N - 2], 1.0)",
     "y[r] = sum(l:4,d:D) pad(v[l + N - 2,d], 1.0)", "merge:y", "what it pads was never reduced"},
    {"a chain of products with infinities", false, "",
     "t[r,d:D] = sum(j) abs(x[r,j]) * abs(v[j,d])\n"
     "y[r] = sum(d) t[r,d] * (v[0,d] != 0 ? inf : 2.0)",
     "p[j:N] = sum(d:D) abs(v[j,d]) * (v[0,d] != 0 ? inf : 2.0)\n"
     "y[r] = sum(j) abs(x[r,j]) * p[j]",
     "associate:y:0", "NaN and infinities may arrive"},
    {"a chain through a maximum", false, "'finite_inputs': true",
     "t[r,d:D] = max(j) x[r,j] * v[j,d]\ny[r] = sum(d) t[r,d] * v[0,d]",
     "p[j:N] = sum(d:D) v[j,d] * v[0,d]\ny[r] = max(j) x[r,j] * p[j]", "associate:y:0",
     "is no sum"},
    {"a pad of an index that is flattened", false, "",
     "t[r:M,j:N] = x[r,j] + 1\ny[r] = pad(t[r,N - 1 + r])",
     "t[f:M * N] = x[f / N,f % N] + 1\ny[r] = pad(t[r * N + (N - 1 + r)])", "flatten:t:r",
     "would be inside the other"},
    /* 2^-130, whose reciprocal is infinite */
    {"a reciprocal that may overflow", false, "'finite_inputs': true",
     "o[r,d] = v[0,d] * 1e-5 / (x[r,0] > 0 ? 7.346839692639297e-40 : 1.0)",
     "q[r] = 1.0 / (x[r,0] > 0 ? 7.346839692639297e-40 : 1.0)\no[r,d] = v[0,d] * 1e-5 * q[r]",
     "reciprocal:o", "nothing says"},
    /* 2^24 / 275.5, whose reciprocal has nine bits */
    {"a reciprocal of f16", false, "'finite_inputs': true",
     "c[r] = x[r,0] > 0 ? f16(60896.0) : f16(1.0)\no[r,d] = f32(f16(v[0,d]) * 1024 / c[r])",
     "c[r] = x[r,0] > 0 ? f16(60896.0) : f16(1.0)\nq[r] = f16(1.0) / c[r]\n"
     "o[r,d] = f32(f16(v[0,d]) * 1024 * q[r])",
     "reciprocal:o", "subnormal in its type"},
    {"exp2 of an f16 product", false, "'finite_inputs': true", "y[r] = f32(exp(f16(x[r,0])))",
     "y[r] = f32(exp2(f16(x[r,0]) * 1.4426950408889634))", "exp2:y", "another number of bits"},
    {"exp as a polynomial of degree 5", false, "'finite_inputs': true", "y[r] = exp(x[r,0])",
     "c[r] = min(max(x[r,0] * 1.4426950408889634, -160.0), 160.0)\nf[r] = c[r] - floor(c[r])\n"
     "y[r] = exp2(floor(c[r])) * (1 + f[r] * (0.6931471805599453 + f[r] * (0.2402265069591007 + "
     "f[r] * (0.05550410866482158 + f[r] * (0.009618129107628477 + f[r] * "
     "0.0013333558146428443)))))",
     "polynomial:y:5", "where 4 are free"},
    {"factors rounded to bf16 on the f32 track", false, "'finite_inputs': true",
     "y[r] = sum(j) x[r,j] * v[j,0]", "y[r] = sum(j) f32(bf16(x[r,j])) * f32(bf16(v[j,0]))",
     "round:y", "keep their bits"},
    {"two bf16 parts on the f32 track", false, "'finite_inputs': true",
     "y[r] = sum(j) x[r,j] * v[j,0]",
     "a[r,j] = bf16(x[r,j])\nb[r,j] = bf16(x[r,j] - f32(a[r,j]))\nc[j] = bf16(v[j,0])\n"
     "d[j] = bf16(v[j,0] - f32(c[j]))\ny[r] = sum(j) f32(b[r,j]) * f32(d[j]) + f32(a[r,j]) * "
     "f32(d[j]) + f32(b[r,j]) * f32(c[j]) + f32(a[r,j]) * f32(c[j])",
     "parts:y:2", "16 bits"},
    {"parts of infinities", false, "",
     "u[r,j] = x[r,j] > 1 ? inf : x[r,j]\nw[j] = bf16(abs(v[j,0]) + 1)\n"
     "y[r] = sum(j) u[r,j] * f32(w[j])",
     "u[r,j] = x[r,j] > 1 ? inf : x[r,j]\nw[j] = bf16(abs(v[j,0]) + 1)\n"
     "a[r,j] = bf16(u[r,j])\nb[r,j] = bf16(u[r,j] - f32(a[r,j]))\n"
     "c[r,j] = bf16(u[r,j] - f32(a[r,j]) - f32(b[r,j]))\n"
     "y[r] = sum(j) f32(c[r,j]) * f32(w[j]) + f32(b[r,j]) * f32(w[j]) + f32(a[r,j]) * f32(w[j])",
     "parts:y:3", "add up to NaN"},
    {"a sum without the factor that keeps it small", false, "'finite_inputs': true",
     "y[r] = sum(j) exp(x[r,j] * 0.8) * 1e-30 * v[j,0]",
     "s[r] = sum(j) exp(x[r,j] * 0.8) * v[j,0]\ny[r] = s[r] * 1e-30", "hoist:y",
     "its sum may leave the range of f32"},
    {"a sum with the large one of two factors", false, "'finite_inputs': true",
     "y[r] = sum(j) exp(x[r,0] * 0.85) * 1e-30 * x[r,j]",
     "s[r] = sum(j) x[r,j]\ny[r] = s[r] * exp(x[r,0] * 0.85) * 1e-30", "hoist:y",
     "some of the other factors may leave the range of f32"},
    {"a sum without the factor that keeps it large", false, "'finite_inputs': true",
     "y[r] = sum(j) 1e30 * exp(min(x[r,j], 0.0) - 60.0) * exp(min(v[j,0], 0.0) - 60.0)",
     "s[r] = sum(j) exp(min(x[r,j], 0.0) - 60.0) * exp(min(v[j,0], 0.0) - 60.0)\n"
     "y[r] = 1e30 * s[r]",
     "hoist:y", "too small for f32"},
    {"a chain whose end overflows", false, "'finite_inputs': true",
     "b[j,d] = exp(min(abs(v[j,d]), 100.0) * 0.6)\n"
     "t[r,d:D] = sum(j) x[r,j] * 1e-30 * b[j,d]\ny[r] = sum(d) t[r,d] * b[0,d]",
     "b[j:N,d:D] = exp(min(abs(v[j,d]), 100.0) * 0.6)\n"
     "p[j:N] = sum(d:D) b[j,d] * b[0,d]\ny[r] = sum(j) x[r,j] * 1e-30 * p[j]",
     "associate:y:0", "its sum may leave the range of f32"},
    {"weights that only the whole maximum keeps small", false, "'finite_inputs': true",
     "u[r,j] = x[r,j] - (j < 8 ? 1000.0 : 0.0)\nm[r] = max(j) u[r,j]\n"
     "y[r] = sum(j) exp(u[r,j] - m[r]) * (j < 8 ? 3e38 : 1.0)\no[r,d] = m[r]",
     "u[r,j] = x[r,j] - (j < 8 ? 1000.0 : 0.0)\n"
     "p[r:M,c:ceildiv(N, 8)] = max(j:8) pad(u[r,c * 8 + j], -inf)\n"
     "q[r,c] = sum(j:8) exp(pad(u[r,c * 8 + j], -inf) - p[r,c]) * (c * 8 + j < 8 ? 3e38 : 1.0)\n"
     "m[r] = max(c) p[r,c]\ny[r] = sum(c) q[r,c] * exp(p[r,c] - m[r])\no[r,d] = m[r]",
     "rescale:m:j:8", "out of the range of f32"},
    {"the same, one part after the other", false, "'finite_inputs': true",
     "u[r,j] = x[r,j] - (j < 8 ? 1000.0 : 0.0)\nm[r] = max(j) u[r,j]\n"
     "y[r] = sum(j) exp(u[r,j] - m[r]) * (j < 8 ? 3e38 : 1.0)\no[r,d] = m[r]",
     "u[r,j] = x[r,j] - (j < 8 ? 1000.0 : 0.0)\nm[r] = max(j) u[r,j]\n"
     "f[r] = max(j:8) u[r,j]\n"
     "p[r] = sum(j:8) exp(u[r,j] - f[r]) * 3e38\n"
     "y[r] = sum(j) (j < 8 ? p[r] * exp(f[r] - m[r]) / 8 : exp(u[r,j] - m[r]))\no[r,d] = m[r]",
     "online:m:j:8", "out of the range of f32"},
    {"parts of what bf16 has no room for", false, "'finite_inputs': true",
     "u[r,j] = x[r,j] > 1 ? 3.4e38 : x[r,j]\nw[j] = bf16(v[j,0] * 1e-8)\n"
     "y[r] = sum(j) u[r,j] * f32(w[j])",
     "u[r,j] = x[r,j] > 1 ? 3.4e38 : x[r,j]\nw[j] = bf16(v[j,0] * 1e-8)\n"
     "a[r,j] = bf16(u[r,j])\nb[r,j] = bf16(u[r,j] - f32(a[r,j]))\n"
     "c[r,j] = bf16(u[r,j] - f32(a[r,j]) - f32(b[r,j]))\n"
     "y[r] = sum(j) f32(c[r,j]) * f32(w[j]) + f32(b[r,j]) * f32(w[j]) + f32(a[r,j]) * f32(w[j])",
     "parts:y:3", "beyond 2^127"},
    {"exponentials of the sum's parts", false, "'finite_inputs': true",
     "y[r] = sum(j) exp(x[r,j] * 0.8 - x[r,0] * 0.8)",
     "y[r] = sum(j) exp(x[r,j] * 0.8) * exp(x[r,0] * -0.8)", NULL, NULL},
    /* within the bound whatever the data, but nothing proves it */
    {"a divisor from 3/4 on", true, "'finite_inputs': true",
     "o[r,d] = v[0,d] / (x[r,0] * x[r,0] - x[r,0] + 1)",
     "q[r] = 1.0 / (x[r,0] * x[r,0] - x[r,0] + 1)\no[r,d] = v[0,d] * q[r]", "reciprocal:o",
     "nothing says"},
    {"a sum of products below 1", true, "'finite_inputs': true",
     "y[r] = sum(j) 2.0 * (x[r,j] / sqrt(x[r,j] * x[r,j] + v[j,0] * v[j,0])) * x[r,j]",
     "s[r] = sum(j) x[r,j] / sqrt(x[r,j] * x[r,j] + v[j,0] * v[j,0]) * x[r,j]\ny[r] = 2.0 * s[r]",
     "hoist:y", "its sum may leave the range"},
    {"a factor that comes from an integer", true, "", "y[r] = sum(j) x[r,j] * f32(k[r,0])",
     "s[r] = sum(j) x[r,j]\ny[r] = s[r] * f32(k[r,0])", "hoist:y", "an infinite factor"},
    {"squares written as a power", true, "'finite_inputs': true",
     "s[r] = sum(j) x[r,j]\ny[r] = sum(j) pow(abs(x[r,j] - s[r] / N), 2.0)",
     "s[r] = sum(j) x[r,j]\nt[r:M,c:ceildiv(N, 8)] = sum(j:8) pad(x[r,c * 8 + j])\n"
     "q[r,c] = sum(j:8) where(c * 8 + j < N, (pad(x[r,c * 8 + j]) - t[r,c] / min(8, N - c * 8)) * "
     "(pad(x[r,c * 8 + j]) - t[r,c] / min(8, N - c * 8)), 0.0)\n"
     "y[r] = sum(c) q[r,c] + min(8, N - c * 8) * (t[r,c] / min(8, N - c * 8) - s[r] / N) * "
     "(t[r,c] / min(8, N - c * 8) - s[r] / N)",
     "centre:y:j:8", "no squares"},
    {"maximum of a sum with what its terms share", true, "'finite_inputs': true",
     "y[r] = max(j) x[r,j] * 2", "m[r] = max(j) x[r,j]\ny[r] = m[r] * 2", "hoist:y",
     "no plain sum"},
};

/* The worst over data and orders, in bounds. */
static double worst_of(const struct op *op, const struct op *illegal, const char **witness)
{
    double worst = 0;
    for (size_t v = 0; v < op->verify_count; v++)
        for (int class = 0; class < DATA_CLASS_COUNT; class ++) {
            struct arena arena;
            struct trial trial;
            const struct bound_op *bound;
            struct err err = {0};
            if (class == DATA_SPECIAL && op->policy.finite_inputs)
                continue;
            arena_init(&arena, ARENA_BYTES);
            assert_ok(op_bind_shape(&arena, op, &op->verify[v], &bound, &err));
            trial_begin(&arena, bound, NULL, (enum data_class) class, 5, &trial);
            double ratio = trial_ratio(&arena, &trial, illegal, ORDER_SEQUENTIAL);
            if (ratio > worst) {
                worst = ratio;
                *witness = data_class_name((enum data_class) class);
            }
            arena_release(&arena);
        }
    return worst;
}

static void check_refused(struct arena *arena, const struct op *op, const struct refused *c)
{
    struct rewrite rewrite;
    struct rewritten out;
    struct err err = {0};
    if (c->rewrite == NULL)
        return;
    assert_ok(rewrite_parse(op, str_from(c->rewrite), c->what, &rewrite, &err));
    preserve_apply(arena, op, &rewrite, &out);
    if (out.op != NULL || strstr(str_copy(arena, out.text), c->reason) == NULL)
        fail_msg("%s: %.*s", c->what, STR_ARG(out.text));
}

static void test_witnesses(void **state UNUSED)
{
    size_t witnesses = 0, conservative = 0;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct refused *c = &cases[i];
        const char *witness = "none";
        struct arena arena;
        arena_init(&arena, ARENA_BYTES);
        const struct op *op = case_op(&arena, c->policy, c->body);
        const struct op *illegal = case_op(&arena, c->policy, c->illegal);
        check_refused(&arena, op, c);
        assert_true(worst_of(op, op, &witness) <= 1); /* the data are not to blame */
        double worst = worst_of(op, illegal, &witness);
        if (c->conservative ? worst > 1 : !(worst > 1))
            fail_msg("%s: %g of the bound, data %s", c->what, worst, witness);
        print_message("%-40s %10.3g of the bound, data %s\n", c->what, worst, witness);
        witnesses += worst > 1;
        conservative += c->conservative;
        arena_release(&arena);
    }
    print_message("%zu witnesses, %zu on the conservative list\n", witnesses, conservative);
    assert_int_equal(witnesses + conservative, COUNT_OF(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_witnesses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
