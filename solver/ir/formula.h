#ifndef SOLVER_IR_FORMULA_H
#define SOLVER_IR_FORMULA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/*
 * Integer expressions over dims, 64 bits, checked: the language of extents, guards, grids,
 * workspace sizes and shared-memory bytes.
 *
 *   or    := and ("||" and)*          and := cmp ("&&" cmp)*
 *   cmp   := sum (("=="|"!="|"<"|"<="|">"|">=") sum)?
 *   sum   := term (("+"|"-") term)*   term := unary (("*"|"/"|"%") unary)*
 *   unary := ("-"|"!") unary | primary
 *   primary := INTEGER | NAME | "true" | "false" | "(" or ")"
 *            | ("ceildiv"|"min"|"max") "(" or "," or ")"
 *
 * Division and remainder truncate as in C.  Truth is 1 and 0.  Overflow, division by zero and an
 * unknown name are errors at evaluation; && and || short-circuit.
 */
#define FORMULA_OPS(X)                                                                             \
    X(ADD, "+")                                                                                    \
    X(SUB, "-")                                                                                    \
    X(MUL, "*")                                                                                    \
    X(DIV, "/")                                                                                    \
    X(MOD, "%")                                                                                    \
    X(EQ, "==")                                                                                    \
    X(NE, "!=")                                                                                    \
    X(LT, "<")                                                                                     \
    X(LE, "<=")                                                                                    \
    X(GT, ">")                                                                                     \
    X(GE, ">=")                                                                                    \
    X(AND, "&&")                                                                                   \
    X(OR, "||")                                                                                    \
    X(CEILDIV, "ceildiv")                                                                          \
    X(MIN, "min")                                                                                  \
    X(MAX, "max")

enum formula_op {
    FORMULA_INT,
    FORMULA_NAME,
    FORMULA_NEG,
    FORMULA_NOT,
#define X(id, text) FORMULA_##id,
    FORMULA_OPS(X)
#undef X
};

struct formula {
    enum formula_op op;
    int64_t value;   /* FORMULA_INT */
    struct str name; /* FORMULA_NAME */
    const struct formula *a, *b;
};

enum { FORMULA_DEPTH_MAX = 64, FORMULA_BYTES_MAX = 4096 };

/* Names and their values. */
struct formula_env {
    const struct str *names;
    const int64_t *values;
    size_t count;
};

/* `what` names the place in errors: "kernels[0].grid[1]", or is "".  The error has the text and a
 * caret.  A minus directly before an integer belongs to the integer. */
bool formula_parse(struct arena *arena, struct str text, const char *what,
                   const struct formula **out, struct err *err) MUST_USE;
bool formula_eval(const struct formula *formula, const struct formula_env *env, int64_t *out,
                  struct err *err) MUST_USE;
/* Canonical text with the fewest parentheses; also valid CUDA C when ceildiv, min, max are
 * functions. */
void formula_print(struct buf *out, const struct formula *formula);
const struct formula *formula_int(struct arena *arena, int64_t value);
const struct formula *formula_name(struct arena *arena, struct str name);
const struct formula *formula_binary(struct arena *arena, enum formula_op op,
                                     const struct formula *a, const struct formula *b);
/* a * b without factors of 1; the product of several. */
const struct formula *formula_mul(struct arena *arena, const struct formula *a,
                                  const struct formula *b);
const struct formula *formula_count(struct arena *arena, const struct formula *const *extents,
                                    size_t count);
/* a && b without a repeated condition; NULL and 1 are true. */
const struct formula *formula_and(struct arena *arena, const struct formula *a,
                                  const struct formula *b);
bool formula_equal(const struct formula *a, const struct formula *b);
/* Names are borrowed; NULL of NULL. */
const struct formula *formula_copy(struct arena *arena, const struct formula *formula);
/* The first name in the formula that is not in `names`, or an empty str. */
struct str formula_unknown_name(const struct formula *formula, const struct str *names,
                                size_t count);

#endif
