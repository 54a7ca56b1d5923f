/*
 * Products as lists of factors, and operands of products as temporaries.
 *
 * A product is taken apart through quotients: a * b / (c * d) has numerators a, b and denominators
 * c, d.  Put together again it has the same factors, in an order of its own.
 */
#include "solver/legal/rewrite_int.h"

/* ---- lists ---- */

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

static bool add_factor(const struct expr *expr, const struct expr **list, size_t *count)
{
    if (*count == FACTORS_MAX)
        return false;
    list[(*count)++] = expr;
    return true;
}

bool factors_part(const struct factors *factors, size_t from, size_t to, struct factors *varying,
                  struct factors *same)
{
    bool fits = true;
    for (size_t i = 0; i < factors->above_count; i++) {
        struct factors *to_add = expr_varies_over(factors->above[i], from, to) ? varying : same;
        fits &= add_factor(factors->above[i], to_add->above, &to_add->above_count);
    }
    for (size_t i = 0; i < factors->below_count; i++) {
        struct factors *to_add = expr_varies_over(factors->below[i], from, to) ? varying : same;
        fits &= add_factor(factors->below[i], to_add->below, &to_add->below_count);
    }
    return fits;
}

const struct expr *factors_product(struct draft *d, const struct expr *start,
                                   const struct factors *factors)
{
    const struct expr *out = start;
    for (size_t i = 0; i < factors->above_count; i++)
        out = out == NULL ? factors->above[i]
                          : expr_call(d->arena, EXPR_MUL, out, factors->above[i], NULL);
    if (out == NULL)
        out = expr_real(d->arena, 1);
    for (size_t i = 0; i < factors->below_count; i++)
        out = expr_call(d->arena, EXPR_DIV, out, factors->below[i], NULL);
    return out;
}

/* ---- operands ---- */

bool operand_of(struct draft *d, const struct stmt *stmt, const struct expr *value,
                const char *hint, struct operand *out)
{
    const struct expr *by_loop[OP_LOOPS_MAX] = {NULL};
    struct loop *loops = arena_array(d->arena, struct loop, stmt->loop_count + 1);
    size_t used[OP_LOOPS_MAX], count = 0;
    for (size_t i = 0; i < stmt->loop_count; i++) {
        if (!expr_varies_over(value, i, i + 1))
            continue;
        loops[count] = stmt->loops[i];
        loops[count].reduced = false;
        by_loop[i] = expr_index(d->arena, count);
        used[count++] = i;
    }
    if (count > OP_RANK_MAX)
        return refuse(d, "%s would have %zu indices, more than the %d of a tensor", hint, count,
                      OP_RANK_MAX);
    size_t target = draft_temporary(d, hint, value->dtype, loops, count);
    out->stmt = (struct stmt){.target = target,
                              .loops = loops,
                              .loop_count = count,
                              .free_count = count,
                              .value = expr_replaced(d->arena, value, by_loop, OP_NONE),
                              .seq = OP_NONE};
    out->read = expr_at(d->arena, target, used, count);
    return true;
}

struct putting {
    const struct expr *old, *with;
};

static const struct expr *put(void *context, const struct expr *expr, struct expr *copied)
{
    const struct putting *putting = context;
    return expr == putting->old ? putting->with : copied;
}

const struct expr *expr_put(struct draft *d, const struct expr *value, const struct expr *old,
                            const struct expr *with)
{
    struct putting putting = {old, with};
    return expr_mapped(d->arena, value, put, &putting);
}
