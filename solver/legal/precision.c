/*
 * Precision of the factors of a contraction, sum a * b of two reads.
 *
 *   round  a * b  ->  a' * b', each rounded to the type that the track computes in
 *   parts  a = a1 + a2 (+ a3), a1 = bf16(a), a2 = bf16(a - a1), a3 = bf16(a - a1 - a2), and b
 * alike; a * b  ->  sum of ai * bj with i + j <= 4, the smallest first
 *
 * Error terms.  Rounding the factors is in the bound of a tf32, f16 or bf16 track, and not in that
 * of f32 or f64.  bf16 has 8 bits, so |a2| <= 2^-8 |a| and |a3| <= 2^-16 |a|, and the differences
 * are exact: three parts hold the 24 bits of an f32 number, two 16.  Products of parts are exact in
 * f32.  Left out with three: a2 b3 + a3 b2 + a3 b3, at most 2.01 units u = 2^-24 of |a b|; five
 * additions to the largest product, the last of 1 unit and all others of 2^-8 of one: 3.1 units in
 * all, and a product of two f32 factors is charged 12 (3xTF32; interp_bound.c).  With two parts
 * nothing is left out but the rest of each factor, 2^-16 |a b| each: 512 units, which only a track
 * has whose own factors are rounded.
 *
 * Conditions on data: a factor from 2^128 (1 - 2^-9) on has an infinite first part, one below
 * 2^-110 loses bits of the last; refused unless finite.c can tell that it does not matter.  An
 * infinity or NaN has NaN for its second part, so the policy must keep them out.  f16 has no
 * exponents below 2^-24 and above 65504: where a factor does not fit, the f16 track's bound is
 * open.
 */
#include "solver/legal/rewrite_int.h"

enum { PART_COUNT_MAX = 3 };

static const struct track *track_of(const struct draft *d, const struct rewrite *rewrite)
{
    return rewrite->track != NULL ? rewrite->track : &d->op.tracks[0];
}

static const struct expr *behind_casts(const struct expr *expr)
{
    while (expr->op == EXPR_CAST)
        expr = expr->args[0];
    return expr;
}

/* Has a value of the expression at most the bits that the track computes with? */
static bool has_few_bits(const struct expr *expr, enum compute compute)
{
    for (;; expr = expr->args[0]) {
        bool half = expr->dtype == DTYPE_F16 || expr->dtype == DTYPE_BF16;
        bool own = compute == COMPUTE_BF16  ? expr->dtype == DTYPE_BF16
                   : compute == COMPUTE_F16 ? expr->dtype == DTYPE_F16
                                            : half || expr->tf32;
        if (own || expr->dtype == DTYPE_E4M3 || expr->dtype == DTYPE_E5M2)
            return true;
        if (expr->op != EXPR_CAST)
            return false;
    }
}

static bool is_contraction(struct draft *d, const struct stmt *stmt)
{
    if (stmt->reduce != REDUCE_SUM || !is_straight(stmt) || stmt->value->op != EXPR_MUL ||
        stmt->value->dtype != DTYPE_F32)
        return refuse(d, "it is no sum of products in f32");
    for (size_t i = 0; i < 2; i++) {
        const struct expr *read = behind_casts(stmt->value->args[i]);
        if (read->op != EXPR_READ || !dtype_is_float(read->dtype))
            return refuse(d, "its factor %zu is computed, so the track has no say in it", i);
    }
    return true;
}

/* The track is the only one that the result is for. */
static void leave_track(struct draft *d, const struct track *track)
{
    d->op.tracks = track;
    d->op.track_count = 1;
}

static const struct expr *cast(struct draft *d, enum dtype dtype, bool tf32,
                               const struct expr *value)
{
    struct expr *e = arena_new(d->arena, struct expr);
    *e = (struct expr){.op = EXPR_CAST, .dtype = dtype, .tf32 = tf32, .args = {value}};
    return e;
}

/* ---- round ---- */

static const struct expr *rounded(struct draft *d, enum compute compute, const struct expr *factor)
{
    if (has_few_bits(factor, compute))
        return factor;
    if (compute == COMPUTE_TF32)
        return cast(d, DTYPE_F32, true, factor);
    enum dtype narrow = compute == COMPUTE_BF16 ? DTYPE_BF16 : DTYPE_F16;
    return cast(d, DTYPE_F32, false, cast(d, narrow, false, factor));
}

bool rewrite_round(struct draft *d, const struct rewrite *rewrite)
{
    struct stmt *stmt = &d->stmts[rewrite->stmt];
    const struct track *track = track_of(d, rewrite);
    if (!is_contraction(d, stmt))
        return false;
    const struct expr *a = stmt->value->args[0], *b = stmt->value->args[1];
    if (track->compute == COMPUTE_F64 || track->compute == COMPUTE_F32)
        return refuse(d, "the %s track's factors keep their bits", compute_name(track->compute));
    if (has_few_bits(a, track->compute) && has_few_bits(b, track->compute))
        return refuse(d, "its factors have no more bits than %s", compute_name(track->compute));
    stmt->value = expr_call(d->arena, EXPR_MUL, rounded(d, track->compute, a),
                            rounded(d, track->compute, b), NULL);
    leave_track(d, track);
    return true;
}

/* ---- parts ---- */

struct factor_parts {
    const struct expr *reads[PART_COUNT_MAX]; /* in f32, in the statement */
    size_t count;
};

static bool add_part(struct draft *d, const struct rewrite *rewrite, const struct expr *rest,
                     size_t *at, struct factor_parts *out)
{
    struct operand operand;
    const struct stmt stmt = d->stmts[rewrite->stmt + *at];
    const struct expr *value = cast(d, DTYPE_BF16, false, rest);
    if (!operand_of(d, &stmt, value, "bits", &operand))
        return false;
    draft_insert(d, rewrite->stmt + (*at)++, &operand.stmt);
    out->reads[out->count++] = cast(d, DTYPE_F32, false, operand.read);
    return true;
}

/* Temporaries are put in at `at` statements behind the rewritten one's old place. */
static bool parts_of_factor(struct draft *d, const struct rewrite *rewrite,
                            const struct expr *factor, size_t *at, struct factor_parts *out)
{
    const struct expr *rest = factor;
    *out = (struct factor_parts){.count = 0};
    if (has_few_bits(factor, COMPUTE_BF16)) {
        out->reads[out->count++] = factor;
        return true;
    }
    while (out->count < (size_t)rewrite->number) {
        if (!add_part(d, rewrite, rest, at, out))
            return false;
        rest = expr_call(d->arena, EXPR_SUB, rest, out->reads[out->count - 1], NULL);
    }
    return true;
}

static const struct expr *products_of(struct draft *d, const struct factor_parts *a,
                                      const struct factor_parts *b)
{
    const struct expr *sum = NULL;
    for (size_t order = PART_COUNT_MAX; order-- > 0;)
        for (size_t i = 0; i <= order && i < a->count; i++) {
            if (order - i >= b->count)
                continue;
            const struct expr *product =
                expr_call(d->arena, EXPR_MUL, a->reads[i], b->reads[order - i], NULL);
            sum = sum == NULL ? product : expr_call(d->arena, EXPR_ADD, sum, product, NULL);
        }
    return sum;
}

static bool can_part(struct draft *d, const struct stmt *stmt, const struct rewrite *rewrite)
{
    const struct track *track = track_of(d, rewrite);
    if (!is_contraction(d, stmt))
        return false;
    if (rewrite->number < 2 || rewrite->number > PART_COUNT_MAX)
        return refuse(d, "%lld parts; 2 or 3", (long long)rewrite->number);
    if (track->compute == COMPUTE_F64)
        return refuse(d, "three parts of bf16 have 24 bits, the f64 track's factors 53");
    if (track->compute == COMPUTE_F32 && rewrite->number < PART_COUNT_MAX)
        return refuse(d, "two parts of bf16 have 16 bits, the f32 track's factors 24");
    if (has_few_bits(stmt->value->args[0], COMPUTE_BF16) &&
        has_few_bits(stmt->value->args[1], COMPUTE_BF16))
        return refuse(d, "its factors have no more bits than bf16");
    for (size_t i = 0; i < 2; i++)
        if (behind_casts(stmt->value->args[i])->dtype == DTYPE_F64)
            return refuse(d, "its factor %zu is rounded from f64 as it is read", i);
    if (!d->op.policy.finite_inputs)
        return refuse(d, "NaN and infinities may arrive, and the parts of an infinity add up to "
                         "NaN");
    for (size_t i = 0; i < 2; i++)
        if (!has_few_bits(stmt->value->args[i], COMPUTE_BF16) &&
            !bits_stay(d, stmt, stmt->value->args[i], stmt->value->args[1 - i]))
            return false;
    return true;
}

bool rewrite_parts(struct draft *d, const struct rewrite *rewrite)
{
    const struct stmt stmt = d->stmts[rewrite->stmt];
    struct factor_parts a, b;
    size_t added = 0;
    if (!can_part(d, &stmt, rewrite) ||
        !parts_of_factor(d, rewrite, stmt.value->args[0], &added, &a) ||
        !parts_of_factor(d, rewrite, stmt.value->args[1], &added, &b))
        return false;
    d->stmts[rewrite->stmt + added].value = products_of(d, &a, &b);
    leave_track(d, track_of(d, rewrite));
    return true;
}
