/*
 * Decoders of matrix instructions.
 *
 * Shapes and types are checked against a table, and the registers of each fragment are counted, so
 * that what runs never meets a fragment of another size.
 */
#include "verify/ptx/decode_int.h"
#include "verify/ptx/exec_int.h"
#include "verify/ptx/matrix_int.h"

struct shape {
    enum mod mod;
    uint32_t m, n, k;
};

static bool find_shape(const struct ast_insn *a, const struct shape *shapes, size_t count,
                       struct matrix_op *op)
{
    for (size_t i = 0; i < count; i++)
        if (has(a, shapes[i].mod)) {
            op->m = shapes[i].m;
            op->n = shapes[i].n;
            op->k = shapes[i].k;
            return true;
        }
    return false;
}

static bool matrix_type(enum mod type, enum matrix_type *out)
{
    static const struct {
        enum mod mod;
        enum matrix_type type;
    } types[] = {
        {MOD_f16, MATRIX_F16},   {MOD_bf16, MATRIX_BF16}, {MOD_tf32, MATRIX_TF32},
        {MOD_f32, MATRIX_F32},   {MOD_f64, MATRIX_F64},   {MOD_s8, MATRIX_S8},
        {MOD_u8, MATRIX_U8},     {MOD_s32, MATRIX_S32},   {MOD_e4m3, MATRIX_E4M3},
        {MOD_e5m2, MATRIX_E5M2},
    };
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (types[i].mod == type) {
            *out = types[i].type;
            return true;
        }
    return false;
}

static uint32_t element_bits(enum matrix_type type)
{
    switch (type) {
    case MATRIX_F16:
    case MATRIX_BF16:
        return 16;
    case MATRIX_F64:
        return 64;
    case MATRIX_S8:
    case MATRIX_U8:
    case MATRIX_E4M3:
    case MATRIX_E5M2:
        return 8;
    case MATRIX_TF32:
    case MATRIX_F32:
    case MATRIX_S32:
        return 32;
    }
    return 32;
}

/* A fragment's registers: 64-bit ones for f64, else 32-bit ones. */
static bool fragment(struct decoder *d, const struct ast_operand *o, bool is_dest,
                     struct matrix_regs *out)
{
    int bits = out->type == MATRIX_F64 ? 64 : 32;
    uint32_t count = o->kind == OPERAND_VEC ? o->count : 1;
    if (count == 0 || count > MATRIX_REGS_MAX)
        return false;
    out->count = count;
    for (uint32_t i = 0; i < count; i++) {
        const struct ast_operand *e = o->kind == OPERAND_VEC ? &d->ast->operands[o->first + i] : o;
        if (is_dest ? !dest(d, e, bits, &out->at[i]) : !source_bits(d, e, bits, &out->at[i]))
            return false;
    }
    return true;
}

static uint32_t slots(const struct matrix_regs *r)
{
    uint32_t bits = element_bits(r->type);
    return r->count * (bits >= 32 ? 1 : 32 / bits);
}

/* Products of which types may be summed in which. */
static bool types_fit(const struct matrix_op *op)
{
    enum matrix_type a = op->a.type, b = op->b.type, d = op->d.type;
    if (op->c.type != d &&
        !(a == MATRIX_F16 && (op->c.type == MATRIX_F16 || op->c.type == MATRIX_F32)))
        return false;
    bool half_or_single = d == MATRIX_F16 || d == MATRIX_F32;
    switch (a) {
    case MATRIX_F16:
        return b == a && half_or_single;
    case MATRIX_BF16:
    case MATRIX_TF32:
        return b == a && d == MATRIX_F32;
    case MATRIX_F64:
        return b == a && d == a;
    case MATRIX_S8:
    case MATRIX_U8:
        return (b == MATRIX_S8 || b == MATRIX_U8) && d == MATRIX_S32;
    case MATRIX_E4M3:
    case MATRIX_E5M2:
        return (b == MATRIX_E4M3 || b == MATRIX_E5M2) && half_or_single;
    case MATRIX_F32:
    case MATRIX_S32:
        return false;
    }
    return false;
}

/* ---- mma ---- */

static const struct shape mma_shapes[] = {
    {MOD_m16n8k4, 16, 8, 4},   {MOD_m16n8k8, 16, 8, 8}, {MOD_m16n8k16, 16, 8, 16},
    {MOD_m16n8k32, 16, 8, 32}, {MOD_m8n8k4, 8, 8, 4},   {MOD_m8n8k16, 8, 8, 16},
};

/* Which depths of k a type has. */
static bool mma_depth_fits(const struct matrix_op *op)
{
    uint32_t bits = element_bits(op->a.type);
    if (op->m == 8)
        return (op->a.type == MATRIX_F64 && op->k == 4) || (bits == 8 && op->k == 16);
    switch (bits) {
    case 64:
        return op->k <= 16;
    case 32:
        return op->k == 4 || op->k == 8;
    case 16:
        return op->k == 8 || op->k == 16;
    default:
        return op->k == 16 || op->k == 32;
    }
}

bool decode_mma(struct decoder *d, const struct ast_insn *a)
{
    struct matrix_op *op = arena_new(d->arena, struct matrix_op);
    struct insn insn = {.u.matrix = op};
    bool plain = has(a, MOD_row) && has(a, MOD_col) && !has(a, MOD_xor) && !has(a, MOD_and) &&
                 type_at(a, 4) == MOD_none;
    if (!plain || a->count != 4 || !find_shape(a, mma_shapes, COUNT_OF(mma_shapes), op) ||
        !matrix_type(type_at(a, 0), &op->d.type) || !matrix_type(type_at(a, 1), &op->a.type) ||
        !matrix_type(type_at(a, 2), &op->b.type) || !matrix_type(type_at(a, 3), &op->c.type) ||
        !types_fit(op) || op->c.type != op->d.type || !mma_depth_fits(op))
        return false;
    if (!fragment(d, operand_at(d, 0), true, &op->d) ||
        !fragment(d, operand_at(d, 1), false, &op->a) ||
        !fragment(d, operand_at(d, 2), false, &op->b) ||
        !fragment(d, operand_at(d, 3), false, &op->c))
        return false;
    if (slots(&op->a) != op->m * op->k / LANES || slots(&op->b) != op->k * op->n / LANES ||
        slots(&op->c) != op->m * op->n / LANES || slots(&op->d) != slots(&op->c))
        return cannot(d, "a fragment of another size");
    op->saturate = has(a, MOD_satfinite);
    emit(d, exec_mma, insn);
    return true;
}

/* ---- wmma ---- */

static const struct shape wmma_shapes[] = {
    {MOD_m16n16k16, 16, 16, 16}, {MOD_m8n32k16, 8, 32, 16}, {MOD_m32n8k16, 32, 8, 16},
    {MOD_m16n16k8, 16, 16, 8},   {MOD_m8n8k4, 8, 8, 4},
};

static bool wmma_depth_fits(const struct matrix_op *op, enum matrix_type type)
{
    uint32_t depth = type == MATRIX_TF32 ? 8 : type == MATRIX_F64 ? 4 : 16;
    return op->k == depth || type == MATRIX_F32 || type == MATRIX_S32;
}

static bool fragment_holds(const struct matrix_op *op, const struct matrix_regs *r, char which)
{
    uint32_t rows = which == 'b' ? op->k : op->m;
    uint32_t columns = which == 'a' ? op->k : op->n;
    uint32_t per = rows * columns / LANES;
    return per > 0 && slots(r) >= per && slots(r) % per == 0;
}

static bool wmma_memory(struct decoder *d, const struct ast_insn *a, bool load)
{
    struct matrix_op *op = arena_new(d->arena, struct matrix_op);
    struct address address;
    struct insn insn = {.u.matrix = op, .count = 1};
    struct matrix_regs *regs = load ? &op->d : &op->c;
    op->which = !load ? 'd' : has(a, MOD_a) ? 'a' : has(a, MOD_b) ? 'b' : 'c';
    op->by_column = has(a, MOD_col);
    if (!find_shape(a, wmma_shapes, COUNT_OF(wmma_shapes), op) ||
        !matrix_type(type_at(a, 0), &regs->type) || !wmma_depth_fits(op, regs->type) ||
        !decode_address(d, operand_at(d, load ? 1 : 0), decode_space(d, a), &address) ||
        !fragment(d, operand_at(d, load ? 0 : 1), load, regs))
        return false;
    if (!fragment_holds(op, regs, op->which))
        return cannot(d, "a fragment of another size");
    op->stride = constant32(d, 0);
    if (a->count == 3 && !source_bits(d, operand_at(d, 2), 32, &op->stride))
        return false;
    op->element_bytes = element_bits(regs->type) / 8;
    insn.a = address.base;
    insn.wide = address.wide;
    insn.imm = address.imm;
    insn.space = (uint8_t)address.space;
    insn.size = (uint8_t)op->element_bytes;
    emit(d, load ? exec_wmma_load : exec_wmma_store, insn);
    return a->count == 2 || a->count == 3;
}

static bool wmma_mma(struct decoder *d, const struct ast_insn *a)
{
    struct matrix_op *op = arena_new(d->arena, struct matrix_op);
    struct insn insn = {.u.matrix = op};
    /* f16 products name only the result's and the summand's type. */
    bool named = type_at(a, 2) != MOD_none;
    if (a->count != 4 || !find_shape(a, wmma_shapes, COUNT_OF(wmma_shapes), op) ||
        !matrix_type(type_at(a, 0), &op->d.type) ||
        !matrix_type(named ? type_at(a, 1) : MOD_f16, &op->a.type) ||
        !matrix_type(named ? type_at(a, 2) : MOD_f16, &op->b.type) ||
        !matrix_type(type_at(a, named ? 3 : 1), &op->c.type) || !types_fit(op) ||
        !wmma_depth_fits(op, op->a.type))
        return false;
    if (!fragment(d, operand_at(d, 0), true, &op->d) ||
        !fragment(d, operand_at(d, 1), false, &op->a) ||
        !fragment(d, operand_at(d, 2), false, &op->b) ||
        !fragment(d, operand_at(d, 3), false, &op->c))
        return false;
    if (!fragment_holds(op, &op->a, 'a') || !fragment_holds(op, &op->b, 'b') ||
        !fragment_holds(op, &op->c, 'c') || !fragment_holds(op, &op->d, 'd'))
        return cannot(d, "a fragment of another size");
    op->saturate = has(a, MOD_satfinite);
    emit(d, exec_wmma_mma, insn);
    return true;
}

bool decode_wmma(struct decoder *d, const struct ast_insn *a)
{
    if (has(a, MOD_load) || has(a, MOD_store))
        return wmma_memory(d, a, has(a, MOD_load));
    return has(a, MOD_mma) && wmma_mma(d, a);
}

/* ---- ldmatrix, stmatrix, movmatrix ---- */

bool decode_ldmatrix(struct decoder *d, const struct ast_insn *a)
{
    bool load = a->mnemonic == MN_ldmatrix;
    const struct ast_operand *regs = operand_at(d, load ? 0 : 1);
    uint32_t count = has(a, MOD_x4) ? 4 : has(a, MOD_x2) ? 2 : 1;
    struct address address;
    uint32_t *list = arena_array(d->arena, uint32_t, 4);
    if (a->count != 2 || !has(a, MOD_m8n8) || type_at(a, 0) != MOD_b16 ||
        (regs->kind == OPERAND_VEC ? regs->count : 1) != count ||
        !decode_address(d, operand_at(d, load ? 1 : 0), SPACE_SHARED, &address))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct ast_operand *e =
            regs->kind == OPERAND_VEC ? &d->ast->operands[regs->first + i] : regs;
        if (load ? !dest(d, e, 32, &list[i]) : !source_bits(d, e, 32, &list[i]))
            return false;
    }
    struct insn insn = {.a = address.base,
                        .wide = address.wide,
                        .imm = address.imm,
                        .space = (uint8_t)address.space,
                        .size = 16,
                        .count = (uint8_t)count,
                        .flags = has(a, MOD_trans),
                        .u.list = list};
    emit(d, load ? exec_ldmatrix : exec_stmatrix, insn);
    return true;
}

bool decode_movmatrix(struct decoder *d, const struct ast_insn *a)
{
    struct insn insn = {0};
    if (a->count != 2 || !has(a, MOD_m8n8) || !has(a, MOD_trans) ||
        !source_bits(d, operand_at(d, 1), 32, &insn.a) || !dest(d, operand_at(d, 0), 32, &insn.d))
        return false;
    emit(d, exec_movmatrix, insn);
    return true;
}
