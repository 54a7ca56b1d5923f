#ifndef SOLVER_LEGAL_COMPOSING_H
#define SOLVER_LEGAL_COMPOSING_H

#include "solver/legal/primitives.h"
#include "solver/legal/structure.h"

/*
 * Candidate regions by primitives: for each statement and each that reads its result, every pair of
 * a primitive that gives the first one's result and a primitive of the second, allowed or refused
 * with the reason.  The rules are the catalogue's: the form that the producer gives, how the
 * consumer reads it, and what the consumer's primitive takes.
 *
 * A statement without a primitive of the catalogue is primitive_none().
 */
struct combination {
    size_t from, to;                          /* statements */
    const struct primitive_entry *gives, *by; /* of the producer; of the consumer */
    enum value_form form;
    enum reading reading;
    bool allowed;
    struct str text; /* on which condition (may be empty); or why not */
};
struct combinations {
    const struct combination *items;
    size_t count, refused;
};

/* Of a spec's statements on a machine of that compute capability, by pair, then in the order of
 * base/vocab.def.  Lives in `arena`; borrows from the catalogue. */
void compose_primitives(struct arena *arena, const struct bound_op *bound,
                        const struct structures *structures, const struct catalogue *catalogue,
                        int64_t capability, struct combinations *out);
/* The quantities of a statement that conditions speak of, and what kind it is. */
void stmt_quantities(struct arena *arena, const struct bound_op *bound, size_t stmt,
                     struct quantities *out);
enum stmt_kind stmt_kind_of(const struct structures *structures, const struct op *op, size_t stmt);

#endif
