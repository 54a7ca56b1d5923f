/*
 * Variables by rank, the best first; a rank may change, then factor_heap_fix puts the variable
 * where it belongs.
 */
#include "solver/sched/factor_int.h"

static bool is_before(const struct factor_heap *heap, size_t a, size_t b)
{
    return heap->before(heap->context, a, b);
}

static void put(struct factor_heap *heap, size_t at, size_t v)
{
    heap->items[at] = v;
    heap->place[v] = at;
}

static void sift_down(struct factor_heap *heap, size_t at, size_t v)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && is_before(heap, heap->items[child + 1], heap->items[child]))
            child++;
        if (!is_before(heap, heap->items[child], v))
            break;
        put(heap, at, heap->items[child]);
        at = child;
    }
    put(heap, at, v);
}

void factor_heap_init(struct factor_heap *heap, struct arena *arena, size_t count)
{
    heap->items = arena_array(arena, size_t, count + 1);
    heap->place = arena_array(arena, size_t, count + 1);
    heap->count = count;
    for (size_t v = 0; v < count; v++)
        put(heap, v, v);
    for (size_t at = count / 2; at-- > 0;)
        sift_down(heap, at, heap->items[at]);
}

void factor_heap_fix(struct factor_heap *heap, size_t v)
{
    size_t at = heap->place[v];
    if (at == 0 || !is_before(heap, v, heap->items[(at - 1) / 2])) {
        sift_down(heap, at, v);
        return;
    }
    for (; at > 0 && is_before(heap, v, heap->items[(at - 1) / 2]); at = (at - 1) / 2)
        put(heap, at, heap->items[(at - 1) / 2]);
    put(heap, at, v);
}

size_t factor_heap_pop(struct factor_heap *heap)
{
    const size_t top = heap->items[0], last = heap->items[--heap->count];
    if (heap->count > 0)
        sift_down(heap, 0, last);
    return top;
}
