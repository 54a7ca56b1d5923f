#ifndef VERIFY_PTX_ASYNC_INT_H
#define VERIFY_PTX_ASYNC_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

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

/* ---- bulk.c: all offsets are into the block's own shared memory ---- */

struct block;
struct insn;
struct warp;

void bulk_reset(struct block *block);
/* A bulk copy to `offset` that completes at the mbarrier at `barrier`; a phase of that is over. */
void bulk_fills(struct warp *w, const struct insn *in, int lane, uint32_t offset, uint32_t bytes,
                uint32_t barrier);
void bulk_phase_over(struct block *block, uint32_t barrier);
/* A bulk copy from `offset`; false = a fault was raised. */
bool bulk_drains(struct warp *w, const struct insn *in, int lane, uint32_t offset,
                 uint32_t bytes) MUST_USE;

/* The block has ended with a bulk copy under way: a fault was raised. */
bool bulk_leaks(struct block *block);

/* ---- phase.c ---- */

void phase_reset(struct block *block);
/* The mbarrier at this offset was initialised; it has a clock; a lane arrives; a warp passes a
 * wait.
 */
void phase_init(struct block *block, uint32_t barrier);
bool phase_is_known(const struct block *block, uint32_t barrier);
void phase_arrive(struct warp *w, int lane, uint32_t barrier);
void phase_wait(struct warp *w, uint32_t barrier);

#endif
