/*
 * Rewrites of ops: what is tried, and the rules of one statement.
 *
 * A reduction over an index i < n is cut into parts of `block` iterations: i = part * block +
 * inner.  The last part may be short, so its terms are where(i < n, term, neutral), and reads that
 * could leave their tensor are padded; neutral is what the reduction yields for nothing.
 *
 * Refused is what has no such form or may round differently from what the policy says; a refusal
 * says the statement and why.  Not here: whether a rewrite pays.
 */
#include <math.h>
#include <string.h>

#include "base/panic.h"

#include "solver/legal/rewrite_int.h"

enum { TEXT_BYTES = 1024 };

static const char *const names[] = {
#define X(id, name, preservation) name,
    REWRITES(X)
#undef X
};

const char *rewrite_name(enum rewrite_rule rule)
{
    ASSERT((size_t)rule < COUNT_OF(names));
    return names[rule];
}

enum preservation rewrite_preservation(enum rewrite_rule rule)
{
    static const enum preservation words[] = {
#define X(id, name, preservation) PRESERVATION_##preservation,
        REWRITES(X)
#undef X
    };
    ASSERT((size_t)rule < COUNT_OF(words));
    return words[rule];
}

bool rewrite_cuts(enum rewrite_rule rule)
{
    return rule != REWRITE_INLINE && rule != REWRITE_HOIST;
}

/* ---- factors ---- */

static bool collect_factors(const struct expr *expr, bool below, struct factors *out)
{
    if (expr->op == EXPR_MUL)
        return collect_factors(expr->args[0], below, out) &&
               collect_factors(expr->args[1], below, out);
    if (expr->op == EXPR_DIV)
        return collect_factors(expr->args[0], below, out) &&
               collect_factors(expr->args[1], !below, out);
    size_t *count = below ? &out->below_count : &out->above_count;
    if (*count == FACTORS_MAX)
        return false;
    (below ? out->below : out->above)[(*count)++] = expr;
    return true;
}

bool factors_of_product(const struct expr *expr, struct factors *out)
{
    *out = (struct factors){.above_count = 0};
    return collect_factors(expr, false, out);
}

/* ---- parts ---- */

static bool cut_loops(struct draft *d, const struct stmt *stmt, size_t loop, int64_t block,
                      struct parts *p)
{
    struct formula *count = arena_new(d->arena, struct formula);
    size_t n = 0;
    p->free_count = stmt->free_count + 1;
    p->part = stmt->free_count;
    for (size_t i = 0; i < stmt->loop_count; i++) {
        if (i == stmt->free_count)
            n++;
        p->loops[n] = stmt->loops[i];
        p->by_loop[i] = expr_index(d->arena, n);
        if (i == loop)
            p->inner = n;
        n++;
    }
    p->loop_count = n;
    *count = (struct formula){
        .op = FORMULA_CEILDIV, .a = stmt->loops[loop].extent, .b = formula_int(d->arena, block)};
    p->loops[p->part] = (struct loop){.extent = count};
    p->loops[p->inner].extent = formula_int(d->arena, block);
    return true;
}

const struct expr *others_of(struct draft *d, const struct stmt *stmt, size_t loop)
{
    const struct expr *product = expr_int(d->arena, 1);
    for (size_t i = stmt->free_count; i < stmt->loop_count; i++) {
        const struct expr *extent = expr_of_formula(d, stmt->loops[i].extent);
        if (extent == NULL)
            return NULL;
        if (i == loop)
            continue;
        product =
            product->op == EXPR_INT ? extent : expr_call(d->arena, EXPR_MUL, product, extent, NULL);
    }
    return product;
}

/* min(block, extent - part * block) times the other reduced loops. */
static const struct expr *part_count(struct draft *d, const struct stmt *stmt, size_t loop,
                                     const struct expr *start, const struct expr *extent,
                                     int64_t block)
{
    const struct expr *rest = expr_call(d->arena, EXPR_SUB, extent, start, NULL);
    const struct expr *count = expr_call(d->arena, EXPR_MIN, expr_int(d->arena, block), rest, NULL);
    const struct expr *others = others_of(d, stmt, loop);
    if (others == NULL || stmt->loop_count - stmt->free_count == 1)
        return others == NULL ? NULL : count;
    return expr_call(d->arena, EXPR_MUL, count, others, NULL);
}

bool parts_of(struct draft *d, const struct stmt *stmt, size_t loop, int64_t block,
              struct str part_name, struct str inner_name, struct parts *out)
{
    struct arena *arena = d->arena;
    struct parts p = {.cut = loop};
    if (loop < stmt->free_count || loop >= stmt->loop_count)
        return refuse(d, "loop %zu is not one that it reduces over", loop);
    if (block < 1 || block > REWRITE_BLOCK_MAX)
        return refuse(d, "parts of %lld iterations", (long long)block);
    if (stmt->loop_count + 1 > OP_LOOPS_MAX || stmt->free_count + 1 > OP_RANK_MAX)
        return refuse(d, "one index more than the %d that a statement may have", OP_LOOPS_MAX);
    const struct expr *extent = expr_of_formula(d, stmt->loops[loop].extent);
    if (extent == NULL || !cut_loops(d, stmt, loop, block, &p))
        return refuse(d, "its extent is no plain formula");
    p.loops[p.part].name = part_name;
    p.loops[p.inner].name = inner_name;
    const struct expr *start =
        expr_call(arena, EXPR_MUL, expr_index(arena, p.part), expr_int(arena, block), NULL);
    const struct expr *at = expr_call(arena, EXPR_ADD, start, expr_index(arena, p.inner), NULL);
    p.by_loop[loop] = at;
    p.inside = expr_call(arena, EXPR_LT, at, extent, NULL);
    p.count = part_count(d, stmt, loop, start, extent, block);
    *out = p;
    return true;
}

const struct expr *parts_value(struct draft *d, const struct parts *p, const struct expr *value,
                               const struct expr *neutral)
{
    return expr_call(d->arena, EXPR_WHERE, p->inside,
                     expr_replaced(d->arena, value, p->by_loop, p->cut), neutral);
}

static struct stmt stmt_over(struct draft *d, const struct parts *p, size_t target,
                             size_t free_count, size_t loop_count, enum reduce_op op,
                             const struct expr *value)
{
    struct loop *loops = arena_array(d->arena, struct loop, loop_count + 1);
    memcpy(loops, p->loops, loop_count * sizeof(loops[0]));
    for (size_t i = 0; i < loop_count; i++)
        loops[i].reduced = i >= free_count;
    return (struct stmt){.target = target,
                         .loops = loops,
                         .loop_count = loop_count,
                         .free_count = free_count,
                         .reduce = op,
                         .value = value,
                         .seq = OP_NONE};
}

struct stmt parts_stmt(struct draft *d, const struct parts *p, size_t target, enum reduce_op op,
                       const struct expr *value)
{
    return stmt_over(d, p, target, p->free_count, p->loop_count, op, value);
}

struct stmt parts_merge(struct draft *d, const struct stmt *stmt, const struct parts *p,
                        enum reduce_op op, const struct expr *value)
{
    return stmt_over(d, p, stmt->target, p->free_count - 1, p->free_count, op, value);
}

const struct expr *parts_read(struct draft *d, const struct parts *p, size_t tensor)
{
    size_t loops[OP_LOOPS_MAX];
    for (size_t i = 0; i < p->free_count; i++)
        loops[i] = i;
    return expr_at(d->arena, tensor, loops, p->free_count);
}

/* ---- split ---- */

/* What the reduction yields for no terms; NULL: nothing, or not expressible in its type. */
static const struct expr *neutral_of(struct draft *d, const struct stmt *stmt)
{
    bool real = dtype_is_float(stmt->value->dtype);
    struct expr *boolean = arena_new(d->arena, struct expr);
    switch (stmt->reduce) {
    case REDUCE_SUM:
        return real ? expr_real(d->arena, 0) : expr_int(d->arena, 0);
    case REDUCE_PROD:
        return real ? expr_real(d->arena, 1) : expr_int(d->arena, 1);
    case REDUCE_MAX:
        return real ? expr_real(d->arena, (double)-INFINITY) : NULL;
    case REDUCE_MIN:
        return real ? expr_real(d->arena, (double)INFINITY) : NULL;
    case REDUCE_ANY:
    case REDUCE_ALL:
        *boolean = (struct expr){
            .op = EXPR_INT, .dtype = DTYPE_BOOL, .integer = stmt->reduce == REDUCE_ALL};
        return boolean;
    case REDUCE_ARGMAX:
    case REDUCE_ARGMIN:
    case REDUCE_NONE:
        break;
    }
    return NULL;
}

static bool can_split(struct draft *d, const struct stmt *stmt)
{
    bool sums = stmt->reduce == REDUCE_SUM || stmt->reduce == REDUCE_PROD;
    if (stmt->reduce == REDUCE_NONE)
        return refuse(d, "it reduces nothing");
    if (stmt->seq != OP_NONE)
        return refuse(d, "a step needs the one before");
    if (stmt->scatter != NULL)
        return refuse(d, "data say where its terms go");
    if (!is_straight(stmt))
        return refuse(d, "each result of a scan has its own terms");
    if (stmt->reduce == REDUCE_ARGMAX || stmt->reduce == REDUCE_ARGMIN)
        return refuse(d, "parts merge by value and position, and a statement has one result");
    if (d->op.policy.summation == SUMMATION_COMPENSATED && sums &&
        dtype_is_float(stmt->value->dtype))
        return refuse(d, "the spec's sums are compensated, and so would partial sums have to be");
    if (neutral_of(d, stmt) == NULL)
        return refuse(d, "%s of %s has no neutral element", reduce_op_name(stmt->reduce),
                      dtype_name(stmt->value->dtype));
    return true;
}

static bool rewrite_split(struct draft *d, const struct rewrite *rewrite)
{
    const struct stmt stmt = d->stmts[rewrite->stmt];
    struct parts p;
    if (!can_split(d, &stmt) || !parts_of(d, &stmt, rewrite->loop, rewrite->block,
                                          draft_name(d, "part"), draft_name(d, "inner"), &p))
        return false;
    size_t partial = draft_temporary(d, "partial", stmt.value->dtype, p.loops, p.free_count);
    const struct stmt over = parts_stmt(d, &p, partial, stmt.reduce,
                                        parts_value(d, &p, stmt.value, neutral_of(d, &stmt)));
    d->stmts[rewrite->stmt] = parts_merge(d, &stmt, &p, stmt.reduce, parts_read(d, &p, partial));
    draft_insert(d, rewrite->stmt, &over);
    return true;
}

/* ---- inline ---- */

struct pads {
    size_t tensor;
    bool found;
};

static void note_pad(void *context, const struct expr *expr)
{
    struct pads *pads = context;
    pads->found |= expr->op == EXPR_READ && expr->tensor == pads->tensor && expr->pad != NULL;
}

static bool can_inline(struct draft *d, size_t s)
{
    const struct stmt *stmt = &d->stmts[s];
    size_t readers = 0;
    if (stmt->reduce != REDUCE_NONE || !is_straight(stmt))
        return refuse(d, "its elements are no plain map's");
    if (!d->tensors[stmt->target].temporary)
        return refuse(d, "it writes an output, which has to be there anyway");
    if (stmt->value->weak || !expr_reads_data(stmt->value))
        return refuse(d, "its type would be its reader's");
    for (size_t r = 0; r < d->op.stmt_count; r++) {
        struct pads pads = {stmt->target, false};
        expr_walk(d->stmts[r].value, note_pad, &pads);
        readers += expr_reads_of(d->stmts[r].value, stmt->target) > 0;
        if (pads.found)
            return refuse(d, "statement %zu pads what it reads of it", r);
    }
    return readers > 0 || refuse(d, "no expression reads it");
}

/* Only this map is put in place: all others count as outputs for the while. */
static bool rewrite_inline(struct draft *d, const struct rewrite *rewrite)
{
    size_t target = d->stmts[rewrite->stmt].target;
    bool *temporary = arena_array(d->arena, bool, d->op.tensor_count);
    bool fits = true;
    if (!can_inline(d, rewrite->stmt))
        return false;
    for (size_t t = 0; t < d->op.tensor_count; t++) {
        temporary[t] = d->tensors[t].temporary;
        d->tensors[t].temporary = t == target;
    }
    for (size_t s = 0; s < d->op.stmt_count && fits; s++) {
        if (expr_reads_of(d->stmts[s].value, target) == 0)
            continue;
        const struct expr *value = expr_expanded(d->arena, &d->op, d->stmts[s].value);
        fits = value != NULL;
        if (fits)
            d->stmts[s].value = value;
    }
    for (size_t t = 0; t < d->op.tensor_count; t++)
        d->tensors[t].temporary = temporary[t];
    return fits ||
           refuse(d, "a statement would have more than %d operations", REWRITE_NODES_MAX / 4);
}

/* ---- hoist ---- */

static const struct expr *product_of(struct draft *d, const struct expr *start,
                                     const struct factors *factors, size_t from, bool varying)
{
    const struct expr *out = start;
    for (size_t i = 0; i < factors->above_count; i++)
        if (expr_varies(factors->above[i], from) == varying)
            out = out == NULL ? factors->above[i]
                              : expr_call(d->arena, EXPR_MUL, out, factors->above[i], NULL);
    if (out == NULL)
        out = expr_real(d->arena, 1);
    for (size_t i = 0; i < factors->below_count; i++)
        if (expr_varies(factors->below[i], from) == varying)
            out = expr_call(d->arena, EXPR_DIV, out, factors->below[i], NULL);
    return out;
}

static bool can_hoist(struct draft *d, const struct stmt *stmt, const struct expr *value,
                      struct factors *factors)
{
    size_t same = 0, varying = 0;
    if (stmt->reduce != REDUCE_SUM || !is_straight(stmt))
        return refuse(d, "it is no plain sum");
    if (!dtype_is_float(stmt->value->dtype))
        return refuse(d, "quotients of integers do not add up");
    if (value == NULL || !factors_of_product(value, factors))
        return refuse(d, "its terms have too many factors");
    for (size_t i = 0; i < factors->above_count; i++)
        *(expr_varies(factors->above[i], stmt->free_count) ? &varying : &same) += 1;
    for (size_t i = 0; i < factors->below_count; i++)
        *(expr_varies(factors->below[i], stmt->free_count) ? &varying : &same) += 1;
    if (same == 0)
        return refuse(d, "no factor is the same for all its terms");
    return varying > 0 || refuse(d, "all its terms are equal");
}

static bool rewrite_hoist(struct draft *d, const struct rewrite *rewrite)
{
    const struct stmt stmt = d->stmts[rewrite->stmt];
    const struct expr *value = expr_expanded(d->arena, &d->op, stmt.value);
    struct factors factors;
    if (!can_hoist(d, &stmt, value, &factors))
        return false;
    struct stmt sum = stmt;
    struct stmt *scale = &d->stmts[rewrite->stmt];
    size_t loops[OP_LOOPS_MAX];
    for (size_t i = 0; i < stmt.free_count; i++)
        loops[i] = i;
    sum.target = draft_temporary(d, "sum", stmt.value->dtype, stmt.loops, stmt.free_count);
    sum.value = product_of(d, NULL, &factors, stmt.free_count, true);
    scale->loop_count = stmt.free_count;
    scale->reduce = REDUCE_NONE;
    scale->value = product_of(d, expr_at(d->arena, sum.target, loops, stmt.free_count), &factors,
                              stmt.free_count, false);
    draft_insert(d, rewrite->stmt, &sum);
    return true;
}

/* ---- all of them ---- */

static bool apply(struct draft *d, const struct rewrite *rewrite)
{
    struct rescaled rescaled;
    struct centred centred;
    switch (rewrite->rule) {
    case REWRITE_INLINE:
        return rewrite_inline(d, rewrite);
    case REWRITE_HOIST:
        return rewrite_hoist(d, rewrite);
    case REWRITE_SPLIT:
        return rewrite_split(d, rewrite);
    case REWRITE_RESCALE:
        return rewrite_rescale(d, rewrite, &rescaled);
    case REWRITE_CENTRE:
        return rewrite_centre(d, rewrite, &centred);
    case REWRITE_ONLINE:
        return rewrite_online(d, rewrite);
    case REWRITE_WELFORD:
        return rewrite_welford(d, rewrite);
    case REWRITE_COUNT:
        break;
    }
    panic("rewrite %d", (int)rewrite->rule);
}

/* Conditions, and how far an honest run may be from the old bound.  Splitting and hoisting move
 * roundings inside a sum that is charged sixteen units for each; exp(u - p) * exp(p - m) has two
 * differences, two exponentials and a product where exp(u - m) has one of each; a part's own mean
 * is as far off as the mean.  A running state is rounded at each step, at most four (eight) units
 * of the sixteen that the whole is charged. */
static void explain(enum rewrite_rule rule, struct rewritten *out)
{
    static const struct {
        const char *text;
        double scale, step;
    } rules[] = {
        [REWRITE_INLINE] = {"the same operations, done where they are used", 1, 0},
        [REWRITE_HOIST] = {"the sum times what all terms have; while it stays finite", 1, 0},
        [REWRITE_SPLIT] = {"partial results round within the bound of the whole", 1, 0},
        [REWRITE_RESCALE] = {"sums of parts times exp(their maximum - maximum), at most 1; a part "
                             "whose maximum is -inf adds nothing",
                             2, 0},
        [REWRITE_CENTRE] = {"squares about the part's mean, and its count times the square of the "
                            "mean's distance",
                            2, 0},
        [REWRITE_ONLINE] = {"the state so far is multiplied by exp(old maximum - new), at most 1: "
                            "three roundings a step",
                            2, 0.25},
        [REWRITE_WELFORD] = {"the mean so far is moved, the squares so far take what that adds: a "
                             "few roundings a step",
                             2, 0.5},
    };
    ASSERT((size_t)rule < COUNT_OF(rules));
    out->text = str_from(rules[rule].text);
    out->bound_scale = rules[rule].scale;
    out->bound_step = rules[rule].step;
}

void preserve_apply(struct arena *arena, const struct op *op, const struct rewrite *rewrite,
                    struct rewritten *out)
{
    struct draft d;
    struct buf text;
    struct err err;
    *out = (struct rewritten){.op = NULL};
    buf_init(&text, arena, TEXT_BYTES + ERR_TEXT_BYTES);
    if (rewrite->stmt >= op->stmt_count) {
        buf_printf(&text, "there is no statement %zu", rewrite->stmt);
        out->text = buf_view(&text);
        return;
    }
    draft_begin(&d, arena, op);
    if (!apply(&d, rewrite))
        buf_printf(&text, "statement %zu: %.*s", rewrite->stmt, STR_ARG(d.why));
    else if (!draft_finish(&d, &out->op, &err))
        buf_printf(&text, "statement %zu: %s", rewrite->stmt, err.text);
    out->text = buf_view(&text);
    if (out->op != NULL)
        explain(rewrite->rule, out);
}

/* ---- what may be tried ---- */

static bool concerns(enum rewrite_rule rule, const struct stmt *stmt)
{
    switch (rule) {
    case REWRITE_INLINE:
        return stmt->reduce == REDUCE_NONE;
    case REWRITE_HOIST:
    case REWRITE_CENTRE:
    case REWRITE_WELFORD:
        return stmt->reduce == REDUCE_SUM;
    case REWRITE_SPLIT:
        return stmt->reduce != REDUCE_NONE;
    case REWRITE_RESCALE:
    case REWRITE_ONLINE:
        return stmt->reduce == REDUCE_MAX;
    case REWRITE_COUNT:
        break;
    }
    return false;
}

const struct rewrite *rewrite_list(struct arena *arena, const struct op *op, int64_t block,
                                   size_t *count)
{
    struct rewrite *list =
        arena_array(arena, struct rewrite, op->stmt_count * OP_LOOPS_MAX * REWRITE_COUNT + 1);
    size_t n = 0;
    for (size_t s = 0; s < op->stmt_count; s++)
        for (int rule = 0; rule < REWRITE_COUNT; rule++) {
            const struct stmt *stmt = &op->stmts[s];
            bool cuts = rewrite_cuts((enum rewrite_rule)rule);
            size_t last = cuts ? stmt->loop_count : stmt->free_count + 1;
            if (!concerns((enum rewrite_rule)rule, stmt))
                continue;
            for (size_t loop = stmt->free_count; loop < last; loop++)
                list[n++] = (struct rewrite){(enum rewrite_rule)rule, s, loop, block};
        }
    *count = n;
    return list;
}
