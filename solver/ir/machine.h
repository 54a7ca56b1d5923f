#ifndef SOLVER_IR_MACHINE_H
#define SOLVER_IR_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

/*
 * Machine, version 1 (kernels/machines/NAME.json): what a plan has to fit and what bounds its time.
 *
 *   { "machine": 1, "name": "h200-sxm", "title": "NVIDIA H200 SXM", "arch": "sm_90a",
 *     "counts":   { "sm_count": { "value": 132, "source": "H200 datasheet" }, ... },
 *     "measures": { "clock_hz": { "value": 1.98e9, "source": "..." }, ... },
 *     "rates":    { "f32": { "value": 6.69e13, "source": "..." }, ... } }
 *
 * Every number says where it is from.  Counts and measures are all required.  A rate is the dense
 * peak in flop/s, 2 flops a multiply-accumulate, never a sparse one; a compute type without one is
 * not supported.  Bytes are bytes: 50 MB of L2 in a datasheet are what the device reports.
 */
enum { MACHINE_BYTES_MAX = 1 << 20 };

/* field, least, most */
#define MACHINE_COUNTS(X)                                                                          \
    X(sm_count, 1, 1 << 16)                                                                        \
    X(dram_bytes, 1, INT64_C(1) << 50)                                                             \
    X(l2_bytes, 0, INT64_C(1) << 40)                                                               \
    X(shared_bytes_per_sm, 0, 1 << 30)                                                             \
    X(shared_bytes_per_block, 0, 1 << 30)          /* without asking */                            \
    X(shared_bytes_per_block_optin, 0, 1 << 30)    /* on request, the block's own */               \
    X(shared_bytes_reserved_per_block, 0, 1 << 20) /* by the system, beside the block's own */     \
    X(registers_per_sm, 1, 1 << 24)                /* 32 bits each */                              \
    X(registers_per_thread, 1, 1 << 16)                                                            \
    X(registers_unit, 1, 1 << 16) /* a warp's registers come in multiples of this */               \
    X(threads_per_block, 1, 1 << 16)                                                               \
    X(threads_per_sm, 1, 1 << 16)                                                                  \
    X(warps_per_sm, 1, 1 << 12)                                                                    \
    X(blocks_per_sm, 1, 1 << 12)                                                                   \
    X(cluster_blocks, 1, 1 << 10) /* 1 = no clusters; without non-portable sizes */

/* field, least, most */
#define MACHINE_MEASURES(X)                                                                        \
    X(clock_hz, 1, 1e12)         /* highest that rates are given for */                            \
    X(dram_bytes_per_s, 1, 1e18) /* peak */                                                        \
    X(launch_s, 1e-9, 1)         /* from the end of a kernel to the start of the next */

/* id, name.  F64 and F32 are those of the CUDA cores, the others of tensor cores. */
#define MACHINE_RATES(X)                                                                           \
    X(F64, "f64")                                                                                  \
    X(F32, "f32")                                                                                  \
    X(F64_TENSOR, "f64_tensor")                                                                    \
    X(TF32, "tf32")                                                                                \
    X(F16, "f16")                                                                                  \
    X(BF16, "bf16")                                                                                \
    X(E4M3, "e4m3")
enum machine_rate {
#define X(id, name) MACHINE_RATE_##id,
    MACHINE_RATES(X)
#undef X
        MACHINE_RATE_COUNT
};

/* Index of each number's source text: counts, then measures, then rates. */
enum machine_number {
#define X(field, least, most) MACHINE_NUMBER_##field,
    MACHINE_COUNTS(X)
#undef X
#define X(field, least, most) MACHINE_NUMBER_##field,
        MACHINE_MEASURES(X)
#undef X
            MACHINE_NUMBER_rates,
    MACHINE_NUMBER_COUNT = MACHINE_NUMBER_rates + MACHINE_RATE_COUNT
};

struct machine {
    struct str name;    /* of the file, without .json */
    struct str title;   /* as its maker calls it */
    struct str arch;    /* "sm_90a": what kernels are compiled for */
    int64_t capability; /* 90: ten times major plus minor; from arch */
#define X(field, least, most) int64_t field;
    MACHINE_COUNTS(X)
#undef X
#define X(field, least, most) double field;
    MACHINE_MEASURES(X)
#undef X
    double rates[MACHINE_RATE_COUNT];         /* flop/s; 0 = not supported */
    struct str sources[MACHINE_NUMBER_COUNT]; /* empty where a rate is absent */
};

/* Located errors: "h200-sxm.json: counts.sm_count.value: ...".  Also refuses what cannot hold
 * together: threads_per_block > threads_per_sm, opt-in shared memory above the SM's, ... */
bool machine_parse(struct arena *arena, const struct json *json, const struct machine **out,
                   struct err *err) MUST_USE;
/* Every member, so that parse(print(m)) = m. */
void machine_print(struct json_writer *w, const struct machine *machine);
const char *machine_rate_name(enum machine_rate rate);

/* Blocks of a kernel that one SM holds at a time; 0 = it does not fit. */
int64_t machine_blocks_per_sm(const struct machine *machine, int64_t threads, int64_t registers,
                              int64_t shared_bytes);
/* Bytes of a tensor that one kernel wrote and the next still finds in L2 whole. */
double machine_l2_holds(const struct machine *machine);

#endif
