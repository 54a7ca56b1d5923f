/* One product and its row statistics: what is such a region under any disguise, and why look-alikes
 * are none. */
#include <stdio.h>
#include <string.h>

#include "base/num.h"

#include "tests/unit/solver/ir/scores_zoo.h"

enum { ARENA_BYTES = 64 << 20 };

static bool recognise(struct arena *arena, const struct op *op, size_t first, struct scores *scores,
                      const char **why)
{
    size_t *stmts = arena_array(arena, size_t, op->stmt_count);
    for (size_t i = first; i < op->stmt_count; i++)
        stmts[i - first] = i;
    return scores_recognise(arena, op, stmts, op->stmt_count - first, scores, why);
}

static void test_zoo(void **state UNUSED)
{
    for (size_t i = 0; i < COUNT_OF(scores_zoo); i++) {
        const struct scores_case *c = &scores_zoo[i];
        struct arena arena;
        struct scores scores;
        const char *why = "";
        arena_init(&arena, ARENA_BYTES);
        const struct op *op = scores_op(&arena, c);
        if (!recognise(&arena, op, 0, &scores, &why))
            fail_msg("%s: %s", c->name, why);
        if (scores.online != c->online || scores.moments != c->moments ||
            scores.again != c->again || scores.states != c->states)
            fail_msg("%s: online %d, moments %d, again %d, %zu states", c->name, scores.online,
                     scores.moments, scores.again, scores.states);
        assert_int_equal(scores.reach.bound, c->reach);
        assert_int_equal(scores.loop_count[TILE_BATCH], c->batch ? 1 : 0);
        assert_int_equal(scores.loop_count[TILE_M], 1);
        assert_int_equal(scores.loop_count[TILE_N], 1);
        assert_int_equal(scores.loop_count[TILE_K], 1);
        const struct loop *along = &scores.product->loops[scores.loops[TILE_N][0]];
        const struct formula *columns = op->tensors[1].shape[c->batch ? 1 : 0];
        assert_true(formula_equal(along->extent, columns));
        assert_int_equal(scores.factors[1]->tensor, 1);
        arena_release(&arena);
    }
}

static const struct {
    const char *name, *body, *outputs, *why;
} look_alikes[] = {
    {"a running sum between", SCORES_PRODUCT ";p[m,n:N] = sum(j <= n) c[m,j];u[m] = max(n) p[m,n]",
     "u[M]", "it is a scan: an element of it needs its row in order: p[m,n:N]"},
    {"a sum of weights beyond what their maximum is of",
     SCORES_PRODUCT ";s[m] = max(n:N < m) c[m,n];u[m] = sum(n) exp(c[m,n] - s[m])", "u[M]",
     "no merging of steps gives it: it goes beyond what its weights' maximum is of: u[m]"},
    {"a sum of weights that ends one later than their maximum",
     SCORES_PRODUCT ";s[m] = max(n:N < m) c[m,n];u[m] = sum(n:N <= m) exp(c[m,n] - s[m])", "u[M]",
     "no merging of steps gives it: it goes beyond what its weights' maximum is of: u[m]"},
    {"sums of weights of maxima that end elsewhere",
     SCORES_PRODUCT ";r[m] = max(n:N <= m) c[m,n];s[m] = max(n:N < m) c[m,n];"
                    "v[m] = sum(n:N <= m) exp(c[m,n] - r[m]);"
                    "u[m] = sum(n:N <= m) exp(c[m,n] - s[m])",
     "u[M] v[M]", "no merging of steps gives it"},
    {"weights of maxima that end elsewhere",
     SCORES_PRODUCT ";r[m] = max(n:N <= m) c[m,n];s[m] = max(n:N < m) c[m,n];"
                    "d[m,n] = exp(c[m,n] - r[m]);e[m,n] = exp(c[m,n] - s[m]);"
                    "v[m] = sum(n:N <= m) d[m,n];u[m] = sum(n:N < m) e[m,n]",
     "u[M] v[M]", ""},
    {"a sum that ends where the index says",
     SCORES_PRODUCT ";u[m] = max(n) c[m,n];p[m,n:N] = max(j:N > n) c[m,j]", "u[M] p[M,N]",
     "it is a scan: an element of it needs its row in order: p[m,n]"},
    {"step by step",
     SCORES_PRODUCT ";seq n : N { h[n,m] = pad(h[n - 1,m], f32(0)) + c[m,n] };u[m] = "
                    "max(n) h[n,m]",
     "u[M]", "it goes step by step, or scatters"},
    {"the scores are needed outside", SCORES_PRODUCT ";u[m] = max(n) c[m,n]", "c[M,N] u[M]",
     "its elements are needed outside, and a pass keeps none of them: c[m,n]"},
    {"a masked score is needed outside",
     SCORES_PRODUCT ";z[m,n] = n <= m ? c[m,n] : 0.0;u[m] = max(n) z[m,n]", "z[M,N] u[M]",
     "its elements are needed outside, and a pass keeps none of them: z[m,n]"},
    {"a deviation that does not merge",
     SCORES_PRODUCT ";s[m] = sum(n) c[m,n];u[m] = sum(n) abs(c[m,n] - s[m] / N)", "u[M]",
     "no merging of steps gives it: it reduces what only a finished row has: u[m]"},
    {"a third moment",
     SCORES_PRODUCT ";s[m] = sum(n) c[m,n];d[m,n] = c[m,n] - s[m] / N;"
                    "u[m] = sum(n) d[m,n] * d[m,n] * d[m,n]",
     "u[M]", "no merging of steps gives it"},
    {"a threshold from the row",
     SCORES_PRODUCT ";t[m] = max(n) c[m,n];u[m] = sum(n) (c[m,n] > 0.5 * t[m] ? 1.0 : 0.0)", "u[M]",
     "no merging of steps gives it"},
    {"an exponent with another maximum",
     SCORES_PRODUCT ";t[m] = max(n) c[m,n];u[m] = sum(n) exp(2.0 * c[m,n] - t[m])", "u[M]",
     "no merging of steps gives it"},
    {"a multiple below zero",
     SCORES_PRODUCT ";t[m] = max(n) c[m,n];u[m] = sum(n) exp((c[m,n] - t[m]) * -1.0)", "u[M]",
     "no merging of steps gives it"},
    {"the largest weight", SCORES_PRODUCT ";t[m] = max(n) c[m,n];u[m] = max(n) exp(c[m,n] - t[m])",
     "u[M]", "no merging of steps gives it"},
    {"rounded between mean and square",
     SCORES_PRODUCT ";s[m] = sum(n) c[m,n];d[m,n] = f32(f16(c[m,n] - s[m] / N));"
                    "u[m] = sum(n) d[m,n] * d[m,n]",
     "u[M]", "no merging of steps gives it"},
    {"quotients of integers",
     SCORES_PRODUCT ";t[m] = argmax(n) c[m,n];u[m] = sum(n) i64(c[m,n]) / t[m]", "u:i64[M]",
     "no merging of steps gives it"},
    {"its neighbour's score", SCORES_PRODUCT ";u[m] = max(n) c[m,n] + pad(c[m,n - 1])", "u[M]",
     "it reads another row or element than its own: u[m]"},
    {"the first row's score", SCORES_PRODUCT ";u[m] = max(n) c[m,n] - c[0,n]", "u[M]",
     "it reads another row or element than its own: u[m]"},
    {"the row from its other end", SCORES_PRODUCT ";u[m] = max(n) c[m,n] - c[m,N - 1 - n]", "u[M]",
     "it reads another row or element than its own: u[m]"},
    {"the first row's statistic", SCORES_PRODUCT ";s[m] = max(n) c[m,n];u[m] = s[m] - s[0]", "u[M]",
     "it reads another row or element than its own: u[m]"},
    {"a picked element alone", SCORES_PRODUCT ";u[m] = c[m,t[m]] + 1.0", "u[M]",
     "no statistic along a side of the product follows"},
    {"a multiple of zero",
     SCORES_PRODUCT ";s[m] = max(n) c[m,n];u[m] = sum(n) exp((c[m,n] - s[m]) * 0.0)", "u[M]",
     "no merging of steps gives it"},
    {"another row's statistic", SCORES_PRODUCT ";t[m] = max(n) c[m,n];u[m] = t[m] + pad(t[m - 1])",
     "u[M]", "it reads another row or element than its own: u[m]"},
    {"statistics along both sides", SCORES_PRODUCT ";t[m] = max(n) c[m,n];v[n] = max(m) c[m,n]",
     "t[M] v[N]", "its reduction goes along another index than a side of the product: v[n]"},
    {"an element that another statistic picks",
     SCORES_PRODUCT ";t[m] = argmax(n) c[m,n];u[m] = c[m,t[m]]", "u[M]",
     "it reads another row or element than its own: u[m]"},
    {"a map alone", SCORES_PRODUCT ";d[m,n] = c[m,n] * 2.0;u[m,n] = d[m,n] + 1.0", "u[M,N]",
     "its elements are needed outside"},
    {"no product", "c[m,n] = A[m,0] + B[n,0];u[m] = max(n) c[m,n]", "u[M]",
     "it is no float sum of products"},
    {"a factor of the group",
     "A2[m,k] = A[m,k] * 2.0;c[m,n] = sum(k) A2[m,k] * B[n,k];"
     "u[m] = max(n) c[m,n]",
     "u[M]", "a factor of it is made in the group: c[m,n]"},
};

static void test_refused(void **state UNUSED)
{
    for (size_t i = 0; i < COUNT_OF(look_alikes); i++) {
        struct arena arena;
        struct scores scores;
        const char *why = "";
        arena_init(&arena, ARENA_BYTES);
        const struct scores_case c = {.body = look_alikes[i].body,
                                      .outputs = look_alikes[i].outputs};
        if (recognise(&arena, scores_op(&arena, &c), 0, &scores, &why))
            fail_msg("%s is taken", look_alikes[i].name);
        if (strncmp(why, look_alikes[i].why, strlen(look_alikes[i].why)) != 0)
            fail_msg("%s: %s", look_alikes[i].name, why);
        arena_release(&arena);
    }
}

/* A region that keeps only a part of the statements stores what the others read. */
static void test_parts(void **state UNUSED)
{
    static const size_t all[] = {0, 1, 2, 3, 4};
    struct arena arena;
    struct scores scores;
    const char *why = "";
    arena_init(&arena, ARENA_BYTES);
    const struct op *op = scores_op(&arena, &scores_zoo[0]);
    assert_true(scores_recognise(&arena, op, all, 4, &scores, &why)); /* weights and their sum */
    assert_true(scores.again);
    assert_false(scores_recognise(&arena, op, all, 2, &scores, &why));
    assert_false(scores_recognise(&arena, op, &all[1], 4, &scores, &why));
    assert_null(scores.product);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zoo),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
