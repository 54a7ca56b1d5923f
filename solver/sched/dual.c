/*
 * The dual of a factor graph (dual_int.h): passes, removals, undo.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/sched/dual_int.h"

static const double peak_max = 1e280;

static size_t other_end(const struct factor_edge *edge, size_t end)
{
    return edge->a == end ? edge->b : edge->a;
}

static double *moved_to(const struct dual *d, size_t edge, size_t end)
{
    return d->moved[edge][d->graph->edges[edge].a != end];
}

/* ---- bound ---- */

double dual_bound(const struct dual *d)
{
    const double terms = (double)(d->graph->variable_count + d->graph->edge_count);
    const double roundings = d->peak * d->rounding + terms * d->total_abs;
    return d->total - 0x1p-51 * roundings;
}

static void add_up(struct dual *d)
{
    d->total = d->total_abs = 0;
    for (size_t v = 0; v < d->graph->variable_count; v++) {
        d->total += d->node_least[v];
        d->total_abs += fabs(d->node_least[v]);
    }
    for (size_t i = 0; i < d->graph->edge_count; i++) {
        d->total += d->edge_least[i];
        d->total_abs += fabs(d->edge_least[i]);
    }
}

/* A term of the total takes its new minimum. */
static void set_term(struct dual *d, double *term, double to)
{
    d->total += to - *term;
    d->total_abs += fabs(to - *term);
    *term = to;
}

/* ---- trail ---- */

void dual_remove(struct dual *d, size_t variable, size_t value)
{
    d->own[variable][value] = INFINITY;
    d->count[variable]--;
    if (d->level == 0)
        return;
    if (d->removal_count == d->removal_room) {
        struct dual_removal *larger =
            arena_array(d->arena, struct dual_removal, 2 * d->removal_room);
        memcpy(larger, d->removals, d->removal_count * sizeof(*larger));
        d->removals = larger;
        d->removal_room *= 2;
    }
    d->removals[d->removal_count++] = (struct dual_removal){variable, (uint16_t)value};
}

static void set_node_least(struct dual *d, size_t v, double least)
{
    if (d->level > 0) {
        if (d->least_count == d->least_room) {
            struct dual_least *larger = arena_array(d->arena, struct dual_least, 2 * d->least_room);
            memcpy(larger, d->leasts, d->least_count * sizeof(*larger));
            d->leasts = larger;
            d->least_room *= 2;
        }
        d->leasts[d->least_count++] = (struct dual_least){v, d->node_least[v]};
    }
    set_term(d, &d->node_least[v], least);
}

static size_t saved_size(const struct dual *d, size_t edge)
{
    const struct factor_edge *own = &d->graph->edges[edge];
    return value_count(d->graph, own->a) + value_count(d->graph, own->b) + 1;
}

static void make_room(struct dual *d, size_t size)
{
    if (d->save_count == d->save_room) {
        struct dual_saved *larger = arena_array(d->arena, struct dual_saved, 2 * d->save_room);
        memcpy(larger, d->saves, d->save_count * sizeof(*larger));
        d->saves = larger;
        d->save_room *= 2;
    }
    while (d->saved_count + size > d->saved_room) {
        double *larger = arena_array(d->arena, double, 2 * d->saved_room);
        memcpy(larger, d->saved, d->saved_count * sizeof(*larger));
        d->saved = larger;
        d->saved_room *= 2;
    }
}

/* Once a level: what was moved on the edge, and its minimum. */
static void save(struct dual *d, size_t edge)
{
    const struct factor_edge *own = &d->graph->edges[edge];
    const size_t a = value_count(d->graph, own->a), b = value_count(d->graph, own->b);
    if (d->level == 0 || d->saved_level[edge] == d->level)
        return;
    make_room(d, saved_size(d, edge));
    double *to = &d->saved[d->saved_count];
    to[0] = d->edge_least[edge];
    memcpy(to + 1, d->moved[edge][0], a * sizeof(*to));
    memcpy(to + 1 + a, d->moved[edge][1], b * sizeof(*to));
    d->saves[d->save_count++] = (struct dual_saved){edge, d->saved_level[edge], d->saved_count};
    d->saved_level[edge] = d->level;
    d->saved_count += saved_size(d, edge);
}

static void restore(struct dual *d, const struct dual_saved *save)
{
    const struct factor_edge *own = &d->graph->edges[save->edge];
    const size_t a = value_count(d->graph, own->a), b = value_count(d->graph, own->b);
    const double *from = &d->saved[save->data];
    d->edge_least[save->edge] = from[0];
    memcpy(d->moved[save->edge][0], from + 1, a * sizeof(*from));
    memcpy(d->moved[save->edge][1], from + 1 + a, b * sizeof(*from));
    d->saved_level[save->edge] = save->level;
}

struct dual_mark dual_mark(struct dual *d, int64_t level)
{
    const struct dual_mark mark = {d->removal_count, d->least_count, d->save_count, d->saved_count,
                                   d->level,         d->total,       d->total_abs};
    d->level = level;
    return mark;
}

void dual_undo(struct dual *d, const struct dual_mark *mark)
{
    while (d->removal_count > mark->removals) {
        const struct dual_removal gone = d->removals[--d->removal_count];
        d->own[gone.variable][gone.value] = d->graph->variables[gone.variable].unary[gone.value];
        d->count[gone.variable]++;
    }
    while (d->least_count > mark->leasts) {
        d->least_count--;
        d->node_least[d->leasts[d->least_count].variable] = d->leasts[d->least_count].least;
    }
    while (d->save_count > mark->saves)
        restore(d, &d->saves[--d->save_count]);
    d->saved_count = mark->data;
    d->level = mark->level;
    d->total = mark->total;
    d->total_abs = mark->total_abs;
}

/* ---- passes ---- */

/* min over y of row[y] + reduced[y]; four minima at a time, which do not wait for each other */
static double least_of_sum(const double *row, const double *reduced, size_t count)
{
    double lanes[4] = {INFINITY, INFINITY, INFINITY, INFINITY};
    size_t y = 0;
    for (; y + 4 <= count; y += 4)
        for (size_t i = 0; i < 4; i++) {
            const double cost = row[y + i] + reduced[y + i];
            lanes[i] = cost < lanes[i] ? cost : lanes[i];
        }
    for (; y < count; y++)
        lanes[0] = row[y] + reduced[y] < lanes[0] ? row[y] + reduced[y] : lanes[0];
    const double low = lanes[0] < lanes[1] ? lanes[0] : lanes[1];
    const double high = lanes[2] < lanes[3] ? lanes[2] : lanes[3];
    return low < high ? low : high;
}

/* d->taken[x] = min over y of table[x][y] + d->reduced[y], for the values x that v has left */
static void least_beside(struct dual *d, const struct factor_edge *edge, size_t v)
{
    const struct factor_table *table = edge->table;
    const double *own = d->own[v], *reduced = d->reduced;
    double *out = d->taken;
    if (v == edge->a) {
        for (size_t x = 0; x < table->rows; x++)
            if (own[x] < INFINITY)
                out[x] = least_of_sum(&table->cost[x * table->columns], reduced, table->columns);
        d->entries += (int64_t)(d->count[v] * table->columns);
        return;
    }
    for (size_t x = 0; x < table->columns; x++)
        out[x] = INFINITY;
    for (size_t y = 0; y < table->rows; y++) {
        const double *row = &table->cost[y * table->columns], base = reduced[y];
        if (base == INFINITY)
            continue;
        for (size_t x = 0; x < table->columns; x++)
            out[x] = row[x] + base < out[x] ? row[x] + base : out[x];
    }
    d->entries += (int64_t)(d->count[edge->a] * table->columns);
}

/* Moves to v what its values must pay on the edge, above the least of them; values that the other
 * end does not allow go. */
static void take(struct dual *d, size_t edge, size_t v)
{
    const struct factor_edge *own = &d->graph->edges[edge];
    const size_t other = other_end(own, v), count = value_count(d->graph, v);
    double *to = moved_to(d, edge, v), least = INFINITY;
    const double *from = moved_to(d, edge, other);
    for (size_t y = 0; y < value_count(d->graph, other); y++)
        d->reduced[y] = d->own[other][y] == INFINITY ? (double)INFINITY : -from[y];
    least_beside(d, own, v);
    for (size_t x = 0; x < count; x++) {
        if (d->own[v][x] == INFINITY)
            continue;
        if (d->taken[x] == INFINITY) {
            dual_remove(d, v, x);
            continue;
        }
        d->taken[x] -= to[x];
        least = d->taken[x] < least ? d->taken[x] : least;
    }
    if (least == INFINITY)
        return;
    save(d, edge);
    set_term(d, &d->edge_least[edge], least);
    for (size_t x = 0; x < count; x++)
        if (d->own[v][x] < INFINITY) {
            to[x] += d->taken[x] - least;
            d->peak = fmax(d->peak, fabs(to[x]));
        }
}

/* b of v, and its least. */
static double fill_belief(struct dual *d, size_t v)
{
    const size_t count = value_count(d->graph, v);
    double least = INFINITY;
    memcpy(d->belief, d->own[v], count * sizeof(*d->belief));
    for (size_t i = d->incident.start[v]; i < d->incident.start[v + 1]; i++) {
        const double *moved = moved_to(d, d->incident.list[i], v);
        for (size_t x = 0; x < count; x++)
            d->belief[x] += moved[x];
    }
    for (size_t x = 0; x < count; x++)
        least = d->belief[x] < least ? d->belief[x] : least;
    return least;
}

static void give(struct dual *d, size_t edge, size_t v, double share, double least)
{
    double *from = moved_to(d, edge, v);
    save(d, edge);
    for (size_t x = 0; x < value_count(d->graph, v); x++)
        if (d->own[v][x] < INFINITY) {
            from[x] -= share * (d->belief[x] - least);
            d->peak = fmax(d->peak, fabs(from[x]));
        }
}

/* Values whose own bound reaches the limit go; false when all would. */
static bool drop_dear(struct dual *d, size_t v, double least, double limit)
{
    const double bound = dual_bound(d);
    if (factor_reaches(bound, limit))
        return false;
    for (size_t x = 0; x < value_count(d->graph, v); x++)
        if (d->own[v][x] < INFINITY && factor_reaches(bound + (d->belief[x] - least), limit))
            dual_remove(d, v, x);
    return true;
}

/* Edges to where the pass goes get a share each; from all others the variable takes. */
static bool visit(struct dual *d, size_t v, bool forward, double limit)
{
    size_t ahead = 0, behind = 0;
    for (size_t i = d->incident.start[v]; i < d->incident.start[v + 1]; i++) {
        const size_t edge = d->incident.list[i], other = other_end(&d->graph->edges[edge], v);
        const bool is_ahead = d->in_region[other] && (other > v) == forward;
        ahead += is_ahead;
        behind += d->in_region[other] && !is_ahead;
        if (!is_ahead)
            take(d, edge, v);
    }
    const double least = fill_belief(d, v);
    if (d->count[v] == 0)
        return false;
    set_node_least(d, v, least);
    if (!drop_dear(d, v, least, limit))
        return false;
    if (d->count[v] == 1)
        return true;
    const double share = 1 / (double)(ahead > behind ? ahead : behind);
    for (size_t i = d->incident.start[v]; i < d->incident.start[v + 1]; i++) {
        const size_t edge = d->incident.list[i], other = other_end(&d->graph->edges[edge], v);
        if (d->in_region[other] && (other > v) == forward)
            give(d, edge, v, share, least);
    }
    return true;
}

bool dual_pass(struct dual *d, double limit)
{
    for (size_t i = 0; i < d->region_count; i++)
        if (!visit(d, d->region[i], true, limit))
            return false;
    for (size_t i = d->region_count; i-- > 0;)
        if (!visit(d, d->region[i], false, limit))
            return false;
    add_up(d);
    return !factor_reaches(dual_bound(d), limit);
}

/* ---- regions ---- */

static int compare_sizes(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

void dual_region_all(struct dual *d)
{
    d->region_count = d->graph->variable_count;
    for (size_t v = 0; v < d->region_count; v++) {
        d->region[v] = v;
        d->in_region[v] = true;
    }
}

void dual_region(struct dual *d, size_t variable, size_t most)
{
    for (size_t i = 0; i < d->region_count; i++)
        d->in_region[d->region[i]] = false;
    d->region_count = 0;
    d->region[d->region_count++] = variable;
    d->in_region[variable] = true;
    for (size_t at = 0; at < d->region_count && d->region_count < most; at++) {
        const size_t v = d->region[at];
        for (size_t i = d->incident.start[v]; i < d->incident.start[v + 1]; i++) {
            const size_t other = other_end(&d->graph->edges[d->incident.list[i]], v);
            if (d->in_region[other] || d->count[other] == 1 || d->region_count == most)
                continue;
            d->in_region[other] = true;
            d->region[d->region_count++] = other;
        }
    }
    qsort(d->region, d->region_count, sizeof(*d->region), compare_sizes);
}

/* ---- assignments ---- */

static double reduced_cost(const struct dual *d, size_t edge, size_t v, size_t value, size_t other)
{
    const struct factor_edge *own = &d->graph->edges[edge];
    return pair_cost(own, v, value, other) - moved_to(d, edge, v)[value] -
           moved_to(d, edge, other_end(own, v))[other];
}

double dual_unary(const struct dual *d, size_t v, size_t value)
{
    double cost = d->own[v][value];
    for (size_t i = d->incident.start[v]; i < d->incident.start[v + 1]; i++)
        cost += moved_to(d, d->incident.list[i], v)[value];
    return cost;
}

uint16_t dual_cheapest(const struct dual *d, size_t variable)
{
    double least = INFINITY;
    size_t best = 0;
    for (size_t x = 0; x < value_count(d->graph, variable); x++) {
        const double cost = dual_unary(d, variable, x);
        if (cost < least) {
            least = cost;
            best = x;
        }
    }
    return (uint16_t)best;
}

bool dual_decode(const struct dual *d, uint16_t *values)
{
    for (size_t v = 0; v < d->graph->variable_count; v++) {
        double least = INFINITY;
        for (size_t x = 0; x < value_count(d->graph, v); x++) {
            if (d->own[v][x] == INFINITY)
                continue;
            double cost = dual_unary(d, v, x);
            for (size_t i = d->incident.start[v]; i < d->incident.start[v + 1]; i++) {
                const size_t edge = d->incident.list[i];
                const size_t other = other_end(&d->graph->edges[edge], v);
                if (other < v)
                    cost += reduced_cost(d, edge, v, x, values[other]);
            }
            if (cost < least) {
                least = cost;
                values[v] = (uint16_t)x;
            }
        }
        if (least == INFINITY)
            return false;
    }
    return true;
}

double dual_excess(const struct dual *d, const uint16_t *values, size_t variable)
{
    double excess = dual_unary(d, variable, values[variable]) - d->node_least[variable];
    for (size_t i = d->incident.start[variable]; i < d->incident.start[variable + 1]; i++) {
        const size_t edge = d->incident.list[i];
        const size_t other = other_end(&d->graph->edges[edge], variable);
        excess += 0.5 * (reduced_cost(d, edge, variable, values[variable], values[other]) -
                         d->edge_least[edge]);
    }
    return excess;
}

/* ---- preparation ---- */

static double finite_peak(const struct factor_graph *graph)
{
    double peak = 0;
    for (size_t v = 0; v < graph->variable_count; v++)
        for (size_t x = 0; x < value_count(graph, v); x++)
            if (graph->variables[v].unary[x] < INFINITY)
                peak = fmax(peak, fabs(graph->variables[v].unary[x]));
    for (size_t i = 0; i < graph->edge_count; i++) {
        const struct factor_table *table = graph->edges[i].table;
        peak = fmax(peak, fmax(fabs(table->least), fabs(table->most)));
    }
    return peak;
}

static double least_of(const double *costs, size_t count)
{
    double least = INFINITY;
    for (size_t i = 0; i < count; i++)
        least = costs[i] < least ? costs[i] : least;
    return least;
}

static void fill_variable(struct dual *d, size_t v)
{
    const size_t count = value_count(d->graph, v);
    const double links = (double)(d->incident.start[v + 1] - d->incident.start[v]);
    d->own[v] = arena_array(d->arena, double, count + 1);
    memcpy(d->own[v], d->graph->variables[v].unary, count * sizeof(double));
    for (size_t x = 0; x < count; x++)
        d->count[v] += d->own[v][x] < INFINITY;
    d->node_least[v] = least_of(d->own[v], count);
    d->rounding += (links + 2) * (links + 2);
}

static void fill_edge(struct dual *d, size_t edge)
{
    const struct factor_edge *own = &d->graph->edges[edge];
    const size_t a = value_count(d->graph, own->a), b = value_count(d->graph, own->b);
    d->moved[edge][0] = arena_array(d->arena, double, a + b + 1);
    d->moved[edge][1] = d->moved[edge][0] + a;
    d->edge_least[edge] = own->table->least;
    d->saved_level[edge] = -1;
    d->rounding += 16;
}

bool dual_init(struct arena *arena, const struct factor_graph *graph, struct dual *out)
{
    const size_t n = graph->variable_count, m = graph->edge_count;
    const size_t most = factor_values_most(graph);
    struct dual *d = out;
    *d = (struct dual){.arena = arena, .graph = graph, .peak = finite_peak(graph)};
    if (d->peak > peak_max)
        return false;
    factor_incident(arena, graph, &d->incident);
    d->own = arena_array(arena, double *, n + 1);
    d->count = arena_array(arena, size_t, n + 1);
    d->moved = arena_alloc(arena, m + 1, sizeof(*d->moved), _Alignof(double *));
    d->node_least = arena_array(arena, double, n + 1);
    d->edge_least = arena_array(arena, double, m + 1);
    d->belief = arena_array(arena, double, most);
    d->taken = arena_array(arena, double, most);
    d->reduced = arena_array(arena, double, most);
    d->region = arena_array(arena, size_t, n + 1);
    d->in_region = arena_array(arena, bool, n + 1);
    d->saved_level = arena_array(arena, int64_t, m + 1);
    d->removal_room = d->least_room = d->save_room = d->saved_room = 256;
    d->leasts = arena_array(arena, struct dual_least, d->least_room);
    d->removals = arena_array(arena, struct dual_removal, d->removal_room);
    d->saves = arena_array(arena, struct dual_saved, d->save_room);
    d->saved = arena_array(arena, double, d->saved_room);
    for (size_t v = 0; v < n; v++)
        fill_variable(d, v);
    dual_region_all(d);
    for (size_t i = 0; i < m; i++)
        fill_edge(d, i);
    add_up(d);
    return true;
}
