#ifndef SOLVER_IR_INTERP_H
#define SOLVER_IR_INTERP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/rng.h"

#include "solver/ir/op.h"

/*
 * The meaning of an op.
 *
 *   INTERP_REAL   fp64 throughout; only explicit casts round.
 *   INTERP_TYPED  each operation rounded to its type, sums in index order: one honest kernel.
 *   INTERP_BOUND  real values and, for each element, a bound on |candidate - value| for every
 *                 honest candidate of the track: running error analysis, u * |result| +
 *                 sum |df| * bound_in; a sum costs 16 * 2^-24 * sum|terms| in f32, more where the
 *                 terms are of one sign (calibration in interp_bound.c); products on tf32, bf16,
 *                 f16 tracks carry the rounding of their inputs; the output's own rounding is
 *                 included.  Choices (argmax, where, rounding) admit every outcome in reach.
 *
 * Threads split outputs only, so results do not depend on their number.
 *
 * What op.h leaves open: x % 0 is 0.  Shifts by a negative count, or by the type's width or more,
 * give 0, or -1 for >> of a negative number.  Float to integer truncates, saturates at the type's
 * range and turns NaN into 0; to bool it is x != 0; integer to integer wraps.  A tensor that is
 * assigned a value of a wider float type is not rounded in the real meaning, its bound has the half
 * ulp.  Scans are accumulated from their closed end (a reverse scan from the last element).  An
 * index of a gather or scatter that is outside its tensor and not padded is an error of the run
 * that names statement and element.
 */
enum interp_mode { INTERP_REAL, INTERP_TYPED, INTERP_BOUND };

/* Order of float sums in INTERP_TYPED, so that the spread of honest orders can be measured:
 * index order, its reverse, a balanced tree, 256 interleaved accumulators joined by a tree. */
enum interp_order { ORDER_SEQUENTIAL, ORDER_REVERSED, ORDER_PAIRWISE, ORDER_STRIDED };

/* One tensor's elements: `reals` for float dtypes, `ints` for integer and bool. */
struct values {
    int64_t count;
    double *reals;
    int64_t *ints;
    double *bounds; /* INTERP_BOUND: largest honest |candidate - value|, infinite where open; for
                       integers and bools see interp_accepts; NULL in the other modes */
    bool *open;     /* INTERP_BOUND, where anything is accepted: a choice upstream is undecided, the
                       value may overflow its type, or it is not finite although the policy
                       promises finite inputs; NULL = nowhere */
    const uint64_t *choices; /* argmax, argmin in INTERP_BOUND: bit p of the element's choice_words
                                words is set when position p can be the extremum; else NULL */
    size_t choice_words;
};

struct interp_options {
    enum interp_mode mode;
    const struct track *track; /* INTERP_BOUND: NULL = the op's first */
    int threads;               /* 0 = all cores */
    enum interp_order order;   /* INTERP_TYPED */
    /* Keep only these tensors' values (all declared outputs when NULL). */
    const size_t *keep;
    size_t keep_count;
};

/* `inputs` is indexed by tensor; only inputs, weights and states are read, typed storage of the
 * tensor's dtype.  `out` is indexed by tensor too, filled for the kept ones, memory in `arena`. */
struct interp_inputs {
    const void *const *data;
};
bool interp_run(struct arena *arena, const struct bound_op *bound,
                const struct interp_inputs *inputs, const struct interp_options *options,
                struct values *out, struct err *err) MUST_USE;

/* Is `got` an acceptable element of an integer or bool output, given the values an INTERP_BOUND run
 * kept? An argmax may name any position whose value could be the extremum within the bounds. */
bool interp_accepts(const struct bound_op *bound, const struct interp_inputs *inputs,
                    const struct values *values, size_t tensor, int64_t element, int64_t got);

/* ---- data ---- */

/*
 * What a tensor is filled with.  DATA_SPEC is the spec's own fill; the others probe particular
 * errors.  Integer and mask tensors keep their spec's fill in every class, and a uniform fill with
 * low > 0 states a domain: values are low + |value|.
 *
 *   zero-mean        decides precision: tf32 or bf16 inputs, dropped terms
 *   positive         accumulation in f16, cut-off tf32; most other errors pass
 *   index-coded      each coordinate of each dimension shifts the value by its own amount:
 *                    wrong axis, t[i % C] for t[i / C], transposed weights
 *   one-hot          even: two entries of 4 to 20 a row; odd: normal.  Terms left out
 *   heavy-tail       2^-12 .. 2^13 (2^-5 .. 2^6 in fp8), either sign
 *   large-offset     mean 1000 (bf16 64, f16 512, fp8 less), deviation 1: E[x^2] - E[x]^2
 *   large-magnitude  a fifth of the rows each: +-100, +-1e4, all equal 1e4, near -1e4, near 100
 *                    (less in f16 and fp8): softmax without the maximum
 *   exact-integers   even: -1, 0, 1, at most 2048 not 0 a row; odd: odd integers to 8191 (less in
 *                    narrow types).  Sums are exact in f32 in any order, so bounds are 0
 *   ill-conditioned  even: rows 2^27, many below half an ulp of it, -2^27; odd: 1.  Kahan skipped
 *   special-values   every other row has NaN, infinities, -0, subnormals; with finite_inputs only
 *                    the latter two
 *   zeros            eps left out, division by 0
 *
 * "Even" and "odd": position among the float tensors that are filled, from 0, so that the two
 * factors of a product differ.
 */
#define DATA_CLASSES(X)                                                                            \
    X(SPEC, "spec")           /* the spec's fill */                                                \
    X(ZERO_MEAN, "zero-mean") /* normal(0,1) whatever the spec says, weights too */                \
    X(POSITIVE, "positive")   /* uniform [0,1) */                                                  \
    X(INDEXED,                                                                                     \
      "index-coded")       /* value encodes the position; another distribution per row, column */  \
    X(ONE_HOT, "one-hot")  /* few large entries at random places, else zeros */                    \
    X(HEAVY, "heavy-tail") /* magnitudes over many binades */                                      \
    X(OFFSET, "large-offset")     /* mean 1e3, std 1 */                                            \
    X(LARGE, "large-magnitude")   /* rows of +-100 and +-1e4, all-equal rows */                    \
    X(INTEGERS, "exact-integers") /* {-1,+-0,1} against odd integers to 8191: exact f32 sums */    \
    X(CANCEL, "ill-conditioned")  /* pairs that cancel: 1, 1e8, -1e8 */                            \
    X(SPECIAL, "special-values")  /* NaN, +-inf, -0, subnormals; only without finite_inputs */     \
    X(ZEROS, "zeros")

enum data_class {
#define X(id, name) DATA_##id,
    DATA_CLASSES(X)
#undef X
        DATA_CLASS_COUNT
};
const char *data_class_name(enum data_class class);

/* Fill one tensor's typed storage.  Philox keyed by (secret, tensor, call); integer operations and
 * exactly rounded add, mul, fma in fixed order only, so that every machine gives the same bits. */
bool fill_tensor(const struct bound_op *bound, size_t tensor, enum data_class class,
                 uint64_t secret, uint32_t call, void *out, struct err *err) MUST_USE;

#endif
