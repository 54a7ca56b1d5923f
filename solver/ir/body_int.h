#ifndef SOLVER_IR_BODY_INT_H
#define SOLVER_IR_BODY_INT_H

#include "solver/ir/op_int.h"

/* Shared by body.c (statements) and body_expr.c (expressions): one token of lookahead; a copy of
 * the struct is a place to return to. */
struct parser {
    struct arena *arena;
    struct lexer lexer;
    struct token token;
    int nesting;
};

bool parser_advance(struct parser *p, struct err *err) MUST_USE;
bool parser_is(const struct parser *p, const char *punct);
/* Step over `punct`, or complain that it is missing. */
bool parser_expect(struct parser *p, const char *punct, const char *why, struct err *err) MUST_USE;
bool parser_name(struct parser *p, const char *what, struct token *out, struct err *err) MUST_USE;
bool parser_fail(const struct parser *p, const char *wanted, struct err *err);
bool parser_expr(struct parser *p, const struct node **out, struct err *err) MUST_USE;
/* The subscripts after "[" up to and including "]". */
bool parser_subscripts(struct parser *p, const struct node **subs, size_t *count,
                       struct err *err) MUST_USE;
bool reduce_find(struct str name, enum reduce_op *out);

#endif
