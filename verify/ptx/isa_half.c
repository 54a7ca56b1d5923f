/*
 * f16 and bf16 lane operations: each expression of lane_half.def over four register shapes.
 *
 * Operands become f32, which holds them exactly; the expression's result is exact, or an f32 whose
 * rounding to the narrow type equals that of the exact value (a sum of two such numbers in f32, or
 * a value rounded to odd).
 */
#include "verify/ptx/isa_int.h"

#define P1_AS(id, count, FROM, TO, expr, ops)                                                      \
    const struct insn *ISA(lane_##id)(struct warp * w, const struct insn *in)                      \
    {                                                                                              \
        LANE_BEGIN(u32)                                                                            \
        LANE_SOURCE(u32, pa, a)                                                                    \
        w->flops += (ops) * (count)*w->lanes;                                                      \
        LANE_LOOP                                                                                  \
        {                                                                                          \
            uint32_t r = 0;                                                                        \
            for (int k = 0; k < (count); k++) {                                                    \
                const float a = FROM(pa[i] >> 16 * k & 0xffff);                                    \
                r |= TO(expr) << 16 * k;                                                           \
            }                                                                                      \
            out[i] = r;                                                                            \
        }                                                                                          \
        LANE_END                                                                                   \
    }

#define P2_AS(id, count, FROM, TO, expr, ops)                                                      \
    const struct insn *ISA(lane_##id)(struct warp * w, const struct insn *in)                      \
    {                                                                                              \
        LANE_BEGIN(u32)                                                                            \
        LANE_SOURCE(u32, pa, a)                                                                    \
        LANE_SOURCE(u32, pb, b)                                                                    \
        w->flops += (ops) * (count)*w->lanes;                                                      \
        LANE_LOOP                                                                                  \
        {                                                                                          \
            uint32_t r = 0;                                                                        \
            for (int k = 0; k < (count); k++) {                                                    \
                const float a = FROM(pa[i] >> 16 * k & 0xffff);                                    \
                const float b = FROM(pb[i] >> 16 * k & 0xffff);                                    \
                r |= TO(expr) << 16 * k;                                                           \
            }                                                                                      \
            out[i] = r;                                                                            \
        }                                                                                          \
        LANE_END                                                                                   \
    }

#define P3_AS(id, count, FROM, TO, expr, ops)                                                      \
    const struct insn *ISA(lane_##id)(struct warp * w, const struct insn *in)                      \
    {                                                                                              \
        LANE_BEGIN(u32)                                                                            \
        LANE_SOURCE(u32, pa, a)                                                                    \
        LANE_SOURCE(u32, pb, b)                                                                    \
        LANE_SOURCE(u32, pc, c)                                                                    \
        w->flops += (ops) * (count)*w->lanes;                                                      \
        LANE_LOOP                                                                                  \
        {                                                                                          \
            uint32_t r = 0;                                                                        \
            for (int k = 0; k < (count); k++) {                                                    \
                const float a = FROM(pa[i] >> 16 * k & 0xffff);                                    \
                const float b = FROM(pb[i] >> 16 * k & 0xffff);                                    \
                const float c = FROM(pc[i] >> 16 * k & 0xffff);                                    \
                r |= TO(expr) << 16 * k;                                                           \
            }                                                                                      \
            out[i] = r;                                                                            \
        }                                                                                          \
        LANE_END                                                                                   \
    }

#define FOUR(SHAPE, id, expr, ops)                                                                 \
    SHAPE(id##_f16, 1, f16_f32, f32_f16_rn, expr, ops)                                             \
    SHAPE(id##_bf16, 1, bf16_f32, f32_bf16_rn, expr, ops)                                          \
    SHAPE(id##_f16x2, 2, f16_f32, f32_f16_rn, expr, ops)                                           \
    SHAPE(id##_bf16x2, 2, bf16_f32, f32_bf16_rn, expr, ops)

#define A1(id, expr, bits, bf_bits, ops)                                                           \
    P1_AS(id##_f16, 1, f16_f32, f32_f16_rn, odd_f32(keep_bits(expr, bits)), ops)                   \
    P1_AS(id##_bf16, 1, bf16_f32, f32_bf16_rn, odd_f32(keep_bits(expr, bf_bits)), ops)             \
    P1_AS(id##_f16x2, 2, f16_f32, f32_f16_rn, odd_f32(keep_bits(expr, bits)), ops)                 \
    P1_AS(id##_bf16x2, 2, bf16_f32, f32_bf16_rn, odd_f32(keep_bits(expr, bf_bits)), ops)
#define P1(id, expr, ops) FOUR(P1_AS, id, expr, ops)
#define P2(id, expr, ops) FOUR(P2_AS, id, expr, ops)
#define P3(id, expr, ops) FOUR(P3_AS, id, expr, ops)
#include "verify/ptx/lane_half.def"
