/*
 * Bounded approximations: an operation as others that lose a known number of units.
 *
 *   reciprocal  x / c            ->  x * r, r = 1 / c, c the same for many elements
 *   exp2        exp(x)           ->  exp2(x * log2(e))
 *   rsqrt       x / sqrt(y)      ->  x * rsqrt(y);  or rsqrt(y) -> 1 / sqrt(y)
 *   polynomial  exp2(y)          ->  exp2(n) * p(y - n), n = floor(y); exp(x) as exp2(x * log2(e))
 *
 * Error terms, in units u of the type against what solver/ir/interp_bound.c charges:
 *
 *   reciprocal  a quotient has 6 (3 in narrow types); now that, and 1 for the product: 7/6 (4/3).
 *               1 / c overflows below 2^-128, which x / c need not, so c must be a normal number.
 *               A c beyond 2^126 has a subnormal reciprocal; __fdividef is 0 there too, and the
 *               bound has that for f32 and bf16.  0, infinities and NaN come out the same
 *   exp2        exp has 8 + 3|x|.  Rounding log2(e) and the product moves the exponent by
 *               2 u |x| log2(e), the value by 2|x|; exp2 has 8 + 2 * 1.4427|x|: together 8 + 4.9|x|
 *   rsqrt       sqrt and a quotient have 6 + 6, rsqrt and a product 6 + 1; the other way 12 for 6
 *   polynomial  the remainder of Taylor's polynomial of degree n for 2^f = exp(f ln 2), 0 <= f < 1,
 *               is at most ln2^(n+1) / (n+1)! of the value (Lagrange, at the point itself);
 * Horner's last step has 1, what it adds at most half of 3 more, f itself 1/2: 4 in all.  8 are
 *               free, so the remainder may have 4: degree 8 has 1.7, degree 7 has 22.  f = 0 is
 *               exact, as exp2 is of integers; |y| is cut at 160, where f32 has 0 and infinity
 *               already, for f of an infinity would be NaN
 *
 * exp2's argument in a narrower type would lose |x| units of that type where only three are free,
 * so both are for f32 (exp2 for f64 too).
 */
#include <math.h>

#include "solver/legal/rewrite_int.h"

static const double log2_e = 1.4426950408889634;
static const double ln_2 = 0.6931471805599453;

enum { DIVISORS_MAX = 16, DEGREE_MAX = 12 };

struct change {
    struct draft *d;
    const struct stmt *stmt;
    size_t count;    /* of nodes changed */
    const char *why; /* of the last that was not */
    /* reciprocal */
    const struct expr *divisors[DIVISORS_MAX];
    struct operand operands[DIVISORS_MAX];
    bool failed, narrow;
    /* polynomial */
    int64_t degree;
};

static const struct expr *real_like(struct draft *d, const struct expr *like, double value)
{
    struct expr *e = arena_new(d->arena, struct expr);
    *e = (struct expr){.op = EXPR_FLOAT, .dtype = like->dtype, .real = value};
    return e;
}

/* ---- reciprocal ---- */

static bool is_shared(const struct change *c, const struct expr *expr)
{
    for (size_t i = 0; i < c->stmt->loop_count; i++)
        if (!expr_varies_over(expr, i, i + 1))
            return true;
    return false;
}

static bool can_invert(struct change *c, const struct expr *quotient)
{
    const struct expr *divisor = quotient->args[1];
    if (!dtype_is_float(divisor->dtype) || !expr_reads_data(divisor) || !is_shared(c, divisor))
        return false;
    if (divisor->dtype != quotient->dtype ||
        (divisor->dtype != DTYPE_F32 && divisor->dtype != DTYPE_BF16)) {
        c->why = "the reciprocal of a large divisor is subnormal in its type";
        return false;
    }
    if (!(expr_at_least(c->d, divisor) >= 0x1p-126)) {
        c->why = "nothing says that its divisor is positive and no subnormal number, whose "
                 "reciprocal overflows";
        return false;
    }
    return true;
}

static const struct expr *inverted(void *context, const struct expr *expr, struct expr *copied)
{
    struct change *c = context;
    size_t at = 0;
    if (expr->op != EXPR_DIV || c->failed || !can_invert(c, expr))
        return copied;
    while (at < c->count && !expr_same(c->divisors[at], expr->args[1]))
        at++;
    if (at == DIVISORS_MAX)
        return copied;
    if (at == c->count) {
        const struct expr *value =
            expr_call(c->d->arena, EXPR_DIV, real_like(c->d, expr, 1), copied->args[1], NULL);
        c->failed |= !operand_of(c->d, c->stmt, value, "reciprocal", &c->operands[at]);
        c->divisors[c->count++] = expr->args[1];
    }
    c->narrow |= expr->dtype != DTYPE_F32;
    if (c->failed)
        return copied;
    copied->op = EXPR_MUL;
    copied->args[1] = c->operands[at].read;
    return copied;
}

bool rewrite_reciprocal(struct draft *d, const struct rewrite *rewrite)
{
    struct stmt stmt = d->stmts[rewrite->stmt];
    struct change c = {.d = d,
                       .stmt = &stmt,
                       .why = "it has no quotient whose divisor is the same for several elements"};
    if (stmt.seq != OP_NONE || stmt.scatter != NULL)
        return refuse(d, "a step or a scatter keeps its quotients");
    const struct expr *value = expr_mapped(d->arena, stmt.value, inverted, &c);
    if (c.failed)
        return false;
    if (c.count == 0)
        return refuse(d, "%s", c.why);
    d->stmts[rewrite->stmt].value = value;
    for (size_t i = 0; i < c.count; i++)
        draft_insert(d, rewrite->stmt + i, &c.operands[i].stmt);
    d->scale = c.narrow ? 1.5 : 1.25;
    return true;
}

/* ---- exp2 ---- */

static bool is_exp(struct change *c, const struct expr *expr, bool both)
{
    if ((expr->op != EXPR_EXP && (!both || expr->op != EXPR_EXP2)) || !expr_reads_data(expr))
        return false;
    if (expr->dtype == DTYPE_F32 || (expr->dtype == DTYPE_F64 && !both))
        return true;
    c->why = "its exponent's argument would be rounded to another number of bits than the rule is "
             "about, and loses more than exp may";
    return false;
}

/* What exp2 is taken of. */
static const struct expr *exponent(struct change *c, const struct expr *expr,
                                   const struct expr *argument)
{
    return expr->op == EXPR_EXP2
               ? argument
               : expr_call(c->d->arena, EXPR_MUL, argument, real_like(c->d, expr, log2_e), NULL);
}

static const struct expr *in_base_2(void *context, const struct expr *expr, struct expr *copied)
{
    struct change *c = context;
    if (!is_exp(c, expr, false))
        return copied;
    c->count++;
    copied->args[0] = exponent(c, expr, copied->args[0]);
    copied->op = EXPR_EXP2;
    return copied;
}

bool rewrite_exp2(struct draft *d, const struct rewrite *rewrite)
{
    struct stmt *stmt = &d->stmts[rewrite->stmt];
    struct change c = {.d = d, .why = "it has no exp of data"};
    stmt_map(d, stmt, in_base_2, &c);
    return c.count > 0 || refuse(d, "%s", c.why);
}

/* ---- rsqrt ---- */

static bool is_by_sqrt(const struct expr *expr)
{
    return expr->op == EXPR_DIV && dtype_is_float(expr->dtype) && expr->args[1]->op == EXPR_SQRT &&
           expr->args[1]->dtype == expr->dtype;
}

static const struct expr *by_rsqrt(void *context, const struct expr *expr, struct expr *copied)
{
    struct change *c = context;
    const struct expr *one = expr->args[0];
    if (!is_by_sqrt(expr))
        return copied;
    c->count++;
    const struct expr *root =
        expr_call(c->d->arena, EXPR_RSQRT, copied->args[1]->args[0], NULL, NULL);
    if (one->op == EXPR_INT ? one->integer == 1 : one->op == EXPR_FLOAT && one->real == 1)
        return root;
    copied->op = EXPR_MUL;
    copied->args[1] = root;
    return copied;
}

static const struct expr *by_sqrt(void *context, const struct expr *expr, struct expr *copied)
{
    struct change *c = context;
    if (expr->op != EXPR_RSQRT)
        return copied;
    c->count++;
    copied->op = EXPR_SQRT;
    return expr_call(c->d->arena, EXPR_DIV, real_like(c->d, expr, 1), copied, NULL);
}

bool rewrite_rsqrt(struct draft *d, const struct rewrite *rewrite)
{
    struct stmt *stmt = &d->stmts[rewrite->stmt];
    struct change c = {.d = d};
    stmt_map(d, stmt, by_rsqrt, &c);
    if (c.count > 0)
        return true;
    stmt_map(d, stmt, by_sqrt, &c);
    d->scale = 2;
    return c.count > 0 || refuse(d, "it has no quotient by a square root, and no rsqrt");
}

/* ---- polynomial ---- */

/* ln2^k / k! */
static double taylor(int64_t k)
{
    double out = 1;
    for (int64_t i = 1; i <= k; i++)
        out *= ln_2 / (double)i;
    return out;
}

static const struct expr *polynomial(struct change *c, const struct expr *like,
                                     const struct expr *fraction)
{
    struct arena *arena = c->d->arena;
    const struct expr *out = real_like(c->d, like, taylor(c->degree));
    for (int64_t k = c->degree; k-- > 0;)
        out = expr_call(arena, EXPR_ADD, expr_call(arena, EXPR_MUL, out, fraction, NULL),
                        real_like(c->d, like, taylor(k)), NULL);
    return out;
}

static const struct expr *by_polynomial(void *context, const struct expr *expr, struct expr *copied)
{
    const double cut = 160;
    struct change *c = context;
    struct arena *arena = c->d->arena;
    if (!is_exp(c, expr, true))
        return copied;
    c->count++;
    const struct expr *y = exponent(c, expr, copied->args[0]);
    y = expr_call(arena, EXPR_MAX, y, real_like(c->d, expr, -cut), NULL);
    y = expr_call(arena, EXPR_MIN, y, real_like(c->d, expr, cut), NULL);
    const struct expr *whole = expr_call(arena, EXPR_FLOOR, y, NULL, NULL);
    const struct expr *fraction = expr_call(arena, EXPR_SUB, y, whole, NULL);
    return expr_call(arena, EXPR_MUL, expr_call(arena, EXPR_EXP2, whole, NULL, NULL),
                     polynomial(c, expr, fraction), NULL);
}

bool rewrite_polynomial(struct draft *d, const struct rewrite *rewrite)
{
    struct stmt *stmt = &d->stmts[rewrite->stmt];
    struct change c = {.d = d, .why = "it has no exp of data", .degree = rewrite->number};
    if (c.degree < 1 || c.degree > DEGREE_MAX)
        return refuse(d, "a polynomial of degree %lld; from 1 to %d", (long long)c.degree,
                      DEGREE_MAX);
    double rest = taylor(c.degree + 1) * 0x1p24;
    stmt_map(d, stmt, by_polynomial, &c);
    if (c.count == 0)
        return refuse(d, "%s", c.why);
    if (rest > 4)
        return refuse(d, "degree %lld leaves %.3g units of f32 where 4 are free",
                      (long long)c.degree, rest);
    return expr_nodes(stmt->value) <= REWRITE_NODES_MAX / 4 ||
           refuse(d, "it would have more than %d operations", REWRITE_NODES_MAX / 4);
}
