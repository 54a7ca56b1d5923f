#ifndef SOLVER_IR_RESOLVE_INT_H
#define SOLVER_IR_RESOLVE_INT_H

#include "solver/ir/op_int.h"

/* Shared by resolve.c (statements) and resolve_expr.c (their expressions). */
struct resolver {
    struct builder *b;
    struct scope *scope;
    struct typer typer;
    const struct ast *ast;
    struct stmt stmt;
    struct loop loops[OP_LOOPS_MAX];
    struct str written[OP_LOOPS_MAX]; /* names of the loops in the text */
    bool explicit[OP_LOOPS_MAX];      /* the text gives the extent */
};
bool resolve_expr(struct resolver *r, const struct node *node, const struct expr **out,
                  struct err *err) MUST_USE;
bool resolve_subscript(struct resolver *r, const struct node *node, const struct expr **out,
                       struct err *err) MUST_USE;

#endif
