/*
 * Which rewrites keep the meaning of a statement.
 *
 * The meaning is the real value of each output within its error bound (solver/ir/interp.h): casts
 * round, all else is free inside the bound.  So exact reductions (maximum, integers) may be taken
 * in any order, float sums too at the price of a few units in the last place of the sum of
 * magnitudes, which the bound holds; and nothing may be computed to fewer bits than the track's.
 *
 * Not here: whether a rewrite pays.
 */
#include "solver/legal/structure_int.h"

static bool is_float(const struct stmt *stmt)
{
    return dtype_is_float(stmt->value->dtype);
}

/* A float sum or product: rounding depends on the order. */
static bool rounds(const struct stmt *stmt)
{
    return is_float(stmt) && (stmt->reduce == REDUCE_SUM || stmt->reduce == REDUCE_PROD);
}

static bool is_arg(const struct stmt *stmt)
{
    return stmt->reduce == REDUCE_ARGMAX || stmt->reduce == REDUCE_ARGMIN;
}

static const char *track_name(const struct analysis *a)
{
    return compute_name(a->track->compute);
}

static bool is_narrow_track(const struct analysis *a)
{
    return compute_is_narrow(a->track->compute);
}

/* ---- order ---- */

static void reorder_reduction(struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    if (has_structure(a, s, STRUCTURE_SCAN))
        note_preservation(a, s, PRESERVATION_REORDER, false,
                          note_text(a, "each result needs just the terms before it"));
    else if (is_arg(stmt))
        note_preservation(a, s, PRESERVATION_REORDER, true,
                          note_text(a, "exact, if equal values keep the smaller position"));
    else if (!rounds(stmt))
        note_preservation(a, s, PRESERVATION_REORDER, true,
                          note_text(a, "exact: %s has no order", reduce_op_name(stmt->reduce)));
    else if (a->op->policy.deterministic && stmt->scatter != NULL)
        note_preservation(a, s, PRESERVATION_REORDER, false,
                          note_text(a, "results must repeat bit for bit, atomic adds of floats do "
                                       "not"));
    else
        note_preservation(a, s, PRESERVATION_REORDER, true,
                          note_text(a, "rounding changes within the bound%s",
                                    a->op->policy.deterministic
                                        ? "; the order must be the same in every run"
                                        : ""));
}

static void find_reorder(struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    if (stmt->seq != OP_NONE)
        note_preservation(a, s, PRESERVATION_REORDER, false,
                          note_text(a,
                                    "steps of %.*s follow each other; the other indices of a "
                                    "step have no order",
                                    STR_ARG(a->op->seqs[stmt->seq].index)));
    else if (stmt->reduce == REDUCE_NONE)
        note_preservation(a, s, PRESERVATION_REORDER, true,
                          note_text(a, "exact: elements do not depend on each other"));
    else
        reorder_reduction(a, s);
}

/* Partial results of parts of the index, then one of them. */
static void find_regroup(struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    bool compensated = a->op->policy.summation == SUMMATION_COMPENSATED && rounds(stmt);
    if (stmt->reduce == REDUCE_NONE)
        return;
    note_preservation(a, s, PRESERVATION_REGROUP, true,
                      compensated ? note_text(a, "if partial sums keep their compensation: the "
                                                 "error may not grow with the number of terms")
                      : rounds(stmt)
                          ? note_text(a, "partial results round within the bound; a tree rounds "
                                         "least")
                          : note_text(a, "exact"));
}

static void find_split(struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    if (stmt->seq != OP_NONE) {
        note_preservation(a, s, PRESERVATION_SPLIT_MERGE, false,
                          note_text(a, "%.*s cannot be cut: a step needs the one before",
                                    STR_ARG(a->op->seqs[stmt->seq].index)));
        return;
    }
    if (stmt->reduce == REDUCE_NONE || stmt->scatter != NULL)
        return;
    const char *merge = has_structure(a, s, STRUCTURE_SCAN)
                            ? "parts are scanned alone, then shifted by the totals "
                              "before them"
                        : is_arg(stmt)  ? "parts merge by value, then by smaller position"
                        : !rounds(stmt) ? "parts merge exactly"
                        : stmt->reduce == REDUCE_SUM ? "parts are added, within the bound"
                                                     : "parts are multiplied, within the bound";
    note_preservation(a, s, PRESERVATION_SPLIT_MERGE, true, note_text(a, "%s", merge));
}

/* ---- summaries ---- */

static void find_summaries(struct analysis *a, size_t s)
{
    if (has_moments(a, s))
        note_preservation(a, s, PRESERVATION_SUMMARISE, true,
                          note_text(a, "count, mean and squared deviation merge within the bound; "
                                       "the difference of raw moments does not, for it cancels"));
    if (has_structure(a, s, STRUCTURE_BOUNDED_SUMMARY))
        note_preservation(a, s, PRESERVATION_SUMMARISE, true,
                          note_text(a, "the running state replaces the terms so far, exactly as "
                                       "the steps do"));
    if (has_structure(a, s, STRUCTURE_RESCALED_ACCUMULATION)) {
        note_preservation(a, s, PRESERVATION_SUMMARISE, true,
                          note_text(a, "the maximum and the sum against it stand for all terms so "
                                       "far"));
        note_preservation(a, s, PRESERVATION_RESCALE, true,
                          note_text(a, "sums against an old maximum are multiplied by exp(old - "
                                       "new), at most 1: a rounding a step; while the maximum is "
                                       "-inf nothing may be rescaled"));
    } else if (has_structure(a, s, STRUCTURE_COUPLED_RATIO)) {
        note_preservation(a, s, PRESERVATION_RESCALE, true,
                          note_text(a, "both parts of the quotient may have one common factor"));
    }
}

/* ---- temporaries ---- */

struct cost_scan {
    size_t reads, nodes;
};

static void scan_cost(void *context, const struct expr *expr)
{
    struct cost_scan *scan = context;
    scan->reads += expr->op == EXPR_READ;
    scan->nodes += expr->args[0] != NULL;
}

static void find_recompute(struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    const struct tensor *target = &a->op->tensors[stmt->target];
    struct cost_scan scan = {0, 0};
    if (!target->temporary)
        return;
    expr_walk(stmt->value, scan_cost, &scan);
    if (stmt->seq != OP_NONE || stmt->scatter != NULL)
        note_preservation(a, s, PRESERVATION_RECOMPUTE, false,
                          note_text(a, "an element needs all steps before it"));
    else if (stmt->reduce != REDUCE_NONE)
        note_preservation(a, s, PRESERVATION_RECOMPUTE, true,
                          note_text(a, "the same value, at the price of the whole reduction"));
    else
        note_preservation(a, s, PRESERVATION_RECOMPUTE, true,
                          note_text(a,
                                    "the same value from %zu reads and %zu operations, instead "
                                    "of storing %.*s",
                                    scan.reads, scan.nodes, STR_ARG(target->name)));
}

static void find_relayout(struct analysis *a, size_t s)
{
    const struct tensor *target = &a->op->tensors[a->op->stmts[s].target];
    if (target->rank == 0)
        return;
    if (target->temporary)
        note_preservation(
            a, s, PRESERVATION_RELAYOUT, true,
            note_text(a, "nobody outside sees where %.*s lies", STR_ARG(target->name)));
    else
        note_preservation(
            a, s, PRESERVATION_RELAYOUT, false,
            note_text(a, "%.*s is an output: its layout is the spec's", STR_ARG(target->name)));
}

/* ---- accuracy ---- */

struct special_scan {
    enum expr_op op; /* EXPR_OP_COUNT = none */
};

static void scan_special(void *context, const struct expr *expr)
{
    struct special_scan *scan = context;
    bool function = expr->op >= EXPR_EXP && expr->op <= EXPR_ERFC;
    if ((function || expr->op == EXPR_DIV || expr->op == EXPR_POW) && dtype_is_float(expr->dtype))
        scan->op = expr->op;
}

static void find_approximation(struct analysis *a, size_t s)
{
    struct special_scan scan = {EXPR_OP_COUNT};
    expr_walk(a->op->stmts[s].value, scan_special, &scan);
    if (scan.op == EXPR_OP_COUNT)
        return;
    const char *name = expr_op_name(scan.op);
    if (is_narrow_track(a))
        note_preservation(a, s, PRESERVATION_APPROXIMATION, true,
                          note_text(a,
                                    "a fast %s is far inside what rounding to %s costs; its "
                                    "range must be the same",
                                    name, track_name(a)));
    else
        note_preservation(a, s, PRESERVATION_APPROXIMATION, false,
                          note_text(a, "%s to fewer bits than %s is not on the %s track", name,
                                    a->track->compute == COMPUTE_F64 ? "f64" : "f32",
                                    track_name(a)));
}

static void find_precision(struct analysis *a, size_t s)
{
    enum role_of_loop roles[OP_LOOPS_MAX];
    const struct stmt *stmt = &a->op->stmts[s];
    if (!is_float(stmt))
        return;
    if (!contraction_roles(a, s, roles)) {
        if (rounds(stmt))
            note_preservation(a, s, PRESERVATION_PRECISION, false,
                              note_text(a, "sums to fewer bits than %s leave the bound",
                                        a->track->compute == COMPUTE_F64 ? "f64" : "f32"));
        return;
    }
    switch (a->track->compute) {
    case COMPUTE_F64:
        note_preservation(a, s, PRESERVATION_PRECISION, false,
                          note_text(a, "products and sums are f64 on the f64 track"));
        return;
    case COMPUTE_F32:
        note_preservation(a, s, PRESERVATION_PRECISION, false,
                          note_text(a, "factors may not be rounded below f32; each may be the sum "
                                       "of two tf32 parts, three products for one"));
        return;
    case COMPUTE_TF32:
    case COMPUTE_F16:
    case COMPUTE_BF16:
        note_preservation(
            a, s, PRESERVATION_PRECISION, true,
            note_text(a, "factors may be rounded to %s, sums stay in f32", track_name(a)));
        return;
    }
}

void find_preservations(struct analysis *a, size_t s)
{
    find_reorder(a, s);
    find_regroup(a, s);
    find_summaries(a, s);
    find_recompute(a, s);
    find_split(a, s);
    find_relayout(a, s);
    find_approximation(a, s);
    find_precision(a, s);
}
