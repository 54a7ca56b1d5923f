#ifndef SOLVER_IR_OP_H
#define SOLVER_IR_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/str.h"
#include "base/vocab.h"

#include "solver/ir/formula.h"

/*
 * Op spec, version 1 (JSON):
 *
 *   { "spec": 1, "name": "softmax", "doc": "one sentence",
 *     "dims": { "M": [1, 65536], "N": [1, 65536], "H": 12, "D": "N / H" },
 *     "tensors": [
 *       { "name": "x", "role": "input", "dtype": "f32", "shape": ["M", "N"],
 *         "fill": "normal", "align": 16 },
 *       { "name": "y", "role": "output", "dtype": "f32", "shape": ["M", "N"],
 *         "may_alias": "x" } ],
 *     "body": [
 *       "mx[m] = max(n) x[m,n]",
 *       "e[m,n] = exp(x[m,n] - mx[m])",
 *       "s[m] = sum(n) e[m,n]",
 *       "y[m,n] = e[m,n] / s[m]" ],
 *     "policy": { "finite_inputs": true, "summation": "plain" },
 *     "tracks": { "f32": {} },
 *     "shapes": { "target": [ {"M": 4096, "N": 4096} ], "verify": [ {"M": 3, "N": 7} ] } }
 *
 * dims:   [min, max] is a variable, an integer a constant, a string a formula over earlier dims.
 * fill:   "normal" | "uniform" | "ints" | "zeros" | "ones" | "mask", or an object
 *         { "kind": ..., "mean", "std" | "low", "high" (for ints: formulas) | "p" (of mask) }.
 *         Without one: normal for floats, ints 0..7 for integers, mask for bool.
 * `dims` may also be an array of one-member objects and `tracks` an array of names: the canonical
 * form, because the order of dims and tracks means something and JSON objects have none.
 *
 * Body: one statement a line, single assignment, `#` starts a comment:
 *
 *   statement := NAME "[" index,... "]" "=" [reduction] expression
 *              | NAME "[" subscript,... "]" "+=" "(" index,... ")" expression
 *              | "use" SPEC "(" formal "=" actual ,... ")" ["with" DIM "=" formula ,...]
 *              | "seq" NAME ":" formula "{" statement... "}"
 *   reduction := OP "(" range,... ")"      OP: sum prod max min argmax argmin any all
 *   index     := NAME [":" formula]
 *   range     := index [("<" | "<=" | ">" | ">=") FREE-INDEX]
 *
 * A reduction is the outermost operation of its statement and its body is all that follows.  A
 * range bounded by a free index is a scan: y[n] = sum(j <= n) x[j]; `<` exclusive, `>=` and `>`
 * reverse.  The empty reduction yields the identity (argmax of nothing is an error at bind).  The
 * scalar target is written y[].  Targets list distinct index names that cover the whole tensor;
 * `+=` is scatter-add into an output, from zero.  Statements may stand in any order that has no
 * circle; the op has them in an order in which each reads what is written before.
 *
 * The extent of an index is what ":" says; else the target's, when its shape is known; else that of
 * the first tensor read with the plain index outside pad(); for a scan, else that of the bounding
 * index.  Without ":", all plain subscripts must agree; with it (a slice, a temporary that nothing
 * else sizes) they need only be inside.  Tensors not declared are temporaries: shape and dtype
 * follow from the statement.
 *
 * In a seq block the index is the first subscript of every target, and a tensor of the block may be
 * read at an earlier step: pad(h[t - 1, b, k], h0[b, k]).  `use` puts another spec's statements in
 * place of the line; its dims follow from the actual tensors' shapes, or from `with`.
 *
 * Expressions, loosest first: c ? a : b;  || ; && ; | ; ^ ; & ; == != ; < <= > >= ; << >> ; + - ;
 * * / % ; unary - ! ~ ; literals (1, 1.5, 1e-5, inf, nan, true, false), index and dim names (i64
 * values), reads x[...], pad(x[...]) and pad(x[...], value), where(c, a, b), casts f32(x) ...,
 * functions of EXPR_OPS.  Subscripts are integer expressions: quasi-affine, or with reads of
 * integer tensors (gather).  A read that can leave its tensor must be written pad(...), which
 * yields 0 or the given value there; in a branch that is not taken too.
 *
 * Types: literals take the other operand's type, so 1 / 3 * x[i] is a third of a float; float with
 * int gives the float; among floats, among ints, the wider (f16 with bf16 is an error that asks for
 * a cast); bools do not mix with numbers, and conditions are bool; a bare literal statement is f32
 * or i64.  A statement's value has exactly its target's type: y[i] = bf16(s[i]).  Operands keep
 * their own dtype where it differs from the operation's (n * x[n] with i64 n, f32 x): they are
 * converted to expr_operand_dtype, which is no cast and does not round in the real meaning, where
 * only explicit casts do.  Comparison gives bool.
 * Integer / and % floor; x / 0 and x % 0 are 0; overflow wraps at the type's width; shifts by less
 * than 0, or by the width or more, shift everything out.  % is for integers (fmod for floats), math
 * functions are for floats.  min and max propagate NaN, argmax takes the first (NaN wins).
 */
enum {
    OP_DIMS_MAX = 32,
    OP_TENSORS_MAX = 4096,
    OP_STATEMENTS_MAX = 1000,
    OP_RANK_MAX = 8,
    OP_LOOPS_MAX = 12,
    OP_SHAPES_MAX = 64,
    OP_EXPR_DEPTH_MAX = 200,
    OP_SPEC_BYTES_MAX = 4 << 20,
    OP_USE_DEPTH_MAX = 8
};
#define OP_NONE SIZE_MAX

/* id, name in text, arguments, class: OPERATOR (infix or prefix in text) or FUNCTION. */
#define EXPR_OPS(X)                                                                                \
    X(NEG, "-", 1, OPERATOR)                                                                       \
    X(NOT, "!", 1, OPERATOR)                                                                       \
    X(BITNOT, "~", 1, OPERATOR)                                                                    \
    X(ADD, "+", 2, OPERATOR)                                                                       \
    X(SUB, "-", 2, OPERATOR)                                                                       \
    X(MUL, "*", 2, OPERATOR)                                                                       \
    X(DIV, "/", 2, OPERATOR)                                                                       \
    X(MOD, "%", 2, OPERATOR)                                                                       \
    X(SHL, "<<", 2, OPERATOR)                                                                      \
    X(SHR, ">>", 2, OPERATOR)                                                                      \
    X(BITAND, "&", 2, OPERATOR)                                                                    \
    X(BITXOR, "^", 2, OPERATOR)                                                                    \
    X(BITOR, "|", 2, OPERATOR)                                                                     \
    X(LT, "<", 2, OPERATOR)                                                                        \
    X(LE, "<=", 2, OPERATOR)                                                                       \
    X(GT, ">", 2, OPERATOR)                                                                        \
    X(GE, ">=", 2, OPERATOR)                                                                       \
    X(EQ, "==", 2, OPERATOR)                                                                       \
    X(NE, "!=", 2, OPERATOR)                                                                       \
    X(AND, "&&", 2, OPERATOR)                                                                      \
    X(OR, "||", 2, OPERATOR)                                                                       \
    X(ABS, "abs", 1, FUNCTION)                                                                     \
    X(SIGN, "sign", 1, FUNCTION)                                                                   \
    X(EXP, "exp", 1, FUNCTION)                                                                     \
    X(EXP2, "exp2", 1, FUNCTION)                                                                   \
    X(EXPM1, "expm1", 1, FUNCTION)                                                                 \
    X(LOG, "log", 1, FUNCTION)                                                                     \
    X(LOG2, "log2", 1, FUNCTION)                                                                   \
    X(LOG1P, "log1p", 1, FUNCTION)                                                                 \
    X(SQRT, "sqrt", 1, FUNCTION)                                                                   \
    X(RSQRT, "rsqrt", 1, FUNCTION)                                                                 \
    X(SIN, "sin", 1, FUNCTION)                                                                     \
    X(COS, "cos", 1, FUNCTION)                                                                     \
    X(TAN, "tan", 1, FUNCTION)                                                                     \
    X(ASIN, "asin", 1, FUNCTION)                                                                   \
    X(ACOS, "acos", 1, FUNCTION)                                                                   \
    X(ATAN, "atan", 1, FUNCTION)                                                                   \
    X(SINH, "sinh", 1, FUNCTION)                                                                   \
    X(COSH, "cosh", 1, FUNCTION)                                                                   \
    X(TANH, "tanh", 1, FUNCTION)                                                                   \
    X(ERF, "erf", 1, FUNCTION)                                                                     \
    X(ERFC, "erfc", 1, FUNCTION)                                                                   \
    X(FLOOR, "floor", 1, FUNCTION)                                                                 \
    X(CEIL, "ceil", 1, FUNCTION)                                                                   \
    X(TRUNC, "trunc", 1, FUNCTION)                                                                 \
    X(RINT, "rint", 1, FUNCTION)                                                                   \
    X(ISNAN, "isnan", 1, FUNCTION)                                                                 \
    X(ISINF, "isinf", 1, FUNCTION)                                                                 \
    X(MIN, "min", 2, FUNCTION)                                                                     \
    X(MAX, "max", 2, FUNCTION)                                                                     \
    X(POW, "pow", 2, FUNCTION)                                                                     \
    X(ATAN2, "atan2", 2, FUNCTION)                                                                 \
    X(FMOD, "fmod", 2, FUNCTION)                                                                   \
    X(FMA, "fma", 3, FUNCTION)                                                                     \
    X(WHERE, "where", 3, FUNCTION)

enum expr_op {
    EXPR_FLOAT, /* literal */
    EXPR_INT,   /* literal; also bool */
    EXPR_INDEX, /* value of loop `loop` of the statement, i64 */
    EXPR_DIM,   /* value of dim `dim`, i64 */
    EXPR_READ,
    EXPR_CAST, /* to dtype; rounds also in the real meaning.  tf32: see `tf32` */
#define X(id, text, arity, class) EXPR_##id,
    EXPR_OPS(X)
#undef X
        EXPR_OP_COUNT
};

struct op_place {
    int line;   /* of the body, from 1 */
    int column; /* in bytes, from 1 */
};

struct expr {
    enum expr_op op;
    enum dtype dtype;
    bool weak;       /* a literal (or operation on literals) that takes the other operand's type */
    bool tf32;       /* EXPR_CAST written tf32(x): rounds to tf32, dtype stays f32 */
    double real;     /* EXPR_FLOAT */
    int64_t integer; /* EXPR_INT */
    size_t loop;     /* EXPR_INDEX: position in stmt.loops */
    size_t dim;      /* EXPR_DIM: position in op.dims */
    size_t tensor;   /* EXPR_READ */
    size_t rank;     /* EXPR_READ: subscripts, as many as the tensor's rank */
    const struct expr *const *subs; /* EXPR_READ */
    const struct expr *pad;         /* EXPR_READ: value outside; NULL = proved inside */
    const struct expr *args[3];
    struct op_place place;
};

#define REDUCE_OPS(X)                                                                              \
    X(SUM, "sum")                                                                                  \
    X(PROD, "prod")                                                                                \
    X(MAX, "max")                                                                                  \
    X(MIN, "min")                                                                                  \
    X(ARGMAX, "argmax")                                                                            \
    X(ARGMIN, "argmin")                                                                            \
    X(ANY, "any")                                                                                  \
    X(ALL, "all")
enum reduce_op {
    REDUCE_NONE,
#define X(id, text) REDUCE_##id,
    REDUCE_OPS(X)
#undef X
};

enum range_bound { RANGE_FULL, RANGE_LT, RANGE_LE, RANGE_GT, RANGE_GE };

struct loop {
    struct str name;
    const struct formula *extent; /* iterates 0 .. extent-1 */
    bool reduced;
    enum range_bound bound; /* of a scan: this loop's value against loop `bound_loop`'s */
    size_t bound_loop;
};

struct stmt {
    size_t target; /* tensor */
    const struct loop
        *loops; /* the target's indices in its order, then the reduced ones in theirs */
    size_t loop_count;
    size_t free_count;
    enum reduce_op reduce; /* argmax: value is the flat index over the reduced loops, row-major */
    const struct expr *value;
    const struct expr *const *scatter; /* NULL, or the target's subscripts: target[scatter] +=
                                          value; then no loop is free in the sense above: all are in
                                          `loops`, free_count = 0, reduce = REDUCE_SUM */
    size_t seq;                        /* index into op.seqs, OP_NONE outside */
    struct op_place place;
};

struct seq {
    struct str index; /* loops[0] of each of its statements */
    const struct formula *extent;
    size_t first, count; /* its statements: contiguous */
};

enum dim_kind { DIM_VAR, DIM_CONST, DIM_FORMULA };
struct dim {
    struct str name;
    enum dim_kind kind;
    int64_t min, max;              /* DIM_VAR */
    int64_t value;                 /* DIM_CONST */
    const struct formula *formula; /* DIM_FORMULA */
};

enum fill_kind { FILL_NORMAL, FILL_UNIFORM, FILL_INTS, FILL_ZEROS, FILL_ONES, FILL_MASK };
struct fill {
    enum fill_kind kind;
    double a, b; /* normal: mean, std; uniform: low, high; mask: probability of 1 in a */
    const struct formula *low, *high; /* ints, inclusive */
};

struct tensor {
    struct str name;
    bool temporary;
    enum role role; /* of declared tensors */
    enum dtype dtype;
    size_t rank;
    const struct formula *shape[OP_RANK_MAX];
    struct fill fill;  /* input, weight, state */
    int64_t align;     /* bytes, power of two, at least the element's size */
    size_t may_alias;  /* tensor whose storage this output may share, or OP_NONE */
    size_t written_by; /* statement, OP_NONE for inputs */
};

enum summation { SUMMATION_PLAIN, SUMMATION_COMPENSATED };
struct policy {
    bool finite_inputs;       /* true: NaN and infinities never arrive, and any handling of them is
                                 accepted */
    bool zero_dims;           /* dims may be 0 */
    bool deterministic;       /* the spec demands bitwise repeatability */
    enum summation summation; /* compensated: error of sums independent of their length */
};

/* A track is an accuracy class; `compute` is what products may be rounded to (F32 = not below f32).
 */
enum compute { COMPUTE_F64, COMPUTE_F32, COMPUTE_TF32, COMPUTE_F16, COMPUTE_BF16 };
struct track {
    struct str name; /* "f64" "f32" "tf32" "f16" "bf16": names are those of `compute` */
    enum compute compute;
};

struct shape {
    const int64_t *values; /* by dim, all dims, evaluated */
};

struct op {
    struct str name, doc;
    const struct dim *dims;
    size_t dim_count;
    const struct tensor *tensors; /* declared ones first, in document order */
    size_t tensor_count;
    size_t declared_count;
    const struct stmt
        *stmts; /* in an order in which each reads only what is written before (seq aside) */
    size_t stmt_count;
    const struct seq *seqs;
    size_t seq_count;
    struct policy policy;
    const struct track *tracks; /* at least one; the first is the default */
    size_t track_count;
    const struct shape *targets; /* at least one */
    size_t target_count;
    const struct shape *verify;
    size_t verify_count;
    const struct str *body; /* the lines, for error carets and printing */
    size_t body_count;
    struct hash hash; /* of the canonical document */
};

/* Finds another spec's text for `use NAME`; false when there is none.  May be NULL. */
struct op_library {
    bool (*find)(void *context, struct arena *arena, struct str name, struct str *text);
    void *context;
};

/*
 * Parse and check a spec.  `source` names it in errors: "softmax.json: body line 2, column 9: ..."
 * with the line, a caret and a remedy.  Checks: names, types, single assignment, order, extents
 * agree, targets covered, each access at every target and verify shape provably inside its tensor
 * or padded.
 */
bool op_parse(struct arena *arena, struct str text, const char *source,
              const struct op_library *library, const struct op **out, struct err *err) MUST_USE;

/* Well-formedness of any op, also of one made by a rewrite; run between passes. */
bool op_check(const struct op *op, struct err *err) MUST_USE;

/* The canonical JSON document of an op (temporaries' types are not written); parses back to an
 * equal op. */
void op_print_json(struct buf *out, const struct op *op);
/* The body as text, one statement a line. */
void op_print_body(struct buf *out, const struct op *op);
void op_print_stmt(struct buf *out, const struct op *op, const struct stmt *stmt);
void op_print_expr(struct buf *out, const struct op *op, const struct stmt *stmt,
                   const struct expr *expr);

size_t op_tensor_find(const struct op *op, struct str name); /* OP_NONE */
size_t op_dim_find(const struct op *op, struct str name);
bool op_track_find(const struct op *op, struct str name, const struct track **out);
const char *expr_op_name(enum expr_op op);
const char *reduce_op_name(enum reduce_op op);
const char *compute_name(enum compute compute);
bool compute_is_narrow(enum compute compute); /* of 16 bits */

/* ---- binding to a shape ---- */

struct bound_tensor {
    int64_t shape[OP_RANK_MAX];
    int64_t strides[OP_RANK_MAX]; /* elements, row-major */
    int64_t count;                /* elements */
    int64_t bytes;
};

/* An op with every dim a number. */
struct bound_op {
    const struct op *op;
    const int64_t *dims;                /* by dim */
    const struct bound_tensor *tensors; /* by tensor */
    const int64_t *const *extents;      /* [stmt][loop] */
    struct formula_env env;             /* dims by name */
};

/* Dims given by name; the rest must be constants or formulas.  Checks ranges, zero dims, bounds of
 * each access, totals below 2^40 elements. */
bool op_bind(struct arena *arena, const struct op *op, const struct formula_env *dims,
             const struct bound_op **out, struct err *err) MUST_USE;
bool op_bind_shape(struct arena *arena, const struct op *op, const struct shape *shape,
                   const struct bound_op **out, struct err *err) MUST_USE;
/* "M=4096,N=128" to an environment, and back ("M=4096 N=128", variables only). */
bool op_parse_dims(struct arena *arena, const struct op *op, struct str text,
                   struct formula_env *out, struct err *err) MUST_USE;
void op_print_dims(struct buf *out, const struct bound_op *bound);

/* ---- shape of expressions ---- */

/* An integer expression as sum of coefficient * loop + constant at a bound shape.  false when it is
 * not affine. */
struct affine {
    int64_t coefficient[OP_LOOPS_MAX]; /* by loop of the statement */
    int64_t constant;
};
bool expr_affine(const struct bound_op *bound, const struct stmt *stmt, const struct expr *expr,
                 struct affine *out);
/* Interval of an integer expression over the statement's iteration domain; false when unbounded (a
 * read of an integer tensor has its fill's interval, else none). */
bool expr_interval(const struct bound_op *bound, size_t stmt, const struct expr *expr, int64_t *low,
                   int64_t *high);
bool expr_reads_data(const struct expr *expr); /* some EXPR_READ inside */
/* The operand of what means nothing: x * 1, x / 1, x + 0, x - 0, -(-x) and those again.  A zero may
 * change its sign, no other value changes. */
const struct expr *expr_exact(const struct expr *expr);
/* The type in which an operation's operands meet: its dtype; of a comparison (or isnan) the common
 * type of its arguments; of where() that of its two values. */
enum dtype expr_operand_dtype(const struct expr *expr);

/* The i-th subscript of a read is the loop `first + i`, plainly, for all of `count`; no pad. */
bool expr_reads_loops(const struct op *op, const struct expr *read, size_t first, size_t count);
/* Calls visit for every node, parents before children; pads and subscripts included. */
typedef void expr_visitor(void *context, const struct expr *expr);
void expr_walk(const struct expr *expr, expr_visitor *visit, void *context);
/* The same for all that a statement evaluates: its value, then where it scatters to. */
void stmt_walk(const struct op *op, const struct stmt *stmt, expr_visitor *visit, void *context);

#endif
