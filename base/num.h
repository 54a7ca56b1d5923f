#ifndef BASE_NUM_H
#define BASE_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/vocab.h"

/*
 * Integers that do not overflow silently, and the narrow float formats bit by bit.
 *
 * All roundings to a narrow format are round-to-nearest-even from the exact double value (one
 * rounding, never through f32).  bf16: 8 exponent bits, 8 significand bits (1+7).  f16: IEEE
 * binary16. e4m3: OCP FP8 E4M3 (no infinity, S.1111.111 is NaN, largest 448); e5m2: OCP FP8 E5M2.
 * Overflow: f16, bf16, e5m2 become infinity; e4m3 becomes NaN (non-saturating conversion).
 * NaN becomes the format's canonical NaN, as in PTX: 0x7fff, and 0x7f for the 8-bit formats.
 * tf32: f32 with 10 explicit significand bits, round to nearest, ties away from zero
 * (cvt.rna.tf32).
 */
int64_t num_ceil_div(int64_t a, int64_t b);
int64_t num_floor_div(int64_t a, int64_t b);
int64_t num_floor_mod(int64_t a, int64_t b);
bool num_add(int64_t a, int64_t b, int64_t *out) MUST_USE;
bool num_mul(int64_t a, int64_t b, int64_t *out) MUST_USE;
bool num_product(const int64_t *values, size_t count, int64_t *out) MUST_USE;
int64_t num_gcd(int64_t a, int64_t b);

uint16_t f16_from_double(double value);
double f16_to_double(uint16_t bits);
uint16_t bf16_from_double(double value);
double bf16_to_double(uint16_t bits);
uint8_t e4m3_from_double(double value);
double e4m3_to_double(uint8_t bits);
uint8_t e5m2_from_double(double value);
double e5m2_to_double(uint8_t bits);
double tf32_round(double value);

/* `value` rounded to a float dtype and back; integers wrap to the dtype's width. */
double dtype_round(enum dtype dtype, double value);
int64_t dtype_wrap(enum dtype dtype, int64_t value);

/* Unit roundoff u of a float dtype: 2^-53, 2^-24, 2^-11, 2^-8, 2^-4, 2^-3; 0 for integers. */
double dtype_unit_roundoff(enum dtype dtype);
/* Smallest positive subnormal and largest finite value of a float dtype. */
double dtype_tiny(enum dtype dtype);
double dtype_max(enum dtype dtype);

/* Element `index` of a typed array.  Integers go through int64, floats through double. */
double elem_to_double(enum dtype dtype, const void *data, size_t index);
int64_t elem_to_int(enum dtype dtype, const void *data, size_t index);
void elem_from_double(enum dtype dtype, void *data, size_t index, double value);
void elem_from_int(enum dtype dtype, void *data, size_t index, int64_t value);

#endif
