#ifndef SOLVER_IR_COUNT_INT_H
#define SOLVER_IR_COUNT_INT_H

#include <stdint.h>

#include "solver/ir/count.h"
#include "solver/ir/op.h"

/* Distinct elements of a tensor that statements [from, to) read. */
int64_t elements_read(const struct bound_op *bound, size_t tensor, size_t from, size_t to);

/* ---- sets of positions along one axis, which may be several dimensions taken together ---- */

/* A progression, or bits when it is none; `known` false: only that there are `count` of them. */
struct axis_set {
    bool known;
    int64_t count;
    int64_t first, step; /* when !bits */
    uint64_t *bits;
    int64_t size; /* of the axis */
};
struct axis_set axis_progression(int64_t first, int64_t step, int64_t count, int64_t size);
struct axis_set axis_bits(struct arena *arena, uint64_t *bits, int64_t size);
struct axis_set axis_unknown(int64_t count, int64_t size);
bool axis_contains(struct arena *arena, const struct axis_set *a, const struct axis_set *b);
struct axis_set axis_unite(struct arena *arena, const struct axis_set *a, const struct axis_set *b);
struct axis_set axis_intersect(struct arena *arena, const struct axis_set *a,
                               const struct axis_set *b);
/* May sets of this axis become bits, in what is left of the arena? */
bool axis_fits(const struct arena *arena, int64_t size);

#endif
