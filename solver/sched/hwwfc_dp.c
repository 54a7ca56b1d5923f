/*
 * The two searches that HW-WFC's benchmarks compare its collapse with.
 *
 * Sums are made in the original's order, so the scores agree to the last bit; that rules out the
 * normalised sums of the native solvers.
 */
#include <math.h>
#include <string.h>

#include "base/panic.h"

#include "solver/sched/hwwfc.h"

struct column {
    const uint16_t *ids;
    size_t count;
    double *values;
    uint16_t *from; /* position in the column before */
};

static const double *penalty_table(struct arena *arena, const struct hwwfc_tiles *tiles,
                                   double weight)
{
    const size_t n = hwwfc_state_count(tiles);
    double *table = arena_array(arena, double, n *n);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            struct hwwfc_state a = hwwfc_state(tiles, i), b = hwwfc_state(tiles, k);
            table[i * n + k] = weight * hwwfc_penalty(&a, &b);
        }
    return table;
}

/* False when some layer has none left. */
static bool fill_columns(struct arena *arena, const struct hwwfc_problem *problem,
                         struct column *columns)
{
    for (size_t i = 0; i < problem->layer_count; i++) {
        const size_t room = problem->layers[i].candidate_count + 1;
        uint16_t *ids = arena_array(arena, uint16_t, room);
        columns[i].ids = ids;
        columns[i].count = hwwfc_filter(problem, i, ids);
        columns[i].values = arena_array(arena, double, room);
        columns[i].from = arena_array(arena, uint16_t, room);
        if (columns[i].count == 0)
            return false;
    }
    return true;
}

static void advance(const struct column *before, struct column *now, const double *scores,
                    const double *table, size_t state_count)
{
    for (size_t c = 0; c < now->count; c++) {
        double best = -INFINITY;
        for (size_t p = 0; p < before->count; p++) {
            double value = before->values[p] + scores[now->ids[c]] -
                           table[before->ids[p] * state_count + now->ids[c]];
            if (value > best) {
                best = value;
                now->from[c] = (uint16_t)p;
            }
        }
        now->values[c] = best;
    }
}

void hwwfc_viterbi(struct arena *arena, const struct hwwfc_problem *problem,
                   const struct hwwfc_scores *scores, double weight, struct hwwfc_best *out)
{
    const size_t n = problem->layer_count;
    struct column *columns = arena_array(arena, struct column, n);
    const double *table = penalty_table(arena, problem->tiles, weight);
    size_t *states = arena_array(arena, size_t, n);
    size_t at = 0;
    *out = (struct hwwfc_best){.found = n > 0 && fill_columns(arena, problem, columns)};
    if (!out->found)
        return;
    for (size_t c = 0; c < columns[0].count; c++)
        columns[0].values[c] = scores->of[0][columns[0].ids[c]];
    for (size_t i = 1; i < n; i++)
        advance(&columns[i - 1], &columns[i], scores->of[i], table,
                hwwfc_state_count(problem->tiles));
    for (size_t c = 1; c < columns[n - 1].count; c++)
        if (columns[n - 1].values[c] > columns[n - 1].values[at])
            at = c;
    out->score = columns[n - 1].values[at];
    for (size_t i = n; i-- > 0; at = columns[i].from[at])
        states[i] = columns[i].ids[at];
    out->states = states;
}

/* The next combination, the last layer fastest; false after the last. */
static bool advance_choice(const struct column *columns, size_t count, size_t *choice)
{
    size_t i = count;
    while (i > 0 && choice[i - 1] + 1 == columns[i - 1].count)
        choice[--i] = 0;
    if (i == 0)
        return false;
    choice[i - 1]++;
    return true;
}

static void try_all(struct arena *arena, const struct hwwfc_problem *problem,
                    const struct hwwfc_scores *scores, double weight, const struct column *columns,
                    struct hwwfc_best *out)
{
    const size_t n = problem->layer_count;
    size_t *choice = arena_array(arena, size_t, n), *states = arena_array(arena, size_t, n);
    size_t *best = arena_array(arena, size_t, n);
    struct hwwfc_edges edges;
    hwwfc_edges(arena, problem, &edges);
    out->score = -INFINITY;
    do {
        for (size_t i = 0; i < n; i++)
            states[i] = columns[i].ids[choice[i]];
        double value = hwwfc_objective(problem, scores, &edges, weight, states);
        if (value > out->score) {
            out->score = value;
            memcpy(best, states, n * sizeof(*best));
        }
    } while (advance_choice(columns, n, choice));
    out->states = best;
}

void hwwfc_truncated(struct arena *arena, const struct hwwfc_problem *problem,
                     const struct hwwfc_scores *scores, double weight, size_t top,
                     struct hwwfc_best *out)
{
    const size_t n = problem->layer_count;
    struct column *columns = arena_array(arena, struct column, n);
    double combinations = 1;
    *out = (struct hwwfc_best){.found = n > 0 && fill_columns(arena, problem, columns)};
    for (size_t i = 0; out->found && i < n; i++) {
        uint16_t *ids = arena_array(arena, uint16_t, columns[i].count);
        memcpy(ids, columns[i].ids, columns[i].count * sizeof(*ids));
        hwwfc_rank(scores->of[i], ids, columns[i].count);
        columns[i].ids = ids;
        columns[i].count = columns[i].count < top ? columns[i].count : top;
        combinations *= (double)columns[i].count;
    }
    out->found = out->found && combinations <= HWWFC_COMBINATIONS_MAX;
    if (out->found)
        try_all(arena, problem, scores, weight, columns, out);
}
