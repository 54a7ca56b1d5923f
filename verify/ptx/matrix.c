/*
 * Matrix instructions: mma, wmma, ldmatrix, stmatrix, movmatrix.
 *
 * mma's fragments are laid out as PTX documents them, which is one formula: with e elements in 32
 * bits, register r of lane l holds row l / 4 + 8 (r % 2), columns (l % 4) e ... + 4 e (r / 2).
 * wmma's layout is not documented, so any will do: element p of the matrix in order of rows is slot
 * p % per of lane p / per, and registers beyond hold copies.
 *
 * Products are summed in double in order of k and rounded once.  Hardware's order is not
 * documented; nothing depends on it here beyond last bits.
 */
#include <string.h>

#include "base/num.h"

#include "verify/ptx/exec_int.h"
#include "verify/ptx/fault_int.h"
#include "verify/ptx/matrix_int.h"
#include "verify/ptx/mem_int.h"
#include "verify/ptx/numeric_int.h"
#include "verify/ptx/warp_int.h"

enum { ROWS_MAX = 32, DEPTH_MAX = 32 };

struct matrix {
    double at[ROWS_MAX][ROWS_MAX];
};

/* All 32 lanes must be here; a warp with fewer waits, and is told when they never come. */
static bool whole_warp(struct warp *w, const struct insn *in, const struct insn **result)
{
    if (w->mask == (uint32_t)ALL_LANES) {
        clock_warp_sync(w);
        return true;
    }
    if (w->live != (uint32_t)ALL_LANES)
        *result =
            fault_at(w, in, __builtin_ctz(w->mask), PTX_FAULT_SHUFFLE_INACTIVE, NULL,
                     "a matrix instruction needs all 32 lanes, only 0x%08x are left", w->live);
    else
        *result = warp_block(w, GROUP_ALIGN, in);
    return false;
}

/* ---- elements ---- */

static int type_bits(enum matrix_type type)
{
    switch (type) {
    case MATRIX_F16:
    case MATRIX_BF16:
        return 16;
    case MATRIX_TF32:
    case MATRIX_F32:
    case MATRIX_S32:
        return 32;
    case MATRIX_F64:
        return 64;
    case MATRIX_S8:
    case MATRIX_U8:
    case MATRIX_E4M3:
    case MATRIX_E5M2:
        return 8;
    }
    return 32;
}

static double to_double(enum matrix_type type, uint64_t bits)
{
    switch (type) {
    case MATRIX_F16:
        return (double)f16_f32((uint32_t)bits & 0xffff);
    case MATRIX_BF16:
        return (double)bf16_f32((uint32_t)bits & 0xffff);
    case MATRIX_TF32:
        return (double)f32_from((uint32_t)bits & 0xffffe000);
    case MATRIX_F32:
        return (double)f32_from((uint32_t)bits);
    case MATRIX_F64:
        return f64_from(bits);
    case MATRIX_S8:
        return (double)(int8_t)bits;
    case MATRIX_U8:
        return (double)(uint8_t)bits;
    case MATRIX_S32:
        return (double)(int32_t)bits;
    case MATRIX_E4M3:
        return e4m3_to_double((uint8_t)bits);
    case MATRIX_E5M2:
        return e5m2_to_double((uint8_t)bits);
    }
    return 0.0;
}

static uint64_t from_double(enum matrix_type type, double value, bool saturate)
{
    switch (type) {
    case MATRIX_F16:
        return f32_f16_rn(odd_f32(value));
    case MATRIX_F64:
        return f64_bits(canon_f64(value));
    case MATRIX_S32:
        if (saturate)
            value = value > 2147483647.0 ? 2147483647.0 : value < -0x1p31 ? -0x1p31 : value;
        return (uint32_t)(int64_t)value;
    case MATRIX_F32:
    case MATRIX_TF32:
    case MATRIX_BF16:
    case MATRIX_S8:
    case MATRIX_U8:
    case MATRIX_E4M3:
    case MATRIX_E5M2:
        return f32_bits(canon_f32((float)value));
    }
    return 0;
}

static uint64_t get_slot(struct warp *w, const struct matrix_regs *r, int lane, uint32_t slot)
{
    int bits = type_bits(r->type);
    uint32_t per = bits >= 32 ? 1 : 32 / (uint32_t)bits;
    const unsigned char *reg = operand(w, r->at[slot / per]);
    if (bits == 64)
        return ((const uint64_t *)(const void *)reg)[lane];
    uint32_t word = ((const uint32_t *)(const void *)reg)[lane];
    return per == 1 ? word : word >> ((uint32_t)bits * (slot % per)) & ((1U << bits) - 1);
}

static void set_slot(struct warp *w, const struct matrix_regs *r, int lane, uint32_t slot,
                     uint64_t value)
{
    int bits = type_bits(r->type);
    uint32_t per = bits >= 32 ? 1 : 32 / (uint32_t)bits;
    unsigned char *reg = operand(w, r->at[slot / per]);
    if (bits == 64) {
        ((uint64_t *)(void *)reg)[lane] = value;
        return;
    }
    uint32_t *word = &((uint32_t *)(void *)reg)[lane];
    if (per == 1) {
        *word = (uint32_t)value;
        return;
    }
    uint32_t shift = (uint32_t)bits * (slot % per);
    uint32_t mask = ((1U << bits) - 1) << shift;
    *word = (*word & ~mask) | ((uint32_t)value << shift & mask);
}

static uint32_t slots_of(const struct matrix_regs *r)
{
    int bits = type_bits(r->type);
    return r->count * (bits >= 32 ? 1 : 32 / (uint32_t)bits);
}

/* ---- products ---- */

/* d = a b + c, summed in order of k. */
static void multiply(const struct matrix_op *op, const struct matrix *a, const struct matrix *b,
                     struct matrix *c)
{
    bool is_f64 = op->d.type == MATRIX_F64;
    for (uint32_t i = 0; i < op->m; i++)
        for (uint32_t j = 0; j < op->n; j++) {
            double sum = is_f64 ? c->at[i][j] : 0.0;
            for (uint32_t k = 0; k < op->k; k++)
                sum = is_f64 ? fma(a->at[i][k], b->at[k][j], sum) : sum + a->at[i][k] * b->at[k][j];
            c->at[i][j] = is_f64 ? sum : sum + c->at[i][j];
        }
}

/* ---- mma: documented fragments ---- */

struct spot {
    uint32_t row, column;
};

/* Of A; B is the same with rows and columns swapped and one register a step of k. */
static struct spot a_spot(const struct matrix_op *op, int lane, uint32_t slot)
{
    int bits = type_bits(op->a.type);
    uint32_t per = bits >= 32 ? 1 : 32 / (uint32_t)bits;
    uint32_t reg = slot / per;
    uint32_t halves = op->m == 16 ? 2 : 1;
    return (struct spot){(uint32_t)lane / 4 + 8 * (reg % halves),
                         (uint32_t)lane % 4 * per + slot % per + 4 * per * (reg / halves)};
}

static struct spot b_spot(const struct matrix_op *op, int lane, uint32_t slot)
{
    int bits = type_bits(op->b.type);
    uint32_t per = bits >= 32 ? 1 : 32 / (uint32_t)bits;
    uint32_t reg = slot / per;
    return (struct spot){(uint32_t)lane % 4 * per + slot % per + 4 * per * reg, (uint32_t)lane / 4};
}

static struct spot c_spot(int lane, uint32_t slot)
{
    return (struct spot){(uint32_t)lane / 4 + 8 * (slot / 2), (uint32_t)lane % 4 * 2 + slot % 2};
}

const struct insn *exec_mma(struct warp *w, const struct insn *in)
{
    const struct insn *result;
    const struct matrix_op *op = in->u.matrix;
    struct matrix a, b, c;
    if (!whole_warp(w, in, &result))
        return result;
    for (int lane = 0; lane < LANES; lane++) {
        for (uint32_t s = 0; s < slots_of(&op->a); s++) {
            struct spot at = a_spot(op, lane, s);
            a.at[at.row][at.column] = to_double(op->a.type, get_slot(w, &op->a, lane, s));
        }
        for (uint32_t s = 0; s < slots_of(&op->b); s++) {
            struct spot at = b_spot(op, lane, s);
            b.at[at.row][at.column] = to_double(op->b.type, get_slot(w, &op->b, lane, s));
        }
        for (uint32_t s = 0; s < slots_of(&op->c); s++) {
            struct spot at = c_spot(lane, s);
            c.at[at.row][at.column] = to_double(op->c.type, get_slot(w, &op->c, lane, s));
        }
    }
    multiply(op, &a, &b, &c);
    for (int lane = 0; lane < LANES; lane++)
        for (uint32_t s = 0; s < slots_of(&op->d); s++) {
            struct spot at = c_spot(lane, s);
            set_slot(w, &op->d, lane, s,
                     from_double(op->d.type, c.at[at.row][at.column], op->saturate));
        }
    w->flops += 2ULL * op->m * op->n * op->k;
    return in + 1;
}

/* ---- wmma: our own fragments ---- */

static void wmma_shape(const struct matrix_op *op, char which, uint32_t *rows, uint32_t *columns)
{
    *rows = which == 'b' ? op->k : op->m;
    *columns = which == 'a' ? op->k : op->n;
}

static void wmma_get(struct warp *w, const struct matrix_op *op, const struct matrix_regs *r,
                     char which, struct matrix *out)
{
    uint32_t rows, columns;
    wmma_shape(op, which, &rows, &columns);
    uint32_t per = rows * columns / LANES;
    for (uint32_t p = 0; p < rows * columns; p++)
        out->at[p / columns][p % columns] =
            to_double(r->type, get_slot(w, r, (int)(p / per), p % per));
}

const struct insn *exec_wmma_mma(struct warp *w, const struct insn *in)
{
    const struct insn *result;
    const struct matrix_op *op = in->u.matrix;
    struct matrix a, b, c;
    if (!whole_warp(w, in, &result))
        return result;
    wmma_get(w, op, &op->a, 'a', &a);
    wmma_get(w, op, &op->b, 'b', &b);
    wmma_get(w, op, &op->c, 'c', &c);
    multiply(op, &a, &b, &c);
    uint32_t per = op->m * op->n / LANES;
    for (uint32_t p = 0; p < op->m * op->n; p++)
        set_slot(w, &op->d, (int)(p / per), p % per,
                 from_double(op->d.type, c.at[p / op->n][p % op->n], op->saturate));
    w->flops += 2ULL * op->m * op->n * op->k;
    return in + 1;
}

/* Address of element p of a fragment in memory. */
static uint64_t wmma_address(struct warp *w, const struct insn *in, int lane, uint32_t p)
{
    const struct matrix_op *op = in->u.matrix;
    uint32_t rows, columns;
    wmma_shape(op, op->which, &rows, &columns);
    const uint32_t *strides = operand(w, op->stride);
    uint64_t stride = strides[lane];
    if (stride == 0 && (op->stride & 1))
        stride = op->by_column ? rows : columns;
    uint64_t row = p / columns, column = p % columns;
    uint64_t index = op->by_column ? column * stride + row : row * stride + column;
    return mem_address(w, in, lane) + index * op->element_bytes;
}

const struct insn *exec_wmma_load(struct warp *w, const struct insn *in)
{
    const struct insn *result;
    const struct matrix_op *op = in->u.matrix;
    uint32_t rows, columns;
    if (!whole_warp(w, in, &result))
        return result;
    wmma_shape(op, op->which, &rows, &columns);
    uint32_t per = rows * columns / LANES;
    for (uint32_t p = 0; p < rows * columns; p++) {
        int lane = (int)(p / per);
        const unsigned char *from =
            mem_lane(w, in, lane, (enum space)in->space, wmma_address(w, in, lane, p),
                     op->element_bytes, MEM_READ);
        if (!from)
            return w->limit;
        uint64_t value = 0;
        memcpy(&value, from, op->element_bytes);
        for (uint32_t s = p % per; s < slots_of(&op->d); s += per)
            set_slot(w, &op->d, lane, s, value);
    }
    return in + 1;
}

const struct insn *exec_wmma_store(struct warp *w, const struct insn *in)
{
    const struct insn *result;
    const struct matrix_op *op = in->u.matrix;
    uint32_t rows, columns;
    if (!whole_warp(w, in, &result))
        return result;
    wmma_shape(op, op->which, &rows, &columns);
    uint32_t per = rows * columns / LANES;
    for (uint32_t p = 0; p < rows * columns; p++) {
        int lane = (int)(p / per);
        uint64_t address = wmma_address(w, in, lane, p);
        uint64_t value = get_slot(w, &op->c, lane, p % per);
        unsigned char *to =
            mem_lane(w, in, lane, (enum space)in->space, address, op->element_bytes, MEM_WRITE);
        if (!to || !mem_write_race(w, in, lane, address, op->element_bytes, to,
                                   (const unsigned char *)&value))
            return w->limit;
        memcpy(to, &value, op->element_bytes);
    }
    return in + 1;
}

/* ---- ldmatrix, stmatrix, movmatrix ---- */

enum { TILE_BYTES = 16 };

/* Where lane l's half h of an 8 x 8 matrix is: row and column. */
static struct spot tile_spot(int lane, uint32_t half, bool transposed)
{
    uint32_t outer = (uint32_t)lane / 4, inner = (uint32_t)lane % 4 * 2 + half;
    return transposed ? (struct spot){inner, outer} : (struct spot){outer, inner};
}

const struct insn *exec_ldmatrix(struct warp *w, const struct insn *in)
{
    const struct insn *result;
    uint16_t tile[4][8][8];
    if (!whole_warp(w, in, &result))
        return result;
    for (int row = 0; row < 8 * in->count; row++) {
        const void *from = mem_lane(w, in, row, (enum space)in->space, mem_address(w, in, row),
                                    TILE_BYTES, MEM_READ);
        if (!from)
            return w->limit;
        memcpy(tile[row / 8][row % 8], from, TILE_BYTES);
    }
    for (int t = 0; t < in->count; t++) {
        uint32_t *to = operand(w, in->u.list[t]);
        for (int lane = 0; lane < LANES; lane++) {
            struct spot low = tile_spot(lane, 0, in->flags), high = tile_spot(lane, 1, in->flags);
            to[lane] = tile[t][low.row][low.column] | (uint32_t)tile[t][high.row][high.column]
                                                          << 16;
        }
    }
    return in + 1;
}

static void gather_tile(struct warp *w, uint32_t op, bool transposed, uint16_t tile[8][8])
{
    const uint32_t *from = operand(w, op);
    for (int lane = 0; lane < LANES; lane++)
        for (uint32_t half = 0; half < 2; half++) {
            struct spot at = tile_spot(lane, half, transposed);
            tile[at.row][at.column] = (uint16_t)(from[lane] >> (16 * half));
        }
}

const struct insn *exec_stmatrix(struct warp *w, const struct insn *in)
{
    const struct insn *result;
    uint16_t tile[8][8];
    if (!whole_warp(w, in, &result))
        return result;
    for (int row = 0; row < 8 * in->count; row++) {
        uint64_t address = mem_address(w, in, row);
        if (row % 8 == 0)
            gather_tile(w, in->u.list[row / 8], in->flags, tile);
        unsigned char *to =
            mem_lane(w, in, row, (enum space)in->space, address, TILE_BYTES, MEM_WRITE);
        if (!to || !mem_write_race(w, in, row, address, TILE_BYTES, to,
                                   (const unsigned char *)tile[row % 8]))
            return w->limit;
        memcpy(to, tile[row % 8], TILE_BYTES);
    }
    return in + 1;
}

const struct insn *exec_movmatrix(struct warp *w, const struct insn *in)
{
    const struct insn *result;
    uint16_t tile[8][8];
    if (!whole_warp(w, in, &result))
        return result;
    gather_tile(w, in->a, false, tile);
    uint32_t *to = operand(w, in->d);
    for (int lane = 0; lane < LANES; lane++) {
        struct spot low = tile_spot(lane, 0, true), high = tile_spot(lane, 1, true);
        to[lane] = tile[low.row][low.column] | (uint32_t)tile[high.row][high.column] << 16;
    }
    return in + 1;
}
