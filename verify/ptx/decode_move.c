/*
 * Decoders of moves, conversions, loads, stores and atomics.
 *
 * A conversion goes through the steps that lane_cvt.def offers: narrow floats to f32, narrow
 * integers to 64 bits where saturation asks for it, then the result type, then what modifiers add.
 */
#include "verify/ptx/atom_int.h"
#include "verify/ptx/decode_int.h"
#include "verify/ptx/exec_int.h"

/* ---- mov ---- */

static bool move_pred(struct decoder *d)
{
    struct insn insn = {0};
    const struct ast_operand *to = operand_at(d, 0);
    if (to->kind != OPERAND_REG || !pred_dest(d, to->reg, &insn.p) ||
        !pred_source(d, operand_at(d, 1), &insn.q))
        return false;
    emit(d, exec_pred_mov, insn);
    return true;
}

/* Two places of `bits` joined to twice that. */
static bool join(struct decoder *d, int bits, uint32_t low, uint32_t high, uint32_t to)
{
    enum lane_op op = bits == 8 ? LANE_PACK_8x2 : bits == 16 ? LANE_PACK_u32 : LANE_PACK_u64;
    emit_lane(d, op, (struct insn){.d = to, .a = low, .b = high});
    return true;
}

/* mov.b64 d, {a, b} or {a, b, c, e} */
static bool pack(struct decoder *d, int bits, const struct ast_operand *from, uint32_t to)
{
    uint32_t parts[4];
    int part = bits / (int)(from->count ? from->count : 1);
    bool known = (from->count == 2 || from->count == 4) && (part == 8 || part == 16 || part == 32);
    if (!known)
        return false;
    for (uint32_t i = 0; i < from->count; i++)
        if (!source_bits(d, &d->ast->operands[from->first + i], part, &parts[i]))
            return false;
    if (from->count == 2)
        return join(d, part, parts[0], parts[1], to);
    uint32_t low = scratch_slot(d), high = scratch_slot(d);
    return join(d, part, parts[0], parts[1], low) && join(d, part, parts[2], parts[3], high) &&
           join(d, 2 * part, low, high, to);
}

static bool split(struct decoder *d, int bits, uint32_t from, uint32_t low, uint32_t high)
{
    enum lane_op op = bits == 16 ? LANE_LOW_u8 : bits == 32 ? LANE_LOW_u16 : LANE_LOW_u32;
    enum lane_op up = bits == 16 ? LANE_HIGH_u8 : bits == 32 ? LANE_HIGH_u16 : LANE_HIGH_u32;
    emit_lane(d, op, (struct insn){.d = low, .a = from});
    emit_lane(d, up, (struct insn){.d = high, .a = from});
    return true;
}

static bool unpack(struct decoder *d, int bits, uint32_t from, const struct ast_operand *to)
{
    uint32_t parts[4];
    int part = bits / (int)(to->count ? to->count : 1);
    bool known = (to->count == 2 || to->count == 4) && (part == 8 || part == 16 || part == 32);
    if (!known)
        return false;
    for (uint32_t i = 0; i < to->count; i++)
        if (!dest(d, &d->ast->operands[to->first + i], part, &parts[i]))
            return false;
    if (to->count == 2)
        return split(d, bits, from, parts[0], parts[1]);
    uint32_t low = scratch_slot(d), high = scratch_slot(d);
    return split(d, bits, from, low, high) && split(d, bits / 2, low, parts[0], parts[1]) &&
           split(d, bits / 2, high, parts[2], parts[3]);
}

/* 128 bits are two 64-bit registers one behind the other. */
static bool move128(struct decoder *d)
{
    const struct ast_operand *to = operand_at(d, 0), *from = operand_at(d, 1);
    uint32_t a, b;
    if (to->kind == OPERAND_VEC && to->count == 2) {
        if (!source_bits(d, from, 128, &a))
            return false;
        for (uint32_t i = 0; i < 2; i++) {
            if (!dest(d, &d->ast->operands[to->first + i], 64, &b))
                return false;
            emit_lane(d, LANE_MOV_u64, (struct insn){.d = b, .a = a + i * LANE64_BYTES});
        }
        return true;
    }
    if (!dest(d, to, 128, &b))
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        if (from->kind == OPERAND_VEC && from->count == 2) {
            if (!source_bits(d, &d->ast->operands[from->first + i], 64, &a))
                return false;
        } else if (source_bits(d, from, 128, &a)) {
            a += i * LANE64_BYTES;
        } else {
            return false;
        }
        emit_lane(d, LANE_MOV_u64, (struct insn){.d = b + i * LANE64_BYTES, .a = a});
    }
    return true;
}

bool decode_mov(struct decoder *d, const struct ast_insn *a)
{
    enum mod type = type_at(a, 0);
    int bits = type_bits(type);
    const struct ast_operand *to = operand_at(d, 0), *from = operand_at(d, 1);
    struct insn insn = {0};
    if (a->count != 2)
        return false;
    if (type == MOD_pred)
        return move_pred(d);
    if (bits == 128)
        return move128(d);
    if (from->kind == OPERAND_VEC)
        return dest(d, to, bits, &insn.d) && pack(d, bits, from, insn.d);
    if (to->kind == OPERAND_VEC)
        return source(d, from, type, &insn.a) && unpack(d, bits, insn.a, to);
    if (width_index(bits) < 0 || !dest(d, to, bits, &insn.d) || !source(d, from, type, &insn.a))
        return false;
    emit_lane(d, bits == 64 ? LANE_MOV_u64 : LANE_MOV_u32, insn);
    return true;
}

bool decode_createpolicy(struct decoder *d, const struct ast_insn *a)
{
    struct insn insn = {.a = constant64(d, 0)};
    if (a->count < 1 || !dest(d, operand_at(d, 0), 64, &insn.d))
        return false;
    emit_lane(d, LANE_MOV_u64, insn);
    return true;
}

/* ---- addresses ---- */

bool decode_cvta(struct decoder *d, const struct ast_insn *a)
{
    struct insn insn = {0};
    enum space space = decode_space(d, a);
    if (type_bits(type_at(a, 0)) != 64 || a->count != 2 ||
        !source_bits(d, operand_at(d, 1), 64, &insn.a) || !dest(d, operand_at(d, 0), 64, &insn.d))
        return false;
    if (space != SPACE_SHARED && space != SPACE_LOCAL) {
        emit_lane(d, LANE_MOV_u64, insn);
        return true;
    }
    uint64_t window = WINDOW_BASE(space == SPACE_SHARED ? WINDOW_SHARED : WINDOW_LOCAL);
    insn.b = constant64(d, window);
    emit_lane(d, has(a, MOD_to) ? LANE_SUB_u64 : LANE_ADD_u64, insn);
    return true;
}

bool decode_isspacep(struct decoder *d, const struct ast_insn *a)
{
    struct insn insn = {.space = (uint8_t)decode_space(d, a)};
    const struct ast_operand *to = operand_at(d, 0);
    if (a->count != 2 || to->kind != OPERAND_REG || !pred_dest(d, to->reg, &insn.p) ||
        !source_bits(d, operand_at(d, 1), 64, &insn.a))
        return false;
    insn.extra = has(a, MOD_shared_cluster);
    emit(d, exec_isspacep, insn);
    return true;
}

/* ---- conversions ---- */

static int int_index(enum mod type)
{
    enum type_kind kind = ast_mod(type)->kind;
    if (kind != TYPE_U && kind != TYPE_S && kind != TYPE_B)
        return -1;
    int bits = type_bits(type);
    int size = bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : bits == 64 ? 3 : -1;
    return size < 0 ? -1 : 2 * size + (kind == TYPE_S);
}

/* The lane operation that converts one integer type to another. */
static enum lane_op int_op(enum mod to, enum mod from)
{
    return (enum lane_op)(LANE_CVT_u8_u8 + 8 * int_index(to) + int_index(from));
}

static uint32_t step(struct decoder *d, enum lane_op op, uint32_t from, int mode)
{
    uint32_t to = scratch_slot(d);
    emit_lane(d, op, (struct insn){.d = to, .a = from, .mode = (uint8_t)mode});
    return to;
}

/* A source may sit in a wider register than its type. */
static bool cvt_source(struct decoder *d, const struct ast_operand *o, enum mod type, uint32_t *out)
{
    int bits = operand_bits(d, o);
    if (o->kind != OPERAND_REG || bits == type_bits(type) || int_index(type) < 0)
        return source(d, o, type, out);
    if (bits < type_bits(type) || bits > 64)
        return cannot(d, "register of another width");
    if (!source_bits(d, o, bits, out))
        return false;
    if (bits == 64)
        *out = step(d, LANE_LOW_u32, *out, 0);
    return true;
}

/* A result may go to a wider register, and is then extended. */
static bool cvt_result(struct decoder *d, enum mod type, uint32_t from)
{
    const struct ast_operand *to = operand_at(d, 0);
    int bits = operand_bits(d, to);
    struct insn insn = {.a = from};
    int wanted = type_bits(type);
    if (to->kind == OPERAND_SINK)
        return true;
    if (bits < wanted || (bits > wanted && int_index(type) < 0) || !dest(d, to, bits, &insn.d))
        return cannot(d, "register of another width");
    struct insn *last = d->code.count ? &d->code.at[d->code.count - 1] : NULL;
    if (bits == 64 && wanted < 64)
        emit_lane(d, int_op(type_is_signed(type) ? MOD_s64 : MOD_u64, type), insn);
    else if (last && d->scratch_used > 0 && last->d == from && from < SCRATCH_BYTES)
        last->d = insn.d; /* the last step writes the result itself */
    else
        emit_lane(d, bits == 64 ? LANE_MOV_u64 : LANE_MOV_u32, insn);
    return true;
}

static bool int_to_int(struct decoder *d, const struct ast_insn *a, enum mod to, enum mod from,
                       uint32_t value)
{
    const struct ast_operand *o = operand_at(d, 0);
    if (!has(a, MOD_sat)) {
        struct insn insn = {.a = value};
        if (operand_bits(d, o) == type_bits(to) || type_bits(to) < 64) {
            int bits = operand_bits(d, o);
            bool direct = bits == type_bits(to) || (bits <= 32 && bits > type_bits(to));
            if (direct && dest(d, o, bits, &insn.d)) {
                emit_lane(d, int_op(to, from), insn);
                return true;
            }
        }
        return cvt_result(d, to, step(d, int_op(to, from), value, 0));
    }
    bool is_signed = type_is_signed(from);
    enum mod wide = is_signed ? MOD_s64 : MOD_u64;
    uint32_t x = step(d, int_op(wide, from), value, 0);
    uint32_t y = scratch_slot(d);
    emit_lane(d, is_signed ? LANE_SATI_s : LANE_SATI_u,
              (struct insn){.d = y, .a = x, .imm = type_bits(to), .extra = !type_is_signed(to)});
    return cvt_result(d, to, step(d, int_op(to, wide), y, 0));
}

/* .sat, .relu, .satfinite behind a result of a float type. */
static uint32_t after_float(struct decoder *d, const struct ast_insn *a, enum mod to, uint32_t x)
{
    bool half = to == MOD_f16 || to == MOD_bf16;
    int index = to == MOD_f16 ? 0 : 1;
    if (has(a, MOD_ftz) && to == MOD_f32)
        x = step(d, LANE_FTZ, x, 0);
    if (has(a, MOD_sat) && half)
        x = step(d, (enum lane_op)(LANE_HSAT_f16 + index), x, 0);
    if (has(a, MOD_sat) && !half)
        x = step(d, to == MOD_f64 ? LANE_SAT_f64 : LANE_SAT_f32, x, 0);
    if (has(a, MOD_relu))
        x = step(d, half ? (enum lane_op)(LANE_HRELU_f16 + index) : LANE_RELU_f32, x, 0);
    if (has(a, MOD_satfinite) && half)
        x = step(d, (enum lane_op)(LANE_SATFINITE_f16 + index), x, 0);
    return x;
}

static bool int_to_float(struct decoder *d, const struct ast_insn *a, enum mod to, enum mod from,
                         uint32_t value)
{
    int mode = rounding_of(a);
    bool is_signed = type_is_signed(from);
    bool narrow = type_bits(from) <= 32 && (to == MOD_f64 || (to == MOD_f32 && mode == ROUND_RN));
    enum mod middle = narrow ? (is_signed ? MOD_s32 : MOD_u32) : (is_signed ? MOD_s64 : MOD_u64);
    uint32_t x = middle == from ? value : step(d, int_op(middle, from), value, 0);
    enum lane_op op;
    if (narrow)
        op = to == MOD_f64 ? (is_signed ? LANE_S32_F64 : LANE_U32_F64)
                           : (is_signed ? LANE_S32_F32_RN : LANE_U32_F32_RN);
    else if (to == MOD_f32)
        op = is_signed ? LANE_S64_F32 : LANE_U64_F32;
    else if (to == MOD_f64)
        op = is_signed ? LANE_S64_F64 : LANE_U64_F64;
    else if (to == MOD_f16)
        op = is_signed ? LANE_S64_F16 : LANE_U64_F16;
    else
        op = is_signed ? LANE_S64_BF16 : LANE_U64_BF16;
    return cvt_result(d, to, after_float(d, a, to, step(d, op, x, mode)));
}

/* f16 and bf16 become f32; `*from` says what the value is then. */
static uint32_t widen(struct decoder *d, enum mod *from, uint32_t x)
{
    if (*from != MOD_f16 && *from != MOD_bf16)
        return x;
    x = step(d, *from == MOD_f16 ? LANE_F16_F32 : LANE_BF16_F32, x, 0);
    *from = MOD_f32;
    return x;
}

static bool float_to_int(struct decoder *d, const struct ast_insn *a, enum mod to, enum mod from,
                         uint32_t value)
{
    int mode = rounding_of(a);
    uint32_t x = widen(d, &from, value);
    if (from == MOD_f32 && has(a, MOD_ftz))
        x = step(d, LANE_FTZ, x, 0);
    bool is_signed = type_is_signed(to);
    bool wide = type_bits(to) == 64;
    enum lane_op first = from == MOD_f32 ? LANE_F32_S32 : LANE_F64_S32;
    int kind = (is_signed ? 0 : 1) + (wide ? 2 : 0);
    if (type_bits(to) >= 32)
        return cvt_result(d, to, step(d, (enum lane_op)(first + kind), x, mode));
    x = step(d, (enum lane_op)(first + 2), x, mode);
    uint32_t y = scratch_slot(d);
    emit_lane(d, LANE_SATI_s,
              (struct insn){.d = y, .a = x, .imm = type_bits(to), .extra = !is_signed});
    return cvt_result(d, to, step(d, int_op(to, MOD_s64), y, 0));
}

static bool rounds_to_integer(const struct ast_insn *a)
{
    return has(a, MOD_rni) || has(a, MOD_rzi) || has(a, MOD_rmi) || has(a, MOD_rpi);
}

static bool float_to_float(struct decoder *d, const struct ast_insn *a, enum mod to, enum mod from,
                           uint32_t value)
{
    int mode = rounding_of(a);
    bool whole = rounds_to_integer(a);
    uint32_t x = value;
    if (from == MOD_f16 && to == MOD_f64 && !whole)
        return cvt_result(d, to, after_float(d, a, to, step(d, LANE_F16_F64, x, 0)));
    x = widen(d, &from, x);
    if (from == MOD_f32 && has(a, MOD_ftz))
        x = step(d, LANE_FTZ, x, 0);
    if (whole)
        x = step(d, from == MOD_f32 ? LANE_F32_F32_INT : LANE_F64_F64_INT, x, mode);
    if (whole)
        mode = ROUND_RN;
    if (from == to)
        return cvt_result(d, to, after_float(d, a, to, x));
    enum lane_op op;
    if (from == MOD_f32)
        op = to == MOD_f64   ? LANE_F32_F64
             : to == MOD_f16 ? (mode == ROUND_RN ? LANE_F32_F16_RN : LANE_F32_F16)
                             : LANE_F32_BF16;
    else
        op = to == MOD_f32 ? LANE_F64_F32 : to == MOD_f16 ? LANE_F64_F16 : LANE_F64_BF16;
    return cvt_result(d, to, after_float(d, a, to, step(d, op, x, mode)));
}

/* Two floats to a packed pair, or between packed pairs. */
static bool cvt_pair(struct decoder *d, const struct ast_insn *a, enum mod to, enum mod from)
{
    static const struct {
        enum mod to, from;
        enum lane_op op;
    } ways[] = {
        {MOD_f16x2, MOD_f32, LANE_F32_F16X2},       {MOD_bf16x2, MOD_f32, LANE_F32_BF16X2},
        {MOD_e4m3x2, MOD_f32, LANE_F32_E4M3X2},     {MOD_e5m2x2, MOD_f32, LANE_F32_E5M2X2},
        {MOD_f16x2, MOD_e4m3x2, LANE_E4M3X2_F16X2}, {MOD_f16x2, MOD_e5m2x2, LANE_E5M2X2_F16X2},
        {MOD_e4m3x2, MOD_f16x2, LANE_F16X2_E4M3X2}, {MOD_e5m2x2, MOD_f16x2, LANE_F16X2_E5M2X2},
    };
    struct insn insn = {.mode = (uint8_t)rounding_of(a)};
    bool relu = has(a, MOD_relu);
    bool half_result = to == MOD_f16x2 || to == MOD_bf16x2;
    if (has(a, MOD_satfinite) && half_result)
        return false;
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        if (ways[i].to != to || ways[i].from != from)
            continue;
        if (a->count != (from == MOD_f32 ? 3U : 2U) || (relu && !half_result))
            return false;
        if (!source(d, operand_at(d, 1), from, &insn.a) ||
            (from == MOD_f32 && !source(d, operand_at(d, 2), from, &insn.b)) ||
            !dest(d, operand_at(d, 0), type_bits(to), &insn.d))
            return false;
        emit_lane(d, ways[i].op, insn);
        if (relu)
            emit_lane(d, to == MOD_f16x2 ? LANE_HRELU_f16x2 : LANE_HRELU_bf16x2,
                      (struct insn){.d = insn.d, .a = insn.d});
        return true;
    }
    return false;
}

static bool cvt_tf32(struct decoder *d, const struct ast_insn *a, uint32_t value)
{
    uint32_t x = value;
    if (has(a, MOD_relu))
        x = step(d, LANE_RELU_f32, x, 0);
    x = step(d, LANE_F32_TF32, x, rounding_of(a));
    if (has(a, MOD_satfinite))
        x = step(d, LANE_SATFINITE_tf32, x, 0);
    return cvt_result(d, MOD_b32, x);
}

bool decode_cvt(struct decoder *d, const struct ast_insn *a)
{
    enum mod to = type_at(a, 0);
    enum mod from = type_at(a, 1);
    uint32_t value;
    bool float_to = to == MOD_f32 || to == MOD_f64 || to == MOD_f16 || to == MOD_bf16;
    bool float_from = from == MOD_f32 || from == MOD_f64 || from == MOD_f16 || from == MOD_bf16;
    if (type_at(a, 2) != MOD_none)
        return false;
    if (to == MOD_tf32)
        return from == MOD_f32 && a->count == 2 && source(d, operand_at(d, 1), from, &value) &&
               cvt_tf32(d, a, value);
    if ((!float_to && int_index(to) < 0) || (!float_from && int_index(from) < 0))
        return cvt_pair(d, a, to, from);
    if (a->count != 2 || !cvt_source(d, operand_at(d, 1), from, &value))
        return false;
    if (float_to)
        return float_from ? float_to_float(d, a, to, from, value)
                          : int_to_float(d, a, to, from, value);
    return float_from ? float_to_int(d, a, to, from, value) : int_to_int(d, a, to, from, value);
}

/* ---- loads and stores ---- */

static uint32_t vector_count(const struct ast_insn *a)
{
    return has(a, MOD_v2) ? 2 : has(a, MOD_v4) ? 4 : has(a, MOD_v8) ? 8 : 1;
}

/* By element: u8 s8 u16 s16 u32 u64. */
static int element_index(enum mod type)
{
    switch (type_bits(type)) {
    case 8:
        return type_is_signed(type) ? 1 : 0;
    case 16:
        return type_is_signed(type) ? 3 : 2;
    case 32:
        return 4;
    case 64:
        return 5;
    default:
        return -1;
    }
}

static const struct ast_operand *element(const struct decoder *d, const struct ast_operand *o,
                                         uint32_t i)
{
    return o->kind == OPERAND_VEC ? &d->ast->operands[o->first + i] : o;
}

static bool memory_shape(const struct ast_insn *a, const struct ast_operand *value, enum mod type,
                         uint32_t *count)
{
    *count = vector_count(a);
    bool vector = value->kind == OPERAND_VEC;
    return type_bits(type) >= 8 && (vector ? value->count : 1) == *count &&
           *count * (uint32_t)type_bits(type) <= 256;
}

static enum lane_op load_family(enum space space)
{
    return space == SPACE_GLOBAL ? LANE_LDG_u8 : space == SPACE_SHARED ? LANE_LDS_u8 : LANE_LDO_u8;
}

/* Loads into registers wider than the element need a step more: which register gets what. */
struct widening {
    uint32_t from, to;
    enum lane_op op;
};

static bool load_dest(struct decoder *d, const struct ast_operand *o, enum mod type,
                      struct widening *wide, uint32_t *out)
{
    int bits = operand_bits(d, o);
    *wide = (struct widening){.op = LANE_COUNT};
    if (o->kind == OPERAND_SINK) {
        *out = scratch_slot(d);
        return true;
    }
    if (bits < type_bits(type) || bits > 64 || !dest(d, o, bits, out))
        return cannot(d, "register of another width");
    if (bits == 64 && type_bits(type) < 64) {
        enum mod lane = type_is_signed(type) ? MOD_s32 : MOD_u32;
        wide->to = *out;
        wide->from = *out = scratch_slot(d);
        wide->op = int_op(type_is_signed(type) ? MOD_s64 : MOD_u64, lane);
    }
    return true;
}

static bool load128(struct decoder *d, struct insn insn)
{
    uint32_t *list = arena_array(d->arena, uint32_t, 2);
    uint32_t reg;
    if (!dest(d, operand_at(d, 0), 128, &reg))
        return false;
    list[0] = reg;
    list[1] = reg + LANE64_BYTES;
    insn.u.list = list;
    insn.size = 8;
    insn.count = 2;
    emit_lane(d, (enum lane_op)(load_family((enum space)insn.space) + 5), insn);
    return true;
}

bool decode_ld(struct decoder *d, const struct ast_insn *a)
{
    enum mod type = type_at(a, 0);
    const struct ast_operand *to = operand_at(d, 0);
    struct address address;
    uint32_t count;
    if (a->count < 2 || type_at(a, 1) != MOD_none ||
        !decode_address(d, operand_at(d, 1), decode_space(d, a), &address))
        return false;
    struct insn insn = {.a = address.base,
                        .wide = address.wide,
                        .imm = address.imm,
                        .space = (uint8_t)address.space,
                        .strong = strength(a),
                        .extra = has(a, MOD_nc)};
    if (type_bits(type) == 128)
        return load128(d, insn);
    int index = element_index(type);
    if (index < 0 || !memory_shape(a, to, type, &count))
        return false;
    uint32_t *list = arena_array(d->arena, uint32_t, count);
    struct widening wide[8];
    for (uint32_t i = 0; i < count; i++)
        if (!load_dest(d, element(d, to, i), type, &wide[i], &list[i]))
            return false;
    insn.d = list[0];
    insn.u.list = list;
    insn.size = (uint8_t)(type_bits(type) / 8);
    insn.count = (uint8_t)count;
    bool param = address.space == SPACE_PARAM && operand_at(d, 1)->has_var;
    enum lane_op family = load_family(address.space);
    if (param) {
        const struct ast_var *var = &d->ast->vars[operand_at(d, 1)->index];
        int64_t offset = operand_at(d, 1)->imm;
        if (offset < 0 || (uint64_t)offset + insn.size * count > var->bytes)
            return cannot(d, "outside the parameter");
        insn.imm = (int64_t)var->place + offset;
        family = LANE_LDP_u8;
    }
    emit_lane(d, (enum lane_op)(family + index), insn);
    for (uint32_t i = 0; i < count; i++)
        if (wide[i].op != LANE_COUNT)
            emit_lane(d, wide[i].op, (struct insn){.d = wide[i].to, .a = wide[i].from});
    return true;
}

/* A value to store may sit in a wider register. */
static bool store_source(struct decoder *d, const struct ast_operand *o, enum mod type,
                         uint32_t *out)
{
    int bits = operand_bits(d, o);
    if (o->kind != OPERAND_REG || bits == type_bits(type))
        return source(d, o, type, out);
    if (bits < type_bits(type) || bits > 64 || !source_bits(d, o, bits, out))
        return cannot(d, "register of another width");
    if (bits == 64)
        *out = step(d, LANE_LOW_u32, *out, 0);
    return true;
}

bool decode_st(struct decoder *d, const struct ast_insn *a)
{
    enum mod type = type_at(a, 0);
    const struct ast_operand *from = operand_at(d, 1);
    struct address address;
    uint32_t count;
    int index = type_bits(type) == 8    ? 0
                : type_bits(type) == 16 ? 1
                : type_bits(type) == 32 ? 2
                : type_bits(type) == 64 ? 3
                                        : -1;
    if (has(a, MOD_async) || type_at(a, 1) != MOD_none)
        return false;
    bool b128 = type_bits(type) == 128;
    if (a->count < 2 || !decode_address(d, operand_at(d, 0), decode_space(d, a), &address) ||
        (!b128 && (index < 0 || !memory_shape(a, from, type, &count))))
        return false;
    if (address.space == SPACE_PARAM || address.space == SPACE_CONST)
        return cannot(d, "store to constant memory");
    uint32_t *list = arena_array(d->arena, uint32_t, 8);
    if (b128) {
        count = 2;
        index = 3;
        if (!source_bits(d, from, 128, &list[0]))
            return false;
        list[1] = list[0] + LANE64_BYTES;
    }
    for (uint32_t i = 0; i < count && !b128; i++)
        if (!store_source(d, element(d, from, i), type, &list[i]))
            return false;
    struct insn insn = {.a = address.base,
                        .b = list[0],
                        .wide = address.wide,
                        .imm = address.imm,
                        .space = (uint8_t)address.space,
                        .strong = strength(a),
                        .size = (uint8_t)(b128 ? 8 : type_bits(type) / 8),
                        .count = (uint8_t)count,
                        .u.list = list};
    enum lane_op family = address.space == SPACE_GLOBAL   ? LANE_STG_u8
                          : address.space == SPACE_SHARED ? LANE_STS_u8
                                                          : LANE_STO_u8;
    emit_lane(d, (enum lane_op)(family + index), insn);
    return true;
}

bool decode_prefetch(struct decoder *d, const struct ast_insn *a)
{
    if (a->count < 1 || operand_at(d, 0)->kind != OPERAND_MEM)
        return false;
    emit(d, exec_nothing, (struct insn){0});
    return true;
}

bool decode_nothing(struct decoder *d, const struct ast_insn *a)
{
    (void)a;
    emit(d, exec_nothing, (struct insn){0});
    return true;
}

/* ---- atomics ---- */

static int atom_op(const struct ast_insn *a)
{
    static const struct {
        enum mod mod;
        int op;
    } ops[] = {
        {MOD_and, ATOM_AND},   {MOD_or, ATOM_OR},   {MOD_xor, ATOM_XOR}, {MOD_cas, ATOM_CAS},
        {MOD_exch, ATOM_EXCH}, {MOD_add, ATOM_ADD}, {MOD_inc, ATOM_INC}, {MOD_dec, ATOM_DEC},
        {MOD_min, ATOM_MIN},   {MOD_max, ATOM_MAX},
    };
    for (size_t i = 0; i < COUNT_OF(ops); i++)
        if (has(a, ops[i].mod))
            return ops[i].op;
    return -1;
}

static int atom_type(enum mod type)
{
    static const struct {
        enum mod mod;
        int type;
    } types[] = {
        {MOD_b16, ATOM_U16},     {MOD_u16, ATOM_U16},       {MOD_b32, ATOM_U32},
        {MOD_u32, ATOM_U32},     {MOD_s32, ATOM_S32},       {MOD_b64, ATOM_U64},
        {MOD_u64, ATOM_U64},     {MOD_s64, ATOM_S64},       {MOD_f32, ATOM_F32},
        {MOD_f64, ATOM_F64},     {MOD_f16, ATOM_F16},       {MOD_bf16, ATOM_BF16},
        {MOD_f16x2, ATOM_F16X2}, {MOD_bf16x2, ATOM_BF16X2}, {MOD_b128, ATOM_B128},
    };
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (types[i].mod == type)
            return types[i].type;
    return -1;
}

static bool atom_allowed(int op, int type)
{
    bool is_float = type == ATOM_F32 || type == ATOM_F64 || type == ATOM_F16 || type == ATOM_BF16 ||
                    type == ATOM_F16X2 || type == ATOM_BF16X2;
    if (type == ATOM_B128)
        return op == ATOM_CAS || op == ATOM_EXCH;
    if (type == ATOM_U16)
        return op == ATOM_CAS;
    if (op == ATOM_INC || op == ATOM_DEC)
        return type == ATOM_U32;
    bool narrow = type != ATOM_F32 && type != ATOM_F64;
    return !is_float || op == ATOM_ADD || (narrow && (op == ATOM_MIN || op == ATOM_MAX));
}

bool decode_atom(struct decoder *d, const struct ast_insn *a)
{
    bool red = a->mnemonic == MN_red;
    uint32_t at = red ? 0 : 1;
    enum mod type = type_at(a, 0);
    int op = atom_op(a), kind = atom_type(type);
    int bits = type_bits(type);
    struct address address;
    struct insn insn = {.d = UINT32_MAX, .strong = STRONG_ACCESS | strength(a)};
    if (op < 0 || kind < 0 || !atom_allowed(op, kind) || vector_count(a) > 1 || has(a, MOD_async) ||
        a->count < at + 2 || !decode_address(d, operand_at(d, at), decode_space(d, a), &address))
        return false;
    if (!red && !dest(d, operand_at(d, 0), bits, &insn.d))
        return false;
    if (!source(d, operand_at(d, at + 1), type, &insn.b))
        return false;
    if (op == ATOM_CAS && !source(d, operand_at(d, at + 2), type, &insn.c))
        return false;
    insn.a = address.base;
    insn.wide = address.wide;
    insn.imm = address.imm;
    insn.space = (uint8_t)address.space;
    insn.mode = (uint8_t)op;
    insn.extra = (uint8_t)kind;
    insn.size = (uint8_t)(bits / 8);
    insn.count = 1;
    insn.flags = red;
    emit(d, exec_atom, insn);
    return true;
}
