#ifndef VERIFY_PTX_EXEC_INT_H
#define VERIFY_PTX_EXEC_INT_H

#include "verify/ptx/run_int.h"

/*
 * Instructions that are not lane loops, and what they and the scheduler share.
 */
#define EXECS(X)                                                                                   \
    X(guarded)                                                                                     \
    X(taint)                                                                                       \
    X(nothing)                                                                                     \
    X(unsupported)                                                                                 \
    X(mov_special)                                                                                 \
    X(mov_frame)                                                                                   \
    X(mov_dynamic_shared)                                                                          \
    X(pred_and)                                                                                    \
    X(pred_or)                                                                                     \
    X(pred_xor)                                                                                    \
    X(pred_mov)                                                                                    \
    X(bra)                                                                                         \
    X(brx)                                                                                         \
    X(call)                                                                                        \
    X(ret)                                                                                         \
    X(exit)                                                                                        \
    X(trap)                                                                                        \
    X(printf)                                                                                      \
    X(assertfail)                                                                                  \
    X(bar_sync)                                                                                    \
    X(bar_arrive)                                                                                  \
    X(bar_red)                                                                                     \
    X(bar_warp)                                                                                    \
    X(fence)                                                                                       \
    X(nanosleep)                                                                                   \
    X(shfl)                                                                                        \
    X(vote)                                                                                        \
    X(match)                                                                                       \
    X(redux)                                                                                       \
    X(elect)                                                                                       \
    X(activemask)                                                                                  \
    X(isspacep)                                                                                    \
    X(atom)                                                                                        \
    X(ldmatrix)                                                                                    \
    X(stmatrix)                                                                                    \
    X(movmatrix)                                                                                   \
    X(mma)                                                                                         \
    X(wmma_load)                                                                                   \
    X(wmma_store)                                                                                  \
    X(wmma_mma)                                                                                    \
    X(cp_async)                                                                                    \
    X(cp_async_commit)                                                                             \
    X(cp_async_wait)                                                                               \
    X(cp_async_mbarrier)                                                                           \
    X(cp_bulk)                                                                                     \
    X(cp_bulk_commit)                                                                              \
    X(cp_bulk_wait)                                                                                \
    X(fence_proxy)                                                                                 \
    X(mbarrier_init)                                                                               \
    X(mbarrier_inval)                                                                              \
    X(mbarrier_arrive)                                                                             \
    X(mbarrier_expect)                                                                             \
    X(mbarrier_test)                                                                               \
    X(mbarrier_pending)                                                                            \
    X(cluster_arrive)                                                                              \
    X(cluster_wait)                                                                                \
    X(mapa)                                                                                        \
    X(getctarank)
#define X(name) exec_fn exec_##name;
EXECS(X)
#undef X

#endif
