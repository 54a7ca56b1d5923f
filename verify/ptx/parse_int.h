#ifndef VERIFY_PTX_PARSE_INT_H
#define VERIFY_PTX_PARSE_INT_H

#include <string.h>

#include "verify/ptx/ast_int.h"

/*
 * State of the parser.  Names live in one map from text to the innermost binding; a scope's
 * bindings are popped at its closing brace, which puts the shadowed ones back.
 */

enum binding_kind {
    BIND_NONE,
    BIND_REG,
    BIND_RANGE,
    BIND_VAR,
    BIND_FUNC,
    BIND_PROTO,
    BIND_TARGETS
};

struct binding {
    enum binding_kind kind;
    struct str name;
    uint32_t index;    /* register, variable, function, first operand of targets */
    uint32_t count;    /* of a range or of targets */
    uint32_t shadowed; /* 1 + binding of the same name, 0 = none */
    enum mod type;
    uint32_t *regs; /* of a range: 1 + register, by number; grows to the highest used */
    uint32_t room;
};

struct label_ref {
    uint32_t operand; /* to patch */
    uint32_t scope;
    struct str name;
    int line;
};

struct label_def {
    uint32_t scope;
    struct str name;
    uint32_t label;
};

/* A growing array in the scratch arena. */
#define VEC(type)                                                                                  \
    struct {                                                                                       \
        type *at;                                                                                  \
        size_t count, room;                                                                        \
    }
#define VEC_PUSH(arena, vec, type)                                                                 \
    (*((vec)->count < (vec)->room                                                                  \
           ? &(vec)->at[(vec)->count++]                                                            \
           : ((vec)->at = parse_grow((arena), (vec)->at, sizeof(type), &(vec)->room),              \
              &(vec)->at[(vec)->count++])))
void *parse_grow(struct arena *arena, void *old, size_t size, size_t *room);

struct parser {
    struct arena *arena;
    struct lexer lex;
    struct err *err;
    struct map names;     /* 1 + binding, 0 = unbound */
    struct map mnemonics; /* enum mnemonic */
    struct map mods;      /* enum mod */
    struct map sregs;     /* enum sreg */
    VEC(struct binding) bindings;
    size_t scope_start[AST_NESTING_MAX + 1]; /* bindings before each open scope */
    uint32_t scope_id[AST_NESTING_MAX + 1];
    uint32_t scopes; /* ever opened */
    int depth;

    VEC(struct ast_operand) operands;
    VEC(struct ast_func) funcs;
    VEC(struct ast_var) vars;
    VEC(struct ast_loc) locs;
    VEC(struct str) files;

    /* of the function being parsed */
    uint32_t func; /* 1 + index, 0 = module level */
    VEC(struct ast_insn) insns;
    VEC(struct ast_reg) regs;
    VEC(uint32_t) labels;
    VEC(struct label_ref) label_refs;
    VEC(struct label_def) label_defs;
    uint32_t loc;
    uint64_t bytes_declared;
};

/* Tokens. */
bool parse_next(struct parser *p) MUST_USE;
bool parse_is(const struct parser *p, char punct);
bool parse_word_is(const struct parser *p, const char *word);
bool parse_eat(struct parser *p, char punct, bool *found) MUST_USE;
bool parse_expect(struct parser *p, char punct) MUST_USE;
bool parse_uint(struct parser *p, uint64_t max, uint64_t *out) MUST_USE;
bool parse_skip_balanced(struct parser *p) MUST_USE;

/* Names. */
struct binding *parse_lookup(struct parser *p, struct str name);
/* As parse_lookup, but past ranges, whose stem is no name. */
struct binding *parse_lookup_name(struct parser *p, struct str name);
struct binding *parse_bind(struct parser *p, struct str name, enum binding_kind kind,
                           uint32_t index);
bool parse_open_scope(struct parser *p) MUST_USE;
bool parse_close_scope(struct parser *p) MUST_USE;
/* NO_REG when `name` is no register. */
bool parse_register(struct parser *p, struct str name, uint32_t *out) MUST_USE;
enum mod parse_mod(const struct parser *p, struct str text);

/* parse_decl.c */
bool parse_reg_decl(struct parser *p) MUST_USE;
bool parse_var_decl(struct parser *p, enum space space, bool is_extern, bool formal,
                    uint32_t *out) MUST_USE;
bool parse_loc(struct parser *p) MUST_USE;
bool parse_file(struct parser *p) MUST_USE;

/* parse_body.c */
bool parse_body(struct parser *p) MUST_USE;

/* parse_operand.c */
bool parse_operand(struct parser *p, enum mnemonic mnemonic, struct ast_operand *out) MUST_USE;

#endif
