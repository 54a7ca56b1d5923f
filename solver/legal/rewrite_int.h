#ifndef SOLVER_LEGAL_REWRITE_INT_H
#define SOLVER_LEGAL_REWRITE_INT_H

#include "solver/legal/rewrite.h"

/*
 * Shared by the files behind preserve_apply.
 *
 *   draft.c        an op being changed, and expressions
 *   factors.c      products as lists of factors, operands as temporaries
 *   range.c        what values an expression can have
 *   finite.c       what stays in its type's range
 *   normal.c       what means nothing is taken away
 *   rewrite.c      what is tried, conditions and error terms
 *   rewrite_text.c what is tried, as text
 *   recompute.c    inline, again
 *   regroup.c      hoist, interchange, merge, associate
 *   cut.c          parts of an index, split
 *   rescale.c      the cutting rules of several statements: rescale, centre
 *   running.c      the same with a state that runs over the parts: online, welford
 *   relayout.c     transpose, flatten, gather
 *   approximate.c  reciprocal, exp2, rsqrt, polynomial
 *   precision.c    round, parts
 */
struct draft {
    struct arena *arena;
    struct op op; /* its arrays are the draft's own */
    struct tensor *tensors;
    struct stmt *stmts;
    struct seq *seqs;
    size_t tensor_room, stmt_room;
    struct str why; /* of a refusal; empty = none */
    /* the error term, where it is not the rule's own; scale 0 = it is */
    double scale, step;
    const struct formula *parts;
};

void draft_begin(struct draft *d, struct arena *arena, const struct op *op);
/* Statements that no output needs go; then printed and parsed again, which infers types. */
bool draft_finish(struct draft *d, const struct op **out, struct err *err) MUST_USE;
/* Notes why and returns false. */
#define refuse(d, ...) err_failed(draft_refuse((d), __VA_ARGS__))
bool draft_refuse(struct draft *d, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* A name that nothing has, from `hint` and a number. */
struct str draft_name(struct draft *d, const char *hint);
/* A temporary over the free loops. */
size_t draft_temporary(struct draft *d, const char *hint, enum dtype dtype,
                       const struct loop *loops, size_t free_count);
void draft_insert(struct draft *d, size_t at, const struct stmt *stmt);
/* A statement outside sequential blocks goes. */
void draft_remove(struct draft *d, size_t at);
/* A sequential block behind all statements, which then need not be in order; once a draft. */
void draft_append_seq(struct draft *d, struct str index, const struct formula *extent,
                      const struct stmt *stmts, size_t count);
/* Neither in a sequential block, nor a scatter, nor a scan. */
bool is_straight(const struct stmt *stmt);

/* ---- expressions ---- */

const struct expr *expr_index(struct arena *arena, size_t loop);
const struct expr *expr_int(struct arena *arena, int64_t value);
const struct expr *expr_real(struct arena *arena, double value);
const struct expr *expr_call(struct arena *arena, enum expr_op op, const struct expr *a,
                             const struct expr *b, const struct expr *c);
/* tensor[loops...] at plain loops. */
const struct expr *expr_at(struct arena *arena, size_t tensor, const size_t *loops, size_t rank);
/* NULL when it has an operation that statements do not. */
const struct expr *expr_of_formula(struct draft *d, const struct formula *formula);

/* Loops replaced; by_loop[i] NULL = a bug.  Reads at `guarded` (OP_NONE = none) get a pad, for what
 * replaces it may leave the tensor. */
const struct expr *expr_replaced(struct arena *arena, const struct expr *expr,
                                 const struct expr *const *by_loop, size_t guarded);
/* With plain maps in place of reads of them, as deep as it goes; NULL: over REWRITE_NODES_MAX. */
const struct expr *expr_expanded(struct arena *arena, const struct op *op, const struct expr *expr);
/* The same but for loops: of[i], by loop of `a`, is b's; OP_NONE = not met yet, filled. */
bool expr_matches(const struct expr *a, const struct expr *b, size_t *of);
bool expr_same(const struct expr *a, const struct expr *b);
/* Does it use one of the loops from `from` on? */
bool expr_varies(const struct expr *expr, size_t from);
bool expr_varies_over(const struct expr *expr, size_t from, size_t to);
size_t expr_reads_of(const struct expr *expr, size_t tensor);
size_t expr_nodes(const struct expr *expr);

/* A copy from the leaves up: `copied` is `expr` with its children mapped, what comes back is put in
 * its place. */
typedef const struct expr *expr_mapper(void *context, const struct expr *expr, struct expr *copied);
const struct expr *expr_mapped(struct arena *arena, const struct expr *expr, expr_mapper *map,
                               void *context);
/* Value and scatter of a statement of the draft. */
void stmt_map(struct draft *d, struct stmt *stmt, expr_mapper *map, void *context);

/* ---- factors ---- */

/* Factors of a product, through quotients: numerators and denominators. */
enum { FACTORS_MAX = 16 };
struct factors {
    const struct expr *above[FACTORS_MAX], *below[FACTORS_MAX];
    size_t above_count, below_count;
};
bool factors_of_product(const struct expr *expr, struct factors *out);
/* Those that vary over the loops from `from` to before `to`, and the others; both are added to. */
bool factors_part(const struct factors *factors, size_t from, size_t to, struct factors *varying,
                  struct factors *same);
/* start * above... / below...; start NULL = none. */
const struct expr *factors_product(struct draft *d, const struct expr *start,
                                   const struct factors *factors);

/* An expression of a statement as a temporary of its own: over the loops that it uses, in their
 * order.  `read` is what stands for it in the statement. */
struct operand {
    struct stmt stmt;
    const struct expr *read;
};
bool operand_of(struct draft *d, const struct stmt *stmt, const struct expr *value,
                const char *hint, struct operand *out);
/* `value` with `with` in the place of the node `old`. */
const struct expr *expr_put(struct draft *d, const struct expr *value, const struct expr *old,
                            const struct expr *with);

/* ---- ranges ---- */

/* Finite values, rounding aside; `least`: no magnitude but 0 is less.  See range_least. */
struct range {
    double low, high, least;
};
double range_most(struct range r);
double range_least(struct range r);
/* Of an expression of the statement, whose loops it has; inputs as REWRITE_INPUT_MOST says. */
struct range expr_range(struct draft *d, const struct stmt *stmt, const struct expr *expr);
/* No finite value of it is less, whatever the inputs are; -infinity: nothing is known. */
double expr_at_least(struct draft *d, const struct expr *expr);
/* At the largest dims; infinite: not told. */
double formula_at_most(const struct draft *d, const struct formula *formula);
/* Iterations of the reduced loops. */
double terms_at_most(const struct draft *d, const struct stmt *stmt);

/* ---- what stays in a type's range; false = refused ---- */

/* A sum of `terms` products of `inner`, then times `outer`, `again` of which are added (0: what
 * comes out is the op's own value). */
struct nested {
    const struct factors *inner, *outer;
    double terms, again;
};
bool nested_stays(struct draft *d, const struct stmt *stmt, const struct nested *nested);
/* A sum of the products, each at most once, in any part of them. */
bool weights_stay(struct draft *d, const struct stmt *stmt, size_t at,
                  const struct factors *weights);
/* bf16 parts of a factor, of products with `other`. */
bool bits_stay(struct draft *d, const struct stmt *stmt, const struct expr *factor,
               const struct expr *other);

/* ---- parts of an index ---- */

/* A reduction's loops with one of them cut: the free ones, the part, then the reduced ones with
 * what runs inside the part in its place. */
struct parts {
    struct loop loops[OP_LOOPS_MAX];
    size_t free_count, loop_count;            /* of the statement over the parts */
    size_t part;                              /* loop: which part; = free_count - 1 */
    size_t inner;                             /* loop: where in it */
    const struct expr *by_loop[OP_LOOPS_MAX]; /* of the old statement, for expr_replaced */
    const struct expr *inside;                /* part * block + inner < extent */
    const struct expr *count;                 /* iterations of all reduced loops in the part */
    size_t cut;                               /* the old loop */
};
bool parts_of(struct draft *d, const struct stmt *stmt, size_t loop, int64_t block,
              struct str part_name, struct str inner_name, struct parts *out);
/* where(inside, value in the new loops, neutral) */
const struct expr *parts_value(struct draft *d, const struct parts *parts, const struct expr *value,
                               const struct expr *neutral);
/* The merge: target[free] = op(part) value. */
struct stmt parts_merge(struct draft *d, const struct stmt *stmt, const struct parts *parts,
                        enum reduce_op op, const struct expr *value);
struct stmt parts_stmt(struct draft *d, const struct parts *parts, size_t target, enum reduce_op op,
                       const struct expr *value);
/* tensor at the free loops of the parts, in the statement over parts and in its merge alike. */
const struct expr *parts_read(struct draft *d, const struct parts *parts, size_t tensor);
/* The reduced loops but `loop`, multiplied; NULL: an extent is no plain formula. */
const struct expr *others_of(struct draft *d, const struct stmt *stmt, size_t loop);
/* Is every sum of the statement one of exp(u - maximum of u), which has a term 1? */
bool is_sum_against_maximum(struct draft *d, size_t stmt);
/* where(maximum is -inf, 0, value) */
const struct expr *unless_empty(struct draft *d, const struct expr *maximum,
                                const struct expr *value);

/* ---- the rules; false = refused ---- */

/* What rescaling leaves: who holds the parts' summaries. */
enum { SUMS_MAX = 32 };
struct rescaled_sum {
    size_t target, partial;     /* tensors: of the whole, of the parts */
    size_t loops[OP_LOOPS_MAX]; /* by free loop of the maximum: of the sum */
    enum expr_op exp;
};
struct rescaled {
    size_t maximum, partial; /* tensors */
    struct rescaled_sum sums[SUMS_MAX];
    size_t count;
};
bool rewrite_rescale(struct draft *d, const struct rewrite *rewrite, struct rescaled *out);
struct centred {
    size_t target, total, square; /* tensors: of the whole, of the parts */
    const struct expr *centre;    /* in the free loops */
};
bool rewrite_centre(struct draft *d, const struct rewrite *rewrite, struct centred *out);
bool rewrite_online(struct draft *d, const struct rewrite *rewrite);
bool rewrite_welford(struct draft *d, const struct rewrite *rewrite);

bool rewrite_inline(struct draft *d, const struct rewrite *rewrite);
bool rewrite_again(struct draft *d, const struct rewrite *rewrite);
bool rewrite_hoist(struct draft *d, const struct rewrite *rewrite);
bool rewrite_interchange(struct draft *d, const struct rewrite *rewrite);
bool rewrite_merge(struct draft *d, const struct rewrite *rewrite);
bool rewrite_associate(struct draft *d, const struct rewrite *rewrite);
bool rewrite_split(struct draft *d, const struct rewrite *rewrite);
bool rewrite_transpose(struct draft *d, const struct rewrite *rewrite);
bool rewrite_flatten(struct draft *d, const struct rewrite *rewrite);
bool rewrite_gather(struct draft *d, const struct rewrite *rewrite);
bool rewrite_reciprocal(struct draft *d, const struct rewrite *rewrite);
bool rewrite_exp2(struct draft *d, const struct rewrite *rewrite);
bool rewrite_rsqrt(struct draft *d, const struct rewrite *rewrite);
bool rewrite_polynomial(struct draft *d, const struct rewrite *rewrite);
bool rewrite_round(struct draft *d, const struct rewrite *rewrite);
bool rewrite_parts(struct draft *d, const struct rewrite *rewrite);

#endif
