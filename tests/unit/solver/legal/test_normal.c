/*
 * Names, the order of statements and arithmetic that means nothing have no part in what is found:
 * every op of the library is disguised, and the normal forms of both have the same structures and
 * allow the same rewrites.
 */
#include "base/rng.h"

#include "solver/legal/rewrite_int.h"
#include "tests/unit/solver/legal/rewrites.h"

enum { ARENA_BYTES = 1 << 30, DISGUISES = 6, TEXT_BYTES = 1 << 20 };

/* ---- disguise ---- */

struct disguise {
    struct draft d;
    struct rng rng;
};

static bool chance(struct disguise *g, uint32_t of)
{
    return rng_below(&g->rng, of) == 0;
}

/* a - b as -(b - a), a + -b or -b + a */
static const struct expr *against_the_grain(struct disguise *g, const struct expr *e)
{
    struct arena *arena = g->d.arena;
    const struct expr *a = e->args[0], *b = e->args[1];
    const struct expr *minus = expr_call(arena, EXPR_NEG, b, NULL, NULL);
    switch (rng_below(&g->rng, 3)) {
    case 0:
        return expr_call(arena, EXPR_NEG, expr_call(arena, EXPR_SUB, b, a, NULL), NULL, NULL);
    case 1:
        return expr_call(arena, EXPR_ADD, a, minus, NULL);
    default:
        return expr_call(arena, EXPR_ADD, minus, a, NULL);
    }
}

/* Conditions and integers are left as they are: what stands in subscripts has to stay provable. */
static const struct expr *noise(struct disguise *g, const struct expr *expr)
{
    struct arena *arena = g->d.arena;
    struct expr *e = arena_new(arena, struct expr);
    bool number = dtype_is_float(expr->dtype) && !expr->weak;
    *e = *expr;
    for (size_t i = 0; i < COUNT_OF(e->args) && e->args[i] != NULL; i++)
        e->args[i] = noise(g, e->args[i]);
    bool swaps = e->op == EXPR_ADD || e->op == EXPR_MUL || e->op == EXPR_MIN || e->op == EXPR_MAX;
    if (number && swaps && chance(g, 2)) {
        const struct expr *first = e->args[0];
        e->args[0] = e->args[1];
        e->args[1] = first;
    }
    if (number && e->op == EXPR_SUB && chance(g, 2))
        return against_the_grain(g, e);
    if (number && e->op == EXPR_MUL && expr_same(e->args[0], e->args[1]) && chance(g, 2))
        return expr_call(arena, EXPR_POW, e->args[0], expr_int(arena, 2), NULL);
    if (!number || !chance(g, 3))
        return e;
    switch (rng_below(&g->rng, 6)) {
    case 0:
        return expr_call(arena, EXPR_MUL, e, expr_int(arena, 1), NULL);
    case 1:
        return expr_call(arena, EXPR_MUL, expr_int(arena, 1), e, NULL);
    case 2:
        return expr_call(arena, EXPR_ADD, e, expr_real(arena, 0), NULL);
    case 3:
        return expr_call(arena, EXPR_SUB, e, expr_int(arena, 0), NULL);
    case 4:
        return expr_call(arena, EXPR_DIV, e, expr_real(arena, 1), NULL);
    default:
        return expr_call(arena, EXPR_NEG, expr_call(arena, EXPR_NEG, e, NULL, NULL), NULL, NULL);
    }
}

/* A temporary copied from `from` with its first two indices exchanged. */
static size_t transposed(struct disguise *g, size_t from, size_t at)
{
    struct draft *d = &g->d;
    size_t rank = d->tensors[from].rank, loops_of[OP_LOOPS_MAX];
    struct loop *loops = arena_array(d->arena, struct loop, rank);
    for (size_t i = 0; i < rank; i++) {
        size_t source = i < 2 ? 1 - i : i;
        loops[i] = (struct loop){.name = draft_name(d, i == 0   ? "ta"
                                                       : i == 1 ? "tb"
                                                       : i == 2 ? "tc"
                                                       : i == 3 ? "td"
                                                                : "te"),
                                 .extent = d->tensors[from].shape[source]};
        loops_of[source] = i;
    }
    size_t copy = draft_temporary(d, "copy", d->tensors[from].dtype, loops, rank);
    const struct stmt stmt = {.target = copy,
                              .loops = loops,
                              .loop_count = rank,
                              .free_count = rank,
                              .value = expr_at(d->arena, from, loops_of, rank),
                              .seq = OP_NONE};
    draft_insert(d, at, &stmt);
    return copy;
}

struct renaming {
    struct arena *arena;
    size_t from, to;
};

static const struct expr *redirected(const struct renaming *r, const struct expr *expr)
{
    struct expr *e = arena_new(r->arena, struct expr);
    *e = *expr;
    if (e->op == EXPR_READ && e->tensor == r->from && e->pad == NULL)
        e->tensor = r->to;
    for (size_t i = 0; i < COUNT_OF(e->args) && e->args[i] != NULL; i++)
        e->args[i] = redirected(r, e->args[i]);
    return e;
}

/* An input is read through two transposes. */
static void transpose_twice(struct disguise *g, size_t tensor)
{
    struct draft *d = &g->d;
    if (d->tensors[tensor].role == ROLE_OUTPUT || d->tensors[tensor].rank < 2 ||
        d->tensors[tensor].rank > 5)
        return;
    size_t once = transposed(g, tensor, 0);
    size_t twice = transposed(g, once, 1);
    const struct renaming renaming = {d->arena, tensor, twice};
    for (size_t s = 2; s < d->op.stmt_count; s++)
        d->stmts[s].value = redirected(&renaming, d->stmts[s].value);
}

/* A statement is exchanged with the next one where that does not read it. */
static void permute(struct disguise *g)
{
    struct draft *d = &g->d;
    for (size_t round = 0; round < 20; round++)
        for (size_t s = 0; s + 1 < d->op.stmt_count; s++) {
            const struct stmt first = d->stmts[s];
            bool free = first.seq == OP_NONE && d->stmts[s + 1].seq == OP_NONE &&
                        d->stmts[s + 1].scatter == NULL && first.scatter == NULL;
            if (!free || expr_reads_of(d->stmts[s + 1].value, first.target) > 0 || !chance(g, 2))
                continue;
            d->stmts[s] = d->stmts[s + 1];
            d->stmts[s + 1] = first;
        }
}

static void rename_all(struct disguise *g)
{
    struct draft *d = &g->d;
    for (size_t t = d->op.declared_count; t < d->op.tensor_count; t++)
        d->tensors[t].name = draft_name(d, "zz");
    for (size_t s = 0; s < d->op.stmt_count; s++) {
        struct loop *loops = arena_array(d->arena, struct loop, d->stmts[s].loop_count + 1);
        memcpy(loops, d->stmts[s].loops, d->stmts[s].loop_count * sizeof(loops[0]));
        d->stmts[s].loops = loops;
        for (size_t i = 0; d->stmts[s].seq == OP_NONE && i < d->stmts[s].loop_count; i++)
            loops[i].name = draft_name(d, "q");
    }
}

static const struct op *disguised(struct arena *arena, const struct op *op, uint64_t seed)
{
    struct disguise g;
    const struct op *out;
    struct err err = {0};
    draft_begin(&g.d, arena, op);
    rng_init(&g.rng, seed);
    for (size_t s = 0; s < op->stmt_count; s++)
        g.d.stmts[s].value = noise(&g, g.d.stmts[s].value);
    for (size_t t = 0; t < op->declared_count; t++)
        if (chance(&g, 2))
            transpose_twice(&g, t);
    permute(&g);
    rename_all(&g);
    assert_ok(draft_finish(&g.d, &out, &err));
    return out;
}

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
            const struct op *other = disguised(&arena, op, seed);
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
        const struct op *other = normal_of(&arena, disguised(&arena, op, 99));
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
        cmocka_unit_test(test_meaning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
