/*
 * Normalisation and quotients.
 *
 *   streaming normalisation  elements scaled by what a reduction said of their row
 *   coupled ratio            a quotient whose parts sum, or are, the same weights; also as the
 *                            difference of logarithms
 *
 * A structure belongs to the statement that has it first: who reads that through a map has it not.
 */
#include "base/panic.h"

#include "solver/legal/structure_int.h"

enum { DEPTH_MAX = 3 };

/* ---- what a statement is made from ---- */

/* What each statement's value is made from, through others: a bit a tensor. */
struct ancestry {
    const struct op *op;
    size_t words; /* of a set */
    uint64_t *sets;
    uint64_t *set; /* being added to */
    bool changed;
};

static void add_bits(uint64_t *set, const uint64_t *from, size_t words, bool *changed)
{
    for (size_t w = 0; w < words; w++) {
        *changed |= (from[w] & ~set[w]) != 0;
        set[w] |= from[w];
    }
}

static void reach(void *context, const struct expr *expr)
{
    struct ancestry *y = context;
    if (expr->op != EXPR_READ)
        return;
    uint64_t bit = UINT64_C(1) << (expr->tensor % 64), *word = &y->set[expr->tensor / 64];
    size_t writer = y->op->tensors[expr->tensor].written_by;
    y->changed |= (*word & bit) == 0;
    *word |= bit;
    if (writer != OP_NONE)
        add_bits(y->set, &y->sets[writer * y->words], y->words, &y->changed);
}

/* Once forward, and again for seq blocks, whose statements read later ones of an earlier step. */
static const uint64_t *ancestors_of(struct analysis *a, size_t s)
{
    size_t words = a->op->tensor_count / 64 + 1;
    if (a->ancestors == NULL) {
        a->ancestors = arena_array(a->arena, uint64_t, words * a->op->stmt_count);
        struct ancestry y = {a->op, words, a->ancestors, NULL, true};
        while (y.changed) {
            y.changed = false;
            for (size_t i = 0; i < a->op->stmt_count; i++) {
                y.set = &y.sets[i * words];
                expr_walk(a->op->stmts[i].value, reach, &y);
            }
            y.changed &= a->op->seq_count > 0;
        }
    }
    return &a->ancestors[s * words];
}

struct nodes {
    const struct term *at[CANDIDATES_MAX];
    size_t count;
    enum term_kind wanted;
};

static void collect(void *context, const struct term *term)
{
    struct nodes *nodes = context;
    if (term->kind == nodes->wanted && nodes->count < CANDIDATES_MAX)
        nodes->at[nodes->count++] = term;
}

static void nodes_of(struct analysis *a, const struct term *term, enum term_kind kind,
                     struct nodes *out)
{
    out->count = 0;
    out->wanted = kind;
    term_walk(&a->terms, term, collect, out);
}

/* What the term is made from. */
static const uint64_t *made_from(struct analysis *a, const struct term *term)
{
    size_t words = a->op->tensor_count / 64 + 1;
    uint64_t *set = arena_array(a->arena, uint64_t, words);
    struct nodes reads;
    bool changed = false; /* nobody asks */
    nodes_of(a, term, TERM_READ, &reads);
    for (size_t i = 0; i < reads.count; i++) {
        size_t tensor = reads.at[i]->number, writer = a->op->tensors[tensor].written_by;
        set[tensor / 64] |= UINT64_C(1) << (tensor % 64);
        if (writer != OP_NONE)
            add_bits(set, ancestors_of(a, writer), words, &changed);
    }
    return set;
}

static bool shares_data(struct analysis *a, const uint64_t *made, size_t s)
{
    const uint64_t *behind = ancestors_of(a, s);
    for (size_t w = 0; w < a->op->tensor_count / 64 + 1; w++)
        if ((behind[w] & made[w]) != 0)
            return true;
    return false;
}

/* ---- streaming normalisation ---- */

/* c / 8 is the same for eight c's. */
static bool is_coarse(const struct term *read)
{
    for (size_t i = 0; i < read->count; i++)
        if (read->parts[i].term->kind == TERM_CALL && read->parts[i].term->op == EXPR_DIV)
            return true;
    return false;
}

/* Is what the reduction sums read beside its result, as in x - mean? */
static bool has_elements(struct analysis *a, const struct nodes *reads, size_t r)
{
    struct nodes terms;
    nodes_of(a, term_of_stmt(&a->terms, r), TERM_READ, &terms);
    for (size_t i = 0; i < reads->count; i++)
        for (size_t k = 0; k < terms.count; k++)
            if (reads->at[i]->number == terms.at[k]->number &&
                term_reduction(&a->terms, reads->at[i], REDUCE_NONE) == OP_NONE)
                return true;
    return false;
}

/* The last reduction that the factor has a result of, drawn from what `rest` reads, and the same
 * for several of its elements; OP_NONE. */
static size_t statistic_in(struct analysis *a, const struct term *factor, const struct term *rest)
{
    struct nodes reads;
    const uint64_t *made = NULL;
    size_t best = OP_NONE;
    nodes_of(a, factor, TERM_READ, &reads);
    for (size_t i = 0; i < reads.count; i++) {
        size_t r = term_reduction(&a->terms, reads.at[i], REDUCE_NONE);
        bool same = (rest->loops & ~factor->loops) != 0 || is_coarse(reads.at[i]);
        if (r == OP_NONE || !same || (best != OP_NONE && r < best) ||
            has_structure(a, r, STRUCTURE_CONTRACTION) || has_elements(a, &reads, r))
            continue;
        if (made == NULL)
            made = made_from(a, rest);
        if (shares_data(a, made, r))
            best = r;
    }
    return best;
}

/* The other factors that read data. */
static const struct term *elements_beside(struct analysis *a, const struct term *product, size_t at)
{
    struct term_part parts[FACTORS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < product->count && count < FACTORS_MAX; i++)
        if (i != at && product->parts[i].term->reads)
            parts[count++] = product->parts[i];
    return term_product(&a->terms, parts, count);
}

static size_t scaled_by(struct analysis *a, const struct term *value)
{
    struct nodes products;
    size_t best = OP_NONE;
    nodes_of(a, value, TERM_PRODUCT, &products);
    for (size_t p = 0; p < products.count; p++)
        for (size_t i = 0; i < products.at[p]->count; i++) {
            const struct term *factor = products.at[p]->parts[i].term;
            size_t r = statistic_in(a, factor, elements_beside(a, products.at[p], i));
            if (r != OP_NONE && (best == OP_NONE || r > best))
                best = r;
        }
    return best;
}

/* ---- quotients ---- */

/* Has a map that the statement reads the structure with the same partner? */
struct inherited {
    struct analysis *a;
    enum structure word;
    size_t with;
    bool found;
};

static void inherit(void *context, const struct expr *expr)
{
    struct inherited *in = context;
    size_t writer = expr->op == EXPR_READ ? in->a->op->tensors[expr->tensor].written_by : OP_NONE;
    if (writer != OP_NONE && in->a->op->stmts[writer].reduce == REDUCE_NONE &&
        !in->a->terms.carried[writer])
        in->found |= structure_with(in->a, writer, in->word) == in->with &&
                     has_structure(in->a, writer, in->word);
}

static bool inherits(struct analysis *a, size_t s, enum structure word, size_t with)
{
    struct inherited in = {a, word, with, false};
    expr_walk(a->op->stmts[s].value, inherit, &in);
    return in.found;
}

/* The sum that a denominator is, perhaps with a number added or kept from below; NULL. */
static const struct term *sum_in(struct analysis *a, const struct term *denominator, bool *exact)
{
    bool sum = denominator->kind == TERM_SUM;
    bool clamped = denominator->kind == TERM_CALL && denominator->op == EXPR_MAX;
    double number;
    *exact = !sum && !clamped;
    if ((sum || clamped) && denominator->count == 2)
        for (size_t i = 0; i < 2; i++)
            if (term_is_number(denominator->parts[i].term, &number)) {
                denominator = denominator->parts[1 - i].term;
                break;
            }
    return term_reduction(&a->terms, denominator, REDUCE_SUM) == OP_NONE ? NULL : denominator;
}

/* Do the factors hold the terms of `read`, a sum, as a factor?  Sums among them may themselves sum
 * the same, as in q * sum(k * v) over q * sum(k). */
struct covering {
    struct analysis *a;
    const struct term *pattern; /* of the denominator, at its own loops or stand-ins */
    uint64_t mask;
    const struct factors *factors; /* of the numerator */
    size_t depth;
};

static bool covers(struct analysis *a, const struct term *numerator, const struct term *denominator,
                   size_t depth);

static bool is_covered(const struct covering *c, const struct term_part *wanted)
{
    if (has_factor(c->factors, wanted))
        return true;
    for (size_t i = 0; i < c->factors->count; i++)
        if (c->factors->at[i].weight == 1 && wanted->weight == 1 &&
            covers(c->a, c->factors->at[i].term, wanted->term, c->depth + 1))
            return true;
    return false;
}

static bool has_weights(void *context, const struct term *const *by_loop)
{
    const struct covering *c = context;
    struct factors wanted;
    const struct term *pattern =
        by_loop == NULL ? c->pattern : term_replace(&c->a->terms, c->pattern, by_loop);
    if (!factors_in(pattern, UINT64_MAX, &wanted))
        return false;
    size_t varying = 0;
    for (size_t i = 0; i < wanted.count; i++) {
        if ((wanted.at[i].term->loops & c->mask) == 0)
            continue;
        varying++;
        if (!is_covered(c, &wanted.at[i]))
            return false;
    }
    return varying > 0 && pattern->reads;
}

/* Both are reads of sums; the first sums the terms of the second times something. */
static bool covers(struct analysis *a, const struct term *numerator, const struct term *denominator,
                   size_t depth)
{
    size_t n = term_reduction(&a->terms, numerator, REDUCE_SUM);
    size_t d = term_reduction(&a->terms, denominator, REDUCE_SUM);
    struct candidates loops = {.count = 0};
    struct factors factors;
    if (n == OP_NONE || d == OP_NONE || n == d || depth == DEPTH_MAX)
        return false;
    const struct stmt *stmt = &a->op->stmts[n];
    size_t shift = depth % 2 == 0 ? TERM_LOOPS_THIRD : TERM_LOOPS_OTHER;
    const struct term *terms = term_of_read(&a->terms, numerator, shift);
    if (!factors_in(terms, UINT64_MAX, &factors))
        return false;
    for (size_t i = stmt->free_count; i < stmt->loop_count; i++)
        loops.at[loops.count++] =
            (struct candidate){term_loop(&a->terms, shift + i), a->bound->extents[n][i]};
    size_t own = shift == TERM_LOOPS_THIRD ? TERM_LOOPS_OTHER : TERM_LOOPS_THIRD;
    struct covering c = {a, term_of_read(&a->terms, denominator, own), loops_reduced(stmt) << shift,
                         &factors, depth};
    return match_reduced(a, d, own, &loops, has_weights, &c);
}

/* The other factors of a product. */
static bool factors_beside(struct analysis *a, const struct term *product, size_t at,
                           struct factors *out)
{
    struct term_part parts[FACTORS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < product->count && count < FACTORS_MAX; i++)
        if (i != at)
            parts[count++] = product->parts[i];
    return factors_in(term_product(&a->terms, parts, count), UINT64_MAX, out);
}

struct quotient {
    size_t numerator; /* statement; OP_NONE = an element of what is summed */
    size_t denominator;
    bool exact, logarithm, finer; /* finer: several elements a denominator */
};

static bool is_element(struct analysis *a, size_t s, const struct term *read,
                       const struct term *product, const struct factors *rest)
{
    struct candidates loops = {.count = 0};
    size_t d = a->op->tensors[read->number].written_by;
    struct covering c = {a, term_of_read(&a->terms, read, TERM_LOOPS_OTHER), UINT64_MAX, rest,
                         DEPTH_MAX};
    candidates_loops(a, s, UINT64_MAX, &loops);
    candidates_gathered(a, product, &loops);
    return match_reduced(a, d, TERM_LOOPS_OTHER, &loops, has_weights, &c);
}

static bool quotient_at(struct analysis *a, size_t s, const struct term *product, size_t at,
                        struct quotient *out)
{
    struct factors rest;
    bool exact;
    const struct term *read = sum_in(a, product->parts[at].term, &exact);
    if (product->parts[at].weight != -1 || read == NULL || !factors_beside(a, product, at, &rest))
        return false;
    *out = (struct quotient){OP_NONE, a->op->tensors[read->number].written_by, exact, false,
                             (product->loops & ~read->loops) != 0};
    for (size_t i = 0; i < rest.count; i++) {
        bool covered = rest.at[i].weight == 1 && covers(a, rest.at[i].term, read, 0);
        size_t writer = covered ? a->op->tensors[rest.at[i].term->number].written_by : OP_NONE;
        if (writer < out->numerator) /* the first of several: parts come in no order */
            out->numerator = writer;
    }
    return out->numerator != OP_NONE || is_element(a, s, read, product, &rest);
}

/* ---- logarithms of quotients ---- */

struct difference {
    struct analysis *a;
    const struct term *pattern; /* the exponent of what is summed */
    const struct term *sum;
    double weight;
    uint64_t loops; /* of the exponent where it is found */
};

/* All parts of the exponent are in the sum. */
static bool has_exponent(void *context, const struct term *const *by_loop)
{
    struct difference *d = context;
    const struct term_part *parts;
    struct term_part single;
    const struct term *exponent =
        term_scaled(&d->a->terms, d->weight, term_replace(&d->a->terms, d->pattern, by_loop));
    size_t count = term_addends(exponent, &parts, &single), found = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < d->sum->count; k++)
            found += d->sum->parts[k].term == parts[i].term &&
                     d->sum->parts[k].weight == parts[i].weight;
    d->loops = exponent->loops;
    return found == count && exponent->reads;
}

static bool logarithm_at(struct analysis *a, size_t s, const struct term *sum, size_t at,
                         struct quotient *out)
{
    const struct term *log = sum->parts[at].term;
    bool exact;
    if (log->kind != TERM_CALL || log->op != EXPR_LOG)
        return false;
    const struct term *read = sum_in(a, log->parts[0].term, &exact);
    if (read == NULL)
        return false;
    const struct term *terms = term_of_read(&a->terms, read, TERM_LOOPS_OTHER);
    const struct term_part *factors;
    struct term_part single;
    if (term_factors(terms, &factors, &single) != 1 || factors[0].term->kind != TERM_CALL ||
        factors[0].term->op != EXPR_EXP)
        return false;
    struct candidates loops = {.count = 0};
    struct difference d = {a, factors[0].term->parts[0].term, sum, -sum->parts[at].weight, 0};
    candidates_loops(a, s, UINT64_MAX, &loops);
    candidates_gathered(a, sum, &loops);
    size_t writer = a->op->tensors[read->number].written_by;
    if (!match_reduced(a, writer, TERM_LOOPS_OTHER, &loops, has_exponent, &d))
        return false;
    *out = (struct quotient){OP_NONE, writer, exact, true, (d.loops & ~read->loops) != 0};
    return true;
}

/* What part `at` of a product or sum divides by, or takes the logarithm of; OP_NONE = no sum. */
static size_t denominator_at(struct analysis *a, const struct term *term, size_t at)
{
    const struct term *part = term->parts[at].term;
    bool exact, log = part->kind == TERM_CALL && part->op == EXPR_LOG;
    if (term->kind == TERM_PRODUCT ? term->parts[at].weight != -1 : !log)
        return OP_NONE;
    const struct term *read =
        sum_in(a, term->kind == TERM_PRODUCT ? part : part->parts[0].term, &exact);
    return read == NULL ? OP_NONE : a->op->tensors[read->number].written_by;
}

/* The last denominator before `before`; OP_NONE = none. */
static size_t denominator_before(struct analysis *a, const struct nodes *nodes, size_t before)
{
    size_t last = OP_NONE;
    for (size_t i = 0; i < nodes->count; i++)
        for (size_t k = 0; k < nodes->at[i]->count; k++) {
            size_t d = denominator_at(a, nodes->at[i], k);
            if (d < before && (last == OP_NONE || d > last))
                last = d;
        }
    return last;
}

/* Of several by one sum: what is divided first; parts come in no order. */
static bool is_better(const struct quotient *q, const struct quotient *best)
{
    if (best->denominator == OP_NONE || q->numerator != best->numerator)
        return best->denominator == OP_NONE || q->numerator < best->numerator;
    return q->exact != best->exact ? q->exact : q->finer && !best->finer;
}

typedef bool quotient_finder(struct analysis *a, size_t s, const struct term *term, size_t at,
                             struct quotient *out);

/* By the last sum that divides anything. */
static bool best_quotient(struct analysis *a, size_t s, enum term_kind kind, quotient_finder *find,
                          struct quotient *best)
{
    struct nodes nodes;
    struct quotient q;
    *best = (struct quotient){.numerator = OP_NONE, .denominator = OP_NONE};
    nodes_of(a, term_of_stmt(&a->terms, s), kind, &nodes);
    size_t d = denominator_before(a, &nodes, OP_NONE);
    for (; d != OP_NONE && best->denominator == OP_NONE; d = denominator_before(a, &nodes, d))
        for (size_t i = 0; i < nodes.count; i++)
            for (size_t k = 0; k < nodes.at[i]->count; k++)
                if (denominator_at(a, nodes.at[i], k) == d && find(a, s, nodes.at[i], k, &q) &&
                    is_better(&q, best))
                    *best = q;
    return best->denominator != OP_NONE;
}

static bool find_quotient(struct analysis *a, size_t s, struct quotient *out)
{
    return best_quotient(a, s, TERM_PRODUCT, quotient_at, out) ||
           best_quotient(a, s, TERM_SUM, logarithm_at, out);
}

static void note_quotient(struct analysis *a, size_t s, const struct quotient *q)
{
    struct str name = name_of(a, q->denominator);
    const char *cancels = q->exact ? "a factor common to both cancels"
                                   : "a factor common to both cancels but for what is added to it";
    if (q->logarithm)
        note_structure(a, s, q->denominator, STRUCTURE_COUPLED_RATIO,
                       note_text(a,
                                 "the logarithm of a term over the sum of its row, %.*s of "
                                 "statement %zu: %s",
                                 STR_ARG(name), q->denominator, cancels));
    else if (q->numerator == OP_NONE)
        note_structure(a, s, q->denominator, STRUCTURE_COUPLED_RATIO,
                       note_text(a,
                                 "each element is divided by the sum of its row, %.*s of statement "
                                 "%zu: %s",
                                 STR_ARG(name), q->denominator, cancels));
    else
        note_structure(a, s, q->denominator, STRUCTURE_COUPLED_RATIO,
                       note_text(a,
                                 "%.*s of statement %zu and %.*s of statement %zu sum the same "
                                 "weights: %s",
                                 STR_ARG(name_of(a, q->numerator)), q->numerator, STR_ARG(name),
                                 q->denominator, cancels));
}

void find_ratios(struct analysis *a, size_t s)
{
    struct quotient q = {.numerator = OP_NONE};
    bool quotient = find_quotient(a, s, &q);
    size_t r = scaled_by(a, term_of_stmt(&a->terms, s));
    bool shifts = r == OP_NONE && quotient && q.logarithm && q.finer;
    if (r == OP_NONE && quotient && q.finer)
        r = q.denominator;
    if (r != OP_NONE && !inherits(a, s, STRUCTURE_STREAMING_NORMALISATION, r))
        note_structure(a, s, r, STRUCTURE_STREAMING_NORMALISATION,
                       note_text(a,
                                 "elements are %s %.*s, which the reduction of statement %zu draws "
                                 "from the same data",
                                 shifts ? "shifted by the logarithm of" : "scaled by",
                                 STR_ARG(name_of(a, r)), r));
    if (quotient && !inherits(a, s, STRUCTURE_COUPLED_RATIO, q.denominator))
        note_quotient(a, s, &q);
}
