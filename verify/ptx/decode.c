/*
 * Decoding: parsed functions become arrays of struct insn.
 *
 * Each mnemonic has a decoder that checks operands and modifiers and emits one or a few lane
 * operations or exec_* instructions.  Whatever a decoder refuses makes its function unsupported,
 * with the instruction's text; nothing is decided while running.  Branch targets are labels until
 * all code is in its final place.
 *
 * Invariant: an emitted operand lies inside the function's window or the constants and is as wide
 * as the operation reads or writes, because source() and dest() compare the register's bits with
 * the type's.  Text is hostile: nothing else may make up an operand.
 */
#include <stdio.h>

#include "verify/ptx/decode_int.h"
#include "verify/ptx/exec_int.h"

enum { CONSTANT_BYTES_MAX = 64 << 20, CODE_MAX = 2 << 20, REASON_BYTES = 200 };

/* ---- emitting ---- */

static void emit_raw(struct decoder *d, struct insn insn)
{
    struct insn_info info = {0};
    if (d->insn)
        info = (struct insn_info){d->insn->line, d->insn->loc};
    VEC_PUSH(d->scratch, &d->code, struct insn) = insn;
    VEC_PUSH(d->scratch, &d->infos, struct insn_info) = info;
}

void emit(struct decoder *d, exec_fn *fn, struct insn insn)
{
    insn.fn = fn;
    insn.inner = fn;
    insn.guard = d->guard;
    if (d->guard)
        insn.fn = exec_guarded;
    emit_raw(d, insn);
}

void emit_lane(struct decoder *d, enum lane_op op, struct insn insn)
{
    emit(d, d->isa->fn[op], insn);
}

uint32_t scratch_slot(struct decoder *d)
{
    if (d->scratch_used == SCRATCH_SLOTS) {
        cannot(d, "too many intermediate values");
        return 0;
    }
    return d->scratch_used++ * LANE64_BYTES;
}

bool cannot(struct decoder *d, const char *why)
{
    if (!d->why)
        d->why = why;
    return false;
}

/* ---- constants ---- */

static uint32_t constant(struct decoder *d, uint64_t value, int bytes)
{
    struct {
        uint64_t value;
        uint64_t bytes;
    } key = {value, (uint64_t)bytes};
    char *text = arena_alloc(d->scratch, 1, sizeof(key), 8);
    memcpy(text, &key, sizeof(key));
    bool is_new;
    size_t *at = map_put(&d->constant_map, (struct str){text, sizeof(key)}, &is_new);
    if (!is_new)
        return (uint32_t)*at | 1;
    size_t start = d->constants.count;
    if (start >= CONSTANT_BYTES_MAX) {
        cannot(d, "too many constants");
        return 1;
    }
    for (int i = 0; i < LANES; i++)
        for (int k = 0; k < bytes; k++)
            VEC_PUSH(d->scratch, &d->constants, unsigned char) = (unsigned char)(value >> (8 * k));
    *at = start;
    return (uint32_t)start | 1;
}

uint32_t constant32(struct decoder *d, uint32_t value)
{
    return constant(d, value, 4);
}

uint32_t constant64(struct decoder *d, uint64_t value)
{
    return constant(d, value, 8);
}

/* ---- functions ---- */

static uint64_t align_up(uint64_t at, uint64_t align)
{
    return (at + align - 1) / align * align;
}

/* Local variables, call parameters and, outside entries, formals, one behind another. */
static bool lay_out_frame(struct decoder *d)
{
    uint64_t frame = 0;
    bool entry = d->ast_func->is_entry;
    for (size_t i = 0; i < d->ast->var_count; i++) {
        struct ast_var *var = &d->ast->vars[i];
        bool param = var->space == SPACE_PARAM && !(entry && var->is_formal);
        if (var->func != d->func + 1 || (var->space != SPACE_LOCAL && !param))
            continue;
        var->place = align_up(frame, var->align);
        frame = var->place + var->bytes;
    }
    d->out->frame_bytes = (uint32_t)align_up(frame < LOCAL_BYTES_MAX ? frame : LOCAL_BYTES_MAX, 16);
    return frame <= LOCAL_BYTES_MAX;
}

static void copy_formals(struct decoder *d, const uint32_t *vars, size_t count,
                         const uint32_t **places, const uint32_t **sizes, uint32_t *out_count)
{
    uint32_t *place = arena_array(d->arena, uint32_t, count + 1);
    uint32_t *size = arena_array(d->arena, uint32_t, count + 1);
    for (size_t i = 0; i < count; i++) {
        place[i] = (uint32_t)d->ast->vars[vars[i]].place;
        size[i] = (uint32_t)d->ast->vars[vars[i]].bytes;
    }
    *places = place;
    *sizes = size;
    *out_count = (uint32_t)count;
}

/* "text, collapsed to one line" of an instruction. */
static const char *insn_text(struct decoder *d, struct str text, const char *why)
{
    char line[REASON_BYTES];
    size_t n = 0;
    bool gap = false;
    for (size_t i = 0; i < text.len && n + 2 < sizeof(line); i++) {
        char c = text.at[i];
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
            gap = n > 0;
            continue;
        }
        if (gap)
            line[n++] = ' ';
        gap = false;
        line[n++] = c >= ' ' && c < 127 ? c : '?';
    }
    line[n] = '\0';
    char all[REASON_BYTES + 100];
    snprintf(all, sizeof(all), why ? "%s (%s)" : "%s", line, why);
    return str_copy(d->arena, str_from(all));
}

static bool decode_insn(struct decoder *d, const struct ast_insn *a)
{
    static decode_fn *const decoders[MN_COUNT] = {
#define OP(id, text, decoder, tier, dests) [MN_##id] = decode_##decoder,
#include "verify/ptx/ptx_ops.def"
    };
    if (a->mnemonic == MN_unknown)
        return false;
    for (int i = 0; i < a->mod_count; i++)
        if (a->mods[i] == MOD_none)
            return false;
    return decoders[a->mnemonic](d, a);
}

bool decode_none(struct decoder *d, const struct ast_insn *a)
{
    (void)d;
    (void)a;
    return false;
}

static bool uses_undefined(const struct decoder *d, const struct ast_operand *o)
{
    const bool *maybe = d->regs.maybe_undefined;
    if ((o->reg != NO_REG && maybe[o->reg]) || (o->pair != NO_REG && maybe[o->pair]))
        return true;
    for (uint32_t i = 0; i < o->count; i++)
        if (d->ast->operands[o->first + i].reg != NO_REG &&
            maybe[d->ast->operands[o->first + i].reg])
            return true;
    return false;
}

/*
 * One register of a taint instruction: its place, whether it is a predicate, and whether it always
 * has a value: its place then holds marks of registers that were there before.
 */
static uint32_t taint_place(const struct decoder *d, uint32_t reg)
{
    uint32_t defined = d->regs.maybe_undefined[reg] ? 0 : TAINT_DEFINED;
    return defined | d->regs.slots[reg] << 1 | (d->ast_func->regs[reg].bits == 1);
}

enum { TAINT_LIST_MAX = 64 };

static void add_taint(const struct decoder *d, uint32_t reg, uint32_t *list, uint32_t *count)
{
    if (reg != NO_REG && *count < TAINT_LIST_MAX)
        list[(*count)++] = taint_place(d, reg);
}

static void add_taints(const struct decoder *d, const struct ast_operand *o, bool memory,
                       uint32_t *list, uint32_t *count)
{
    if (memory != (o->kind == OPERAND_MEM))
        return;
    add_taint(d, o->reg, list, count);
    if (!memory)
        add_taint(d, o->pair, list, count);
    for (uint32_t i = 0; i < o->count && o->kind != OPERAND_ARGS; i++)
        add_taint(d, d->ast->operands[o->first + i].reg, list, count);
}

/* Does an undefined source make the result undefined, going by lanes? */
static bool carries_taint(enum mnemonic m)
{
    switch (m) {
    case MN_mov:
    case MN_add:
    case MN_sub:
    case MN_mul:
    case MN_mad:
    case MN_fma:
    case MN_div:
    case MN_rem:
    case MN_min:
    case MN_max:
    case MN_neg:
    case MN_abs:
    case MN_cvt:
    case MN_setp:
    case MN_selp:
    case MN_ex2:
    case MN_lg2:
    case MN_sqrt:
    case MN_rcp:
    case MN_rsqrt:
    case MN_sin:
    case MN_cos:
    case MN_tanh:
        return true;
    default:
        return false;
    }
}

static bool stores_value(const struct ast_insn *a)
{
    if (a->mnemonic == MN_st)
        return !has(a, MOD_local) && !has(a, MOD_param);
    return a->mnemonic == MN_atom || a->mnemonic == MN_red;
}

/*
 * Before an instruction that may see a register never written: check what must be defined (address,
 * stored value, guard, branch), and move the mark on.
 */
static void emit_taint(struct decoder *d, const struct ast_insn *a)
{
    uint32_t checks[TAINT_LIST_MAX], sources[TAINT_LIST_MAX], dests[TAINT_LIST_MAX];
    uint32_t check_count = 0, source_count = 0, dest_count = 0;
    uint32_t n = liveness_dests(a);
    add_taint(d, a->guard, checks, &check_count);
    bool plain_mov = a->mnemonic != MN_mov;
    for (uint32_t i = 0; i < a->count; i++) {
        const struct ast_operand *o = operand_at(d, i);
        add_taints(d, o, true, checks, &check_count);
        if (i < n)
            add_taints(d, o, false, dests, &dest_count);
        else if (stores_value(a))
            add_taints(d, o, false, checks, &check_count);
        else
            add_taints(d, o, false, sources, &source_count);
    }
    if (a->mnemonic == MN_mov && a->count == 2)
        plain_mov = operand_at(d, 0)->kind == OPERAND_REG && operand_at(d, 1)->kind == OPERAND_REG;
    bool half_selp = a->mnemonic == MN_selp && source_count != 3;
    if (!carries_taint(a->mnemonic) || !plain_mov || half_selp)
        source_count = 0;
    uint32_t *list = arena_array(d->arena, uint32_t, check_count + source_count + dest_count + 1);
    memcpy(list, checks, check_count * sizeof(*list));
    memcpy(list + check_count, sources, source_count * sizeof(*list));
    memcpy(list + check_count + source_count, dests, dest_count * sizeof(*list));
    struct insn insn = {.u.list = list,
                        .count = (uint8_t)check_count,
                        .size = (uint8_t)source_count,
                        .mode = (uint8_t)dest_count,
                        .flags = a->mnemonic == MN_selp && source_count == 3};
    if (insn.flags)
        insn.extra = operand_at(d, 3)->negated;
    /* The guard itself is checked under the group's whole mask. */
    uint16_t guard = d->guard;
    d->guard = 0;
    insn.r = guard;
    emit(d, exec_taint, insn);
    d->guard = guard;
}

/* A register whose only definition is a mov of a number is that number wherever it is read. */
static void find_constants(struct decoder *d)
{
    size_t count = d->ast_func->reg_count + 1;
    const struct ast_operand **of = arena_array(d->scratch, const struct ast_operand *, count);
    uint8_t *defs = arena_array(d->scratch, uint8_t, count);
    for (size_t i = 0; i < d->ast_func->insn_count; i++) {
        const struct ast_insn *a = &d->ast_func->insns[i];
        uint32_t n = liveness_dests(a);
        for (uint32_t k = 0; k < n && k < a->count; k++) {
            const struct ast_operand *o = &d->ast->operands[a->first + k];
            if (o->kind != OPERAND_MEM && o->reg != NO_REG)
                defs[o->reg] = defs[o->reg] ? 2 : 1;
            if (o->pair != NO_REG)
                defs[o->pair] = 2;
            for (uint32_t e = 0; e < o->count; e++)
                if (d->ast->operands[o->first + e].reg != NO_REG)
                    defs[d->ast->operands[o->first + e].reg] = 2;
        }
    }
    for (size_t i = 0; i < d->ast_func->insn_count; i++) {
        const struct ast_insn *a = &d->ast_func->insns[i];
        if (a->mnemonic != MN_mov || a->guard != NO_REG || a->count != 2)
            continue;
        const struct ast_operand *o = &d->ast->operands[a->first];
        if (o->kind != OPERAND_REG || o[1].kind != OPERAND_IMM || o[1].negated)
            continue;
        int bits = type_bits(type_at(a, 0));
        bool fits = bits == d->ast_func->regs[o->reg].bits && (bits == 32 || bits == 64) &&
                    (!o[1].is_float || o[1].is_single == (bits == 32));
        bool undefined = d->regs.maybe_undefined && d->regs.maybe_undefined[o->reg];
        if (fits && defs[o->reg] == 1 && !undefined)
            of[o->reg] = &o[1];
    }
    d->constant_of = of;
}

/* Such a mov itself then does nothing. */
static bool is_constant_mov(const struct decoder *d, const struct ast_insn *a)
{
    if (a->mnemonic != MN_mov || a->count != 2)
        return false;
    const struct ast_operand *o = &d->ast->operands[a->first];
    return o->kind == OPERAND_REG && d->constant_of[o->reg];
}

static void decode_one(struct decoder *d, const struct ast_insn *a)
{
    d->insn = a;
    d->scratch_used = 0;
    d->why = NULL;
    d->guard = 0;
    if (is_constant_mov(d, a))
        return;
    if (a->guard != NO_REG)
        d->guard = (uint16_t)(d->regs.slots[a->guard] * 2 + a->guard_negated);
    if (d->regs.undefined_count > 0) {
        bool seen = a->guard != NO_REG && d->regs.maybe_undefined[a->guard];
        for (uint32_t i = 0; i < a->count && !seen; i++)
            seen = uses_undefined(d, operand_at(d, i));
        if (seen)
            emit_taint(d, a);
    }
    int tier = ast_op(a->mnemonic)->tier;
    if (tier > d->out->tier)
        d->out->tier = tier;
    if (d->code.count < CODE_MAX && decode_insn(d, a) && !d->why)
        return;
    if (!d->out->unsupported) {
        d->out->unsupported = insn_text(d, a->text, d->why);
        d->out->unsupported_line = a->line;
    }
    d->guard = 0;
    emit(d, exec_unsupported, (struct insn){0});
}

static void record_undefined(struct decoder *d)
{
    uint32_t *regs = arena_array(d->arena, uint32_t, d->regs.undefined_count + 1);
    uint16_t *preds = arena_array(d->arena, uint16_t, d->regs.undefined_count + 1);
    for (uint32_t i = 0; i < d->regs.undefined_count; i++) {
        uint32_t reg = d->regs.undefined[i];
        if (d->ast_func->regs[reg].bits == 1)
            preds[d->out->tainted_pred_count++] = (uint16_t)d->regs.slots[reg];
        else
            regs[d->out->tainted_count++] = d->regs.slots[reg];
    }
    d->out->tainted = regs;
    d->out->tainted_preds = preds;
}

static void refuse(struct decoder *d, const char *why, int line)
{
    if (!d->out->unsupported) {
        d->out->unsupported = why;
        d->out->unsupported_line = line;
    }
}

void decode_function(struct decoder *d, uint32_t index)
{
    d->func = index;
    d->ast_func = &d->ast->funcs[index];
    d->out->has_body = d->ast_func->has_body;
    d->out->is_entry = d->ast_func->is_entry;
    d->out->first_insn = (uint32_t)d->code.count;
    d->out->tier = 1;
    d->joint = NULL;
    if (!d->ast_func->has_body)
        return;
    liveness_allocate(d->scratch, d->ast, d->ast_func, &d->regs);
    if (!lay_out_frame(d))
        refuse(d, "local variables take more than 512 KB a thread", d->ast_func->line);
    copy_formals(d, d->ast_func->formals, d->ast_func->formal_count, &d->out->formals,
                 &d->out->formal_sizes, &d->out->formal_count);
    copy_formals(d, d->ast_func->returns, d->ast_func->return_count, &d->out->returns,
                 &d->out->return_sizes, &d->out->return_count);
    d->out->window_bytes = d->regs.window_bytes;
    d->out->predicates = d->regs.predicates;
    if (d->regs.window_bytes > WINDOW_BYTES_MAX || d->regs.predicates > PREDICATES_MAX) {
        refuse(d, "more registers than the emulator holds", d->ast_func->line);
        d->out->window_bytes = SCRATCH_BYTES;
        d->out->predicates = PRED_FIRST;
        return;
    }
    record_undefined(d);
    find_constants(d);

    size_t fixups = d->fixups.count;
    uint32_t *starts = arena_array(d->scratch, uint32_t, d->ast_func->insn_count + 1);
    for (size_t i = 0; i < d->ast_func->insn_count; i++) {
        starts[i] = (uint32_t)d->code.count;
        decode_one(d, &d->ast_func->insns[i]);
    }
    starts[d->ast_func->insn_count] = (uint32_t)d->code.count;
    d->guard = 0;
    emit(d, exec_ret, (struct insn){0});
    for (size_t i = fixups; i < d->fixups.count; i++) {
        struct fixup *fix = &d->fixups.at[i];
        fix->label = starts[d->ast_func->labels[fix->label]];
    }
    d->out->insn_count = (uint32_t)d->code.count - d->out->first_insn;
}
