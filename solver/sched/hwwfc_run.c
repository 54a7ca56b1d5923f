/*
 * HW-WFC's collapse, step by step as the original takes them, defects included: one hop of
 * propagation, a threshold that nothing enforces at the end, backtracking that frees every layer
 * and spends its budget on innocent ones, an adapted threshold that is never taken back.
 *
 * The original sorts and rates every open layer at every pick.  Here a layer's ranking and entropy
 * are kept until its candidates change, which gives the same bits; a candidate list never changes
 * in place, so a snapshot is an array of pointers.
 */
#include <math.h>
#include <string.h>

#include "base/panic.h"

#include "solver/sched/hwwfc.h"

struct list {
    const uint16_t *ids; /* in candidate order; immutable */
    size_t count;
};
struct rating {
    const uint16_t *of; /* the list that was ranked; NULL = none */
    uint16_t *ranked;
    double entropy;
};
struct snapshot {
    size_t layer;
    uint16_t state;
    const struct list *lists;
    const struct snapshot *before;
};
struct links {
    const size_t *layers;
    size_t count;
};
struct scheduler {
    struct arena *arena;
    const struct hwwfc_problem *problem;
    const struct hwwfc_scores *scores;
    const struct hwwfc_options *options;
    const double *penalties; /* of pairs of ids */
    size_t state_count;
    size_t work; /* layers copied and queued */
    double threshold, weight;
    struct list *lists; /* by layer, as the next three */
    struct rating *ratings;
    int64_t *done; /* state id or HWWFC_NONE */
    struct links *links;
    const struct snapshot *top;
    bool *seen;
    size_t *queue;
    size_t queue_room;
    struct hwwfc_event *events;
    size_t event_room;
    struct hwwfc_pick *picks;
    size_t pick_room;
    struct hwwfc_run run;
};

/* ---- what is recorded ---- */

static void *grown(struct arena *arena, void *old, size_t count, size_t *room, size_t bytes)
{
    if (count < *room)
        return old;
    *room = *room == 0 ? 64 : 2 * *room;
    char *larger = arena_alloc(arena, *room, bytes, _Alignof(max_align_t));
    if (count > 0)
        memcpy(larger, old, count * bytes);
    return larger;
}

static void record(struct scheduler *s, enum hwwfc_event_kind kind, size_t a, size_t b,
                   int64_t value)
{
    s->events = grown(s->arena, s->events, s->run.event_count, &s->event_room, sizeof(*s->events));
    s->events[s->run.event_count++] = (struct hwwfc_event){kind, a, b, value};
}

/* ---- candidates ---- */

static void rate(struct scheduler *s, size_t layer)
{
    struct rating *rating = &s->ratings[layer];
    const struct list *list = &s->lists[layer];
    if (rating->of == list->ids)
        return;
    memcpy(rating->ranked, list->ids, list->count * sizeof(*list->ids));
    hwwfc_rank(s->scores->of[layer], rating->ranked, list->count);
    rating->entropy = hwwfc_entropy(s->scores->of[layer], rating->ranked, list->count);
    rating->of = list->ids;
}

static void set_single(struct scheduler *s, size_t layer, uint16_t id)
{
    uint16_t *ids = arena_new(s->arena, uint16_t);
    *ids = id;
    s->lists[layer] = (struct list){ids, 1};
}

/* Drops what is too far from a collapsed neighbour's state; returns how many. */
static int64_t keep_near(struct scheduler *s, size_t layer, int64_t state)
{
    const struct list *list = &s->lists[layer];
    const double *penalties = &s->penalties[(size_t)state * s->state_count];
    size_t near = 0;
    for (size_t i = 0; i < list->count; i++)
        near += penalties[list->ids[i]] <= s->threshold;
    const int64_t dropped = (int64_t)(list->count - near);
    if (dropped == 0)
        return 0;
    uint16_t *ids = arena_array(s->arena, uint16_t, near + 1);
    s->work += near / 8; /* of the size of what is counted elsewhere */
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        if (penalties[list->ids[i]] <= s->threshold)
            ids[count++] = list->ids[i];
    s->lists[layer] = (struct list){ids, count};
    return dropped;
}

static void remove_first(struct scheduler *s, size_t layer, uint16_t id)
{
    const struct list *list = &s->lists[layer];
    size_t at = 0;
    while (at < list->count && list->ids[at] != id)
        at++;
    if (at == list->count)
        return;
    uint16_t *ids = arena_array(s->arena, uint16_t, list->count);
    memcpy(ids, list->ids, at * sizeof(*ids));
    memcpy(ids + at, list->ids + at + 1, (list->count - at - 1) * sizeof(*ids));
    s->lists[layer] = (struct list){ids, list->count - 1};
}

/* ---- collapse ---- */

static uint16_t best_state(struct scheduler *s, size_t layer, const double *const *rows,
                           size_t row_count)
{
    const double *scores = s->scores->of[layer];
    const uint16_t *ranked = s->ratings[layer].ranked;
    uint16_t best = ranked[0];
    double best_value = -INFINITY;
    for (size_t i = 0; row_count > 0 && i < s->lists[layer].count; i++) {
        double penalties = 0.0;
        for (size_t k = 0; k < row_count; k++)
            penalties += rows[k][ranked[i]];
        double value = scores[ranked[i]] - penalties * s->weight;
        if (value > best_value) {
            best_value = value;
            best = ranked[i];
        }
    }
    return best;
}

/* A layer of a graph without neighbours is judged by the list's: one of the defects. */
static struct links judging(const struct scheduler *s, size_t layer, size_t *beside)
{
    struct links links = {beside, 0};
    if (s->links[layer].count > 0)
        return s->links[layer];
    if (layer > 0)
        beside[links.count++] = layer - 1;
    if (layer + 1 < s->problem->layer_count)
        beside[links.count++] = layer + 1;
    return links;
}

static void collapse(struct scheduler *s, size_t layer)
{
    size_t beside[2], row_count = 0;
    const struct links links = judging(s, layer, beside);
    const double **rows = arena_array(s->arena, const double *, links.count + 1);
    for (size_t i = 0; i < links.count; i++)
        if (s->done[links.layers[i]] != HWWFC_NONE)
            rows[row_count++] = &s->penalties[(size_t)s->done[links.layers[i]] * s->state_count];
    rate(s, layer);
    struct snapshot *snapshot = arena_new(s->arena, struct snapshot);
    struct list *lists = arena_array(s->arena, struct list, s->problem->layer_count);
    memcpy(lists, s->lists, s->problem->layer_count * sizeof(*lists));
    *snapshot = (struct snapshot){layer, best_state(s, layer, rows, row_count), lists, s->top};
    s->top = snapshot;
    s->work += s->problem->layer_count;
    s->done[layer] = snapshot->state;
    set_single(s, layer, snapshot->state);
    record(s, HWWFC_EVENT_COLLAPSE, layer, 0, snapshot->state);
}

static bool backtrack(struct scheduler *s)
{
    const struct snapshot *top = s->top;
    if (top == NULL || s->run.backtracks >= s->options->backtracks_max)
        return false;
    s->top = top->before;
    s->run.backtracks++;
    memcpy(s->lists, top->lists, s->problem->layer_count * sizeof(*s->lists));
    for (size_t i = 0; i < s->problem->layer_count; i++)
        s->done[i] = HWWFC_NONE;
    remove_first(s, top->layer, top->state);
    return true;
}

/* ---- propagation ---- */

struct wave {
    size_t from, to; /* of the queue */
    int64_t removed, target;
};

static void enqueue(struct scheduler *s, struct wave *wave, size_t layer)
{
    for (size_t i = 0; i < s->links[layer].count; i++)
        if (!s->seen[s->links[layer].layers[i]]) {
            s->queue = grown(s->arena, s->queue, wave->to, &s->queue_room, sizeof(*s->queue));
            s->queue[wave->to++] = s->links[layer].layers[i];
        }
    s->work += s->links[layer].count;
}

static void filter(struct scheduler *s, struct wave *wave, size_t layer)
{
    wave->target += (int64_t)s->lists[layer].count;
    for (size_t i = 0; i < s->links[layer].count; i++) {
        size_t from = s->links[layer].layers[i];
        if (s->done[from] == HWWFC_NONE)
            continue;
        int64_t removed = keep_near(s, layer, s->done[from]);
        if (removed > 0)
            record(s, HWWFC_EVENT_PROPAGATE, from, layer, removed);
        wave->removed += removed;
    }
    if (s->lists[layer].count != 1)
        return;
    s->done[layer] = s->lists[layer].ids[0];
    record(s, HWWFC_EVENT_AUTO, layer, 0, s->done[layer]);
    enqueue(s, wave, layer);
}

static struct wave propagate(struct scheduler *s, size_t source)
{
    struct wave wave = {0};
    memset(s->seen, 0, s->problem->layer_count * sizeof(*s->seen));
    enqueue(s, &wave, source);
    s->seen[source] = true;
    while (wave.from < wave.to) {
        size_t layer = s->queue[wave.from++];
        if (s->seen[layer])
            continue;
        s->seen[layer] = true;
        if (s->done[layer] != HWWFC_NONE)
            enqueue(s, &wave, layer);
        else
            filter(s, &wave, layer);
    }
    return wave;
}

/* ---- the order of layers ---- */

static void log_pick(struct scheduler *s, int64_t layer)
{
    const size_t n = s->problem->layer_count;
    double *entropies = arena_array(s->arena, double, n);
    for (size_t i = 0; i < n; i++)
        entropies[i] = s->done[i] != HWWFC_NONE ? (double)NAN
                       : s->lists[i].count == 0 ? (double)INFINITY
                                                : s->ratings[i].entropy;
    s->picks = grown(s->arena, s->picks, s->run.pick_count, &s->pick_room, sizeof(*s->picks));
    s->picks[s->run.pick_count++] = (struct hwwfc_pick){layer, entropies};
}

/* The first empty layer, else the first of least entropy, else HWWFC_NONE. */
static int64_t pick(struct scheduler *s)
{
    int64_t empty = HWWFC_NONE, best = HWWFC_NONE;
    double least = INFINITY;
    for (size_t i = 0; i < s->problem->layer_count; i++) {
        if (s->done[i] != HWWFC_NONE)
            continue;
        if (s->lists[i].count == 0) {
            empty = empty == HWWFC_NONE ? (int64_t)i : empty;
            continue;
        }
        rate(s, i);
        if (s->ratings[i].entropy < least) {
            least = s->ratings[i].entropy;
            best = (int64_t)i;
        }
    }
    int64_t picked = empty != HWWFC_NONE ? empty : best;
    if (s->options->log_entropy)
        log_pick(s, picked);
    return picked;
}

static bool collapse_all(struct scheduler *s, struct err *err)
{
    while (s->work <= HWWFC_WORK_MAX) {
        int64_t layer = pick(s);
        if (layer == HWWFC_NONE) {
            s->run.success = true;
            return true;
        }
        if (s->lists[layer].count > 0) {
            collapse(s, (size_t)layer);
            (void)propagate(s, (size_t)layer);
        } else if (backtrack(s)) {
            record(s, HWWFC_EVENT_BACKTRACK, (size_t)layer, 0, 0);
        } else {
            record(s, HWWFC_EVENT_EXHAUSTED, (size_t)layer, 0, 0);
            return true;
        }
    }
    return err_raise(err, ERR_LIMIT, "the collapse of %zu layers takes more than %d steps",
                     s->problem->layer_count, HWWFC_WORK_MAX);
}

/* The layer of most flops goes first, and may adapt the threshold. */
static void begin(struct scheduler *s)
{
    size_t most = 0;
    for (size_t i = 1; i < s->problem->layer_count; i++)
        if (s->scores->flops[i] > s->scores->flops[most])
            most = i;
    record(s, HWWFC_EVENT_BOTTLENECK, most, 0, s->scores->flops[most]);
    collapse(s, most);
    struct wave wave = propagate(s, most);
    if (!s->options->automatic || wave.target == 0)
        return;
    record(s, HWWFC_EVENT_ADAPT, 0, 0, 0);
    s->threshold = hwwfc_adapt(s->threshold, wave.removed, wave.target);
}

/* ---- preparation ---- */

static void make_tables(struct scheduler *s)
{
    const size_t n = s->state_count = hwwfc_state_count(s->problem->tiles);
    struct hwwfc_state *states = arena_array(s->arena, struct hwwfc_state, n);
    double *penalties = arena_array(s->arena, double, n *n);
    for (size_t i = 0; i < n; i++)
        states[i] = hwwfc_state(s->problem->tiles, i);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            penalties[i * n + k] = hwwfc_penalty(&states[i], &states[k]);
    s->penalties = penalties;
}

static struct links chain_links(struct arena *arena, size_t layer, size_t count)
{
    size_t *layers = arena_array(arena, size_t, 2);
    struct links links = {layers, 0};
    if (layer > 0)
        layers[links.count++] = layer - 1;
    if (layer + 1 < count)
        layers[links.count++] = layer + 1;
    return links;
}

static void make_layers(struct scheduler *s)
{
    const size_t n = s->problem->layer_count;
    s->lists = arena_array(s->arena, struct list, n);
    s->ratings = arena_array(s->arena, struct rating, n);
    s->done = arena_array(s->arena, int64_t, n);
    s->links = arena_array(s->arena, struct links, n);
    s->seen = arena_array(s->arena, bool, n);
    for (size_t i = 0; i < n; i++) {
        const struct hwwfc_layer *layer = &s->problem->layers[i];
        uint16_t *ids = arena_array(s->arena, uint16_t, layer->candidate_count + 1);
        s->lists[i] = (struct list){ids, hwwfc_filter(s->problem, i, ids)};
        s->ratings[i].ranked = arena_array(s->arena, uint16_t, layer->candidate_count + 1);
        s->done[i] = HWWFC_NONE;
        s->links[i] = s->problem->graph ? (struct links){layer->neighbors, layer->neighbor_count}
                                        : chain_links(s->arena, i, n);
        s->run.initial += (int64_t)layer->candidate_count;
    }
}

static bool solve(struct scheduler *s, struct err *err)
{
    for (size_t i = 0; i < s->problem->layer_count; i++)
        if (s->lists[i].count == 0) {
            record(s, HWWFC_EVENT_EMPTY, i, 0, 0);
            return true;
        }
    begin(s);
    if (!collapse_all(s, err))
        return false;
    if (s->run.success) {
        s->run.final = (int64_t)s->problem->layer_count;
        s->run.final_threshold = s->threshold;
    }
    return true;
}

bool hwwfc_collapse(struct arena *arena, const struct hwwfc_problem *problem,
                    const struct hwwfc_scores *scores, const struct hwwfc_options *options,
                    struct hwwfc_run *out, struct err *err)
{
    struct scheduler s = {
        .arena = arena,
        .problem = problem,
        .scores = scores,
        .options = options,
        .threshold = options->automatic ? 1.5 : options->threshold,
        .weight = options->weight < 0 ? hwwfc_weight(problem->spec->sram_bytes) : options->weight,
    };
    ASSERT(problem->layer_count > 0);
    make_tables(&s);
    make_layers(&s);
    if (!solve(&s, err))
        return false;
    s.run.threshold = s.threshold;
    s.run.states = s.done;
    s.run.events = s.events;
    s.run.picks = s.picks;
    *out = s.run;
    return true;
}
