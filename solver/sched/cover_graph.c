/*
 * The cover problem as a factor graph.
 *
 * Units that stand next to each other in some item are linked, so that they take the same item and
 * choice or none of it; units of which one reads the other are linked for the cost of handing over.
 * A table of two units has both parts.  Tables and unary costs of equal contents are one, so that
 * solvers see repeated blocks by their pointers.
 *
 * Invariant: for an assignment that decodes, factor_cost is cover_cost but for the order of sums.
 */
#include <math.h>
#include <string.h>

#include "base/map.h"
#include "base/panic.h"

#include "solver/sched/cover_int.h"

enum { SCRATCH_BYTES = 1 << 30 };

struct pairs {
    size_t *others; /* later units, in the order they were met */
    size_t count, room;
};
struct compiler {
    struct arena *arena;
    const struct cover_problem *problem;
    size_t units;
    struct cover_pick **values; /* by unit */
    size_t *counts;             /* by unit */
    struct pairs *pairs;        /* by unit */
    struct map known;           /* contents of arrays to numbers */
    const void **arrays;
    size_t array_count, array_room;
    size_t reused;
};
/* The table at hand. */
struct table {
    const struct compiler *compiler;
    size_t a, b;
};

/* ---- values ---- */

static void list_values(struct compiler *c)
{
    const struct cover_problem *p = c->problem;
    c->counts = arena_array(c->arena, size_t, c->units + 1);
    c->values = arena_array(c->arena, struct cover_pick *, c->units + 1);
    for (size_t i = 0; i < p->item_count; i++)
        for (size_t k = 0; k < p->items[i].candidate->unit_count; k++)
            c->counts[p->items[i].candidate->units[k]] += p->items[i].domain->count;
    for (size_t u = 0; u < c->units; u++) {
        c->values[u] = arena_array(c->arena, struct cover_pick, c->counts[u] + 1);
        c->counts[u] = 0;
    }
    for (size_t i = 0; i < p->item_count; i++)
        for (size_t k = 0; k < p->items[i].candidate->unit_count; k++) {
            const size_t u = p->items[i].candidate->units[k];
            for (size_t x = 0; x < p->items[i].domain->count; x++)
                c->values[u][c->counts[u]++] = (struct cover_pick){i, x};
        }
}

/* An earlier array of the same bytes, or a copy of this one. */
static const void *intern(struct compiler *c, const void *data, size_t bytes)
{
    bool is_new;
    const struct str key = {data, bytes};
    const size_t *known = map_get(&c->known, key);
    if (known != NULL) {
        c->reused++;
        return c->arrays[*known];
    }
    char *copy = arena_alloc(c->arena, bytes + 1, 1, 16);
    if (bytes > 0)
        memcpy(copy, data, bytes);
    if (c->array_count == c->array_room) {
        c->array_room = c->array_room == 0 ? 64 : 2 * c->array_room;
        const void **larger = arena_array(c->arena, const void *, c->array_room);
        if (c->array_count > 0)
            memcpy(larger, c->arrays, c->array_count * sizeof(*larger));
        c->arrays = larger;
    }
    c->arrays[c->array_count] = copy;
    *map_put(&c->known, (struct str){copy, bytes}, &is_new) = c->array_count++;
    return copy;
}

static const double *unary_of(struct compiler *c, struct arena *scratch, size_t unit)
{
    const struct cover_problem *p = c->problem;
    double *costs = arena_array(scratch, double, c->counts[unit] + 1);
    for (size_t x = 0; x < c->counts[unit]; x++) {
        const struct cover_pick *pick = &c->values[unit][x];
        const struct cover_item *item = &p->items[pick->item];
        if (item->candidate->units[0] == unit)
            costs[x] = item->domain->choices[pick->choice].seconds + (unit == 0 ? p->start_s : 0);
    }
    return intern(c, costs, c->counts[unit] * sizeof(*costs));
}

/* ---- tables ---- */

static void link_units(struct compiler *c, size_t a, size_t b)
{
    struct pairs *own = &c->pairs[a < b ? a : b];
    const size_t other = a < b ? b : a;
    for (size_t i = 0; i < own->count; i++)
        if (own->others[i] == other)
            return;
    if (own->count == own->room) {
        own->room = own->room == 0 ? 4 : 2 * own->room;
        size_t *larger = arena_array(c->arena, size_t, own->room);
        if (own->count > 0)
            memcpy(larger, own->others, own->count * sizeof(*larger));
        own->others = larger;
    }
    own->others[own->count++] = other;
}

static size_t find_pairs(struct compiler *c)
{
    const struct cover_problem *p = c->problem;
    size_t count = 0;
    c->pairs = arena_array(c->arena, struct pairs, c->units + 1);
    for (size_t i = 0; i < p->item_count; i++) {
        const struct cover_item *item = &p->items[i];
        for (size_t k = 1; k < item->candidate->unit_count; k++)
            link_units(c, item->candidate->units[k - 1], item->candidate->units[k]);
        for (size_t r = 0; r < item->read_count; r++)
            link_units(c, p->candidates->unit_of[item->reads[r].writer],
                       p->candidates->unit_of[item->reads[r].first]);
    }
    for (size_t u = 0; u < c->units; u++)
        count += c->pairs[u].count;
    return count;
}

static bool has_unit(const struct cover_item *item, size_t unit)
{
    for (size_t i = 0; i < item->candidate->unit_count; i++)
        if (item->candidate->units[i] == unit)
            return true;
    return false;
}

/* Does `item` read what the other writes? */
static bool takes_from(const struct cover_problem *p, const struct cover_item *item,
                       const struct cover_item *other)
{
    for (size_t r = 0; r < item->read_count; r++)
        if (has_unit(other, p->candidates->unit_of[item->reads[r].writer]))
            return true;
    return false;
}

static double hand_over(const struct table *t, const struct cover_pick *x,
                        const struct cover_pick *y)
{
    const struct cover_problem *p = t->compiler->problem;
    const struct cover_item *from = &p->items[x->item], *to = &p->items[y->item];
    double cost = 0;
    for (size_t r = 0; r < to->read_count; r++) {
        const struct cover_read *read = &to->reads[r];
        if (p->candidates->unit_of[read->writer] != t->a ||
            p->candidates->unit_of[read->first] != t->b)
            continue;
        for (size_t w = 0; w < from->write_count; w++)
            if (from->writes[w].tensor == read->tensor)
                cost += cover_edge(p, &from->writes[w], from->domain->choices[x->choice].signature,
                                   read, to->domain->choices[y->choice].signature);
    }
    return cost;
}

static double pair_seconds(const void *context, size_t row, size_t column)
{
    const struct table *t = context;
    const struct cover_problem *p = t->compiler->problem;
    const struct cover_pick *x = &t->compiler->values[t->a][row];
    const struct cover_pick *y = &t->compiler->values[t->b][column];
    const struct cover_item *from = &p->items[x->item], *to = &p->items[y->item];
    if (x->item == y->item)
        return x->choice == y->choice ? 0 : INFINITY;
    if (has_unit(from, t->b) || has_unit(to, t->a))
        return INFINITY;
    if (takes_from(p, to, from) && takes_from(p, from, to))
        return INFINITY;
    return hand_over(t, x, y);
}

static const struct factor_table *table_of(struct compiler *c, struct arena *scratch, size_t a,
                                           size_t b)
{
    const struct table t = {c, a, b};
    const struct factor_table *made =
        factor_table(scratch, c->counts[a], c->counts[b], pair_seconds, &t);
    struct factor_table own = *made;
    own.cost = intern(c, made->cost, made->rows * made->columns * sizeof(double));
    /* padding would be part of the key */
    struct factor_table *clean = arena_new(scratch, struct factor_table);
    clean->rows = own.rows;
    clean->columns = own.columns;
    clean->cost = own.cost;
    clean->forbidden = own.forbidden;
    clean->least = own.least;
    clean->most = own.most;
    return intern(c, clean, sizeof(*clean));
}

static bool fits(const struct compiler *c, struct err *err)
{
    double entries = 0;
    for (size_t u = 0; u < c->units; u++) {
        if (c->counts[u] > FACTOR_VALUES_MAX)
            return err_raise(
                err, ERR_LIMIT, "statement %zu has %zu regions with choices; %d at most",
                c->problem->candidates->units[u].first, c->counts[u], FACTOR_VALUES_MAX);
        for (size_t i = 0; i < c->pairs[u].count; i++)
            entries += (double)c->counts[u] * (double)c->counts[c->pairs[u].others[i]];
    }
    if (entries > COVER_PAIRS_MAX)
        return err_raise(err, ERR_LIMIT, "%.0f pairs of regions with choices; %d at most", entries,
                         COVER_PAIRS_MAX);
    return true;
}

bool cover_graph(struct arena *arena, const struct cover_problem *problem, struct cover_graph *out,
                 struct err *err)
{
    struct compiler c = {
        .arena = arena, .problem = problem, .units = problem->candidates->unit_count};
    map_init(&c.known, arena);
    list_values(&c);
    const size_t pairs = find_pairs(&c);
    if (!fits(&c, err))
        return false;
    struct factor_variable *variables = arena_array(arena, struct factor_variable, c.units + 1);
    struct factor_edge *edges = arena_array(arena, struct factor_edge, pairs + 1);
    const struct factor_domain **domains =
        arena_array(arena, const struct factor_domain *, FACTOR_VALUES_MAX + 1);
    size_t edge_count = 0;
    for (size_t u = 0; u < c.units; u++) {
        struct arena scratch;
        arena_init(&scratch, SCRATCH_BYTES);
        if (domains[c.counts[u]] == NULL)
            domains[c.counts[u]] = factor_domain_whole(arena, c.counts[u]);
        variables[u] = (struct factor_variable){STR_LIT("statement"), domains[c.counts[u]],
                                                unary_of(&c, &scratch, u)};
        for (size_t i = 0; i < c.pairs[u].count; i++) {
            const size_t other = c.pairs[u].others[i];
            edges[edge_count++] = (struct factor_edge){u, other, table_of(&c, &scratch, u, other)};
        }
        arena_release(&scratch);
    }
    *out = (struct cover_graph){{variables, c.units, edges, edge_count},
                                (const struct cover_pick *const *)c.values,
                                edge_count,
                                c.reused};
    return true;
}

/* ---- back ---- */

/* Ready ones first, of several the one with the first unit; false with what was placed where a
 * circle is left. */
static bool sort_picks(struct arena *arena, const struct cover_problem *p,
                       const struct cover_pick *picks, size_t count, bool *placed,
                       struct cover_pick *out)
{
    bool *done = arena_array(arena, bool, p->candidates->unit_count + 1);
    for (size_t at = 0, begin = 0; at < count; at++) {
        size_t next = begin;
        for (; next < count; next++) {
            const struct cover_item *item = &p->items[picks[next].item];
            bool ready = !placed[next];
            for (size_t r = 0; ready && r < item->read_count; r++)
                ready = done[p->candidates->unit_of[item->reads[r].writer]];
            if (ready)
                break;
        }
        if (next == count)
            return false;
        placed[next] = true;
        out[at] = picks[next];
        for (size_t k = 0; k < p->items[picks[next].item].candidate->unit_count; k++)
            done[p->items[picks[next].item].candidate->units[k]] = true;
        while (begin < count && placed[begin])
            begin++;
    }
    return true;
}

bool cover_decode_or_circle(struct arena *arena, const struct cover_problem *problem,
                            const struct cover_graph *graph,
                            const struct factor_assignment *assignment, struct cover *out,
                            size_t *circle, size_t *length)
{
    const size_t units = problem->candidates->unit_count;
    struct cover_pick *picks = arena_array(arena, struct cover_pick, units + 1);
    struct cover_pick *sorted = arena_array(arena, struct cover_pick, units + 1);
    bool *placed = arena_array(arena, bool, units + 1);
    size_t count = 0;
    for (size_t u = 0; u < units; u++) {
        const struct cover_pick *pick = &graph->values[u][assignment->values[u]];
        if (problem->items[pick->item].candidate->units[0] == u)
            picks[count++] = *pick;
    }
    if (!sort_picks(arena, problem, picks, count, placed, sorted)) {
        *length = cover_circle(arena, problem, picks, count, placed, circle);
        return false;
    }
    *out = (struct cover){assignment->cost, sorted, count};
    return true;
}

bool cover_decode(struct arena *arena, const struct cover_problem *problem,
                  const struct cover_graph *graph, const struct factor_assignment *assignment,
                  struct cover *out)
{
    size_t *circle = arena_array(arena, size_t, problem->candidates->unit_count + 1), length;
    return cover_decode_or_circle(arena, problem, graph, assignment, out, circle, &length);
}
