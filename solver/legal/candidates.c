/*
 * Growing candidate regions.
 *
 * All sets that begin with a unit grow from that unit alone, one later unit at a time; each set is
 * looked at once.  A connected convex set of two or more units has a unit other than its first
 * whose removal leaves it connected and convex (of the blocks at the ends of its block tree, one
 * has a source or a sink that is no cut vertex and not the first), so every such set is met as long
 * as its pairs may share a region.  A set that no kind accepts grows on: its larger ones may be
 * accepted.
 *
 * Invariant: ancestors and descendants are those of the whole op, so a set stays convex whatever
 * the others become.  Not here: whether a cover by candidates runs in some order (solver/sched).
 */
#include "solver/legal/candidates.h"

#include <string.h>

#include "base/panic.h"

#include "solver/legal/candidates_int.h"

enum { SCRATCH_BYTES = 1 << 30, EXAMPLE_BYTES_MAX = 1 << 20, WORD_BITS = 64 };

struct links {
    size_t *list;
    size_t count, room;
};
struct grower {
    struct arena *arena;
    struct facts facts;
    const struct structures *structures;
    struct candidates *out;
    struct links *near;      /* by unit: connected ones */
    uint64_t *above, *below; /* [unit * words]: ancestors, descendants */
    size_t words;
    const size_t *notes; /* by statement: first of its composition notes; one more */
    struct candidate_set *items;
    size_t items_room;
    struct candidate_class *classes;
    size_t classes_room;
    struct map known; /* keys of classes to number + 1 */
    struct candidate_refusal *refusals;
};
/* The sets of one unit. */
struct set {
    uint16_t *units; /* ascending */
    size_t count, stmts;
};
struct frontier {
    struct arena *scratch;
    struct map seen;
    struct set *sets;
    size_t count, room;
};

/* ---- units ---- */

static void find_units(struct grower *g)
{
    const struct op *op = g->facts.bound->op;
    struct candidate_unit *units = arena_array(g->arena, struct candidate_unit, op->stmt_count + 1);
    size_t *unit_of = arena_array(g->arena, size_t, op->stmt_count + 1);
    size_t count = 0;
    for (size_t s = 0; s < op->stmt_count;) {
        const size_t seq = op->stmts[s].seq;
        units[count] = (struct candidate_unit){s, seq == OP_NONE ? 1 : op->seqs[seq].count};
        for (size_t i = 0; i < units[count].count; i++)
            unit_of[s + i] = count;
        s += units[count++].count;
    }
    g->out->units = units;
    g->out->unit_count = count;
    g->out->unit_of = unit_of;
}

static void link_one(struct grower *g, size_t from, size_t to)
{
    struct links *links = &g->near[from];
    for (size_t i = 0; i < links->count; i++)
        if (links->list[i] == to)
            return;
    if (links->count == links->room) {
        links->room = links->room == 0 ? 4 : 2 * links->room;
        size_t *larger = arena_array(g->arena, size_t, links->room);
        if (links->count > 0)
            memcpy(larger, links->list, links->count * sizeof(*larger));
        links->list = larger;
    }
    links->list[links->count++] = to;
}

static void link_units(struct grower *g, size_t a, size_t b)
{
    if (a == b)
        return;
    link_one(g, a, b);
    link_one(g, b, a);
}

static bool same_loops(const struct bound_op *bound, size_t a, size_t b)
{
    const struct stmt *x = &bound->op->stmts[a], *y = &bound->op->stmts[b];
    if (x->loop_count != y->loop_count || x->free_count != y->free_count || x->seq != OP_NONE ||
        y->seq != OP_NONE || x->scatter != NULL || y->scatter != NULL)
        return false;
    for (size_t i = 0; i < x->loop_count; i++)
        if (!formula_equal(x->loops[i].extent, y->loops[i].extent))
            return false;
    return true;
}

/* A tensor's readers with the same loops: each with the next few. */
static void link_readers(struct grower *g, const struct tensor_facts *tensor)
{
    const size_t *unit_of = g->out->unit_of;
    for (size_t i = 0; i < tensor->reader_count; i++) {
        size_t linked = 0;
        for (size_t k = i + 1; k < tensor->reader_count && linked < CANDIDATE_CO_READERS_MAX; k++) {
            if (tensor->readers[k] - tensor->readers[i] > CANDIDATE_CO_SPAN_MAX)
                break;
            if (!same_loops(g->facts.bound, tensor->readers[i], tensor->readers[k]))
                continue;
            link_units(g, unit_of[tensor->readers[i]], unit_of[tensor->readers[k]]);
            linked++;
        }
    }
}

static void merge(uint64_t *into, const uint64_t *from, size_t words)
{
    for (size_t i = 0; i < words; i++)
        into[i] |= from[i];
}

static void set_bit(uint64_t *bits, size_t at)
{
    bits[at / WORD_BITS] |= UINT64_C(1) << at % WORD_BITS;
}

/* Statements come in an order in which each reads what is before it. */
static void find_ancestors(struct grower *g)
{
    const struct op *op = g->facts.bound->op;
    for (size_t s = 0; s < op->stmt_count; s++)
        for (size_t i = 1; i < g->facts.stmts[s].tensor_count; i++) {
            const size_t writer = op->tensors[g->facts.stmts[s].tensors[i]].written_by;
            if (writer == OP_NONE || g->out->unit_of[writer] == g->out->unit_of[s])
                continue;
            uint64_t *own = &g->above[g->out->unit_of[s] * g->words];
            set_bit(own, g->out->unit_of[writer]);
            merge(own, &g->above[g->out->unit_of[writer] * g->words], g->words);
            link_units(g, g->out->unit_of[writer], g->out->unit_of[s]);
        }
    for (size_t u = 0; u < g->out->unit_count; u++)
        for (size_t v = 0; v < u; v++)
            if (g->above[u * g->words + v / WORD_BITS] >> v % WORD_BITS & 1)
                set_bit(&g->below[v * g->words], u);
}

static void index_notes(struct grower *g)
{
    const struct structures *s = g->structures;
    const size_t count = g->facts.bound->op->stmt_count;
    size_t *notes = arena_array(g->arena, size_t, count + 2);
    for (size_t i = 0; i < s->composition_count; i++) {
        ASSERT(i == 0 || s->compositions[i - 1].from <= s->compositions[i].from);
        notes[s->compositions[i].from + 1]++;
    }
    for (size_t i = 0; i < count; i++)
        notes[i + 1] += notes[i];
    g->notes = notes;
}

/* ---- refusals ---- */

static struct str example_of(struct grower *g, const size_t *stmts, size_t count)
{
    struct buf text;
    buf_init(&text, g->arena, EXAMPLE_BYTES_MAX);
    for (size_t i = 0; i < count; i++) {
        buf_text(&text, i > 0 ? "\n" : "");
        op_print_stmt(&text, g->facts.bound->op, &g->facts.bound->op->stmts[stmts[i]]);
    }
    return buf_view(&text);
}

/* Past the last reason that is told apart, the last one stands for all. */
static void refuse(struct grower *g, struct str reason, bool composition, const size_t *stmts,
                   size_t count)
{
    struct candidates *out = g->out;
    size_t at = 0;
    out->refused++;
    out->refused_pairs += composition;
    while (at < out->refusal_count && (g->refusals[at].composition != composition ||
                                       !str_equal(g->refusals[at].reason, reason)))
        at++;
    if (at == CANDIDATE_REFUSALS_MAX)
        at--;
    if (at == out->refusal_count) {
        g->refusals[at] =
            (struct candidate_refusal){reason, composition, 0, example_of(g, stmts, count)};
        out->refusal_count++;
    }
    g->refusals[at].sets++;
}

/* What comes before the statement that is named in a reason. */
static struct str without_stmt(const char *why)
{
    const char *colon = strstr(why, ": ");
    return colon == NULL ? str_from(why) : (struct str){why, (size_t)(colon - why)};
}

/* The note that keeps two units apart, or NULL. */
static const struct composition_note *note_against(const struct grower *g, size_t a, size_t b)
{
    const struct candidate_unit *unit = &g->out->units[a < b ? a : b];
    for (size_t s = unit->first; s < unit->first + unit->count; s++)
        for (size_t i = g->notes[s]; i < g->notes[s + 1]; i++) {
            const struct composition_note *note = &g->structures->compositions[i];
            if (!note->allowed && g->out->unit_of[note->to] == (a < b ? b : a))
                return note;
        }
    return NULL;
}

/* ---- sets ---- */

static bool is_convex(const struct grower *g, const struct set *set)
{
    const size_t first = set->units[0] / WORD_BITS, last = set->units[set->count - 1] / WORD_BITS;
    for (size_t w = first; w <= last; w++) {
        uint64_t above = 0, below = 0, own = 0;
        for (size_t i = 0; i < set->count; i++) {
            above |= g->above[set->units[i] * g->words + w];
            below |= g->below[set->units[i] * g->words + w];
            own |= set->units[i] / WORD_BITS == w ? UINT64_C(1) << set->units[i] % WORD_BITS : 0;
        }
        if ((above & below & ~own) != 0)
            return false;
    }
    return true;
}

static size_t list_stmts(const struct grower *g, const struct set *set, size_t *stmts)
{
    size_t count = 0;
    for (size_t i = 0; i < set->count; i++)
        for (size_t k = 0; k < g->out->units[set->units[i]].count; k++)
            stmts[count++] = g->out->units[set->units[i]].first + k;
    return count;
}

static size_t new_class(struct grower *g, const size_t *stmts, size_t count)
{
    if (g->out->class_count == g->classes_room) {
        g->classes_room = g->classes_room == 0 ? 64 : 2 * g->classes_room;
        struct candidate_class *larger =
            arena_array(g->arena, struct candidate_class, g->classes_room);
        if (g->out->class_count > 0)
            memcpy(larger, g->classes, g->out->class_count * sizeof(*larger));
        g->classes = larger;
    }
    struct candidate_class *class = &g->classes[g->out->class_count];
    size_t *own = arena_array(g->arena, size_t, count + 1);
    size_t *numbers = arena_array(g->arena, size_t, count + 1);
    memcpy(own, stmts, count * sizeof(*own));
    for (size_t i = 0; i < count; i++)
        numbers[i] = i;
    *class = (struct candidate_class){.part = candidate_part(g->arena, &g->facts, stmts, count),
                                      .stmts = own,
                                      .stmt_count = count,
                                      .why = "no kind of region"};
    class->kind_count = region_skeletons(g->arena, class->part, g->out->track, g->out->limits,
                                         numbers, count, class->kinds, &class->why);
    return g->out->class_count++;
}

static size_t class_of(struct grower *g, struct arena *scratch, const size_t *stmts, size_t count)
{
    struct str key = candidate_key(scratch, &g->facts, stmts, count);
    const size_t *known = map_get(&g->known, key);
    bool is_new;
    if (known != NULL)
        return *known;
    char *copy = arena_array(g->arena, char, key.len + 1);
    memcpy(copy, key.at, key.len);
    const size_t class = new_class(g, stmts, count);
    *map_put(&g->known, (struct str){copy, key.len}, &is_new) = class;
    return class;
}

static void keep(struct grower *g, const struct set *set, size_t class, const size_t *stmts,
                 size_t count)
{
    if (g->out->count == g->items_room) {
        g->items_room = g->items_room == 0 ? 256 : 2 * g->items_room;
        struct candidate_set *larger = arena_array(g->arena, struct candidate_set, g->items_room);
        if (g->out->count > 0)
            memcpy(larger, g->items, g->out->count * sizeof(*larger));
        g->items = larger;
    }
    size_t *units = arena_array(g->arena, size_t, set->count);
    size_t *own = arena_array(g->arena, size_t, count);
    for (size_t i = 0; i < set->count; i++)
        units[i] = set->units[i];
    memcpy(own, stmts, count * sizeof(*own));
    g->items[g->out->count++] = (struct candidate_set){units, set->count, own, count, class};
    g->classes[class].members++;
}

/* Accepts a set by some kind of region, or refuses it. */
static void judge(struct grower *g, struct frontier *f, const struct set *set)
{
    size_t *stmts = arena_array(f->scratch, size_t, set->stmts + 1);
    const size_t count = list_stmts(g, set, stmts);
    const size_t class = class_of(g, f->scratch, stmts, count);
    if (g->classes[class].kind_count > 0)
        keep(g, set, class, stmts, count);
    else
        refuse(g, without_stmt(g->classes[class].why), false, stmts, count);
}

static struct set with_unit(struct grower *g, struct frontier *f, const struct set *set,
                            size_t unit)
{
    struct set larger = {arena_array(f->scratch, uint16_t, set->count + 1), set->count + 1,
                         set->stmts + g->out->units[unit].count};
    size_t at = set->count;
    for (; at > 0 && set->units[at - 1] > unit; at--)
        larger.units[at] = set->units[at - 1];
    larger.units[at] = (uint16_t)unit;
    if (at > 0)
        memcpy(larger.units, set->units, at * sizeof(*larger.units));
    return larger;
}

static bool is_seen(struct frontier *f, const struct set *set)
{
    bool is_new;
    (void)map_put(&f->seen,
                  (struct str){(const char *)set->units, set->count * sizeof(*set->units)},
                  &is_new);
    return !is_new;
}

static void push(struct frontier *f, struct set set)
{
    if (f->count == f->room) {
        f->room = f->room == 0 ? 64 : 2 * f->room;
        struct set *larger = arena_array(f->scratch, struct set, f->room);
        if (f->count > 0)
            memcpy(larger, f->sets, f->count * sizeof(*larger));
        f->sets = larger;
    }
    f->sets[f->count++] = set;
}

/* A set and one unit more: new, small enough, convex, and no pair of it kept apart. */
static void try_unit(struct grower *g, struct frontier *f, const struct set *set, size_t unit)
{
    if (unit <= set->units[0] || set->stmts + g->out->units[unit].count > CANDIDATE_STMTS_MAX)
        return;
    for (size_t i = 0; i < set->count; i++)
        if (set->units[i] == unit)
            return;
    struct set larger = with_unit(g, f, set, unit);
    if (is_seen(f, &larger) || !is_convex(g, &larger))
        return;
    g->out->generated++;
    for (size_t i = 0; i < set->count; i++) {
        const struct composition_note *note = note_against(g, set->units[i], unit);
        if (note == NULL)
            continue;
        size_t stmts[2] = {note->from, note->to};
        refuse(g, note->text, true, stmts, 2);
        return;
    }
    judge(g, f, &larger);
    push(f, larger);
}

static bool is_full(struct grower *g, const struct frontier *f)
{
    if (f->count >= CANDIDATE_UNIT_SETS_MAX)
        g->out->stopped = "more sets that begin with one statement than the limit";
    else if (g->out->generated >= CANDIDATE_SETS_MAX)
        g->out->stopped = "more sets of statements than the limit";
    else
        return false;
    return true;
}

static void grow(struct grower *g, size_t unit)
{
    struct arena scratch;
    struct frontier f = {.scratch = &scratch};
    arena_init(&scratch, SCRATCH_BYTES);
    map_init(&f.seen, &scratch);
    struct set alone = {arena_array(&scratch, uint16_t, 1), 1, g->out->units[unit].count};
    alone.units[0] = (uint16_t)unit;
    g->out->generated++;
    judge(g, &f, &alone);
    push(&f, alone);
    for (size_t i = 0; i < f.count && !is_full(g, &f); i++) {
        const struct set set = f.sets[i];
        for (size_t m = 0; m < set.count; m++) {
            const struct links *near = &g->near[set.units[m]];
            for (size_t k = 0; k < near->count; k++)
                try_unit(g, &f, &set, near->list[k]);
        }
    }
    arena_release(&scratch);
}

void candidates_find(struct arena *arena, const struct bound_op *bound, const struct track *track,
                     const struct skeleton_limits *limits, const struct structures *structures,
                     struct candidates *out)
{
    struct grower g = {.arena = arena, .structures = structures, .out = out};
    *out = (struct candidates){
        .bound = bound, .track = track == NULL ? &bound->op->tracks[0] : track, .limits = limits};
    candidate_facts(&g.facts, arena, bound);
    find_units(&g);
    g.words = out->unit_count / WORD_BITS + 1;
    g.near = arena_array(arena, struct links, out->unit_count + 1);
    g.above = arena_array(arena, uint64_t, out->unit_count * g.words + 1);
    g.below = arena_array(arena, uint64_t, out->unit_count * g.words + 1);
    g.refusals = arena_array(arena, struct candidate_refusal, CANDIDATE_REFUSALS_MAX);
    map_init(&g.known, arena);
    find_ancestors(&g);
    for (size_t t = 0; t < bound->op->tensor_count; t++)
        if (bound->op->tensors[t].rank > 0)
            link_readers(&g, &g.facts.tensors[t]);
    index_notes(&g);
    size_t *starts = arena_array(arena, size_t, out->unit_count + 2);
    for (size_t u = 0; u < out->unit_count; u++) {
        starts[u] = out->count;
        grow(&g, u);
    }
    starts[out->unit_count] = out->count;
    out->starts = starts;
    out->items = g.items;
    out->classes = g.classes;
    out->refusals = g.refusals;
}
