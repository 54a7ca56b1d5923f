/* Which primitives of neighbouring statements combine, and why others do not. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"

#include "solver/legal/legal.h"
#include "tests/unit/solver/ir/plans.h"
#include "tests/unit/unit.h"

enum { ARENA_BYTES = 256 << 20 };

static struct catalogue load_all(struct arena *arena)
{
    struct catalogue catalogue;
    for (int i = 0; i < PRIMITIVE_COUNT; i++) {
        const struct json *json;
        struct str text;
        struct err err = {0};
        char path[128];
        snprintf(path, sizeof(path), "kernels/primitives/%s.json",
                 primitive_name((enum primitive)i));
        assert_ok(file_read(arena, path, PRIMITIVE_BYTES_MAX, &text, &err));
        assert_ok(json_parse(arena, text, path, &json, &err));
        assert_ok(primitive_entry_parse(arena, json, &catalogue.entries[i], &err));
    }
    return catalogue;
}

static void combine(struct arena *arena, const char *name, int64_t capability,
                    const struct catalogue *catalogue, struct combinations *out)
{
    const struct bound_op *bound = plans_op(arena, name);
    struct structures *found = arena_new(arena, struct structures);
    structure_of(arena, bound, NULL, found);
    compose_primitives(arena, bound, found, catalogue, capability, out);
}

/* NULL: there is no such pair. */
static const struct combination *find(const struct combinations *all, size_t from, size_t to,
                                      const char *gives, const char *by)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct combination *c = &all->items[i];
        if (c->from == from && c->to == to && str_equal(c->gives->name, str_from(gives)) &&
            str_equal(c->by->name, str_from(by)))
            return c;
    }
    return NULL;
}

static const struct {
    const char *op;
    size_t from, to;
    const char *gives, *by, *text; /* text begins so; with '!': refused */
} cases[] = {
    {"softmax", 0, 1, "block-cooperative-summary", "vector-access", ""},
    {"softmax", 0, 1, "reduction-tree", "vector-access", "!a thread has a part of it only"},
    {"softmax", 1, 2, "vector-access", "online-state-update", "terms are computed where"},
    {"softmax", 1, 2, "rematerialisation", "block-cooperative-summary", ""},
    {"causal_attention", 0, 1, "tensor-core-tile", "rematerialisation",
     "!the products behind it would be computed again"},
    {"causal_attention", 0, 1, "register-tile", "vector-access", ""},
    {"causal_attention", 3, 5, "vector-access", "tile-staging", "it is computed once"},
    {"causal_attention", 3, 5, "vector-access", "async-pipeline", "!it is made in the region"},
    {"softmax", 0, 2, "block-cooperative-summary", "vector-access", NULL},
    {"softmax", 0, 1, "vector-access", "vector-access", NULL},
    {"groupnorm", 1, 4, "vector-access", "vector-access", "!read at other elements too"},
    {"lstm", 4, 6, "vector-access", "vector-access", "!only one of them goes step by step"},
    {"lstm", 4, 5, "vector-access", "vector-access", ""},
};

static void test_pairs(void **state UNUSED)
{
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    struct catalogue catalogue = load_all(&arena);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct combinations all;
        combine(&arena, cases[i].op, 90, &catalogue, &all);
        const struct combination *c =
            find(&all, cases[i].from, cases[i].to, cases[i].gives, cases[i].by);
        const char *text = cases[i].text;
        if ((c == NULL) != (text == NULL))
            fail_msg("%s, %zu to %zu, %s by %s: %s", cases[i].op, cases[i].from, cases[i].to,
                     cases[i].gives, cases[i].by, c == NULL ? "none" : "is there");
        if (c == NULL)
            continue;
        bool refused = text[0] == '!';
        if (c->allowed == refused || !str_has_prefix(c->text, str_from(text + refused)))
            fail_msg("%s, %zu to %zu, %s by %s: %d, %.*s", cases[i].op, cases[i].from, cases[i].to,
                     cases[i].gives, cases[i].by, c->allowed, STR_ARG(c->text));
    }
    arena_release(&arena);
}

/*
 * softmax, 4096 long.  0 -> 1: a tree, a stream and a block give the maximum, which a vector access
 * and a recomputation read; 1 -> 2: those two give what tree, residency, stream, state, block and
 * vector sum; 1 -> 3: they are read by a vector access; so is the sum of tree, stream, state and
 * block.  Parts of threads are refused to those who read a value: 2 x 2 and 3.
 */
static void test_counts(void **state UNUSED)
{
    struct arena arena;
    struct combinations all;
    arena_init(&arena, ARENA_BYTES);
    struct catalogue catalogue = load_all(&arena);
    combine(&arena, "softmax", 90, &catalogue, &all);
    assert_int_equal(all.count, 3 * 2 + 2 * 6 + 2 * 1 + 4 * 1);
    assert_int_equal(all.refused, 2 * 2 + 3);
    combine(&arena, "matmul", 90, &catalogue, &all);
    assert_int_equal(all.count, 0);
    arena_release(&arena);
}

/* What needs a newer machine is refused on an older one, and nothing else changes. */
static void test_capability(void **state UNUSED)
{
    struct arena arena;
    struct combinations old, new;
    size_t changed = 0;
    arena_init(&arena, ARENA_BYTES);
    struct catalogue catalogue = load_all(&arena);
    combine(&arena, "causal_attention", 90, &catalogue, &new);
    combine(&arena, "causal_attention", 75, &catalogue, &old);
    assert_int_equal(old.count, new.count);
    for (size_t i = 0; i < old.count; i++) {
        bool needs = old.items[i].gives->capability > 75 || old.items[i].by->capability > 75;
        assert_true(needs || old.items[i].allowed == new.items[i].allowed);
        assert_false(needs && old.items[i].allowed);
        changed += old.items[i].allowed != new.items[i].allowed;
    }
    assert_int_equal(changed, 2); /* tensor-core tiles of both products, read by a vector access */
    arena_release(&arena);
}

/* The rules are data: an entry that takes nothing makes all that it reads refused. */
static void test_rules_are_data(void **state UNUSED)
{
    struct arena arena;
    struct combinations all;
    arena_init(&arena, ARENA_BYTES);
    struct catalogue catalogue = load_all(&arena);
    struct primitive_entry deaf = *catalogue.entries[PRIMITIVE_VECTOR_ACCESS];
    deaf.take_count = 0;
    catalogue.entries[PRIMITIVE_VECTOR_ACCESS] = &deaf;
    combine(&arena, "softmax", 90, &catalogue, &all);
    for (size_t i = 0; i < all.count; i++)
        if (all.items[i].by == &deaf)
            assert_true(!all.items[i].allowed && all.items[i].text.len > 0);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_capability),
        cmocka_unit_test(test_rules_are_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
