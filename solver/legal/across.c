/*
 * What statements are together.
 *
 *   mergeable statistics     sum of x beside sum of x * x or of (x - f(sum of x))^2
 *   rescaled accumulation    max of u, then a sum over the same index with a factor exp(u - max)
 *   weighted reduction       sum of w * v where the op makes the weights w with exp
 *   streaming normalisation  a map that scales elements by what a reduction said of their row
 *   coupled ratio            a quotient whose parts sum, or are, the same weights
 *
 * A structure belongs to the statement that completes it, and names the other one.
 */
#include "base/panic.h"

#include "solver/legal/structure_int.h"

enum { FACTORS_MAX = 8, CANDIDATES_MAX = 64 };

static struct str name_of(const struct analysis *a, size_t stmt)
{
    return a->op->tensors[a->op->stmts[stmt].target].name;
}

/* The statement that wrote what the view reads plainly, or OP_NONE. */
static size_t writer_of(const struct view *view)
{
    if (view->expr->op != EXPR_READ || !reads_plainly(view->op, view->expr))
        return OP_NONE;
    return view->op->tensors[view->expr->tensor].written_by;
}

static struct view value_of(const struct analysis *a, size_t stmt)
{
    return view_of(a->op, &a->op->stmts[stmt], a->op->stmts[stmt].value);
}

/* The pairing takes reduced loops of `first` to reduced ones of `second` and free ones to free. */
static bool pairs_reductions(const struct pairing *pairing, const struct stmt *first,
                             const struct stmt *second)
{
    for (size_t i = 0; i < first->loop_count; i++) {
        size_t to = pairing->of[i];
        if (to == OP_NONE)
            continue;
        if (to >= second->loop_count || (i >= first->free_count) != (to >= second->free_count))
            return false;
    }
    for (size_t i = first->free_count; i < first->loop_count; i++)
        if (pairing->of[i] == OP_NONE)
            return false;
    return true;
}

/* Does a read of what `writer` wrote stand at the element that the pairing says? */
static bool reads_at_pairing(const struct view *read, const struct stmt *writer,
                             const struct pairing *pairing)
{
    for (size_t i = 0; i < writer->free_count; i++)
        if (pairing->of[i] != read->loop[plain_loop(read->expr->subs[i])])
            return false;
    return true;
}

/* ---- what a statement is made from ---- */

struct ancestry {
    bool *tensor; /* reached */
    bool changed;
};

static void reach(void *context, const struct expr *expr)
{
    struct ancestry *ancestry = context;
    if (expr->op != EXPR_READ || ancestry->tensor[expr->tensor])
        return;
    ancestry->tensor[expr->tensor] = ancestry->changed = true;
}

/* Adds what the tensors reached are made from; once backward, and again for seq blocks, whose
 * statements read later ones of an earlier step. */
static void reach_all(const struct op *op, struct ancestry *ancestry)
{
    do {
        ancestry->changed = false;
        for (size_t s = op->stmt_count; s-- > 0;)
            if (ancestry->tensor[op->stmts[s].target])
                expr_walk(op->stmts[s].value, reach, ancestry);
    } while (ancestry->changed && op->seq_count > 0);
}

/* By tensor: what the expression is made from, at any remove. */
static const bool *made_from(struct analysis *a, const struct expr *expr)
{
    struct ancestry ancestry = {arena_array(a->arena, bool, a->op->tensor_count + 1), false};
    expr_walk(expr, reach, &ancestry);
    reach_all(a->op, &ancestry);
    return ancestry.tensor;
}

/* ---- mergeable statistics ---- */

/* x in x, or in x - c. */
static struct view centred(const struct view *view, bool *subtracts, struct view *centre)
{
    struct view inner = view_through(*view);
    *subtracts = inner.expr->op == EXPR_SUB;
    if (!*subtracts)
        return *view;
    *centre = view_arg(&inner, 1);
    return view_arg(&inner, 0);
}

static bool sums_the_same(const struct analysis *a, size_t mean, const struct view *element,
                          const struct stmt *host)
{
    struct pairing pairing;
    const struct stmt *stmt = &a->op->stmts[mean];
    struct view value = value_of(a, mean);
    pairing_init(&pairing);
    return is_plain_reduction(stmt) && stmt->reduce == REDUCE_SUM &&
           views_equal(&value, element, &pairing) && pairs_reductions(&pairing, stmt, host);
}

static void find_statistics(struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    struct view factors[FACTORS_MAX], centre;
    struct pairing same;
    bool subtracts;
    if (!is_plain_reduction(stmt) || stmt->reduce != REDUCE_SUM ||
        view_factors(value_of(a, s), factors, FACTORS_MAX) != 2)
        return;
    pairing_init(&same);
    if (!views_equal(&factors[0], &factors[1], &same))
        return;
    for (size_t i = 0; i < stmt->loop_count; i++)
        if (same.of[i] != OP_NONE && same.of[i] != i)
            return;
    struct view element = centred(&factors[0], &subtracts, &centre);
    const bool *sources = subtracts ? made_from(a, centre.expr) : NULL;
    for (size_t m = 0; m < a->op->stmt_count; m++) {
        bool linked = !subtracts || sources[a->op->stmts[m].target];
        if (m == s || !linked || (!subtracts && m > s) || !sums_the_same(a, m, &element, stmt))
            continue;
        note_structure(
            a, s, m, STRUCTURE_MERGEABLE_STATISTICS,
            note_text(a,
                      "with %.*s of statement %zu: %s of parts of the index merge into "
                      "those of the whole",
                      STR_ARG(name_of(a, m)), m,
                      subtracts ? "count, mean and squared deviation" : "sum and sum of squares"));
        return;
    }
}

/* ---- rescaled accumulation, weighted reduction ---- */

/* exp(u - c): u and c. */
static bool is_shifted_exp(const struct view *factor, struct view *u, struct view *c)
{
    struct view inner = view_through(*factor);
    if (inner.expr->op != EXPR_EXP && inner.expr->op != EXPR_EXP2)
        return false;
    struct view argument = view_arg(&inner, 0), difference = view_through(argument);
    if (difference.expr->op != EXPR_SUB)
        return false;
    *u = view_arg(&difference, 0);
    *c = view_arg(&difference, 1);
    return true;
}

/* The maximum of u over the host's reduced loops that c is, or OP_NONE. */
static size_t maximum_of(const struct analysis *a, const struct stmt *host, const struct view *u,
                         const struct view *c)
{
    struct pairing pairing;
    size_t m = writer_of(c);
    if (m == OP_NONE || !is_plain_reduction(&a->op->stmts[m]) ||
        a->op->stmts[m].reduce != REDUCE_MAX)
        return OP_NONE;
    struct view value = value_of(a, m);
    pairing_init(&pairing);
    return views_equal(&value, u, &pairing) && pairs_reductions(&pairing, &a->op->stmts[m], host) &&
                   reads_at_pairing(c, &a->op->stmts[m], &pairing)
               ? m
               : OP_NONE;
}

static void find_rescaled(struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    struct view factors[FACTORS_MAX], u, c;
    if (!is_plain_reduction(stmt) || stmt->reduce != REDUCE_SUM)
        return;
    size_t count = view_factors(value_of(a, s), factors, FACTORS_MAX);
    for (size_t i = 0; i < count; i++) {
        size_t m = is_shifted_exp(&factors[i], &u, &c) ? maximum_of(a, stmt, &u, &c) : OP_NONE;
        if (m == OP_NONE)
            continue;
        note_structure(a, s, m, STRUCTURE_RESCALED_ACCUMULATION,
                       note_text(a,
                                 "its terms have exp(u - %.*s), %.*s of statement %zu being the "
                                 "maximum of u over the same index: a sum against a smaller "
                                 "maximum is rescaled, so one pass is enough",
                                 STR_ARG(name_of(a, m)), STR_ARG(name_of(a, m)), m));
        return;
    }
}

/* exp, perhaps over its sum. */
static bool is_weight(struct view view)
{
    view = view_through(view);
    if (view.expr->op == EXPR_DIV) {
        struct view numerator = view_arg(&view, 0);
        view = view_through(numerator);
    }
    return view.expr->op == EXPR_EXP || view.expr->op == EXPR_EXP2;
}

static void find_weighted(struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    const struct expr *product = without_casts(stmt->value);
    if (!is_plain_reduction(stmt) || stmt->reduce != REDUCE_SUM || product->op != EXPR_MUL)
        return;
    for (size_t i = 0; i < 2; i++) {
        struct view weight = view_of(a->op, stmt, product->args[i]);
        struct view value = view_of(a->op, stmt, product->args[1 - i]);
        if (!is_weight(weight) || is_weight(value))
            continue;
        note_structure(a, s, OP_NONE, STRUCTURE_WEIGHTED_REDUCTION,
                       note_text(a, "sum over %.*s of values times weights from exp",
                                 STR_ARG(loop_names(a, stmt, true))));
        return;
    }
}

/* ---- quotients ---- */

struct nodes {
    enum expr_op wanted[2];
    const struct expr *found[CANDIDATES_MAX];
    size_t count;
};

static void collect_nodes(void *context, const struct expr *expr)
{
    struct nodes *nodes = context;
    if ((expr->op == nodes->wanted[0] || expr->op == nodes->wanted[1]) &&
        nodes->count < COUNT_OF(nodes->found))
        nodes->found[nodes->count++] = expr;
}

/* Is the numerator a sum that has the denominator's terms as a factor? */
static bool sums_same_weights(const struct analysis *a, const struct view *numerator, size_t d,
                              size_t *n)
{
    struct view factors[FACTORS_MAX], weights = value_of(a, d);
    *n = writer_of(numerator);
    if (*n == OP_NONE || *n == d || !is_plain_reduction(&a->op->stmts[*n]) ||
        a->op->stmts[*n].reduce != REDUCE_SUM)
        return false;
    size_t count = view_factors(value_of(a, *n), factors, FACTORS_MAX);
    for (size_t i = 0; i < count && count > 1; i++) {
        struct pairing pairing;
        pairing_init(&pairing);
        if (views_equal(&weights, &factors[i], &pairing) &&
            pairs_reductions(&pairing, &a->op->stmts[d], &a->op->stmts[*n]))
            return true;
    }
    return false;
}

/* Is the numerator one of the terms that the denominator sums? */
static bool is_term_of(const struct analysis *a, const struct view *numerator,
                       const struct view *denominator, size_t d)
{
    struct view term = value_of(a, d);
    struct pairing pairing;
    pairing_init(&pairing);
    return views_equal(&term, numerator, &pairing) &&
           reads_at_pairing(denominator, &a->op->stmts[d], &pairing);
}

static void find_ratio(struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    struct nodes nodes = {.wanted = {EXPR_DIV, EXPR_DIV}};
    expr_walk(stmt->value, collect_nodes, &nodes);
    for (size_t i = 0; i < nodes.count; i++) {
        struct view numerator = view_of(a->op, stmt, nodes.found[i]->args[0]);
        struct view denominator = view_of(a->op, stmt, nodes.found[i]->args[1]);
        size_t d = writer_of(&denominator), n;
        if (d == OP_NONE || !is_plain_reduction(&a->op->stmts[d]) ||
            a->op->stmts[d].reduce != REDUCE_SUM)
            continue;
        bool sums = sums_same_weights(a, &numerator, d, &n);
        if (!sums && !is_term_of(a, &numerator, &denominator, d))
            continue;
        note_structure(
            a, s, d, STRUCTURE_COUPLED_RATIO,
            sums
                ? note_text(a,
                            "%.*s of statement %zu and %.*s of statement %zu sum the same weights: "
                            "a factor common to both cancels",
                            STR_ARG(name_of(a, n)), n, STR_ARG(name_of(a, d)), d)
                : note_text(a,
                            "each element is divided by the sum of its row, %.*s of statement "
                            "%zu: a factor common to both cancels",
                            STR_ARG(name_of(a, d)), d));
        return;
    }
}

/* ---- streaming normalisation ---- */

struct row_scan {
    struct analysis *a;
    const struct stmt *stmt;
    size_t statistic; /* tensor, OP_NONE = none */
    bool elements;    /* something is read at every loop */
};

static void scan_rows(void *context, const struct expr *expr)
{
    struct row_scan *scan = context;
    const struct op *op = scan->a->op;
    if (expr->op != EXPR_READ)
        return;
    size_t rank = op->tensors[expr->tensor].rank;
    if (rank == scan->stmt->free_count)
        scan->elements |= reads_plainly(op, expr);
    else if (rank < scan->stmt->free_count && op->tensors[expr->tensor].written_by != OP_NONE)
        scan->statistic = expr->tensor;
}

/* A plain reduction behind the tensor that has a term made from one of `sources`. */
static size_t reduction_behind(struct analysis *a, size_t tensor, const bool *sources)
{
    size_t s = a->op->tensors[tensor].written_by;
    struct ancestry behind = {arena_array(a->arena, bool, a->op->tensor_count + 1), false};
    behind.tensor[tensor] = true;
    reach_all(a->op, &behind);
    for (size_t r = s + 1; r-- > 0;) {
        const struct stmt *stmt = &a->op->stmts[r];
        if (!behind.tensor[stmt->target] || !is_plain_reduction(stmt))
            continue;
        const bool *terms = made_from(a, stmt->value);
        for (size_t t = 0; t < a->op->tensor_count; t++)
            if (terms[t] && sources[t])
                return r;
    }
    return OP_NONE;
}

static void find_normalisation(struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    struct nodes nodes = {.wanted = {EXPR_DIV, EXPR_MUL}};
    if (!is_plain_map(stmt) || stmt->free_count == 0)
        return;
    expr_walk(stmt->value, collect_nodes, &nodes);
    for (size_t i = 0; i < nodes.count; i++)
        for (size_t side = 0; side < 2; side++) {
            const struct expr *by = nodes.found[i]->args[1 - side];
            struct row_scan scale = {a, stmt, OP_NONE, false};
            struct row_scan row = {a, stmt, OP_NONE, false};
            expr_walk(by, scan_rows, &scale);
            expr_walk(nodes.found[i]->args[side], scan_rows, &row);
            bool divides = nodes.found[i]->op == EXPR_MUL || side == 0;
            if (!divides || scale.statistic == OP_NONE || scale.elements || !row.elements)
                continue;
            size_t r =
                reduction_behind(a, scale.statistic, made_from(a, nodes.found[i]->args[side]));
            if (r == OP_NONE)
                continue;
            note_structure(a, s, r, STRUCTURE_STREAMING_NORMALISATION,
                           note_text(a,
                                     "elements are scaled by %.*s, which the reduction of "
                                     "statement %zu draws from the same data",
                                     STR_ARG(a->op->tensors[scale.statistic].name), r));
            return;
        }
}

void find_across(struct analysis *a, size_t s)
{
    find_statistics(a, s);
    find_weighted(a, s);
    find_rescaled(a, s);
    find_normalisation(a, s);
    find_ratio(a, s);
}
