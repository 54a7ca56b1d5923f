/*
 * HW-WFC's layers from an op: products by the loops that their two factors have, normalisations by
 * what solver/legal finds of them, all other maps one by one.
 *
 * A normalisation ends in a statement of structure streaming-normalisation; it takes what that
 * descends from as far as a row's reduction is behind it.  What comes before the reduction is a
 * layer of its own, as it would be in a list of layers that a person writes.
 */
#include "solver/sched/hwwfc_op.h"

#include <string.h>

#include "base/num.h"

enum { FACTORS = 2, WINDOWS_MAX = 2 };

struct builder {
    struct arena *arena;
    const struct bound_op *bound;
    const struct op *op;
    struct structures structures;
    bool *of_row;    /* by statement: a row's reduction is behind it, no normalisation has ended */
    bool *whole;     /* by statement: it ends a normalisation */
    size_t *end_of;  /* by statement: the last statement of its layer */
    size_t *numbers; /* by last statement of a layer: the layer */
    struct hwwfc_layer *layers;
    size_t layer_count;
    bool *linked; /* by pair of layers: one reads the other */
};

static bool refuse(const struct builder *b, size_t s, const char *why, struct err *err)
{
    const struct stmt *stmt = &b->op->stmts[s];
    return err_raise(err, ERR_SEMANTIC,
                     "%.*s: body line %d, statement %zu (%.*s): HW-WFC has no layer for it: %s; "
                     "plan it without --preset",
                     STR_ARG(b->op->name), stmt->place.line, s,
                     STR_ARG(b->op->tensors[stmt->target].name), why);
}

static void add_dim(struct hwwfc_layer *layer, const char *name, int64_t value)
{
    layer->dims[layer->dim_count++] = (struct hwwfc_dim){str_from(name), value};
}

/* ---- who reads whom ---- */

struct visitor {
    const struct op *op;
    void (*visit)(struct builder *b, size_t reader, size_t writer);
    struct builder *b;
    size_t reader;
};

static void read_of(void *context, const struct expr *expr)
{
    const struct visitor *r = context;
    if (expr->op != EXPR_READ)
        return;
    size_t writer = r->op->tensors[expr->tensor].written_by;
    if (writer != OP_NONE && writer != r->reader)
        r->visit(r->b, r->reader, writer);
}

static void each_read(struct builder *b, size_t s,
                      void (*visit)(struct builder *b, size_t reader, size_t writer))
{
    struct visitor visitor = {b->op, visit, b, s};
    stmt_walk(b->op, &b->op->stmts[s], read_of, &visitor);
}

/* ---- products ---- */

/* A factor's subscripts: loops that stand alone in one, and loops of windows. */
struct factor {
    uint32_t plain, window;
};

static const struct expr *without_casts(const struct expr *expr)
{
    while (expr->op == EXPR_CAST)
        expr = expr->args[0];
    return expr;
}

static bool factor_of(const struct builder *b, const struct stmt *stmt, const struct expr *read,
                      struct factor *out)
{
    *out = (struct factor){0};
    for (size_t i = 0; i < read->rank; i++) {
        struct affine affine;
        uint32_t loops = 0;
        if (!expr_affine(b->bound, stmt, read->subs[i], &affine))
            return false;
        for (size_t k = 0; k < stmt->loop_count; k++)
            loops |= affine.coefficient[k] != 0 ? UINT32_C(1) << k : 0;
        if ((loops & (loops - 1)) == 0)
            out->plain |= loops;
        else
            out->window |= loops;
    }
    return true;
}

/* A contraction of two tensors, nothing else: no sum of squares. */
static bool is_product(const struct builder *b, size_t s, const struct expr *factors[FACTORS])
{
    const struct stmt *stmt = &b->op->stmts[s];
    const struct expr *value = without_casts(stmt->value);
    if (stmt->reduce != REDUCE_SUM || value->op != EXPR_MUL ||
        !structures_have(&b->structures, s, STRUCTURE_CONTRACTION))
        return false;
    for (int i = 0; i < FACTORS; i++) {
        factors[i] = without_casts(value->args[i]);
        if (factors[i]->op != EXPR_READ)
            return false;
    }
    return true;
}

/* Product of the extents of `loops`. */
static int64_t extent_of(const struct builder *b, size_t s, uint32_t loops)
{
    int64_t product = 1;
    for (size_t i = 0; i < b->op->stmts[s].loop_count; i++)
        if ((loops >> i & 1) != 0)
            product *= b->bound->extents[s][i];
    return product;
}

static uint32_t free_loops(const struct stmt *stmt)
{
    return (UINT32_C(1) << stmt->free_count) - 1;
}

/* M is the side of the first index of the result that one factor has and the other has not. */
static bool linear(const struct builder *b, size_t s, const struct factor f[FACTORS],
                   struct hwwfc_layer *layer, struct err *err)
{
    const uint32_t free = free_loops(&b->op->stmts[s]);
    const uint32_t only[FACTORS] = {f[0].plain & ~f[1].plain, f[1].plain & ~f[0].plain};
    const uint32_t sides = (only[0] | only[1]) & free;
    const int rows = (only[1] & sides & (~sides + 1)) != 0 ? 1 : 0;
    if (((only[0] | only[1]) & ~free) != 0)
        return refuse(b, s, "one of its factors lacks an index that it sums over", err);
    if (extent_of(b, s, f[0].plain & f[1].plain & free) != 1)
        return refuse(b, s, "a batch of products (a --shape may have a batch of 1)", err);
    layer->type = HWWFC_LINEAR;
    add_dim(layer, "M", extent_of(b, s, only[rows] & free));
    add_dim(layer, "N", extent_of(b, s, only[1 - rows] & free));
    add_dim(layer, "K", extent_of(b, s, f[0].plain & f[1].plain & ~free));
    return true;
}

/* The loops of `set` as one or two dims, the second of which may be missing. */
static bool add_sides(const struct builder *b, size_t s, uint32_t set,
                      const char *const names[WINDOWS_MAX], struct hwwfc_layer *layer)
{
    for (int i = 0; i < WINDOWS_MAX; i++) {
        const uint32_t lowest = set & (~set + 1);
        add_dim(layer, names[i], extent_of(b, s, lowest));
        set &= ~lowest;
    }
    return set == 0;
}

/* `seen` has the windows, `by` the weights. */
static bool convolution(const struct builder *b, size_t s, const struct factor *seen,
                        const struct factor *by, struct hwwfc_layer *layer, struct err *err)
{
    static const char *const sizes[] = {"H", "W"}, *const windows[] = {"KH", "KW"};
    const uint32_t free = free_loops(&b->op->stmts[s]);
    const uint32_t channels = seen->plain & by->plain & free,
                   made = by->plain & ~seen->plain & free;
    const int64_t summed = extent_of(b, s, seen->plain & by->plain & ~free);
    if (by->window != 0 || (seen->window & ~free & ~by->plain) != 0 ||
        (seen->window & free & by->plain) != 0)
        return refuse(b, s, "windows of both factors", err);
    if (extent_of(b, s, seen->plain & ~by->plain & free) != 1)
        return refuse(b, s, "a batch of images (a --shape may have a batch of 1)", err);
    if (!add_sides(b, s, seen->window & free, sizes, layer) ||
        !add_sides(b, s, seen->window & ~free, windows, layer))
        return refuse(b, s, "windows along more than two indices", err);
    if (made != 0 && extent_of(b, s, channels) == 1) {
        layer->type = HWWFC_CONV2D;
        add_dim(layer, "C_in", summed);
        add_dim(layer, "C_out", extent_of(b, s, made));
        return true;
    }
    if (extent_of(b, s, made) != 1 || summed != 1)
        return refuse(b, s, "a convolution by groups of channels", err);
    layer->type = HWWFC_DEPTHWISE_CONV;
    add_dim(layer, "C", extent_of(b, s, channels));
    return true;
}

static bool product(const struct builder *b, size_t s, const struct expr *const factors[FACTORS],
                    struct hwwfc_layer *layer, struct err *err)
{
    const struct stmt *stmt = &b->op->stmts[s];
    struct factor f[FACTORS];
    if (!factor_of(b, stmt, factors[0], &f[0]) || !factor_of(b, stmt, factors[1], &f[1]))
        return refuse(b, s, "data say which elements it reads", err);
    if ((f[0].window | f[1].window) == 0)
        return linear(b, s, f, layer, err);
    const int seen = f[0].window != 0 ? 0 : 1;
    return convolution(b, s, &f[seen], &f[1 - seen], layer, err);
}

/* ---- normalisations ---- */

static bool is_row_reduction(const struct builder *b, size_t s)
{
    const struct expr *factors[FACTORS];
    return b->op->stmts[s].reduce != REDUCE_NONE && !is_product(b, s, factors);
}

static void inherit(struct builder *b, size_t reader, size_t writer)
{
    const struct expr *factors[FACTORS];
    if (!is_product(b, reader, factors))
        b->of_row[reader] = b->of_row[reader] || (b->of_row[writer] && !b->whole[writer]);
}

/* `reader`'s layer takes the writer too, and what that descends from. */
static void take(struct builder *b, size_t reader, size_t writer)
{
    if (!b->of_row[writer] || b->whole[writer] || b->end_of[writer] != writer)
        return;
    b->end_of[writer] = b->end_of[reader];
    each_read(b, writer, take);
}

static void find_normalisations(struct builder *b)
{
    for (size_t s = 0; s < b->op->stmt_count; s++) {
        b->end_of[s] = s;
        b->whole[s] = structures_have(&b->structures, s, STRUCTURE_STREAMING_NORMALISATION);
        b->of_row[s] = is_row_reduction(b, s);
        each_read(b, s, inherit);
    }
    for (size_t s = 0; s < b->op->stmt_count; s++)
        if (b->whole[s])
            each_read(b, s, take);
}

/* The reduction that the normalisation of statement `end` is by. */
static size_t divisor_of(const struct builder *b, size_t end)
{
    for (size_t i = 0; i < b->structures.structure_count; i++) {
        const struct structure_note *note = &b->structures.structures[i];
        if (note->stmt == end && note->word == STRUCTURE_STREAMING_NORMALISATION)
            return note->with;
    }
    return OP_NONE;
}

static void normalisation(const struct builder *b, size_t end, struct hwwfc_layer *layer)
{
    const size_t by = divisor_of(b, end);
    const struct stmt *stmt = &b->op->stmts[by];
    const uint32_t all = (UINT32_C(1) << stmt->loop_count) - 1;
    layer->type = HWWFC_LAYERNORM;
    for (size_t s = 0; s <= end; s++)
        if (b->end_of[s] == end &&
            structures_have(&b->structures, s, STRUCTURE_RESCALED_ACCUMULATION))
            layer->type = HWWFC_SOFTMAX;
    add_dim(layer, "M", extent_of(b, by, free_loops(stmt)));
    add_dim(layer, "N", extent_of(b, by, all & ~free_loops(stmt)));
}

/* ---- maps ---- */

static void elementwise(const struct builder *b, size_t s, struct hwwfc_layer *layer)
{
    const uint32_t free = free_loops(&b->op->stmts[s]);
    const uint32_t last = free ^ (free >> 1);
    layer->type = HWWFC_RELU;
    add_dim(layer, "M", extent_of(b, s, free & ~last));
    add_dim(layer, "N", extent_of(b, s, last));
}

static bool is_static(const struct builder *b, size_t s, struct err *err)
{
    const struct stmt *stmt = &b->op->stmts[s];
    if (stmt->seq != OP_NONE)
        return refuse(b, s, "it is computed a step at a time", err);
    if (stmt->scatter != NULL || structures_have(&b->structures, s, STRUCTURE_GATHER))
        return refuse(b, s, "data say which elements it touches", err);
    if (structures_have(&b->structures, s, STRUCTURE_SCAN))
        return refuse(b, s, "a scan", err);
    return true;
}

static bool layer_of(const struct builder *b, size_t s, struct hwwfc_layer *layer, struct err *err)
{
    const struct stmt *stmt = &b->op->stmts[s];
    const struct expr *factors[FACTORS];
    layer->name = b->op->tensors[stmt->target].name;
    if (is_product(b, s, factors))
        return product(b, s, factors, layer, err);
    if (b->whole[s])
        normalisation(b, s, layer);
    else if (stmt->reduce != REDUCE_NONE)
        return refuse(b, s,
                      "a reduction that is no product of two tensors and belongs to no "
                      "normalisation",
                      err);
    else
        elementwise(b, s, layer);
    return true;
}

/* ---- the whole ---- */

/* The statement whose place a layer has: a normalisation's reduction, since a product may stand
 * between that and the end. */
static size_t place_of(const struct builder *b, size_t end)
{
    return b->whole[end] ? divisor_of(b, end) : end;
}

static bool add_layers(struct builder *b, size_t at, struct err *err)
{
    for (size_t end = at; end < b->op->stmt_count; end++) {
        if (b->end_of[end] != end || place_of(b, end) != at)
            continue;
        b->numbers[end] = b->layer_count;
        if (!layer_of(b, end, &b->layers[b->layer_count++], err))
            return false;
    }
    return true;
}

static bool make_layers(struct builder *b, struct err *err)
{
    const size_t n = b->op->stmt_count;
    b->of_row = arena_array(b->arena, bool, n);
    b->whole = arena_array(b->arena, bool, n);
    b->end_of = arena_array(b->arena, size_t, n);
    b->numbers = arena_array(b->arena, size_t, n);
    b->layers = arena_array(b->arena, struct hwwfc_layer, n);
    find_normalisations(b);
    for (size_t s = 0; s < n; s++)
        if (!is_static(b, s, err) || !add_layers(b, s, err))
            return false;
    return true;
}

static void link(struct builder *b, size_t reader, size_t writer)
{
    const size_t from = b->numbers[b->end_of[writer]], to = b->numbers[b->end_of[reader]];
    b->linked[from * b->layer_count + to] = from != to;
    b->linked[to * b->layer_count + from] = from != to;
}

/* Neighbours of all layers; false when they are those that the list has anyway. */
static bool link_layers(struct builder *b)
{
    const size_t n = b->layer_count;
    bool graph = false;
    b->linked = arena_array(b->arena, bool, n *n);
    for (size_t s = 0; s < b->op->stmt_count; s++)
        each_read(b, s, link);
    for (size_t i = 0; i < n; i++) {
        size_t *neighbors = arena_array(b->arena, size_t, n);
        for (size_t k = 0; k < n; k++) {
            graph = graph || b->linked[i * n + k] != (i + 1 == k || k + 1 == i);
            if (b->linked[i * n + k])
                neighbors[b->layers[i].neighbor_count++] = k;
        }
        b->layers[i].neighbors = neighbors;
    }
    return graph;
}

bool hwwfc_of_op(struct arena *arena, const struct bound_op *bound, const struct hwwfc_spec *spec,
                 const struct hwwfc_tiles *tiles, struct hwwfc_problem *out, struct err *err)
{
    struct builder b = {.arena = arena, .bound = bound, .op = bound->op};
    const size_t states = hwwfc_state_count(tiles);
    uint16_t *all = arena_array(arena, uint16_t, states);
    structure_of(arena, bound, NULL, &b.structures);
    if (!make_layers(&b, err))
        return false;
    const bool graph = link_layers(&b);
    for (size_t i = 0; i < states; i++)
        all[i] = (uint16_t)i;
    for (size_t i = 0; i < b.layer_count; i++) {
        b.layers[i].candidates = all;
        b.layers[i].candidate_count = states;
        b.layers[i].neighbor_count = graph ? b.layers[i].neighbor_count : 0;
    }
    *out = (struct hwwfc_problem){spec, tiles, b.layers, b.layer_count, graph};
    return true;
}
