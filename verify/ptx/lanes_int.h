#ifndef VERIFY_PTX_LANES_INT_H
#define VERIFY_PTX_LANES_INT_H

#include "verify/ptx/run_int.h"

/* The lane operations by number, and the table of each vector build. */
enum lane_op {
#define X(id) LANE_##id,
#include "verify/ptx/lane_all.def"
#undef X
    LANE_COUNT
};

enum rounding { ROUND_RN, ROUND_RZ, ROUND_RM, ROUND_RP, ROUND_RNA };

enum { PRMT_INDEX, PRMT_F4E, PRMT_B4E, PRMT_RC8, PRMT_ECL, PRMT_ECR, PRMT_RC16 };
enum {
    TESTP_FINITE,
    TESTP_INFINITE,
    TESTP_NUMBER,
    TESTP_NOTANUMBER,
    TESTP_NORMAL,
    TESTP_SUBNORMAL
};
enum { DP_A_SIGNED = 1, DP_B_SIGNED = 2, DP_HIGH = 4 };

#define ISA_BUILDS(X)                                                                              \
    X(generic)                                                                                     \
    X(avx2)                                                                                        \
    X(avx512)

#define X(name) extern const struct isa isa_table_##name;
ISA_BUILDS(X)
#undef X

/* Inside isa_*.c, which is compiled once for each build, external names carry PTX_ISA. */
#ifdef PTX_ISA
#define ISA_PASTE2(name, isa) name##_##isa
#define ISA_PASTE(name, isa)  ISA_PASTE2(name, isa)
#define ISA(name)             ISA_PASTE(name, PTX_ISA)
#define X(id)                 exec_fn ISA(lane_##id);
#include "verify/ptx/lane_all.def"
#undef X
#endif

/* The table `name` names, or the best this machine runs when it is NULL; NULL = cannot run. */
const struct isa *isa_choose(const char *name);

#endif
