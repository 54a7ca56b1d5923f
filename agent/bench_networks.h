#ifndef AGENT_BENCH_NETWORKS_H
#define AGENT_BENCH_NETWORKS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

/* Texts of op specs for bench-solver and tests, made and not stored; equal arguments, equal texts.
 */
#define NETWORKS(X)                                                                                \
    X(ENCODER, "encoder") /* transformer blocks: attention and MLP, pre-norm, residual */          \
    X(DECODER, "decoder") /* the same, with cross attention to a fixed memory */                   \
    X(RESNET, "resnet")   /* convolution, batch norm, relu, twice, and a residual */               \
    X(MIXER, "mixer")     /* MLPs over tokens, then over channels, residual */
enum network {
#define X(id, name) NETWORK_##id,
    NETWORKS(X)
#undef X
        NETWORK_COUNT
};
const char *network_name(enum network network);
/* Repeated blocks of exactly `stmts` statements; what is left over are maps at the end. */
struct str network_text(struct arena *arena, enum network network, size_t stmts);
/* A random op of 2 to stmts_max statements: maps, row statistics, contractions, transposes, over
 * matrices of side x side and their rows. */
struct str random_op_text(struct arena *arena, uint64_t seed, size_t stmts_max, int side);

#endif
