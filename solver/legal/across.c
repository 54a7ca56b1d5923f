/*
 * What the sum or the maximum of a statement is together with others.
 *
 *   mergeable statistics     a summary of parts from which that of the whole follows
 *   rescaled accumulation    max of u, then a sum over the same index with a factor exp(u - max)
 *   weighted reduction       a sum of values times weights
 *
 * A structure belongs to the statement that completes it, and names the other one.
 */
#include "base/panic.h"

#include "solver/legal/structure_int.h"

enum { DEVIATIONS_MAX = 6 }; /* factors that two deviations are looked for among */

struct str name_of(const struct analysis *a, size_t stmt)
{
    return a->op->tensors[a->op->stmts[stmt].target].name;
}

static bool is_sum(const struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    return stmt->reduce == REDUCE_SUM && stmt->scatter == NULL;
}

/* The term at another statement's loops: reduced loops placed, free ones as they are read. */
struct equality {
    struct analysis *a;
    const struct term *pattern;
    const struct term *wanted;
    uint64_t mask; /* factors without these loops do not matter */
};

/* Same factors along the loops of the mask. */
static bool is_proportional(void *context, const struct term *const *by_loop)
{
    const struct equality *e = context;
    struct factors got, want;
    const struct term *placed = term_replace(&e->a->terms, e->pattern, by_loop);
    if (placed == e->wanted)
        return true;
    if (!factors_in(placed, e->mask, &got) || !factors_in(e->wanted, e->mask, &want) ||
        got.count != want.count || got.count == 0)
        return false;
    for (size_t i = 0; i < got.count; i++)
        if (!has_factor(&want, &got.at[i]))
            return false;
    return true;
}

/* Does `read`, of a sum, sum `wanted` over the reduced loops of s, but for factors that are the
 * same for all its terms? */
static bool sums(struct analysis *a, size_t s, const struct term *read, const struct term *wanted)
{
    size_t writer = term_reduction(&a->terms, read, REDUCE_SUM);
    struct candidates loops = {.count = 0};
    if (writer == OP_NONE || writer == s)
        return false;
    struct equality e = {a, term_of_read(&a->terms, read, TERM_LOOPS_OTHER), wanted,
                         loops_reduced(&a->op->stmts[s])};
    candidates_loops(a, s, e.mask, &loops);
    return loops.count == a->op->stmts[writer].loop_count - a->op->stmts[writer].free_count &&
           match_reduced(a, writer, TERM_LOOPS_OTHER, &loops, is_proportional, &e);
}

/* A read of what m wrote at loops of s, in the order given. */
static const struct term *read_at(struct analysis *a, size_t m, const size_t *loops)
{
    const struct term like = {.kind = TERM_READ, .number = a->op->stmts[m].target};
    struct term_part parts[OP_RANK_MAX];
    size_t rank = a->op->stmts[m].free_count;
    for (size_t i = 0; i < rank; i++)
        parts[i] = (struct term_part){1, term_loop(&a->terms, loops[i])};
    return term_make(&a->terms, &like, parts, rank);
}

struct same_row {
    struct analysis *a;
    size_t s;
    const struct term *wanted;
};
typedef bool row_test(void *context, const struct term *read);
struct row_search {
    struct analysis *a;
    size_t m, s;
    size_t loops[OP_LOOPS_MAX];
    row_test *test;
    void *context;
};

static bool try_rows(struct row_search *r, size_t place)
{
    const struct stmt *m = &r->a->op->stmts[r->m], *s = &r->a->op->stmts[r->s];
    if (place == m->free_count)
        return r->test(r->context, read_at(r->a, r->m, r->loops));
    for (size_t i = 0; i < s->free_count; i++) {
        bool taken = false;
        for (size_t k = 0; k < place; k++)
            taken |= r->loops[k] == i;
        if (taken || r->a->bound->extents[r->m][place] != r->a->bound->extents[r->s][i])
            continue;
        r->loops[place] = i;
        if (try_rows(r, place + 1))
            return true;
    }
    return false;
}

/* Factors along the loops of the mask, whatever those are called; 0 = none, or too many to tell. */
static uint64_t shape_along(const struct term *term, uint64_t mask)
{
    struct factors factors;
    uint64_t shape = 0;
    if (!factors_in(term, mask, &factors))
        return 0;
    for (size_t i = 0; i < factors.count; i++) /* powers are in the products that they are of */
        shape += factors.at[i].term->shape * 3 + 1;
    return shape;
}

/* The same of a statement's own term, kept with its lowest bit set. */
static uint64_t shape_of_stmt(struct analysis *a, size_t s)
{
    if (a->along == NULL)
        a->along = arena_array(a->arena, uint64_t, a->op->stmt_count);
    if (a->along[s] == 0)
        a->along[s] = shape_along(term_of_stmt(&a->terms, s), loops_reduced(&a->op->stmts[s])) | 1;
    return a->along[s];
}

/* Could m's terms be what is wanted, of that shape?  What differs in more than loops could not. */
static bool is_alike(struct analysis *a, size_t m, const struct term *wanted, uint64_t shape)
{
    uint64_t own = shape_of_stmt(a, m);
    return (shape == 0 || own == 1 || own == (shape | 1)) &&
           (wanted->tensors & ~term_of_stmt(&a->terms, m)->tensors) == 0;
}

/* Another reduction over the same rows for which the test holds; OP_NONE. */
static size_t partner(struct analysis *a, size_t s, enum reduce_op op, row_test *test,
                      struct same_row *context)
{
    uint64_t shape = shape_along(context->wanted, loops_reduced(&a->op->stmts[s]));
    for (size_t m = 0; m < a->op->stmt_count; m++) {
        const struct stmt *stmt = &a->op->stmts[m];
        if (stmt->reduce != op)
            continue;
        struct row_search rows = {a, m, s, {0}, test, context};
        if (m != s && is_plain_reduction(stmt) && stmt->free_count <= a->op->stmts[s].free_count &&
            stmt->free_count <= OP_RANK_MAX && is_alike(a, m, context->wanted, shape) &&
            try_rows(&rows, 0))
            return m;
    }
    return OP_NONE;
}

static bool row_sums(void *context, const struct term *read)
{
    const struct same_row *row = context;
    return sums(row->a, row->s, read, row->wanted);
}

/* ---- mean and variance ---- */

struct reads {
    const struct term *at[CANDIDATES_MAX];
    size_t count;
};

static void collect_reads(void *context, const struct term *term)
{
    struct reads *reads = context;
    if (term->kind == TERM_READ && reads->count < CANDIDATES_MAX)
        reads->at[reads->count++] = term;
}

/* The parts of a sum that are the same for all terms of s, and those that are not. */
static void split(struct analysis *a, size_t s, const struct term *sum, const struct term **element,
                  const struct term **centre)
{
    const struct term_part *parts;
    struct term_part single;
    uint64_t mask = loops_reduced(&a->op->stmts[s]);
    size_t count = term_addends(sum, &parts, &single), kept = 0;
    struct term_part *varying = arena_array(a->arena, struct term_part, count + 1);
    for (size_t i = 0; i < count; i++)
        if (parts[i].term->loops & mask)
            varying[kept++] = parts[i];
    *element = term_sum(&a->terms, varying, kept);
    *centre = term_minus(&a->terms, sum, *element);
}

/* The sum of the elements that the centre is made from. */
static size_t mean_of(struct analysis *a, size_t s, const struct term *element,
                      const struct term *centre)
{
    struct reads reads = {.count = 0};
    term_walk(&a->terms, centre, collect_reads, &reads);
    for (size_t i = 0; i < reads.count; i++)
        if (sums(a, s, reads.at[i], element))
            return a->op->tensors[reads.at[i]->number].written_by;
    return OP_NONE;
}

static bool depends_on(const struct analysis *a, size_t s, size_t m)
{
    struct reads reads = {.count = 0};
    struct terms *ts = (struct terms *)&a->terms;
    term_walk(ts, term_of_stmt(ts, s), collect_reads, &reads);
    for (size_t i = 0; i < reads.count; i++)
        if (reads.at[i]->number == a->op->stmts[m].target)
            return true;
    return false;
}

/* A sum of x^2 or (x - c)^2, perhaps each times a weight. */
struct squares {
    const struct term *base;    /* x, or x - c; of several squares their product */
    const struct term *weights; /* the other factors, conditions on indices included */
    bool weighted;              /* by more than those */
};

static bool is_even(double power)
{
    return power == 2 || power == -2;
}

/* Which factors are what is squared: all, or the one that is a square. */
static bool squares_in(struct analysis *a, const struct factors *factors, struct squares *out)
{
    struct term_part base[FACTORS_MAX], weights[FACTORS_MAX];
    size_t even = 0, others = 0, kept = 0, rest = 0;
    for (size_t i = 0; i < factors->count; i++) {
        bool range = is_range(factors->at[i].term);
        even += !range && is_even(factors->at[i].weight);
        others += !range && !is_even(factors->at[i].weight);
    }
    for (size_t i = 0; i < factors->count; i++)
        if (!is_range(factors->at[i].term) && is_even(factors->at[i].weight))
            base[kept++] = (struct term_part){factors->at[i].weight / 2, factors->at[i].term};
        else
            weights[rest++] = factors->at[i];
    out->weighted = others > 0;
    if (even == 0 || (even > 1 && others > 0))
        return false;
    out->base = term_product(&a->terms, base, kept);
    out->weights = term_product(&a->terms, weights, rest);
    return true;
}

static void note_moments(struct analysis *a, size_t s, size_t m, bool centred, bool weighted)
{
    note_structure(a, s, m, STRUCTURE_MERGEABLE_STATISTICS,
                   note_text(a,
                             "with %.*s of statement %zu: %s of parts of the index merge into "
                             "those of the whole",
                             STR_ARG(name_of(a, m)), m,
                             !centred   ? "sum and sum of squares"
                             : weighted ? "weight, mean and squared deviation"
                                        : "count, mean and squared deviation"));
}

/* With the sum of x, times the same weights. */
static bool find_squares(struct analysis *a, size_t s)
{
    struct factors factors;
    struct squares squares;
    const struct term *element, *centre;
    double number;
    if (!factors_in(term_of_stmt(&a->terms, s), loops_reduced(&a->op->stmts[s]), &factors) ||
        !squares_in(a, &factors, &squares))
        return false;
    split(a, s, squares.base, &element, &centre);
    bool centred = !term_is_number(centre, &number);
    if (!centred && (number < 0 || number > 0))
        return false;
    struct same_row row = {a, s, term_times(&a->terms, element, squares.weights)};
    size_t m =
        centred ? mean_of(a, s, row.wanted, centre) : partner(a, s, REDUCE_SUM, row_sums, &row);
    if (m == OP_NONE || (!centred && (depends_on(a, m, s) || depends_on(a, s, m))))
        return false;
    note_moments(a, s, m, centred, squares.weighted);
    return true;
}

/* The sum that the centre of factor i is made from, of its elements times the weights. */
static size_t deviation(struct analysis *a, size_t s, const struct term_part *factor,
                        const struct term *weights)
{
    const struct term *element, *centre;
    if (factor->weight != 1)
        return OP_NONE;
    split(a, s, factor->term, &element, &centre);
    return mean_of(a, s, term_times(&a->terms, element, weights), centre);
}

static void note_comoment(struct analysis *a, size_t s, size_t first, size_t second)
{
    note_structure(a, s, second, STRUCTURE_MERGEABLE_STATISTICS,
                   note_text(a,
                             "with %.*s of statement %zu and %.*s of statement %zu: count, means "
                             "and products of deviations of parts of the index merge into those of "
                             "the whole",
                             STR_ARG(name_of(a, first)), first, STR_ARG(name_of(a, second)),
                             second));
}

/* w * (x - c) * (y - d), c from the sum of w * x and d from that of w * y. */
static bool find_comoment(struct analysis *a, size_t s)
{
    struct factors factors;
    if (!factors_in(term_of_stmt(&a->terms, s), loops_reduced(&a->op->stmts[s]), &factors) ||
        factors.count > DEVIATIONS_MAX)
        return false;
    for (size_t i = 0; i < factors.count; i++)
        for (size_t k = i + 1; k < factors.count; k++) {
            struct term_part rest[DEVIATIONS_MAX];
            size_t count = 0;
            for (size_t n = 0; n < factors.count; n++)
                if (n != i && n != k)
                    rest[count++] = factors.at[n];
            const struct term *weights = term_product(&a->terms, rest, count);
            size_t one = deviation(a, s, &factors.at[i], weights);
            size_t other = one == OP_NONE ? one : deviation(a, s, &factors.at[k], weights);
            if (other == OP_NONE)
                continue;
            note_comoment(a, s, one < other ? one : other, one < other ? other : one);
            return true;
        }
    return false;
}

bool has_moments(const struct analysis *a, size_t s)
{
    enum reduce_op op = a->op->stmts[s].reduce;
    return structure_with(a, s, STRUCTURE_MERGEABLE_STATISTICS) != OP_NONE && op != REDUCE_ARGMAX &&
           op != REDUCE_ARGMIN;
}

/* ---- one statistic ---- */

static bool row_has_maximum(void *context, const struct term *read)
{
    struct same_row *row = context;
    size_t writer = row->a->op->tensors[read->number].written_by;
    struct candidates loops = {.count = 0};
    struct equality e = {row->a, term_of_read(&row->a->terms, read, TERM_LOOPS_OTHER), row->wanted,
                         0};
    candidates_loops(row->a, row->s, loops_reduced(&row->a->op->stmts[row->s]), &loops);
    return match_reduced(row->a, writer, TERM_LOOPS_OTHER, &loops, is_proportional, &e);
}

static void find_position(struct analysis *a, size_t s)
{
    struct same_row row = {a, s, term_of_stmt(&a->terms, s)};
    bool max = a->op->stmts[s].reduce == REDUCE_ARGMAX;
    size_t m = partner(a, s, max ? REDUCE_MAX : REDUCE_MIN, row_has_maximum, &row);
    note_structure(a, s, m, STRUCTURE_MERGEABLE_STATISTICS,
                   m == OP_NONE
                       ? note_text(a, "value and position of parts of the index merge into those "
                                      "of the whole: by value, then by smaller position")
                       : note_text(a,
                                   "with %.*s of statement %zu: value and position of parts of "
                                   "the index merge into those of the whole: by value, then by "
                                   "smaller position",
                                   STR_ARG(name_of(a, m)), m));
}

static void find_statistics(struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    bool whole = stmt->reduce != REDUCE_NONE && stmt->scatter == NULL && !is_scan(a, s);
    if (!whole || has_structure(a, s, STRUCTURE_RESCALED_ACCUMULATION) ||
        (stmt->reduce == REDUCE_SUM && find_comoment(a, s)) ||
        has_structure(a, s, STRUCTURE_CONTRACTION))
        return;
    if (stmt->reduce == REDUCE_ARGMAX || stmt->reduce == REDUCE_ARGMIN)
        find_position(a, s);
    else if (stmt->reduce != REDUCE_SUM || !find_squares(a, s))
        note_structure(a, s, OP_NONE, STRUCTURE_MERGEABLE_STATISTICS,
                       note_text(a, "%s of parts of the index merge into that of the whole",
                                 stmt->reduce == REDUCE_SUM    ? "sums"
                                 : stmt->reduce == REDUCE_PROD ? "products"
                                 : stmt->reduce == REDUCE_MAX  ? "maxima"
                                 : stmt->reduce == REDUCE_MIN  ? "minima"
                                                               : "answers"));
}

/* ---- rescaled accumulation ---- */

struct exponent {
    struct analysis *a;
    const struct term *rest;   /* the exponent without the maximum */
    const struct term *scaled; /* scale * what the maximum is of */
    const struct factors *factors;
};

/* The conditions that are masks of the sum, and the sum without them. */
static const struct term *without_masks(struct terms *ts, const struct term *sum,
                                        struct factors *masks)
{
    const struct term_part *parts;
    struct term_part single;
    size_t count = term_addends(sum, &parts, &single), kept = 0;
    struct term_part *others = arena_array(ts->arena, struct term_part, count + 1);
    masks->count = 0;
    for (size_t i = 0; i < count; i++)
        if (parts[i].term->kind != TERM_MASK)
            others[kept++] = parts[i];
        else if (masks->count < FACTORS_MAX)
            masks->at[masks->count++] = (struct term_part){1, parts[i].term};
    return term_sum(ts, others, kept);
}

/* What the maximum is taken over has the terms of the sum, and perhaps more. */
static bool is_exponent(void *context, const struct term *const *by_loop)
{
    const struct exponent *e = context;
    struct terms *ts = &e->a->terms;
    struct factors of_maximum, of_sum;
    const struct term *scaled = term_expand(ts, term_replace(ts, e->scaled, by_loop));
    if (without_masks(ts, scaled, &of_maximum) != without_masks(ts, e->rest, &of_sum))
        return false;
    for (size_t i = 0; i < of_maximum.count; i++) {
        const struct term *condition = of_maximum.at[i].term->parts[0].term;
        const struct term_part holds = {1, term_holds(ts, condition)};
        if (!has_factor(&of_sum, &of_maximum.at[i]) && !has_factor(e->factors, &holds))
            return false;
    }
    return true;
}

/* The read of a maximum or minimum, perhaps kept from going below a number; NULL. */
static const struct term *extreme_in(struct analysis *a, const struct term *factor)
{
    bool clamped = factor->kind == TERM_CALL &&
                   (factor->op == EXPR_MAX || factor->op == EXPR_MIN) && factor->count == 2;
    double number;
    for (size_t i = 0; clamped && i < 2; i++)
        if (term_is_number(factor->parts[i].term, &number))
            factor = factor->parts[1 - i].term;
    bool extreme = term_reduction(&a->terms, factor, REDUCE_MAX) != OP_NONE ||
                   term_reduction(&a->terms, factor, REDUCE_MIN) != OP_NONE;
    return extreme ? factor : NULL;
}

/* One addend of an exponent: is it minus the extreme of the rest? */
static size_t extreme_of_rest(struct analysis *a, size_t s, const struct term *arg,
                              const struct term_part *addend, const struct factors *factors)
{
    const struct term_part *parts;
    struct term_part single;
    size_t count = term_factors(addend->term, &parts, &single);
    for (size_t i = 0; i < count; i++) {
        const struct term *read = parts[i].weight == 1 ? extreme_in(a, parts[i].term) : NULL;
        size_t m = read == NULL ? OP_NONE : a->op->tensors[read->number].written_by;
        struct candidates loops = {.count = 0};
        if (m == OP_NONE || m == s || a->op->stmts[m].seq != OP_NONE ||
            (a->op->stmts[m].reduce == REDUCE_MAX) != (addend->weight < 0))
            continue;
        const struct term_part scale[] = {{1, addend->term}, {-1, parts[i].term}};
        const struct term *times = term_product(&a->terms, scale, 2);
        const struct term *of = term_of_read(&a->terms, read, TERM_LOOPS_OTHER);
        struct exponent e = {
            a, term_minus(&a->terms, arg, term_scaled(&a->terms, addend->weight, addend->term)),
            term_scaled(&a->terms, -addend->weight, term_times(&a->terms, times, of)), factors};
        candidates_loops(a, s, loops_reduced(&a->op->stmts[s]), &loops);
        if (match_reduced(a, m, TERM_LOOPS_OTHER, &loops, is_exponent, &e))
            return m;
    }
    return OP_NONE;
}

size_t rescaled_against(struct analysis *a, size_t s, const struct term *product)
{
    struct factors factors;
    if (!factors_in(product, UINT64_MAX, &factors))
        return OP_NONE;
    for (size_t i = 0; i < factors.count; i++) {
        const struct term *factor = factors.at[i].term;
        const struct term_part *addends;
        struct term_part single;
        if (factor->kind != TERM_CALL || factor->op != EXPR_EXP)
            continue;
        const struct term *arg = factor->parts[0].term;
        size_t count = term_addends(arg, &addends, &single);
        for (size_t k = 0; k < count; k++) {
            size_t m = extreme_of_rest(a, s, arg, &addends[k], &factors);
            if (m != OP_NONE)
                return m;
        }
    }
    return OP_NONE;
}

static void find_rescaled(struct analysis *a, size_t s)
{
    const struct term_part *addends;
    struct term_part single;
    if (!is_sum(a, s) || a->op->stmts[s].seq != OP_NONE)
        return;
    size_t count = term_addends(term_of_stmt(&a->terms, s), &addends, &single);
    for (size_t i = 0; i < count; i++) {
        size_t m = rescaled_against(a, s, addends[i].term);
        if (m == OP_NONE)
            continue;
        bool max = a->op->stmts[m].reduce == REDUCE_MAX;
        note_structure(a, s, m, STRUCTURE_RESCALED_ACCUMULATION,
                       note_text(a,
                                 "its terms have exp(%s%.*s%s), %.*s of statement %zu being the "
                                 "%s of u over the same index: a sum against a %s one is "
                                 "rescaled, so one pass is enough",
                                 max ? "u - " : "", STR_ARG(name_of(a, m)), max ? "" : " - u",
                                 STR_ARG(name_of(a, m)), m, max ? "maximum" : "minimum",
                                 max ? "smaller" : "larger"));
        return;
    }
}

/* ---- weighted reduction ---- */

static bool is_exp(const struct term *term)
{
    return term->kind == TERM_CALL && term->op == EXPR_EXP && term->reads;
}

/* Do data choose a term of each result, by a subscript that varies along the reduced loops? */
static bool is_gathered(const struct analysis *a, const struct term *term, uint64_t reduced)
{
    for (size_t i = 0; term->kind == TERM_READ && i < a->op->tensors[term->number].rank; i++)
        if (term->parts[i].term->reads && (term->parts[i].term->loops & reduced) != 0)
            return true;
    return false;
}

/* What makes one of the factors a weight; NULL = nothing does. */
static const char *weights_in(struct analysis *a, size_t s, const struct factors *factors)
{
    bool gathered = false, square = true; /* x^2 y^2 is one value's square */
    size_t kinds = 0;
    for (size_t i = 0; i < factors->count; i++)
        if (is_exp(factors->at[i].term))
            return "from exp";
    for (size_t i = 0; i < factors->count; i++)
        if (factors->at[i].term->kind == TERM_HOLDS && factors->at[i].term->reads)
            return "of 0 and 1, a condition on data";
    for (size_t i = 0; i < factors->count; i++) {
        const struct term_part power = factors->at[i];
        struct same_row row = {a, s, term_product(&a->terms, &power, 1)};
        size_t m = partner(a, s, REDUCE_SUM, row_sums, &row);
        if (m != OP_NONE && row.wanted->reads)
            return "that are summed too";
        gathered |= is_gathered(a, power.term, loops_reduced(&a->op->stmts[s]));
        kinds += power.term->reads;
        square &= is_even(power.weight);
    }
    if (gathered && kinds > 1)
        return "for what data choose";
    return kinds > 1 && !square && !has_structure(a, s, STRUCTURE_CONTRACTION) ? "of the same index"
                                                                               : NULL;
}

static void find_weighted(struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    struct factors factors;
    if (!is_sum(a, s) || !factors_in(term_of_stmt(&a->terms, s), loops_reduced(stmt), &factors))
        return;
    size_t kept = 0;
    for (size_t i = 0; i < factors.count; i++)
        if (!is_range(factors.at[i].term))
            factors.at[kept++] = factors.at[i];
    factors.count = kept;
    const char *weights = kept < 2 ? NULL : weights_in(a, s, &factors);
    if (weights != NULL)
        note_structure(a, s, OP_NONE, STRUCTURE_WEIGHTED_REDUCTION,
                       note_text(a, "sum over %.*s of values times weights %s",
                                 STR_ARG(loop_names(a, stmt, true)), weights));
}

void find_across(struct analysis *a, size_t s)
{
    find_rescaled(a, s);
    find_weighted(a, s);
    find_statistics(a, s);
}
