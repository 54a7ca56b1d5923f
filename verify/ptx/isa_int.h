#ifndef VERIFY_PTX_ISA_INT_H
#define VERIFY_PTX_ISA_INT_H

/*
 * What the files isa_*.c share: they are compiled once for each vector instruction set, with
 * PTX_ISA naming it, and every external name there carries that suffix.
 *
 * The three builds give the same bits: only exactly rounded operations in fixed order are used, and
 * fused multiply-add only where PTX says so.
 */

/* Before the headers, or gcc would not inline their functions into code with other options. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-math-errno", "no-trapping-math")
#endif

/* clang says so when a loop is not worth vectors; that is fine. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

#include "verify/ptx/lanes_int.h"
#include "verify/ptx/numeric_int.h"

#if defined(__GNUC__) && !defined(__clang__)
#define LANE_LOOP _Pragma("GCC ivdep") for (int i = 0; i < LANES; i++)
#else
#define LANE_LOOP _Pragma("clang loop vectorize(assume_safety)") for (int i = 0; i < LANES; i++)
#endif

/* How a value of each type is stored in a lane, what it is in C, and how it is put back. */
typedef uint32_t lane_u32 __attribute__((may_alias));
typedef int32_t lane_s32 __attribute__((may_alias));
typedef uint64_t lane_u64 __attribute__((may_alias));
typedef int64_t lane_s64 __attribute__((may_alias));
typedef float lane_f32 __attribute__((may_alias));
typedef double lane_f64 __attribute__((may_alias));

#define STORE_u8  lane_u32
#define STORE_s8  lane_u32
#define STORE_u16 lane_u32
#define STORE_s16 lane_u32
#define STORE_u32 lane_u32
#define STORE_s32 lane_s32
#define STORE_u64 lane_u64
#define STORE_s64 lane_s64
#define STORE_f32 lane_f32
#define STORE_f64 lane_f64

#define VALUE_u8  uint8_t
#define VALUE_s8  int8_t
#define VALUE_u16 uint16_t
#define VALUE_s16 int16_t
#define VALUE_u32 uint32_t
#define VALUE_s32 int32_t
#define VALUE_u64 uint64_t
#define VALUE_s64 int64_t
#define VALUE_f32 float
#define VALUE_f64 double

/* Narrow signed results are sign-extended over the lane; who reads 8 or 16 bits casts to them. */
#define PUT_u8(x)  ((uint32_t)(uint8_t)(x))
#define PUT_s8(x)  ((uint32_t)(int32_t)(int8_t)(x))
#define PUT_u16(x) ((uint32_t)(uint16_t)(x))
#define PUT_s16(x) ((uint32_t)(int32_t)(int16_t)(x))
#define PUT_u32(x) ((uint32_t)(x))
#define PUT_s32(x) ((int32_t)(x))
#define PUT_u64(x) ((uint64_t)(x))
#define PUT_s64(x) ((int64_t)(x))
#define PUT_f32(x) (x)
#define PUT_f64(x) (x)

#define ALIGNED(p) __builtin_assume_aligned((p), 64)

/* Where results go: straight into the register when all lanes run, else through `part`. */
#define LANE_BEGIN(type)                                                                           \
    STORE_##type *const reg = ALIGNED(operand(w, in->d));                                          \
    alignas(64) STORE_##type part[LANES];                                                          \
    STORE_##type *const out = w->mask == (uint32_t)ALL_LANES ? reg : part;

#define LANE_END                                                                                   \
    if (w->mask != (uint32_t)ALL_LANES)                                                            \
        blend(reg, part, w->mask, sizeof(part[0]));                                                \
    return in + 1;

#define LANE_SOURCE(type, name, op) const STORE_##type *const name = ALIGNED(operand(w, in->op));

static inline void blend(void *reg, const void *part, uint32_t mask, size_t size)
{
    if (size == 4) {
        lane_u32 *d = ALIGNED(reg);
        const lane_u32 *s = ALIGNED(part);
        LANE_LOOP
        {
            d[i] = mask >> i & 1 ? s[i] : d[i];
        }
    } else {
        lane_u64 *d = ALIGNED(reg);
        const lane_u64 *s = ALIGNED(part);
        LANE_LOOP
        {
            d[i] = mask >> i & 1 ? s[i] : d[i];
        }
    }
}

#define L1(id, D, A, expr)                                                                         \
    const struct insn *ISA(lane_##id)(struct warp * w, const struct insn *in)                      \
    {                                                                                              \
        LANE_BEGIN(D)                                                                              \
        LANE_SOURCE(A, pa, a)                                                                      \
        LANE_LOOP                                                                                  \
        {                                                                                          \
            const VALUE_##A a = (VALUE_##A)pa[i];                                                  \
            out[i] = PUT_##D(expr);                                                                \
        }                                                                                          \
        LANE_END                                                                                   \
    }

#define L2(id, D, A, B, expr)                                                                      \
    const struct insn *ISA(lane_##id)(struct warp * w, const struct insn *in)                      \
    {                                                                                              \
        LANE_BEGIN(D)                                                                              \
        LANE_SOURCE(A, pa, a)                                                                      \
        LANE_SOURCE(B, pb, b)                                                                      \
        LANE_LOOP                                                                                  \
        {                                                                                          \
            const VALUE_##A a = (VALUE_##A)pa[i];                                                  \
            const VALUE_##B b = (VALUE_##B)pb[i];                                                  \
            out[i] = PUT_##D(expr);                                                                \
        }                                                                                          \
        LANE_END                                                                                   \
    }

#define L3(id, D, A, B, C, expr)                                                                   \
    const struct insn *ISA(lane_##id)(struct warp * w, const struct insn *in)                      \
    {                                                                                              \
        LANE_BEGIN(D)                                                                              \
        LANE_SOURCE(A, pa, a)                                                                      \
        LANE_SOURCE(B, pb, b)                                                                      \
        LANE_SOURCE(C, pc, c)                                                                      \
        LANE_LOOP                                                                                  \
        {                                                                                          \
            const VALUE_##A a = (VALUE_##A)pa[i];                                                  \
            const VALUE_##B b = (VALUE_##B)pb[i];                                                  \
            const VALUE_##C c = (VALUE_##C)pc[i];                                                  \
            out[i] = PUT_##D(expr);                                                                \
        }                                                                                          \
        LANE_END                                                                                   \
    }

/* setp: the comparison, perhaps negated and joined with a predicate, to p and its opposite to q. */
static inline const struct insn *set_predicates(struct warp *w, const struct insn *in,
                                                uint32_t result)
{
    uint32_t r = in->flags & INSN_NEGATE ? ~result : result;
    uint32_t opposite = ~r;
    uint32_t c = pred_get(w, in->r);
    if ((in->flags & INSN_BOOL) == INSN_BOOL_AND) {
        r &= c;
        opposite &= c;
    } else if ((in->flags & INSN_BOOL) == INSN_BOOL_OR) {
        r |= c;
        opposite |= c;
    } else if ((in->flags & INSN_BOOL) == INSN_BOOL_XOR) {
        r ^= c;
        opposite ^= c;
    }
    pred_set(w, in->p, r);
    if (in->q != 2 * PRED_SINK)
        pred_set(w, in->q, opposite);
    return in + 1;
}

/* The lanes that are not zero, as bits. */
static inline uint32_t lanes_to_mask(const uint8_t *flags)
{
    uint32_t mask = 0;
    for (int k = 0; k < LANES / 8; k++) {
        uint64_t bytes;
        memcpy(&bytes, flags + 8 * k, sizeof(bytes));
        mask |= (uint32_t)((bytes * 0x0102040810204080ULL) >> 56) << (8 * k);
    }
    return mask;
}

#define C(id, A, expr)                                                                             \
    const struct insn *ISA(lane_##id)(struct warp * w, const struct insn *in)                      \
    {                                                                                              \
        LANE_SOURCE(A, pa, a)                                                                      \
        LANE_SOURCE(A, pb, b)                                                                      \
        alignas(64) uint8_t flags[LANES];                                                          \
        LANE_LOOP                                                                                  \
        {                                                                                          \
            const VALUE_##A a = (VALUE_##A)pa[i];                                                  \
            const VALUE_##A b = (VALUE_##A)pb[i];                                                  \
            flags[i] = (uint8_t)((expr) ? 1 : 0);                                                  \
        }                                                                                          \
        return set_predicates(w, in, lanes_to_mask(flags));                                        \
    }

#define T(id, A, expr)                                                                             \
    const struct insn *ISA(lane_##id)(struct warp * w, const struct insn *in)                      \
    {                                                                                              \
        LANE_SOURCE(A, pa, a)                                                                      \
        alignas(64) uint8_t flags[LANES];                                                          \
        LANE_LOOP                                                                                  \
        {                                                                                          \
            const VALUE_##A a = (VALUE_##A)pa[i];                                                  \
            flags[i] = (uint8_t)((expr) ? 1 : 0);                                                  \
        }                                                                                          \
        return set_predicates(w, in, lanes_to_mask(flags));                                        \
    }

/* f32, plain and with subnormals flushed. */
#define PLAIN(x) (x)
#define F1(id, expr, ops)                                                                          \
    F1_AS(id##_f32, PLAIN, expr, ops)                                                              \
    F1_AS(id##_ftz, ftz, expr, ops)
#define F2(id, expr, ops)                                                                          \
    F2_AS(id##_f32, PLAIN, expr, ops)                                                              \
    F2_AS(id##_ftz, ftz, expr, ops)
#define F3(id, expr, ops)                                                                          \
    F3_AS(id##_f32, PLAIN, expr, ops)                                                              \
    F3_AS(id##_ftz, ftz, expr, ops)
/* Directed rounding: a loop for each mode, so that it computes what that mode needs only. */
#define G2(id, expr)                                                                               \
    G_AS(id##_f32, PLAIN, expr, 1, b)                                                              \
    G_AS(id##_ftz, ftz, expr, 1, b)
#define G3(id, expr)                                                                               \
    G_AS(id##_f32, PLAIN, expr, 2, c)                                                              \
    G_AS(id##_ftz, ftz, expr, 2, c)

#define G_LOOP(FLUSH, expr, rounding)                                                              \
    {                                                                                              \
        const int mode = rounding;                                                                 \
        LANE_LOOP                                                                                  \
        {                                                                                          \
            const float a = FLUSH(pa[i]);                                                          \
            const float b = FLUSH(pb[i]);                                                          \
            const float c = FLUSH(pc[i]);                                                          \
            (void)b, (void)c;                                                                      \
            const float result = FLUSH(expr);                                                      \
            out[i] = canon_f32(result);                                                            \
        }                                                                                          \
    }

#define G_AS(id, FLUSH, expr, ops, last)                                                           \
    const struct insn *ISA(lane_##id)(struct warp * w, const struct insn *in)                      \
    {                                                                                              \
        LANE_BEGIN(f32)                                                                            \
        LANE_SOURCE(f32, pa, a)                                                                    \
        LANE_SOURCE(f32, pb, b)                                                                    \
        LANE_SOURCE(f32, pc, last)                                                                 \
        w->flops += (ops)*w->lanes;                                                                \
        if (in->mode == ROUND_RM)                                                                  \
            G_LOOP(FLUSH, expr, ROUND_RM)                                                          \
        else if (in->mode == ROUND_RP)                                                             \
            G_LOOP(FLUSH, expr, ROUND_RP)                                                          \
        else                                                                                       \
            G_LOOP(FLUSH, expr, ROUND_RZ)                                                          \
        LANE_END                                                                                   \
    }

#define F1_AS(id, FLUSH, expr, ops)                                                                \
    const struct insn *ISA(lane_##id)(struct warp * w, const struct insn *in)                      \
    {                                                                                              \
        LANE_BEGIN(f32)                                                                            \
        LANE_SOURCE(f32, pa, a)                                                                    \
        w->flops += (ops)*w->lanes;                                                                \
        LANE_LOOP                                                                                  \
        {                                                                                          \
            const float a = FLUSH(pa[i]);                                                          \
            const float result = FLUSH(expr);                                                      \
            out[i] = canon_f32(result);                                                            \
        }                                                                                          \
        LANE_END                                                                                   \
    }

#define F2_AS(id, FLUSH, expr, ops)                                                                \
    const struct insn *ISA(lane_##id)(struct warp * w, const struct insn *in)                      \
    {                                                                                              \
        LANE_BEGIN(f32)                                                                            \
        LANE_SOURCE(f32, pa, a)                                                                    \
        LANE_SOURCE(f32, pb, b)                                                                    \
        w->flops += (ops)*w->lanes;                                                                \
        LANE_LOOP                                                                                  \
        {                                                                                          \
            const float a = FLUSH(pa[i]);                                                          \
            const float b = FLUSH(pb[i]);                                                          \
            (void)b;                                                                               \
            const float result = FLUSH(expr);                                                      \
            out[i] = canon_f32(result);                                                            \
        }                                                                                          \
        LANE_END                                                                                   \
    }

#define F3_AS(id, FLUSH, expr, ops)                                                                \
    const struct insn *ISA(lane_##id)(struct warp * w, const struct insn *in)                      \
    {                                                                                              \
        LANE_BEGIN(f32)                                                                            \
        LANE_SOURCE(f32, pa, a)                                                                    \
        LANE_SOURCE(f32, pb, b)                                                                    \
        LANE_SOURCE(f32, pc, c)                                                                    \
        w->flops += (ops)*w->lanes;                                                                \
        LANE_LOOP                                                                                  \
        {                                                                                          \
            const float a = FLUSH(pa[i]);                                                          \
            const float b = FLUSH(pb[i]);                                                          \
            const float c = FLUSH(pc[i]);                                                          \
            const float result = FLUSH(expr);                                                      \
            out[i] = canon_f32(result);                                                            \
        }                                                                                          \
        LANE_END                                                                                   \
    }

#define D1(id, expr)                                                                               \
    const struct insn *ISA(lane_##id)(struct warp * w, const struct insn *in)                      \
    {                                                                                              \
        LANE_BEGIN(f64)                                                                            \
        LANE_SOURCE(f64, pa, a)                                                                    \
        w->flops += w->lanes;                                                                      \
        LANE_LOOP                                                                                  \
        {                                                                                          \
            const double a = pa[i];                                                                \
            const double result = (expr);                                                          \
            out[i] = canon_f64(result);                                                            \
        }                                                                                          \
        LANE_END                                                                                   \
    }

#define D2(id, expr)                                                                               \
    const struct insn *ISA(lane_##id)(struct warp * w, const struct insn *in)                      \
    {                                                                                              \
        LANE_BEGIN(f64)                                                                            \
        LANE_SOURCE(f64, pa, a)                                                                    \
        LANE_SOURCE(f64, pb, b)                                                                    \
        w->flops += w->lanes;                                                                      \
        LANE_LOOP                                                                                  \
        {                                                                                          \
            const double a = pa[i];                                                                \
            const double b = pb[i];                                                                \
            (void)b;                                                                               \
            const double result = (expr);                                                          \
            out[i] = canon_f64(result);                                                            \
        }                                                                                          \
        LANE_END                                                                                   \
    }

#define D3(id, expr)                                                                               \
    const struct insn *ISA(lane_##id)(struct warp * w, const struct insn *in)                      \
    {                                                                                              \
        LANE_BEGIN(f64)                                                                            \
        LANE_SOURCE(f64, pa, a)                                                                    \
        LANE_SOURCE(f64, pb, b)                                                                    \
        LANE_SOURCE(f64, pc, c)                                                                    \
        w->flops += 2 * w->lanes;                                                                  \
        LANE_LOOP                                                                                  \
        {                                                                                          \
            const double a = pa[i];                                                                \
            const double b = pb[i];                                                                \
            const double c = pc[i];                                                                \
            const double result = (expr);                                                          \
            out[i] = canon_f64(result);                                                            \
        }                                                                                          \
        LANE_END                                                                                   \
    }

#endif
