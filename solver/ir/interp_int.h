#ifndef SOLVER_IR_INTERP_INT_H
#define SOLVER_IR_INTERP_INT_H

#include "base/num.h"

#include "solver/ir/interp.h"

/*
 * Shared by the files of the interpreter.
 *
 *   interp.c          an op: inputs in, statements in order, outputs out
 *   interp_compile.c  a statement to straight-line code over lanes, and how its loops are run
 *   interp_task.c     one task: loops, reductions, scans, scatter; threads
 *   interp_read.c     elements of tensors into lanes
 *   interp_eval.c     values of operations
 *   interp_bound.c    bounds of operations
 *   interp_fold.c     accumulators of reductions, their values and bounds
 *
 * Code works on up to INTERP_LANES consecutive values of one loop, the lane loop.  Register r
 * belongs to instruction r.  An instruction whose value is the same in all lanes is computed once
 * and read with step 0.
 */
enum {
    INTERP_LANES = 256,
    INTERP_NODES_MAX = 4096, /* instructions a statement */
    INTERP_THREADS_MAX = 64,
    INTERP_STRIPES = 256 /* accumulators of ORDER_STRIDED */
};

union cell {
    double f;
    int64_t i;
};

/* The elements of one tensor. */
struct store {
    union cell *at;
    double *bound;     /* INTERP_BOUND, NULL = 0: see interp_bound.c */
    uint64_t *choices; /* argmax: bit set of acceptable positions, choice_words an element */
    size_t choice_words;
    double least; /* no honest value is below; -inf when unknown */
};

/* One subscript of a read. */
struct sub {
    bool affine;
    struct affine form;
    size_t reg; /* when not affine */
    int64_t extent, stride;
    bool may_leave;
};

struct access {
    size_t tensor;
    size_t rank;
    struct sub subs[OP_RANK_MAX];
    struct affine flat; /* of the affine subscripts together, in elements */
    bool general;       /* some subscript is not affine */
    bool may_leave;
    size_t pad; /* register, or OP_NONE */
};

/* What bounds need to know of a float type. */
struct limits {
    double unit; /* roundoff */
    double max;
    double whole;  /* integers up to here are exact */
    double normal; /* smallest normal number */
    double flush;  /* the least change: half the smallest subnormal; f32, f64: smallest normal */
    bool wide;     /* f32, f64 */
};

enum insn_kind { INSN_CONST, INSN_LOOP, INSN_READ, INSN_CONVERT, INSN_OP };

struct insn {
    enum insn_kind kind;
    enum expr_op op;
    enum dtype from;  /* type in which the operands are read */
    enum dtype dtype; /* of the result */
    bool is_cast;     /* written in the spec: rounds in every mode */
    bool tf32;
    uint32_t loops; /* bit l: changes with loop l */
    bool varying;   /* between lanes */
    bool inner;     /* changes with a reduced loop */
    size_t args[3];
    size_t loop;
    union cell constant;
    double constant_bound;
    struct limits limits; /* of dtype */
    const struct access *access;
    const struct expr *expr; /* for messages */
    double least;            /* no honest value is below; -inf when unknown */
    bool scaled_exp;         /* exp of a difference: see interp_bound.c */
};

enum strategy {
    RUN_FREE,   /* lanes are values of a free loop (or there is one lane) */
    RUN_INNER,  /* lanes are terms of the reduction */
    RUN_ROW,    /* all terms are collected, then reduced: argmax, orders of summation */
    RUN_SCAN,   /* terms are collected once and accumulated along the bounding loop */
    RUN_SCATTER /* in loop order, by one thread */
};

struct kernel {
    const struct stmt *stmt;
    const int64_t *extents;
    const struct insn *insns;
    size_t insn_count;
    size_t result;
    size_t lane; /* loop, or OP_NONE */
    enum strategy strategy;
    size_t scan;   /* RUN_SCAN: the bounded loop */
    size_t fixed;  /* 1 in a seq block: loop 0 is set from outside */
    int64_t terms; /* of the reduction, bounds aside */
    enum dtype dtype;
    bool is_float;
    struct limits limits; /* of dtype */
    enum summation summation;
    bool is_product;     /* a sum of products of two reads */
    bool keeps_exact;    /* sums of integers are exact in every honest kernel */
    bool is_split;       /* and of f32 factors, which tensor cores take in parts */
    bool is_contraction; /* and a factor at least may be rounded on this track */
    size_t factors[2];
    bool exact_factor[2]; /* representable in the track's type, whatever the data */
    double factor_roundoff;
    size_t scatter[OP_RANK_MAX];
};

struct reg {
    const union cell *at;
    size_t step; /* 0 or 1 */
    const double *bound;
    size_t bound_step;
    union cell *own; /* room for INTERP_LANES */
    double *own_bound;
};

/* Accumulators of a reduction, a lane each; which fields are in use depends on op and mode. */
enum acc_field {
    ACC_ABS,     /* sum of |terms|; least of max, min; of a product, binades up */
    ACC_BOUND,   /* sum of the terms' bounds; greatest of max, min */
    ACC_PEAK,    /* largest |partial sum|; of a product, binades down */
    ACC_SQUARE,  /* sum of squared products, for the statistics of rounded factors */
    ACC_ROUND_A, /* what rounding the first factor does to the sum */
    ACC_ROUND_B,
    ACC_INEXACT,  /* 1 when some term is not an exactly known integer */
    ACC_COHERENT, /* what additions may lose that round alike: see interp_bound.c */
    ACC_LAST,     /* last term that was not 0 */
    ACC_RUN,      /* how many before it were alike */
    ACC_DWARFED,  /* what terms that a later one dwarfs may lose */
    ACC_TERMS,    /* that were not 0 */
    ACC_MOST,     /* largest |term| */
    ACC_ALIKE,    /* terms that were alike, the sum of their sizes, of the partial sums that they */
    ACC_ALIKE_ABS, /* were added to, and of the squares of those */
    ACC_ALIKE_AT,
    ACC_ALIKE_SQUARE,
    ACC_FIELDS
};
struct acc {
    union cell *value;
    double *field[ACC_FIELDS];
};

struct interp {
    const struct bound_op *bound;
    enum interp_mode mode;
    enum interp_order order;
    enum compute compute;
    int threads;
    struct store *stores;   /* by tensor */
    struct kernel *kernels; /* by statement */
    struct worker *workers;
};

struct worker {
    const struct interp *interp;
    const struct kernel *kernel;
    struct reg *regs;
    int64_t loops[OP_LOOPS_MAX];
    int64_t low[OP_LOOPS_MAX], high[OP_LOOPS_MAX];
    size_t lanes; /* in use */
    struct acc acc;
    union cell *out; /* INTERP_LANES results on their way to the target */
    double *out_bound;
    union cell *typed; /* the same in the target's type */
    double *typed_bound;
    union cell *row; /* RUN_ROW, RUN_SCAN */
    double *row_bound;
    struct acc side; /* RUN_SCATTER: an accumulator for each element of the target */
    int64_t *side_count;
    int64_t first, last; /* tasks */
    bool failed;
    struct err err;
};

/* interp_compile.c */
/* Fills interp->kernels[index]; scratch has room for INTERP_NODES_MAX instructions. */
bool kernel_compile(struct arena *arena, struct interp *interp, size_t index, struct insn *scratch,
                    struct err *err) MUST_USE;

/* interp_task.c: run the kernel, with loop 0 at `step` in a seq block. */
bool kernel_run(const struct interp *interp, const struct kernel *kernel, int64_t step,
                struct err *err) MUST_USE;

/* interp_read.c: false after filling worker->err. */
bool read_lanes(struct worker *w, const struct insn *insn, struct reg *reg) MUST_USE;
/* Subscript `dim` of a read, or of the scatter target when expr is NULL, is `value` at a lane. */
void read_fail(struct worker *w, const struct expr *expr, size_t dim, int64_t value, int64_t lane);

/* interp_eval.c */
void eval_op(const struct worker *w, const struct insn *insn, struct reg *dst, size_t n);
/* Conversion of n lanes; see struct insn.is_cast. */
struct conversion {
    enum interp_mode mode;
    enum dtype from, to;
    bool is_cast, tf32;
};
void eval_convert(const struct conversion *c, const struct reg *src, struct reg *dst, size_t n);
void round_lanes(enum dtype dtype, union cell *at, size_t n);
/* One value of a function of one argument, in double. */
void eval_function(enum expr_op op, const union cell *in, union cell *out);

/* interp_bound.c: bounds of the lanes that eval_op and eval_convert have just computed. */
void bound_op_lanes(const struct worker *w, const struct insn *insn, const struct reg *dst,
                    size_t n);
void bound_convert(const struct conversion *c, const struct reg *src, const struct reg *dst,
                   size_t n);
/* Bound of x * y = v, overflow included. */
double bound_product(const struct limits *limits, double x, double bx, double y, double by,
                     double v);
/* Of a whole product whose factors go up by `above` binades and down by `below` <= 0, in any order.
 */
double bound_factors(const struct limits *limits, double b, double above, double below);
/* Bound of a sum of `count` terms in accumulator `at`. */
double bound_sum(const struct kernel *k, const struct acc *acc, size_t at, int64_t count);
struct limits bound_limits(enum dtype dtype);

/* interp_fold.c */
void fold_begin(const struct worker *w, size_t lanes);
/* Combine n terms: into n accumulators, or in order into the first one when `along`. */
void fold_terms(const struct worker *w, const struct reg *terms, size_t n, bool along);
/* The results of the first `lanes` accumulators after `count` terms each, to w->out from `at` on.
 */
void fold_end(const struct worker *w, size_t lanes, int64_t count, size_t at);
/* Reduce w->row of `count` terms to w->out[0]; `element` of the target for choices. */
void fold_row(const struct worker *w, int64_t count, int64_t element);

#endif
