#ifndef SOLVER_LEGAL_TERM_H
#define SOLVER_LEGAL_TERM_H

#include "solver/ir/ir.h"

/*
 * Values of statements as terms of real arithmetic, in one form each.
 *
 * A term is made once: equal terms are one pointer.  Sums are flat with a weight a part, products
 * flat with an exponent a part, so a / b, a * (1 / b) and b^-1 * a are one term, as are 0 - x and
 * -x, x + x and 2 * x, exp(a) * exp(b) and exp(a + b), sqrt(x) and pow(x, 0.5).  Casts between
 * numbers, which round, are left out; maps are put in place of reads of what they wrote.
 *
 *   where(c, x, 0)     holds(c) * x
 *   where(c, x, -inf)  x + mask(c), mask(c) being 0 where c holds, else -inf
 *   i < j, of integers j - i - 1 >= 0
 *
 * This is for telling what statements are, not for changing them: terms that are equal may round
 * differently.
 */
enum term_kind {
    TERM_ONE,
    TERM_INF,
    TERM_INDEX,   /* number: loop of the host, or a stand-in from TERM_LOOPS_OTHER on */
    TERM_DIM,     /* number: of op.dims */
    TERM_READ,    /* number: tensor; parts: subscripts, then the pad if it has one */
    TERM_SUM,     /* weight * part + ...; without parts 0 */
    TERM_PRODUCT, /* part ^ weight * ... */
    TERM_HOLDS,   /* 1 where the condition holds, else 0 */
    TERM_MASK,    /* 0 where the condition holds, else -inf */
    TERM_CALL     /* op of the parts; comparisons are op EXPR_GE, GT, EQ of one part with 0 */
};
struct term;
struct term_part {
    double weight;
    const struct term *term;
};
struct term {
    enum term_kind kind;
    enum expr_op op;
    size_t number;
    size_t count;
    const struct term_part *parts;
    uint64_t loops;   /* bit i: loop i occurs */
    bool reads;       /* data */
    uint64_t tensors; /* bit t % 64: tensor t is read */
    size_t size;      /* nodes, shared ones each time; at most TERM_SIZE_MAX + 1 */
    uint64_t shape;   /* the same for terms that differ in the names of their loops */
    size_t id;
    const struct term *expanded; /* of a read: the map's value; NULL = not asked yet */
    size_t stamp;                /* of the walk or replacement that met it last */
    const struct term *replaced;
};

enum {
    TERM_LOOPS_OTHER = 16, /* loops of another statement, and of a third */
    TERM_LOOPS_THIRD = 32,
    TERM_LOOPS_ALL = 48,
    TERM_SIZE_MAX = 256, /* of a map that is seen through */
    TERM_PARTS_MAX = 96, /* of a product that is multiplied out */
    TERMS_MAX = 1 << 18  /* past that, terms are opaque: equal to nothing */
};

struct terms {
    struct arena *arena;
    const struct bound_op *bound;
    const struct op *op;
    const bool *carried;       /* by statement: a seq block reads it at an earlier step */
    const struct term **whole; /* by statement: see term_of_stmt */
    struct term **slots;       /* open addressing */
    size_t room, count, stamp, opaque;
};

void terms_init(struct terms *ts, struct arena *arena, const struct bound_op *bound);

/* The value of a statement in its own loops, bounded ranges as conditions. */
const struct term *term_of_stmt(struct terms *ts, size_t stmt);
/* With the free loops at the subscripts of `read`, reduced ones `shift` higher. */
const struct term *term_of_read(struct terms *ts, const struct term *read, size_t shift);

/* ---- making ---- */

const struct term *term_make(struct terms *ts, const struct term *like,
                             const struct term_part *parts, size_t count);
const struct term *term_number(struct terms *ts, double value);
const struct term *term_loop(struct terms *ts, size_t loop);
const struct term *term_sum(struct terms *ts, const struct term_part *parts, size_t count);
const struct term *term_product(struct terms *ts, const struct term_part *parts, size_t count);
const struct term *term_call(struct terms *ts, enum expr_op op, const struct term *const *args,
                             size_t count);
const struct term *term_scaled(struct terms *ts, double weight, const struct term *term);
const struct term *term_times(struct terms *ts, const struct term *a, const struct term *b);
const struct term *term_minus(struct terms *ts, const struct term *a, const struct term *b);
const struct term *term_holds(struct terms *ts, const struct term *condition);
const struct term *term_mask(struct terms *ts, const struct term *condition);
const struct term *term_not(struct terms *ts, const struct term *condition);
/* Products of sums multiplied out, up to TERM_PARTS_MAX parts. */
const struct term *term_expand(struct terms *ts, const struct term *term);
/* Loop i replaced by by_loop[i]; NULL there: kept. */
const struct term *term_replace(struct terms *ts, const struct term *term,
                                const struct term *const by_loop[TERM_LOOPS_ALL]);

/* ---- looking ---- */

bool term_is_number(const struct term *term, double *value);
/* The parts of a sum; of another term, itself. */
size_t term_addends(const struct term *term, const struct term_part **parts,
                    struct term_part *single);
/* The parts of a product, its number taken off; of another term, itself. */
size_t term_factors(const struct term *term, const struct term_part **parts,
                    struct term_part *single);
/* Each term below `term`, once; not into subscripts. */
typedef void term_visitor(void *context, const struct term *term);
void term_walk(struct terms *ts, const struct term *term, term_visitor *visit, void *context);
/* Statement that wrote what the read reads, if it is a reduction with operation `op`
 * (REDUCE_NONE: any), else OP_NONE. */
size_t term_reduction(const struct terms *ts, const struct term *read, enum reduce_op op);
/* coefficient of each loop and the constant at the bound shape; false: not affine. */
bool term_affine(const struct terms *ts, const struct term *term,
                 double coefficient[TERM_LOOPS_ALL], double *constant);
uint64_t loops_reduced(const struct stmt *stmt);
uint64_t loops_free(const struct stmt *stmt);

#endif
