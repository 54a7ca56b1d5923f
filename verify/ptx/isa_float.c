/*
 * f32 and f64 lane operations: the loops of lane_float.def.
 *
 * Results that are NaN become PTX's canonical NaN, which also makes the vector builds agree on
 * which operand's payload survives (they commute operands as they like).
 */
#include "verify/ptx/isa_int.h"

static inline int testp32(uint32_t a, int mode)
{
    uint32_t exponent = a >> 23 & 255;
    uint32_t fraction = a & 0x7fffff;
    switch (mode) {
    case TESTP_FINITE:
        return exponent != 255;
    case TESTP_INFINITE:
        return exponent == 255 && fraction == 0;
    case TESTP_NUMBER:
        return exponent != 255 || fraction == 0;
    case TESTP_NOTANUMBER:
        return exponent == 255 && fraction != 0;
    case TESTP_NORMAL:
        return exponent != 255 && exponent != 0;
    default:
        return exponent == 0 && fraction != 0;
    }
}

static inline int testp64(uint64_t a, int mode)
{
    uint32_t exponent = (uint32_t)(a >> 52) & 2047;
    uint64_t fraction = a & 0xfffffffffffff;
    uint32_t narrow = exponent == 2047 ? 255U << 23 : exponent == 0 ? 0 : 1U << 23;
    return testp32(narrow | (fraction != 0), mode);
}

#define H(id)
#include "verify/ptx/lane_float.def"
