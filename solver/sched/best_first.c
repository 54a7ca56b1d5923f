/*
 * The k best assignments, cheapest first, from exact costs to go.
 *
 * A node fixes a prefix of the order; its cost is that of its best completion, since every delta is
 * taken from the least cost that is still possible.  From the cheapest open node the search dives
 * along deltas of 0 to that completion, and opens the values that it passed by; so each dive ends
 * in the next best assignment, and no assignment is met twice.
 */
#include <math.h>

#include "base/panic.h"

#include "solver/sched/factor_int.h"

struct node {
    double cost; /* above the optimum */
    const struct node *parent;
    size_t depth; /* variables fixed */
    uint16_t value;
};
struct heap {
    struct arena *arena;
    struct node **items;
    size_t count, room;
};

static void heap_push(struct heap *heap, struct node *node)
{
    if (heap->count == heap->room) {
        heap->room = heap->room == 0 ? 256 : 2 * heap->room;
        struct node **larger = arena_array(heap->arena, struct node *, heap->room);
        for (size_t i = 0; i < heap->count; i++)
            larger[i] = heap->items[i];
        heap->items = larger;
    }
    size_t at = heap->count++;
    while (at > 0 && heap->items[(at - 1) / 2]->cost > node->cost) {
        heap->items[at] = heap->items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->items[at] = node;
}

static struct node *heap_pop(struct heap *heap)
{
    struct node *top = heap->items[0], *last = heap->items[--heap->count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && heap->items[child + 1]->cost < heap->items[child]->cost)
            child++;
        if (heap->items[child]->cost >= last->cost)
            break;
        heap->items[at] = heap->items[child];
        at = child;
    }
    heap->items[at] = last;
    return top;
}

struct dive {
    struct factor_collector *collector;
    const struct factor_deltas *deltas;
    struct heap heap;
    uint16_t *values; /* by variable */
    double *costs;    /* by value */
};

/* Fixes order[depth] at its cheapest value, and opens the others. */
static const struct node *descend(struct dive *d, const struct node *from, size_t depth)
{
    const size_t variable = d->deltas->order[depth];
    const size_t count = value_count(d->collector->graph, variable);
    const struct node *next = NULL;
    size_t best = 0;
    d->deltas->fill(d->deltas->context, depth, d->values, d->costs);
    for (size_t x = 1; x < count; x++)
        best = d->costs[x] < d->costs[best] ? x : best;
    d->values[variable] = (uint16_t)best;
    if (d->collector->room == 1)
        return NULL;
    for (size_t x = 0; x < count; x++) {
        if (d->costs[x] == INFINITY)
            continue;
        struct node *node = arena_new(d->collector->arena, struct node);
        *node = (struct node){(from == NULL ? 0 : from->cost) + d->costs[x], from, depth + 1,
                              (uint16_t)x};
        if (x == best)
            next = node;
        else
            heap_push(&d->heap, node);
    }
    return next;
}

void factor_best_first(struct factor_collector *c, const struct factor_deltas *deltas)
{
    size_t most = 1;
    for (size_t i = 0; i < c->graph->variable_count; i++)
        most = value_count(c->graph, i) > most ? value_count(c->graph, i) : most;
    struct dive d = {.collector = c,
                     .deltas = deltas,
                     .heap = {.arena = c->arena},
                     .values = arena_array(c->arena, uint16_t, c->graph->variable_count + 1),
                     .costs = arena_array(c->arena, double, most)};
    const struct node *from = NULL;
    ASSERT(deltas->count == c->graph->variable_count);
    for (size_t found = 0; found < c->room; found++) {
        if (found > 0) {
            if (d.heap.count == 0)
                return;
            from = heap_pop(&d.heap);
        }
        size_t depth = from == NULL ? 0 : from->depth;
        for (const struct node *n = from; n != NULL; n = n->parent)
            d.values[deltas->order[n->depth - 1]] = n->value;
        for (; depth < deltas->count; depth++)
            from = descend(&d, from, depth);
        (void)factor_collect(c, d.values);
    }
}
