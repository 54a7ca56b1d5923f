/*
 * Operands and modifiers as the decoders see them.
 *
 * source() and dest() are the only way from text to an operand's place, and both compare the
 * register's bits with what the operation reads or writes, which keeps every access of the vector
 * code inside its register.  Immediates become broadcast constants; special registers and addresses
 * that depend on the call frame are computed into an intermediate place first.
 */
#include "verify/ptx/decode_int.h"
#include "verify/ptx/exec_int.h"
#include "verify/ptx/numeric_int.h"

bool has(const struct ast_insn *a, enum mod mod)
{
    for (int i = 0; i < a->mod_count; i++)
        if (a->mods[i] == mod)
            return true;
    return false;
}

enum mod type_at(const struct ast_insn *a, int n)
{
    for (int i = 0; i < a->mod_count; i++)
        if (ast_mod((enum mod)a->mods[i])->bits != 0 && n-- == 0)
            return (enum mod)a->mods[i];
    return MOD_none;
}

int type_bits(enum mod type)
{
    return ast_mod(type)->bits;
}

bool type_is_signed(enum mod type)
{
    return ast_mod(type)->kind == TYPE_S;
}

bool type_is_float(enum mod type)
{
    return ast_mod(type)->kind == TYPE_F || type == MOD_bf16 || type == MOD_f16x2 ||
           type == MOD_bf16x2;
}

int rounding_of(const struct ast_insn *a)
{
    if (has(a, MOD_rz) || has(a, MOD_rzi))
        return ROUND_RZ;
    if (has(a, MOD_rm) || has(a, MOD_rmi))
        return ROUND_RM;
    if (has(a, MOD_rp) || has(a, MOD_rpi))
        return ROUND_RP;
    return has(a, MOD_rna) ? ROUND_RNA : ROUND_RN;
}

int width_index(int bits)
{
    return bits == 16 ? 0 : bits == 32 ? 1 : bits == 64 ? 2 : -1;
}

const struct ast_operand *operand_at(const struct decoder *d, uint32_t index)
{
    static const struct ast_operand none = {.reg = NO_REG, .pair = NO_REG};
    return index < d->insn->count ? &d->ast->operands[d->insn->first + index] : &none;
}

int operand_bits(const struct decoder *d, const struct ast_operand *o)
{
    return o->kind == OPERAND_REG ? d->ast_func->regs[o->reg].bits : 0;
}

/* ---- addresses of variables ---- */

enum place_kind { PLACE_CONSTANT, PLACE_FRAME, PLACE_DYNAMIC_SHARED, PLACE_NONE };

static enum place_kind variable_place(struct decoder *d, uint32_t index, uint64_t *value)
{
    const struct ast_var *var = &d->ast->vars[index];
    bool entry = d->ast_func->is_entry;
    *value = var->place;
    switch (var->space) {
    case SPACE_GLOBAL:
    case SPACE_CONST:
        *value = WINDOW_BASE(WINDOW_FIRST_REGION + d->regions[index] - 1);
        return d->regions[index] ? PLACE_CONSTANT : PLACE_NONE;
    case SPACE_SHARED:
        if (var->unsized) {
            d->out->uses_dynamic_shared = true;
            *value = entry ? SHARED_BASE + d->dynamic_shared : 0;
            return entry ? PLACE_CONSTANT : PLACE_DYNAMIC_SHARED;
        }
        *value += SHARED_BASE;
        return PLACE_CONSTANT;
    case SPACE_LOCAL:
        if (var->func != d->func + 1)
            return PLACE_NONE;
        return entry ? PLACE_CONSTANT : PLACE_FRAME;
    case SPACE_PARAM:
        if (var->func != d->func + 1)
            return PLACE_NONE;
        if (entry && var->is_formal) {
            *value += WINDOW_BASE(WINDOW_PARAM);
            return PLACE_CONSTANT;
        }
        return entry ? PLACE_CONSTANT : PLACE_FRAME;
    case SPACE_GENERIC:
        return PLACE_NONE;
    }
    return PLACE_NONE;
}

/* The address of a variable plus imm, in 64-bit lanes. */
static bool variable_address(struct decoder *d, uint32_t index, int64_t imm, uint32_t *out)
{
    uint64_t value;
    enum place_kind kind = variable_place(d, index, &value);
    value += (uint64_t)imm;
    if (kind == PLACE_NONE)
        return cannot(d, "variable out of reach");
    if (kind == PLACE_CONSTANT) {
        *out = constant64(d, value);
        return true;
    }
    *out = scratch_slot(d);
    emit(d, kind == PLACE_FRAME ? exec_mov_frame : exec_mov_dynamic_shared,
         (struct insn){.d = *out, .imm = (int64_t)value});
    return true;
}

/* ---- sources ---- */

static uint64_t immediate(const struct ast_operand *o, enum mod type)
{
    uint64_t bits = (uint64_t)o->imm;
    if (!o->is_float)
        return bits;
    double wide = o->is_single ? (double)f32_from((uint32_t)bits) : f64_from(bits);
    switch (type) {
    case MOD_f64:
        return o->is_single ? f64_bits(wide) : bits;
    case MOD_f16:
        return f32_f16_rn(odd_f32(wide));
    case MOD_bf16:
        return f32_bf16_rn(odd_f32(wide));
    default:
        return o->is_single || type_bits(type) == 64 ? bits : f32_bits((float)wide);
    }
}

static bool special_register(struct decoder *d, const struct ast_operand *o, int bits,
                             uint32_t *out)
{
    bool wide = o->index == SREG_clock64 || o->index == SREG_globaltimer ||
                (o->index == SREG_gridid && bits == 64);
    if (bits != (wide ? 64 : 32))
        return cannot(d, "special register of another width");
    *out = scratch_slot(d);
    emit(d, exec_mov_special, (struct insn){.d = *out, .mode = (uint8_t)o->index, .wide = wide});
    return true;
}

/* A shared address is a few bits wide, so a 32-bit move of one is common. */
static bool narrow_address(struct decoder *d, const struct ast_operand *o, uint32_t *out)
{
    uint32_t wide;
    if (!variable_address(d, o->index, o->imm, &wide))
        return false;
    *out = scratch_slot(d);
    emit_lane(d, LANE_LOW_u32, (struct insn){.d = *out, .a = wide});
    return true;
}

bool source(struct decoder *d, const struct ast_operand *o, enum mod type, uint32_t *out)
{
    int bits = type_bits(type);
    switch (o->kind) {
    case OPERAND_REG:
        if (o->negated || o->pair != NO_REG)
            return false;
        if (d->ast_func->regs[o->reg].bits != bits)
            return cannot(d, "register of another width");
        *out = d->regs.slots[o->reg];
        if (d->constant_of[o->reg])
            *out = bits == 64 ? constant64(d, (uint64_t)d->constant_of[o->reg]->imm)
                              : constant32(d, (uint32_t)d->constant_of[o->reg]->imm);
        return true;
    case OPERAND_IMM:
        if (o->negated || bits > 64 || bits < 8)
            return false;
        *out = bits == 64
                   ? constant64(d, immediate(o, type))
                   : constant32(d, (uint32_t)(immediate(o, type) & (UINT64_MAX >> (64 - bits))));
        return true;
    case OPERAND_SREG:
        return special_register(d, o, bits, out);
    case OPERAND_VAR:
        if (bits == 32)
            return narrow_address(d, o, out);
        return bits == 64 && variable_address(d, o->index, o->imm, out);
    case OPERAND_FUNC:
        if (bits != 64)
            return false;
        *out = constant64(d, WINDOW_BASE(WINDOW_FUNC) + 16 * (uint64_t)o->index);
        return true;
    case OPERAND_NONE:
    case OPERAND_MEM:
    case OPERAND_VEC:
    case OPERAND_SINK:
    case OPERAND_LABEL:
    case OPERAND_ARGS:
        return false;
    }
    return false;
}

bool source_bits(struct decoder *d, const struct ast_operand *o, int bits, uint32_t *out)
{
    enum mod type = bits == 8    ? MOD_b8
                    : bits == 16 ? MOD_b16
                    : bits == 32 ? MOD_b32
                    : bits == 64 ? MOD_b64
                                 : MOD_b128;
    return source(d, o, type, out);
}

bool dest(struct decoder *d, const struct ast_operand *o, int bits, uint32_t *out)
{
    if (o->kind == OPERAND_SINK && bits <= 64) {
        *out = scratch_slot(d);
        return true;
    }
    if (o->kind != OPERAND_REG || o->negated)
        return false;
    if (d->ast_func->regs[o->reg].bits != bits)
        return cannot(d, "register of another width");
    *out = d->regs.slots[o->reg];
    return true;
}

bool constant_value(const struct decoder *d, const struct ast_operand *o, uint64_t *out)
{
    if (o->kind == OPERAND_REG && !o->negated)
        o = d->constant_of[o->reg];
    if (!o || o->kind != OPERAND_IMM || o->is_float || o->negated)
        return false;
    *out = (uint64_t)o->imm;
    return true;
}

bool pred_source(struct decoder *d, const struct ast_operand *o, uint16_t *out)
{
    if (o->kind == OPERAND_IMM && !o->is_float) {
        *out = (uint16_t)(PRED_TRUE * 2 + (o->imm == 0));
        return true;
    }
    if (o->kind != OPERAND_REG || d->ast_func->regs[o->reg].bits != 1)
        return false;
    *out = (uint16_t)(d->regs.slots[o->reg] * 2 + o->negated);
    return true;
}

bool pred_dest(struct decoder *d, uint32_t reg, uint16_t *out)
{
    if (reg == NO_REG) {
        *out = PRED_SINK * 2;
        return true;
    }
    *out = (uint16_t)(d->regs.slots[reg] * 2);
    return d->ast_func->regs[reg].bits == 1;
}

/* ---- memory operands ---- */

bool decode_address(struct decoder *d, const struct ast_operand *o, enum space space,
                    struct address *out)
{
    if (o->kind != OPERAND_MEM)
        return false;
    *out = (struct address){.wide = true, .imm = o->imm, .space = space};
    if (o->has_var) {
        const struct ast_var *var = &d->ast->vars[o->index];
        bool formal = d->ast_func->is_entry && var->is_formal;
        out->space = var->space == SPACE_PARAM ? (formal ? SPACE_PARAM : SPACE_LOCAL) : var->space;
        uint64_t value;
        enum place_kind kind = variable_place(d, o->index, &value);
        if (kind != PLACE_CONSTANT)
            return variable_address(d, o->index, 0, &out->base);
        out->base = constant64(d, 0);
        out->imm = (int64_t)(value + (uint64_t)o->imm);
        return true;
    }
    if (o->reg == NO_REG) {
        out->base = constant64(d, 0);
        return true;
    }
    int bits = d->ast_func->regs[o->reg].bits;
    if (bits != 32 && bits != 64)
        return cannot(d, "address of another width");
    out->wide = bits == 64;
    return source_bits(d, &(struct ast_operand){.kind = OPERAND_REG, .reg = o->reg, .pair = NO_REG},
                       bits, &out->base);
}

enum space decode_space(const struct decoder *d, const struct ast_insn *a)
{
    if (has(a, MOD_global))
        return SPACE_GLOBAL;
    if (has(a, MOD_shared) || has(a, MOD_shared_cta) || has(a, MOD_shared_cluster))
        return SPACE_SHARED;
    if (has(a, MOD_local))
        return SPACE_LOCAL;
    if (has(a, MOD_const))
        return SPACE_CONST;
    if (has(a, MOD_param_entry))
        return SPACE_PARAM;
    if (has(a, MOD_param) || has(a, MOD_param_func))
        return d->ast_func->is_entry ? SPACE_PARAM : SPACE_LOCAL;
    return SPACE_GENERIC;
}

uint8_t strength(const struct ast_insn *a)
{
    const bool release = has(a, MOD_release) || has(a, MOD_acq_rel);
    if (release)
        return STRONG_ACCESS | STRONG_RELEASE_BLOCK | (has(a, MOD_cta) ? 0 : STRONG_RELEASE);
    return has(a, MOD_volatile) || has(a, MOD_relaxed) || has(a, MOD_acquire) || has(a, MOD_mmio)
               ? STRONG_ACCESS
               : 0;
}
