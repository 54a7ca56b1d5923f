/*
 * Structures of an op: what each statement is by itself, then what statements are together.
 *
 * A statement is judged by its loops (free, reduced, bounded by another), its subscripts and the
 * shape of its arithmetic.  Names occur in texts only, so that a reader finds the index meant.
 *
 * Invariant: notes of a statement follow from what stands at it and above it, so they come in one
 * pass, and the order of statements is the order of notes.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/panic.h"

#include "solver/legal/structure_int.h"

enum { TEXT_BYTES_MAX = 4096 };

/* ---- notes ---- */

struct str note_text(struct analysis *a, const char *fmt, ...)
{
    struct buf buf;
    va_list args;
    buf_init(&buf, a->arena, TEXT_BYTES_MAX);
    va_start(args, fmt);
    buf_vprintf(&buf, fmt, args);
    va_end(args);
    return buf_view(&buf);
}

/* Room for one more item of `size` bytes. */
static void *grown(struct arena *arena, void *items, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return items;
    size_t wanted = *room == 0 ? 16 : *room * 2;
    void *larger = arena_alloc(arena, wanted, size, _Alignof(max_align_t));
    if (count > 0)
        memcpy(larger, items, count * size);
    *room = wanted;
    return larger;
}

void note_structure(struct analysis *a, size_t stmt, size_t with, enum structure word,
                    struct str text)
{
    a->structures = grown(a->arena, a->structures, a->structure_count, &a->structure_room,
                          sizeof(*a->structures));
    a->structures[a->structure_count++] = (struct structure_note){stmt, with, word, text};
}

void note_preservation(struct analysis *a, size_t stmt, enum preservation word, bool allowed,
                       struct str text)
{
    a->preservations = grown(a->arena, a->preservations, a->preservation_count,
                             &a->preservation_room, sizeof(*a->preservations));
    a->preservations[a->preservation_count++] =
        (struct preservation_note){stmt, word, allowed, text};
}

void note_primitive(struct analysis *a, size_t stmt, enum primitive word, struct str text)
{
    a->primitives = grown(a->arena, a->primitives, a->primitive_count, &a->primitive_room,
                          sizeof(*a->primitives));
    a->primitives[a->primitive_count++] = (struct primitive_note){stmt, word, text};
}

void note_composition(struct analysis *a, size_t from, size_t to, bool allowed, struct str text)
{
    a->compositions = grown(a->arena, a->compositions, a->composition_count, &a->composition_room,
                            sizeof(*a->compositions));
    a->compositions[a->composition_count++] = (struct composition_note){from, to, allowed, text};
}

/* Notes come in the order of statements. */
static size_t first_note(const struct analysis *a, size_t stmt)
{
    size_t low = 0, high = a->structure_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (a->structures[middle].stmt < stmt)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t structure_with(const struct analysis *a, size_t stmt, enum structure word)
{
    for (size_t i = first_note(a, stmt); i < a->structure_count && a->structures[i].stmt == stmt;
         i++)
        if (a->structures[i].word == word)
            return a->structures[i].with;
    return OP_NONE;
}

bool has_structure(const struct analysis *a, size_t stmt, enum structure word)
{
    for (size_t i = first_note(a, stmt); i < a->structure_count && a->structures[i].stmt == stmt;
         i++)
        if (a->structures[i].word == word)
            return true;
    return false;
}

/* ---- what a statement is ---- */

static bool has_range(const struct stmt *stmt)
{
    for (size_t i = 0; i < stmt->loop_count; i++)
        if (stmt->loops[i].bound != RANGE_FULL)
            return true;
    return false;
}

bool is_plain_reduction(const struct stmt *stmt)
{
    return stmt->reduce != REDUCE_NONE && stmt->scatter == NULL && stmt->seq == OP_NONE &&
           !has_range(stmt);
}

bool is_plain_map(const struct stmt *stmt)
{
    return stmt->reduce == REDUCE_NONE && stmt->scatter == NULL && stmt->seq == OP_NONE;
}

static int64_t loops_product(const struct analysis *a, size_t s, size_t from, size_t to)
{
    int64_t product = 1;
    for (size_t i = from; i < to; i++)
        if (!num_mul(product, a->bound->extents[s][i], &product))
            return INT64_MAX;
    return product;
}

int64_t reduced_count(const struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    return loops_product(a, s, stmt->free_count, stmt->loop_count);
}

int64_t result_count(const struct analysis *a, size_t s)
{
    return loops_product(a, s, 0, a->op->stmts[s].free_count);
}

size_t plain_loop(const struct expr *sub)
{
    return sub->op == EXPR_INDEX ? sub->loop : OP_NONE;
}

bool reads_plainly(const struct op *op, const struct expr *read)
{
    bool used[OP_LOOPS_MAX] = {false};
    if (read->pad != NULL)
        return false;
    for (size_t i = 0; i < op->tensors[read->tensor].rank; i++) {
        size_t loop = plain_loop(read->subs[i]);
        if (loop == OP_NONE || used[loop])
            return false;
        used[loop] = true;
    }
    return true;
}

struct str loop_names(struct analysis *a, const struct stmt *stmt, bool reduced)
{
    struct buf buf;
    buf_init(&buf, a->arena, TEXT_BYTES_MAX);
    for (size_t i = reduced ? stmt->free_count : 0;
         i < (reduced ? stmt->loop_count : stmt->free_count); i++)
        buf_printf(&buf, "%s%.*s", buf.len > 0 ? ", " : "", STR_ARG(stmt->loops[i].name));
    return buf_view(&buf);
}

/* ---- gathers ---- */

struct gather_scan {
    struct analysis *a;
    size_t tensor; /* OP_NONE = none */
};

static void scan_gather(void *context, const struct term *term)
{
    struct gather_scan *scan = context;
    for (size_t i = 0; term->kind == TERM_READ && i < scan->a->op->tensors[term->number].rank; i++)
        if (term->parts[i].term->reads && (scan->tensor == OP_NONE || term->number < scan->tensor))
            scan->tensor = term->number;
}

/* Does a map that the statement reads gather already? */
struct gather_seen {
    struct analysis *a;
    bool found;
};

static void see_gather(void *context, const struct expr *expr)
{
    struct gather_seen *seen = context;
    size_t writer = expr->op == EXPR_READ ? seen->a->op->tensors[expr->tensor].written_by : OP_NONE;
    if (writer != OP_NONE && seen->a->op->stmts[writer].reduce == REDUCE_NONE)
        seen->found |= has_structure(seen->a, writer, STRUCTURE_GATHER);
}

/* where(j == data, x, 0) summed over j picks one term. */
static bool picks_one(struct analysis *a, size_t s)
{
    struct factors factors;
    uint64_t reduced = loops_reduced(&a->op->stmts[s]);
    if (a->op->stmts[s].reduce != REDUCE_SUM ||
        !factors_in(term_of_stmt(&a->terms, s), reduced, &factors))
        return false;
    for (size_t i = 0; i < factors.count; i++) {
        const struct term *c =
            factors.at[i].term->kind == TERM_HOLDS ? factors.at[i].term->parts[0].term : NULL;
        const struct term *sum = c != NULL && c->kind == TERM_CALL && c->op == EXPR_EQ && c->reads
                                     ? c->parts[0].term
                                     : NULL;
        for (size_t k = 0; sum != NULL && sum->kind == TERM_SUM && k < sum->count; k++)
            if (sum->parts[k].term->kind == TERM_INDEX && (sum->parts[k].term->loops & reduced))
                return true;
    }
    return false;
}

static bool scatters_by_data(const struct op *op, const struct stmt *stmt)
{
    bool data = false;
    for (size_t i = 0; i < op->tensors[stmt->target].rank; i++)
        data |= expr_reads_data(stmt->scatter[i]);
    return data;
}

static void find_gather(struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    struct gather_scan scan = {a, OP_NONE};
    struct gather_seen seen = {a, false};
    term_walk(&a->terms, term_of_stmt(&a->terms, s), scan_gather, &scan);
    expr_walk(stmt->value, see_gather, &seen);
    if (scan.tensor != OP_NONE && !seen.found)
        note_structure(a, s, OP_NONE, STRUCTURE_GATHER,
                       note_text(a, "data say which elements of %.*s are read",
                                 STR_ARG(a->op->tensors[scan.tensor].name)));
    else if (picks_one(a, s))
        note_structure(a, s, OP_NONE, STRUCTURE_GATHER,
                       note_text(a, "a condition on data picks one term of each sum"));
    else if (stmt->scatter != NULL && scatters_by_data(a->op, stmt))
        note_structure(a, s, OP_NONE, STRUCTURE_GATHER,
                       note_text(a, "scatter: data say which elements of %.*s are added to",
                                 STR_ARG(a->op->tensors[stmt->target].name)));
}

/* ---- maps, reductions, scans ---- */

static void find_map(struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    if (stmt->reduce != REDUCE_NONE || stmt->scatter != NULL)
        return;
    if (stmt->free_count == 0)
        note_structure(a, s, OP_NONE, STRUCTURE_MAP, note_text(a, "one value"));
    else
        note_structure(
            a, s, OP_NONE, STRUCTURE_MAP,
            note_text(a, "one value for each %.*s", STR_ARG(loop_names(a, stmt, false))));
}

/* What may be done to the terms instead of to the result. */
static const char *commutes_with(enum reduce_op op)
{
    switch (op) {
    case REDUCE_SUM:
        return "monoid + from 0; a common factor can be taken out";
    case REDUCE_PROD:
        return "monoid * from 1; a common power can be taken out";
    case REDUCE_MAX:
        return "monoid max from -inf; a common summand or positive factor can be taken out";
    case REDUCE_MIN:
        return "monoid min from inf; a common summand or positive factor can be taken out";
    case REDUCE_ARGMAX:
    case REDUCE_ARGMIN:
        return "monoid of pairs; a common summand or positive factor can be left out";
    case REDUCE_ANY:
        return "monoid || from false";
    case REDUCE_ALL:
        return "monoid && from true";
    case REDUCE_NONE:
        break;
    }
    panic("reduction %d", (int)op);
}

static void find_reduction(struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    if (stmt->reduce == REDUCE_NONE || is_scan(a, s))
        return;
    if (stmt->scatter == NULL)
        note_structure(a, s, OP_NONE, STRUCTURE_REDUCTION,
                       note_text(a, "%s over %.*s, %lld terms each: %s",
                                 reduce_op_name(stmt->reduce), STR_ARG(loop_names(a, stmt, true)),
                                 (long long)reduced_count(a, s), commutes_with(stmt->reduce)));
    else if (!scatters_by_data(a->op, stmt))
        note_structure(a, s, OP_NONE, STRUCTURE_REDUCTION,
                       note_text(a, "terms are summed at the elements that their indices say"));
}

static void find_summary(struct analysis *a, size_t s)
{
    enum reduce_op op = a->op->stmts[s].reduce;
    if (op == REDUCE_ARGMAX || op == REDUCE_ARGMIN)
        note_structure(a, s, OP_NONE, STRUCTURE_BOUNDED_SUMMARY,
                       note_text(a, "the best value and its position stand for all terms so far"));
}

/* ---- all of it ---- */

static void sort_by_word(struct structure_note *notes, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0 && notes[k].word < notes[k - 1].word; k--) {
            struct structure_note swap = notes[k];
            notes[k] = notes[k - 1];
            notes[k - 1] = swap;
        }
}

/* ---- readers ---- */

struct reader_scan {
    struct arena *arena;
    struct readers *readers;
    size_t stmt;
    bool in_value;
};

static void note_reader(void *context, const struct expr *expr)
{
    struct reader_scan *scan = context;
    struct readers *of = expr->op == EXPR_READ ? &scan->readers[expr->tensor] : NULL;
    if (of == NULL || (of->count > 0 && of->stmts[of->count - 1] == scan->stmt))
        return;
    if ((of->count & (of->count - 1)) == 0) { /* room for twice as many */
        size_t *larger = arena_array(scan->arena, size_t, of->count * 2 + 1);
        if (of->count > 0)
            memcpy(larger, of->stmts, of->count * sizeof(larger[0]));
        of->stmts = larger;
    }
    of->stmts[of->count++] = scan->stmt;
    of->in_value += scan->in_value;
}

static const struct readers *readers_of(struct arena *arena, const struct op *op)
{
    struct reader_scan scan = {arena, arena_array(arena, struct readers, op->tensor_count + 1), 0,
                               true};
    for (scan.stmt = 0; scan.stmt < op->stmt_count; scan.stmt++) {
        scan.in_value = true;
        expr_walk(op->stmts[scan.stmt].value, note_reader, &scan);
        scan.in_value = false;
        stmt_walk(op, &op->stmts[scan.stmt], note_reader, &scan);
    }
    return scan.readers;
}

void analysis_begin(struct analysis *a, struct arena *arena, const struct bound_op *bound,
                    const struct track *track)
{
    *a = (struct analysis){.arena = arena,
                           .bound = bound,
                           .op = bound->op,
                           .track = track == NULL ? &bound->op->tracks[0] : track};
    terms_init(&a->terms, arena, bound);
    a->readers = readers_of(arena, a->op);
    a->cycle = arena_array(arena, signed char, a->op->stmt_count + 1);
    a->terms.carried = carried_statements(arena, a->op);
}

void structure_of(struct arena *arena, const struct bound_op *bound, const struct track *track,
                  struct structures *out)
{
    struct analysis a;
    analysis_begin(&a, arena, bound, track);
    for (size_t s = 0; s < a.op->stmt_count; s++) {
        size_t first = a.structure_count;
        find_map(&a, s);
        find_reduction(&a, s);
        find_summary(&a, s);
        find_contraction(&a, s);
        find_windows(&a, s);
        find_scan(&a, s);
        find_gather(&a, s);
        find_across(&a, s);
        find_ratios(&a, s);
        sort_by_word(&a.structures[first], a.structure_count - first);
    }
    for (size_t s = 0; s < a.op->stmt_count; s++) {
        find_preservations(&a, s);
        find_primitives(&a, s);
        find_compositions(&a, s);
    }
    *out = (struct structures){
        .structures = a.structures,
        .structure_count = a.structure_count,
        .preservations = a.preservations,
        .preservation_count = a.preservation_count,
        .primitives = a.primitives,
        .primitive_count = a.primitive_count,
        .compositions = a.compositions,
        .composition_count = a.composition_count,
    };
}

bool structures_have(const struct structures *structures, size_t stmt, enum structure word)
{
    for (size_t i = 0; i < structures->structure_count; i++)
        if (structures->structures[i].stmt == stmt && structures->structures[i].word == word)
            return true;
    return false;
}
