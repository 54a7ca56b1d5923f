/* Rewrites: every legal one of the library's ops stays inside the bound, what they make of an op.
 */
#include "base/rng.h"

#include "tests/unit/solver/legal/rewrites.h"

enum { ARENA_BYTES = 1 << 30, CASES_MAX = 2048, WALK_STEPS = 5 };

static const enum data_class few[] = {DATA_SPEC,   DATA_LARGE,   DATA_ONE_HOT,  DATA_HEAVY,
                                      DATA_CANCEL, DATA_SPECIAL, DATA_INTEGERS, DATA_ZEROS};

static const enum interp_order orders[] = {ORDER_SEQUENTIAL, ORDER_STRIDED};

/* FULL_REWRITES=1: every class of data in both orders, many walks. */
static bool is_full(void)
{
    const char *full = getenv("FULL_REWRITES");
    return full != NULL && strcmp(full, "1") == 0;
}

struct count {
    size_t legal, refused, runs;
    double worst; /* of what is allowed */
};

struct tally {
    struct count by_rule[REWRITE_COUNT + 1]; /* last: several rewrites */
    size_t blameless; /* data on which the op before the rewrite leaves its own bound */
};

static struct count total_of(const struct tally *tally)
{
    struct count total = {.runs = 0};
    for (size_t i = 0; i <= REWRITE_COUNT; i++) {
        total.legal += tally->by_rule[i].legal;
        total.refused += tally->by_rule[i].refused;
        total.runs += tally->by_rule[i].runs;
    }
    return total;
}

static void print_tally(const char *what, const struct tally *tally)
{
    struct count total = total_of(tally);
    print_message("%s: %zu legal, %zu refused, %zu runs inside bound and term\n", what, total.legal,
                  total.refused, total.runs);
    for (int rule = 0; rule < REWRITE_COUNT; rule++)
        print_message(
            "  %-12s %4zu legal %4zu refused %6zu runs, at most %.3g of what is allowed\n",
            rewrite_name((enum rewrite_rule)rule), tally->by_rule[rule].legal,
            tally->by_rule[rule].refused, tally->by_rule[rule].runs, tally->by_rule[rule].worst);
}

/* The rule made no op, and it is not for its size. */
static bool is_malformed(struct str why)
{
    return memmem(why.at, why.len, "rewritten:", 10) != NULL &&
           memmem(why.at, why.len, "2^40 elements", 13) == NULL;
}

/* A rewritten op against the first one's trial. */
static void try_run(struct arena *arena, const struct trial *trial, const struct op *changed,
                    double scale, enum interp_order order, const char *what, struct count *count)
{
    double ratio = trial_ratio(arena, trial, changed, order) / scale;
    count->runs++;
    count->worst = fmax(count->worst, ratio);
    if (!(ratio <= 1))
        fail_msg("%.*s, %s: %g of what is allowed", STR_ARG(trial->first->op->name), what, ratio);
}

static void try_data(const struct op *changed, double scale, const struct bound_op *bound,
                     enum data_class class, const char *what, struct count *count)
{
    struct arena arena;
    struct trial trial;
    arena_init(&arena, ARENA_BYTES);
    trial_begin(&arena, bound, NULL, class, 7, &trial);
    for (size_t i = 0; i < COUNT_OF(orders); i++)
        try_run(&arena, &trial, changed, scale, orders[i], what, count);
    arena_release(&arena);
}

/* ---- every rewrite of every op of the library ---- */

struct attempt {
    struct rewrite rewrite;
    struct rewritten out;
    const char *what;
};

struct attempts {
    struct attempt at[CASES_MAX];
    size_t count;
};

static const char *text_of(struct arena *arena, const struct op *op, const struct rewrite *rewrite)
{
    struct buf text;
    buf_init(&text, arena, 4096);
    rewrite_print(&text, op, rewrite);
    return str_copy(arena, buf_view(&text));
}

/* What is printed is what was meant. */
static void check_text(const struct op *op, const struct rewrite *rewrite, const char *text)
{
    struct rewrite again;
    struct err err = {0};
    assert_ok(rewrite_parse(op, str_from(text), "text", &again, &err));
    assert_true(again.rule == rewrite->rule && again.stmt == rewrite->stmt &&
                again.number == rewrite->number &&
                (rewrite_loop_of(again.rule) == LOOP_NONE || again.loop == rewrite->loop));
}

static void attempt(struct arena *arena, const struct op *op, const struct rewrite *rewrite,
                    struct attempts *attempts, struct tally *tally)
{
    struct attempt *a = &attempts->at[attempts->count];
    assert_true(attempts->count < CASES_MAX);
    a->rewrite = *rewrite;
    a->what = text_of(arena, op, rewrite);
    check_text(op, rewrite, a->what);
    preserve_apply(arena, op, rewrite, &a->out);
    assert_true(a->out.text.len > 0);
    if (a->out.op != NULL) {
        tally->by_rule[rewrite->rule].legal++;
        attempts->count++;
        return;
    }
    tally->by_rule[rewrite->rule].refused++;
    if (is_malformed(a->out.text))
        fail_msg("%.*s, %s: %.*s", STR_ARG(op->name), a->what, STR_ARG(a->out.text));
}

static void attempt_all(struct arena *arena, const struct op *op, struct attempts *attempts,
                        struct tally *tally)
{
    static const int64_t blocks[] = {5, 64, 1};
    attempts->count = 0;
    for (size_t b = 0; b < COUNT_OF(blocks); b++) {
        size_t count;
        const struct rewrite *all = rewrite_list(arena, op, blocks[b], &count);
        for (size_t i = 0; i < count; i++) {
            struct rewrite rewrite = all[i];
            bool precision = rewrite_preservation(rewrite.rule) == PRESERVATION_PRECISION;
            if (b > 0 && rewrite_number_of(rewrite.rule) != NUMBER_BLOCK)
                continue;
            for (size_t t = 0; t < (precision ? op->track_count : 1); t++) {
                rewrite.track = &op->tracks[t];
                attempt(arena, op, &rewrite, attempts, tally);
            }
        }
    }
}

/* All of them on one shape and class of data; the first op is run once for each track. */
static void try_attempts(const struct op *op, const struct bound_op *bound, enum data_class class,
                         const struct attempts *attempts, struct tally *tally)
{
    for (size_t t = 0; t < op->track_count; t++) {
        struct arena arena;
        struct trial trial;
        bool begun = false;
        arena_init(&arena, ARENA_BYTES);
        for (size_t i = 0; i < attempts->count; i++) {
            const struct attempt *a = &attempts->at[i];
            if (a->rewrite.track != &op->tracks[t])
                continue;
            if (!begun)
                trial_begin(&arena, bound, &op->tracks[t], class, 7, &trial);
            begun = true;
            for (size_t o = 0; o < COUNT_OF(orders); o++) {
                if (!is_full() && (i + (size_t) class + o) % 2 != 0)
                    continue;
                try_run(&arena, &trial, a->out.op, rewritten_scale(&a->out, bound), orders[o],
                        a->what, &tally->by_rule[a->rewrite.rule]);
            }
        }
        arena_release(&arena);
    }
}

static void try_op(struct arena *arena, const struct op *op, struct tally *tally)
{
    struct attempts *attempts = arena_new(arena, struct attempts);
    attempt_all(arena, op, attempts, tally);
    for (size_t v = 0; v < op->verify_count; v++) {
        struct err err = {0};
        const struct bound_op *bound;
        assert_ok(op_bind_shape(arena, op, &op->verify[v], &bound, &err));
        for (int c = 0; c < DATA_CLASS_COUNT && is_small(bound); c++) {
            bool wanted = is_full();
            for (size_t i = 0; i < COUNT_OF(few); i++)
                wanted |= few[i] == (enum data_class)c;
            if (wanted && (c != DATA_SPECIAL || !op->policy.finite_inputs))
                try_attempts(op, bound, (enum data_class)c, attempts, tally);
        }
    }
}

static void test_library(void **state UNUSED)
{
    const char *names[OPS_MAX];
    struct tally tally = {.by_rule = {{.runs = 0}}};
    struct arena list;
    arena_init(&list, ARENA_BYTES);
    size_t count = ops_all(&list, names);
    for (size_t i = 0; i < count; i++) {
        struct arena arena;
        arena_init(&arena, ARENA_BYTES);
        try_op(&arena, ops_named(&arena, names[i]), &tally);
        arena_release(&arena);
    }
    print_tally("kernels/ops", &tally);
    struct count total = total_of(&tally);
    assert_true(total.legal > 400 && total.refused > 400 && total.runs > 8000);
    arena_release(&list);
}

/* ---- several, at random: each against the op before it ---- */

struct walk {
    struct arena *arena;
    struct rng rng;
    const struct op *op;
    struct buf path;
    struct tally *tally;
};

static bool pick(struct walk *w, struct rewrite *out)
{
    static const int64_t blocks[] = {1, 2, 3, 5, 16, 64};
    size_t count;
    const struct rewrite *all = rewrite_list(
        w->arena, w->op, blocks[rng_below(&w->rng, (uint32_t)COUNT_OF(blocks))], &count);
    if (count == 0)
        return false;
    enum rewrite_rule rule = all[rng_below(&w->rng, (uint32_t)count)].rule;
    do /* rules that there are many of shall not crowd out the others */
        *out = all[rng_below(&w->rng, (uint32_t)count)];
    while (out->rule != rule && rng_below(&w->rng, 4) > 0);
    out->track = &w->op->tracks[rng_below(&w->rng, (uint32_t)w->op->track_count)];
    return true;
}

static struct str dims_of(struct arena *arena, const struct bound_op *bound)
{
    struct buf text;
    buf_init(&text, arena, 4096);
    op_print_dims(&text, bound);
    return buf_view(&text);
}

static const char *PRINTF_LIKE(2, 3) what_of(struct arena *arena, const char *fmt, ...)
{
    struct buf text;
    va_list args;
    buf_init(&text, arena, 1 << 16);
    va_start(args, fmt);
    buf_vprintf(&text, fmt, args);
    va_end(args);
    return str_copy(arena, buf_view(&text));
}

static void try_step(struct walk *w, const struct rewrite *rewrite, const struct rewritten *out)
{
    enum data_class class = (enum data_class)rng_below(&w->rng, DATA_CLASS_COUNT);
    size_t shape = rng_below(&w->rng, (uint32_t)w->op->verify_count);
    enum interp_order order = (enum interp_order)rng_below(&w->rng, ORDER_STRIDED + 1);
    const struct bound_op *bound, *changed;
    struct trial trial;
    struct arena arena;
    struct err err = {0};
    if (class == DATA_SPECIAL && w->op->policy.finite_inputs)
        return;
    arena_init(&arena, ARENA_BYTES);
    assert_ok(op_bind_shape(&arena, w->op, &w->op->verify[shape], &bound, &err));
    assert_ok(op_bind_shape(&arena, out->op, &out->op->verify[shape], &changed, &err));
    if (is_small(bound) && is_small(changed)) {
        const struct str dims = dims_of(&arena, bound);
        const char *what = what_of(&arena, "%.*s, data %s, %.*s", STR_ARG(buf_view(&w->path)),
                                   data_class_name(class), STR_ARG(dims));
        trial_begin(&arena, bound, rewrite->track, class, rng_u32(&w->rng), &trial);
        if (trial_ratio(&arena, &trial, w->op, order) > 1)
            w->tally->blameless++;
        else
            try_run(&arena, &trial, out->op, rewritten_scale(out, bound), order, what,
                    &w->tally->by_rule[rewrite->rule]);
    }
    arena_release(&arena);
}

static void walk(struct walk *w)
{
    for (int step = 0; step < WALK_STEPS; step++) {
        struct rewrite rewrite;
        struct rewritten out;
        if (!pick(w, &rewrite))
            return;
        preserve_apply(w->arena, w->op, &rewrite, &out);
        if (out.op == NULL) {
            w->tally->by_rule[rewrite.rule].refused++;
            if (is_malformed(out.text))
                fail_msg("%.*s,%s, then %s: %.*s", STR_ARG(w->op->name), w->path.at,
                         text_of(w->arena, w->op, &rewrite), STR_ARG(out.text));
            continue;
        }
        w->tally->by_rule[rewrite.rule].legal++;
        buf_printf(&w->path, " %s", text_of(w->arena, w->op, &rewrite));
        for (int runs = 0; runs < 2; runs++)
            try_step(w, &rewrite, &out);
        w->op = out.op;
    }
}

static void test_walks(void **state UNUSED)
{
    const char *names[OPS_MAX];
    struct tally tally = {.by_rule = {{.runs = 0}}};
    struct arena list;
    arena_init(&list, ARENA_BYTES);
    size_t count = ops_all(&list, names);
    for (size_t i = 0; i < count; i++)
        for (uint64_t seed = 0; seed < (is_full() ? 400 : 20); seed++) {
            struct arena arena;
            struct walk w = {.arena = &arena, .tally = &tally};
            arena_init(&arena, ARENA_BYTES);
            rng_init(&w.rng, seed * 1000 + i);
            w.op = ops_named(&arena, names[i]);
            buf_init(&w.path, &arena, 1 << 16);
            buf_printf(&w.path, " seed %llu:", (unsigned long long)seed);
            walk(&w);
            arena_release(&arena);
        }
    print_tally("walks", &tally);
    print_message("%zu runs left out, the op itself being outside its bound\n", tally.blameless);
    assert_int_equal(tally.blameless, 0);
    struct count total = total_of(&tally);
    assert_true(total.legal > 500 && total.runs > 500);
    arena_release(&list);
}

/* ---- what comes out ---- */

static void test_one_pass_softmax(void **state UNUSED)
{
    const struct rewrite rescale = {REWRITE_RESCALE, 0, 1, 64, NULL};
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
    size_t tensor = op_tensor_find(op, str_from(name));
    assert_true(tensor != OP_NONE);
    return op->tensors[tensor].written_by;
}

static const struct op *applied(struct arena *arena, const struct op *op, enum rewrite_rule rule,
                                const char *target, int64_t block, double *scale)
{
    size_t s = writer(op, target);
    const struct rewrite rewrite = {rule, s, op->stmts[s].free_count, block, NULL};
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
    struct count count = {.runs = 0};
    struct arena arena;
    double scale = 1;
    arena_init(&arena, ARENA_BYTES);
    const struct op *op = op_of(&arena, "'finite_inputs': true", naive_attention);
    const struct op *hoisted = applied(&arena, op, REWRITE_HOIST, "o", 1, &scale);
    const struct op *streamed = applied(&arena, hoisted, REWRITE_RESCALE, "m", 16, &scale);
    const char *body = body_of(&arena, streamed);
    assert_non_null(strstr(body, "o[r,d] = sum0[r,d] / z[r]"));
    assert_non_null(strstr(body, "sum0[r,d] = sum(part0) where(partial0[r,part0] == -inf"));
    assert_null(strstr(body, "sum(j) e"));
    for (size_t v = 0; v < op->verify_count; v++)
        for (size_t c = 0; c < COUNT_OF(few); c++) {
            const struct bound_op *bound;
            struct err err = {0};
            assert_ok(op_bind_shape(&arena, op, &op->verify[v], &bound, &err));
            if (few[c] != DATA_SPECIAL)
                try_data(streamed, scale, bound, few[c], "hoist, rescale", &count);
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
        const struct rewrite rewrite = {cases[i].rule, s, op->stmts[s].free_count, 8, NULL};
        preserve_apply(&arena, op, &rewrite, &out);
        if (out.op != NULL || strstr(str_copy(&arena, out.text), cases[i].reason) == NULL)
            fail_msg("%s: %.*s", cases[i].body, STR_ARG(out.text));
    }
    arena_release(&arena);
}

/* What has no such form: nothing could be done by force.  The others are in test_witness.c. */
static void test_no_such_form(void **state UNUSED)
{
    static const struct {
        const char *rewrite, *policy, *body, *reason;
    } cases[] = {
        {"again:y", "", "y[r] = x[r,0]", "is there once"},
        {"again:t", "", "t[r,j] = x[r,j] + 1\ny[r] = sum(j) t[r,j]", "no two statements"},
        {"interchange:y:d", "", "y[r] = sum(j,d) x[r,j] * v[j,d]", "no reduced loop follows"},
        {"interchange:y:r", "", "y[r] = sum(j,d) x[r,j] * v[j,d]", "no reduced loop follows"},
        {"merge:y", "", "y[r] = sum(j) x[r,j]", "not what another statement reduced"},
        {"merge:y", "", "y[r] = x[r,0]", "no reduction that merges"},
        {"merge:y", "", "t[r,j] = x[r,j] + 1\ny[r] = sum(j) t[r,j]", "terms are map results"},
        {"merge:y", "'summation': 'compensated'",
         "t[r,d:D] = sum(j) x[r,j] * v[j,d]\ny[r] = sum(d) t[r,d]", "compensated"},
        {"associate:y:3", "", "y[r] = sum(j) x[r,j] * v[j,0]", "no factor 3"},
        {"associate:y:0", "", "y[r] = sum(j) x[r,j]", "no other factor"},
        {"associate:y:0", "'finite_inputs': true",
         "t[r,d:D] = sum(j) x[r,j] * x[0,j]\ny[r] = sum(d) t[r,d] * v[0,d]", "no chain"},
        {"associate:y:0", "'finite_inputs': true",
         "t[r,d:D] = sum(j) x[r,j] * v[j,d]\ny[r] = sum(d) t[r,d] * t[r,d]", "a factor twice"},
        {"transpose:o:r", "", "o[r,d] = v[0,d]", "whose layout the spec gives"},
        {"transpose:t:j", "", "t[r,j] = x[r,j] + 1\ny[r] = sum(j) t[r,j]", "follows index 1"},
        {"flatten:t:r", "", "t[r,j:N] = sum(l <= j) x[r,l]\ny[r] = t[r,N - 1]",
         "a scan is bounded"},
        {"gather:y:0", "", "y[r] = sum(j) x[r,j] * v[j,0]", "a matrix over its indices"},
        {"gather:y:0", "", "y[r] = sum(j) x[r,j]", "no products"},
        {"gather:y:0", "", "y[r] = max(j) x[r,j] * pad(v[j + 1,0])", "no plain sum"},
        {"gather:y:0", "", "y[r] = sum(j) 2 * x[r,j]", "no operand"},
        {"reciprocal:y", "", "y[r] = x[r,0] / N", "no quotient whose divisor"},
        {"reciprocal:o", "", "o[r,d] = v[0,d] / (1 + abs(x[r,0] * v[0,d]))", "no quotient whose"},
        {"reciprocal:o", "", "o[r,d] = v[0,d] / max(x[r,0], -1.0)", "nothing says"},
        {"reciprocal:o", "", "o[r,d] = v[0,d] / min(abs(x[r,0]) + 1, x[r,0])", "nothing says"},
        {"exp2:y", "", "y[r] = sin(x[r,0])", "no exp"},
        {"rsqrt:y", "", "y[r] = sqrt(x[r,0])", "no quotient by a square root"},
        {"polynomial:y:8", "", "y[r] = x[r,0]", "no exp"},
        {"polynomial:y:13", "", "y[r] = exp(x[r,0])", "from 1 to 12"},
        {"polynomial:y:7", "", "y[r] = exp(x[r,0])", "22.2 units"},
        {"round:y", "", "y[r] = sum(j) x[r,j]", "no sum of products"},
        {"round:y", "", "y[r] = sum(j) exp(x[r,j]) * v[j,0]", "is computed"},
        {"parts:y:4", "'finite_inputs': true", "y[r] = sum(j) x[r,j] * v[j,0]", "2 or 3"},
        {"online:m:j:4", "",
         "m[r] = max(j) x[r,j]\ny[r] = sum(j) exp(x[r,j] - m[r])\n"
         "o[r,d] = sum(j) exp(x[r,j] - m[r]) / y[r] * v[j,d]",
         "need the end of what would run"},
        {"split:y:j:0", "", "y[r] = sum(j) x[r,j]", "parts of 0"},
    };
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rewritten out;
        struct rewrite rewrite;
        struct err err = {0};
        const struct op *op = case_op(&arena, cases[i].policy, cases[i].body);
        assert_ok(rewrite_parse(op, str_from(cases[i].rewrite), "case", &rewrite, &err));
        preserve_apply(&arena, op, &rewrite, &out);
        if (out.op != NULL || strstr(str_copy(&arena, out.text), "statement ") == NULL ||
            strstr(str_copy(&arena, out.text), cases[i].reason) == NULL)
            fail_msg("%s, %s: %.*s", cases[i].rewrite, cases[i].body, STR_ARG(out.text));
    }
    arena_release(&arena);
}

/* What has to stay legal, for its ranges are known. */
static void test_in_range(void **state UNUSED)
{
    static const struct {
        const char *rewrite, *body;
    } cases[] = {
        {"hoist:y", "y[r] = sum(j) x[r,j] * v[j,0] * x[r,0]"},
        {"hoist:y", "y[r] = sum(j) x[r,j] * v[j,0] / (1 + abs(x[r,0]))"},
        {"hoist:o", "m[r] = max(j) x[r,j]\ne[r,j] = exp(x[r,j] - m[r])\ns[r] = sum(j) e[r,j]\n"
                    "o[r,d] = sum(j) e[r,j] / s[r] * v[j,d]\ny[r] = s[r]"},
        {"online:m:j:4", "u[r,j] = j <= r ? 3 * x[r,j] : -inf\nm[r] = max(j) u[r,j]\n"
                         "e[r,j] = exp(u[r,j] - m[r])\ns[r] = sum(j) e[r,j]\n"
                         "o[r,d] = sum(j) e[r,j] * v[j,d]\ny[r] = s[r]"},
        {"rescale:m:j:4", "u[r,j] = j <= r ? 3 * x[r,j] : -inf\nm[r] = max(j) u[r,j]\n"
                          "e[r,j] = exp(u[r,j] - m[r])\ns[r] = sum(j) e[r,j]\n"
                          "o[r,d] = sum(j) e[r,j] / (1 + s[r]) * v[j,d]\ny[r] = s[r]"},
        {"welford:y:j:4", "s[r] = sum(j) exp(x[r,j])\n"
                          "y[r] = sum(j) (exp(x[r,j]) - s[r] / N) * (exp(x[r,j]) - s[r] / N)"},
        {"associate:y:0", "t[r,d:D] = sum(j) x[r,j] * v[j,d]\ny[r] = sum(d) t[r,d] * v[0,d]"},
        {"parts:o:3", "m[r] = max(j) x[r,j]\ne[r,j] = exp(x[r,j] - m[r])\n"
                      "o[r,d] = sum(j) e[r,j] * v[j,d]\ny[r] = m[r]"},
        {"interchange:y:j", "y[r] = sum(j,d) exp(x[r,j]) * v[j,d]"},
        {"split:y:j:8", "y[r] = sum(j) exp(x[r,j]) * v[j,0]"},
    };
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rewritten out;
        struct rewrite rewrite;
        struct err err = {0};
        const struct op *op = case_op(&arena, "'finite_inputs': true", cases[i].body);
        assert_ok(rewrite_parse(op, str_from(cases[i].rewrite), "case", &rewrite, &err));
        preserve_apply(&arena, op, &rewrite, &out);
        if (out.op == NULL)
            fail_msg("%s, %s: %.*s", cases[i].rewrite, cases[i].body, STR_ARG(out.text));
    }
    arena_release(&arena);
}

static void check_size(const struct bound_op *bound, size_t tensor, enum data_class class,
                       const float *data)
{
    for (int64_t i = 0; i < bound->tensors[tensor].count; i++)
        if (fabs((double)data[i]) > ldexp(1, REWRITE_INPUT_MOST))
            fail_msg("%s: %g", data_class_name(class), (double)data[i]);
}

/* The data that kernels are checked with are inside what ranges are told for. */
static void test_inputs(void **state UNUSED)
{
    struct arena arena;
    const struct bound_op *bound;
    struct err err = {0};
    arena_init(&arena, ARENA_BYTES);
    const struct op *op = case_op(&arena, "'finite_inputs': true", "y[r] = x[r,0]");
    assert_ok(op_bind_shape(&arena, op, &op->verify[1], &bound, &err));
    for (int class = 0; class < DATA_CLASS_COUNT; class ++)
        for (size_t t = 0; t < 2; t++) {
            float *data = arena_array(&arena, float, (size_t)bound->tensors[t].count);
            if (class == DATA_SPECIAL)
                continue;
            assert_ok(fill_tensor(bound, t, (enum data_class) class, 3, 0, data, &err));
            check_size(bound, t, (enum data_class) class, data);
        }
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_pass_softmax),
        cmocka_unit_test(test_streaming_attention),
        cmocka_unit_test(test_running),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_in_range),
        cmocka_unit_test(test_inputs),
        cmocka_unit_test(test_no_such_form),
        cmocka_unit_test(test_library),
        cmocka_unit_test(test_walks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
