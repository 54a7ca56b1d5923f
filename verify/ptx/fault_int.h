#ifndef VERIFY_PTX_FAULT_INT_H
#define VERIFY_PTX_FAULT_INT_H

#include "verify/ptx/run_int.h"

/* Where in memory something happened. */
struct fault_place {
    const char *space;
    const char *buffer; /* NULL = unnamed */
    uint64_t offset;    /* in it; may be "negative" */
    uint64_t bytes;     /* its size, 0 = no memory at all */
    uint64_t address;
    bool gone; /* the block that owned it has ended */
};

/*
 * Raise the launch's fault, unless there is one already; end the warp's run.  Returns w->limit, for
 * an instruction to return.
 */
const struct insn *fault_at(struct warp *w, const struct insn *in, int lane,
                            enum ptx_fault_kind kind, const struct fault_place *place,
                            const char *fmt, ...) PRINTF_LIKE(6, 7);
const struct insn *fault_bounds(struct warp *w, const struct insn *in, int lane,
                                const struct fault_place *place, uint32_t bytes, bool writes);
/* A conflict with an earlier access: `who` as in the shadow, `block` 1 + its block or 0. */
const struct insn *fault_race(struct warp *w, const struct insn *in, int lane,
                              enum ptx_fault_kind kind, const struct fault_place *place,
                              uint32_t who, uint32_t block, const char *what);
/* Without a thread: impossible launches. */
void fault_launch(struct run *run, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
