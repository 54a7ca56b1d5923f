/*
 * A binary heap of variables by key, each of which knows its place: so a key can change.
 */
#include "solver/sched/factor_int.h"

static bool is_before(const struct factor_queue *queue, size_t a, size_t b)
{
    const struct factor_key x = queue->keys[a], y = queue->keys[b];
    if (x.first != y.first)
        return x.first < y.first;
    if (x.second != y.second)
        return x.second < y.second;
    return a < b;
}

static void put(struct factor_queue *queue, size_t at, size_t item)
{
    queue->heap[at] = item;
    queue->place[item] = at;
    queue->moves++;
}

static void sift(struct factor_queue *queue, size_t at, size_t item)
{
    while (at > 0 && is_before(queue, item, queue->heap[(at - 1) / 2])) {
        put(queue, at, queue->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= queue->count)
            break;
        if (child + 1 < queue->count &&
            is_before(queue, queue->heap[child + 1], queue->heap[child]))
            child++;
        if (!is_before(queue, queue->heap[child], item))
            break;
        put(queue, at, queue->heap[child]);
        at = child;
    }
    put(queue, at, item);
}

void factor_queue_init(struct factor_queue *queue, struct arena *arena, size_t items)
{
    *queue = (struct factor_queue){.heap = arena_array(arena, size_t, items + 1),
                                   .place = arena_array(arena, size_t, items + 1),
                                   .keys = arena_array(arena, struct factor_key, items + 1)};
    factor_queue_clear(queue, items);
}

void factor_queue_clear(struct factor_queue *queue, size_t items)
{
    queue->count = 0;
    for (size_t i = 0; i < items; i++)
        queue->place[i] = SIZE_MAX;
}

void factor_queue_set(struct factor_queue *queue, size_t item, struct factor_key key)
{
    queue->keys[item] = key;
    sift(queue, queue->place[item] == SIZE_MAX ? queue->count++ : queue->place[item], item);
}

void factor_queue_remove(struct factor_queue *queue, size_t item)
{
    const size_t at = queue->place[item], last = queue->heap[--queue->count];
    queue->place[item] = SIZE_MAX;
    if (last != item)
        sift(queue, at, last);
}

size_t factor_queue_first(const struct factor_queue *queue)
{
    return queue->count == 0 ? SIZE_MAX : queue->heap[0];
}
