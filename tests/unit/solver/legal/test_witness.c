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
};

static const struct refused cases[] = {
    {"softmax's sum without the maximum", false, "'finite_inputs': true",
     "m[r] = max(j) x[r,j]\ns[r] = sum(j) exp(x[r,j] - m[r])\ny[r] = exp(x[r,0] - m[r]) / s[r]",
     "s[r] = sum(j) exp(x[r,j])\ny[r] = exp(x[r,0]) / s[r]"},
    {"variance from raw moments", false, "",
     "s[r] = sum(j) x[r,j]\nc[r] = s[r] / N\nq[r] = sum(j) (x[r,j] - c[r]) * (x[r,j] - c[r])\n"
     "y[r] = q[r] / N",
     "s[r] = sum(j) x[r,j]\nq[r] = sum(j) x[r,j] * x[r,j]\n"
     "y[r] = q[r] / N - s[r] / N * (s[r] / N)"},
    {"a scan from its open end", false, "", "t[r,j:N] = sum(l <= j) x[r,l]\ny[r] = t[r,0]",
     "t[r,j:N] = sum(l >= j) x[r,l]\ny[r] = t[r,0]"},
    {"terms rounded to bf16", false, "", "y[r] = sum(j) x[r,j]", "y[r] = sum(j) f32(bf16(x[r,j]))"},
    {"exp to eleven bits", false, "", "y[r] = exp(x[r,0])", "y[r] = f32(f16(exp(x[r,0])))"},
    {"a quotient to eight bits", false, "", "y[r] = x[r,0] / (1 + abs(v[0,0]))",
     "y[r] = f32(bf16(x[r,0] / (1 + abs(v[0,0]))))"},
    {"parts of a maximum added", false, "", "y[r] = max(j) x[r,j]",
     "p[r:M,c:ceildiv(N, 8)] = max(j:8) pad(x[r,c * 8 + j], -inf)\ny[r] = sum(c) p[r,c]"},
    {"parts that are empty rescaled", false, "",
     "m[r] = max(j) (j <= r ? x[r,j] : -inf)\n"
     "y[r] = sum(j) exp((j <= r ? x[r,j] : -inf) - m[r])",
     "p[r:M,c:ceildiv(N, 8)] = max(j:8) (c * 8 + j <= r ? pad(x[r,c * 8 + j]) : -inf)\n"
     "q[r,c] = sum(j:8) exp((c * 8 + j <= r ? pad(x[r,c * 8 + j]) : -inf) - p[r,c])\n"
     "m[r] = max(c) p[r,c]\ny[r] = sum(c) q[r,c] * exp(p[r,c] - m[r])"},
    {"parts rescaled with the wrong sign", false, "",
     "m[r] = max(j) x[r,j]\ny[r] = sum(j) exp(x[r,j] - m[r])",
     "p[r:M,c:ceildiv(N, 8)] = max(j:8) pad(x[r,c * 8 + j], -inf)\n"
     "q[r,c] = sum(j:8) exp(pad(x[r,c * 8 + j], -inf) - p[r,c])\n"
     "m[r] = max(c) p[r,c]\ny[r] = sum(c) q[r,c] * exp(m[r] - p[r,c])"},
    {"quotients of integers put together", false, "", "i[r] = sum(j) k[r,j] / 3",
     "t[r] = sum(j) k[r,j]\ni[r] = t[r] / 3"},
    {"a factor taken out of a maximum", false, "", "y[r] = max(j) x[r,j] * v[0,0]",
     "m[r] = max(j) x[r,j]\ny[r] = m[r] * v[0,0]"},
    {"what is padded computed from the pad", false, "",
     "t[r,j] = x[r,j] + 1\ny[r] = pad(t[r,r - 1])", "y[r] = pad(x[r,r - 1]) + 1"},
    {"squares about a centre of their own", false, "",
     "s[r] = sum(j) x[r,j]\ny[r] = sum(j) (x[r,j] - s[r] / N) * (x[r,j] - s[r] / N)",
     "t[r:M,c:ceildiv(N, 8)] = sum(j:8) pad(x[r,c * 8 + j])\n"
     "q[r,c] = sum(j:8) where(c * 8 + j < N, (pad(x[r,c * 8 + j]) - t[r,c] / min(8, N - c * 8)) * "
     "(pad(x[r,c * 8 + j]) - t[r,c] / min(8, N - c * 8)), 0.0)\ny[r] = sum(c) q[r,c]"},
    {"of equal values the last position", false, "", "t[r] = argmax(j) x[r,j]\ni[r] = i32(t[r])",
     "t[r] = argmax(j:N) x[r,N - 1 - j]\ni[r] = i32(N - 1 - t[r])"},
    /* exact, but for want of a neutral element nothing of the kind is written */
    {"parts of a maximum of integers", true, "", "i[r] = max(j) k[r,j]",
     "p[r:M,c:ceildiv(N, 8)] = max(j:8) k[r,min(c * 8 + j, N - 1)]\ni[r] = max(c) p[r,c]"},
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
            trial_begin(&arena, bound, (enum data_class) class, 5, &trial);
            double ratio = trial_ratio(&arena, &trial, illegal, ORDER_SEQUENTIAL);
            if (ratio > worst) {
                worst = ratio;
                *witness = data_class_name((enum data_class) class);
            }
            arena_release(&arena);
        }
    return worst;
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
        assert_true(worst_of(op, op, &witness) <= 1); /* the data are not to blame */
        double worst = worst_of(op, illegal, &witness);
        if (c->conservative ? worst > 1 : !(worst > 1))
            fail_msg("%s: %g of the bound, data %s", c->what, worst, witness);
        print_message("%-40s %10.3g of the bound, data %s\n", c->what, worst, witness);
        witnesses += worst > 1;
        conservative += c->conservative;
        arena_release(&arena);
    }
    print_message("%zu witnesses, %zu refusals without one\n", witnesses, conservative);
    assert_int_equal(witnesses + conservative, COUNT_OF(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_witnesses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
