/*
 * Candidate regions by primitives, and why others are none.
 *
 * Nothing here knows a primitive: a pair is judged by the form that one entry of the catalogue
 * gives, by the reading between the statements, and by what the other entry takes.  Reasons in this
 * order: an entry that does not fit its statement, a reading that no block can serve, a form that
 * the consumer's entry refuses by name, the form's own reason.
 *
 * Invariant: what is refused has a reason; each pair of entries of a pair of statements comes once.
 */
#include "solver/legal/composing.h"

#include <string.h>

#include "base/num.h"
#include "base/vocab.h"

#include "solver/legal/structure_int.h"

enum { WHY_TEXT_MAX = 2048 };

struct composing {
    struct arena *arena;
    const struct bound_op *bound;
    const struct structures *structures;
    const struct catalogue *catalogue;
    int64_t capability;
    struct analysis analysis; /* for quantities */
    struct combination *items;
    size_t count, room, refused;
};

/* A statement and its entries. */
struct side {
    size_t stmt;
    enum stmt_kind kind;
    bool structures[STRUCTURE_COUNT];
    struct quantities quantities;
    const struct primitive_entry *entries[PRIMITIVE_COUNT + 1];
    size_t count;
};

/* ---- statements ---- */

enum stmt_kind stmt_kind_of(const struct structures *structures, const struct op *op, size_t s)
{
    const struct stmt *stmt = &op->stmts[s];
    if (stmt->seq != OP_NONE)
        return KIND_STEP;
    if (stmt->scatter != NULL)
        return KIND_SCATTER;
    if (stmt->reduce == REDUCE_NONE)
        return KIND_MAP;
    if (structures_have(structures, s, STRUCTURE_SCAN))
        return KIND_SCAN;
    return structures_have(structures, s, STRUCTURE_CONTRACTION) ? KIND_CONTRACTION
                                                                 : KIND_REDUCTION;
}

struct widest {
    const struct op *op;
    int64_t bytes;
};

static void scan_widest(void *context, const struct expr *expr)
{
    struct widest *widest = context;
    if (expr->op != EXPR_READ)
        return;
    int64_t bytes = (int64_t)dtype_bytes(widest->op->tensors[expr->tensor].dtype);
    widest->bytes = bytes > widest->bytes ? bytes : widest->bytes;
}

static void quantities_of(struct analysis *a, size_t s, struct quantities *out)
{
    const struct bound_op *bound = a->bound;
    const struct stmt *stmt = &bound->op->stmts[s];
    enum role_of_loop roles[OP_LOOPS_MAX];
    struct widest widest = {bound->op, 1};
    expr_walk(stmt->value, scan_widest, &widest);
    *out = (struct quantities){
        .terms = reduced_count(a, s),
        .results = result_count(a, s),
        .readers = (int64_t)reader_count(bound->op, stmt->target),
        .extent = stmt->loop_count == 0 ? 1 : bound->extents[s][stmt->loop_count - 1],
        .element_bytes = widest.bytes,
    };
    if (!num_mul(out->terms, widest.bytes, &out->row_bytes))
        out->row_bytes = INT64_MAX;
    if (!contraction_roles(a, s, roles))
        return;
    out->m = role_extent(a, s, roles, ROLE_M);
    out->n = role_extent(a, s, roles, ROLE_N);
    out->k = role_extent(a, s, roles, ROLE_K);
}

void stmt_quantities(struct arena *arena, const struct bound_op *bound, size_t s,
                     struct quantities *out)
{
    struct analysis a;
    analysis_begin(&a, arena, bound, NULL);
    quantities_of(&a, s, out);
}

/* With `giving`: those that give the statement's result. */
static struct side side_of(struct composing *c, size_t stmt, bool giving)
{
    struct side side = {.stmt = stmt, .kind = stmt_kind_of(c->structures, c->bound->op, stmt)};
    quantities_of(&c->analysis, stmt, &side.quantities);
    for (size_t i = 0; i < c->structures->structure_count; i++)
        if (c->structures->structures[i].stmt == stmt)
            side.structures[c->structures->structures[i].word] = true;
    for (size_t i = 0; i < c->structures->primitive_count; i++) {
        const struct primitive_note *note = &c->structures->primitives[i];
        const struct primitive_entry *entry = c->catalogue->entries[note->word];
        if (note->stmt == stmt && entry != NULL && (!giving || entry->gives[side.kind]))
            side.entries[side.count++] = entry;
    }
    if (side.count == 0)
        side.entries[side.count++] = primitive_none();
    return side;
}

/* ---- rules ---- */

static const struct primitive_take *take_of(const struct primitive_entry *entry,
                                            enum value_form form, enum reading reading)
{
    for (size_t i = 0; i < entry->take_count; i++)
        if (entry->takes[i].form == form && entry->takes[i].readings[reading])
            return &entry->takes[i];
    return NULL;
}

static struct str refusal_of(const struct composing *c, const struct combination *pair)
{
    struct buf text;
    if (reading_why(pair->reading)[0] != '\0')
        return str_from(reading_why(pair->reading));
    for (size_t i = 0; i < pair->by->refusal_count; i++)
        if (pair->by->refusals[i].form == pair->form)
            return pair->by->refusals[i].because;
    buf_init(&text, c->arena, WHY_TEXT_MAX);
    buf_printf(&text, "%s, and it is read as %s", form_why(pair->form),
               reading_word(pair->reading));
    return buf_view(&text);
}

static void judge(const struct composing *c, const struct side *from, const struct side *to,
                  struct combination *pair)
{
    const struct primitive_take *take = take_of(pair->by, pair->form, pair->reading);
    if (!primitive_fits(c->arena, pair->gives, from->structures, &from->quantities, c->capability,
                        &pair->text) ||
        !primitive_fits(c->arena, pair->by, to->structures, &to->quantities, c->capability,
                        &pair->text))
        return;
    pair->allowed = take != NULL;
    pair->text = take != NULL ? take->condition : refusal_of(c, pair);
}

static void add(struct composing *c, const struct combination *pair)
{
    if (c->count == c->room) {
        size_t room = c->room == 0 ? 64 : 2 * c->room;
        struct combination *items = arena_array(c->arena, struct combination, room);
        if (c->count > 0)
            memcpy(items, c->items, c->count * sizeof(*items));
        c->items = items;
        c->room = room;
    }
    c->items[c->count++] = *pair;
    c->refused += !pair->allowed;
}

static void combine(struct composing *c, const struct side *from, const struct side *to,
                    enum reading reading)
{
    for (size_t i = 0; i < from->count; i++)
        for (size_t k = 0; k < to->count; k++) {
            struct combination pair = {.from = from->stmt,
                                       .to = to->stmt,
                                       .gives = from->entries[i],
                                       .by = to->entries[k],
                                       .form = from->entries[i]->forms[from->kind],
                                       .reading = reading};
            judge(c, from, to, &pair);
            add(c, &pair);
        }
}

void compose_primitives(struct arena *arena, const struct bound_op *bound,
                        const struct structures *structures, const struct catalogue *catalogue,
                        int64_t capability, struct combinations *out)
{
    struct composing c = {.arena = arena,
                          .bound = bound,
                          .structures = structures,
                          .catalogue = catalogue,
                          .capability = capability};
    analysis_begin(&c.analysis, arena, bound, NULL);
    for (size_t from = 0; from < bound->op->stmt_count; from++)
        for (size_t to = from + 1; to < bound->op->stmt_count; to++) {
            enum reading reading;
            if (!neighbour_reading(bound->op, from, to, &reading))
                continue;
            struct side gives = side_of(&c, from, true), takes = side_of(&c, to, false);
            combine(&c, &gives, &takes, reading);
        }
    *out = (struct combinations){c.items, c.count, c.refused};
}
