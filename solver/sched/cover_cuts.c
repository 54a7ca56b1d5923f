/*
 * Exact covers: dynamic programming over cuts of the statements.
 *
 * A state is a set of units that is closed under what they read, and of each tensor that is still
 * to be read: what tells its writer apart, and whether its writing is paid.  A transition adds an
 * item whose inputs are done.  States are worked off by the number of units done, so all ways to a
 * state are known when its turn comes; each keeps the `best` cheapest.
 *
 * Independent branches multiply states when any ready item may come next.  So the next item has the
 * first unit that is not done; only while some item with that unit waits for others may others come
 * first, and of those only what can reach the waiting item's inputs through reads and through
 * candidates.  Each cover still has an order that is looked at: the first open unit's region is
 * ready, or it waits, and then one of those that it waits for is.  A cover that is met in two
 * orders is kept once, by a hash that does not depend on the order.
 *
 * Past the width the states of least bound stay: cost so far, and for each open unit the least
 * share of an item's least cost.  The least bound that was dropped is the proof that remains.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/panic.h"

#include "solver/sched/cover.h"

enum { KEY_BYTES_MAX = 1 << 20 };
/* Bounds are sums in another order than costs. */
static const double bound_slack = 1e-12;

struct partial {
    double cost;
    uint64_t content; /* of all picks, in any order */
    const struct partial *before;
    struct cover_pick pick;
};
/* A tensor that is still to be read. */
struct live {
    uint32_t tensor;
    uint16_t left; /* statements that are to read it */
    bool paid;
    uint32_t writer;                 /* cover_writer */
    const struct cover_write *write; /* of one of those */
    size_t signature;
};
struct state {
    size_t low;      /* the first unit that is not done */
    uint16_t *extra; /* done ones behind it, ascending */
    size_t extra_count;
    struct live *live; /* by tensor */
    size_t live_count;
    struct partial *best; /* cheapest first */
    size_t count;
    double share; /* least cost of what is open */
    struct state *next;
};
struct cuts {
    struct arena *arena;
    const struct cover_problem *problem;
    size_t units;
    struct state **levels; /* by units done */
    size_t *level_counts;
    struct map known;
    struct state **states; /* by number in known */
    size_t state_count, state_room;
    double *shares;        /* by unit: least share of an item's least cost */
    const size_t **around; /* by unit: members and inputs of its items; a list ends in OP_NONE */
    uint32_t *marks;       /* by unit: reached in that round */
    uint32_t round;
    size_t *stack;
    struct buf key;
    double dropped; /* the least bound that was dropped */
    struct cover_result *out;
};

static bool is_done(const struct state *state, size_t unit)
{
    if (unit < state->low)
        return true;
    for (size_t i = 0; i < state->extra_count; i++)
        if (state->extra[i] >= unit)
            return state->extra[i] == unit;
    return false;
}

static bool is_open(const struct state *state, const struct candidate_set *candidate)
{
    for (size_t i = 0; i < candidate->unit_count; i++)
        if (is_done(state, candidate->units[i]))
            return false;
    return true;
}

static bool is_ready(const struct cuts *c, const struct state *state, const struct cover_item *item)
{
    for (size_t i = 0; i < item->read_count; i++)
        if (!is_done(state, c->problem->candidates->unit_of[item->reads[i].writer]))
            return false;
    return true;
}

/* ---- bounds ---- */

static void find_shares(struct cuts *c)
{
    const struct cover_problem *p = c->problem;
    c->shares = arena_array(c->arena, double, c->units + 1);
    for (size_t u = 0; u < c->units; u++)
        c->shares[u] = INFINITY;
    for (size_t i = 0; i < p->item_count; i++) {
        const struct candidate_set *candidate = p->items[i].candidate;
        for (size_t k = 0; k < candidate->unit_count; k++) {
            double *share = &c->shares[candidate->units[k]];
            *share = fmin(*share, p->items[i].least / (double)candidate->unit_count);
        }
    }
}

static double state_bound(const struct state *state)
{
    return state->best[0].cost + state->share;
}

/* ---- units that an item may wait for ---- */

struct nearby {
    size_t *list, count, room;
};

static void add_nearby(struct arena *arena, struct nearby *near, size_t unit)
{
    for (size_t i = 0; i < near->count; i++)
        if (near->list[i] == unit)
            return;
    if (near->count + 1 >= near->room) {
        near->room = near->room == 0 ? 8 : 2 * near->room;
        size_t *larger = arena_array(arena, size_t, near->room);
        if (near->count > 0)
            memcpy(larger, near->list, near->count * sizeof(*larger));
        near->list = larger;
    }
    near->list[near->count++] = unit;
}

static void find_around(struct cuts *c)
{
    const struct cover_problem *p = c->problem;
    struct nearby *all = arena_array(c->arena, struct nearby, c->units + 1);
    for (size_t i = 0; i < p->item_count; i++) {
        const struct candidate_set *candidate = p->items[i].candidate;
        for (size_t k = 0; k < candidate->unit_count; k++) {
            struct nearby *own = &all[candidate->units[k]];
            for (size_t m = 0; m < candidate->unit_count; m++)
                add_nearby(c->arena, own, candidate->units[m]);
            for (size_t r = 0; r < p->items[i].read_count; r++)
                add_nearby(c->arena, own, p->candidates->unit_of[p->items[i].reads[r].writer]);
        }
    }
    c->around = arena_array(c->arena, const size_t *, c->units + 1);
    for (size_t u = 0; u < c->units; u++) {
        all[u].list[all[u].count] = OP_NONE;
        c->around[u] = all[u].list;
    }
}

/* Marks the open units that some open item of state->low may wait for; how many. */
static size_t mark_waited(struct cuts *c, const struct state *state)
{
    const struct cover_problem *p = c->problem;
    size_t depth = 0, count = 0;
    c->round++;
    for (size_t i = p->starts[state->low]; i < p->starts[state->low + 1]; i++) {
        if (!is_open(state, p->items[i].candidate))
            continue;
        for (size_t r = 0; r < p->items[i].read_count; r++) {
            const size_t unit = p->candidates->unit_of[p->items[i].reads[r].writer];
            if (is_done(state, unit) || c->marks[unit] == c->round)
                continue;
            c->marks[unit] = c->round;
            c->stack[depth++] = unit;
        }
    }
    while (depth > 0) {
        const size_t unit = c->stack[--depth];
        count++;
        for (const size_t *other = c->around[unit]; *other != OP_NONE; other++) {
            if (*other == state->low || c->marks[*other] == c->round || is_done(state, *other))
                continue;
            c->marks[*other] = c->round;
            c->stack[depth++] = *other;
        }
    }
    return count;
}

/* ---- transitions ---- */

/* The state behind an item, without partial covers; arrays in scratch. */
static void advance(struct arena *scratch, const struct cuts *c, const struct state *from,
                    const struct cover_item *item, const struct cover_choice *choice,
                    struct state *to)
{
    const struct candidate_set *candidate = item->candidate;
    uint16_t *extra = arena_array(scratch, uint16_t, from->extra_count + candidate->unit_count);
    struct live *live = arena_array(scratch, struct live, from->live_count + item->write_count + 1);
    size_t a = 0, b = 0, count = 0, kept = 0, low = from->low;
    while (a < from->extra_count || b < candidate->unit_count) {
        const bool own = a == from->extra_count ||
                         (b < candidate->unit_count && candidate->units[b] < from->extra[a]);
        const size_t unit = own ? candidate->units[b++] : from->extra[a++];
        if (unit == low)
            low++;
        else
            extra[count++] = (uint16_t)unit;
    }
    *to = (struct state){.low = low, .extra = extra, .extra_count = count, .live = live};
    to->share = from->share;
    for (size_t i = 0; i < candidate->unit_count; i++)
        to->share -= c->shares[candidate->units[i]];
    for (size_t i = 0; i < from->live_count; i++) {
        struct live own = from->live[i];
        for (size_t r = 0; r < item->read_count; r++)
            if (item->reads[r].tensor == own.tensor) {
                own.left = (uint16_t)(own.left - item->reads[r].count);
                own.paid |= item->reads[r].first == own.write->first;
            }
        if (own.left > 0)
            live[kept++] = own;
    }
    for (size_t i = 0; i < item->write_count; i++) {
        size_t at = kept++;
        for (; at > 0 && live[at - 1].tensor > item->writes[i].tensor; at--)
            live[at] = live[at - 1];
        live[at] = (struct live){
            .tensor = (uint32_t)item->writes[i].tensor,
            .left = (uint16_t)item->writes[i].count,
            .writer = (uint32_t)cover_writer(c->problem, &item->writes[i], choice->signature),
            .write = &item->writes[i],
            .signature = choice->signature};
    }
    to->live_count = kept;
}

static struct str key_of(struct cuts *c, const struct state *state)
{
    const uint32_t low = (uint32_t)state->low;
    c->key.len = 0;
    buf_bytes(&c->key, &low, sizeof(low));
    if (state->extra_count > 0)
        buf_bytes(&c->key, state->extra, state->extra_count * sizeof(*state->extra));
    for (size_t i = 0; i < state->live_count; i++) {
        const uint32_t word = state->live[i].writer * 2 + state->live[i].paid;
        buf_bytes(&c->key, &word, sizeof(word));
    }
    ASSERT(!c->key.overflow);
    return buf_view(&c->key);
}

static void *copy_bytes(struct arena *arena, const void *from, size_t bytes)
{
    char *copy = arena_alloc(arena, bytes + 1, 1, 16);
    if (bytes > 0)
        memcpy(copy, from, bytes);
    return copy;
}

static struct state *new_state(struct cuts *c, const struct state *found, struct str key)
{
    struct state *state = arena_new(c->arena, struct state);
    const size_t done = found->low + found->extra_count;
    bool is_new;
    *state = *found;
    state->extra = copy_bytes(c->arena, found->extra, found->extra_count * sizeof(*found->extra));
    state->live = copy_bytes(c->arena, found->live, found->live_count * sizeof(*found->live));
    state->best = arena_array(c->arena, struct partial, c->problem->best);
    state->next = c->levels[done];
    c->levels[done] = state;
    c->level_counts[done]++;
    if (c->state_count == c->state_room) {
        c->state_room = c->state_room == 0 ? 256 : 2 * c->state_room;
        struct state **larger = arena_array(c->arena, struct state *, c->state_room);
        if (c->state_count > 0)
            memcpy(larger, c->states, c->state_count * sizeof(*larger));
        c->states = larger;
    }
    c->states[c->state_count] = state;
    *map_put(&c->known, (struct str){copy_bytes(c->arena, key.at, key.len), key.len}, &is_new) =
        c->state_count++;
    return state;
}

/* What the item pays for the tensors that it takes. */
static double reading_cost(const struct cuts *c, const struct state *state,
                           const struct cover_item *item, const struct cover_choice *choice)
{
    double cost = 0;
    for (size_t r = 0; r < item->read_count; r++)
        for (size_t i = 0; i < state->live_count; i++) {
            const struct live *live = &state->live[i];
            if (live->tensor != item->reads[r].tensor)
                continue;
            ASSERT(!live->paid || item->reads[r].first != live->write->first);
            cost += cover_edge(c->problem, live->write, live->signature, &item->reads[r],
                               choice->signature);
        }
    return cost;
}

static uint64_t mix(uint64_t word)
{
    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

/* False when it is dearer than all that a full list keeps. */
static bool offer(const struct cuts *c, struct state *state, const struct partial *partial)
{
    const size_t room = c->problem->best;
    if (state->count == room && !(partial->cost < state->best[room - 1].cost))
        return false;
    for (size_t i = 0; i < state->count; i++)
        if (state->best[i].content == partial->content) {
            if (partial->cost < state->best[i].cost)
                state->best[i].cost = partial->cost; /* the same picks, summed in another order */
            return true;
        }
    size_t at = state->count < room ? state->count++ : room - 1;
    for (; at > 0 && state->best[at - 1].cost > partial->cost; at--)
        state->best[at] = state->best[at - 1];
    state->best[at] = *partial;
    return true;
}

static void extend(struct cuts *c, const struct state *from, struct state *to, size_t number,
                   size_t signature, double reading)
{
    const struct cover_item *item = &c->problem->items[number];
    for (size_t i = 0; i < from->count; i++)
        for (size_t k = item->domain->starts[signature]; k < item->domain->starts[signature + 1];
             k++) {
            const struct partial partial = {
                from->best[i].cost + reading + item->domain->choices[k].seconds,
                from->best[i].content + mix(((uint64_t)number << 16) + k + 1),
                &from->best[i],
                {number, k}};
            if (!offer(c, to, &partial))
                break;
        }
}

static void add_item(struct cuts *c, struct arena *scratch, const struct state *from, size_t number)
{
    const struct cover_item *item = &c->problem->items[number];
    for (size_t s = 0; s < COVER_SIGNATURES; s++) {
        struct state found;
        if (item->domain->starts[s] == item->domain->starts[s + 1])
            continue;
        const struct cover_choice *choice = &item->domain->choices[item->domain->starts[s]];
        advance(scratch, c, from, item, choice, &found);
        struct str key = key_of(c, &found);
        const size_t *known = map_get(&c->known, key);
        struct state *to = known != NULL ? c->states[*known] : new_state(c, &found, key);
        extend(c, from, to, number, s, reading_cost(c, from, item, choice));
        c->out->transitions++;
    }
}

static void leave(struct cuts *c, const struct state *state)
{
    const struct cover_problem *p = c->problem;
    struct arena scratch;
    arena_init(&scratch, (size_t)1 << 30);
    for (size_t i = p->starts[state->low]; i < p->starts[state->low + 1]; i++)
        if (is_open(state, p->items[i].candidate) && is_ready(c, state, &p->items[i]))
            add_item(c, &scratch, state, i);
    if (mark_waited(c, state) > 0)
        for (size_t u = state->low + 1; u < c->units; u++)
            for (size_t i = p->starts[u]; c->marks[u] == c->round && i < p->starts[u + 1]; i++)
                if (is_open(state, p->items[i].candidate) && is_ready(c, state, &p->items[i]))
                    add_item(c, &scratch, state, i);
    arena_release(&scratch);
}

/* ---- levels ---- */

static int by_bound(const void *a, const void *b)
{
    const struct state *const *x = a, *const *y = b;
    const double p = state_bound(*x), q = state_bound(*y);
    if (p != q)
        return p < q ? -1 : 1;
    return (*x)->best[0].content < (*y)->best[0].content
               ? -1
               : (*x)->best[0].content > (*y)->best[0].content;
}

static void work_off(struct cuts *c, size_t done, size_t width)
{
    struct arena scratch;
    const size_t count = c->level_counts[done];
    size_t kept = 0;
    arena_init(&scratch, (size_t)1 << 30);
    struct state **order = arena_array(&scratch, struct state *, count + 1);
    for (struct state *state = c->levels[done]; state != NULL; state = state->next)
        order[kept++] = state;
    qsort(order, count, sizeof(*order), by_bound);
    c->out->widest = count > c->out->widest ? count : c->out->widest;
    if (c->state_count > COVER_STATES_MAX && width > COVER_NARROW)
        width = COVER_NARROW;
    for (size_t i = 0; i < count && i < width; i++)
        leave(c, order[i]);
    if (count > width) {
        c->dropped = fmin(c->dropped, state_bound(order[width]));
        c->out->stopped = width == COVER_NARROW ? "more states than the limit"
                                                : "more states of a level than the limit";
    }
    arena_release(&scratch);
}

static struct cover result_of(struct cuts *c, const struct partial *last)
{
    struct cover cover = {.cost = last->cost};
    for (const struct partial *p = last; p->before != NULL; p = p->before)
        cover.count++;
    struct cover_pick *picks = arena_array(c->arena, struct cover_pick, cover.count + 1);
    size_t at = cover.count;
    for (const struct partial *p = last; p->before != NULL; p = p->before)
        picks[--at] = p->pick;
    cover.picks = picks;
    return cover;
}

static bool reaches(double bound, double cost)
{
    return bound + fabs(bound) * bound_slack >= cost;
}

static void conclude(struct cuts *c)
{
    struct cover_result *out = c->out;
    const struct state *end = c->levels[c->units];
    struct cover *best = arena_array(c->arena, struct cover, c->problem->best);
    out->states = c->state_count;
    out->best = best;
    out->bound = c->dropped;
    if (end == NULL)
        return;
    ASSERT(end->next == NULL);
    for (size_t i = 0; i < end->count; i++)
        best[i] = result_of(c, &end->best[i]);
    out->count = end->count;
    const bool whole = c->dropped == INFINITY || (out->count == c->problem->best &&
                                                  reaches(c->dropped, best[out->count - 1].cost));
    out->claim = whole ? FACTOR_OPTIMAL : FACTOR_WITHIN;
    out->bound = fmin(c->dropped, best[0].cost);
    out->stopped = whole ? NULL : out->stopped;
}

void cover_solve(struct arena *arena, const struct cover_problem *problem, size_t width,
                 struct cover_result *out)
{
    const size_t units = problem->candidates->unit_count;
    struct cuts c = {.arena = arena,
                     .problem = problem,
                     .units = units,
                     .levels = arena_array(arena, struct state *, units + 1),
                     .level_counts = arena_array(arena, size_t, units + 1),
                     .marks = arena_array(arena, uint32_t, units + 1),
                     .stack = arena_array(arena, size_t, units + 1),
                     .dropped = INFINITY,
                     .out = out};
    struct state start = {.low = 0};
    *out = (struct cover_result){.claim = FACTOR_UNKNOWN};
    map_init(&c.known, arena);
    buf_init(&c.key, arena, KEY_BYTES_MAX);
    find_shares(&c);
    find_around(&c);
    for (size_t u = 0; u < units; u++)
        start.share += c.shares[u];
    struct state *first = new_state(&c, &start, key_of(&c, &start));
    first->best[first->count++] = (struct partial){.cost = problem->start_s};
    for (size_t done = 0; done < units; done++)
        work_off(&c, done, width == 0 ? COVER_WIDTH_MAX : width);
    conclude(&c);
}
