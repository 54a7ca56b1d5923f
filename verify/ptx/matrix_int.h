#ifndef VERIFY_PTX_MATRIX_INT_H
#define VERIFY_PTX_MATRIX_INT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Matrix instructions.  insn.u.list holds a struct matrix_op; its registers are operands of the
 * instruction's window.
 */
enum matrix_type {
    MATRIX_F16,
    MATRIX_BF16,
    MATRIX_TF32,
    MATRIX_F32,
    MATRIX_F64,
    MATRIX_S8,
    MATRIX_U8,
    MATRIX_S32,
    MATRIX_E4M3,
    MATRIX_E5M2
};

enum { MATRIX_REGS_MAX = 8 };

struct matrix_regs {
    enum matrix_type type;
    uint32_t count;
    uint32_t at[MATRIX_REGS_MAX];
};

struct matrix_op {
    uint32_t m, n, k;
    struct matrix_regs d, a, b, c;
    bool saturate;
    bool by_column;  /* of a wmma load or store: memory is column-major */
    char which;      /* of a wmma load or store: 'a', 'b', 'c', 'd' */
    uint32_t stride; /* operand, 32-bit lanes */
    uint32_t element_bytes;
};

#endif
