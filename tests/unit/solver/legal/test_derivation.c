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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_confirmed),
        cmocka_unit_test(test_there_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
