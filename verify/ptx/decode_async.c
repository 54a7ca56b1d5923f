#include "verify/ptx/decode_int.h"
#define NO(n)                                                                                      \
    bool decode_##n(struct decoder *d, const struct ast_insn *a)                                   \
    {                                                                                              \
        (void)a;                                                                                   \
        return cannot(d, "not yet");                                                               \
    }
NO(cp) NO(getctarank) NO(ldmatrix) NO(mapa) NO(mbarrier) NO(mma) NO(movmatrix) NO(wmma)
