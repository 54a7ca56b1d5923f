/*
 * Decoders of logic, shifts, bit fields, predicates, selection and comparison.
 */
#include "verify/ptx/decode_int.h"
#include "verify/ptx/exec_int.h"

static bool same_type(struct decoder *d, enum mod type, uint32_t sources, struct insn *out)
{
    uint32_t *const places[3] = {&out->a, &out->b, &out->c};
    if (d->insn->count != sources + 1)
        return false;
    for (uint32_t i = 0; i < sources; i++)
        if (!source(d, operand_at(d, 1 + i), type, places[i]))
            return false;
    return dest(d, operand_at(d, 0), type_bits(type), &out->d);
}

/* d and sources of given bits: "wide result, 32-bit positions". */
static bool mixed(struct decoder *d, int result, const int *bits, uint32_t count, struct insn *out)
{
    uint32_t *const places[3] = {&out->a, &out->b, &out->c};
    if (d->insn->count != count + 1)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!source_bits(d, operand_at(d, 1 + i), bits[i], places[i]))
            return false;
    return dest(d, operand_at(d, 0), result, &out->d);
}

/* ---- logic ---- */

static bool pred_logic(struct decoder *d, const struct ast_insn *a)
{
    bool negate = a->mnemonic == MN_not;
    struct insn insn = {0};
    const struct ast_operand *to = operand_at(d, 0);
    if (to->kind != OPERAND_REG || !pred_dest(d, to->reg, &insn.p) ||
        !pred_source(d, operand_at(d, 1), &insn.q))
        return false;
    if (negate) {
        insn.q ^= 1;
        emit(d, exec_pred_mov, insn);
        return a->count == 2;
    }
    if (a->count != 3 || !pred_source(d, operand_at(d, 2), &insn.r))
        return false;
    emit(d,
         a->mnemonic == MN_and  ? exec_pred_and
         : a->mnemonic == MN_or ? exec_pred_or
                                : exec_pred_xor,
         insn);
    return true;
}

bool decode_logic(struct decoder *d, const struct ast_insn *a)
{
    enum mod type = type_at(a, 0);
    struct insn insn = {0};
    if (type == MOD_pred)
        return a->mnemonic != MN_cnot && pred_logic(d, a);
    int index = width_index(type_bits(type));
    bool unary = a->mnemonic == MN_not || a->mnemonic == MN_cnot;
    if (index < 0 || !same_type(d, type, unary ? 1 : 2, &insn))
        return false;
    bool wide = index == 2;
    switch (a->mnemonic) {
    case MN_not:
        emit_lane(d, (enum lane_op)(LANE_NOT_u16 + index), insn);
        return true;
    case MN_cnot:
        emit_lane(d, (enum lane_op)(LANE_CNOT_u16 + index), insn);
        return true;
    case MN_and:
        emit_lane(d, wide ? LANE_AND_u64 : LANE_AND_u32, insn);
        return true;
    case MN_or:
        emit_lane(d, wide ? LANE_OR_u64 : LANE_OR_u32, insn);
        return true;
    default:
        emit_lane(d, wide ? LANE_XOR_u64 : LANE_XOR_u32, insn);
        return true;
    }
}

bool decode_shift(struct decoder *d, const struct ast_insn *a)
{
    enum mod type = type_at(a, 0);
    int index = width_index(type_bits(type));
    struct insn insn = {0};
    if (index < 0 || a->count != 3 || !source(d, operand_at(d, 1), type, &insn.a) ||
        !source_bits(d, operand_at(d, 2), 32, &insn.b) ||
        !dest(d, operand_at(d, 0), type_bits(type), &insn.d))
        return false;
    enum lane_op family = a->mnemonic == MN_shl  ? LANE_SHL_u16
                          : type_is_signed(type) ? LANE_SHR_s16
                                                 : LANE_SHR_u16;
    emit_lane(d, (enum lane_op)(family + index), insn);
    return true;
}

bool decode_shf(struct decoder *d, const struct ast_insn *a)
{
    struct insn insn = {0};
    if (type_at(a, 0) != MOD_b32 || !same_type(d, MOD_b32, 3, &insn))
        return false;
    bool wrap = has(a, MOD_wrap);
    if (has(a, MOD_l))
        emit_lane(d, wrap ? LANE_SHFL_wrap : LANE_SHFL_clamp, insn);
    else
        emit_lane(d, wrap ? LANE_SHFR_wrap : LANE_SHFR_clamp, insn);
    return true;
}

/* popc, clz, brev, bfind */
bool decode_bits(struct decoder *d, const struct ast_insn *a)
{
    enum mod type = type_at(a, 0);
    int bits = type_bits(type);
    bool wide = bits == 64;
    struct insn insn = {0};
    const int one[1] = {bits};
    if (bits != 32 && bits != 64)
        return false;
    if (!mixed(d, a->mnemonic == MN_brev ? bits : 32, one, 1, &insn))
        return false;
    int signed_wide = (type_is_signed(type) ? 1 : 0) + (wide ? 2 : 0);
    switch (a->mnemonic) {
    case MN_popc:
        emit_lane(d, wide ? LANE_POPC_u64 : LANE_POPC_u32, insn);
        return true;
    case MN_clz:
        emit_lane(d, wide ? LANE_CLZ_u64 : LANE_CLZ_u32, insn);
        return true;
    case MN_brev:
        emit_lane(d, wide ? LANE_BREV_u64 : LANE_BREV_u32, insn);
        return true;
    default:
        emit_lane(d,
                  (enum lane_op)((has(a, MOD_shiftamt) ? LANE_BFINDSHIFT_u32 : LANE_BFIND_u32) +
                                 signed_wide),
                  insn);
        return true;
    }
}

bool decode_fns(struct decoder *d, const struct ast_insn *a)
{
    struct insn insn = {0};
    if (type_at(a, 0) != MOD_b32 || !same_type(d, MOD_b32, 3, &insn))
        return false;
    emit_lane(d, LANE_FNS, insn);
    return true;
}

bool decode_bitfield(struct decoder *d, const struct ast_insn *a)
{
    enum mod type = type_at(a, 0);
    int bits = type_bits(type);
    struct insn insn = {0};
    if (bits != 32 && bits != 64)
        return false;
    if (a->mnemonic == MN_bfe) {
        const int three[3] = {bits, 32, 32};
        if (!mixed(d, bits, three, 3, &insn))
            return false;
        enum lane_op op = bits == 32 ? LANE_BFE_u32 : LANE_BFE_u64;
        emit_lane(d, (enum lane_op)(op + type_is_signed(type)), insn);
        return true;
    }
    uint32_t *list = arena_array(d->arena, uint32_t, 1);
    if (a->count != 5 || !source_bits(d, operand_at(d, 1), bits, &insn.a) ||
        !source_bits(d, operand_at(d, 2), bits, &insn.b) ||
        !source_bits(d, operand_at(d, 3), 32, &insn.c) ||
        !source_bits(d, operand_at(d, 4), 32, &list[0]) ||
        !dest(d, operand_at(d, 0), bits, &insn.d))
        return false;
    insn.u.list = list;
    emit_lane(d, bits == 32 ? LANE_BFI_u32 : LANE_BFI_u64, insn);
    return true;
}

bool decode_bmsk(struct decoder *d, const struct ast_insn *a)
{
    struct insn insn = {0};
    if (type_at(a, 0) != MOD_b32 || !same_type(d, MOD_b32, 2, &insn))
        return false;
    emit_lane(d, has(a, MOD_wrap) ? LANE_BMSK_wrap : LANE_BMSK_clamp, insn);
    return true;
}

bool decode_szext(struct decoder *d, const struct ast_insn *a)
{
    enum mod type = type_at(a, 0);
    struct insn insn = {0};
    if ((type != MOD_u32 && type != MOD_s32) || !same_type(d, type, 2, &insn))
        return false;
    enum lane_op op = type == MOD_u32 ? LANE_SZEXT_u32_clamp : LANE_SZEXT_s32_clamp;
    emit_lane(d, (enum lane_op)(op + has(a, MOD_wrap)), insn);
    return true;
}

bool decode_lop3(struct decoder *d, const struct ast_insn *a)
{
    struct insn insn = {0};
    const struct ast_operand *table = operand_at(d, 4);
    if (type_at(a, 0) != MOD_b32 || a->count != 5 || table->kind != OPERAND_IMM ||
        !source_bits(d, operand_at(d, 1), 32, &insn.a) ||
        !source_bits(d, operand_at(d, 2), 32, &insn.b) ||
        !source_bits(d, operand_at(d, 3), 32, &insn.c) || !dest(d, operand_at(d, 0), 32, &insn.d))
        return false;
    insn.imm = table->imm & 255;
    emit_lane(d, LANE_LOP3, insn);
    return true;
}

bool decode_prmt(struct decoder *d, const struct ast_insn *a)
{
    static const struct {
        enum mod mod;
        int mode;
    } modes[] = {
        {MOD_f4e, PRMT_F4E}, {MOD_b4e, PRMT_B4E}, {MOD_rc8, PRMT_RC8},
        {MOD_ecl, PRMT_ECL}, {MOD_ecr, PRMT_ECR}, {MOD_rc16, PRMT_RC16},
    };
    struct insn insn = {.mode = PRMT_INDEX};
    if (!same_type(d, MOD_b32, 3, &insn))
        return false;
    for (size_t i = 0; i < COUNT_OF(modes); i++)
        if (has(a, modes[i].mod))
            insn.mode = (uint8_t)modes[i].mode;
    emit_lane(d, LANE_PRMT, insn);
    return true;
}

/* ---- selection ---- */

bool decode_selp(struct decoder *d, const struct ast_insn *a)
{
    enum mod type = type_at(a, 0);
    int bits = type_bits(type);
    struct insn insn = {0};
    if (a->count != 4 || width_index(bits) < 0 || !source(d, operand_at(d, 1), type, &insn.a) ||
        !source(d, operand_at(d, 2), type, &insn.b) || !pred_source(d, operand_at(d, 3), &insn.r) ||
        !dest(d, operand_at(d, 0), bits, &insn.d))
        return false;
    emit_lane(d, bits == 64 ? LANE_SELP_u64 : LANE_SELP_u32, insn);
    return true;
}

bool decode_slct(struct decoder *d, const struct ast_insn *a)
{
    enum mod type = type_at(a, 0);
    enum mod by = type_at(a, 1);
    int bits = type_bits(type);
    struct insn insn = {0};
    if (a->count != 4 || (bits != 32 && bits != 64) || (by != MOD_s32 && by != MOD_f32) ||
        !source(d, operand_at(d, 1), type, &insn.a) ||
        !source(d, operand_at(d, 2), type, &insn.b) || !source(d, operand_at(d, 3), by, &insn.c) ||
        !dest(d, operand_at(d, 0), bits, &insn.d))
        return false;
    enum lane_op op = by == MOD_s32 ? LANE_SLCT_u32 : LANE_SLCTF_u32;
    if (by == MOD_f32 && has(a, MOD_ftz)) {
        uint32_t slot = scratch_slot(d);
        emit_lane(d, LANE_FTZ, (struct insn){.d = slot, .a = insn.c});
        insn.c = slot;
    }
    emit_lane(d, (enum lane_op)(op + (bits == 64)), insn);
    return true;
}

/* ---- comparison ---- */

struct comparison {
    bool equal; /* eq or ne, else less */
    bool swap, negate;
    enum lane_op op;
};

static enum mod comparison_mod(const struct ast_insn *a)
{
    return a->mod_count > 0 ? (enum mod)a->mods[0] : MOD_none;
}

static bool integer_comparison(enum mod cmp, enum mod type, struct comparison *out)
{
    int index = width_index(type_bits(type));
    bool is_signed = type_is_signed(type);
    if (index < 0)
        return false;
    enum lane_op equal = (enum lane_op)(LANE_EQ_u16 + index);
    enum lane_op less = (enum lane_op)(LANE_LT_u16 + 2 * index + is_signed);
    switch (cmp) {
    case MOD_eq:
        *out = (struct comparison){.op = equal};
        return true;
    case MOD_ne:
        *out = (struct comparison){.op = equal, .negate = true};
        return true;
    case MOD_lt:
    case MOD_lo:
        *out = (struct comparison){.op = less};
        return true;
    case MOD_ge:
    case MOD_hs:
        *out = (struct comparison){.op = less, .negate = true};
        return true;
    case MOD_gt:
    case MOD_hi:
        *out = (struct comparison){.op = less, .swap = true};
        return true;
    case MOD_le:
    case MOD_ls:
        *out = (struct comparison){.op = less, .swap = true, .negate = true};
        return true;
    default:
        return false;
    }
}

/* The unordered comparison is the negation of the opposite ordered one. */
static bool float_comparison(enum mod cmp, enum lane_op family, struct comparison *out)
{
    enum { EQ, NE, LT, LE, NUM };
    static const struct {
        enum mod cmp;
        int op;
        bool swap, negate;
    } ways[] = {
        {MOD_eq, EQ, 0, 0},   {MOD_ne, NE, 0, 0},   {MOD_lt, LT, 0, 0},  {MOD_le, LE, 0, 0},
        {MOD_gt, LT, 1, 0},   {MOD_ge, LE, 1, 0},   {MOD_equ, NE, 0, 1}, {MOD_neu, EQ, 0, 1},
        {MOD_ltu, LE, 1, 1},  {MOD_leu, LT, 1, 1},  {MOD_gtu, LE, 0, 1}, {MOD_geu, LT, 0, 1},
        {MOD_num, NUM, 0, 0}, {MOD_nan, NUM, 0, 1},
    };
    for (size_t i = 0; i < COUNT_OF(ways); i++)
        if (ways[i].cmp == cmp) {
            /* NUM is not affected by flushing and stands behind the plain family only. */
            *out = (struct comparison){.op = (enum lane_op)(family + ways[i].op),
                                       .swap = ways[i].swap,
                                       .negate = ways[i].negate};
            if (family == LANE_EQ_ftz_f32 && ways[i].op == NUM)
                out->op = LANE_NUM_f32;
            return true;
        }
    return false;
}

static bool find_comparison(const struct ast_insn *a, enum mod type, struct comparison *out)
{
    enum mod cmp = comparison_mod(a);
    switch (type) {
    case MOD_f32:
        return float_comparison(cmp, has(a, MOD_ftz) ? LANE_EQ_ftz_f32 : LANE_EQ_f32, out);
    case MOD_f64:
        return float_comparison(cmp, LANE_EQ_f64, out);
    case MOD_f16:
        return float_comparison(cmp, LANE_EQ_f16, out);
    case MOD_bf16:
        return float_comparison(cmp, LANE_EQ_bf16, out);
    default:
        return ast_mod(type)->kind != TYPE_X && ast_mod(type)->kind != TYPE_P &&
               integer_comparison(cmp, type, out);
    }
}

/* Compares operands 1 and 2 into insn's predicates, joined with operand 3 if there is one. */
static bool emit_comparison(struct decoder *d, const struct ast_insn *a, enum mod type,
                            struct insn insn)
{
    struct comparison how;
    if (!find_comparison(a, type, &how) || !source(d, operand_at(d, 1), type, &insn.a) ||
        !source(d, operand_at(d, 2), type, &insn.b))
        return false;
    if (how.swap) {
        uint32_t swap = insn.a;
        insn.a = insn.b;
        insn.b = swap;
    }
    int join = has(a, MOD_and)   ? INSN_BOOL_AND
               : has(a, MOD_or)  ? INSN_BOOL_OR
               : has(a, MOD_xor) ? INSN_BOOL_XOR
                                 : 0;
    insn.flags = (uint8_t)((how.negate ? INSN_NEGATE : 0) | join);
    if (join && !pred_source(d, operand_at(d, 3), &insn.r))
        return false;
    if (a->count != (join ? 4U : 3U))
        return false;
    emit_lane(d, how.op, insn);
    return true;
}

/* f16x2: the lower halves give p, the upper ones q. */
static bool pair_comparison(struct decoder *d, const struct ast_insn *a, enum mod type,
                            const struct ast_operand *to)
{
    enum mod half = type == MOD_f16x2 ? MOD_f16 : MOD_bf16;
    struct comparison how;
    uint32_t x, y;
    if (!find_comparison(a, half, &how) || a->count != 3 ||
        !source(d, operand_at(d, 1), type, &x) || !source(d, operand_at(d, 2), type, &y))
        return false;
    for (int i = 0; i < 2; i++) {
        struct insn insn = {.q = PRED_SINK * 2, .flags = how.negate ? INSN_NEGATE : 0};
        if (!pred_dest(d, i == 0 ? to->reg : to->pair, &insn.p))
            return false;
        insn.a = scratch_slot(d);
        insn.b = scratch_slot(d);
        enum lane_op part = i == 0 ? LANE_LOW_u16 : LANE_HIGH_u16;
        emit_lane(d, part, (struct insn){.d = insn.a, .a = how.swap ? y : x});
        emit_lane(d, part, (struct insn){.d = insn.b, .a = how.swap ? x : y});
        emit_lane(d, how.op, insn);
    }
    return true;
}

bool decode_setp(struct decoder *d, const struct ast_insn *a)
{
    enum mod type = type_at(a, 0);
    const struct ast_operand *to = operand_at(d, 0);
    struct insn insn = {0};
    if (to->kind != OPERAND_REG && to->kind != OPERAND_SINK)
        return false;
    if (type == MOD_f16x2 || type == MOD_bf16x2)
        return pair_comparison(d, a, type, to);
    return pred_dest(d, to->reg, &insn.p) && pred_dest(d, to->pair, &insn.q) &&
           emit_comparison(d, a, type, insn);
}

/* set: all ones, or 1.0, where the comparison holds. */
bool decode_set(struct decoder *d, const struct ast_insn *a)
{
    enum mod to = type_at(a, 0);
    enum mod type = type_at(a, 1);
    struct insn select = {.r = PRED_SCRATCH * 2};
    int bits = type_bits(to);
    if (!dest(d, operand_at(d, 0), bits, &select.d))
        return false;
    switch (to) {
    case MOD_u32:
    case MOD_s32:
        select.a = constant32(d, UINT32_MAX);
        break;
    case MOD_u16:
    case MOD_s16:
        select.a = constant32(d, 0xffff);
        break;
    case MOD_f32:
        select.a = constant32(d, 0x3f800000);
        break;
    case MOD_f16:
        select.a = constant32(d, 0x3c00);
        break;
    case MOD_bf16:
        select.a = constant32(d, 0x3f80);
        break;
    default:
        return false;
    }
    select.b = constant32(d, 0);
    struct insn compare = {.p = PRED_SCRATCH * 2, .q = PRED_SINK * 2};
    if (!emit_comparison(d, a, type, compare))
        return false;
    emit_lane(d, LANE_SELP_u32, select);
    return true;
}

bool decode_testp(struct decoder *d, const struct ast_insn *a)
{
    static const struct {
        enum mod mod;
        int mode;
    } modes[] = {
        {MOD_finite, TESTP_FINITE}, {MOD_infinite, TESTP_INFINITE},
        {MOD_number, TESTP_NUMBER}, {MOD_notanumber, TESTP_NOTANUMBER},
        {MOD_normal, TESTP_NORMAL}, {MOD_subnormal, TESTP_SUBNORMAL},
    };
    enum mod type = type_at(a, 0);
    const struct ast_operand *to = operand_at(d, 0);
    struct insn insn = {.q = PRED_SINK * 2};
    if ((type != MOD_f32 && type != MOD_f64) || a->count != 2 || to->kind != OPERAND_REG ||
        !pred_dest(d, to->reg, &insn.p) || !source(d, operand_at(d, 1), type, &insn.a))
        return false;
    for (size_t i = 0; i < COUNT_OF(modes); i++)
        if (comparison_mod(a) == modes[i].mod) {
            insn.mode = (uint8_t)modes[i].mode;
            emit_lane(d, type == MOD_f32 ? LANE_TEST_f32 : LANE_TEST_f64, insn);
            return true;
        }
    return false;
}
