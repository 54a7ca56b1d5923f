/*
 * What a set of statements is, but for the names of its loops and tensors; and an op of its own.
 *
 * Statements and tensors are described once, each by a number that equal ones share: extents as
 * formulas and as numbers, arithmetic, types, alignment.  A set's key is those numbers, and which
 * loops share a name and which reads a tensor, by order of first occurrence; of each tensor whether
 * the set writes it, kernels before do, or nobody, and whether others need it.
 *
 * Invariant: whatever solver/ir and solver/cost ask of a region, sets with equal keys answer alike.
 * What they may ask of the rest of the op is who reads and who writes; `rest` answers that.
 */
#include <string.h>

#include "base/panic.h"

#include "solver/legal/candidates_int.h"

enum { KEY_BYTES_MAX = 1 << 20, LOCAL_MAX = 512 };

/* ---- statements and tensors by themselves ---- */

static size_t word_of(struct facts *facts, struct str text)
{
    bool is_new;
    size_t *number = map_put(&facts->words, text, &is_new);
    if (is_new)
        *number = facts->words.count;
    return *number;
}

static void put_formula(struct buf *out, const struct formula *formula)
{
    if (formula != NULL)
        formula_print(out, formula);
    buf_char(out, ';');
}

static void put_expr(struct buf *out, const struct facts *facts, const struct expr *e)
{
    buf_printf(out, "(%d %d %d%d %zu %zu", (int)e->op, (int)e->dtype, e->weak, e->tf32, e->loop,
               e->rank);
    if (e->op == EXPR_FLOAT)
        buf_printf(out, " %a", e->real);
    else if (e->op == EXPR_INT)
        buf_printf(out, " %lld", (long long)e->integer);
    else if (e->op == EXPR_DIM)
        buf_printf(out, " %lld", (long long)facts->bound->dims[e->dim]);
    for (size_t i = 0; e->op == EXPR_READ && i < e->rank; i++)
        put_expr(out, facts, e->subs[i]);
    if (e->pad != NULL)
        put_expr(out, facts, e->pad);
    for (int i = 0; i < 3 && e->args[i] != NULL; i++)
        put_expr(out, facts, e->args[i]);
    buf_char(out, ')');
}

static size_t stmt_shape(struct facts *facts, size_t s)
{
    const struct stmt *stmt = &facts->bound->op->stmts[s];
    struct buf out;
    buf_init(&out, facts->arena, KEY_BYTES_MAX);
    buf_printf(&out, "stmt %zu %d %d", stmt->free_count, (int)stmt->reduce, stmt->seq != OP_NONE);
    for (size_t i = 0; i < stmt->loop_count; i++) {
        buf_printf(&out, " %lld %d %d %zu ", (long long)facts->bound->extents[s][i],
                   stmt->loops[i].reduced, (int)stmt->loops[i].bound, stmt->loops[i].bound_loop);
        put_formula(&out, stmt->loops[i].extent);
    }
    put_expr(&out, facts, stmt->value);
    for (size_t i = 0; stmt->scatter != NULL && i < facts->bound->op->tensors[stmt->target].rank;
         i++)
        put_expr(&out, facts, stmt->scatter[i]);
    ASSERT(!out.overflow);
    return word_of(facts, buf_view(&out));
}

static size_t tensor_shape(struct facts *facts, size_t t)
{
    const struct tensor *tensor = &facts->bound->op->tensors[t];
    struct buf out;
    buf_init(&out, facts->arena, KEY_BYTES_MAX);
    buf_printf(&out, "tensor %d %d %d %lld", (int)tensor->dtype, tensor->temporary,
               (int)tensor->role, (long long)tensor->align);
    for (size_t i = 0; i < tensor->rank; i++) {
        buf_printf(&out, " %lld ", (long long)facts->bound->tensors[t].shape[i]);
        put_formula(&out, tensor->shape[i]);
    }
    buf_printf(&out, "%d %a %a ", (int)tensor->fill.kind, tensor->fill.a, tensor->fill.b);
    put_formula(&out, tensor->fill.low);
    put_formula(&out, tensor->fill.high);
    ASSERT(!out.overflow);
    return word_of(facts, buf_view(&out));
}

struct read_list {
    size_t *tensors; /* NULL: only counted */
    size_t count;
};

static void list_read(void *context, const struct expr *expr)
{
    struct read_list *list = context;
    if (expr->op != EXPR_READ)
        return;
    if (list->tensors != NULL)
        list->tensors[list->count] = expr->tensor;
    list->count++;
}

static void describe_stmt(struct facts *facts, size_t s)
{
    const struct op *op = facts->bound->op;
    const struct stmt *stmt = &op->stmts[s];
    struct stmt_facts *own = &facts->stmts[s];
    struct read_list list = {NULL, 0};
    size_t *names = arena_array(facts->arena, size_t, stmt->loop_count + 1);
    stmt_walk(op, stmt, list_read, &list);
    size_t *tensors = arena_array(facts->arena, size_t, list.count + 1);
    tensors[0] = stmt->target;
    list = (struct read_list){tensors + 1, 0};
    stmt_walk(op, stmt, list_read, &list);
    for (size_t i = 0; i < stmt->loop_count; i++)
        names[i] = word_of(facts, stmt->loops[i].name);
    *own = (struct stmt_facts){stmt_shape(facts, s), tensors, list.count + 1, names};
}

/* A statement counts once for each tensor that it reads. */
static void list_readers(struct facts *facts)
{
    const struct op *op = facts->bound->op;
    size_t *last = arena_array(facts->arena, size_t, op->tensor_count + 1);
    for (int pass = 0; pass < 2; pass++) {
        memset(last, 0, (op->tensor_count + 1) * sizeof(*last));
        for (size_t t = 0; pass == 1 && t < op->tensor_count; t++) {
            facts->tensors[t].readers =
                arena_array(facts->arena, size_t, facts->tensors[t].reader_count + 1);
            facts->tensors[t].reader_count = 0;
        }
        for (size_t s = 0; s < op->stmt_count; s++)
            for (size_t i = 1; i < facts->stmts[s].tensor_count; i++) {
                const size_t t = facts->stmts[s].tensors[i];
                struct tensor_facts *own = &facts->tensors[t];
                if (last[t] == s + 1)
                    continue;
                last[t] = s + 1;
                if (pass == 1)
                    ((size_t *)own->readers)[own->reader_count] = s;
                own->reader_count++;
            }
    }
}

void candidate_facts(struct facts *facts, struct arena *arena, const struct bound_op *bound)
{
    const struct op *op = bound->op;
    *facts = (struct facts){.arena = arena, .bound = bound};
    map_init(&facts->words, arena);
    facts->stmts = arena_array(arena, struct stmt_facts, op->stmt_count + 1);
    facts->tensors = arena_array(arena, struct tensor_facts, op->tensor_count + 1);
    for (size_t s = 0; s < op->stmt_count; s++)
        describe_stmt(facts, s);
    for (size_t t = 0; t < op->tensor_count; t++)
        facts->tensors[t].shape = tensor_shape(facts, t);
    list_readers(facts);
}

/* ---- keys ---- */

static bool contains(const size_t *stmts, size_t count, size_t stmt)
{
    for (size_t i = 0; i < count; i++)
        if (stmts[i] == stmt)
            return true;
    return false;
}

static bool is_stored(const struct facts *facts, const size_t *stmts, size_t count, size_t tensor)
{
    const struct tensor_facts *own = &facts->tensors[tensor];
    for (size_t i = 0; i < own->reader_count; i++)
        if (!contains(stmts, count, own->readers[i]))
            return true;
    return !facts->bound->op->tensors[tensor].temporary;
}

enum place { PLACE_GIVEN, PLACE_BEFORE, PLACE_INSIDE, PLACE_STORED };

static enum place place_of(const struct facts *facts, const size_t *stmts, size_t count,
                           size_t tensor)
{
    const size_t writer = facts->bound->op->tensors[tensor].written_by;
    if (writer == OP_NONE)
        return PLACE_GIVEN;
    if (!contains(stmts, count, writer))
        return PLACE_BEFORE;
    return is_stored(facts, stmts, count, tensor) ? PLACE_STORED : PLACE_INSIDE;
}

/* Numbers things by first occurrence. */
struct numbering {
    size_t items[LOCAL_MAX];
    size_t count;
};

static size_t number_of(struct numbering *numbering, size_t item, bool *is_new)
{
    for (size_t i = 0; i < numbering->count; i++)
        if (numbering->items[i] == item) {
            *is_new = false;
            return i;
        }
    *is_new = true;
    if (numbering->count == LOCAL_MAX) /* more than a key tells apart: no two are equal */
        return item;
    numbering->items[numbering->count] = item;
    return numbering->count++;
}

static void put_number(struct buf *out, size_t number)
{
    const uint32_t word = (uint32_t)number;
    buf_bytes(out, &word, sizeof(word));
}

struct str candidate_key(struct arena *arena, const struct facts *facts, const size_t *stmts,
                         size_t count)
{
    struct numbering tensors = {.count = 0}, names = {.count = 0};
    struct buf out;
    bool is_new;
    buf_init(&out, arena, KEY_BYTES_MAX);
    for (size_t i = 0; i < count; i++) {
        const struct stmt_facts *own = &facts->stmts[stmts[i]];
        put_number(&out, own->shape);
        for (size_t k = 0; k < facts->bound->op->stmts[stmts[i]].loop_count; k++)
            put_number(&out, number_of(&names, own->names[k], &is_new));
        for (size_t k = 0; k < own->tensor_count; k++) {
            const size_t tensor = own->tensors[k];
            put_number(&out, number_of(&tensors, tensor, &is_new));
            if (!is_new)
                continue;
            put_number(&out, facts->tensors[tensor].shape);
            put_number(&out, (size_t)place_of(facts, stmts, count, tensor));
        }
    }
    ASSERT(!out.overflow);
    return buf_view(&out);
}

/* ---- parts ---- */

struct cutter {
    struct arena *arena;
    const struct facts *facts;
    const size_t *stmts;
    size_t count;
    const size_t *old;   /* tensor of the op by tensor of the part */
    size_t tensor_count; /* without the rest's */
};

static size_t new_tensor(const struct cutter *c, size_t old)
{
    for (size_t i = 0; i < c->tensor_count; i++)
        if (c->old[i] == old)
            return i;
    panic("candidates: tensor %zu is not of the part", old);
}

/* Those of the statements; declared ones first, each kind in the op's order. */
static void list_tensors(struct cutter *c)
{
    const struct op *op = c->facts->bound->op;
    bool *used = arena_array(c->arena, bool, op->tensor_count + 1);
    size_t *old, count = 0;
    for (size_t i = 0; i < c->count; i++)
        for (size_t k = 0; k < c->facts->stmts[c->stmts[i]].tensor_count; k++) {
            bool *mark = &used[c->facts->stmts[c->stmts[i]].tensors[k]];
            count += !*mark;
            *mark = true;
        }
    c->old = old = arena_array(c->arena, size_t, count + 1);
    for (size_t t = 0; t < op->tensor_count; t++)
        if (used[t])
            old[c->tensor_count++] = t;
}

static const struct expr *cut_expr(const struct cutter *c, const struct expr *e)
{
    if (e == NULL)
        return NULL;
    struct expr *copy = arena_new(c->arena, struct expr);
    *copy = *e;
    for (int i = 0; i < 3; i++)
        copy->args[i] = cut_expr(c, e->args[i]);
    copy->pad = cut_expr(c, e->pad);
    if (e->op != EXPR_READ)
        return copy;
    const struct expr **subs = arena_array(c->arena, const struct expr *, e->rank + 1);
    for (size_t i = 0; i < e->rank; i++)
        subs[i] = cut_expr(c, e->subs[i]);
    copy->subs = subs;
    copy->tensor = new_tensor(c, e->tensor);
    return copy;
}

static struct stmt cut_stmt(const struct cutter *c, size_t s)
{
    const struct op *op = c->facts->bound->op;
    struct stmt stmt = op->stmts[s];
    if (stmt.scatter != NULL) {
        const size_t rank = op->tensors[stmt.target].rank;
        const struct expr **scatter = arena_array(c->arena, const struct expr *, rank + 1);
        for (size_t i = 0; i < rank; i++)
            scatter[i] = cut_expr(c, op->stmts[s].scatter[i]);
        stmt.scatter = scatter;
    }
    stmt.target = new_tensor(c, stmt.target);
    stmt.value = cut_expr(c, stmt.value);
    stmt.seq = stmt.seq == OP_NONE ? OP_NONE : 0;
    return stmt;
}

/* The statement behind the others: reads all that is stored, into a tensor of its own. */
static struct stmt rest_stmt(const struct cutter *c)
{
    struct expr *all = arena_new(c->arena, struct expr);
    *all = (struct expr){.op = EXPR_FLOAT, .dtype = DTYPE_F32};
    for (size_t t = 0; t < c->tensor_count; t++) {
        if (place_of(c->facts, c->stmts, c->count, c->old[t]) != PLACE_STORED)
            continue;
        struct expr *read = arena_new(c->arena, struct expr);
        struct expr *sum = arena_new(c->arena, struct expr);
        *read = (struct expr){.op = EXPR_READ, .dtype = DTYPE_F32, .tensor = t};
        *sum = (struct expr){.op = EXPR_ADD, .dtype = DTYPE_F32, .args = {all, read}};
        all = sum;
    }
    return (struct stmt){.target = c->tensor_count, .value = all, .seq = OP_NONE};
}

static void cut_tensors(const struct cutter *c, struct op *part, struct bound_op *bound)
{
    const struct bound_op *from = c->facts->bound;
    struct tensor *tensors = arena_array(c->arena, struct tensor, c->tensor_count + 1);
    struct bound_tensor *sizes = arena_array(c->arena, struct bound_tensor, c->tensor_count + 1);
    for (size_t t = 0; t < c->tensor_count; t++) {
        tensors[t] = from->op->tensors[c->old[t]];
        sizes[t] = from->tensors[c->old[t]];
        tensors[t].may_alias = OP_NONE;
        part->declared_count += c->old[t] < from->op->declared_count;
        if (tensors[t].written_by == OP_NONE)
            continue;
        size_t writer = 0;
        while (writer < c->count && c->stmts[writer] != tensors[t].written_by)
            writer++;
        tensors[t].written_by = writer;
    }
    tensors[c->tensor_count] = (struct tensor){.name = STR_LIT("rest"),
                                               .temporary = true,
                                               .dtype = DTYPE_F32,
                                               .align = 4,
                                               .may_alias = OP_NONE,
                                               .written_by = c->count};
    sizes[c->tensor_count] = (struct bound_tensor){.count = 1, .bytes = 4};
    part->tensors = tensors;
    part->tensor_count = c->tensor_count + 1;
    bound->tensors = sizes;
}

const struct bound_op *candidate_part(struct arena *arena, const struct facts *facts,
                                      const size_t *stmts, size_t count)
{
    const struct bound_op *from = facts->bound;
    struct cutter c = {.arena = arena, .facts = facts, .stmts = stmts, .count = count};
    struct op *part = arena_new(arena, struct op);
    struct bound_op *bound = arena_new(arena, struct bound_op);
    struct stmt *own = arena_array(arena, struct stmt, count + 1);
    const int64_t **extents = arena_array(arena, const int64_t *, count + 1);
    const size_t seq = from->op->stmts[stmts[0]].seq;
    *part = *from->op;
    *bound = *from;
    part->declared_count = 0;
    list_tensors(&c);
    cut_tensors(&c, part, bound);
    for (size_t i = 0; i < count; i++) {
        own[i] = cut_stmt(&c, stmts[i]);
        extents[i] = from->extents[stmts[i]];
    }
    own[count] = rest_stmt(&c);
    extents[count] = arena_array(arena, int64_t, 1);
    part->seq_count = seq != OP_NONE;
    if (seq != OP_NONE) {
        struct seq *block = arena_new(arena, struct seq);
        *block = from->op->seqs[seq];
        block->first = 0;
        part->seqs = block;
    }
    part->stmts = own;
    part->stmt_count = count + 1;
    bound->op = part;
    bound->extents = extents;
    return bound;
}

/* ---- renaming ---- */

static struct str rename_loop(const struct op *part, const struct op *op,
                              const struct candidate_set *candidate, struct str name)
{
    for (size_t i = 0; i < candidate->stmt_count; i++)
        for (size_t k = 0; k < part->stmts[i].loop_count; k++)
            if (str_equal(part->stmts[i].loops[k].name, name))
                return op->stmts[candidate->stmts[i]].loops[k].name;
    panic("candidates: the part has no loop %.*s", STR_ARG(name));
}

struct tensor_pair {
    struct read_list part, own;
};

/* Reads occur in one order in both. */
static struct str rename_tensor(struct arena *arena, const struct op *part, const struct op *op,
                                const struct candidate_set *candidate, struct str name)
{
    for (size_t i = 0; i < candidate->stmt_count; i++) {
        const struct stmt *a = &part->stmts[i], *b = &op->stmts[candidate->stmts[i]];
        struct tensor_pair pair = {{NULL, 0}, {NULL, 0}};
        if (str_equal(part->tensors[a->target].name, name))
            return op->tensors[b->target].name;
        stmt_walk(part, a, list_read, &pair.part);
        pair.part = (struct read_list){arena_array(arena, size_t, pair.part.count + 1), 0};
        stmt_walk(part, a, list_read, &pair.part);
        pair.own = (struct read_list){arena_array(arena, size_t, pair.part.count + 1), 0};
        stmt_walk(op, b, list_read, &pair.own);
        for (size_t k = 0; k < pair.part.count; k++)
            if (str_equal(part->tensors[pair.part.tensors[k]].name, name))
                return op->tensors[pair.own.tensors[k]].name;
    }
    panic("candidates: the part has no tensor %.*s", STR_ARG(name));
}

struct plan_region candidate_region(struct arena *arena, const struct candidates *candidates,
                                    const struct candidate_set *candidate,
                                    const struct plan_region *of_part)
{
    const struct op *op = candidates->bound->op;
    const struct op *part = candidates->classes[candidate->class].part->op;
    struct plan_region region = *of_part;
    struct plan_tile *tiles = arena_array(arena, struct plan_tile, region.tile_count + 1);
    struct plan_stage *stages = arena_array(arena, struct plan_stage, region.stage_count + 1);
    for (size_t i = 0; i < region.tile_count; i++) {
        tiles[i] = of_part->tiles[i];
        tiles[i].index = rename_loop(part, op, candidate, tiles[i].index);
    }
    for (size_t i = 0; i < region.stage_count; i++) {
        stages[i] = of_part->stages[i];
        stages[i].tensor = rename_tensor(arena, part, op, candidate, stages[i].tensor);
    }
    region.tiles = tiles;
    region.stages = stages;
    region.stmts = candidate->stmts;
    region.stmt_count = candidate->stmt_count;
    return region;
}
