#ifndef SOLVER_SCHED_WAVE_INT_H
#define SOLVER_SCHED_WAVE_INT_H

#include "base/rng.h"

#include "solver/sched/factor_int.h"

/* Shared by solve_wfc.c (the search), wave.c (state, undo, propagation) and wave_blame.c (reasons).
 */

/* A set of levels: of `left` and `right` those less than `below`; without both, the one level. NULL
 * is the empty set. */
struct wave_blame {
    struct wave_blame *left, *right;
    size_t deepest; /* its greatest level, plus one */
    size_t below;
    int64_t seen; /* by which search for a deepest level, and under which cut */
    size_t seen_below;
};
struct wave_cut {
    struct wave_blame *blame;
    size_t below;
};

/* Which values of the other end are allowed beside each value: bit sets. */
struct wave_masks {
    const struct factor_table *table;
    uint64_t *row, *column;
    size_t row_words, column_words; /* of one row's set, of one column's */
};
struct wave_cell {
    uint64_t *alive; /* bit set of values */
    size_t words, count;
    double *scores; /* by value: unary, and pair costs to collapsed neighbours */
    double entropy;
    bool collapsed;
    struct wave_blame *blame; /* the decisions that removals go back to */
    int64_t saved;            /* serial of the level that holds its undo record */
};
/* By value: the least that an edge and the other end's share of its unary cost will add. */
struct wave_look {
    const struct factor_table *table;
    const double *unary; /* the other end's */
    double share;
    bool row; /* by value of the table's rows */
    const double *least;
};
struct wave_level {
    size_t variable;
    uint16_t value;
    int64_t serial;
    size_t trail; /* records before it */
};
struct wave_record {
    size_t variable, count;
    double entropy;
    bool collapsed;
    struct wave_blame *blame;
    size_t data; /* alive, scores in `saved_words` */
};
struct wave {
    struct arena *arena;
    const struct factor_graph *graph;
    struct factor_incident incident;
    double temperature;
    bool hard;                       /* some pair is forbidden */
    const struct wave_masks **masks; /* by edge; NULL = all pairs are allowed */
    const double *(*looks)[2];       /* by edge: for its a, for its b */
    struct wave_cell *cells;
    struct factor_queue open; /* uncollapsed variables by entropy, or by values that are left */
    bool by_count;
    struct wave_level *levels;
    size_t depth;
    int64_t serial;
    struct wave_record *trail;
    size_t trail_count, trail_room;
    uint64_t *saved_words;
    size_t saved_count, saved_room;
    size_t *queue; /* variables whose values went, a ring */
    bool *queued;
    size_t queue_from, queue_count;
    struct wave_cut *cuts; /* parts of a set still to be looked at */
    size_t cut_count, cut_room;
    int64_t cut_serial;
    struct factor_counters *counters;
};

void wave_init(struct wave *w, struct arena *arena, const struct factor_graph *graph,
               struct factor_counters *counters);
/* All values open again; scores are the unary costs, with noise of that many temperatures. */
void wave_reset(struct wave *w, struct rng *rng, double noise);
/* Makes all edges consistent, those of queued variables first; false when one is left without a
 * value, which is *empty. */
bool wave_propagate(struct wave *w, size_t *empty) MUST_USE;
void wave_enqueue_all(struct wave *w);
/* The uncollapsed variable of least entropy; SIZE_MAX = none. */
size_t wave_least(const struct wave *w);
/* The alive value of least score. */
uint16_t wave_best_value(const struct wave *w, size_t variable);
/* One decision more. */
void wave_collapse(struct wave *w, size_t variable, uint16_t value);
/* Takes back the decisions that the empty variable does not rest on and the deepest that it does,
 * whose value it removes; false when there is none: no assignment is legal. */
bool wave_backjump(struct wave *w, size_t *empty) MUST_USE;

/* Sets live as long as the wave. */
struct wave_blame *wave_blame_level(struct wave *w, size_t level);
struct wave_blame *wave_blame_both(struct wave *w, struct wave_blame *a, struct wave_blame *b);
struct wave_blame *wave_blame_below(struct wave *w, struct wave_blame *blame, size_t below);

#endif
