#ifndef TESTS_UNIT_SOLVER_LEGAL_DISGUISE_H
#define TESTS_UNIT_SOLVER_LEGAL_DISGUISE_H

#include <stdio.h>
#include <string.h>

#include "base/rng.h"

#include "solver/legal/rewrite_int.h"
#include "tests/unit/solver/legal/rewrites.h"

/* Another op of the same meaning, that looks different. */
struct disguise {
    struct draft d;
    struct rng rng;
    bool rounds; /* also what rounds differently */
};

static inline bool chance(struct disguise *g, uint32_t of)
{
    return rng_below(&g->rng, of) == 0;
}

/* a - b as -(b - a), a + -b or -b + a */
static inline const struct expr *against_the_grain(struct disguise *g, const struct expr *e)
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
static inline const struct expr *noise(struct disguise *g, const struct expr *expr)
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
    if (number && g->rounds && e->op == EXPR_RSQRT && chance(g, 2))
        return expr_call(arena, EXPR_DIV, expr_real(arena, 1),
                         expr_call(arena, EXPR_SQRT, e->args[0], NULL, NULL), NULL);
    if (number && e->op == EXPR_SUB && chance(g, 2))
        return against_the_grain(g, e);
    if (number && g->rounds && e->op == EXPR_DIV && chance(g, 2)) {
        const struct expr *over = expr_call(arena, EXPR_DIV, expr_real(arena, 1), e->args[1], NULL);
        return expr_call(arena, EXPR_MUL, over, e->args[0], NULL);
    }
    if (number && e->op == EXPR_NEG && chance(g, 2))
        return expr_call(arena, EXPR_SUB, expr_int(arena, 0), e->args[0], NULL);
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
static inline size_t transposed(struct disguise *g, size_t from, size_t at)
{
    struct draft *d = &g->d;
    size_t rank = d->tensors[from].rank, loops_of[OP_LOOPS_MAX];
    struct loop *loops = arena_array(d->arena, struct loop, rank);
    for (size_t i = 0; i < rank; i++) {
        size_t source = i < 2 && rank > 1 ? 1 - i : i;
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

static inline const struct expr *redirected(const struct renaming *r, const struct expr *expr)
{
    struct expr *e = arena_new(r->arena, struct expr);
    *e = *expr;
    if (e->op == EXPR_READ && e->tensor == r->from)
        e->tensor = r->to;
    for (size_t i = 0; i < COUNT_OF(e->args) && e->args[i] != NULL; i++)
        e->args[i] = redirected(r, e->args[i]);
    return e;
}

/* An input is read through two transposes. */
static inline void transpose_twice(struct disguise *g, size_t tensor)
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

static inline bool has_type_of_its_own(const struct disguise *g, const struct stmt *stmt)
{
    return is_straight(stmt) && stmt->value->dtype == DTYPE_F32 && !stmt->value->weak &&
           expr_reads_data(stmt->value) &&
           (stmt->reduce != REDUCE_NONE || stmt->value->op != EXPR_READ) &&
           g->d.tensors[stmt->target].rank > 0 && g->d.tensors[stmt->target].rank <= 5;
}

/* What a statement writes is copied, turned round, and read from there; an output is written by
 * the copy. */
static inline void copy_result(struct disguise *g, size_t s)
{
    struct draft *d = &g->d;
    const struct stmt stmt = d->stmts[s];
    size_t target = stmt.target;
    if (!has_type_of_its_own(g, &stmt))
        return;
    if (target >= d->op.declared_count) {
        size_t copy = transposed(g, transposed(g, target, s + 1), s + 2);
        const struct renaming renaming = {d->arena, target, copy};
        for (size_t i = s + 3; i < d->op.stmt_count; i++)
            d->stmts[i].value = redirected(&renaming, d->stmts[i].value);
        return;
    }
    struct loop *loops = arena_array(d->arena, struct loop, stmt.free_count);
    size_t plain[OP_LOOPS_MAX];
    for (size_t i = 0; i < stmt.free_count; i++) {
        loops[i] = (struct loop){.name = stmt.loops[i].name, .extent = stmt.loops[i].extent};
        plain[i] = i;
    }
    size_t temporary = draft_temporary(d, "made", d->tensors[target].dtype, loops, stmt.free_count);
    const struct stmt last = {.target = target,
                              .loops = loops,
                              .loop_count = stmt.free_count,
                              .free_count = stmt.free_count,
                              .value = expr_at(d->arena, temporary, plain, stmt.free_count),
                              .seq = OP_NONE};
    d->stmts[s].target = temporary;
    draft_insert(d, s + 1, &last);
}

/* A statement is exchanged with the next one where that does not read it. */
static inline void permute(struct disguise *g)
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

static inline void rename_all(struct disguise *g)
{
    struct draft *d = &g->d;
    for (size_t t = 0; t < d->op.tensor_count; t++)
        d->tensors[t].name = draft_name(d, t < d->op.declared_count ? "softmax" : "zz");
    for (size_t q = 0; q < d->op.seq_count; q++)
        d->seqs[q].index = draft_name(d, "step");
    for (size_t s = 0; s < d->op.stmt_count; s++) {
        struct loop *loops = arena_array(d->arena, struct loop, d->stmts[s].loop_count + 1);
        memcpy(loops, d->stmts[s].loops, d->stmts[s].loop_count * sizeof(loops[0]));
        d->stmts[s].loops = loops;
        for (size_t i = 0; i < d->stmts[s].loop_count; i++)
            loops[i].name = d->stmts[s].seq != OP_NONE && i == 0 ? d->seqs[d->stmts[s].seq].index
                                                                 : draft_name(d, "q");
    }
}

/* Each dim X of a document becomes Xx. */
static inline struct str dims_renamed(struct arena *arena, const struct op *op, struct str text)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    struct buf out;
    buf_init(&out, arena, OP_SPEC_BYTES_MAX);
    for (size_t at = 0; at < text.len;) {
        size_t length = 0;
        while (at + length < text.len && strchr(letters, text.at[at + length]) != NULL)
            length++;
        const struct str word = {text.at + at, length == 0 ? 1 : length};
        buf_printf(&out, "%.*s%s", STR_ARG(word),
                   length > 0 && op_dim_find(op, word) != OP_NONE ? "x" : "");
        at += word.len;
    }
    return buf_view(&out);
}

/* Names of tensors, dims and indices, the order of statements, copies, arithmetic that means
 * nothing; with `rounds` also a * (1 / b) for a / b and the like, and
 * other names of dims. */
static inline const struct op *disguised(struct arena *arena, const struct op *op, uint64_t seed,
                                         bool rounds)
{
    struct disguise g = {.rounds = rounds};
    const struct op *plain, *out;
    struct buf text;
    struct err err = {0};
    draft_begin(&g.d, arena, op);
    rng_init(&g.rng, seed);
    for (size_t s = 0; s < op->stmt_count; s++)
        g.d.stmts[s].value = noise(&g, g.d.stmts[s].value);
    for (size_t s = g.d.op.stmt_count; s-- > 0;)
        if (g.d.op.stmt_count < op->stmt_count + 24 && chance(&g, 2))
            copy_result(&g, s);
    for (size_t t = 0; t < op->declared_count; t++)
        if (t < 12 && chance(&g, 2))
            transpose_twice(&g, t);
    permute(&g);
    rename_all(&g);
    assert_ok(draft_finish(&g.d, &plain, &err));
    if (!rounds)
        return plain;
    buf_init(&text, arena, OP_SPEC_BYTES_MAX);
    op_print_json(&text, plain);
    assert_ok(op_parse(arena, dims_renamed(arena, plain, buf_view(&text)), "disguised", NULL, &out,
                       &err));
    return out;
}

/* The op with names that say places only, so that texts about it can be compared. */
static inline const struct op *nameless(struct arena *arena, const struct op *op)
{
    struct draft *d = arena_new(arena, struct draft);
    draft_begin(d, arena, op);
    for (size_t t = 0; t < op->declared_count; t++)
        d->tensors[t].name = draft_name(d, "d");
    for (size_t s = 0; s < op->stmt_count; s++) {
        struct loop *loops = arena_array(arena, struct loop, op->stmts[s].loop_count + 1);
        if (op->stmts[s].target >= op->declared_count)
            d->tensors[op->stmts[s].target].name = draft_name(d, "t");
        memcpy(loops, op->stmts[s].loops, op->stmts[s].loop_count * sizeof(loops[0]));
        for (size_t i = 0; i < op->stmts[s].loop_count; i++) {
            char *name = arena_array(arena, char, 32);
            snprintf(name, 32, "l%zu", i);
            loops[i].name = str_from(name);
        }
        d->stmts[s].loops = loops;
    }
    for (size_t q = 0; q < op->seq_count; q++)
        d->seqs[q].index = STR_LIT("l0");
    return &d->op;
}

#endif
