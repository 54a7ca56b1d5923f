#ifndef SOLVER_LEGAL_STRUCTURE_H
#define SOLVER_LEGAL_STRUCTURE_H

#include "solver/ir/ir.h"

/*
 * What the statements of an op are and what that allows, from loops, accesses and arithmetic alone:
 * renaming every tensor, dim and index changes nothing but those names in the texts.
 *
 * Notes come by statement, then in the order of base/vocab.def; texts are whole phrases for a
 * reader or a prompt.  What is not listed was not found: absence of a structure is no proof against
 * it.
 */
struct structure_note {
    size_t stmt; /* the statement that has it; of several the last */
    size_t with; /* a statement that it takes besides, or OP_NONE */
    enum structure word;
    struct str text; /* "contraction: batch b, M m, N n, K k" */
};
struct preservation_note {
    size_t stmt;
    enum preservation word;
    bool allowed;
    struct str text; /* the condition or error term; or why not */
};
struct primitive_note {
    size_t stmt;
    enum primitive word;
    struct str text; /* why it applies */
};
/* May two statements share a region?  For each statement and each that reads its result. */
struct composition_note {
    size_t from, to;
    bool allowed;
    struct str text;
};
struct structures {
    const struct structure_note *structures;
    size_t structure_count;
    const struct preservation_note *preservations;
    size_t preservation_count;
    const struct primitive_note *primitives;
    size_t primitive_count;
    const struct composition_note *compositions;
    size_t composition_count;
};

/* `track` NULL = the op's first.  All of it lives in `arena`. */
void structure_of(struct arena *arena, const struct bound_op *bound, const struct track *track,
                  struct structures *out);
/* Does statement `stmt` have the structure? */
bool structures_have(const struct structures *structures, size_t stmt, enum structure word);

#endif
