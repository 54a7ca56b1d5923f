/*
 * Dynamic programming along paths.
 *
 * A column holds, for each value of a variable, the least cost of the path up to it, less the least
 * of the column before: so columns do not grow along a chain, and in a chain of repeated blocks
 * they repeat to the bit after a few blocks.  A step is known by its column, its unary costs and
 * its table; equal steps are made once, and a column equal to an earlier one becomes that one.
 *
 * Invariant: columns hold minima alone.  Which value each came from is found again on the way back,
 * for one value a variable.
 */
#include <math.h>
#include <string.h>

#include "base/panic.h"

#include "solver/sched/factor_int.h"

enum { NO_EDGE = -1 };

struct path {
    size_t *order;   /* variables, path after path */
    int64_t *before; /* by place: the edge to the place before, or NO_EDGE */
};
struct step {
    const double *column, *unary, *table; /* the key; table NULL at the start of a path */
    bool transposed;
    const double *result; /* the variable's column, its unary costs included */
};
struct chain {
    struct arena *arena;
    const struct factor_graph *graph;
    struct path path;
    const double **columns; /* by place */
    struct step *steps;     /* open addressing */
    const double **known;   /* columns by content, open addressing */
    size_t mask;
    struct factor_counters *counters;
};

/* ---- paths ---- */

/* Neighbour edges of each variable; false when one has three, or two to the same. */
static bool two_links(const struct factor_graph *graph, int64_t (*links)[2])
{
    for (size_t v = 0; v < graph->variable_count; v++)
        links[v][0] = links[v][1] = NO_EDGE;
    for (size_t i = 0; i < graph->edge_count; i++) {
        const size_t ends[2] = {graph->edges[i].a, graph->edges[i].b};
        for (int k = 0; k < 2; k++) {
            int64_t *own = links[ends[k]];
            if (own[1] != NO_EDGE)
                return false;
            own[own[0] != NO_EDGE] = (int64_t)i;
        }
    }
    return true;
}

static size_t other_end(const struct factor_edge *edge, size_t end)
{
    return edge->a == end ? edge->b : edge->a;
}

/* Paths from each free end, in the order of the lower end; false on a cycle. */
static bool find_paths(struct arena *arena, const struct factor_graph *graph, struct path *out)
{
    const size_t n = graph->variable_count;
    int64_t(*links)[2] = arena_alloc(arena, n + 1, sizeof(*links), _Alignof(int64_t));
    bool *placed = arena_array(arena, bool, n + 1);
    size_t count = 0;
    out->order = arena_array(arena, size_t, n + 1);
    out->before = arena_array(arena, int64_t, n + 1);
    if (!two_links(graph, links))
        return false;
    for (size_t v = 0; v < n; v++) {
        if (placed[v] || links[v][1] != NO_EDGE)
            continue;
        int64_t from = NO_EDGE;
        for (size_t at = v;;) {
            placed[at] = true;
            out->before[count] = from;
            out->order[count++] = at;
            from = links[at][0] == from ? links[at][1] : links[at][0];
            if (from == NO_EDGE)
                break;
            at = other_end(&graph->edges[from], at);
        }
    }
    return count == n;
}

bool factor_is_chain(struct arena *arena, const struct factor_graph *graph)
{
    struct path path;
    return find_paths(arena, graph, &path);
}

/* ---- steps ---- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static struct step *find_step(struct chain *c, const struct step *key)
{
    uint64_t hash = mix(mix(mix(key->transposed, (uintptr_t)key->column), (uintptr_t)key->unary),
                        (uintptr_t)key->table);
    for (size_t at = hash & c->mask;; at = (at + 1) & c->mask) {
        struct step *s = &c->steps[at];
        if (s->result == NULL || (s->column == key->column && s->unary == key->unary &&
                                  s->table == key->table && s->transposed == key->transposed))
            return s;
    }
}

/* An earlier column of the same bits, or this one. */
static const double *intern(struct chain *c, const double *column, size_t count)
{
    uint64_t hash = count;
    for (size_t i = 0; i < count; i++) {
        uint64_t word;
        memcpy(&word, &column[i], sizeof(word));
        hash = mix(hash, word);
    }
    for (size_t at = hash & c->mask;; at = (at + 1) & c->mask) {
        if (c->known[at] == NULL) {
            c->known[at] = column;
            return column;
        }
        /* the length stands before the first element */
        if (c->known[at][-1] == (double)count &&
            memcmp(c->known[at], column, count * sizeof(*column)) == 0)
            return c->known[at];
    }
}

static double least_of(const double *column, size_t count)
{
    double least = INFINITY;
    for (size_t i = 0; i < count; i++)
        least = column[i] < least ? column[i] : least;
    return least;
}

/* out[x] = min over p of column[p] + table[p][x] */
static void min_plus(const double *column, size_t rows, const double *table, size_t columns,
                     double *out)
{
    for (size_t x = 0; x < columns; x++)
        out[x] = column[0] + table[x];
    for (size_t p = 1; p < rows; p++) {
        const double base = column[p], *row = &table[p * columns];
        for (size_t x = 0; x < columns; x++) {
            double cost = base + row[x];
            out[x] = cost < out[x] ? cost : out[x];
        }
    }
}

static void min_plus_transposed(const double *column, size_t rows, const double *table,
                                size_t columns, double *out)
{
    for (size_t x = 0; x < columns; x++) {
        double least = INFINITY;
        for (size_t p = 0; p < rows; p++) {
            double cost = column[p] + table[x * rows + p];
            least = cost < least ? cost : least;
        }
        out[x] = least;
    }
}

static const double *make_column(struct chain *c, const struct step *key, size_t rows, size_t count)
{
    double *column = arena_array(c->arena, double, count + 2);
    *column++ = (double)count;
    if (key->table != NULL && key->transposed)
        min_plus_transposed(key->column, rows, key->table, count, column);
    else if (key->table != NULL)
        min_plus(key->column, rows, key->table, count, column);
    for (size_t x = 0; x < count; x++)
        column[x] += key->unary[x];
    double least = least_of(column, count);
    if (least < INFINITY)
        for (size_t x = 0; x < count; x++)
            column[x] -= least;
    c->counters->steps += (int64_t)(key->table == NULL ? count : rows * count);
    return intern(c, column, count);
}

static void fill_columns(struct chain *c)
{
    for (size_t i = 0; i < c->graph->variable_count; i++) {
        const struct factor_variable *variable = &c->graph->variables[c->path.order[i]];
        struct step key = {.unary = variable->unary};
        size_t rows = 0;
        if (c->path.before[i] != NO_EDGE) {
            const struct factor_edge *edge = &c->graph->edges[c->path.before[i]];
            rows = value_count(c->graph, c->path.order[i - 1]);
            key.column = c->columns[i - 1];
            key.table = edge->table->cost;
            key.transposed = edge->a == c->path.order[i];
        }
        struct step *step = find_step(c, &key);
        if (step->result == NULL) {
            *step = key;
            step->result = make_column(c, &key, rows, variable->domain->count);
        } else {
            c->counters->reused++;
        }
        c->columns[i] = step->result;
    }
}

/* ---- the way back ---- */

/* Places from the last: what each value adds, the next one's being fixed. */
static void fill_deltas(const void *context, size_t at, const uint16_t *values, double *out)
{
    const struct chain *c = context;
    const size_t place = c->graph->variable_count - 1 - at;
    const size_t variable = c->path.order[place], count = value_count(c->graph, variable);
    const bool linked =
        place + 1 < c->graph->variable_count && c->path.before[place + 1] != NO_EDGE;
    for (size_t x = 0; x < count; x++) {
        out[x] = c->columns[place][x];
        if (linked) {
            const struct factor_edge *edge = &c->graph->edges[c->path.before[place + 1]];
            out[x] += pair_cost(edge, variable, x, values[c->path.order[place + 1]]);
        }
    }
    double least = least_of(out, count);
    for (size_t x = 0; x < count; x++)
        out[x] = out[x] == INFINITY ? out[x] : out[x] - least;
}

static bool is_possible(const struct chain *c)
{
    for (size_t i = 0; i < c->graph->variable_count; i++)
        if (least_of(c->columns[i], value_count(c->graph, c->path.order[i])) == INFINITY)
            return false;
    return true;
}

void factor_chain(struct arena *arena, const struct factor_graph *graph,
                  const struct factor_options *options, struct factor_result *out)
{
    const size_t n = graph->variable_count;
    struct chain c = {.arena = arena, .graph = graph, .counters = &out->counters};
    struct factor_collector collector;
    *out = (struct factor_result){.claim = FACTOR_IMPOSSIBLE, .bound = INFINITY};
    if (!find_paths(arena, graph, &c.path))
        panic("factor_chain: the graph is no chain");
    for (c.mask = 15; c.mask < 2 * n; c.mask = 2 * c.mask + 1)
        ;
    c.columns = arena_array(arena, const double *, n + 1);
    c.steps = arena_array(arena, struct step, c.mask + 1);
    c.known = arena_array(arena, const double *, c.mask + 1);
    fill_columns(&c);
    if (!is_possible(&c))
        return;
    size_t *order = arena_array(arena, size_t, n + 1);
    for (size_t i = 0; i < n; i++)
        order[i] = c.path.order[n - 1 - i];
    const struct factor_deltas deltas = {order, n, &c, fill_deltas};
    factor_collect_init(&collector, arena, graph, options);
    factor_best_first(&collector, &deltas);
    factor_collect_finish(&collector, out);
    out->claim = FACTOR_OPTIMAL;
    out->bound = out->best[0].cost;
}
