/*
 * What handing over a tensor costs, for each pair of ends that a cover can give it.
 *
 * An end is an item with a signature; edges see no more of a choice.  Most tensors cost the same
 * whatever their ends are (cost_edge_varies), and are asked for once.  Writers that cost every
 * receiver the same are one to dynamic programming.
 */
#include <math.h>
#include <string.h>

#include "base/panic.h"

#include "solver/sched/cover_int.h"

enum { SCRATCH_BYTES = 256 << 20 };

/* Of a tensor: which item has its row (or column) r * COVER_SIGNATURES. */
struct end_list {
    size_t *items;
    size_t count;
};
struct asker {
    struct arena *arena;
    const struct cover_problem *problem;
    struct end_list *writers, *readers; /* by tensor */
    const struct plan_region **regions; /* [item * COVER_SIGNATURES + signature]; NULL = none yet */
};

static bool has_signature(const struct cover_item *item, size_t signature)
{
    return item->domain->starts[signature] < item->domain->starts[signature + 1];
}

/* The cheapest choice of the signature under the item's names. */
static const struct plan_region *region_of(struct asker *a, size_t item, size_t signature)
{
    const struct plan_region **known = &a->regions[item * COVER_SIGNATURES + signature];
    const struct cover_item *own = &a->problem->items[item];
    if (*known == NULL) {
        struct plan_region *region = arena_new(a->arena, struct plan_region);
        *region = candidate_region(a->arena, a->problem->candidates, own->candidate,
                                   &own->domain->choices[own->domain->starts[signature]].region);
        *known = region;
    }
    return *known;
}

static void ask(struct asker *a, size_t tensor, const struct plan_region *from,
                const struct plan_region *to, double *seconds)
{
    const struct cover_problem *p = a->problem;
    const struct plan_region regions[2] = {*from, *to};
    const struct plan_edge edge = {.tensor = p->bound->op->tensors[tensor].name,
                                   .from = 0,
                                   .to = 1,
                                   .residency = RESIDE_GLOBAL};
    const struct plan_edge edges[2] = {edge, edge};
    const struct plan plan = {
        .regions = regions, .region_count = 2, .edges = edges, .edge_count = 2};
    for (int pays = 0; pays < 2; pays++) {
        struct edge_cost cost;
        cost_edge(&plan, pays ? 0 : 1, p->bound, p->machine, &cost);
        seconds[pays] = cost.seconds;
    }
}

static void note_end(struct arena *arena, struct end_list *list, size_t item, size_t *end)
{
    if ((list->count & (list->count - 1)) == 0) { /* room for twice as many */
        size_t *larger = arena_array(arena, size_t, 2 * list->count + 1);
        if (list->count > 0)
            memcpy(larger, list->items, list->count * sizeof(*larger));
        list->items = larger;
    }
    *end = list->count * COVER_SIGNATURES;
    list->items[list->count++] = item;
}

static size_t first_signature(const struct cover_item *item)
{
    size_t signature = 0;
    while (!has_signature(item, signature))
        signature++;
    return signature;
}

static void ask_once(struct asker *a, size_t tensor, struct cover_hand *hand)
{
    const size_t writer = a->writers[tensor].items[0], reader = a->readers[tensor].items[0];
    double *seconds = arena_array(a->arena, double, 2);
    ask(a, tensor, region_of(a, writer, first_signature(&a->problem->items[writer])),
        region_of(a, reader, first_signature(&a->problem->items[reader])), seconds);
    *hand = (struct cover_hand){.rows = 1, .columns = 1, .seconds = seconds};
}

/* Rows and columns of signatures that an item has no choice of stay INFINITY. */
static void ask_all(struct asker *a, size_t tensor, struct cover_hand *hand)
{
    const struct end_list *writers = &a->writers[tensor], *readers = &a->readers[tensor];
    const size_t rows = writers->count * COVER_SIGNATURES;
    const size_t columns = readers->count * COVER_SIGNATURES;
    double *seconds = arena_array(a->arena, double, 2 * rows * columns + 1);
    size_t *same = arena_array(a->arena, size_t, rows + 1);
    for (size_t i = 0; i < 2 * rows * columns; i++)
        seconds[i] = INFINITY;
    for (size_t row = 0; row < rows; row++) {
        const size_t from = writers->items[row / COVER_SIGNATURES], s = row % COVER_SIGNATURES;
        double *own = &seconds[2 * row * columns];
        for (size_t column = 0; has_signature(&a->problem->items[from], s) && column < columns;
             column++) {
            const size_t to = readers->items[column / COVER_SIGNATURES];
            if (has_signature(&a->problem->items[to], column % COVER_SIGNATURES))
                ask(a, tensor, region_of(a, from, s), region_of(a, to, column % COVER_SIGNATURES),
                    &own[2 * column]);
        }
        while (memcmp(&seconds[2 * same[row] * columns], own, 2 * columns * sizeof(*own)) != 0)
            same[row]++;
    }
    *hand = (struct cover_hand){true, rows, columns, seconds, same};
}

void cover_hands(struct arena *arena, struct cover_problem *problem, struct cover_item *items)
{
    const size_t tensors = problem->bound->op->tensor_count;
    struct asker a = {.arena = arena, .problem = problem};
    struct cover_hand *hands = arena_array(arena, struct cover_hand, tensors + 1);
    a.writers = arena_array(arena, struct end_list, tensors + 1);
    a.readers = arena_array(arena, struct end_list, tensors + 1);
    a.regions =
        arena_array(arena, const struct plan_region *, problem->item_count *COVER_SIGNATURES + 1);
    for (size_t i = 0; i < problem->item_count; i++) {
        for (size_t w = 0; w < items[i].write_count; w++) {
            struct cover_write *write = (struct cover_write *)&items[i].writes[w];
            note_end(arena, &a.writers[write->tensor], i, &write->row);
        }
        for (size_t r = 0; r < items[i].read_count; r++) {
            struct cover_read *read = (struct cover_read *)&items[i].reads[r];
            note_end(arena, &a.readers[read->tensor], i, &read->column);
        }
    }
    for (size_t t = 0; t < tensors; t++) {
        if (a.writers[t].count == 0 || a.readers[t].count == 0)
            continue;
        if (cost_edge_varies(problem->bound, t, problem->machine))
            ask_all(&a, t, &hands[t]);
        else
            ask_once(&a, t, &hands[t]);
    }
    problem->hands = hands;
}

double cover_edge(const struct cover_problem *problem, const struct cover_write *from,
                  size_t from_signature, const struct cover_read *to, size_t to_signature)
{
    const struct cover_hand *hand = &problem->hands[to->tensor];
    const size_t row = hand->varies ? from->row + from_signature : 0;
    const size_t column = hand->varies ? to->column + to_signature : 0;
    if (problem->edges_ignored)
        return 0;
    return hand->seconds[2 * (row * hand->columns + column) + (from->first == to->first)];
}

size_t cover_writer(const struct cover_problem *problem, const struct cover_write *from,
                    size_t signature)
{
    const struct cover_hand *hand = &problem->hands[from->tensor];
    return hand->varies ? hand->same[from->row + signature] : 0;
}
