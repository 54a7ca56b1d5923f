#ifndef SOLVER_IR_OP_INT_H
#define SOLVER_IR_OP_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/json.h"
#include "base/map.h"
#include "base/str.h"

#include "solver/ir/op.h"

/*
 * Shared by the files that turn a spec into an op:
 *
 *   spec.c      JSON document -> struct spec_doc           lex.c, body.c  body text -> struct ast
 *   order.c     order of statements, single assignment     resolve.c      ast -> stmt, extents
 *   type.c      types of expressions                       use.c          other specs expanded
 *   build.c     op_parse: the tables while an op grows     finish.c       arrays of the op
 *   op_check.c  well-formedness                            bounds.c       accesses at a shape
 */

/* ---- errors with line, caret and remedy ---- */

/* A body's lines, for carets. */
struct spec_text {
    const char *source; /* names the document */
    const struct str *lines;
    size_t count;
};

enum { REMEDY_BYTES = 200 };
struct remedy {
    char text[REMEDY_BYTES];
};
struct remedy remedy_say(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* "did you mean 'softmax'?", or `otherwise` when no known name is near. */
struct remedy remedy_nearest(struct arena *arena, struct str word, const struct str *known,
                             size_t count, const char *otherwise);

/* Raise "SOURCE: body line L, column C: message", the line, a caret and the remedy; false. */
bool text_fail(const struct spec_text *text, struct op_place place, const struct remedy *remedy,
               struct err *err, const char *fmt, ...) PRINTF_LIKE(5, 6);
/* The same in front of an error that a deeper parser raised. */
bool text_context(const struct spec_text *text, struct op_place place, struct err *err);

/* ---- tokens ---- */

enum token_kind { TOKEN_END, TOKEN_LINE_END, TOKEN_NAME, TOKEN_INT, TOKEN_FLOAT, TOKEN_PUNCT };
struct token {
    enum token_kind kind;
    struct str text;
    struct op_place place;
    int64_t integer;
    double real;
};
struct lexer {
    const struct spec_text *text;
    size_t line;   /* from 0 */
    size_t column; /* bytes consumed of the line */
};
bool lex_next(struct lexer *lexer, struct token *out, struct err *err) MUST_USE;
bool name_is_valid(struct str name);

/* ---- the body as written: names not yet looked up ---- */

struct node {
    enum expr_op op;
    struct str name;        /* EXPR_INDEX: of an index or dim; EXPR_READ: of the tensor */
    int64_t integer;        /* EXPR_INT */
    double real;            /* EXPR_FLOAT */
    enum dtype dtype;       /* EXPR_CAST */
    bool tf32;              /* EXPR_CAST */
    bool boolean;           /* EXPR_INT written true or false */
    bool padded;            /* EXPR_READ */
    const struct node *pad; /* value outside, NULL = 0 */
    const struct node *const *subs;
    size_t sub_count;
    const struct node *args[3];
    int depth;
    struct op_place place;
};

struct ast_range {
    struct str name;
    const struct formula *extent; /* NULL: to be inferred */
    enum range_bound bound;
    struct str bound_name;
    struct op_place place, extent_place, bound_place;
};

struct ast_bind {
    struct str name; /* formal tensor or dim */
    struct str actual;
    const struct formula *formula; /* of `with` */
    struct op_place place, actual_place;
};

enum ast_kind { AST_ASSIGN, AST_SCATTER, AST_USE, AST_SEQ };
struct ast {
    enum ast_kind kind;
    struct op_place place;
    struct str target; /* AST_USE: the spec; AST_SEQ: the index */
    struct ast_range frees[OP_RANK_MAX];
    size_t free_count; /* AST_ASSIGN: indices of the target; AST_SCATTER: subscripts */
    const struct node *subs[OP_RANK_MAX];  /* AST_SCATTER */
    struct ast_range ranges[OP_LOOPS_MAX]; /* reduced, or the loops of a scatter */
    size_t range_count;
    enum reduce_op reduce;
    const struct node *value;
    const struct ast_bind *binds, *withs; /* AST_USE */
    size_t bind_count, with_count;
    const struct spec_doc *used;
    const struct formula *extent; /* AST_SEQ */
    struct op_place extent_place;
    struct ast *const *children;
    size_t child_count;
};

/* `dims` tells `max(N, 3)` from `max(n) x[n]`. */
bool body_parse(struct arena *arena, const struct spec_text *text, const struct dim *dims,
                size_t dim_count, struct ast *const **out, size_t *count, struct err *err) MUST_USE;

/* ---- a spec as written ---- */

struct spec_shape {
    const struct json *json;
    const int64_t *given; /* by dim; set for variables */
};

struct spec_doc {
    struct str name, doc;
    struct spec_text text;
    const struct dim *dims;
    size_t dim_count;
    const struct tensor *tensors; /* declared; may_alias resolved */
    size_t tensor_count;
    const struct json *tensors_json;
    struct policy policy;
    const struct track *tracks;
    size_t track_count;
    const struct spec_shape *targets, *verify;
    size_t target_count, verify_count;
    struct ast *const *body;
    size_t body_count;
};
bool spec_load(struct arena *arena, struct str text, const char *source,
               const struct spec_doc **out, struct err *err) MUST_USE;
/* The declared tensor of that name, or NULL. */
const struct tensor *spec_tensor(const struct spec_doc *doc, struct str name);

/* ---- the op while it grows ---- */

/* A tensor's name in one scope or, through `use`, in several. */
struct symbol {
    struct str name;   /* in the op */
    size_t tensor;     /* OP_NONE until it is declared or written */
    size_t written_by; /* statement, OP_NONE until written */
    bool declared;     /* of the root spec */
    bool shape_known;  /* declared, output of a used spec, or written */
    bool dtype_known;
    bool dtype_assumed; /* taken from a pad value; checked when written */
    bool rank_known;    /* as shape_known, or from a read at an earlier step */
    enum dtype dtype;
    size_t rank;
    const struct formula *shape[OP_RANK_MAX];
    struct op_place place; /* where it is written */
};

struct scope {
    const struct spec_doc *doc;
    const struct scope *outer; /* NULL at the root */
    struct op_place use_place; /* of the outermost `use`; line 0 at the root */
    struct str prefix;         /* of temporaries; empty at the root */
    struct map symbols;        /* name -> index into builder.symbols */
    const size_t *dims;        /* by dim of doc: dim of the op */
};

struct builder {
    struct arena *arena;
    const char *source;
    const struct op_library *library;
    struct dim dims[OP_DIMS_MAX];
    struct str dim_names[OP_DIMS_MAX];
    size_t dim_count;
    /* Dims at each target and verify shape, in this order. */
    int64_t (*shapes)[OP_DIMS_MAX];
    size_t shape_count;
    struct symbol **symbols;
    size_t symbol_count, symbol_room;
    struct map names; /* of tensors in the op */
    struct tensor *tensors;
    size_t tensor_count, tensor_room;
    size_t declared_count;
    struct stmt *stmts;
    size_t stmt_count, stmt_room;
    struct seq *seqs;
    size_t seq_count, seq_room;
    size_t use_count;
};

struct symbol *scope_symbol(const struct builder *b, const struct scope *scope, struct str name);
struct symbol *symbol_new(struct builder *b, struct scope *scope, struct str name);
/* Give the symbol its place in the table of tensors. */
bool symbol_enter(struct builder *b, struct symbol *symbol, struct err *err) MUST_USE;
/* The place of the next statement, counted; of the next block, not counted yet. */
struct stmt *builder_stmt(struct builder *b);
struct seq *builder_seq(struct builder *b);
/* Names of all tensors that the scope knows, for remedies. */
const struct str *scope_names(const struct builder *b, const struct scope *scope, size_t *count);
/* The formula with the scope's dims replaced by the op's. */
bool scope_formula(const struct builder *b, const struct scope *scope,
                   const struct formula *formula, struct op_place place, const struct formula **out,
                   struct err *err) MUST_USE;
/* Equal as written, or at every target and verify shape. */
bool builder_extents_agree(const struct builder *b, const struct formula *one,
                           const struct formula *two);
bool builder_eval(const struct builder *b, const struct formula *formula, size_t shape,
                  int64_t *out, struct err *err) MUST_USE;
/* The dim that has this meaning, a new one if there is none. */
bool builder_dim(struct builder *b, const struct formula *formula, struct str prefix,
                 struct str name, size_t *out, struct err *err) MUST_USE;

/* Statements in an order in which each reads what earlier ones wrote; stable. */
bool ast_order(struct builder *b, struct scope *scope, struct ast *const *body, size_t count,
               struct ast *const **out, struct err *err) MUST_USE;
/* Load the specs that the body uses, into ast.used. */
bool use_load(struct builder *b, const struct scope *scope, struct ast *const *body, size_t count,
              struct err *err) MUST_USE;
bool use_expand(struct builder *b, struct scope *scope, const struct ast *use,
                struct err *err) MUST_USE;
bool resolve_body(struct builder *b, struct scope *scope, struct err *err) MUST_USE;

/* ---- types ---- */

/* Complaints of the type rules go to the place of the node. */
struct typer {
    struct arena *arena;
    const struct spec_text *text;
};
/* Fill dtype and weak of an operation whose args are set, pushing types into weak args. */
bool type_operation(const struct typer *t, struct expr *e, struct err *err) MUST_USE;
/* `e` as a `dtype`; weak expressions take it, others must have it. */
bool type_give(const struct typer *t, const struct expr *e, enum dtype dtype,
               const struct expr **out, struct err *err) MUST_USE;
/* A weak expression in its own right: f32 or i64. */
bool type_default(const struct typer *t, const struct expr *e, const struct expr **out,
                  struct err *err) MUST_USE;
enum dtype reduce_dtype(enum reduce_op reduce, enum dtype value);

/* ---- extents ---- */

/* The formula that a reader of the text would infer for a loop, its target aside; NULL when there
 * is none. */
struct extent_source {
    const struct tensor *tensors;
    size_t declared_count;
    size_t stmt; /* tensors written by this or later statements have no known shape */
};
const struct formula *extent_infer(const struct extent_source *source, const struct stmt *stmt,
                                   size_t loop);
/* Calls visit for each plain unpadded subscript `loop` of a tensor with a known shape. */
typedef void extent_visitor(void *context, const struct expr *read, const struct formula *extent);
void extent_walk(const struct extent_source *source, const struct stmt *stmt, size_t loop,
                 extent_visitor *visit, void *context);

/* ---- bound ops ---- */

/* As op_bind for dims already evaluated and checked; `where` names the document in errors. */
bool bind_values(struct arena *arena, const struct op *op, const int64_t *dims, const char *where,
                 const struct bound_op **out, struct err *err) MUST_USE;
bool bounds_check(const struct bound_op *bound, const char *where, struct err *err) MUST_USE;
/* Raise with the statement's line (or its text when it has none). */
bool stmt_fail(const struct op *op, const struct stmt *stmt, struct op_place place,
               const char *where, const struct remedy *remedy, struct err *err, const char *fmt,
               ...) PRINTF_LIKE(7, 8);
bool dims_eval(const struct op *op, int64_t *values, const char *where, struct err *err) MUST_USE;

/* A formula's text, for messages. */
const char *formula_text(struct arena *arena, const struct formula *formula);
/* Is the subscript smaller than the loop's value in every iteration? */
bool expr_precedes(const struct bound_op *bound, size_t stmt, const struct expr *expr, size_t loop);
bool expr_equal(const struct expr *a, const struct expr *b);
const char *fill_name(enum fill_kind kind);

#endif
