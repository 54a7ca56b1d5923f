#ifndef TESTS_UNIT_SOLVER_IR_WIDE_H
#define TESTS_UNIT_SOLVER_IR_WIDE_H

#include "tests/unit/solver/ir/plans.h"

/* Plans for a model: tiles with all that they may have. */

/* A tile of matmul_bias_gelu_bf16's product (bf16 x bf16) or of matmul's (f32 x f32). */
struct wide {
    int m, n, k, own_m, own_n, threads, vector, depth, split;
    int mma[3];
    const char *precision, *staging, *layout;
};
#define WIDE_PLAIN                                                                                 \
    {                                                                                              \
        128, 128, 32, 8, 8, 256, 8, 3, 1, {16, 8, 16}, "bf16", "async", "row-major"                \
    }

static inline const char *wide_text(struct arena *arena, const struct wide *w, bool bf16)
{
    struct buf text;
    buf_init(&text, arena, PLANS_TEXT_BYTES);
    buf_printf(&text,
               "{\"stmts\":%s,\"primitives\":[\"tile-staging\",\"shared-residency\",\"%s\"],",
               bf16 ? "[0,1,2]" : "[0]", w->mma[0] > 0 ? "tensor-core-tile" : "register-tile");
    buf_printf(&text,
               "\"tiles\":[{\"index\":\"m\",\"block\":%d,\"thread\":%d},"
               "{\"index\":\"n\",\"block\":%d,\"thread\":%d},"
               "{\"index\":\"k\",\"block\":%d,\"thread\":1,\"step\":%d}],\"stages\":[",
               w->m, w->own_m, w->n, w->own_n, w->k, w->k);
    if (w->staging[0] != '\0')
        buf_printf(&text,
                   "{\"tensor\":\"A\",\"staging\":\"%s\"},{\"tensor\":\"B\",\"staging\":\"%s\"}",
                   w->staging, w->staging);
    buf_printf(&text,
               "],\"threads\":[%d,1,1],\"vector\":%d,\"depth\":%d,\"split\":%d,"
               "\"mma\":[%d,%d,%d],\"precision\":\"%s\",\"layout\":\"%s\"}",
               w->threads, w->vector, w->depth, w->split, w->mma[0], w->mma[1], w->mma[2],
               w->precision, w->layout);
    return text.at;
}

static inline const struct plan *wide_plan(struct arena *arena, const struct wide *w, bool bf16,
                                           const struct bound_op **bound)
{
    *bound = plans_op(arena, bf16 ? "matmul_bias_gelu_bf16" : "matmul");
    return plans_plan(arena, *bound, wide_text(arena, w, bf16), "");
}

#endif
