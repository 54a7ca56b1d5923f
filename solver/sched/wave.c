/*
 * The state of a wave function collapse: what each variable may still be, and how to take it back.
 *
 * Scores hold a value's unary cost, what it costs beside the collapsed neighbours, and what it will
 * cost at least beside each open one: the least of pair cost and that neighbour's own, of which
 * each of its edges counts an equal share.  When a neighbour collapses, the actual cost takes the
 * place of the least one, and a variable's entropy is made anew only when its scores or values
 * changed.  A queue has the uncollapsed variables by entropy.
 *
 * Removals remember the decisions that they rest on, as one set a variable: an upper bound of the
 * reason of each of its removals.  So a variable without values names the decisions to blame, and
 * all deeper ones are innocent and are taken back untouched.
 */
#include <math.h>
#include <string.h>

#include "base/panic.h"

#include "solver/sched/wave_int.h"

enum { WORD_BITS = 64 };
/* TUNING: of 1, 2, 4, ... 128 the least cost over bench-solver's random chains and grids; HW-WFC's
 * workloads do not tell them apart. */
static const double ranges_per_temperature = 16;

static size_t words_of(size_t bits)
{
    return (bits + WORD_BITS - 1) / WORD_BITS;
}

static bool has_bit(const uint64_t *set, size_t bit)
{
    return (set[bit / WORD_BITS] >> bit % WORD_BITS & 1) != 0;
}

static void set_bit(uint64_t *set, size_t bit)
{
    set[bit / WORD_BITS] |= UINT64_C(1) << bit % WORD_BITS;
}

static void clear_bit(uint64_t *set, size_t bit)
{
    set[bit / WORD_BITS] &= ~(UINT64_C(1) << bit % WORD_BITS);
}

static void file(struct wave *w, size_t v)
{
    const double key = w->by_count ? (double)w->cells[v].count : w->cells[v].entropy;
    factor_queue_set(&w->open, v, (struct factor_key){key, 0});
}

size_t wave_least(const struct wave *w)
{
    return factor_queue_first(&w->open);
}

/* ---- entropy ---- */

/* H = log Z + <s - least> / T in nats, of p = exp(-(s - least) / T) / Z. */
static double entropy_of(const struct wave *w, const struct wave_cell *cell, size_t value_count)
{
    double least = INFINITY, sum = 0, mean = 0;
    for (size_t x = 0; x < value_count; x++)
        if (has_bit(cell->alive, x))
            least = cell->scores[x] < least ? cell->scores[x] : least;
    for (size_t x = 0; x < value_count; x++) {
        if (!has_bit(cell->alive, x))
            continue;
        double above = (cell->scores[x] - least) / w->temperature;
        double weight = above > 40 ? 0 : exp(-above); /* 4e-18: below an ulp of the sum */
        sum += weight;
        mean += weight * above;
    }
    return sum > 0 ? log(sum) + mean / sum : 0;
}

static void rate(struct wave *w, size_t v)
{
    w->cells[v].entropy = entropy_of(w, &w->cells[v], value_count(w->graph, v));
    file(w, v);
}

uint16_t wave_best_value(const struct wave *w, size_t variable)
{
    const struct wave_cell *cell = &w->cells[variable];
    size_t best = SIZE_MAX;
    for (size_t x = 0; x < value_count(w->graph, variable); x++)
        if (has_bit(cell->alive, x) && (best == SIZE_MAX || cell->scores[x] < cell->scores[best]))
            best = x;
    ASSERT(best != SIZE_MAX);
    return (uint16_t)best;
}

/* ---- undo ---- */

/* Keeps a cell's state once a level; without forbidden pairs nothing is ever taken back. */
static void save(struct wave *w, size_t v)
{
    struct wave_cell *cell = &w->cells[v];
    const size_t values = value_count(w->graph, v);
    const size_t words = cell->words + values;
    if (!w->hard || w->depth == 0 || cell->saved == w->levels[w->depth - 1].serial)
        return;
    cell->saved = w->levels[w->depth - 1].serial;
    if (w->trail_count == w->trail_room) {
        struct wave_record *larger = arena_array(w->arena, struct wave_record, 2 * w->trail_room);
        memcpy(larger, w->trail, w->trail_count * sizeof(*larger));
        w->trail = larger;
        w->trail_room *= 2;
    }
    while (w->saved_count + words > w->saved_room) {
        uint64_t *larger = arena_array(w->arena, uint64_t, 2 * w->saved_room);
        memcpy(larger, w->saved_words, w->saved_count * sizeof(*larger));
        w->saved_words = larger;
        w->saved_room *= 2;
    }
    uint64_t *to = &w->saved_words[w->saved_count];
    memcpy(to, cell->alive, cell->words * sizeof(*to));
    memcpy(to + cell->words, cell->scores, values * sizeof(*to));
    w->trail[w->trail_count++] = (struct wave_record){
        v, cell->count, cell->entropy, cell->collapsed, cell->blame, w->saved_count};
    w->saved_count += words;
}

static void restore(struct wave *w, const struct wave_record *record)
{
    struct wave_cell *cell = &w->cells[record->variable];
    const size_t values = value_count(w->graph, record->variable);
    const uint64_t *from = &w->saved_words[record->data];
    memcpy(cell->alive, from, cell->words * sizeof(*from));
    memcpy(cell->scores, from + cell->words, values * sizeof(*from));
    cell->blame = record->blame;
    cell->count = record->count;
    cell->entropy = record->entropy;
    if (!record->collapsed)
        file(w, record->variable);
    cell->collapsed = record->collapsed;
    cell->saved = -1;
    w->saved_count = record->data;
}

static void undo_level(struct wave *w)
{
    const struct wave_level *level = &w->levels[w->depth - 1];
    while (w->trail_count > level->trail)
        restore(w, &w->trail[--w->trail_count]);
    w->depth--;
}

/* ---- propagation ---- */

static void enqueue(struct wave *w, size_t v)
{
    if (w->queued[v])
        return;
    w->queued[v] = true;
    w->queue[(w->queue_from + w->queue_count++) % w->graph->variable_count] = v;
}

void wave_enqueue_all(struct wave *w)
{
    for (size_t v = 0; v < w->graph->variable_count; v++)
        enqueue(w, v);
}

static bool meets(const uint64_t *a, const uint64_t *b, size_t words)
{
    for (size_t i = 0; i < words; i++)
        if ((a[i] & b[i]) != 0)
            return true;
    return false;
}

/* Removes what no alive value of `from` allows; false when nothing is left. */
static bool revise(struct wave *w, size_t edge_number, size_t from, size_t to)
{
    const struct wave_masks *masks = w->masks[edge_number];
    const bool row = w->graph->edges[edge_number].a == to;
    const uint64_t *sets = row ? masks->row : masks->column;
    const size_t words = row ? masks->row_words : masks->column_words;
    struct wave_cell *cell = &w->cells[to];
    size_t removed = 0;
    for (size_t x = 0; x < value_count(w->graph, to); x++) {
        if (!has_bit(cell->alive, x) || meets(&sets[x * words], w->cells[from].alive, words))
            continue;
        if (removed++ == 0)
            save(w, to);
        clear_bit(cell->alive, x);
        cell->count--;
    }
    if (removed == 0)
        return true;
    w->counters->removals += (int64_t)removed;
    cell->blame = wave_blame_both(w, cell->blame, w->cells[from].blame);
    if (cell->count == 0)
        return false;
    if (!cell->collapsed)
        rate(w, to);
    enqueue(w, to);
    return true;
}

static bool revise_around(struct wave *w, size_t v, size_t *empty)
{
    for (size_t i = w->incident.start[v]; i < w->incident.start[v + 1]; i++) {
        const size_t number = w->incident.list[i];
        const struct factor_edge *edge = &w->graph->edges[number];
        const size_t other = edge->a == v ? edge->b : edge->a;
        if (w->masks[number] == NULL || revise(w, number, v, other))
            continue;
        *empty = other;
        return false;
    }
    return true;
}

bool wave_propagate(struct wave *w, size_t *empty)
{
    bool fine = true;
    while (w->queue_count > 0) {
        const size_t v = w->queue[w->queue_from];
        w->queue_from = (w->queue_from + 1) % w->graph->variable_count;
        w->queue_count--;
        w->queued[v] = false;
        fine = fine && revise_around(w, v, empty);
    }
    return fine;
}

/* ---- decisions ---- */

/* What the neighbours' values cost beside a collapsed one. */
static void add_scores(struct wave *w, size_t v, uint16_t value)
{
    for (size_t i = w->incident.start[v]; i < w->incident.start[v + 1]; i++) {
        const struct factor_edge *edge = &w->graph->edges[w->incident.list[i]];
        const size_t other = edge->a == v ? edge->b : edge->a;
        struct wave_cell *cell = &w->cells[other];
        if (cell->collapsed)
            continue;
        save(w, other);
        const size_t step = edge->a == v ? 1 : edge->table->columns;
        const double *costs = edge->a == v ? &edge->table->cost[value * edge->table->columns]
                                           : &edge->table->cost[value];
        const double *least = w->looks[w->incident.list[i]][edge->a == v];
        for (size_t x = 0; x < value_count(w->graph, other); x++)
            cell->scores[x] += costs[x * step] - least[x];
    }
}

void wave_collapse(struct wave *w, size_t variable, uint16_t value)
{
    struct wave_cell *cell = &w->cells[variable];
    w->levels[w->depth++] = (struct wave_level){variable, value, ++w->serial, w->trail_count};
    save(w, variable);
    memset(cell->alive, 0, cell->words * sizeof(*cell->alive));
    set_bit(cell->alive, value);
    cell->count = 1;
    cell->collapsed = true;
    factor_queue_remove(&w->open, variable);
    if (w->hard)
        cell->blame = wave_blame_both(w, cell->blame, wave_blame_level(w, w->depth - 1));
    add_scores(w, variable, value);
    if (w->hard)
        enqueue(w, variable);
    for (size_t i = w->incident.start[variable]; i < w->incident.start[variable + 1]; i++) {
        const struct factor_edge *edge = &w->graph->edges[w->incident.list[i]];
        const size_t other = edge->a == variable ? edge->b : edge->a;
        if (!w->cells[other].collapsed)
            rate(w, other);
    }
}

bool wave_backjump(struct wave *w, size_t *empty)
{
    struct wave_blame *blame = w->cells[*empty].blame;
    if (blame == NULL)
        return false;
    const size_t deepest = blame->deepest;
    const struct wave_level guilty = w->levels[deepest - 1];
    while (w->depth >= deepest)
        undo_level(w);
    struct wave_cell *cell = &w->cells[guilty.variable];
    save(w, guilty.variable);
    clear_bit(cell->alive, guilty.value);
    cell->count--;
    cell->blame = wave_blame_both(w, cell->blame, wave_blame_below(w, blame, deepest - 1));
    *empty = guilty.variable;
    if (cell->count == 0)
        return wave_backjump(w, empty);
    rate(w, guilty.variable);
    enqueue(w, guilty.variable);
    return true;
}

/* ---- preparation ---- */

static const struct wave_masks *make_masks(struct arena *arena, const struct factor_table *table)
{
    struct wave_masks *masks = arena_new(arena, struct wave_masks);
    masks->table = table;
    masks->row_words = words_of(table->columns);
    masks->column_words = words_of(table->rows);
    masks->row = arena_array(arena, uint64_t, table->rows * masks->row_words + 1);
    masks->column = arena_array(arena, uint64_t, table->columns * masks->column_words + 1);
    for (size_t r = 0; r < table->rows; r++)
        for (size_t k = 0; k < table->columns; k++)
            if (table->cost[r * table->columns + k] < INFINITY) {
                set_bit(&masks->row[r * masks->row_words], k);
                set_bit(&masks->column[k * masks->column_words], r);
            }
    return masks;
}

/* Of each distinct table once. */
static void fill_masks(struct wave *w)
{
    size_t mask = 15;
    while (mask < 2 * w->graph->edge_count)
        mask = 2 * mask + 1;
    const struct wave_masks **known = arena_array(w->arena, const struct wave_masks *, mask + 1);
    for (size_t i = 0; i < w->graph->edge_count; i++) {
        const struct factor_table *table = w->graph->edges[i].table;
        size_t at = (uintptr_t)table / sizeof(*table) & mask;
        if (table->forbidden == 0)
            continue;
        w->hard = true;
        while (known[at] != NULL && known[at]->table != table)
            at = (at + 1) & mask;
        if (known[at] == NULL)
            known[at] = make_masks(w->arena, table);
        w->masks[i] = known[at];
    }
}

/* ---- what open neighbours will cost ---- */

/* least[k] = min over rows of cost + unary[row] */
static void least_down(const struct factor_table *table, const double *unary, double *least)
{
    for (size_t k = 0; k < table->columns; k++)
        least[k] = INFINITY;
    for (size_t r = 0; r < table->rows; r++) {
        const double *row = &table->cost[r * table->columns], own = unary[r];
        for (size_t k = 0; k < table->columns; k++) {
            const double cost = row[k] + own;
            least[k] = cost < least[k] ? cost : least[k];
        }
    }
}

/* least[r] = min over columns of cost + unary[column]; four minima at a time, which do not wait for
 * each other. */
static void least_across(const struct factor_table *table, const double *unary, double *least)
{
    for (size_t r = 0; r < table->rows; r++) {
        const double *row = &table->cost[r * table->columns];
        double lanes[4] = {INFINITY, INFINITY, INFINITY, INFINITY};
        size_t k = 0;
        for (; k + 4 <= table->columns; k += 4)
            for (size_t i = 0; i < 4; i++) {
                const double cost = row[k + i] + unary[k + i];
                lanes[i] = cost < lanes[i] ? cost : lanes[i];
            }
        for (; k < table->columns; k++)
            lanes[0] = row[k] + unary[k] < lanes[0] ? row[k] + unary[k] : lanes[0];
        const double low = lanes[0] < lanes[1] ? lanes[0] : lanes[1];
        const double high = lanes[2] < lanes[3] ? lanes[2] : lanes[3];
        least[r] = low < high ? low : high;
    }
}

/* Values that no neighbour allows get 0: propagation removes them. */
static const double *make_look(struct arena *arena, const struct wave_look *look)
{
    const struct factor_table *table = look->table;
    const size_t count = look->row ? table->rows : table->columns;
    const size_t others = look->row ? table->columns : table->rows;
    double *least = arena_array(arena, double, count + 1);
    double *unary = arena_array(arena, double, others + 1);
    for (size_t y = 0; y < others; y++)
        unary[y] = look->share * look->unary[y];
    if (look->row)
        least_across(table, unary, least);
    else
        least_down(table, unary, least);
    for (size_t x = 0; x < count; x++)
        least[x] = least[x] == INFINITY ? 0 : least[x];
    return least;
}

static const double *find_look(struct wave *w, struct wave_look *known, size_t mask,
                               const struct wave_look *look)
{
    size_t at = ((uintptr_t)look->table / sizeof(*look->table) * 3 +
                 (uintptr_t)look->unary / sizeof(*look->unary) + look->row) &
                mask;
    while (known[at].least != NULL &&
           (known[at].table != look->table || known[at].unary != look->unary ||
            known[at].share != look->share || known[at].row != look->row))
        at = (at + 1) & mask;
    if (known[at].least == NULL) {
        known[at] = *look;
        known[at].least = make_look(w->arena, look);
    }
    return known[at].least;
}

static double share_of(const struct wave *w, size_t v)
{
    return 1 / (double)(w->incident.start[v + 1] - w->incident.start[v]);
}

/* Repeated parts of a graph share theirs. */
static void fill_looks(struct wave *w)
{
    const struct factor_graph *graph = w->graph;
    size_t mask = 31;
    while (mask < 4 * graph->edge_count)
        mask = 2 * mask + 1;
    struct wave_look *known = arena_array(w->arena, struct wave_look, mask + 1);
    w->looks = arena_alloc(w->arena, graph->edge_count + 1, sizeof(*w->looks), _Alignof(double *));
    for (size_t i = 0; i < graph->edge_count; i++) {
        const struct factor_edge *edge = &graph->edges[i];
        const struct wave_look for_a = {edge->table, graph->variables[edge->b].unary,
                                        share_of(w, edge->b), true, NULL};
        const struct wave_look for_b = {edge->table, graph->variables[edge->a].unary,
                                        share_of(w, edge->a), false, NULL};
        w->looks[i][0] = find_look(w, known, mask, &for_a);
        w->looks[i][1] = find_look(w, known, mask, &for_b);
    }
}

static void add_looks(struct wave *w, size_t v)
{
    struct wave_cell *cell = &w->cells[v];
    for (size_t i = w->incident.start[v]; i < w->incident.start[v + 1]; i++) {
        const size_t number = w->incident.list[i];
        const double *least = w->looks[number][w->graph->edges[number].a != v];
        for (size_t x = 0; x < value_count(w->graph, v); x++)
            cell->scores[x] += least[x];
    }
}

/* A share of the mean range of unary costs. */
static double temperature_of(const struct factor_graph *graph)
{
    double sum = 0;
    for (size_t v = 0; v < graph->variable_count; v++) {
        double least = INFINITY, most = -INFINITY;
        for (size_t x = 0; x < value_count(graph, v); x++) {
            double cost = graph->variables[v].unary[x];
            least = cost < least ? cost : least;
            most = cost > most && cost < INFINITY ? cost : most;
        }
        sum += most > least ? most - least : 0;
    }
    return sum > 0 ? sum / (double)graph->variable_count / ranges_per_temperature : 1;
}

void wave_init(struct wave *w, struct arena *arena, const struct factor_graph *graph,
               struct factor_counters *counters)
{
    const size_t n = graph->variable_count;
    *w = (struct wave){.arena = arena, .graph = graph, .counters = counters};
    factor_incident(arena, graph, &w->incident);
    w->temperature = temperature_of(graph);
    w->masks = arena_array(arena, const struct wave_masks *, graph->edge_count + 1);
    fill_masks(w);
    fill_looks(w);
    w->cells = arena_array(arena, struct wave_cell, n + 1);
    factor_queue_init(&w->open, arena, n);
    w->levels = arena_array(arena, struct wave_level, n + 1);
    w->queue = arena_array(arena, size_t, n + 1);
    w->queued = arena_array(arena, bool, n + 1);
    w->trail_room = w->saved_room = w->cut_room = 1024;
    w->cuts = arena_array(arena, struct wave_cut, w->hard ? w->cut_room : 1);
    w->trail = arena_array(arena, struct wave_record, w->hard ? w->trail_room : 1);
    w->saved_words = arena_array(arena, uint64_t, w->hard ? w->saved_room : 1);
    for (size_t v = 0; v < n; v++) {
        struct wave_cell *cell = &w->cells[v];
        cell->words = words_of(value_count(graph, v));
        cell->alive = arena_array(arena, uint64_t, cell->words + 1);
        cell->scores = arena_array(arena, double, value_count(graph, v) + 1);
    }
}

void wave_reset(struct wave *w, struct rng *rng, double noise)
{
    w->depth = w->trail_count = w->saved_count = 0;
    factor_queue_clear(&w->open, w->graph->variable_count);
    for (size_t v = 0; v < w->graph->variable_count; v++) {
        struct wave_cell *cell = &w->cells[v];
        const size_t count = value_count(w->graph, v);
        memset(cell->alive, 0, cell->words * sizeof(*cell->alive));
        cell->blame = NULL;
        memcpy(cell->scores, w->graph->variables[v].unary, count * sizeof(*cell->scores));
        cell->count = 0;
        cell->collapsed = false;
        cell->saved = -1;
        for (size_t x = 0; x < count; x++) {
            if (cell->scores[x] == INFINITY)
                continue;
            set_bit(cell->alive, x);
            cell->count++;
            if (noise > 0)
                cell->scores[x] += noise * w->temperature * rng_u32(rng) / 0x1p32;
        }
        add_looks(w, v);
        cell->entropy = entropy_of(w, cell, count);
        file(w, v);
    }
}
