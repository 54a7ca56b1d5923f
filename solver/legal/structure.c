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

bool has_structure(const struct analysis *a, size_t stmt, enum structure word)
{
    for (size_t i = a->structure_count; i-- > 0 && a->structures[i].stmt >= stmt;)
        if (a->structures[i].stmt == stmt && a->structures[i].word == word)
            return true;
    return false;
}

/* ---- what a statement is ---- */

bool is_scan(const struct stmt *stmt)
{
    for (size_t i = 0; i < stmt->loop_count; i++)
        if (stmt->loops[i].bound != RANGE_FULL)
            return true;
    return false;
}

bool is_plain_reduction(const struct stmt *stmt)
{
    return stmt->reduce != REDUCE_NONE && stmt->scatter == NULL && stmt->seq == OP_NONE &&
           !is_scan(stmt);
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

const struct expr *without_casts(const struct expr *expr)
{
    while (expr->op == EXPR_CAST)
        expr = expr->args[0];
    return expr;
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

/* ---- contraction ---- */

struct loops_used {
    bool used[OP_LOOPS_MAX];
    bool reads;
};

static void mark_loops(void *context, const struct expr *expr)
{
    struct loops_used *loops = context;
    loops->reads |= expr->op == EXPR_READ;
    if (expr->op == EXPR_INDEX)
        loops->used[expr->loop] = true;
}

bool contraction_roles(const struct analysis *a, const struct stmt *stmt,
                       enum role_of_loop roles[OP_LOOPS_MAX])
{
    (void)a;
    const struct expr *product = without_casts(stmt->value);
    struct loops_used first = {{false}, false}, second = {{false}, false};
    bool shared = false, sides = false;
    if (!is_plain_reduction(stmt) || stmt->reduce != REDUCE_SUM || product->op != EXPR_MUL)
        return false;
    expr_walk(product->args[0], mark_loops, &first);
    expr_walk(product->args[1], mark_loops, &second);
    for (size_t i = 0; i < stmt->loop_count; i++) {
        bool reduced = i >= stmt->free_count;
        roles[i] = reduced                           ? ROLE_K
                   : first.used[i] == second.used[i] ? ROLE_BATCH
                   : first.used[i]                   ? ROLE_M
                                                     : ROLE_N;
        shared |= reduced && first.used[i] && second.used[i];
        sides |= roles[i] == ROLE_M || roles[i] == ROLE_N;
    }
    return first.reads && second.reads && shared && sides;
}

int64_t role_extent(const struct analysis *a, size_t s, const enum role_of_loop roles[OP_LOOPS_MAX],
                    enum role_of_loop role)
{
    int64_t product = 1;
    for (size_t i = 0; i < a->op->stmts[s].loop_count; i++)
        if (roles[i] == role && !num_mul(product, a->bound->extents[s][i], &product))
            return INT64_MAX;
    return product;
}

static void find_contraction(struct analysis *a, size_t s)
{
    static const char *const names[] = {"batch", "M", "N", "K"};
    const struct stmt *stmt = &a->op->stmts[s];
    enum role_of_loop roles[OP_LOOPS_MAX];
    struct buf text;
    if (!contraction_roles(a, stmt, roles))
        return;
    buf_init(&text, a->arena, TEXT_BYTES_MAX);
    for (int role = 0; role < ROLE_OF_LOOP_COUNT; role++) {
        const char *before = names[role];
        for (size_t i = 0; i < stmt->loop_count; i++) {
            if ((int)roles[i] != role)
                continue;
            bool first = before == names[role];
            buf_printf(&text, "%s%s %.*s",
                       text.len == 0 ? ""
                       : first       ? ", "
                                     : " ",
                       before, STR_ARG(stmt->loops[i].name));
            before = "and";
        }
    }
    note_structure(a, s, OP_NONE, STRUCTURE_CONTRACTION,
                   note_text(a, "sum of products: %.*s", STR_ARG(buf_view(&text))));
}

/* ---- windows and gathers ---- */

struct access_scan {
    struct analysis *a;
    size_t stmt;
    bool window, gather;
    size_t window_tensor, gather_tensor;
};

/* Do two loops in one subscript meet the same element from different iterations? */
static bool subscript_overlaps(const struct analysis *a, size_t s, const struct expr *sub)
{
    struct affine affine;
    int64_t reach = 0;
    if (!expr_affine(a->bound, &a->op->stmts[s], sub, &affine))
        return false;
    bool used[OP_LOOPS_MAX] = {false};
    for (size_t n = 0; n < a->op->stmts[s].loop_count; n++) {
        size_t least = OP_NONE; /* smallest stride not yet taken */
        for (size_t i = 0; i < a->op->stmts[s].loop_count; i++) {
            bool moves = affine.coefficient[i] != 0 && a->bound->extents[s][i] > 1 && !used[i];
            if (moves && (least == OP_NONE ||
                          llabs(affine.coefficient[i]) < llabs(affine.coefficient[least])))
                least = i;
        }
        if (least == OP_NONE)
            return false;
        used[least] = true;
        int64_t stride = llabs(affine.coefficient[least]);
        if (reach >= stride)
            return true;
        reach += stride * (a->bound->extents[s][least] - 1);
    }
    return false;
}

static void scan_access(void *context, const struct expr *expr)
{
    struct access_scan *scan = context;
    if (expr->op != EXPR_READ)
        return;
    for (size_t i = 0; i < scan->a->op->tensors[expr->tensor].rank; i++) {
        if (expr_reads_data(expr->subs[i])) {
            scan->gather = true;
            scan->gather_tensor = expr->tensor;
        } else if (subscript_overlaps(scan->a, scan->stmt, expr->subs[i])) {
            scan->window = true;
            scan->window_tensor = expr->tensor;
        }
    }
}

struct shift_scan {
    const struct op *op;
    const struct expr *reads[32];
    size_t count;
};

static void collect_reads(void *context, const struct expr *expr)
{
    struct shift_scan *scan = context;
    if (expr->op == EXPR_READ && scan->count < COUNT_OF(scan->reads))
        scan->reads[scan->count++] = expr;
}

/* From the first to the last element along one subscript. */
static int64_t reach_of(const struct analysis *a, size_t s, const struct affine *affine)
{
    int64_t reach = 0;
    for (size_t i = 0; i < a->op->stmts[s].loop_count; i++)
        reach += llabs(affine->coefficient[i]) * (a->bound->extents[s][i] - 1);
    return reach;
}

/* Same loops and strides, other constants, elements in common: x[i - 1] and x[i + 1]. */
static bool is_shift(const struct analysis *a, size_t s, const struct expr *p, const struct expr *q)
{
    bool moved = false;
    if (p->tensor != q->tensor)
        return false;
    for (size_t i = 0; i < a->op->tensors[p->tensor].rank; i++) {
        struct affine x, y;
        if (!expr_affine(a->bound, &a->op->stmts[s], p->subs[i], &x) ||
            !expr_affine(a->bound, &a->op->stmts[s], q->subs[i], &y) ||
            memcmp(x.coefficient, y.coefficient,
                   a->op->stmts[s].loop_count * sizeof(x.coefficient[0])) != 0 ||
            llabs(x.constant - y.constant) > reach_of(a, s, &x))
            return false;
        moved |= x.constant != y.constant;
    }
    return moved;
}

static bool find_shift(const struct analysis *a, size_t s, size_t *tensor)
{
    struct shift_scan scan = {.op = a->op};
    expr_walk(a->op->stmts[s].value, collect_reads, &scan);
    for (size_t i = 0; i < scan.count; i++)
        for (size_t k = 0; k < i; k++)
            if (is_shift(a, s, scan.reads[i], scan.reads[k])) {
                *tensor = scan.reads[i]->tensor;
                return true;
            }
    return false;
}

static void find_windows(struct analysis *a, size_t s)
{
    struct access_scan scan = {.a = a, .stmt = s};
    const struct stmt *stmt = &a->op->stmts[s];
    expr_walk(stmt->value, scan_access, &scan);
    if (!scan.window && find_shift(a, s, &scan.window_tensor))
        scan.window = true;
    if (scan.window)
        note_structure(a, s, OP_NONE, STRUCTURE_STENCIL,
                       note_text(a, "neighbouring results read overlapping windows of %.*s",
                                 STR_ARG(a->op->tensors[scan.window_tensor].name)));
}

static void find_gather(struct analysis *a, size_t s)
{
    struct access_scan scan = {.a = a, .stmt = s};
    const struct stmt *stmt = &a->op->stmts[s];
    expr_walk(stmt->value, scan_access, &scan);
    if (scan.gather)
        note_structure(a, s, OP_NONE, STRUCTURE_GATHER,
                       note_text(a, "data say which elements of %.*s are read",
                                 STR_ARG(a->op->tensors[scan.gather_tensor].name)));
    else if (stmt->scatter != NULL)
        note_structure(a, s, OP_NONE, STRUCTURE_GATHER,
                       note_text(a, "scatter: subscripts say which elements of %.*s are added to",
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

static void find_reduction(struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    if (stmt->reduce == REDUCE_NONE || is_scan(stmt) || stmt->scatter != NULL)
        return;
    note_structure(a, s, OP_NONE, STRUCTURE_REDUCTION,
                   note_text(a, "%s over %.*s, %lld terms each", reduce_op_name(stmt->reduce),
                             STR_ARG(loop_names(a, stmt, true)), (long long)reduced_count(a, s)));
}

static void find_scan(struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    if (stmt->seq != OP_NONE)
        note_structure(
            a, s, OP_NONE, STRUCTURE_SCAN,
            note_text(a, "a step at a time along %.*s", STR_ARG(a->op->seqs[stmt->seq].index)));
    for (size_t i = 0; i < stmt->loop_count; i++) {
        enum range_bound bound = stmt->loops[i].bound;
        bool inclusive = bound == RANGE_LE || bound == RANGE_GE;
        if (bound == RANGE_FULL)
            continue;
        note_structure(a, s, OP_NONE, STRUCTURE_SCAN,
                       note_text(a, "running %s along %.*s, %s, %s", reduce_op_name(stmt->reduce),
                                 STR_ARG(stmt->loops[stmt->loops[i].bound_loop].name),
                                 inclusive ? "the own term included" : "the own term left out",
                                 bound == RANGE_LT || bound == RANGE_LE ? "forward" : "backward"));
    }
}

struct earlier_scan {
    const struct op *op;
    size_t tensor;
    bool found;
};

/* A read of the tensor in a seq block other than at the own step. */
static void scan_earlier(void *context, const struct expr *expr)
{
    struct earlier_scan *scan = context;
    if (expr->op == EXPR_READ && expr->tensor == scan->tensor &&
        (scan->op->tensors[expr->tensor].rank == 0 || plain_loop(expr->subs[0]) != 0))
        scan->found = true;
}

static void find_summary(struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    bool arg = stmt->reduce == REDUCE_ARGMAX || stmt->reduce == REDUCE_ARGMIN;
    if (arg)
        note_structure(a, s, OP_NONE, STRUCTURE_BOUNDED_SUMMARY,
                       note_text(a, "the best value and its position stand for all terms so far"));
    if (is_scan(stmt))
        note_structure(a, s, OP_NONE, STRUCTURE_BOUNDED_SUMMARY,
                       note_text(a, "one running value stands for all terms so far"));
    if (stmt->seq == OP_NONE)
        return;
    const struct seq *seq = &a->op->seqs[stmt->seq];
    struct earlier_scan scan = {a->op, stmt->target, false};
    for (size_t i = 0; i < seq->count; i++)
        expr_walk(a->op->stmts[seq->first + i].value, scan_earlier, &scan);
    if (scan.found)
        note_structure(a, s, OP_NONE, STRUCTURE_BOUNDED_SUMMARY,
                       note_text(a, "%.*s of the last step is all that is carried along %.*s",
                                 STR_ARG(a->op->tensors[stmt->target].name), STR_ARG(seq->index)));
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

void structure_of(struct arena *arena, const struct bound_op *bound, const struct track *track,
                  struct structures *out)
{
    struct analysis a = {.arena = arena,
                         .bound = bound,
                         .op = bound->op,
                         .track = track == NULL ? &bound->op->tracks[0] : track};
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
