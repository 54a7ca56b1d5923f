/*
 * Decoders of arithmetic, logic and comparison.
 *
 * The lane operations of one family stand in lane_int.def, lane_float.def and lane_half.def side by
 * side, so an operation is its family's first number plus an index for the type; PICK_* say how.
 */
#include "verify/ptx/decode_int.h"
#include "verify/ptx/exec_int.h"

/* Families that come for 16, 32 and 64 bits, in this order. */
#define PICK_WIDTH(family, bits) (enum lane_op)(LANE_##family##_u16 + width_index(bits))

/* ---- shapes of instructions ---- */

/* d, a [, b [, c]], all of one type. */
static bool operands(struct decoder *d, enum mod type, uint32_t sources, struct insn *out)
{
    uint32_t *const places[3] = {&out->a, &out->b, &out->c};
    if (d->insn->count != sources + 1)
        return false;
    for (uint32_t i = 0; i < sources; i++)
        if (!source(d, operand_at(d, 1 + i), type, places[i]))
            return false;
    return dest(d, operand_at(d, 0), type_bits(type), &out->d);
}

/* f16, bf16 and pairs are four operations in a row. */
static int half_index(enum mod type)
{
    return type == MOD_f16      ? 0
           : type == MOD_bf16   ? 1
           : type == MOD_f16x2  ? 2
           : type == MOD_bf16x2 ? 3
                                : -1;
}

static uint32_t flushed_half(struct decoder *d, enum mod type, uint32_t op)
{
    uint32_t slot = scratch_slot(d);
    emit_lane(d, type == MOD_f16 ? LANE_HFTZ_f16 : LANE_HFTZ_f16x2,
              (struct insn){.d = slot, .a = op});
    return slot;
}

/* A half operation with .ftz on its operands and .sat or .relu on its result. */
static bool half_op(struct decoder *d, const struct ast_insn *a, enum lane_op family, enum mod type,
                    struct insn insn)
{
    int index = half_index(type);
    bool flush = has(a, MOD_ftz) && (type == MOD_f16 || type == MOD_f16x2);
    if (flush) {
        insn.a = flushed_half(d, type, insn.a);
        if (a->count > 2)
            insn.b = flushed_half(d, type, insn.b);
        if (a->count > 3)
            insn.c = flushed_half(d, type, insn.c);
    }
    emit_lane(d, (enum lane_op)(family + index), insn);
    struct insn post = {.d = insn.d, .a = insn.d};
    if (has(a, MOD_sat))
        emit_lane(d, (enum lane_op)(LANE_HSAT_f16 + index), post);
    if (has(a, MOD_relu))
        emit_lane(d, (enum lane_op)(LANE_HRELU_f16 + index), post);
    if (flush)
        emit_lane(d, type == MOD_f16 ? LANE_HFTZ_f16 : LANE_HFTZ_f16x2, post);
    return true;
}

/* An f32 or f64 operation in its plain or rounding form. */
static bool float_op(struct decoder *d, const struct ast_insn *a, enum mod type,
                     const enum lane_op ops[4], struct insn insn)
{
    int mode = rounding_of(a);
    insn.mode = (uint8_t)mode;
    if (type == MOD_f64) {
        emit_lane(d, mode == ROUND_RN ? ops[2] : ops[3], insn);
        if (has(a, MOD_sat))
            emit_lane(d, LANE_SAT_f64, (struct insn){.d = insn.d, .a = insn.d});
        return true;
    }
    enum lane_op op = mode == ROUND_RN ? ops[0] : ops[1];
    emit_lane(d, (enum lane_op)(op + has(a, MOD_ftz)), insn);
    if (has(a, MOD_sat))
        emit_lane(d, LANE_SAT_f32, (struct insn){.d = insn.d, .a = insn.d});
    return true;
}

#define FLOAT_OPS(f)                                                                               \
    (const enum lane_op[4])                                                                        \
    {                                                                                              \
        LANE_##f##_f32, LANE_##f##_ROUND_f32, LANE_##f##_f64, LANE_##f##_ROUND_f64                 \
    }

/* ---- add, sub, mul, mad, fma ---- */

enum { CARRY_IN = 1, CARRY_OUT = 2 };

static bool emit_carry(struct decoder *d, enum lane_op op, int flags, struct insn insn)
{
    insn.flags = (uint8_t)flags;
    emit_lane(d, op, insn);
    return true;
}

bool decode_addsub(struct decoder *d, const struct ast_insn *a)
{
    bool sub = a->mnemonic == MN_sub;
    enum mod type = type_at(a, 0);
    struct insn insn = {0};
    if (!operands(d, type, 2, &insn))
        return false;
    if (half_index(type) >= 0)
        return half_op(d, a, sub ? LANE_HSUB_f16 : LANE_HADD_f16, type, insn);
    if (type_is_float(type))
        return float_op(d, a, type, sub ? FLOAT_OPS(SUB) : FLOAT_OPS(ADD), insn);
    if (type == MOD_u16x2 || type == MOD_s16x2) {
        if (sub)
            return false;
        emit_lane(d, LANE_ADD_u16x2, insn);
        return true;
    }
    int width = width_index(type_bits(type));
    if (width < 0)
        return false;
    if (has(a, MOD_cc)) {
        bool wide = type_bits(type) == 64;
        enum lane_op op =
            sub ? (wide ? LANE_SUBC_u64 : LANE_SUBC_u32) : (wide ? LANE_ADDC_u64 : LANE_ADDC_u32);
        return width > 0 && emit_carry(d, op, CARRY_OUT, insn);
    }
    if (has(a, MOD_sat)) {
        if (type != MOD_s32)
            return false;
        emit_lane(d, sub ? LANE_SUBSAT_s32 : LANE_ADDSAT_s32, insn);
        return true;
    }
    emit_lane(d, sub ? PICK_WIDTH(SUB, type_bits(type)) : PICK_WIDTH(ADD, type_bits(type)), insn);
    return true;
}

/* addc, subc, madc: add with the carry kept by an earlier instruction. */
bool decode_carry(struct decoder *d, const struct ast_insn *a)
{
    enum mod type = type_at(a, 0);
    bool wide = type_bits(type) == 64;
    struct insn insn = {0};
    if (type_is_float(type) || (type_bits(type) != 32 && !wide))
        return false;
    int flags = CARRY_IN | (has(a, MOD_cc) ? CARRY_OUT : 0);
    if (a->mnemonic != MN_madc) {
        if (!operands(d, type, 2, &insn))
            return false;
        bool sub = a->mnemonic == MN_subc;
        enum lane_op op =
            sub ? (wide ? LANE_SUBC_u64 : LANE_SUBC_u32) : (wide ? LANE_ADDC_u64 : LANE_ADDC_u32);
        return emit_carry(d, op, flags, insn);
    }
    if (!operands(d, type, 3, &insn) || has(a, MOD_lo) == has(a, MOD_hi))
        return false;
    enum lane_op low = wide ? LANE_MADC_lo_u64 : LANE_MADC_lo_u32;
    enum lane_op high = wide ? LANE_MADC_hi_u64 : LANE_MADC_hi_u32;
    if (type_is_signed(type))
        high = wide ? LANE_MADC_his_u64 : LANE_MADC_his_u32;
    return emit_carry(d, has(a, MOD_lo) ? low : high, flags, insn);
}

static enum lane_op mul_high(enum mod type)
{
    switch (type) {
    case MOD_u16:
        return LANE_MULHI_u16;
    case MOD_s16:
        return LANE_MULHI_s16;
    case MOD_u32:
        return LANE_MULHI_u32;
    case MOD_s32:
        return LANE_MULHI_s32;
    case MOD_u64:
        return LANE_MULHI_u64;
    case MOD_s64:
        return LANE_MULHI_s64;
    default:
        return LANE_COUNT;
    }
}

static enum lane_op mul_wide(enum mod type, bool add)
{
    switch (type) {
    case MOD_u16:
        return add ? LANE_MADWIDE_u16 : LANE_MULWIDE_u16;
    case MOD_s16:
        return add ? LANE_MADWIDE_s16 : LANE_MULWIDE_s16;
    case MOD_u32:
        return add ? LANE_MADWIDE_u32 : LANE_MULWIDE_u32;
    case MOD_s32:
        return add ? LANE_MADWIDE_s32 : LANE_MULWIDE_s32;
    default:
        return LANE_COUNT;
    }
}

/* The product as wide as twice the type, plus a term of that width. */
static bool wide_operands(struct decoder *d, enum mod type, bool add, struct insn *out)
{
    int bits = 2 * type_bits(type);
    return d->insn->count == (add ? 4 : 3) && source(d, operand_at(d, 1), type, &out->a) &&
           source(d, operand_at(d, 2), type, &out->b) &&
           (!add || source_bits(d, operand_at(d, 3), bits, &out->c)) &&
           dest(d, operand_at(d, 0), bits, &out->d);
}

bool decode_mul(struct decoder *d, const struct ast_insn *a)
{
    enum mod type = type_at(a, 0);
    struct insn insn = {0};
    if (has(a, MOD_wide)) {
        enum lane_op op = mul_wide(type, false);
        if (op == LANE_COUNT || !wide_operands(d, type, false, &insn))
            return false;
        emit_lane(d, op, insn);
        return true;
    }
    if (!operands(d, type, 2, &insn))
        return false;
    if (half_index(type) >= 0)
        return half_op(d, a, LANE_HMUL_f16, type, insn);
    if (type_is_float(type))
        return float_op(d, a, type, FLOAT_OPS(MUL), insn);
    if (width_index(type_bits(type)) < 0 || mul_high(type) == LANE_COUNT)
        return false;
    emit_lane(d, has(a, MOD_hi) ? mul_high(type) : PICK_WIDTH(MULLO, type_bits(type)), insn);
    return true;
}

bool decode_mad(struct decoder *d, const struct ast_insn *a)
{
    enum mod type = type_at(a, 0);
    struct insn insn = {0};
    if (type_is_float(type))
        return decode_fma(d, a);
    if (has(a, MOD_wide)) {
        enum lane_op op = mul_wide(type, true);
        if (op == LANE_COUNT || !wide_operands(d, type, true, &insn))
            return false;
        emit_lane(d, op, insn);
        return true;
    }
    int bits = type_bits(type);
    if (!operands(d, type, 3, &insn) || mul_high(type) == LANE_COUNT)
        return false;
    if (has(a, MOD_cc)) {
        bool wide = bits == 64;
        enum lane_op low = wide ? LANE_MADC_lo_u64 : LANE_MADC_lo_u32;
        enum lane_op high = wide ? LANE_MADC_hi_u64 : LANE_MADC_hi_u32;
        if (type_is_signed(type))
            high = wide ? LANE_MADC_his_u64 : LANE_MADC_his_u32;
        return bits >= 32 && emit_carry(d, has(a, MOD_hi) ? high : low, CARRY_OUT, insn);
    }
    if (!has(a, MOD_hi)) {
        emit_lane(d, PICK_WIDTH(MADLO, bits), insn);
        return true;
    }
    uint32_t slot = scratch_slot(d);
    emit_lane(d, mul_high(type), (struct insn){.d = slot, .a = insn.a, .b = insn.b});
    struct insn sum = {.d = insn.d, .a = slot, .b = insn.c};
    emit_lane(d, has(a, MOD_sat) ? LANE_ADDSAT_s32 : PICK_WIDTH(ADD, bits), sum);
    return true;
}

bool decode_mad24(struct decoder *d, const struct ast_insn *a)
{
    enum mod type = type_at(a, 0);
    bool mad = a->mnemonic == MN_mad24;
    struct insn insn = {0};
    if ((type != MOD_u32 && type != MOD_s32) || has(a, MOD_sat) ||
        !operands(d, type, mad ? 3 : 2, &insn))
        return false;
    bool is_signed = type == MOD_s32;
    enum lane_op op = has(a, MOD_hi) ? (is_signed ? LANE_MUL24HI_s32 : LANE_MUL24HI_u32)
                                     : (is_signed ? LANE_MUL24LO_s32 : LANE_MUL24LO_u32);
    if (!mad) {
        emit_lane(d, op, insn);
        return true;
    }
    uint32_t slot = scratch_slot(d);
    emit_lane(d, op, (struct insn){.d = slot, .a = insn.a, .b = insn.b});
    emit_lane(d, LANE_ADD_u32, (struct insn){.d = insn.d, .a = slot, .b = insn.c});
    return true;
}

bool decode_fma(struct decoder *d, const struct ast_insn *a)
{
    enum mod type = type_at(a, 0);
    struct insn insn = {0};
    if (!type_is_float(type) || !operands(d, type, 3, &insn))
        return false;
    if (half_index(type) >= 0)
        return half_op(d, a, LANE_HFMA_f16, type, insn);
    return float_op(d, a, type, FLOAT_OPS(FMA), insn);
}

/* ---- division and roots ---- */

static bool integer_divrem(struct decoder *d, bool rem, enum mod type, const struct insn *insn)
{
    int bits = type_bits(type);
    enum type_kind kind = ast_mod(type)->kind;
    if (width_index(bits) < 0 || (kind != TYPE_S && kind != TYPE_U))
        return false;
    int index = width_index(bits);
    enum lane_op op;
    if (kind == TYPE_S)
        op = (enum lane_op)((rem ? LANE_REMS_s16 : LANE_DIVS_s16) + index);
    else
        op = (enum lane_op)((rem ? LANE_REMU_u16 : LANE_DIVU_u16) + index);
    emit_lane(d, op, *insn);
    return true;
}

bool decode_divrem(struct decoder *d, const struct ast_insn *a)
{
    enum mod type = type_at(a, 0);
    struct insn insn = {0};
    if (!operands(d, type, 2, &insn))
        return false;
    bool rem = a->mnemonic == MN_rem;
    if (type == MOD_f32 && !rem && (has(a, MOD_approx) || has(a, MOD_full))) {
        enum lane_op op = has(a, MOD_full) ? LANE_DIV_FULL_f32 : LANE_DIV_APPROX_f32;
        emit_lane(d, (enum lane_op)(op + has(a, MOD_ftz)), insn);
        return true;
    }
    if (type == MOD_f32 || type == MOD_f64)
        return !rem && float_op(d, a, type, FLOAT_OPS(DIV), insn);
    return integer_divrem(d, rem, type, &insn);
}

bool decode_rcp(struct decoder *d, const struct ast_insn *a)
{
    enum mod type = type_at(a, 0);
    struct insn insn = {0};
    if (!operands(d, type, 1, &insn))
        return false;
    if (type == MOD_f32 && rounding_of(a) == ROUND_RN) {
        enum lane_op op = has(a, MOD_approx) ? LANE_RCP_APPROX_f32 : LANE_RCP_f32;
        emit_lane(d, (enum lane_op)(op + has(a, MOD_ftz)), insn);
        return true;
    }
    if (type == MOD_f64 && has(a, MOD_approx)) {
        emit_lane(d, LANE_RCP_APPROX_f64, insn);
        return true;
    }
    if (type != MOD_f32 && type != MOD_f64)
        return false;
    insn.b = insn.a;
    insn.a = type == MOD_f32 ? constant32(d, 0x3f800000) : constant64(d, 0x3ff0000000000000);
    return float_op(d, a, type, FLOAT_OPS(DIV), insn);
}

bool decode_sqrt(struct decoder *d, const struct ast_insn *a)
{
    enum mod type = type_at(a, 0);
    struct insn insn = {0};
    if ((type != MOD_f32 && type != MOD_f64) || !operands(d, type, 1, &insn))
        return false;
    if (type == MOD_f32 && has(a, MOD_approx)) {
        emit_lane(d, (enum lane_op)(LANE_SQRT_APPROX_f32 + has(a, MOD_ftz)), insn);
        return true;
    }
    insn.b = insn.a;
    return float_op(d, a, type, FLOAT_OPS(SQRT), insn);
}

bool decode_rsqrt(struct decoder *d, const struct ast_insn *a)
{
    enum mod type = type_at(a, 0);
    struct insn insn = {0};
    if ((type != MOD_f32 && type != MOD_f64) || !operands(d, type, 1, &insn))
        return false;
    if (type == MOD_f64)
        emit_lane(d, has(a, MOD_ftz) ? LANE_RSQRT_APPROX_f64 : LANE_RSQRT_f64, insn);
    else
        emit_lane(d, (enum lane_op)(LANE_RSQRT_f32 + has(a, MOD_ftz)), insn);
    return true;
}

bool decode_approx(struct decoder *d, const struct ast_insn *a)
{
    enum mod type = type_at(a, 0);
    struct insn insn = {0};
    if (!operands(d, type, 1, &insn))
        return false;
    if (half_index(type) >= 0 && (a->mnemonic == MN_ex2 || a->mnemonic == MN_tanh))
        return half_op(d, a, a->mnemonic == MN_ex2 ? LANE_HEX2_f16 : LANE_HTANH_f16, type, insn);
    if (type != MOD_f32)
        return false;
    enum lane_op op = a->mnemonic == MN_ex2   ? LANE_EX2_f32
                      : a->mnemonic == MN_lg2 ? LANE_LG2_f32
                      : a->mnemonic == MN_sin ? LANE_SIN_f32
                      : a->mnemonic == MN_cos ? LANE_COS_f32
                                              : LANE_TANH_f32;
    emit_lane(d, (enum lane_op)(op + has(a, MOD_ftz)), insn);
    return true;
}

/* ---- signs, minima ---- */

bool decode_unary(struct decoder *d, const struct ast_insn *a)
{
    enum mod type = type_at(a, 0);
    bool neg = a->mnemonic == MN_neg;
    struct insn insn = {0};
    if (!operands(d, type, 1, &insn))
        return false;
    enum lane_op op;
    if (type == MOD_f32 || type == MOD_f64) {
        enum lane_op narrow = neg ? LANE_NEG_f32 : LANE_ABS_f32;
        op = type == MOD_f32 ? narrow : neg ? LANE_NEG_f64 : LANE_ABS_f64;
        if (has(a, MOD_ftz)) {
            uint32_t slot = scratch_slot(d);
            emit_lane(d, LANE_FTZ, (struct insn){.d = slot, .a = insn.a});
            insn.a = slot;
        }
    } else if (half_index(type) >= 0) {
        bool pair = type_bits(type) == 32;
        if (has(a, MOD_ftz) && (type == MOD_f16 || type == MOD_f16x2))
            insn.a = flushed_half(d, type, insn.a);
        op = pair ? (neg ? LANE_HNEG_f16x2 : LANE_HABS_f16x2)
                  : (neg ? LANE_HNEG_f16 : LANE_HABS_f16);
    } else {
        if (!type_is_signed(type) || width_index(type_bits(type)) < 0)
            return false;
        int index = width_index(type_bits(type));
        op = (enum lane_op)((neg ? LANE_NEG_u16 : LANE_ABS_s16) + index);
    }
    emit_lane(d, op, insn);
    return true;
}

static bool minmax_f32(struct decoder *d, const struct ast_insn *a, bool max, struct insn insn)
{
    enum lane_op op = has(a, MOD_NaN) ? (max ? LANE_MAX_NAN_f32 : LANE_MIN_NAN_f32)
                                      : (max ? LANE_MAX_f32 : LANE_MIN_f32);
    op = (enum lane_op)(op + has(a, MOD_ftz));
    if (a->count == 4) {
        uint32_t slot = scratch_slot(d);
        emit_lane(d, op, (struct insn){.d = slot, .a = insn.a, .b = insn.b});
        emit_lane(d, op, (struct insn){.d = insn.d, .a = slot, .b = insn.c});
        return true;
    }
    if (!has(a, MOD_xorsign)) {
        emit_lane(d, op, insn);
        return true;
    }
    uint32_t x = scratch_slot(d), y = scratch_slot(d), r = scratch_slot(d);
    emit_lane(d, LANE_ABS_f32, (struct insn){.d = x, .a = insn.a});
    emit_lane(d, LANE_ABS_f32, (struct insn){.d = y, .a = insn.b});
    emit_lane(d, op, (struct insn){.d = r, .a = x, .b = y});
    emit_lane(d, LANE_XORSIGN_f32, (struct insn){.d = insn.d, .a = r, .b = insn.a, .c = insn.b});
    return true;
}

bool decode_minmax(struct decoder *d, const struct ast_insn *a)
{
    enum mod type = type_at(a, 0);
    bool max = a->mnemonic == MN_max;
    struct insn insn = {0};
    bool three = type == MOD_f32 && a->count == 4;
    if (!operands(d, type, three ? 3 : 2, &insn))
        return false;
    if (type == MOD_f32)
        return minmax_f32(d, a, max, insn);
    if (half_index(type) >= 0) {
        if (has(a, MOD_xorsign))
            return false;
        enum lane_op family = has(a, MOD_NaN) ? (max ? LANE_HMAX_NAN_f16 : LANE_HMIN_NAN_f16)
                                              : (max ? LANE_HMAX_f16 : LANE_HMIN_f16);
        return half_op(d, a, family, type, insn);
    }
    if (has(a, MOD_relu) && type != MOD_s32 && type != MOD_s16x2)
        return false;
    if (type == MOD_f64) {
        emit_lane(d, max ? LANE_MAX_f64 : LANE_MIN_f64, insn);
    } else if (type == MOD_u16x2 || type == MOD_s16x2) {
        enum lane_op op = type == MOD_u16x2 ? LANE_MIN_u16x2 : LANE_MIN_s16x2;
        emit_lane(d, (enum lane_op)(op + max), insn);
        if (has(a, MOD_relu))
            emit_lane(d, LANE_RELU_s16x2, (struct insn){.d = insn.d, .a = insn.d});
    } else {
        int index = width_index(type_bits(type));
        enum type_kind kind = ast_mod(type)->kind;
        if (index < 0 || (kind != TYPE_U && kind != TYPE_S))
            return false;
        enum lane_op low = kind == TYPE_U ? LANE_MINU_u16 : LANE_MINS_s16;
        enum lane_op high = kind == TYPE_U ? LANE_MAXU_u16 : LANE_MAXS_s16;
        emit_lane(d, (enum lane_op)((max ? high : low) + index), insn);
        if (has(a, MOD_relu))
            emit_lane(d, LANE_RELU_s32, (struct insn){.d = insn.d, .a = insn.d});
    }
    return true;
}

bool decode_copysign(struct decoder *d, const struct ast_insn *a)
{
    enum mod type = type_at(a, 0);
    struct insn insn = {0};
    if ((type != MOD_f32 && type != MOD_f64) || !operands(d, type, 2, &insn))
        return false;
    emit_lane(d, type == MOD_f32 ? LANE_COPYSIGN_f32 : LANE_COPYSIGN_f64, insn);
    return true;
}

bool decode_sad(struct decoder *d, const struct ast_insn *a)
{
    static const struct {
        enum mod type;
        enum lane_op op;
    } ops[] = {
        {MOD_u16, LANE_SAD_u16}, {MOD_s16, LANE_SAD_s16}, {MOD_u32, LANE_SAD_u32},
        {MOD_s32, LANE_SAD_s32}, {MOD_u64, LANE_SAD_u64}, {MOD_s64, LANE_SAD_s64},
    };
    struct insn insn = {0};
    for (size_t i = 0; i < COUNT_OF(ops); i++)
        if (type_at(a, 0) == ops[i].type && operands(d, ops[i].type, 3, &insn)) {
            emit_lane(d, ops[i].op, insn);
            return true;
        }
    return false;
}

bool decode_dp(struct decoder *d, const struct ast_insn *a)
{
    enum mod ta = type_at(a, 0), tb = type_at(a, 1);
    struct insn insn = {0};
    bool known = (ta == MOD_u32 || ta == MOD_s32) && (tb == MOD_u32 || tb == MOD_s32);
    if (!known || !operands(d, MOD_b32, 3, &insn))
        return false;
    insn.mode = (uint8_t)((ta == MOD_s32 ? DP_A_SIGNED : 0) | (tb == MOD_s32 ? DP_B_SIGNED : 0) |
                          (has(a, MOD_hi) ? DP_HIGH : 0));
    emit_lane(d, a->mnemonic == MN_dp4a ? LANE_DP4A : LANE_DP2A, insn);
    return true;
}
