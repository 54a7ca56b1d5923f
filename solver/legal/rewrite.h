#ifndef SOLVER_LEGAL_REWRITE_H
#define SOLVER_LEGAL_REWRITE_H

#include "solver/ir/ir.h"

/*
 * Rewrites of an op into another op with the same outputs: the meanings agree within the first
 * one's error bound, stretched by `bound_scale`.  Rules look at statements alone, never at names.
 *
 * id, name, preservation (base/vocab.def)
 *
 *   INLINE   a map goes into the statements that read it: fused prologue and epilogue
 *   HOIST    factors that all terms of a sum have are taken out of it: deferred normalisation
 *   SPLIT    a reduction over parts of an index, then over the parts: split-K, several blocks
 *   RESCALE  a maximum and the sums of exp(u - maximum) against it, over parts, each against the
 *            part's own maximum; merged by rescaling: one-pass softmax, attention over key blocks
 *   CENTRE   a sum of squares (x - c)^2 over parts, each against the part's own mean; merged by
 *            Chan's rule: x is read before c is known
 *   ONLINE   RESCALE with a running state instead of a merge at the end: one part after the other,
 *            maximum and sums so far
 *   WELFORD  CENTRE in the same way: mean and squares so far; with parts of 1 Welford's recurrence
 */
#define REWRITES(X)                                                                                \
    X(INLINE, "inline", RECOMPUTE)                                                                 \
    X(HOIST, "hoist", REORDER)                                                                     \
    X(SPLIT, "split", SPLIT_MERGE)                                                                 \
    X(RESCALE, "rescale", RESCALE)                                                                 \
    X(CENTRE, "centre", SUMMARISE)                                                                 \
    X(ONLINE, "online", RESCALE)                                                                   \
    X(WELFORD, "welford", SUMMARISE)
enum rewrite_rule {
#define X(id, name, preservation) REWRITE_##id,
    REWRITES(X)
#undef X
        REWRITE_COUNT
};

struct rewrite {
    enum rewrite_rule rule;
    size_t stmt;   /* INLINE: the map; RESCALE, ONLINE: the maximum; else the reduction */
    size_t loop;   /* of rules that cut an index: which of its reduced loops */
    int64_t block; /* of those too: iterations a part, from 1 */
};

struct rewritten {
    const struct op *op; /* NULL = refused */
    struct str text;     /* the condition that holds, or which statement is refused and why */
    /* |result - value| of an honest run stays below the bound of the first op times
     * (bound_scale + bound_step * parts).  1 and 0 = the rewrite stays inside it. */
    double bound_scale, bound_step;
};

enum { REWRITE_BLOCK_MAX = 1 << 20, REWRITE_NODES_MAX = 4096 };

/* One rewrite.  `op` must be well-formed; the result is, and shares nothing with it. */
void preserve_apply(struct arena *arena, const struct op *op, const struct rewrite *rewrite,
                    struct rewritten *out);

/* All that may be tried: each rule at each statement (and reduced loop) that it is about. */
const struct rewrite *rewrite_list(struct arena *arena, const struct op *op, int64_t block,
                                   size_t *count);

/*
 * The op without what means nothing: x * 1, x + 0, x - 0, x / 1, double negation, copies and double
 * transposes, a + -b for a - b, a > b for b < a, pow(a, 2) for a * a, statements that no output
 * needs; operands that may be swapped stand in an order that names have no part in.  A zero
 * may change its sign, no other value changes.
 */
bool op_normal(struct arena *arena, const struct op *op, const struct op **out,
               struct err *err) MUST_USE;

/* Does the rule cut an index, rewrite.loop, into parts? */
bool rewrite_cuts(enum rewrite_rule rule);
const char *rewrite_name(enum rewrite_rule rule);
enum preservation rewrite_preservation(enum rewrite_rule rule);

#endif
