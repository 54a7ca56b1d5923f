/*
 * Rewrites of ops: what there is, what is tried, and the error term of each.
 *
 * A rule changes a draft of the op (draft.c) or refuses and says why.  Refused is what has no such
 * form or may round differently from what the policy says; a refusal says the statement and why.
 *
 * Terms.  Splitting and hoisting move roundings inside a sum that is charged sixteen units for
 * each; exp(u - p) * exp(p - m) has two differences, two exponentials and a product where exp(u -
 * m) has one of each; a part's own mean is as far off as the mean.  A running state is rounded at
 * each step, at most four (eight) units of the sixteen that the whole is charged.  The other terms
 * are derived where the rules are.  Not here: whether a rewrite pays.
 */
#include <math.h>

#include "base/panic.h"

#include "solver/legal/rewrite_int.h"

enum { TEXT_BYTES = 1024 };

/* What each rule is, does, and costs. */
struct rule {
    const char *name;
    enum preservation preservation;
    enum rewrite_loop loop;
    enum rewrite_number number;
};

static const struct rule rules[] = {
#define X(id, name, preservation, loop, number)                                                    \
    {name, PRESERVATION_##preservation, LOOP_##loop, NUMBER_##number},
    REWRITES(X)
#undef X
};

static const struct rule *rule_of(enum rewrite_rule rule)
{
    ASSERT((size_t)rule < COUNT_OF(rules));
    return &rules[rule];
}

const char *rewrite_name(enum rewrite_rule rule)
{
    return rule_of(rule)->name;
}

bool rewrite_find(struct str name, enum rewrite_rule *out)
{
    for (size_t i = 0; i < COUNT_OF(rules); i++)
        if (str_equal(name, str_from(rules[i].name))) {
            *out = (enum rewrite_rule)i;
            return true;
        }
    return false;
}

enum preservation rewrite_preservation(enum rewrite_rule rule)
{
    return rule_of(rule)->preservation;
}

enum rewrite_loop rewrite_loop_of(enum rewrite_rule rule)
{
    return rule_of(rule)->loop;
}

enum rewrite_number rewrite_number_of(enum rewrite_rule rule)
{
    return rule_of(rule)->number;
}

/* ---- one of them ---- */

static bool rescale(struct draft *d, const struct rewrite *rewrite)
{
    struct rescaled made;
    return rewrite_rescale(d, rewrite, &made);
}

static bool centre(struct draft *d, const struct rewrite *rewrite)
{
    struct centred made;
    return rewrite_centre(d, rewrite, &made);
}

/* Condition and error term; `step` is for each part of those that cut an index. */
struct effect {
    bool (*apply)(struct draft *d, const struct rewrite *rewrite);
    const char *text;
    double scale, step;
};

static const struct effect effects[] = {
    [REWRITE_INLINE] = {rewrite_inline, "the same operations, done where they are used", 1, 0},
    [REWRITE_AGAIN] = {rewrite_again, "the same operations, done once for each that reads it", 1,
                       0},
    [REWRITE_HOIST] = {rewrite_hoist,
                       "the sum times what all terms have; finite for inputs within 2^27", 1, 0},
    [REWRITE_INTERCHANGE] = {rewrite_interchange,
                             "the same terms in another order, and a sum has none", 1, 0},
    [REWRITE_MERGE] = {rewrite_merge, "the same terms in one reduction, and a sum has no order", 1,
                       0},
    [REWRITE_ASSOCIATE] = {rewrite_associate,
                           "the same products in another order; finite for inputs within 2^27", 1,
                           0},
    [REWRITE_SPLIT] = {rewrite_split, "partial results round within the bound of the whole", 1, 0},
    [REWRITE_RESCALE] = {rescale,
                         "sums of parts times exp(their maximum - maximum), at most 1; a part "
                         "whose maximum is -inf adds nothing",
                         2, 0},
    [REWRITE_CENTRE] = {centre,
                        "squares about the part's mean, and its count times the square of the "
                        "mean's distance",
                        2, 0},
    [REWRITE_ONLINE] = {rewrite_online,
                        "the state so far is multiplied by exp(old maximum - new), at most 1: "
                        "three roundings a step",
                        2, 0.25},
    [REWRITE_WELFORD] = {rewrite_welford,
                         "the mean so far is moved, the squares so far take what that adds: a few "
                         "roundings a step",
                         2, 0.5},
    [REWRITE_TRANSPOSE] = {rewrite_transpose, "the same elements in another order of indices", 1,
                           0},
    [REWRITE_FLATTEN] = {rewrite_flatten, "the same elements under one index instead of two", 1, 0},
    [REWRITE_GATHER] = {rewrite_gather,
                        "the elements that the sum reads, copied to where it counts", 1, 0},
    [REWRITE_RECIPROCAL] = {rewrite_reciprocal,
                            "one rounding more: the divisor is the same for several elements, "
                            "positive and no subnormal number",
                            1.25, 0},
    [REWRITE_EXP2] = {rewrite_exp2, "the exponent times log2(e), two roundings of it", 2, 0},
    [REWRITE_RSQRT] = {rewrite_rsqrt, "one rounding less, or one more", 1, 0},
    [REWRITE_POLYNOMIAL] = {rewrite_polynomial,
                            "a power of two times a polynomial, whose remainder is below 4 units",
                            2, 0},
    [REWRITE_ROUND] = {rewrite_round,
                       "the track rounds the factors, and is open where one leaves its type", 1, 0},
    [REWRITE_PARTS] = {rewrite_parts,
                       "factors as sums of bf16 parts; below 2^127 for inputs within 2^27", 1, 0},
};

/* The rule's own term holds where the draft has none. */
static void explain(const struct draft *d, const struct rewrite *rewrite, const struct op *op,
                    struct rewritten *out)
{
    const struct effect *effect = &effects[rewrite->rule];
    out->text = str_from(effect->text);
    out->bound_scale = effect->scale;
    out->bound_step = effect->step;
    if (effect->step > 0)
        out->bound_parts = formula_binary(d->arena, FORMULA_CEILDIV,
                                          op->stmts[rewrite->stmt].loops[rewrite->loop].extent,
                                          formula_int(d->arena, rewrite->number));
    if (!(d->scale > 0))
        return;
    out->bound_scale = d->scale;
    out->bound_step = d->step;
    out->bound_parts = d->step > 0 ? d->parts : NULL;
}

void preserve_apply(struct arena *arena, const struct op *op, const struct rewrite *rewrite,
                    struct rewritten *out)
{
    struct draft d;
    struct buf text;
    struct err err;
    ASSERT((size_t)rewrite->rule < COUNT_OF(effects));
    *out = (struct rewritten){.op = NULL};
    buf_init(&text, arena, TEXT_BYTES + ERR_TEXT_BYTES);
    if (rewrite->stmt >= op->stmt_count) {
        buf_printf(&text, "there is no statement %zu", rewrite->stmt);
        out->text = buf_view(&text);
        return;
    }
    draft_begin(&d, arena, op);
    if (!effects[rewrite->rule].apply(&d, rewrite))
        buf_printf(&text, "statement %zu: %.*s", rewrite->stmt, STR_ARG(d.why));
    else if (!draft_finish(&d, &out->op, &err))
        buf_printf(&text, "statement %zu: %s", rewrite->stmt, err.text);
    out->text = buf_view(&text);
    if (out->op != NULL)
        explain(&d, rewrite, op, out);
}

double rewritten_scale(const struct rewritten *rewritten, const struct bound_op *bound)
{
    int64_t parts = 0;
    struct err err;
    if (rewritten->bound_parts != NULL &&
        !formula_eval(rewritten->bound_parts, &bound->env, &parts, &err))
        return (double)INFINITY;
    return rewritten->bound_scale + rewritten->bound_step * (double)parts;
}

/* ---- what may be tried ---- */

struct seen {
    enum expr_op op;
    bool found;
};

static void note_op(void *context, const struct expr *expr)
{
    struct seen *seen = context;
    seen->found |= expr->op == seen->op && dtype_is_float(expr->dtype);
}

static bool has_op(const struct stmt *stmt, enum expr_op op)
{
    struct seen seen = {op, false};
    expr_walk(stmt->value, note_op, &seen);
    return seen.found;
}

static bool is_temporary(const struct op *op, const struct expr *expr)
{
    return expr->op == EXPR_READ && op->tensors[expr->tensor].temporary;
}

static bool concerns(const struct op *op, enum rewrite_rule rule, const struct stmt *stmt)
{
    bool stored = op->tensors[stmt->target].temporary;
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
    case REWRITE_INTERCHANGE:
        return stmt->loop_count - stmt->free_count > 1;
    case REWRITE_MERGE:
        return stmt->reduce != REDUCE_NONE && is_temporary(op, stmt->value);
    case REWRITE_ASSOCIATE:
    case REWRITE_GATHER:
    case REWRITE_ROUND:
    case REWRITE_PARTS:
        return stmt->reduce == REDUCE_SUM && stmt->value->op == EXPR_MUL;
    case REWRITE_AGAIN:
        return stored;
    case REWRITE_TRANSPOSE:
    case REWRITE_FLATTEN:
        return stored && stmt->free_count > 1;
    case REWRITE_RECIPROCAL:
        return has_op(stmt, EXPR_DIV);
    case REWRITE_EXP2:
        return has_op(stmt, EXPR_EXP);
    case REWRITE_RSQRT:
        return has_op(stmt, EXPR_RSQRT) || has_op(stmt, EXPR_SQRT);
    case REWRITE_POLYNOMIAL:
        return has_op(stmt, EXPR_EXP) || has_op(stmt, EXPR_EXP2);
    case REWRITE_COUNT:
        break;
    }
    return false;
}

/* First and one behind the last of the values of rewrite.loop. */
static void loops_to_try(enum rewrite_rule rule, const struct stmt *stmt, size_t *from, size_t *to)
{
    struct factors factors;
    *from = 0;
    switch (rewrite_loop_of(rule)) {
    case LOOP_NONE:
        *to = 1;
        return;
    case LOOP_REDUCED:
        *from = stmt->free_count;
        *to = rule == REWRITE_INTERCHANGE ? stmt->loop_count - 1 : stmt->loop_count;
        return;
    case LOOP_FREE:
        *to = stmt->free_count - 1;
        return;
    case LOOP_FACTOR:
        *to = factors_of_product(stmt->value, &factors) ? factors.above_count : 1;
        return;
    }
}

static int64_t number_to_try(enum rewrite_rule rule, int64_t block)
{
    switch (rewrite_number_of(rule)) {
    case NUMBER_NONE:
        return 0;
    case NUMBER_BLOCK:
        return block;
    case NUMBER_DEGREE:
        return REWRITE_DEGREE_LEAST;
    case NUMBER_PARTS:
        return REWRITE_PARTS_MOST;
    }
    return 0;
}

const struct rewrite *rewrite_list(struct arena *arena, const struct op *op, int64_t block,
                                   size_t *count)
{
    struct rewrite *list =
        arena_array(arena, struct rewrite, op->stmt_count * FACTORS_MAX * REWRITE_COUNT + 1);
    size_t n = 0;
    for (size_t s = 0; s < op->stmt_count; s++)
        for (int i = 0; i < REWRITE_COUNT; i++) {
            enum rewrite_rule rule = (enum rewrite_rule)i;
            size_t from, to;
            if (!concerns(op, rule, &op->stmts[s]))
                continue;
            loops_to_try(rule, &op->stmts[s], &from, &to);
            for (size_t loop = from; loop < to; loop++)
                list[n++] = (struct rewrite){
                    .rule = rule, .stmt = s, .loop = loop, .number = number_to_try(rule, block)};
        }
    *count = n;
    return list;
}
