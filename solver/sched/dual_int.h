#ifndef SOLVER_SCHED_DUAL_INT_H
#define SOLVER_SCHED_DUAL_INT_H

#include "solver/sched/factor_int.h"

/*
 * The dual of the linear relaxation of a factor graph: a bound that moving costs between variables
 * and edges makes large.
 *
 *   own[v][x]                 the unary cost; values may be removed, and come back
 *   b_v(x)    = own[v][x] + sum over edges of moved(e, v)[x]
 *   r_e(x, y) = table[x][y] - moved(e, a)[x] - moved(e, b)[y]
 *
 * The cost of an assignment is the sum of b and r whatever was moved, so the sum of their minima
 * over the values that are left is a bound.  Passes forward and backward over the variables raise
 * it: each variable takes from the edges behind it all that its values must pay there, and gives
 * each edge before it an equal share.  For pairwise graphs that is sequential reweighted message
 * passing: Kolmogorov, "A new look at reweighted message passing", PAMI 2015, which continues his
 * "Convergent tree-reweighted message passing", PAMI 2006.  On trees one pass each way is exact.
 *
 * Minima of b and r are kept as they were met; later gifts only raise r, so they stay bounds.  Sums
 * are rounded: dual_bound() takes off what that can have added, by the largest number ever moved.
 */
struct dual_removal {
    size_t variable;
    uint16_t value;
};
struct dual_least { /* what node_least was */
    size_t variable;
    double least;
};
struct dual_saved {
    size_t edge;
    int64_t level; /* that had saved it before */
    size_t data;   /* both ends' moved costs, in `saved` */
};
struct dual {
    struct arena *arena;
    const struct factor_graph *graph;
    struct factor_incident incident;
    double **own;                     /* by variable, value; INFINITY = removed */
    size_t *count;                    /* values that are left, by variable */
    double *(*moved)[2];              /* by edge: of its a, of its b */
    double *node_least, *edge_least;  /* minima of b and r, or less */
    double total, total_abs;          /* sums of these; of their sizes */
    double peak, rounding;            /* largest size; how many roundings of it a total has */
    double *belief, *taken, *reduced; /* by value, for one variable */
    size_t *region;                   /* variables that passes visit, ascending */
    size_t region_count;
    bool *in_region;
    struct dual_removal *removals; /* trail */
    size_t removal_count, removal_room;
    struct dual_least *leasts;
    size_t least_count, least_room;
    struct dual_saved *saves;
    size_t save_count, save_room;
    double *saved;
    size_t saved_count, saved_room;
    int64_t *saved_level; /* by edge: the level that saved it last */
    int64_t level;        /* 0: nothing is taken back */
    int64_t entries;      /* of tables, read so far */
};

/* False where a number is so large that sums might overflow; true: *out is ready, nothing moved. */
bool dual_init(struct arena *arena, const struct factor_graph *graph, struct dual *out) MUST_USE;
/* What every assignment of the values that are left costs at least. */
double dual_bound(const struct dual *d);
/* What passes visit: all variables, as after dual_init; or the at most `most` nearest to one that
 * have a choice. */
void dual_region_all(struct dual *d);
void dual_region(struct dual *d, size_t variable, size_t most);
/* One pass forward and one backward over the region; values that cannot be part of an assignment
 * below `limit` go.  False when a variable has none left or the bound reaches the limit. */
bool dual_pass(struct dual *d, double limit) MUST_USE;
/* Values by variable in turn, each the cheapest beside the ones before; false when it is forbidden.
 */
bool dual_decode(const struct dual *d, uint16_t *values) MUST_USE;
/* How far an assignment is above the minima at one variable and half its edges. */
double dual_excess(const struct dual *d, const uint16_t *values, size_t variable);
/* b */
double dual_unary(const struct dual *d, size_t variable, size_t value);
/* The value of least b. */
uint16_t dual_cheapest(const struct dual *d, size_t variable);
void dual_remove(struct dual *d, size_t variable, size_t value);

/* Changes after a mark are taken back by dual_undo. */
struct dual_mark {
    size_t removals, leasts, saves, data;
    int64_t level;
    double total, total_abs;
};
struct dual_mark dual_mark(struct dual *d, int64_t level);
void dual_undo(struct dual *d, const struct dual_mark *mark);

/* b and r as a graph of their own, removed values forbidden; false where that would be large. */
bool dual_graph(struct arena *arena, const struct dual *d, struct factor_graph *out) MUST_USE;

#endif
