#ifndef VERIFY_PTX_SYNC_INT_H
#define VERIFY_PTX_SYNC_INT_H

#include <stdbool.h>
#include <stdint.h>

/* Modes of the synchronising instructions. */
enum { BAR_RED_AND, BAR_RED_OR, BAR_RED_POPC };
enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };
/* The lane that `lane` reads from, by shfl's rules for its operands b and c. */
int shuffle_source(int mode, int lane, uint32_t b, uint32_t c, bool *valid);
enum { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };
enum { REDUX_ADD, REDUX_MIN, REDUX_MAX, REDUX_AND, REDUX_OR, REDUX_XOR };
enum { REDUX_U32, REDUX_S32, REDUX_F32 };
enum { REDUX_ABS = 1, REDUX_NAN = 2 };
/* A flag of instructions that name lanes: who left the kernel came past it (flow_goes_on). */
enum { WARP_REJOINS = 128 };

#endif
