/*
 * What a rewrite computes that the op does not, and that might leave its type's range.
 *
 * A product is followed factor by factor, in the order in which factors_product puts it together:
 * no step may pass half of what the type holds (the other half is for rounding), nor may a sum of
 * as many terms as the largest dims give.  At the small end products are flushed below the type's
 * normal numbers; that is allowed where what it comes to in the result stays below 2^LEAST, the
 * least magnitude that inputs have.
 *
 * Not here: terms that are only added in another order, and squares about another centre, whose sum
 * x could leave the range: the bound is open where that matters (solver/ir/interp_bound.c), for x -
 * c is charged u |x|, and its square is beyond any range for |x| from 2^88 on.
 */
#include <math.h>

#include "base/num.h"

#include "solver/legal/rewrite_int.h"

/* Sizes on the way through a product. */
struct way {
    double before; /* largest but that of the end */
    double end;
    double small, least; /* least but 0: of the end, and of all products on the way */
    size_t steps;
};

static void step(struct way *way, double most, double least)
{
    if (way->steps++ > 0)
        way->before = fmax(way->before, way->end);
    way->end = most > 0 && way->end > 0 ? way->end * most : 0;
    way->small *= least;
    if (way->steps > 1)
        way->least = way->small < way->least ? way->small : way->least;
}

static struct way way_of(struct draft *d, const struct stmt *stmt, double start,
                         const struct factors *factors)
{
    struct way way = {0, start, 1, (double)INFINITY, 0};
    for (size_t i = 0; i < factors->above_count; i++) {
        struct range r = expr_range(d, stmt, factors->above[i]);
        step(&way, range_most(r), range_least(r));
    }
    for (size_t i = 0; i < factors->below_count; i++) {
        struct range r = expr_range(d, stmt, factors->below[i]);
        step(&way, 1 / range_least(r), 1 / range_most(r));
    }
    return way;
}

static double limit_of(enum dtype dtype)
{
    return dtype_max(dtype) / 2;
}

static double normal_of(enum dtype dtype)
{
    return dtype_tiny(dtype) / (2 * dtype_unit_roundoff(dtype));
}

static bool is_lost(double size, double terms, double times)
{
    return !(size * terms * times <= ldexp(1, REWRITE_INPUT_LEAST));
}

bool nested_stays(struct draft *d, const struct stmt *stmt, const struct nested *nested)
{
    enum dtype dtype = stmt->value->dtype;
    struct way inner = way_of(d, stmt, 1, nested->inner);
    double sum = inner.end * nested->terms;
    struct way outer = way_of(d, stmt, sum, nested->outer);
    struct way alone = way_of(d, stmt, 1, nested->outer);
    double terms = nested->again > 0 ? nested->again : 1;
    if (!(fmax(inner.before, sum) <= limit_of(dtype)))
        return refuse(d, "without the other factors its sum may leave the range of %s",
                      dtype_name(dtype));
    if (!(outer.before <= limit_of(dtype)) ||
        (nested->again > 0 && !(fmax(alone.before, outer.end * terms) <= limit_of(dtype))))
        return refuse(d, "the sum and some of the other factors may leave the range of %s",
                      dtype_name(dtype));
    bool flushed = inner.least < normal_of(dtype);
    return !flushed || !is_lost(normal_of(dtype), nested->terms * terms, alone.end) ||
           refuse(d,
                  "without the other factors its terms may be too small for %s, and they are "
                  "large",
                  dtype_name(dtype));
}

bool weights_stay(struct draft *d, const struct stmt *stmt, size_t at,
                  const struct factors *weights)
{
    struct way way = way_of(d, stmt, 1, weights);
    enum dtype dtype = stmt->value->dtype;
    double sum = way.end * terms_at_most(d, stmt);
    return fmax(way.before, sum) <= limit_of(dtype) ||
           refuse(d,
                  "statement %zu weights its terms with what may take a part's sum out of the "
                  "range of %s",
                  at, dtype_name(dtype));
}

bool bits_stay(struct draft *d, const struct stmt *stmt, const struct expr *factor,
               const struct expr *other)
{
    struct range r = expr_range(d, stmt, factor);
    double times = range_most(expr_range(d, stmt, other));
    if (!(range_most(r) <= 0x1p127))
        return refuse(d, "a factor may be beyond 2^127, and its first part infinite");
    return range_least(r) >= 0x1p-110 || !is_lost(0x1p-133, terms_at_most(d, stmt), times) ||
           refuse(d, "a factor may be below 2^-110, and its last part lost, and the other large");
}
