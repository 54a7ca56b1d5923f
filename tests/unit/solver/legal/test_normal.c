/*
 * Names, the order of statements and arithmetic that means nothing have no part in what is found:
 * every op of the library is disguised, and the normal forms of both have the same structures and
 * allow the same rewrites.
 */
#include "tests/unit/solver/legal/disguise.h"
#include "tests/unit/solver/legal/rewrites.h"
#include "tests/unit/solver/legal/zoo.h"

enum { ARENA_BYTES = 1 << 30, DISGUISES = 6, TEXT_BYTES = 1 << 20 };

/* ---- what is found ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted words, without names and numbers of statements. */
static const char *found_in(struct arena *arena, const struct op *op)
{
    struct structures found;
    const struct bound_op *bound;
    struct err err = {0};
    struct buf out;
    size_t count, n = 0;
    assert_ok(op_bind_shape(arena, op, &op->targets[0], &bound, &err));
    structure_of(arena, bound, NULL, &found);
    const struct rewrite *list = rewrite_list(arena, op, 64, &count);
    const char **words = arena_array(arena, const char *, found.structure_count + count + 1);
    for (size_t i = 0; i < found.structure_count; i++)
        words[n++] = structure_name(found.structures[i].word);
    for (size_t i = 0; i < count; i++) {
        struct rewritten changed;
        struct buf word;
        preserve_apply(arena, op, &list[i], &changed);
        buf_init(&word, arena, TEXT_BYTES);
        buf_printf(&word, "%s %s", changed.op == NULL ? "refused" : "legal",
                   rewrite_name(list[i].rule));
        words[n++] = word.at;
    }
    qsort(words, n, sizeof(words[0]), by_text);
    buf_init(&out, arena, TEXT_BYTES);
    for (size_t i = 0; i < n; i++)
        buf_printf(&out, "%s\n", words[i]);
    return out.len > 0 ? out.at : "";
}

/* All notes, in order, of the op without names. */
static const char *notes_of(struct arena *arena, const struct op *op, bool with_maps)
{
    struct structures found;
    const struct bound_op *bound;
    struct err err = {0};
    struct buf out;
    assert_ok(op_bind_shape(arena, nameless(arena, op), &op->targets[0], &bound, &err));
    structure_of(arena, bound, NULL, &found);
    buf_init(&out, arena, TEXT_BYTES);
    for (size_t i = 0; i < found.structure_count; i++)
        if (with_maps || found.structures[i].word != STRUCTURE_MAP)
            buf_printf(&out, "%zu %s %zd %.*s\n", found.structures[i].stmt,
                       structure_name(found.structures[i].word), (ssize_t)found.structures[i].with,
                       STR_ARG(found.structures[i].text));
    return out.len > 0 ? out.at : "";
}

static const struct op *normal_of(struct arena *arena, const struct op *op)
{
    const struct op *out;
    struct err err = {0};
    assert_ok(op_normal(arena, op, &out, &err));
    return out;
}

static void test_disguises(void **state UNUSED)
{
    const char *names[OPS_MAX];
    struct arena list;
    size_t changed = 0;
    arena_init(&list, ARENA_BYTES);
    size_t count = ops_all(&list, names);
    for (size_t i = 0; i < count; i++)
        for (uint64_t seed = 1; seed <= DISGUISES; seed++) {
            struct arena arena;
            arena_init(&arena, ARENA_BYTES);
            const struct op *op = ops_named(&arena, names[i]);
            const struct op *other = disguised(&arena, op, seed, false);
            const char *want = found_in(&arena, normal_of(&arena, op));
            const char *got = found_in(&arena, normal_of(&arena, other));
            changed += strcmp(found_in(&arena, op), found_in(&arena, other)) != 0;
            if (strcmp(want, got) != 0)
                fail_msg("%s, disguise %llu:\n%s\nwanted:\n%s\ngot:\n%s", names[i],
                         (unsigned long long)seed, body_of(&arena, other), want, got);
            arena_release(&arena);
        }
    assert_true(changed > 0); /* or the disguises are none */
    arena_release(&list);
}

/* The first line of `a` that is not b's at that place. */
static struct str first_difference(const char *a, const char *b)
{
    struct str of_a = str_from(a), of_b = str_from(b), line, other;
    while (str_next_line(&of_a, &line))
        if (!str_next_line(&of_b, &other) || !str_equal(line, other))
            return line;
    return str_from("(nothing)");
}

static void compare_notes(const struct op *op, uint64_t seed, size_t *notes, size_t *wrong)
{
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    const struct op *other = disguised(&arena, op, seed, true);
    const char *want = notes_of(&arena, normal_of(&arena, op), true);
    const char *got = notes_of(&arena, normal_of(&arena, other), true);
    for (const char *c = want; *c; c++)
        *notes += *c == '\n';
    if (strcmp(want, got) != 0 && ++*wrong <= 3) {
        struct str first = first_difference(want, got), second = first_difference(got, want);
        print_error("%.*s, disguise %llu: wanted\n%.*s\ngot\n%.*s\n", STR_ARG(op->name),
                    (unsigned long long)seed, STR_ARG(first), STR_ARG(second));
        print_error("of\n%s\n", body_of(&arena, other));
    }
    arena_release(&arena);
}

/* Not a word of what is found depends on names, order and noise, in the library and the zoo. */
static void test_notes(void **state UNUSED)
{
    const char *names[OPS_MAX];
    struct arena list;
    size_t notes = 0, wrong = 0, ops = 0;
    arena_init(&list, ARENA_BYTES);
    size_t count = ops_all(&list, names);
    for (size_t i = 0; i < count + COUNT_OF(zoo); i++) {
        const struct op *op =
            i < count ? ops_named(&list, names[i]) : zoo_op(&list, &zoo[i - count]);
        for (uint64_t seed = 1; seed <= DISGUISES; seed++)
            compare_notes(op, seed, &notes, &wrong);
        ops++;
    }
    print_message("%zu ops, %d disguises each, %zu notes compared, %zu wrong\n", ops, DISGUISES,
                  notes, wrong);
    assert_int_equal(wrong, 0);
    assert_true(notes > 1000);
    arena_release(&list);
}

/* ---- statements put into one ---- */

/* Bits of the words that the statement writing `name` has, a map's aside. */
static uint64_t words_at(const struct op *op, const struct structures *found, struct str name)
{
    uint64_t words = 0;
    for (size_t i = 0; i < found->structure_count; i++) {
        const struct structure_note *note = &found->structures[i];
        if (note->word != STRUCTURE_MAP &&
            str_equal(op->tensors[op->stmts[note->stmt].target].name, name))
            words |= UINT64_C(1) << note->word;
    }
    return words;
}

static void structures_at(struct arena *arena, const struct op *op, struct structures *out)
{
    const struct bound_op *bound;
    struct err err = {0};
    assert_ok(op_bind_shape(arena, op, &op->targets[0], &bound, &err));
    structure_of(arena, bound, NULL, out);
}

/* Readers of the map keep what they have, and get what it had. */
static void compare_merged(const struct op *op, size_t s, size_t *merged, size_t *wrong)
{
    struct arena arena;
    struct rewritten out;
    struct structures before, after;
    const struct rewrite rewrite = {.rule = REWRITE_INLINE, .stmt = s};
    arena_init(&arena, ARENA_BYTES);
    preserve_apply(&arena, op, &rewrite, &out);
    if (out.op != NULL) {
        const struct str map = op->tensors[op->stmts[s].target].name;
        structures_at(&arena, op, &before);
        structures_at(&arena, out.op, &after);
        uint64_t moved = words_at(op, &before, map);
        for (size_t i = 0; i < out.op->stmt_count; i++) {
            struct str name = out.op->tensors[out.op->stmts[i].target].name;
            uint64_t was = words_at(op, &before, name), is = words_at(out.op, &after, name);
            if (((was & ~is) | (is & ~was & ~moved)) != 0 && ++*wrong <= 8)
                print_error("%.*s without %.*s: %.*s has words %llx, had %llx\n", STR_ARG(op->name),
                            STR_ARG(map), STR_ARG(name), (unsigned long long)is,
                            (unsigned long long)was);
        }
        ++*merged;
    }
    arena_release(&arena);
}

static void test_merged(void **state UNUSED)
{
    const char *names[OPS_MAX];
    struct arena list;
    size_t merged = 0, wrong = 0;
    arena_init(&list, ARENA_BYTES);
    size_t count = ops_all(&list, names);
    for (size_t i = 0; i < count + COUNT_OF(zoo); i++) {
        const struct op *op =
            i < count ? ops_named(&list, names[i]) : zoo_op(&list, &zoo[i - count]);
        for (size_t s = 0; s < op->stmt_count; s++)
            compare_merged(op, s, &merged, &wrong);
    }
    print_message("%zu maps put into their readers, %zu wrong\n", merged, wrong);
    assert_int_equal(wrong, 0);
    assert_true(merged > 30);
    arena_release(&list);
}

/* The normal form means the same, and is its own. */
static void test_meaning(void **state UNUSED)
{
    const char *names[OPS_MAX];
    struct arena list;
    arena_init(&list, ARENA_BYTES);
    size_t count = ops_all(&list, names), runs = 0;
    for (size_t i = 0; i < count; i++) {
        struct arena arena;
        struct err err = {0};
        arena_init(&arena, ARENA_BYTES);
        const struct op *op = ops_named(&arena, names[i]);
        const struct op *other = normal_of(&arena, disguised(&arena, op, 99, false));
        assert_string_equal(body_of(&arena, normal_of(&arena, other)), body_of(&arena, other));
        for (size_t v = 0; v < op->verify_count; v++) {
            const struct bound_op *bound;
            struct trial trial;
            assert_ok(op_bind_shape(&arena, op, &op->verify[v], &bound, &err));
            if (!is_small(bound))
                continue;
            trial_begin(&arena, bound, NULL, DATA_SPEC, 3, &trial);
            assert_true(trial_ratio(&arena, &trial, other, ORDER_SEQUENTIAL) <= 1);
            runs++;
        }
        arena_release(&arena);
    }
    assert_true(runs >= count);
    arena_release(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_disguises),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_merged),
        cmocka_unit_test(test_meaning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
