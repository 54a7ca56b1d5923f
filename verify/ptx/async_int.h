#ifndef VERIFY_PTX_ASYNC_INT_H
#define VERIFY_PTX_ASYNC_INT_H

#include <stdbool.h>
#include <stdint.h>

/* Flags of the asynchronous instructions. */
enum {
    ASYNC_DROP = 1,
    ASYNC_EXPECT = 2,
    ASYNC_COUNT = 4,
    ASYNC_STATE = 8,
    ASYNC_COMPLETE = 16,
    ASYNC_PARITY = 32,
    ASYNC_NOINC = 64,
    ASYNC_TO_GLOBAL = 128,
};

/* Operands of a copy beyond those of struct insn. */
struct copy_op {
    int64_t source_imm;
    uint32_t barrier; /* operand: address of the mbarrier */
    bool barrier_wide;
    int64_t barrier_imm;
};

#endif
