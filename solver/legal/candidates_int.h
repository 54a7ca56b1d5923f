#ifndef SOLVER_LEGAL_CANDIDATES_INT_H
#define SOLVER_LEGAL_CANDIDATES_INT_H

#include "base/map.h"

#include "solver/legal/candidates.h"

/* Shared by candidates.c (which sets) and candidate_part.c (what a set is but for names). */
struct stmt_facts {
    size_t shape;          /* equal for statements that differ in names and tensors alone */
    const size_t *tensors; /* the target, then each read as the expressions have it */
    size_t tensor_count;
    const size_t *names; /* by loop */
};
struct tensor_facts {
    size_t shape;          /* equal for tensors that differ in name and statements alone */
    const size_t *readers; /* statements, ascending */
    size_t reader_count;
};
struct facts {
    struct arena *arena;
    const struct bound_op *bound;
    struct map words; /* texts to numbers, from 1 */
    struct stmt_facts *stmts;
    struct tensor_facts *tensors;
};
void candidate_facts(struct facts *facts, struct arena *arena, const struct bound_op *bound);
/* Equal texts: the sets are equal but for the names of loops and tensors. */
struct str candidate_key(struct arena *arena, const struct facts *facts, const size_t *stmts,
                         size_t count);
/* The part of a class (candidates.h). */
const struct bound_op *candidate_part(struct arena *arena, const struct facts *facts,
                                      const size_t *stmts, size_t count);

#endif
