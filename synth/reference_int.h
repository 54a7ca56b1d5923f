#ifndef SYNTH_REFERENCE_INT_H
#define SYNTH_REFERENCE_INT_H

#include "synth/synth_int.h"

/*
 * Shared by the files of the reference: reference_expr.c prints expressions as straight-line code
 * over (value, bound) pairs, reference_loops.c statements, emit_reference.c the file.  Nothing here
 * is used by candidates.
 */

/* A kernel of the reference while it is written. */
struct ref_kernel {
    struct arena *arena;
    const struct op *op;
    const struct track *track;
    struct cuda out;
    bool *inputs;                    /* by tensor: the kernel reads its typed storage */
    bool *results;                   /* by tensor: it reads or writes value and bound */
    const struct formula **formulas; /* numbers that the host hands over: n0, n1, ... */
    size_t formula_count;
    int lines;           /* so far; names are numbered */
    const double *least; /* by tensor: no honest value is below */
};

/* A variable of the text, num or whole. */
struct ref_value {
    const char *name;
    enum dtype dtype;
    double least;           /* no honest value is below; -INFINITY when unknown */
    const char *p, *q;      /* of a difference p - q; else NULL */
    const char *factors[2]; /* of a product */
    const struct expr *expr;
};

/* A statement being printed. */
struct ref_stmt {
    struct ref_kernel *kernel;
    const struct stmt *stmt;
    const char **loops; /* names */
};

const char *ref_number(struct ref_kernel *kernel, const struct formula *formula);
/* Prints the lines that compute the expression, converted to `as`. */
struct ref_value ref_print(struct ref_stmt *s, const struct expr *expr, enum dtype as);
/* A value without conversion. */
struct ref_value ref_print_own(struct ref_stmt *s, const struct expr *expr);
/* value as the target stores it: lines, then the name */
struct ref_value ref_assign(struct ref_stmt *s, struct ref_value value, enum dtype to);
/* A subscript as an i64 expression; *open gets a condition or NULL. */
const char *ref_subscript(struct ref_stmt *s, const struct expr *expr, const char **open);
const char *ref_position(struct ref_stmt *s, size_t tensor, const char *const *subs);
const char *ref_format(enum dtype dtype);                     /* "f32()" */
const char *ref_width(struct arena *arena, enum dtype dtype); /* "32, true" */
const char *ref_type(enum dtype dtype);                       /* "num" or "whole" */
const char *ref_literal(struct arena *arena, double value);
const char *ref_fresh(struct ref_kernel *kernel, const char *stem);

/* Prints a statement for a grid, or for one block inside a seq; `step` is then the loop's name. */
bool ref_statement(struct ref_kernel *kernel, const struct stmt *stmt, const char *step,
                   struct err *err) MUST_USE;

#endif
