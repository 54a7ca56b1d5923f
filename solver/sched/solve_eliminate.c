/*
 * Variable elimination: exact on any graph, at the price of its width.
 *
 * A variable is eliminated by minimising over its values all costs that mention it; what is left is
 * a message, a table over its remaining neighbours.  The order is min-fill: next is the variable
 * whose neighbours need the fewest new links among each other, of equals the one of the smallest
 * message, then the first; past FILL_LINKS_MAX neighbours all links count as missing, since the
 * message would be too large anyway.  After a step those are counted anew whose neighbours changed:
 * the variable's, and those beside both ends of a new link.  Tables are counted before any is made:
 * past the limit the search is not begun, and the count is reported.
 *
 * Invariant: a bucket's message has the bucket's least cost for each assignment of its scope, made
 * by bucket_costs(), which is also what the way back uses; so the best value's delta is exactly 0.
 */
#include <math.h>
#include <string.h>

#include "solver/sched/factor_int.h"

enum { FILL_LINKS_MAX = 64 };

/* Sparse sets of variables: sorted lists of neighbours. */
struct links {
    size_t *list;
    size_t count, room;
};
struct message {
    const size_t *scope; /* variables, in ascending order of elimination */
    size_t scope_count;
    double *table; /* the last of scope varies fastest */
};
struct bucket {
    size_t variable;
    struct message out;
    const size_t *messages; /* buckets whose message mentions the variable first */
    size_t message_count;
    const size_t *edges; /* to variables that are eliminated later */
    size_t edge_count;
};
struct eliminator {
    struct arena *arena;
    const struct factor_graph *graph;
    struct links *links;      /* by variable, among those not eliminated yet */
    struct factor_queue open; /* by fill, then size of the message */
    size_t *stale;            /* variables to be counted anew, each once */
    size_t stale_count;
    bool *is_stale;
    size_t *rank; /* by variable: place in the order */
    struct bucket *buckets;
    double *costs; /* by value */
    int64_t states, steps, moves, states_largest;
};

/* ---- order ---- */

static bool links_has(const struct links *links, size_t v)
{
    size_t low = 0, high = links->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (links->list[middle] < v)
            low = middle + 1;
        else
            high = middle;
    }
    return low < links->count && links->list[low] == v;
}

/* False when it is there already. */
static bool links_add(struct arena *arena, struct links *links, size_t v)
{
    if (links_has(links, v))
        return false;
    if (links->count == links->room) {
        links->room = links->room == 0 ? 4 : 2 * links->room;
        size_t *larger = arena_array(arena, size_t, links->room);
        if (links->count > 0)
            memcpy(larger, links->list, links->count * sizeof(*larger));
        links->list = larger;
    }
    size_t at = links->count++;
    while (at > 0 && links->list[at - 1] > v) {
        links->list[at] = links->list[at - 1];
        at--;
    }
    links->list[at] = v;
    return true;
}

static void links_remove(struct links *links, size_t v)
{
    size_t kept = 0;
    for (size_t i = 0; i < links->count; i++)
        if (links->list[i] != v)
            links->list[kept++] = links->list[i];
    links->count = kept;
}

static double count_fill(struct eliminator *e, size_t v)
{
    const struct links *own = &e->links[v];
    int64_t missing = 0;
    if (own->count > FILL_LINKS_MAX)
        return 0.5 * (double)own->count * (double)(own->count - 1);
    for (size_t i = 0; i < own->count; i++)
        for (size_t k = i + 1; k < own->count; k++)
            missing += !links_has(&e->links[own->list[i]], own->list[k]);
    e->moves += (int64_t)(own->count * own->count);
    return (double)missing;
}

static double message_size(const struct eliminator *e, size_t v)
{
    double size = 1;
    for (size_t i = 0; i < e->links[v].count && size < INFINITY; i++)
        size *= (double)value_count(e->graph, e->links[v].list[i]);
    return size;
}

static void mark_stale(struct eliminator *e, size_t v)
{
    if (e->is_stale[v])
        return;
    e->is_stale[v] = true;
    e->stale[e->stale_count++] = v;
}

static size_t choose(struct eliminator *e)
{
    while (e->stale_count > 0) {
        const size_t v = e->stale[--e->stale_count];
        e->is_stale[v] = false;
        factor_queue_set(&e->open, v, (struct factor_key){count_fill(e, v), message_size(e, v)});
    }
    const size_t best = factor_queue_first(&e->open);
    factor_queue_remove(&e->open, best);
    return best;
}

/* a and b are linked now: one link less is missing beside each that is linked with both. */
static void mark_between(struct eliminator *e, size_t a, size_t b)
{
    const bool fewer = e->links[a].count <= e->links[b].count;
    const struct links *few = &e->links[fewer ? a : b], *more = &e->links[fewer ? b : a];
    for (size_t i = 0; i < few->count; i++)
        if (links_has(more, few->list[i]))
            mark_stale(e, few->list[i]);
    e->moves += (int64_t)few->count;
}

/* Links the neighbours of v with each other. */
static void take_out(struct eliminator *e, size_t v)
{
    const struct links own = e->links[v];
    for (size_t i = 0; i < own.count; i++) {
        e->moves += (int64_t)e->links[own.list[i]].count;
        links_remove(&e->links[own.list[i]], v);
        mark_stale(e, own.list[i]);
    }
    for (size_t i = 0; i < own.count; i++)
        for (size_t k = i + 1; k < own.count; k++) {
            const size_t a = own.list[i], b = own.list[k];
            if (!links_add(e->arena, &e->links[a], b))
                continue;
            links_add(e->arena, &e->links[b], a);
            mark_between(e, a, b);
        }
}

/* The scope is put in order later, when all ranks are known; false past the limit. */
static bool plan_bucket(struct eliminator *e, size_t at, double steps_max, double *steps)
{
    struct bucket *bucket = &e->buckets[at];
    const size_t v = bucket->variable = choose(e);
    const double size = message_size(e, v);
    size_t *scope = arena_array(e->arena, size_t, e->links[v].count + 1);
    if (e->links[v].count > 0)
        memcpy(scope, e->links[v].list, e->links[v].count * sizeof(*scope));
    bucket->out = (struct message){.scope = scope, .scope_count = e->links[v].count};
    e->rank[v] = at;
    if (size > (double)e->states_largest)
        e->states_largest = size < 0x1p62 ? (int64_t)size : INT64_MAX;
    *steps += size * (double)value_count(e->graph, v);
    e->states += *steps <= steps_max ? (int64_t)size : 0;
    take_out(e, v);
    return *steps <= steps_max;
}

static void sort_by_rank(const struct eliminator *e, size_t *scope, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        size_t v = scope[i], k = i;
        for (; k > 0 && e->rank[scope[k - 1]] > e->rank[v]; k--)
            scope[k] = scope[k - 1];
        scope[k] = v;
    }
}

/* A message goes to the bucket of the first variable of its scope, an edge likewise. */
static void fill_buckets(struct eliminator *e)
{
    const size_t n = e->graph->variable_count;
    size_t(*lists)[2] = arena_alloc(e->arena, n + 1, sizeof(*lists), _Alignof(size_t));
    for (size_t i = 0; i < n; i++) {
        struct bucket *bucket = &e->buckets[i];
        sort_by_rank(e, (size_t *)bucket->out.scope, bucket->out.scope_count);
        if (bucket->out.scope_count > 0)
            lists[e->rank[bucket->out.scope[0]]][0]++;
    }
    for (size_t i = 0; i < e->graph->edge_count; i++) {
        size_t a = e->rank[e->graph->edges[i].a], b = e->rank[e->graph->edges[i].b];
        lists[a < b ? a : b][1]++;
    }
    for (size_t i = 0; i < n; i++) {
        e->buckets[i].messages = arena_array(e->arena, size_t, lists[i][0] + 1);
        e->buckets[i].edges = arena_array(e->arena, size_t, lists[i][1] + 1);
    }
    for (size_t i = 0; i < n; i++)
        if (e->buckets[i].out.scope_count > 0) {
            struct bucket *to = &e->buckets[e->rank[e->buckets[i].out.scope[0]]];
            ((size_t *)to->messages)[to->message_count++] = i;
        }
    for (size_t i = 0; i < e->graph->edge_count; i++) {
        size_t a = e->rank[e->graph->edges[i].a], b = e->rank[e->graph->edges[i].b];
        struct bucket *to = &e->buckets[a < b ? a : b];
        ((size_t *)to->edges)[to->edge_count++] = i;
    }
}

/* ---- messages ---- */

/* Where a message's table continues with the first variable of its scope: offset of the others'
 * values, and the step from one of its values to the next. */
static size_t message_place(const struct eliminator *e, const struct message *message,
                            const uint16_t *values, size_t *step)
{
    size_t offset = 0;
    *step = 1;
    for (size_t i = 1; i < message->scope_count; i++) {
        const size_t count = value_count(e->graph, message->scope[i]);
        offset = offset * count + values[message->scope[i]];
        *step *= count;
    }
    return offset;
}

/* out[x]: all that a bucket costs when its variable takes x, the later variables being fixed. */
static void bucket_costs(const struct eliminator *e, const struct bucket *bucket,
                         const uint16_t *values, double *out)
{
    const size_t v = bucket->variable, count = value_count(e->graph, v);
    memcpy(out, e->graph->variables[v].unary, count * sizeof(*out));
    for (size_t i = 0; i < bucket->edge_count; i++) {
        const struct factor_edge *edge = &e->graph->edges[bucket->edges[i]];
        const bool row = edge->a == v;
        const size_t step = row ? edge->table->columns : 1;
        const double *from = row ? &edge->table->cost[values[edge->b]]
                                 : &edge->table->cost[values[edge->a] * edge->table->columns];
        for (size_t x = 0; x < count; x++)
            out[x] += from[x * step];
    }
    for (size_t i = 0; i < bucket->message_count; i++) {
        const struct message *message = &e->buckets[bucket->messages[i]].out;
        size_t step, offset = message_place(e, message, values, &step);
        for (size_t x = 0; x < count; x++)
            out[x] += message->table[offset + x * step];
    }
}

static double least_of(const double *costs, size_t count)
{
    double least = INFINITY;
    for (size_t x = 0; x < count; x++)
        least = costs[x] < least ? costs[x] : least;
    return least;
}

static bool next_scope(const struct eliminator *e, const struct message *message, uint16_t *values)
{
    size_t i = message->scope_count;
    while (i > 0 &&
           values[message->scope[i - 1]] + 1u == value_count(e->graph, message->scope[i - 1])) {
        i--;
        values[message->scope[i]] = 0;
    }
    if (i == 0)
        return false;
    values[message->scope[i - 1]]++;
    return true;
}

static void eliminate(struct eliminator *e, struct bucket *bucket, uint16_t *values)
{
    const size_t count = value_count(e->graph, bucket->variable);
    size_t size = 1, at = 0;
    for (size_t i = 0; i < bucket->out.scope_count; i++) {
        values[bucket->out.scope[i]] = 0;
        size *= value_count(e->graph, bucket->out.scope[i]);
    }
    bucket->out.table = arena_array(e->arena, double, size + 1);
    if (size == 0)
        return;
    do {
        bucket_costs(e, bucket, values, e->costs);
        bucket->out.table[at++] = least_of(e->costs, count);
        e->steps += (int64_t)count;
    } while (next_scope(e, &bucket->out, values));
}

static void fill_deltas(const void *context, size_t at, const uint16_t *values, double *out)
{
    const struct eliminator *e = context;
    const struct bucket *bucket = &e->buckets[e->graph->variable_count - 1 - at];
    const size_t count = value_count(e->graph, bucket->variable);
    bucket_costs(e, bucket, values, out);
    double least = least_of(out, count);
    for (size_t x = 0; x < count; x++)
        out[x] = out[x] == INFINITY ? out[x] : out[x] - least;
}

/* ---- solver ---- */

static bool plan(struct eliminator *e, const struct factor_options *options)
{
    const size_t n = e->graph->variable_count;
    const double steps_max =
        (double)(options->steps_max > 0 ? options->steps_max : FACTOR_ELIMINATE_STEPS);
    double steps = 0;
    size_t most = 1;
    e->links = arena_array(e->arena, struct links, n + 1);
    e->stale = arena_array(e->arena, size_t, n + 1);
    e->is_stale = arena_array(e->arena, bool, n + 1);
    factor_queue_init(&e->open, e->arena, n);
    e->rank = arena_array(e->arena, size_t, n + 1);
    e->buckets = arena_array(e->arena, struct bucket, n + 1);
    for (size_t i = 0; i < e->graph->edge_count; i++) {
        links_add(e->arena, &e->links[e->graph->edges[i].a], e->graph->edges[i].b);
        links_add(e->arena, &e->links[e->graph->edges[i].b], e->graph->edges[i].a);
    }
    for (size_t v = 0; v < n; v++) {
        mark_stale(e, v);
        most = value_count(e->graph, v) > most ? value_count(e->graph, v) : most;
    }
    e->costs = arena_array(e->arena, double, most);
    for (size_t i = 0; i < n; i++)
        if (!plan_bucket(e, i, steps_max, &steps))
            return false;
    fill_buckets(e);
    return true;
}

/* The least cost, INFINITY = none: what the buckets without a scope leave. */
static double run(struct eliminator *e)
{
    uint16_t *values = arena_array(e->arena, uint16_t, e->graph->variable_count + 1);
    double cost = 0;
    for (size_t i = 0; i < e->graph->variable_count; i++) {
        if (value_count(e->graph, e->buckets[i].variable) == 0)
            return INFINITY;
        eliminate(e, &e->buckets[i], values);
        if (e->buckets[i].out.scope_count == 0)
            cost += e->buckets[i].out.table[0];
    }
    return cost;
}

void factor_eliminate(struct arena *arena, const struct factor_graph *graph,
                      const struct factor_options *options, struct factor_result *out)
{
    const size_t n = graph->variable_count;
    struct eliminator e = {.arena = arena, .graph = graph};
    struct factor_collector collector;
    *out = (struct factor_result){.claim = FACTOR_UNKNOWN, .bound = -INFINITY};
    const bool fits = plan(&e, options);
    out->counters.moves = e.moves + e.open.moves;
    if (!fits) {
        out->stopped = "more table entries than the limit";
        out->counters.states = e.states_largest;
        return;
    }
    double cost = run(&e);
    out->counters.steps = e.steps;
    out->counters.states = e.states_largest;
    out->bound = cost;
    out->claim = cost == INFINITY ? FACTOR_IMPOSSIBLE : FACTOR_OPTIMAL;
    if (cost == INFINITY)
        return;
    size_t *order = arena_array(arena, size_t, n + 1);
    for (size_t i = 0; i < n; i++)
        order[i] = e.buckets[n - 1 - i].variable;
    const struct factor_deltas deltas = {order, n, &e, fill_deltas};
    factor_collect_init(&collector, arena, graph, options);
    factor_best_first(&collector, &deltas);
    factor_collect_finish(&collector, out);
    out->bound = out->best[0].cost;
}
