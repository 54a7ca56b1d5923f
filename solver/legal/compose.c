/*
 * Which primitives apply to a statement, and which neighbours may share a region.
 *
 * A region's blocks do not wait for each other.  So a consumer may follow its producer in a region
 * when the block that needs an element is one that made it: at the same element, as a value of the
 * same row, or inside a row that the block reduces.
 *
 * Invariant: what is allowed here is a matter of meaning alone; sizes decide in limits.c.
 */
#include "base/num.h"

#include "solver/legal/structure_int.h"

enum {
    WARP = 32,
    LANE_TERMS_MAX = 32,      /* TUNING: terms of a row that a lane can hold; not measured */
    GRID_RESULTS_MAX = 1024,  /* TUNING: fewer results than this leave most SMs idle ... */
    GRID_TERMS_MIN = 1 << 14, /* ... when each has this many terms; not measured */
    MMA_SIDE = 8,             /* least side of a tensor-core instruction */
    PIPELINE_TERMS_MIN = 64,  /* TUNING: below, there is nothing to overlap; not measured */
    ACCESS_BYTES = 16,
    ROW_BYTES_MAX = 64 << 10 /* of a row kept in shared memory; limits.c has the machine's */
};

/* ---- primitives ---- */

static void primitives_of_reduction(struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    long long terms = (long long)reduced_count(a, s), results = (long long)result_count(a, s);
    if (!is_plain_reduction(stmt) || terms < 2)
        return;
    note_primitive(a, s, PRIMITIVE_REDUCTION_TREE,
                   note_text(a, "%lld terms meet in a tree; it rounds least", terms));
    if (terms > LANE_TERMS_MAX)
        note_primitive(
            a, s, PRIMITIVE_STREAMING_ACCUMULATION,
            note_text(a, "a thread adds up its share of %lld terms as they come", terms));
    if (terms <= WARP * LANE_TERMS_MAX)
        note_primitive(a, s, PRIMITIVE_WARP_SUMMARY,
                       note_text(a, "a warp covers %lld terms with at most %lld a lane", terms,
                                 (long long)num_ceil_div(terms, WARP)));
    if (terms > WARP)
        note_primitive(a, s, PRIMITIVE_BLOCK_SUMMARY,
                       note_text(a, "a block of several warps shares %lld terms", terms));
    if (results < GRID_RESULTS_MAX && terms >= GRID_TERMS_MIN)
        note_primitive(a, s, PRIMITIVE_GRID_SUMMARY,
                       note_text(a, "only %lld results of %lld terms: several blocks share one",
                                 results, terms));
}

static void primitives_of_contraction(struct analysis *a, size_t s)
{
    enum role_of_loop roles[OP_LOOPS_MAX];
    const struct stmt *stmt = &a->op->stmts[s];
    if (!contraction_roles(a, s, roles))
        return;
    long long m = (long long)role_extent(a, s, roles, ROLE_M);
    long long n = (long long)role_extent(a, s, roles, ROLE_N);
    long long k = (long long)role_extent(a, s, roles, ROLE_K);
    if (m < 2 || n < 2)
        return;
    note_primitive(a, s, PRIMITIVE_TILE_STAGING,
                   note_text(a,
                             "each element of one factor is used %lld times, of the other %lld "
                             "times",
                             n, m));
    note_primitive(a, s, PRIMITIVE_SHARED_RESIDENCY,
                   note_text(a, "the tiles of both factors serve a whole block"));
    note_primitive(a, s, PRIMITIVE_REGISTER_TILE,
                   note_text(a, "a thread keeps a part of the %lld x %lld results", m, n));
    if (m >= MMA_SIDE && n >= MMA_SIDE && k >= MMA_SIDE && dtype_is_float(stmt->value->dtype))
        note_primitive(a, s, PRIMITIVE_TENSOR_CORE_TILE,
                       note_text(a, "M %lld, N %lld and K %lld fill its instructions%s", m, n, k,
                                 a->track->compute == COMPUTE_F32
                                     ? "; on the f32 track wide factors go in two parts"
                                     : ""));
    if (k >= PIPELINE_TERMS_MIN)
        note_primitive(a, s, PRIMITIVE_ASYNC_PIPELINE,
                       note_text(a, "the next of %lld steps of K is fetched while one is used", k));
}

struct reuse_scan {
    size_t tensor;
    size_t readers;
};

static void scan_reuse(void *context, const struct expr *expr)
{
    struct reuse_scan *scan = context;
    if (expr->op == EXPR_READ && expr->tensor == scan->tensor)
        scan->readers++;
}

size_t reader_count(const struct op *op, size_t tensor)
{
    size_t readers = 0;
    for (size_t s = 0; s < op->stmt_count; s++) {
        struct reuse_scan scan = {tensor, 0};
        expr_walk(op->stmts[s].value, scan_reuse, &scan);
        readers += scan.readers > 0;
    }
    return readers;
}

struct row_reads {
    struct analysis *a;
    size_t stmt;
    size_t shared; /* a tensor whose row is read here and elsewhere, OP_NONE */
};

static void scan_shared(void *context, const struct expr *expr)
{
    struct row_reads *scan = context;
    const struct stmt *stmt = &scan->a->op->stmts[scan->stmt];
    if (expr->op != EXPR_READ || scan->shared != OP_NONE || !reads_plainly(scan->a->op, expr))
        return;
    if (scan->a->op->tensors[expr->tensor].rank == stmt->loop_count &&
        scan->a->readers[expr->tensor].in_value > 1)
        scan->shared = expr->tensor;
}

static void primitives_of_rows(struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    struct row_reads scan = {a, s, OP_NONE};
    int64_t bytes;
    if (!is_plain_reduction(stmt) || has_structure(a, s, STRUCTURE_CONTRACTION))
        return;
    expr_walk(stmt->value, scan_shared, &scan);
    if (scan.shared == OP_NONE)
        return;
    const struct tensor *tensor = &a->op->tensors[scan.shared];
    if (!num_mul(reduced_count(a, s), (int64_t)dtype_bytes(tensor->dtype), &bytes) ||
        bytes > ROW_BYTES_MAX)
        return;
    note_primitive(a, s, PRIMITIVE_SHARED_RESIDENCY,
                   note_text(a, "a row of %.*s, %lld bytes, is read by several statements",
                             STR_ARG(tensor->name), (long long)bytes));
}

static void primitives_of_structures(struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    if (has_structure(a, s, STRUCTURE_RESCALED_ACCUMULATION))
        note_primitive(a, s, PRIMITIVE_ONLINE_STATE,
                       note_text(a, "maximum and sum are kept together, in one pass"));
    else if (has_moments(a, s))
        note_primitive(a, s, PRIMITIVE_ONLINE_STATE,
                       note_text(a, "count, mean and squared deviation are kept together, in one "
                                    "pass"));
    if (is_plain_map(stmt) && a->op->tensors[stmt->target].temporary &&
        a->readers[stmt->target].in_value > 1)
        note_primitive(a, s, PRIMITIVE_REMATERIALISATION,
                       note_text(a, "%.*s is read by several statements and cheap to compute again",
                                 STR_ARG(a->op->tensors[stmt->target].name)));
}

struct vector_scan {
    const struct op *op;
    size_t last; /* loop */
    size_t bytes;
    size_t tensor;
};

static void scan_vector(void *context, const struct expr *expr)
{
    struct vector_scan *scan = context;
    size_t rank = expr->op == EXPR_READ ? scan->op->tensors[expr->tensor].rank : 0;
    if (rank == 0 || plain_loop(expr->subs[rank - 1]) != scan->last)
        return;
    size_t bytes = dtype_bytes(scan->op->tensors[expr->tensor].dtype);
    if (bytes > scan->bytes) {
        scan->bytes = bytes;
        scan->tensor = expr->tensor;
    }
}

static void primitive_vector(struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    if (stmt->loop_count == 0)
        return;
    struct vector_scan scan = {a->op, stmt->loop_count - 1, 0, OP_NONE};
    expr_walk(stmt->value, scan_vector, &scan);
    int64_t extent = a->bound->extents[s][scan.last];
    int64_t vector = scan.bytes == 0 ? 1 : ACCESS_BYTES / (int64_t)scan.bytes;
    while (vector > 1 && extent % vector != 0)
        vector /= 2;
    if (vector > 1)
        note_primitive(a, s, PRIMITIVE_VECTOR_ACCESS,
                       note_text(a, "%.*s lies along %.*s, whose %lld iterations come in %lld's",
                                 STR_ARG(a->op->tensors[scan.tensor].name),
                                 STR_ARG(stmt->loops[scan.last].name), (long long)extent,
                                 (long long)vector));
}

static void sort_primitives(struct primitive_note *notes, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0 && notes[k].word < notes[k - 1].word; k--) {
            struct primitive_note swap = notes[k];
            notes[k] = notes[k - 1];
            notes[k - 1] = swap;
        }
}

void find_primitives(struct analysis *a, size_t s)
{
    size_t first = a->primitive_count;
    primitives_of_reduction(a, s);
    primitives_of_contraction(a, s);
    primitives_of_rows(a, s);
    primitives_of_structures(a, s);
    primitive_vector(a, s);
    sort_primitives(&a->primitives[first], a->primitive_count - first);
}

/* ---- composition ---- */

struct neighbour {
    const struct op *op;
    const struct stmt *from, *to;
    bool found;
    enum reading worst;
};

static enum reading reading_of(const struct neighbour *n, const struct expr *read)
{
    size_t rank = n->op->tensors[read->tensor].rank, before = 0;
    bool reduced = false, crossed = false;
    for (size_t i = 0; i < rank; i++)
        if (expr_reads_data(read->subs[i]))
            return READING_GATHERED;
    if (!reads_plainly(n->op, read))
        return READING_WINDOW;
    for (size_t i = 0; i < rank; i++) {
        size_t loop = plain_loop(read->subs[i]);
        crossed |= i > 0 && loop < before;
        reduced |= loop >= n->to->free_count;
        before = loop;
    }
    if (crossed)
        return READING_CROSSED;
    return reduced ? READING_REDUCED : rank == n->to->loop_count ? READING_ELEMENT : READING_ROW;
}

static void scan_reading(void *context, const struct expr *expr)
{
    struct neighbour *n = context;
    if (expr->op != EXPR_READ || expr->tensor != n->from->target)
        return;
    enum reading reading = reading_of(n, expr);
    if (!n->found || reading > n->worst)
        n->worst = reading;
    n->found = true;
}

bool neighbour_reading(const struct op *op, size_t from, size_t to, enum reading *out)
{
    const struct stmt *producer = &op->stmts[from], *consumer = &op->stmts[to];
    struct neighbour n = {op, producer, consumer, false, READING_ELEMENT};
    stmt_walk(op, consumer, scan_reading, &n);
    if (!n.found)
        return false;
    *out = n.worst;
    if (producer->seq != OP_NONE || consumer->seq != OP_NONE)
        *out = producer->seq == consumer->seq ? READING_STEP : READING_APART;
    return true;
}

/* The consumer reduces over an index of the producer. */
static void compose_reduced(struct analysis *a, size_t from, size_t to)
{
    enum role_of_loop roles[OP_LOOPS_MAX];
    const struct stmt *producer = &a->op->stmts[from];
    bool second = contraction_roles(a, to, roles);
    if (contraction_roles(a, from, roles))
        note_composition(
            a, from, to, true,
            second ? note_text(a, "if the tile of the first product stays on chip and the second "
                                  "accumulates over it as it comes")
                   : note_text(a,
                               "if a block owns all of %.*s of its results, or keeps a running "
                               "state over its tiles",
                               STR_ARG(loop_names(a, &a->op->stmts[to], true))));
    else if (producer->reduce != REDUCE_NONE)
        note_composition(a, from, to, false,
                         note_text(a,
                                   "it reduces over results of different blocks: another kernel, "
                                   "or split and merge"));
    else
        note_composition(a, from, to, true,
                         note_text(a, "terms are computed where they are reduced"));
}

struct pick_scan {
    const struct stmt *from;
    bool other; /* some read is neither at plain loops nor where data say */
};

static void scan_pick(void *context, const struct expr *expr)
{
    struct pick_scan *scan = context;
    for (size_t i = 0;
         expr->op == EXPR_READ && expr->tensor == scan->from->target && i < expr->rank; i++)
        scan->other |= plain_loop(expr->subs[i]) == OP_NONE && !expr_reads_data(expr->subs[i]);
}

/* Some statistic, no second product, is of the statement's results, or of a map's of them. */
static bool has_statistic(struct analysis *a, size_t from, bool through_maps)
{
    enum role_of_loop roles[OP_LOOPS_MAX];
    for (size_t s = from + 1; s < a->op->stmt_count; s++) {
        enum reading reading;
        if (!neighbour_reading(a->op, from, s, &reading) || contraction_roles(a, s, roles))
            continue;
        if (a->op->stmts[s].reduce != REDUCE_NONE || (through_maps && has_statistic(a, s, false)))
            return true;
    }
    return false;
}

/* A block that goes along a whole row of a product meets each of its elements, in whatever order
 * they are read, or whichever one the data pick.  Without a statistic it goes along none:
 * networks have many products that maps read in another order. */
static bool meets_all(struct analysis *a, size_t from, size_t to, enum reading reading)
{
    enum role_of_loop roles[OP_LOOPS_MAX];
    const struct stmt *consumer = &a->op->stmts[to];
    struct pick_scan scan = {&a->op->stmts[from], false};
    if (!contraction_roles(a, from, roles) ||
        (reading == READING_GATHERED && consumer->reduce != REDUCE_NONE) ||
        (reading == READING_CROSSED && !has_statistic(a, from, true)))
        return false;
    expr_walk(consumer->value, scan_pick, &scan);
    return consumer->scatter == NULL && !scan.other;
}

static void compose_apart(struct analysis *a, size_t from, size_t to, enum reading reading)
{
    if (!meets_all(a, from, to, reading))
        note_composition(a, from, to, false, note_text(a, "%s", reading_why(reading)));
    else if (reading == READING_GATHERED)
        note_composition(a, from, to, true,
                         note_text(a, "if a block goes along the whole row that the data pick an "
                                      "element of, and keeps it as it comes"));
    else
        note_composition(a, from, to, true,
                         note_text(a, "if a block goes along all that is read, in another order of "
                                      "indices"));
}

static void compose_read(struct analysis *a, size_t from, size_t to, enum reading reading)
{
    switch (reading) {
    case READING_ELEMENT:
        note_composition(a, from, to, true,
                         note_text(a, "read at the element that the same thread made"));
        return;
    case READING_ROW:
        note_composition(a, from, to, true,
                         note_text(a, "one value for several elements: if one block owns them "
                                      "all"));
        return;
    case READING_REDUCED:
        compose_reduced(a, from, to);
        return;
    case READING_STEP:
        note_composition(a, from, to, true,
                         note_text(a, "steps of one block of statements stay together"));
        return;
    case READING_CROSSED:
    case READING_GATHERED:
        compose_apart(a, from, to, reading);
        return;
    case READING_WINDOW:
    case READING_APART:
        note_composition(a, from, to, false, note_text(a, "%s", reading_why(reading)));
        return;
    case READING_COUNT:
        return;
    }
}

static void compose(struct analysis *a, size_t from, size_t to)
{
    enum reading reading;
    if (!neighbour_reading(a->op, from, to, &reading))
        return;
    if (a->op->stmts[from].scatter != NULL && reading < READING_STEP)
        note_composition(a, from, to, false,
                         note_text(a, "its elements are complete only when all is added"));
    else
        compose_read(a, from, to, reading);
}

void find_compositions(struct analysis *a, size_t s)
{
    const struct readers *readers = &a->readers[a->op->stmts[s].target];
    for (size_t i = 0; i < readers->count; i++)
        if (readers->stmts[i] > s)
            compose(a, s, readers->stmts[i]);
}
