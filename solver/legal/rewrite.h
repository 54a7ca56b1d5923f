#ifndef SOLVER_LEGAL_REWRITE_H
#define SOLVER_LEGAL_REWRITE_H

#include "solver/ir/ir.h"

/*
 * Rewrites of an op into another op with the same outputs: the meanings agree within the first
 * one's error bound, stretched by `bound_scale` and `bound_step`.  Rules look at statements alone,
 * never at names.  Loops and numbers are what the rule says in the columns below.
 *
 *   INLINE       a map goes into the statements that read it: fused prologue and epilogue
 *   AGAIN        what several statements read is computed once for each of them
 *   HOIST        factors that all terms of a sum have are taken out: deferred normalisation
 *   INTERCHANGE  a reduced loop and the next one change places
 *   MERGE        a reduction of results of the same reduction: one over all their loops
 *   ASSOCIATE    sum(j) (sum(k) a b) c -> sum(k) a (sum(j) b c): the order of a chain of products
 *   SPLIT        a reduction over parts of an index, then over the parts: split-K, several blocks
 *   RESCALE      a maximum and the sums of exp(u - maximum) against it, over parts, each against
 *                the part's own maximum; merged by rescaling: one-pass softmax, attention over key
 *                blocks
 *   CENTRE       a sum of squares (x - c)^2 over parts, each against the part's own mean; merged by
 *                Chan's rule: x is read before c is known
 *   ONLINE       RESCALE with a running state instead of a merge at the end: one part after the
 *                other, maximum and sums so far
 *   WELFORD      CENTRE in the same way: mean and squares so far; with parts of 1 Welford's
 *                recurrence
 *   TRANSPOSE    a temporary is stored with two neighbouring indices in the other order
 *   FLATTEN      two neighbouring indices of a temporary become one
 *   GATHER       an operand of a contraction that is read through a window becomes a matrix over
 *                the contraction's own indices: implicit GEMM; INLINE undoes it
 *   RECIPROCAL   division by what is the same for many elements: a product with its reciprocal
 *   EXP2         exp(x) -> exp2(x * log2(e))
 *   RSQRT        x / sqrt(y) -> x * rsqrt(y); where there is none, rsqrt(y) -> 1 / sqrt(y)
 *   POLYNOMIAL   exp and exp2 as a power of two times Taylor's polynomial of the fraction
 *   ROUND        factors of a contraction are rounded to the track's type
 *   PARTS        f32 factors of a contraction as sums of bf16 parts, products that matter kept
 *
 * id, name, preservation (base/vocab.def), what `loop` is, what `number` is
 */
#define REWRITES(X)                                                                                \
    X(INLINE, "inline", RECOMPUTE, NONE, NONE)                                                     \
    X(AGAIN, "again", RECOMPUTE, NONE, NONE)                                                       \
    X(HOIST, "hoist", REORDER, NONE, NONE)                                                         \
    X(INTERCHANGE, "interchange", REORDER, REDUCED, NONE)                                          \
    X(MERGE, "merge", REGROUP, NONE, NONE)                                                         \
    X(ASSOCIATE, "associate", REGROUP, FACTOR, NONE)                                               \
    X(SPLIT, "split", SPLIT_MERGE, REDUCED, BLOCK)                                                 \
    X(RESCALE, "rescale", RESCALE, REDUCED, BLOCK)                                                 \
    X(CENTRE, "centre", SUMMARISE, REDUCED, BLOCK)                                                 \
    X(ONLINE, "online", RESCALE, REDUCED, BLOCK)                                                   \
    X(WELFORD, "welford", SUMMARISE, REDUCED, BLOCK)                                               \
    X(TRANSPOSE, "transpose", RELAYOUT, FREE, NONE)                                                \
    X(FLATTEN, "flatten", RELAYOUT, FREE, NONE)                                                    \
    X(GATHER, "gather", RELAYOUT, FACTOR, NONE)                                                    \
    X(RECIPROCAL, "reciprocal", APPROXIMATION, NONE, NONE)                                         \
    X(EXP2, "exp2", APPROXIMATION, NONE, NONE)                                                     \
    X(RSQRT, "rsqrt", APPROXIMATION, NONE, NONE)                                                   \
    X(POLYNOMIAL, "polynomial", APPROXIMATION, NONE, DEGREE)                                       \
    X(ROUND, "round", PRECISION, NONE, NONE)                                                       \
    X(PARTS, "parts", PRECISION, NONE, PARTS)
enum rewrite_rule {
#define X(id, name, preservation, loop, number) REWRITE_##id,
    REWRITES(X)
#undef X
        REWRITE_COUNT
};

/* REDUCED, FREE: a loop of the statement; FACTOR: a numerator of its product, from the left. */
enum rewrite_loop { LOOP_NONE, LOOP_REDUCED, LOOP_FREE, LOOP_FACTOR };
/* BLOCK: iterations a part, from 1; DEGREE: of the polynomial; PARTS: 2 or 3. */
enum rewrite_number { NUMBER_NONE, NUMBER_BLOCK, NUMBER_DEGREE, NUMBER_PARTS };

struct rewrite {
    enum rewrite_rule rule;
    size_t stmt;               /* INLINE, AGAIN, relayouts: what is written; RESCALE, ONLINE: the
                                  maximum; else the one that changes */
    size_t loop;               /* see REWRITES; TRANSPOSE, FLATTEN: it and the next */
    int64_t number;            /* see REWRITES */
    const struct track *track; /* of `op`, for ROUND and PARTS; NULL = its first */
};

struct rewritten {
    const struct op *op; /* NULL = refused; ROUND and PARTS leave their track alone in it */
    struct str text;     /* the condition that holds, or which statement is refused and why */
    /* |result - value| of an honest run stays below the bound of the first op times
     * (bound_scale + bound_step * bound_parts).  1 and 0 = the rewrite stays inside it. */
    double bound_scale, bound_step;
    const struct formula *bound_parts; /* in the op's dims; NULL = bound_step is 0 */
};

enum {
    REWRITE_BLOCK_MAX = 1 << 20,
    REWRITE_NODES_MAX = 4096,
    REWRITE_DEGREE_LEAST = 8, /* that f32 allows */
    REWRITE_INPUT_MOST = 27, /* inputs are 0, or from 2^LEAST to 2^MOST, for conditions on ranges */
    REWRITE_INPUT_LEAST = -40,
    REWRITE_PARTS_MOST = 3
};

/*
 * One rewrite.  Where an intermediate result might leave its type's range that the first op's does
 * not, the rewrite is refused, unless it cannot for floats within REWRITE_INPUT_MOST (all data
 * classes of solver/ir/interp.h are).  A sum has no order, so its terms may be taken in any.
 *
 * `op` must be well-formed; the result is, and shares nothing with it.
 */
void preserve_apply(struct arena *arena, const struct op *op, const struct rewrite *rewrite,
                    struct rewritten *out);

/* All that may be tried: each rule at each statement (and loop, or factor) that it is about. */
const struct rewrite *rewrite_list(struct arena *arena, const struct op *op, int64_t block,
                                   size_t *count);
/* bound_scale + bound_step * bound_parts at a shape of the first op. */
double rewritten_scale(const struct rewritten *rewritten, const struct bound_op *bound);

/*
 * The op without what means nothing: x * 1, x + 0, x - 0, x / 1, double negation, copies and double
 * transposes, a + -b for a - b, a > b for b < a, pow(a, 2) for a * a, statements that no output
 * needs; operands that may be swapped stand in an order that names have no part in.  A zero
 * may change its sign, no other value changes.
 */
bool op_normal(struct arena *arena, const struct op *op, const struct op **out,
               struct err *err) MUST_USE;

const char *rewrite_name(enum rewrite_rule rule);
bool rewrite_find(struct str name, enum rewrite_rule *out);
enum preservation rewrite_preservation(enum rewrite_rule rule);
enum rewrite_loop rewrite_loop_of(enum rewrite_rule rule);
enum rewrite_number rewrite_number_of(enum rewrite_rule rule);

/* ---- rewrite_text.c ---- */

/*
 * RULE:STATEMENT[:INDEX][:NUMBER], as the rule has them: "inline:e", "split:y:n:64", "gather:y:0",
 * "parts:c:3".  A statement is what it writes (or its number), an index a loop's name, a factor its
 * number.  `where` names the text in errors, which say the column; ERR_USAGE.
 */
bool rewrite_parse(const struct op *op, struct str text, const char *where, struct rewrite *out,
                   struct err *err) MUST_USE;
void rewrite_print(struct buf *out, const struct op *op, const struct rewrite *rewrite);

#endif
