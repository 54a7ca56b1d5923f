/* Rewrites: every legal one of the library's ops stays inside the bound, what they make of an op.
 */
#include "tests/unit/solver/legal/rewrites.h"

enum { ARENA_BYTES = 1 << 30 };

static const enum data_class classes[] = {DATA_SPEC,   DATA_LARGE,   DATA_OFFSET, DATA_HEAVY,
                                          DATA_CANCEL, DATA_SPECIAL, DATA_ZEROS};

static const enum interp_order orders[] = {ORDER_SEQUENTIAL, ORDER_STRIDED};

struct tally {
    size_t applied, refused, runs;
    double worst[REWRITE_COUNT + 1]; /* of the bound; last: several rewrites */
};

/* One shape, one class of data. */
static void try_data(const struct op *op, const struct op *changed, double scale,
                     const struct bound_op *bound, enum data_class class, int rule,
                     const char *what, struct tally *tally)
{
    struct arena arena;
    struct trial trial;
    arena_init(&arena, ARENA_BYTES);
    trial_begin(&arena, bound, class, 7, &trial);
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        double ratio = trial_ratio(&arena, &trial, changed, orders[i]);
        tally->runs++;
        tally->worst[rule] = fmax(tally->worst[rule], ratio);
        if (!(ratio <= scale))
            fail_msg("%.*s, %s, data %s: %g of the bound", STR_ARG(op->name), what,
                     data_class_name(class), ratio);
    }
    arena_release(&arena);
}

static double scale_of(const struct rewritten *out, const struct rewrite *rewrite,
                       const struct bound_op *bound)
{
    int64_t extent = bound->extents[rewrite->stmt][rewrite->loop];
    if (!rewrite_cuts(rewrite->rule))
        return out->bound_scale;
    return out->bound_scale + out->bound_step * (double)num_ceil_div(extent, rewrite->block);
}

static void try_rewrite(struct arena *arena, const struct op *op, const struct rewrite *rewrite,
                        struct tally *tally)
{
    struct rewritten out;
    char what[128];
    preserve_apply(arena, op, rewrite, &out);
    snprintf(what, sizeof(what), "%s of statement %zu, loop %zu, by %lld",
             rewrite_name(rewrite->rule), rewrite->stmt, rewrite->loop, (long long)rewrite->block);
    assert_true(out.text.len > 0);
    if (out.op == NULL) {
        tally->refused++;
        if (memmem(out.text.at, out.text.len, "rewritten:", 10) != NULL)
            fail_msg("%.*s, %s: %.*s", STR_ARG(op->name), what, STR_ARG(out.text));
        return;
    }
    tally->applied++;
    for (size_t v = 0; v < op->verify_count; v++) {
        struct err err = {0};
        const struct bound_op *bound;
        assert_ok(op_bind_shape(arena, op, &op->verify[v], &bound, &err));
        for (size_t c = 0; c < COUNT_OF(classes) && is_small(bound); c++)
            if (classes[c] != DATA_SPECIAL || !op->policy.finite_inputs)
                try_data(op, out.op, scale_of(&out, rewrite, bound), bound, classes[c],
                         (int)rewrite->rule, what, tally);
    }
}

/* Every rewrite of every op of the library, in parts of 1 (one element a part), 5 and 64. */
static void test_library(void **state UNUSED)
{
    static const int64_t blocks[] = {5, 64, 1};
    const char *names[OPS_MAX];
    struct tally tally = {.runs = 0};
    struct arena list;
    arena_init(&list, ARENA_BYTES);
    size_t count = ops_all(&list, names);
    for (size_t i = 0; i < count; i++)
        for (size_t b = 0; b < COUNT_OF(blocks); b++) {
            struct arena arena;
            size_t rewrites;
            arena_init(&arena, ARENA_BYTES);
            const struct op *op = ops_named(&arena, names[i]);
            const struct rewrite *all = rewrite_list(&arena, op, blocks[b], &rewrites);
            for (size_t r = 0; r < rewrites; r++)
                if (b == 0 || all[r].rule >= REWRITE_SPLIT)
                    try_rewrite(&arena, op, &all[r], &tally);
            arena_release(&arena);
        }
    print_message("%zu applied, %zu refused, %zu runs inside the bound\n", tally.applied,
                  tally.refused, tally.runs);
    for (int rule = 0; rule < REWRITE_COUNT; rule++)
        print_message("%-8s at most %.3g of the bound\n", rewrite_name((enum rewrite_rule)rule),
                      tally.worst[rule]);
    assert_true(tally.applied > 150 && tally.refused > 100 && tally.runs > 5000);
    arena_release(&list);
}

/* ---- what comes out ---- */

static void test_one_pass_softmax(void **state UNUSED)
{
    const struct rewrite rescale = {REWRITE_RESCALE, 0, 1, 64};
    struct rewritten out;
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    preserve_apply(&arena, ops_named(&arena, "softmax"), &rescale, &out);
    assert_non_null(out.op);
    assert_string_equal(
        body_of(&arena, out.op),
        "partial0[m:M,part0:ceildiv(N, 64)] = max(inner0:64) where(part0 * 64 + inner0 < N, "
        "pad(x[m,part0 * 64 + inner0]), -inf)\n"
        "mx[m] = max(part0) partial0[m,part0]\n"
        "e[m,n] = exp(x[m,n] - mx[m])\n"
        "partial1[m,part0] = sum(inner0:64) where(part0 * 64 + inner0 < N, "
        "where(partial0[m,part0] == -inf, 0.0, exp(pad(x[m,part0 * 64 + inner0]) - "
        "partial0[m,part0])), 0.0)\n"
        "s[m] = sum(part0) where(partial0[m,part0] == -inf, 0.0, partial1[m,part0] * "
        "exp(partial0[m,part0] - mx[m]))\n"
        "y[m,n] = e[m,n] / s[m]\n");
    arena_release(&arena);
}

static size_t writer(const struct op *op, const char *name)
{
    size_t tensor = op_tensor_find(op, name);
    assert_true(tensor != OP_NONE);
    return op->tensors[tensor].written_by;
}

static const struct op *applied(struct arena *arena, const struct op *op, enum rewrite_rule rule,
                                const char *target, int64_t block, double *scale)
{
    size_t s = writer(op, target);
    const struct rewrite rewrite = {rule, s, op->stmts[s].free_count, block};
    struct rewritten out;
    preserve_apply(arena, op, &rewrite, &out);
    if (out.op == NULL)
        fail_msg("%.*s", STR_ARG(out.text));
    *scale *= out.bound_scale;
    return out.op;
}

static const char naive_attention[] = "m[r] = max(j) x[r,j]\n"
                                      "e[r,j] = exp(x[r,j] - m[r])\n"
                                      "z[r] = sum(j) e[r,j]\n"
                                      "w[r,j] = e[r,j] / z[r]\n"
                                      "o[r,d] = sum(j) w[r,j] * v[j,d]\n"
                                      "y[r] = m[r]\n"
                                      "i[r] = sum(j) k[r,j]\n";

/* Weights normalised first, as specs are written: the division is put off, then all goes by blocks
 * of keys, and the part that is left of each block is a state of three numbers a row and column. */
static void test_streaming_attention(void **state UNUSED)
{
    struct tally tally = {.runs = 0};
    struct arena arena;
    double scale = 1;
    arena_init(&arena, ARENA_BYTES);
    const struct op *op = op_of(&arena, "", naive_attention);
    const struct op *hoisted = applied(&arena, op, REWRITE_HOIST, "o", 1, &scale);
    const struct op *streamed = applied(&arena, hoisted, REWRITE_RESCALE, "m", 16, &scale);
    const char *body = body_of(&arena, streamed);
    assert_non_null(strstr(body, "o[r,d] = sum0[r,d] / z[r]"));
    assert_non_null(strstr(body, "sum0[r,d] = sum(part0) where(partial0[r,part0] == -inf"));
    assert_null(strstr(body, "sum(j) e"));
    for (size_t v = 0; v < op->verify_count; v++)
        for (size_t c = 0; c < COUNT_OF(classes); c++) {
            const struct bound_op *bound;
            struct err err = {0};
            assert_ok(op_bind_shape(&arena, op, &op->verify[v], &bound, &err));
            try_data(op, streamed, scale, bound, classes[c], REWRITE_COUNT, "hoist, rescale",
                     &tally);
        }
    arena_release(&arena);
}

/* The state of a running softmax, and Welford's recurrence: one step an element. */
static void test_running(void **state UNUSED)
{
    struct arena arena;
    double scale = 1;
    arena_init(&arena, ARENA_BYTES);
    const char *online = body_of(
        &arena, applied(&arena, ops_named(&arena, "softmax"), REWRITE_ONLINE, "mx", 1, &scale));
    assert_non_null(strstr(online, "seq step0: ceildiv(N, 1) {\n"
                                   "  maxima0[step0,m] = max(pad(maxima0[step0 - 1,m], "));
    assert_non_null(strstr(online, "s[m] = sums0[(N - 1) / 1,m]\n"));
    const char *welford = body_of(
        &arena, applied(&arena, ops_named(&arena, "mean_var"), REWRITE_WELFORD, "q", 1, &scale));
    assert_non_null(strstr(welford, "seq step0: ceildiv(N, 1) {\n  mean0[step0,m] = "));
    arena_release(&arena);
}

/* ---- refusals ---- */

static void test_refusals(void **state UNUSED)
{
    static const struct {
        enum rewrite_rule rule;
        const char *policy, *target, *body, *reason;
    } cases[] = {
        {REWRITE_SPLIT, "", "t", "t[r] = argmax(j) x[r,j]\ni[r] = i32(t[r])", "value and position"},
        {REWRITE_SPLIT, "", "i", "i[r] = max(j) k[r,j]", "no neutral element"},
        {REWRITE_SPLIT, "", "s", "s[r,j:N] = sum(l <= j) x[r,l]\ny[r] = s[r,0]", "its own terms"},
        {REWRITE_SPLIT, "", "y", "y[r] = x[r,0]", "reduces nothing"},
        {REWRITE_SPLIT, "'summation': 'compensated'", "y", "y[r] = sum(j) x[r,j]", "compensated"},
        {REWRITE_INLINE, "", "s", "s[r] = sum(j) x[r,j]\ny[r] = s[r]", "no plain map"},
        {REWRITE_INLINE, "", "y", "y[r] = x[r,0]", "writes an output"},
        {REWRITE_INLINE, "", "t", "t[r:M] = 1\ny[r] = t[r] * x[r,0]", "its reader's"},
        {REWRITE_INLINE, "", "t", "t[r,j] = x[r,j] + 1\ny[r] = pad(t[r,r - 1])", "pads what"},
        {REWRITE_HOIST, "", "y", "y[r] = sum(j) x[r,j] * v[j,0]", "no factor is the same"},
        {REWRITE_HOIST, "", "i", "i[r] = sum(j) k[r,j] * k[r,0]", "integers"},
        {REWRITE_HOIST, "", "y", "y[r] = max(j) x[r,j] * x[r,0]", "no plain sum"},
        {REWRITE_RESCALE, "", "m", "m[r] = max(j) x[r,j]\ny[r] = sum(j) exp(x[r,j])\no[r,d] = m[r]",
         "no sum has a factor"},
        {REWRITE_RESCALE, "", "m",
         "m[r] = max(j) x[r,j]\ny[r] = sum(j) exp(x[r,j] - m[0])\no[r,d] = m[r]",
         "no sum has a factor"},
        {REWRITE_RESCALE, "", "m",
         "m[r] = max(j) x[r,j]\ny[r] = sum(j) exp(x[r,j] - m[r]) * m[r]\no[r,d] = m[r]",
         "no sum has a factor"},
        {REWRITE_CENTRE, "", "y", "y[r] = sum(j) (x[r,j] - v[j,0]) * (x[r,j] - v[j,0])",
         "not about one centre"},
        {REWRITE_CENTRE, "", "y", "y[r] = sum(j) (x[r,j] - x[r,0]) * (x[r,j] - x[r,1])",
         "no squares"},
    };
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rewritten out;
        const struct op *op = case_op(&arena, cases[i].policy, cases[i].body);
        size_t s = writer(op, cases[i].target);
        const struct rewrite rewrite = {cases[i].rule, s, op->stmts[s].free_count, 8};
        preserve_apply(&arena, op, &rewrite, &out);
        if (out.op != NULL || strstr(str_copy(&arena, out.text), cases[i].reason) == NULL)
            fail_msg("%s: %.*s", cases[i].body, STR_ARG(out.text));
    }
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_pass_softmax), cmocka_unit_test(test_streaming_attention),
        cmocka_unit_test(test_running),          cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
