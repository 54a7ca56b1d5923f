/*
 * Integer lane operations: the loops of lane_int.def, and those with a shape of their own.
 *
 * Division by zero gives all ones, the remainder by zero the dividend, as hardware does; 32-bit
 * quotients come from a double division, which is exact for them.  Arithmetic that may wrap is done
 * on unsigned values.
 */
#include "verify/ptx/isa_int.h"

static inline uint32_t sext24(uint32_t a)
{
    return (a & 0xffffff) | ((a & 0x800000) ? 0xff000000 : 0);
}

static inline uint64_t mulhi_u64(uint64_t a, uint64_t b)
{
    return (uint64_t)((unsigned __int128)a * b >> 64);
}

static inline int64_t mulhi_s64(int64_t a, int64_t b)
{
    return (int64_t)((__int128)a * b >> 64);
}

static inline int32_t sat_s32(int64_t x)
{
    return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (int32_t)x;
}

static inline uint32_t div_u32(uint32_t a, uint32_t b)
{
    double q = b == 0 ? 0.0 : (double)a / (double)b;
    uint32_t high = q >= 0x1p31 ? 0x80000000 : 0;
    int32_t low = (int32_t)(q >= 0x1p31 ? q - 0x1p31 : q);
    return b == 0 ? UINT32_MAX : (uint32_t)low + high;
}

static inline uint32_t div_s32(int32_t a, int32_t b)
{
    double q = b == 0 ? 0.0 : (double)a / (double)b;
    int32_t low = (int32_t)(q >= 0x1p31 ? 0.0 : q);
    return b == 0 ? UINT32_MAX : q >= 0x1p31 ? 0x80000000 : (uint32_t)low;
}

static inline int64_t div_s64(int64_t a, int64_t b)
{
    if (b == 0)
        return -1;
    return b == -1 ? (int64_t) - (uint64_t)a : a / b;
}

static inline int64_t rem_s64(int64_t a, int64_t b)
{
    if (b == 0)
        return a;
    return b == -1 ? 0 : a % b;
}

static inline uint32_t lo16(uint32_t a)
{
    return a & 0xffff;
}

static inline uint32_t hi16(uint32_t a)
{
    return a >> 16;
}

static inline uint32_t pack16(uint32_t lo, uint32_t hi)
{
    return (lo & 0xffff) | hi << 16;
}

static inline uint32_t popcount32(uint32_t a)
{
    a -= a >> 1 & 0x55555555;
    a = (a & 0x33333333) + (a >> 2 & 0x33333333);
    a = (a + (a >> 4)) & 0x0f0f0f0f;
    return a * 0x01010101 >> 24;
}

static inline uint32_t brev32(uint32_t a)
{
    a = (a >> 1 & 0x55555555) | (a & 0x55555555) << 1;
    a = (a >> 2 & 0x33333333) | (a & 0x33333333) << 2;
    a = (a >> 4 & 0x0f0f0f0f) | (a & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(a);
}

static inline uint32_t bfind(uint64_t a)
{
    return a == 0 ? UINT32_MAX : 63 - (uint32_t)__builtin_clzll(a);
}

static inline uint32_t bfind_shift(uint32_t position, uint32_t top)
{
    return position == UINT32_MAX ? position : top - position;
}

static inline uint32_t fns(uint32_t mask, uint32_t base, int32_t offset)
{
    if (base > 31)
        return UINT32_MAX;
    if (offset == 0)
        return mask >> base & 1 ? base : UINT32_MAX;
    int step = offset > 0 ? 1 : -1;
    int64_t left = offset > 0 ? offset : -(int64_t)offset;
    for (int at = (int)base; at >= 0 && at < LANES; at += step)
        if ((mask >> at & 1) && --left == 0)
            return (uint32_t)at;
    return UINT32_MAX;
}

/* `a` comes sign-extended when is_signed. */
static inline uint64_t bfe(uint64_t a, uint32_t b, uint32_t c, uint32_t width, int is_signed)
{
    uint32_t pos = b & 255;
    uint32_t len = c & 255;
    if (len == 0)
        return 0;
    if (is_signed) {
        int64_t x = (int64_t)a >> (pos > 63 ? 63 : pos);
        return (uint64_t)(len > 63 ? x : (int64_t)((uint64_t)x << (64 - len)) >> (64 - len));
    }
    uint64_t x = pos >= width ? 0 : a >> pos;
    return len > 63 ? x : x & ((1ULL << len) - 1);
}

static inline uint64_t bfi(uint64_t a, uint64_t b, uint32_t c, uint32_t d, uint32_t width)
{
    uint32_t pos = c & 255;
    uint32_t len = d & 255;
    if (pos >= width || len == 0)
        return b;
    uint64_t mask = (len > 63 ? UINT64_MAX : (1ULL << len) - 1) << pos;
    return (b & ~mask) | (a << pos & mask);
}

static inline uint32_t bmsk(uint32_t a, uint32_t b, int wrap)
{
    uint32_t pos = wrap ? a & 31 : a > 32 ? 32 : a;
    uint32_t len = wrap ? b & 31 : b > 32 ? 32 : b;
    return (uint32_t)(((1ULL << len) - 1) << pos);
}

static inline uint32_t szext(uint32_t a, uint32_t b, int is_signed, int wrap)
{
    uint32_t len = wrap ? b & 31 : b > 32 ? 32 : b;
    if (len == 0)
        return 0;
    uint32_t shift = 32 - len;
    return is_signed ? (uint32_t)((int32_t)(a << shift) >> shift) : a << shift >> shift;
}

static inline uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table)
{
    uint32_t r = 0;
    r |= table & 0x01 ? ~a & ~b & ~c : 0;
    r |= table & 0x02 ? ~a & ~b & c : 0;
    r |= table & 0x04 ? ~a & b & ~c : 0;
    r |= table & 0x08 ? ~a & b & c : 0;
    r |= table & 0x10 ? a & ~b & ~c : 0;
    r |= table & 0x20 ? a & ~b & c : 0;
    r |= table & 0x40 ? a & b & ~c : 0;
    r |= table & 0x80 ? a & b & c : 0;
    return r;
}

static inline uint32_t prmt(uint32_t a, uint32_t b, uint32_t c, int mode)
{
    static const uint16_t selectors[][4] = {
        [PRMT_F4E] = {0x3210, 0x4321, 0x5432, 0x6543},
        [PRMT_B4E] = {0x5670, 0x6701, 0x7012, 0x0123},
        [PRMT_RC8] = {0x0000, 0x1111, 0x2222, 0x3333},
        [PRMT_ECL] = {0x3210, 0x3211, 0x3222, 0x3333},
        [PRMT_ECR] = {0x0000, 0x1110, 0x2210, 0x3210},
        [PRMT_RC16] = {0x1010, 0x3232, 0x1010, 0x3232},
    };
    uint32_t select = mode == PRMT_INDEX ? c : selectors[mode][c & 3];
    uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t r = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t nibble = select >> (4 * i) & 15;
        uint32_t byte = (uint32_t)(bytes >> (8 * (nibble & 7))) & 255;
        uint32_t sign = byte & 128 ? 255 : 0;
        r |= (nibble & 8 ? sign : byte) << (8 * i);
    }
    return r;
}

static inline uint32_t byte_of(uint32_t x, int i, int is_signed)
{
    uint32_t byte = x >> (8 * i) & 255;
    return is_signed && (byte & 128) ? byte | 0xffffff00 : byte;
}

static inline uint32_t dp4a(uint32_t a, uint32_t b, uint32_t c, int mode)
{
    for (int i = 0; i < 4; i++)
        c += byte_of(a, i, mode & DP_A_SIGNED) * byte_of(b, i, mode & DP_B_SIGNED);
    return c;
}

static inline uint32_t dp2a(uint32_t a, uint32_t b, uint32_t c, int mode)
{
    for (int i = 0; i < 2; i++) {
        uint32_t half = a >> (16 * i) & 0xffff;
        if ((mode & DP_A_SIGNED) && (half & 0x8000))
            half |= 0xffff0000;
        c += half * byte_of(b, i + (mode & DP_HIGH ? 2 : 0), mode & DP_B_SIGNED);
    }
    return c;
}

#define H(id)
#include "verify/ptx/lane_int.def"

/* ---- by hand ---- */

#define SELECT(type)                                                                               \
    const struct insn *ISA(lane_SELP_##type)(struct warp * w, const struct insn *in)               \
    {                                                                                              \
        LANE_BEGIN(type)                                                                           \
        LANE_SOURCE(type, pa, a)                                                                   \
        LANE_SOURCE(type, pb, b)                                                                   \
        const uint32_t p = pred_get(w, in->r);                                                     \
        LANE_LOOP                                                                                  \
        {                                                                                          \
            out[i] = p >> i & 1 ? pa[i] : pb[i];                                                   \
        }                                                                                          \
        LANE_END                                                                                   \
    }
SELECT(u32)
SELECT(u64)

#define INSERT(type, width)                                                                        \
    const struct insn *ISA(lane_BFI_##type)(struct warp * w, const struct insn *in)                \
    {                                                                                              \
        LANE_BEGIN(type)                                                                           \
        LANE_SOURCE(type, pa, a)                                                                   \
        LANE_SOURCE(type, pb, b)                                                                   \
        LANE_SOURCE(u32, pc, c)                                                                    \
        const lane_u32 *pd = operand(w, in->u.list[0]);                                            \
        LANE_LOOP                                                                                  \
        {                                                                                          \
            out[i] = (VALUE_##type)bfi(pa[i], pb[i], pc[i], pd[i], width);                         \
        }                                                                                          \
        LANE_END                                                                                   \
    }
INSERT(u32, 32)
INSERT(u64, 64)

/* Carry: flags bit 0 says that it comes in, bit 1 that it is kept. */
enum { CARRY_IN = 1, CARRY_OUT = 2 };

#define CARRY_OP(id, type, wide, term_a, term_b, term_c, negate)                                   \
    const struct insn *ISA(lane_##id##_##type)(struct warp * w, const struct insn *in)             \
    {                                                                                              \
        LANE_BEGIN(type)                                                                           \
        LANE_SOURCE(type, pa, a)                                                                   \
        LANE_SOURCE(type, pb, b)                                                                   \
        LANE_SOURCE(type, pc, c)                                                                   \
        const uint32_t carry = in->flags & CARRY_IN ? w->carry : 0;                                \
        uint32_t kept = 0;                                                                         \
        for (int i = 0; i < LANES; i++) {                                                          \
            const VALUE_##type a = pa[i], b = pb[i], c = pc[i];                                    \
            (void)a, (void)b, (void)c;                                                             \
            const wide bit = carry >> i & 1;                                                       \
            const wide sum = negate ? (wide)(term_a) - (wide)(term_b)-bit                          \
                                    : (wide)(term_a) + (wide)(term_c) + bit;                       \
            out[i] = (VALUE_##type)sum;                                                            \
            kept |= (uint32_t)(sum >> (8 * sizeof(VALUE_##type)) & 1) << i;                        \
        }                                                                                          \
        if (in->flags & CARRY_OUT)                                                                 \
            w->carry = (w->carry & ~w->mask) | (kept & w->mask);                                   \
        LANE_END                                                                                   \
    }

typedef unsigned __int128 wide128;
CARRY_OP(ADDC, u32, uint64_t, a, 0, b, 0)
CARRY_OP(ADDC, u64, wide128, a, 0, b, 0)
CARRY_OP(SUBC, u32, uint64_t, a, b, 0, 1)
CARRY_OP(SUBC, u64, wide128, a, b, 0, 1)
CARRY_OP(MADC_lo, u32, uint64_t, (uint32_t)(a *b), 0, c, 0)
CARRY_OP(MADC_hi, u32, uint64_t, (uint32_t)((uint64_t)a *b >> 32), 0, c, 0)
CARRY_OP(MADC_lo, u64, wide128, (uint64_t)(a *b), 0, c, 0)
CARRY_OP(MADC_hi, u64, wide128, mulhi_u64(a, b), 0, c, 0)
#define SIGNED_HIGH_32 (uint32_t)(((int64_t)(int32_t)a * (int32_t)b) >> 32)
#define SIGNED_HIGH_64 (uint64_t) mulhi_s64((int64_t)a, (int64_t)b)
CARRY_OP(MADC_his, u32, uint64_t, SIGNED_HIGH_32, 0, c, 0)
CARRY_OP(MADC_his, u64, wide128, SIGNED_HIGH_64, 0, c, 0)
