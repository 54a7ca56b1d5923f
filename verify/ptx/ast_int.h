#ifndef VERIFY_PTX_AST_INT_H
#define VERIFY_PTX_AST_INT_H

#include "base/map.h"

#include "verify/ptx/ptx.h"
#include "verify/ptx/space_int.h"

/*
 * What the parser makes of PTX text: variables, functions, instructions with unresolved types.  It
 * lives in the loader's scratch arena and dies when the module is decoded.
 */

enum mnemonic {
    MN_unknown,
#define OP(id, text, decoder, tier, dests) MN_##id,
#include "verify/ptx/ptx_ops.def"
    MN_COUNT
};

enum mod {
    MOD_none,
#define TYPE(id, text, kind, bits) MOD_##id,
#define MOD(id, text)              MOD_##id,
#include "verify/ptx/ptx_mods.def"
    MOD_COUNT
};

enum type_kind { TYPE_NONE, TYPE_B, TYPE_U, TYPE_S, TYPE_F, TYPE_P, TYPE_X };

struct mod_info {
    const char *text;
    enum type_kind kind;
    int bits; /* of a type, else 0 */
};
const struct mod_info *ast_mod(enum mod mod);

struct op_info {
    const char *text;
    int tier;
    int dests;
};
const struct op_info *ast_op(enum mnemonic mnemonic);

enum {
    AST_MODS_MAX = 14,
    AST_NAME_BYTES_MAX = 4096,
    AST_NESTING_MAX = 64,
    AST_INSNS_MAX = 1 << 19,
    AST_OPERANDS_MAX = 1 << 21,
    AST_REGS_MAX = 1 << 20, /* of one function, counting only those used */
    AST_VARS_MAX = 1 << 16,
    AST_FUNCS_MAX = 1 << 13,
};
#define AST_BYTES_MAX                                                                              \
    ((size_t)1 << 30) /* of the load's scratch arena: checked at each statement                    \
                       */

enum { NO_REG = UINT32_MAX };

enum operand_kind {
    OPERAND_NONE,
    OPERAND_REG,
    OPERAND_IMM,
    OPERAND_VAR, /* address of a variable or formal parameter, plus imm */
    OPERAND_FUNC,
    OPERAND_SREG,
    OPERAND_MEM, /* [reg + imm], [var + imm] or [imm] */
    OPERAND_VEC,
    OPERAND_SINK,
    OPERAND_LABEL,
    OPERAND_ARGS, /* ( ... ) of a call */
};

struct ast_operand {
    enum operand_kind kind;
    bool negated;   /* !p */
    bool is_float;  /* imm holds the bits of a float */
    bool is_single; /* ... of an f32 */
    uint32_t reg;   /* of REG, and of MEM with a register base; else NO_REG */
    uint32_t pair;  /* p|q: the second register, NO_REG = none or sink */
    uint32_t index; /* variable, function, special register, label */
    bool has_var;   /* MEM: index names a variable */
    int64_t imm;
    uint32_t first, count; /* VEC, ARGS, and coordinates of MEM: elements in operands[] */
};

struct ast_insn {
    enum mnemonic mnemonic;
    uint8_t mod_count;
    uint16_t mods[AST_MODS_MAX]; /* enum mod; MOD_none = unknown */
    uint32_t guard;              /* register, NO_REG = none */
    bool guard_negated;
    uint32_t first, count; /* operands */
    int line;              /* in the PTX */
    uint32_t loc;          /* 1 + index into locs, 0 = none */
    struct str text;
};

struct ast_reg {
    enum mod type;
    int bits; /* 1, 8, 16, 32, 64, 128 */
};

struct ast_var {
    struct str name;
    enum space space;
    uint32_t func; /* owner: 1 + index, 0 = module */
    bool is_formal, is_return, is_extern, unsized;
    bool referenced;
    bool address_taken; /* used otherwise than as the base of a load */
    uint64_t bytes, align;
    const uint8_t *init; /* NULL = zero */
    uint64_t init_bytes;
    const struct ast_reloc *relocs;
    size_t reloc_count;
    uint64_t place; /* shared: offset; local: frame offset; global: region; param: offset */
};

struct ast_reloc {
    uint64_t offset;
    bool is_func;
    uint32_t index;
    int64_t addend;
    const struct ast_reloc *next;
};

struct ast_loc {
    uint32_t file;
    int line, column;
    uint32_t inlined_at; /* 1 + index of the call's loc, 0 = not inlined */
};

struct ast_func {
    struct str name;
    bool is_entry, has_body;
    int line;
    const struct ast_insn *insns;
    size_t insn_count;
    const struct ast_reg *regs;
    size_t reg_count;
    const uint32_t *labels; /* instruction index of each */
    size_t label_count;
    const uint32_t *formals; /* variables */
    size_t formal_count;
    const uint32_t *returns;
    size_t return_count;
    uint32_t max_threads[3], cluster[3];
};

struct ast_module {
    const struct ast_operand *operands;
    struct ast_func *funcs;
    size_t func_count;
    struct ast_var *vars;
    size_t var_count;
    const struct ast_loc *locs;
    size_t loc_count;
    const struct str *files; /* by number, may be empty */
    size_t file_count;
};

bool ast_parse(struct arena *scratch, struct str text, struct ast_module *out,
               struct err *err) MUST_USE;

/* ---- lexing ---- */

enum token_kind {
    TOKEN_END,
    TOKEN_WORD,   /* mnemonics with their modifiers, names, directives, special registers */
    TOKEN_NUMBER, /* value in `bits` */
    TOKEN_STRING,
    TOKEN_PUNCT,
};

struct token {
    enum token_kind kind;
    struct str text;
    char punct;
    int line;
    uint64_t bits;
    bool is_float, is_single;
};

struct lexer {
    struct str text;
    size_t at;
    int line;
    size_t line_start;
    struct token token; /* the current one */
};

void lex_init(struct lexer *lexer, struct str text);
bool ptx_lex_next(struct lexer *lexer, struct err *err) MUST_USE;
/* A number that starts at text.at[at]; the bytes it takes, 0 = malformed. */
size_t lex_number(struct str text, size_t at, struct token *token);
bool lex_fail(const struct lexer *lexer, struct err *err, const char *fmt, ...) PRINTF_LIKE(3, 4);

#endif
