/*
 * Scans: reductions over what comes before (or after) each element, and sequential blocks.
 *
 * A reduction is a scan when one condition ties a reduced index to a free one and its terms do not
 * depend on that free one, but for factors that can be taken out; written as a range or as a mask.
 * A statement of a sequential block is part of a scan when a later step of it needs it.
 */
#include <math.h>
#include <stdlib.h>

#include "base/panic.h"

#include "solver/legal/structure_int.h"

/* ---- conditions that tie indices ---- */

struct tie {
    size_t reduced, free; /* loops */
    bool forward;         /* free - reduced + offset >= 0; else reduced - free + offset >= 0 */
    double offset;
};

struct ties {
    struct tie at[FACTORS_MAX];
    size_t count;
};

static void add_tie(struct analysis *a, size_t s, const struct term *condition, struct ties *out)
{
    const struct stmt *stmt = &a->op->stmts[s];
    double coefficient[TERM_LOOPS_ALL], offset;
    size_t reduced = OP_NONE, free = OP_NONE, others = 0;
    if (condition->kind != TERM_CALL || condition->op != EXPR_GE || condition->reads ||
        !term_affine(&a->terms, condition->parts[0].term, coefficient, &offset))
        return;
    for (size_t i = 0; i < TERM_LOOPS_ALL; i++) {
        bool one = fabs(fabs(coefficient[i]) - 1) < 1e-9;
        size_t *slot = i < stmt->free_count ? &free : &reduced;
        others += fabs(coefficient[i]) > 0 && (!one || *slot != OP_NONE);
        if (one && *slot == OP_NONE)
            *slot = i;
    }
    if (others > 0 || reduced == OP_NONE || free == OP_NONE || out->count == FACTORS_MAX ||
        coefficient[reduced] * coefficient[free] > 0)
        return;
    out->at[out->count++] = (struct tie){reduced, free, coefficient[free] > 0, offset};
}

static void ties_of_masks(struct analysis *a, size_t s, const struct term *sum, struct ties *out)
{
    const struct term_part *parts;
    struct term_part single;
    size_t count = term_addends(sum, &parts, &single);
    for (size_t i = 0; i < count; i++)
        if (parts[i].term->kind == TERM_MASK)
            add_tie(a, s, parts[i].term->parts[0].term, out);
}

/* Conditions under which a term counts, of a sum: of its first addend. */
static void ties_of(struct analysis *a, size_t s, struct ties *out)
{
    const struct term *value = term_of_stmt(&a->terms, s);
    const struct term_part *parts;
    struct term_part single;
    out->count = 0;
    if (a->op->stmts[s].reduce != REDUCE_SUM) {
        if (value->kind == TERM_CALL && value->op == EXPR_WHERE)
            add_tie(a, s, value->parts[0].term, out);
        else
            ties_of_masks(a, s, value, out);
        return;
    }
    size_t addends = term_addends(value, &parts, &single);
    size_t count = addends == 0 ? 0 : term_factors(parts[0].term, &parts, &single);
    for (size_t i = 0; i < count; i++)
        if (parts[i].term->kind == TERM_HOLDS)
            add_tie(a, s, parts[i].term->parts[0].term, out);
        else if (parts[i].term->kind == TERM_CALL && parts[i].term->op == EXPR_EXP)
            ties_of_masks(a, s, parts[i].term->parts[0].term, out);
}

/* Uses the free loop and a reduced one. */
static bool mixes(const struct term *term, uint64_t reduced, size_t free)
{
    return (term->loops & reduced) != 0 && (term->loops >> free & 1) != 0;
}

static bool factor_mixes(const struct term *factor, uint64_t reduced, size_t free)
{
    const struct term_part *parts;
    struct term_part single;
    bool any = false;
    if (factor->kind != TERM_CALL || factor->op != EXPR_EXP)
        return mixes(factor, reduced, free);
    size_t count = term_addends(factor->parts[0].term, &parts, &single);
    for (size_t i = 0; i < count; i++)
        any |= !is_range(parts[i].term) && mixes(parts[i].term, reduced, free);
    return any;
}

static bool is_the_tie(struct analysis *a, size_t s, const struct term *term)
{
    struct ties ties = {.count = 0};
    if (term->kind == TERM_HOLDS || term->kind == TERM_MASK)
        add_tie(a, s, term->parts[0].term, &ties);
    return ties.count > 0;
}

static bool has_masks(const struct term *factor)
{
    const struct term *arg =
        factor->kind == TERM_CALL && factor->op == EXPR_EXP ? factor->parts[0].term : NULL;
    for (size_t i = 0; arg != NULL && arg->kind == TERM_SUM && i < arg->count; i++)
        if (is_range(arg->parts[i].term))
            return true;
    return false;
}

static bool addend_mixes(struct analysis *a, size_t s, const struct term *addend, size_t free)
{
    const struct term_part *factors;
    struct term_part single;
    uint64_t reduced = loops_reduced(&a->op->stmts[s]);
    size_t count = term_factors(addend, &factors, &single);
    bool tied = false, mixed = false;
    for (size_t i = 0; i < count; i++) {
        bool tie = is_the_tie(a, s, factors[i].term);
        tied |= tie || has_masks(factors[i].term);
        mixed |= !tie && factor_mixes(factors[i].term, reduced, free);
    }
    return mixed || !tied;
}

static bool terms_mix(struct analysis *a, size_t s, size_t free)
{
    const struct stmt *stmt = &a->op->stmts[s];
    const struct term *value = term_of_stmt(&a->terms, s);
    const struct term_part *parts;
    struct term_part single;
    bool mixed = false;
    if (value->kind == TERM_CALL && value->op == EXPR_WHERE)
        return (value->parts[1].term->loops >> free & 1) != 0 || value->parts[2].term->loops != 0;
    size_t count = term_addends(value, &parts, &single);
    for (size_t i = 0; i < count; i++)
        mixed |= stmt->reduce == REDUCE_SUM ? addend_mixes(a, s, parts[i].term, free)
                                            : !is_the_tie(a, s, parts[i].term) &&
                                                  mixes(parts[i].term, loops_reduced(stmt), free);
    return mixed;
}

static bool scan_tie(struct analysis *a, size_t s, struct tie *out)
{
    const struct stmt *stmt = &a->op->stmts[s];
    struct ties ties;
    if (stmt->reduce == REDUCE_NONE || stmt->scatter != NULL)
        return false;
    ties_of(a, s, &ties);
    if (ties.count != 1 || terms_mix(a, s, ties.at[0].free))
        return false;
    *out = ties.at[0];
    return true;
}

bool is_scan(struct analysis *a, size_t s)
{
    struct tie tie;
    return scan_tie(a, s, &tie);
}

static bool find_range_scan(struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    struct tie tie;
    if (!scan_tie(a, s, &tie))
        return false;
    const char *own = fabs(tie.offset) < 0.5       ? "the own term included"
                      : fabs(tie.offset + 1) < 0.5 ? "the own term left out"
                                                   : "shifted";
    note_structure(a, s, OP_NONE, STRUCTURE_BOUNDED_SUMMARY,
                   note_text(a, "one running value stands for all terms so far"));
    note_structure(a, s, OP_NONE, STRUCTURE_SCAN,
                   note_text(a, "running %s along %.*s, %s, %s", reduce_op_name(stmt->reduce),
                             STR_ARG(stmt->loops[tie.free].name), own,
                             tie.forward ? "forward" : "backward"));
    return true;
}

/* Two conditions from either side: a window that moves with the free index. */
static void find_band(struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    struct ties ties;
    if (stmt->reduce == REDUCE_NONE || stmt->scatter != NULL)
        return;
    ties_of(a, s, &ties);
    for (size_t i = 0; i < ties.count; i++)
        for (size_t k = 0; k < ties.count; k++) {
            const struct tie *p = &ties.at[i], *q = &ties.at[k];
            double width = p->offset + q->offset + 1;
            if (!p->forward || q->forward || p->free != q->free || p->reduced != q->reduced ||
                width < 2)
                continue;
            note_structure(a, s, OP_NONE, STRUCTURE_STENCIL,
                           note_text(a,
                                     "neighbouring results take terms from overlapping windows of "
                                     "%.*s: along %.*s window %.0f, stride 1, halo %.0f, reuse "
                                     "%.0f",
                                     STR_ARG(stmt->loops[p->reduced].name),
                                     STR_ARG(stmt->loops[p->free].name), width, width - 1, width));
            return;
        }
}

/* ---- sequential blocks ---- */

struct block_scan {
    const struct op *op;
    size_t seq;
    bool *by_stmt;
    bool earlier_only;
};

static void scan_block(void *context, const struct expr *expr)
{
    struct block_scan *scan = context;
    size_t writer = expr->op == EXPR_READ ? scan->op->tensors[expr->tensor].written_by : OP_NONE;
    if (writer == OP_NONE || scan->op->stmts[writer].seq != scan->seq)
        return;
    if (!scan->earlier_only || expr->rank == 0 || plain_loop(expr->subs[0]) != 0)
        scan->by_stmt[writer] = true;
}

const bool *carried_statements(struct arena *arena, const struct op *op)
{
    bool *carried = arena_array(arena, bool, op->stmt_count + 1);
    for (size_t s = 0; s < op->stmt_count; s++) {
        struct block_scan scan = {op, op->stmts[s].seq, carried, true};
        if (op->stmts[s].seq != OP_NONE)
            expr_walk(op->stmts[s].value, scan_block, &scan);
    }
    return carried;
}

bool is_in_cycle(const struct analysis *a, size_t s)
{
    const struct op *op = a->op;
    if (op->stmts[s].seq == OP_NONE)
        return false;
    if (a->cycle[s] != 0)
        return a->cycle[s] > 0;
    const struct seq *seq = &op->seqs[op->stmts[s].seq];
    bool *needs = arena_array(a->arena, bool, op->stmt_count + 1);
    bool *done = arena_array(a->arena, bool, op->stmt_count + 1);
    struct block_scan scan = {op, op->stmts[s].seq, needs, false};
    expr_walk(op->stmts[s].value, scan_block, &scan);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = seq->first + seq->count; i-- > seq->first;) {
            if (!needs[i] || done[i])
                continue;
            done[i] = changed = true;
            expr_walk(op->stmts[i].value, scan_block, &scan);
        }
    }
    a->cycle[s] = needs[s] ? 1 : -1;
    return needs[s];
}

/* What the statement wrote at its own place a step before, if its value reads that; NULL. */
struct last_scan {
    const struct term *found;
    size_t tensor, rank, count;
    double steps;
};

static void scan_last(void *context, const struct term *term)
{
    struct last_scan *scan = context;
    double number = 0;
    if (term->kind != TERM_READ || term->number != scan->tensor || term->count < scan->rank)
        return;
    scan->count++;
    const struct term *step = term->parts[0].term;
    bool own = step->kind == TERM_SUM && step->count == 2;
    for (size_t i = 0; own && i < 2; i++)
        if (step->parts[i].term->kind == TERM_ONE)
            number = step->parts[i].weight;
    own = own && step->loops == 1 && fabs(number + 1) < 0.5;
    for (size_t i = 1; i < scan->rank; i++)
        own &= term->parts[i].term->kind == TERM_INDEX && term->parts[i].term->number == i;
    if (own)
        scan->found = term;
}

static const struct term *last_in(struct analysis *a, size_t s, const struct term *value)
{
    struct last_scan scan = {.tensor = a->op->stmts[s].target};
    scan.rank = a->op->tensors[scan.tensor].rank;
    term_walk(&a->terms, value, scan_last, &scan);
    return scan.count == 1 ? scan.found : NULL;
}

struct read_scan {
    const struct term *wanted;
    bool found;
};

static void scan_for(void *context, const struct term *term)
{
    struct read_scan *scan = context;
    scan->found |= term == scan->wanted;
}

static bool contains(struct analysis *a, const struct term *term, const struct term *wanted)
{
    struct read_scan scan = {wanted, false};
    term_walk(&a->terms, term, scan_for, &scan);
    return scan.found;
}

/* Does it read what the own block carries in the same cycle? */
struct cycle_scan {
    struct analysis *a;
    size_t seq;
    const struct term *last;
    bool found;
};

static void scan_cycle(void *context, const struct term *term)
{
    struct cycle_scan *scan = context;
    size_t writer =
        term->kind == TERM_READ ? scan->a->op->tensors[term->number].written_by : OP_NONE;
    if (writer != OP_NONE && term != scan->last && scan->a->op->stmts[writer].seq == scan->seq)
        scan->found |= is_in_cycle(scan->a, writer);
}

static bool is_free_of_cycle(struct analysis *a, size_t s, const struct term *last,
                             const struct term *value)
{
    struct cycle_scan scan = {a, a->op->stmts[s].seq, last, false};
    term_walk(&a->terms, value, scan_cycle, &scan);
    return !scan.found;
}

/* last * factor + rest of the value; false: it is not of that form. */
static bool linear_in(struct analysis *a, const struct term *value, const struct term *last,
                      const struct term **factor, const struct term **rest)
{
    const struct term_part *parts;
    struct term_part single;
    const struct term *expanded = term_expand(&a->terms, value);
    size_t count = term_addends(expanded, &parts, &single), with = 0, without = 0;
    struct term_part *factors = arena_array(a->arena, struct term_part, count + 1);
    struct term_part *others = arena_array(a->arena, struct term_part, count + 1);
    for (size_t i = 0; i < count; i++) {
        const struct term_part quotient[] = {{1, parts[i].term}, {-1, last}};
        if (!contains(a, parts[i].term, last)) {
            others[without++] = parts[i];
            continue;
        }
        factors[with] = (struct term_part){parts[i].weight, term_product(&a->terms, quotient, 2)};
        if (contains(a, factors[with++].term, last))
            return false;
    }
    *factor = term_sum(&a->terms, factors, with);
    *rest = term_sum(&a->terms, others, without);
    return with > 0;
}

/* The mean so far: last + (x - last) / (step + 1). */
static bool is_running_mean(struct analysis *a, const struct term *factor)
{
    const struct term_part next[] = {{1, term_loop(&a->terms, 0)}, {1, term_number(&a->terms, 1)}};
    const struct term_part over = {-1, term_sum(&a->terms, next, 2)};
    const struct term *kept =
        term_minus(&a->terms, term_number(&a->terms, 1), term_product(&a->terms, &over, 1));
    const struct term_part ratio[] = {{1, term_loop(&a->terms, 0)}, {over.weight, over.term}};
    return factor == kept || factor == term_product(&a->terms, ratio, 2);
}

/* where(t == 0, first, step): the step, for the first only says where it begins. */
static const struct term *step_of(struct analysis *a, size_t s)
{
    const struct term *value = term_of_stmt(&a->terms, s);
    bool begins = value->kind == TERM_CALL && value->op == EXPR_WHERE &&
                  !value->parts[0].term->reads && value->parts[0].term->loops == 1;
    if (!begins)
        return value;
    return value->parts[last_in(a, s, value->parts[2].term) != NULL ? 2 : 1].term;
}

static const char *step_text(struct analysis *a, size_t s)
{
    const struct term *value = step_of(a, s), *factor, *rest;
    const struct term *last = last_in(a, s, value);
    double number;
    if (last == NULL || !is_free_of_cycle(a, s, last, value))
        return NULL;
    bool extreme = value->kind == TERM_CALL && (value->op == EXPR_MAX || value->op == EXPR_MIN);
    for (size_t i = 0; extreme && i < value->count; i++)
        if (value->parts[i].term == last)
            return value->op == EXPR_MAX ? "running max" : "running min";
    if (!linear_in(a, value, last, &factor, &rest))
        return NULL;
    if (term_is_number(factor, &number) && fabs(number - 1) < 1e-9)
        return "running sum";
    if (term_is_number(rest, &number) && fabs(number) < 1e-300)
        return "running prod";
    return is_running_mean(a, factor) ? "running mean" : "linear recurrence";
}

/* exp(old maximum - new) times the state so far. */
static size_t rescaled_state(struct analysis *a, size_t s)
{
    const struct term *value = term_expand(&a->terms, step_of(a, s)), *factor, *rest;
    const struct term *last = last_in(a, s, value);
    if (last == NULL || !linear_in(a, value, last, &factor, &rest) || factor->kind != TERM_CALL ||
        factor->op != EXPR_EXP)
        return OP_NONE;
    const struct term *arg = factor->parts[0].term;
    for (size_t i = 0; arg->kind == TERM_SUM && i < arg->count; i++) {
        const struct term *read = arg->parts[i].term;
        size_t m = read->kind == TERM_READ ? a->op->tensors[read->number].written_by : OP_NONE;
        if (m == OP_NONE || a->op->stmts[m].seq != a->op->stmts[s].seq || !a->terms.carried[m])
            continue;
        const struct term *state = step_of(a, m);
        if (state->kind == TERM_CALL && state->op == EXPR_MAX && last_in(a, m, state) != NULL)
            return m;
    }
    return OP_NONE;
}

/* last + (x - old mean) * (x - new mean): Welford's squares. */
static size_t welford_mean(struct analysis *a, size_t s)
{
    const struct term *value = step_of(a, s);
    const struct term *last = last_in(a, s, value);
    if (last == NULL)
        return OP_NONE;
    const struct term *added = term_minus(&a->terms, value, last);
    const struct term_part *parts;
    struct term_part single;
    size_t count = term_factors(added, &parts, &single), differences = 0;
    const struct seq *seq = &a->op->seqs[a->op->stmts[s].seq];
    for (size_t i = 0; i < count; i++)
        differences += parts[i].term->kind == TERM_SUM ? (size_t)fabs(parts[i].weight) : 0;
    for (size_t m = seq->first; differences >= 2 && m < seq->first + seq->count; m++) {
        const char *text = m == s || !a->terms.carried[m] ? NULL : step_text(a, m);
        struct last_scan scan = {.tensor = a->op->stmts[m].target};
        term_walk(&a->terms, added, scan_last, &scan);
        if (text != NULL && str_equal(str_from(text), STR_LIT("running mean")) && scan.count > 0)
            return m;
    }
    return OP_NONE;
}

/* ---- notes of a step ---- */

struct reach_scan {
    struct analysis *a;
    size_t tensor;
    bool earlier, bounded;
};

static void scan_reach(void *context, const struct expr *expr)
{
    struct reach_scan *scan = context;
    struct expr step = {.op = EXPR_INDEX};
    if (expr->op != EXPR_READ || expr->tensor != scan->tensor ||
        (expr->rank > 0 && plain_loop(expr->subs[0]) == step.loop))
        return;
    scan->earlier = true;
    const struct expr *back = expr->rank > 0 ? expr->subs[0] : NULL;
    scan->bounded &= back != NULL && back->op == EXPR_SUB && plain_loop(back->args[0]) == 0 &&
                     !expr_reads_data(back->args[1]) && back->args[1]->op != EXPR_INDEX;
}

static void find_state(struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    const struct seq *seq = &a->op->seqs[stmt->seq];
    struct reach_scan scan = {a, stmt->target, false, true};
    for (size_t i = 0; i < seq->count; i++)
        expr_walk(a->op->stmts[seq->first + i].value, scan_reach, &scan);
    if (scan.earlier && scan.bounded)
        note_structure(a, s, OP_NONE, STRUCTURE_BOUNDED_SUMMARY,
                       note_text(a, "%.*s of the last step is all that is carried along %.*s",
                                 STR_ARG(name_of(a, s)), STR_ARG(seq->index)));
}

static void find_step(struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    struct str index = a->op->seqs[stmt->seq].index;
    const char *text = a->terms.carried[s] ? step_text(a, s) : NULL;
    size_t maximum = text == NULL && a->terms.carried[s] ? rescaled_state(a, s) : OP_NONE;
    size_t mean = a->terms.carried[s] ? welford_mean(a, s) : OP_NONE;
    if (a->terms.carried[s])
        find_state(a, s);
    if (maximum != OP_NONE)
        note_structure(a, s, maximum, STRUCTURE_RESCALED_ACCUMULATION,
                       note_text(a,
                                 "%.*s of statement %zu is the maximum so far: the sum against the "
                                 "old one is rescaled at each step",
                                 STR_ARG(name_of(a, maximum)), maximum));
    if (mean != OP_NONE)
        note_structure(a, s, mean, STRUCTURE_MERGEABLE_STATISTICS,
                       note_text(a,
                                 "with %.*s of statement %zu: count, mean and squared deviation of "
                                 "parts of the index merge into those of the whole",
                                 STR_ARG(name_of(a, mean)), mean));
    if (text != NULL)
        note_structure(
            a, s, OP_NONE, STRUCTURE_SCAN,
            note_text(a, "%s along %.*s, the own term included, forward", text, STR_ARG(index)));
    else if (is_in_cycle(a, s))
        note_structure(a, s, OP_NONE, STRUCTURE_SCAN,
                       note_text(a, "a step at a time along %.*s", STR_ARG(index)));
}

void find_scan(struct analysis *a, size_t s)
{
    if (a->op->stmts[s].seq != OP_NONE)
        find_step(a, s);
    if (!find_range_scan(a, s))
        find_band(a, s);
}
