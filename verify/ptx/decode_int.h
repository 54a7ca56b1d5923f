#ifndef VERIFY_PTX_DECODE_INT_H
#define VERIFY_PTX_DECODE_INT_H

#include "verify/ptx/ast_int.h"
#include "verify/ptx/lanes_int.h"
#include "verify/ptx/parse_int.h"

/*
 * From parsed instructions to decoded ones: what the decoder's files share.
 */

/* Where liveness.c puts the registers of a function. */
struct allocation {
    uint32_t *slots; /* by register: byte offset, or predicate number */
    uint32_t window_bytes;
    uint32_t predicates;
    bool *maybe_undefined;     /* by register: may hold a value never written; NULL = none may */
    const uint32_t *undefined; /* registers that are read before written on some path */
    uint32_t undefined_count;
};

void liveness_allocate(struct arena *arena, const struct ast_module *ast,
                       const struct ast_func *func, struct allocation *out);
/* How many leading operands of an instruction are written. */
uint32_t liveness_dests(const struct ast_insn *insn);

struct fixup {
    uint32_t insn; /* index in code */
    uint32_t label;
    uint32_t slot; /* of a branch table; UINT32_MAX = u.target */
};

struct decoder {
    struct arena *arena;   /* of the module */
    struct arena *scratch; /* of the load */
    const struct isa *isa;
    struct ast_module *ast;
    VEC(struct insn) code;
    VEC(struct insn_info) infos;
    VEC(unsigned char) constants;
    struct map constant_map;
    uint32_t common_shared; /* bytes */
    uint64_t *regions;      /* of each variable: 1 + module_var */

    /* of the function */
    uint32_t func;
    const struct ast_func *ast_func;
    struct func *out;
    struct allocation regs;
    const struct ast_operand **constant_of; /* by register: what its one mov gives it, or NULL */
    uint32_t dynamic_shared;                /* offset of unsized shared variables, entries only */
    VEC(struct fixup) fixups;
    const uint32_t *label_insns;
    const struct flow_joint *joint; /* NULL = not asked for yet */

    /* of the instruction */
    const struct ast_insn *insn;
    uint16_t guard;
    uint32_t scratch_used;
    const char *why; /* it cannot run, beyond its name */
};

/* A decoder of one mnemonic: false = cannot run. */
typedef bool decode_fn(struct decoder *d, const struct ast_insn *a);
#define OP(id, text, decoder, tier, dests) decode_fn decode_##decoder;
#include "verify/ptx/ptx_ops.def"

/* Decodes function `index` of the AST into *out, appending to the code. */
void decode_function(struct decoder *d, uint32_t index);

/* ---- emitting ---- */

void emit(struct decoder *d, exec_fn *fn, struct insn insn);
void emit_lane(struct decoder *d, enum lane_op op, struct insn insn);
/* A place for intermediate values, free again at the next instruction. */
uint32_t scratch_slot(struct decoder *d);
uint32_t constant32(struct decoder *d, uint32_t value);
uint32_t constant64(struct decoder *d, uint64_t value);
bool cannot(struct decoder *d, const char *why);

/* ---- operands ---- */

const struct ast_operand *operand_at(const struct decoder *d, uint32_t index);
/* Operand `index` as a source or destination of a type of `bits`; false = it is none. */
bool source(struct decoder *d, const struct ast_operand *o, enum mod type, uint32_t *out);
bool source_bits(struct decoder *d, const struct ast_operand *o, int bits, uint32_t *out);
bool dest(struct decoder *d, const struct ast_operand *o, int bits, uint32_t *out);
/* The number an operand is known to be: an immediate, or a register that is only ever given one. */
bool constant_value(const struct decoder *d, const struct ast_operand *o, uint64_t *out);
bool pred_source(struct decoder *d, const struct ast_operand *o, uint16_t *out);
bool pred_dest(struct decoder *d, uint32_t reg, uint16_t *out);
int operand_bits(const struct decoder *d, const struct ast_operand *o);

/* An address operand. */
struct address {
    uint32_t base; /* operand */
    bool wide;     /* of 64-bit lanes */
    int64_t imm;
    enum space space; /* of the variable it names, else as given */
};
bool decode_address(struct decoder *d, const struct ast_operand *o, enum space space,
                    struct address *out);
/* The state space among the modifiers; param in a function's body is local memory. */
enum space decode_space(const struct decoder *d, const struct ast_insn *a);
uint8_t strength(const struct ast_insn *a); /* STRONG_* */

/* ---- modifiers ---- */

bool has(const struct ast_insn *a, enum mod mod);
enum mod type_at(const struct ast_insn *a, int n);
int type_bits(enum mod type);
bool type_is_signed(enum mod type);
bool type_is_float(enum mod type); /* f32, f64, f16, bf16 and their pairs */
int rounding_of(const struct ast_insn *a);
/* 0, 1, 2 for 16, 32, 64 bits; -1 otherwise. */
int width_index(int bits);

#endif
