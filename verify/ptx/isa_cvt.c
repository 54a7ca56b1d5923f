/*
 * Conversions: the loops of lane_cvt.def.  Rounding modes and saturation bounds are uniform over
 * the lanes, so their branches leave the loops.
 */
#include "verify/ptx/isa_int.h"

#define I(to, from) L1(CVT_##to##_##from, to, from, (VALUE_##to)a)
#include "verify/ptx/lane_cvt.def"
