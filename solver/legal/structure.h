#ifndef SOLVER_LEGAL_STRUCTURE_H
#define SOLVER_LEGAL_STRUCTURE_H

#include "solver/ir/ir.h"

/*
 * What the statements of an op are and what that allows, from loops, accesses and arithmetic alone:
 * renaming every tensor, dim and index changes nothing but those names in the texts.
 *
 * Values are compared as terms of real arithmetic (term.h), seen through the maps that make them,
 * so a / b and a * (1 / b), a mask and a bounded range, one statement and four are the same.  The
 * words of base/vocab.def, of a statement s:
 *
 *   map                     a value for each element, from that element's operands; no reduction
 *   reduction               a monoid (sum prod max min argmax argmin any all) over some indices,
 *                           all its terms counting for a result; the text says what commutes
 *   mergeable statistics    a reduction whose results for parts of the index, alone or together
 *                           with those of `with` (mean for squared deviations, by Chan's rule, and
 *                           for products of two deviations, with weights or without; maximum for
 *                           its position), give that of the whole.  Not said again of contractions
 *                           and rescaled accumulations.  In a seq block: Welford's squares, `with`
 *                           the running mean
 *   weighted reduction      a sum of values times weights: a factor is made by exp, or is 0 or 1
 *                           by a condition on data, or is itself summed over that index, or weighs
 *                           what data choose; or two different factors, not all of them squares,
 *                           and no contraction
 *   rescaled accumulation   terms have a factor exp(k * (u - m)), k > 0, m the maximum (k < 0, the
 *                           minimum) of u over at least the same terms, statement `with`; or in a
 *                           seq block last * exp(old maximum - new maximum) + ...
 *   bounded summary state   what stands for all terms so far has a fixed size: a scan's running
 *                           value, an argmax pair, what a seq block carries a fixed distance
 *   streaming normalisation elements scaled by (or shifted by the logarithm of) a function of a
 *                           reduction, `with`, of the same data that several of them share
 *   coupled numerator and denominator
 *                           a quotient whose denominator is a sum, `with`, and whose numerator sums
 *                           the same weights or is one of the terms; or the difference of their
 *                           logarithms.  The text says if a number is added
 *   contraction             a sum of products over an index that two factors have, of which at
 *                           least one has a free index of its own.  Roles: K reduced, batch in both
 *                           or none, M the side that has the first of the other free indices, N
 *                           the other one; step: the index of the seq block that it is carried in
 *   stencil                 neighbouring results read elements in common: windows in a subscript,
 *                           at shifts, or of an index by two bounds.  halo: elements of a window
 *                           that the next has too; reuse: results that read an element
 *   scan                    a reduction over the terms before (or after) each element, which do not
 *                           depend on it but for common factors; in a seq block a statement that a
 *                           later step of itself needs
 *   gather                  data say which elements are read, picked or, of a scatter, added to
 *
 * Notes come by statement, then in the order of base/vocab.def; texts are whole phrases for a
 * reader or a prompt.  What a map that a statement reads has already is not said again of the
 * statement.  What is not listed was not found: absence of a structure is no proof against it.
 */
struct structure_note {
    size_t stmt; /* the statement that has it; of several the last */
    size_t with; /* a statement that it takes besides, or OP_NONE */
    enum structure word;
    struct str text; /* "sum of products: batch b, M m, N n, K k" */
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

/*
 * `track` NULL = the op's first.  All of it lives in `arena`.  Numbers are those of the op given:
 * who compares ops, or reports to a reader, gives their normal forms (op_normal); who makes plans
 * and prompts, which are about the statements as written, gives the op itself.
 */
void structure_of(struct arena *arena, const struct bound_op *bound, const struct track *track,
                  struct structures *out);
/* Does statement `stmt` have the structure? */
bool structures_have(const struct structures *structures, size_t stmt, enum structure word);

#endif
