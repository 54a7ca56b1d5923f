/* Chains of two products: what is one, under any names and masks, and why look-alikes are none. */
#include <stdio.h>
#include <string.h>

#include "base/num.h"

#include "tests/unit/solver/ir/plans.h"

enum { ARENA_BYTES = 64 << 20, TEXT_BYTES = 1 << 16 };

#define SCORES         "sc[b,i,j] = sum(d) q[b,i,d] * k[b,j,d]"
#define MASK           "ms[b,i,j] = j <= i ? sc[b,i,j] * 0.125 : -inf"
#define MOST           "mx[b,i] = max(j) ms[b,i,j]"
#define WEIGHT         "e[b,i,j] = exp(ms[b,i,j] - mx[b,i])"
#define TOTAL          "z[b,i] = sum(j) e[b,i,j]"
#define SECOND         "o[b,i,c] = sum(j) e[b,i,j] * v[b,j,c]"
#define RATIO          "y[b,i,c] = o[b,i,c] / z[b,i]"
#define MOST_OF_SCORES "mx[b,i] = max(j) sc[b,i,j]"

/* q[B,M,D], k[B,N,D], v[B,N,C], y[B,M,C] and the body, statements apart by ';'. */
static const struct op *op_of(struct arena *arena, const char *body)
{
    struct err err = {0};
    const struct op *op;
    struct buf text;
    buf_init(&text, arena, TEXT_BYTES);
    buf_text(
        &text,
        "{\"spec\":1,\"name\":\"t\",\"doc\":\"t\",\"dims\":{\"B\":[1,64],\"M\":[1,4096],"
        "\"N\":[1,4096],\"D\":[1,256],\"C\":[1,256]},\"tensors\":["
        "{\"name\":\"q\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[\"B\",\"M\",\"D\"]},"
        "{\"name\":\"k\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[\"B\",\"N\",\"D\"]},"
        "{\"name\":\"v\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[\"B\",\"N\",\"C\"]},"
        "{\"name\":\"y\",\"role\":\"output\",\"dtype\":\"f32\",\"shape\":[\"B\",\"M\",\"C\"]}],"
        "\"body\":[\"");
    for (const char *at = body; *at != '\0'; at++)
        buf_text(&text, *at == ';' ? "\",\"" : (char[2]){*at, '\0'});
    buf_text(&text, "\"],\"policy\":{\"finite_inputs\":true},\"tracks\":{\"f32\":{}},"
                    "\"shapes\":{\"target\":[{\"B\":4,\"M\":256,\"N\":512,\"D\":64,\"C\":32}],"
                    "\"verify\":[{\"B\":1,\"M\":2,\"N\":3,\"D\":4,\"C\":5}]}}");
    assert_ok(op_parse(arena, buf_view(&text), "spec", NULL, &op, &err));
    return op;
}

static bool recognise(struct arena *arena, const struct op *op, struct chain *chain,
                      const char **why)
{
    size_t *stmts = arena_array(arena, size_t, op->stmt_count);
    for (size_t i = 0; i < op->stmt_count; i++)
        stmts[i] = i;
    return chain_recognise(arena, op, stmts, op->stmt_count, chain, why);
}

static void assert_chain(const char *name, const char *body, bool online, bool swapped)
{
    struct arena arena;
    struct chain chain;
    const char *why = "";
    arena_init(&arena, ARENA_BYTES);
    const struct op *op = op_of(&arena, body);
    if (!recognise(&arena, op, &chain, &why))
        fail_msg("%s: %s", name, why);
    assert_int_equal(chain.outer, 2);
    assert_int_equal(chain.inner, 1);
    assert_int_equal(chain.online, online);
    assert_int_equal(chain.loop_count[CHAIN_BATCH], 1);
    assert_int_equal(chain.loop_count[CHAIN_M], 1);
    assert_int_equal(chain.loop_count[CHAIN_COLUMNS], 1);
    assert_int_equal(chain.query == chain.first->value->args[swapped ? 1 : 0], true);
    arena_release(&arena);
}

static void test_chains(void **state UNUSED)
{
    static const struct {
        const char *name, *body;
        bool online, swapped;
    } cases[] = {
        {"causal", SCORES ";" MASK ";" MOST ";" WEIGHT ";" TOTAL ";" SECOND ";" RATIO, true, false},
        {"the second product before the sum",
         SCORES ";" MASK ";" MOST ";" WEIGHT ";" SECOND ";" TOTAL ";" RATIO, true, false},
        {"normalised before the second product",
         SCORES ";" MASK ";" MOST ";" WEIGHT ";" TOTAL ";"
                "p[b,i,j] = e[b,i,j] / z[b,i]; y[b,i,c] = sum(j) p[b,i,j] * v[b,j,c]",
         true, false},
        {"no mask, nothing between maximum and scores",
         SCORES ";mx[b,i] = max(j) sc[b,i,j];e[b,i,j] = exp(sc[b,i,j] - mx[b,i]);" TOTAL ";" SECOND
                ";" RATIO,
         true, false},
        {"a reciprocal of the sum",
         SCORES ";" MASK ";" MOST ";" WEIGHT ";" TOTAL ";r[b,i] = 1.0 / z[b,i];" SECOND
                ";y[b,i,c] = o[b,i,c] * r[b,i]",
         true, false},
        {"weights masked by zeros",
         SCORES ";mx[b,i] = max(j) sc[b,i,j];"
                "e[b,i,j] = j <= i ? exp(sc[b,i,j] - mx[b,i]) : 0.0;" TOTAL ";" SECOND ";" RATIO,
         true, false},
        {"factors the other way round",
         "sc[b,i,j] = sum(d) k[b,j,d] * q[b,i,d];" MASK ";" MOST ";" WEIGHT ";" TOTAL
         ";o[b,i,c] = sum(j) v[b,j,c] * e[b,i,j];" RATIO,
         true, true},
        {"triangular, by where its reductions end",
         SCORES ";mx[b,i] = max(j:N <= i) sc[b,i,j];e[b,i,j] = exp(sc[b,i,j] - mx[b,i]);"
                "z[b,i] = sum(j:N <= i) e[b,i,j];"
                "o[b,i,c] = sum(j:N <= i) e[b,i,j] * v[b,j,c];" RATIO,
         true, false},
        {"no statistics at all",
         SCORES ";e[b,i,j] = sc[b,i,j] * sc[b,i,j];y[b,i,c] = sum(j) e[b,i,j] * v[b,j,c]", false,
         false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_chain(cases[i].name, cases[i].body, cases[i].online, cases[i].swapped);
}

static void test_refused(void **state UNUSED)
{
    static const struct {
        const char *name, *body, *why;
    } cases[] = {
        {"one product only", SCORES ";t[b,i] = sum(j) sc[b,i,j];y[b,i:M,c:C] = t[b,i] + v[b,0,c]",
         "no second product of the first one's results follows"},
        {"the second product sums over the rows",
         SCORES ";" MASK ";" MOST ";" WEIGHT ";o[b,j,c] = sum(i) e[b,i,j] * q[b,i,c];"
                "y[b,i:M,c:C] = o[b,0,0] + v[b,0,c]",
         "it sums over another index"},
        {"statistics along the rows",
         SCORES ";" MASK ";mx[b,j] = max(i) ms[b,i,j];e[b,i,j] = exp(ms[b,i,j] - mx[b,j]);" SECOND
                ";y[b,i,c] = o[b,i,c]",
         "its reduction goes along another index than the second product's: mx[b,j]"},
        {"the maximum before the mask",
         SCORES ";mx[b,i] = max(j) sc[b,i,j];" MASK ";" WEIGHT ";" TOTAL ";" SECOND ";" RATIO,
         "its exponent is not taken from that exponent's own maximum: e[b,i,j]"},
        {"normalisation before the mask",
         SCORES ";mx[b,i] = max(j) sc[b,i,j];e[b,i,j] = exp(sc[b,i,j] - mx[b,i]);" TOTAL
                ";p[b,i,j] = e[b,i,j] / z[b,i];w[b,i,j] = j <= i ? p[b,i,j] : 0.0;"
                "y[b,i,c] = sum(j) w[b,i,j] * v[b,j,c]",
         "a mask comes behind the normalisation: w[b,i,j]"},
        {"the maximum of weights",
         SCORES ";" MASK ";" MOST ";" WEIGHT ";z[b,i] = max(j) e[b,i,j];" SECOND ";" RATIO,
         "it reduces what only a finished row has: z[b,i]"},
        {"less the mean",
         SCORES ";s[b,i] = sum(j) sc[b,i,j];e[b,i,j] = sc[b,i,j] - s[b,i];" SECOND
                ";y[b,i,c] = o[b,i,c]",
         "it uses a statistic of the whole row"},
        {"another row's score",
         SCORES ";e[b,i,j] = sc[b,i,j] + pad(sc[b,i-1,j]);" SECOND ";y[b,i,c] = o[b,i,c]",
         "it reads another row or element than its own: e[b,i,j]"},
        {"a second product beyond the maximum",
         SCORES ";mx[b,i] = max(j:N <= i) sc[b,i,j];e[b,i,j] = exp(sc[b,i,j] - mx[b,i]);"
                "z[b,i] = sum(j:N <= i) e[b,i,j];" SECOND ";" RATIO,
         "it ends along the shared index where the other reductions do not: o[b,i,c]"},
        {"a sum beyond the maximum",
         SCORES ";mx[b,i] = max(j:N < i) sc[b,i,j];e[b,i,j] = exp(sc[b,i,j] - mx[b,i]);"
                "z[b,i] = sum(j:N <= i) e[b,i,j];"
                "o[b,i,c] = sum(j:N < i) e[b,i,j] * v[b,j,c];" RATIO,
         "it ends along the shared index where the other reductions do not: z[b,i]"},
        {"a second product that ends by its column",
         SCORES ";o[b,i,c] = sum(j:N <= c) sc[b,i,j] * v[b,j,c];y[b,i,c] = o[b,i,c]",
         "it ends along the shared index where the other reductions do not: o[b,i,c]"},
        {"exponent without its maximum",
         SCORES ";" MOST_OF_SCORES ";e[b,i,j] = exp(sc[b,i,j] * 2.0 - mx[b,i]);" SECOND
                ";y[b,i,c] = o[b,i,c]",
         "its exponent is not taken from that exponent's own maximum"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct chain chain;
        const char *why = "";
        arena_init(&arena, ARENA_BYTES);
        if (recognise(&arena, op_of(&arena, cases[i].body), &chain, &why))
            fail_msg("%s is taken for a chain", cases[i].name);
        if (strncmp(why, cases[i].why, strlen(cases[i].why)) != 0)
            fail_msg("%s: %s", cases[i].name, why);
        arena_release(&arena);
    }
}

/* Results whose indices come in another order are taken; reading them in yet another is not. */
static void test_order(void **state UNUSED)
{
    static const size_t all[] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct arena arena;
    struct chain chain;
    const char *why = "";
    arena_init(&arena, ARENA_BYTES);
    const struct op *op =
        op_of(&arena, SCORES ";" MASK ";" MOST ";" WEIGHT ";" TOTAL
                             ";o[i,b,c] = sum(j) e[b,i,j] * v[b,j,c];w[i,b,c] = o[i,b,c] / z[b,i];"
                             "y[b,i,c] = w[i,b,c]");
    if (!chain_recognise(&arena, op, all, 7, &chain, &why))
        fail_msg("%s", why);
    assert_int_equal(chain.loops[CHAIN_COLUMNS][0], 2);
    assert_false(chain_recognise(&arena, op, all, 8, &chain, &why));
    arena_release(&arena);
}

/* Some of its statements are still a chain, or say what they lack. */
static void test_library(void **state UNUSED)
{
    static const size_t all[] = {0, 1, 2, 3, 4, 5, 6}, upto[] = {0, 1, 2, 3, 4};
    struct arena arena;
    struct chain chain;
    const char *why = "";
    arena_init(&arena, ARENA_BYTES);
    const struct bound_op *bound = plans_op(&arena, "causal_attention");
    assert_true(chain_recognise(&arena, bound->op, all, 7, &chain, &why));
    assert_int_equal(chain.loop_count[CHAIN_BATCH], 2);
    assert_int_equal(chain.outer, 3);
    assert_true(chain_recognise(&arena, bound->op, all, 6, &chain, &why));
    assert_false(chain_recognise(&arena, bound->op, upto, 5, &chain, &why));
    assert_string_equal(why, "no second product of the first one's results follows");
    assert_false(chain_recognise(&arena, bound->op, &all[1], 6, &chain, &why));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chains),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
