/*
 * What has a name in the field falls out of the rules: each line of
 * tests/golden/derivations/list.txt is a naive spec and a list of rewrites.  Here what they lead to
 * is run against the naive spec's bound, stretched by the product of the steps' terms;
 * tests/golden/derivations.sh has the texts.
 */
#include "tests/unit/solver/legal/rewrites.h"

enum { ARENA_BYTES = 1 << 30, LIST_BYTES = 1 << 16, NAMES_MAX = 64 };

static const char list_path[] = "tests/golden/derivations/list.txt";

static const enum data_class classes[] = {DATA_SPEC,     DATA_POSITIVE, DATA_LARGE,
                                          DATA_ONE_HOT,  DATA_HEAVY,    DATA_OFFSET,
                                          DATA_INTEGERS, DATA_CANCEL,   DATA_ZEROS};
static const enum interp_order orders[] = {ORDER_SEQUENTIAL, ORDER_PAIRWISE};

struct derivation {
    struct str name, spec, rewrites;
};

static struct str trimmed(struct str text)
{
    while (text.len > 0 && text.at[0] == ' ')
        text = (struct str){text.at + 1, text.len - 1};
    while (text.len > 0 && text.at[text.len - 1] == ' ')
        text.len--;
    return text;
}

/* What stands before the next `mark`, without spaces around it. */
static struct str next_field(struct str *rest, char mark)
{
    const char *end = memchr(rest->at, mark, rest->len);
    size_t len = end == NULL ? rest->len : (size_t)(end - rest->at);
    struct str field = {rest->at, len};
    *rest = (struct str){rest->at + len + (end != NULL), rest->len - len - (end != NULL)};
    return trimmed(field);
}

static size_t read_list(struct arena *arena, struct derivation *out)
{
    struct str text, line;
    size_t count = 0;
    struct err err = {0};
    assert_ok(file_read(arena, list_path, LIST_BYTES, &text, &err));
    while (str_next_line(&text, &line)) {
        if (line.len == 0 || line.at[0] == '#')
            continue;
        assert_true(count < NAMES_MAX);
        struct derivation *d = &out[count++];
        d->name = next_field(&line, '|');
        d->spec = next_field(&line, '|');
        d->rewrites = next_field(&line, '|');
    }
    return count;
}

static const struct op *spec_at(struct arena *arena, struct str path)
{
    const struct op_library library = {ops_find, NULL};
    const struct op *op, *normal;
    struct str text;
    struct err err = {0};
    const char *name = str_copy(arena, path);
    assert_ok(file_read(arena, name, OP_SPEC_BYTES_MAX, &text, &err));
    assert_ok(op_parse(arena, text, name, &library, &op, &err));
    assert_ok(op_normal(arena, op, &normal, &err));
    return normal;
}

/* The steps' ops and terms; the terms are in the dims, which do not change. */
struct derived {
    const struct op *first, *last;
    struct rewritten steps[16];
    size_t count;
};

static void derive(struct arena *arena, const struct derivation *derivation, struct derived *out)
{
    struct str rest = derivation->rewrites;
    *out = (struct derived){.first = spec_at(arena, derivation->spec)};
    out->last = out->first;
    while (rest.len > 0) {
        struct rewrite rewrite;
        struct err err = {0};
        struct str step = next_field(&rest, ',');
        assert_true(out->count < COUNT_OF(out->steps));
        assert_ok(rewrite_parse(out->last, step, "list", &rewrite, &err));
        struct rewritten *result = &out->steps[out->count++];
        preserve_apply(arena, out->last, &rewrite, result);
        if (result->op == NULL)
            fail_msg("%.*s, %.*s: %.*s", STR_ARG(derivation->name), STR_ARG(step),
                     STR_ARG(result->text));
        out->last = result->op;
    }
}

static double confirm(const struct derived *derived, const struct bound_op *bound,
                      enum data_class class, struct str name)
{
    struct arena arena;
    struct trial trial;
    double worst = 0, scale = 1;
    arena_init(&arena, ARENA_BYTES);
    for (size_t i = 0; i < derived->count; i++)
        scale *= rewritten_scale(&derived->steps[i], bound);
    trial_begin(&arena, bound, NULL, class, 11, &trial);
    for (size_t o = 0; o < COUNT_OF(orders); o++)
        worst = fmax(worst, trial_ratio(&arena, &trial, derived->last, orders[o]) / scale);
    if (!(worst <= 1))
        fail_msg("%.*s, data %s: %g of what is allowed", STR_ARG(name), data_class_name(class),
                 worst);
    arena_release(&arena);
    return worst;
}

static void test_confirmed(void **state UNUSED)
{
    struct derivation list[NAMES_MAX];
    struct arena names;
    arena_init(&names, ARENA_BYTES);
    size_t count = read_list(&names, list);
    assert_true(count >= 20);
    for (size_t i = 0; i < count; i++) {
        struct arena arena;
        struct derived derived;
        size_t runs = 0;
        double worst = 0;
        arena_init(&arena, ARENA_BYTES);
        derive(&arena, &list[i], &derived);
        for (size_t v = 0; v < derived.first->verify_count; v++) {
            const struct bound_op *bound;
            struct err err = {0};
            assert_ok(
                op_bind_shape(&arena, derived.first, &derived.first->verify[v], &bound, &err));
            for (size_t c = 0; c < COUNT_OF(classes) && is_small(bound); c++, runs++)
                worst = fmax(worst, confirm(&derived, bound, classes[c], list[i].name));
        }
        print_message("%-30.*s %3zu runs, at most %.3g of what is allowed\n", STR_ARG(list[i].name),
                      runs, worst);
        assert_true(runs >= 2 * COUNT_OF(classes));
        arena_release(&arena);
    }
    arena_release(&names);
}

/* The window's elements put into a matrix and back again are the naive statement. */
static void test_there_and_back(void **state UNUSED)
{
    const struct derivation conv = {STR_LIT("conv2d"), STR_LIT("kernels/ops/conv2d.json"),
                                    STR_LIT("gather:y:1,inline:operand0")};
    struct derived derived;
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    derive(&arena, &conv, &derived);
    assert_string_equal(body_of(&arena, derived.first), body_of(&arena, derived.last));
    assert_null(strstr(body_of(&arena, derived.steps[1].op), "operand"));
    assert_non_null(strstr(body_of(&arena, derived.steps[0].op), "operand0[b,p,q,c,r,s]"));
    arena_release(&arena);
}

/* ---- one rule each, on statements that the library does not have ---- */

static const struct {
    const char *rewrite, *policy, *body, *made; /* a line of what comes out */
} rules[] = {
    {"split:i:j:8", "", "i[r] = max(j) k[r,j]",
     "partial0[r,part0:ceildiv(N, 8)] = max(inner0:8) k[r,min(part0 * 8 + inner0, N - 1)]\n"},
    {"split:t:j:8", "", "t[r] = argmin(j,d) x[r,j] * v[j,d]\ni[r] = i32(t[r])",
     "t[r] = best0[r] * 8 * D + pad(place0[r,best0[r]])\n"},
    {"split:t:j:8", "", "t[r] = argmax(j) k[r,j]\ni[r] = i32(t[r])",
     "best0[r] = argmax(part0) partial0[r,part0]\n"},
    {"split:t:j:8", "", "t[r] = any(j) x[r,j] > 1\ny[r] = t[r] ? 1.0 : x[r,0]",
     "where(part0 * 8 + inner0 < N, pad(x[r,part0 * 8 + inner0]) > 1.0, false)\n"},
    {"split:y:j:8", "'finite_inputs': true", "y[r] = prod(j) cos(x[r,j])",
     "y[r] = prod(part0) partial0[r,part0]\n"},
    {"interchange:y:j", "", "y[r] = sum(j,d) x[r,j] * v[j,d]", "y[r] = sum(d,j) x[r,j] * v[j,d]\n"},
    {"merge:y", "", "t[r,d:D] = max(j) x[r,j] * v[j,d]\ny[r] = max(d) t[r,d]",
     "y[r] = max(d,j) x[r,j] * v[j,d]\n"},
    {"merge:y", "", "t[j] = sum(d) v[j,d]\ny[r] = sum(l:2) t[min(l, r)]",
     "y[r] = sum(l:2,d) v[min(l, r),d]\n"},
    {"associate:y:0", "'finite_inputs': true",
     "t[r,d:D] = sum(j) x[r,j] * v[j,d]\ny[r] = sum(d) t[r,d] * v[0,d]",
     "product0[j] = sum(d) v[j,d] * v[0,d]\n"},
    {"associate:i:1", "", "t[r,d:D] = sum(j) k[r,j] * k[d,j]\ni[r] = sum(d:1) k[r,d] * t[r,d]",
     "i[r] = sum(j) k[r,j] * product0[r,j]\n"},
    {"again:t", "", "t[r] = sum(j) x[r,j]\ny[r] = t[r]\no[r,d] = t[r] * v[0,d]",
     "o[r,d] = again0[r] * v[0,d]\n"},
    {"transpose:t:r", "", "t[r,j:N] = sum(l <= j) x[r,l]\ny[r] = t[r,N - 1]",
     "t[j:N,r] = sum(l <= j) x[r,l]\n"},
    {"flatten:t:r", "", "t[r,j,d:D] = x[r,j] * v[j,d]\ny[r] = max(j,d) t[r,j,d]",
     "y[r] = max(j:N,d) t[r * N + j,d]\n"},
    {"gather:y:1", "", "y[r] = sum(j) x[r,j] * pad(v[j + r - 1,0])",
     "operand0[r:M,j:N] = pad(v[j + r - 1,0])\n"},
    {"reciprocal:o", "", "o[r,d] = v[0,d] / (1 + x[r,0] * x[r,0])",
     "reciprocal0[r] = 1.0 / (1.0 + x[r,0] * x[r,0])\n"},
    {"reciprocal:o", "", "o[r,d] = v[0,d] / (1 + abs(x[r,0])) + v[0,d] / (2 + abs(x[r,0]))",
     "o[r,d] = v[0,d] * reciprocal0[r] + v[0,d] * reciprocal1[r]\n"},
    {"rsqrt:y", "", "y[r] = x[r,0] / sqrt(v[0,0])", "y[r] = x[r,0] * rsqrt(v[0,0])\n"},
    {"rsqrt:y", "", "y[r] = 1 / sqrt(v[0,0]) + x[r,0]", "y[r] = rsqrt(v[0,0]) + x[r,0]\n"},
    {"rsqrt:y", "", "y[r] = x[r,0] * rsqrt(v[0,0])", "y[r] = x[r,0] * (1.0 / sqrt(v[0,0]))\n"},
    {"exp2:y", "", "y[r] = exp(x[r,0])", "y[r] = exp2(x[r,0] * 1.4426950408889634)\n"},
    {"polynomial:y:9", "", "y[r] = exp2(x[r,0])", "y[r] = exp2(floor(min(max(x[r,0], -1.6e+02)"},
    {"parts:y:3", "'finite_inputs': true", "y[r] = sum(j) x[r,j] * f32(bf16(v[j,0]))",
     "y[r] = sum(j) f32(bits2[r,j]) * f32(bf16(v[j,0])) + f32(bits1[r,j])"},
};

static void test_rules(void **state UNUSED)
{
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        struct arena arena;
        struct rewrite rewrite;
        struct err err = {0};
        arena_init(&arena, ARENA_BYTES);
        struct derived derived = {.first = case_op(&arena, rules[i].policy, rules[i].body)};
        struct rewritten *step = &derived.steps[derived.count++];
        assert_ok(rewrite_parse(derived.first, str_from(rules[i].rewrite), "", &rewrite, &err));
        preserve_apply(&arena, derived.first, &rewrite, step);
        if (step->op == NULL)
            fail_msg("%s: %.*s", rules[i].body, STR_ARG(step->text));
        derived.last = step->op;
        if (strstr(body_of(&arena, step->op), rules[i].made) == NULL)
            fail_msg("%s of\n%s\nis\n%s", rules[i].rewrite, rules[i].body,
                     body_of(&arena, step->op));
        for (size_t v = 0; v < derived.first->verify_count; v++)
            for (int c = 0; c < DATA_CLASS_COUNT; c++) {
                const struct bound_op *bound;
                assert_ok(
                    op_bind_shape(&arena, derived.first, &derived.first->verify[v], &bound, &err));
                if (c != DATA_SPECIAL || !derived.first->policy.finite_inputs)
                    confirm(&derived, bound, (enum data_class)c, str_from(rules[i].rewrite));
            }
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_confirmed),
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
